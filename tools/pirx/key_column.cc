// SPDX-License-Identifier: Apache-2.0
// Samples a table and looks for the column of its keys.
#include "key_column.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "pirx/database/importers.h"

namespace pirx::cli {
namespace {

constexpr std::size_t kMaxRows = 100'000, kMaxValues = 4'000'000;

/// Names of key columns, the most telling first.
constexpr std::string_view kKeyNames[] = {"id",   "key",  "name", "email", "uuid",     "guid", "isbn",  "sku",
                                          "code", "slug", "user", "login", "username", "url",  "domain"};

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// Collects columns row by row. Values are kept as hashes only, so two of them may look equal by bad luck;
/// then the column is not guessed.
class Sample {
 public:
  std::size_t add_column(std::string name) {
    columns_.push_back({std::move(name), {}, rows_ == 0});
    hashes_.emplace_back();
    return columns_.size() - 1;
  }
  void add(std::size_t column, const std::string& value) {
    auto& of = columns_[column];
    if (rows_ == 0) of.first = value;
    if (!of.distinct) return;
    of.distinct = !value.empty() && value.size() <= kMaxKeyBytes;
    hashes_[column].push_back(std::hash<std::string>()(value));
    ++values_;
  }
  /// Whether the sample takes another row.
  bool end_row() { return ++rows_ < kMaxRows && values_ < kMaxValues; }
  std::size_t width() const noexcept { return columns_.size(); }

  std::vector<SampledColumn> finish() && {
    if (rows_ == 0) return {};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      auto& hashes = hashes_[i];
      if (!columns_[i].distinct) continue;
      std::sort(hashes.begin(), hashes.end());
      columns_[i].distinct =
          hashes.size() == rows_ && std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end();
    }
    return std::move(columns_);
  }

 private:
  std::vector<SampledColumn> columns_;
  std::vector<std::vector<std::size_t>> hashes_;
  std::size_t rows_ = 0, values_ = 0;
};

Result<std::vector<SampledColumn>> sample_delimited(const std::string& file, char separator, bool header,
                                                    database::BadRows* bad) {
  Sample sample;
  const auto add_columns = [&](std::span<const std::string> names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      // A name that is empty, or that two columns have, names no column.
      const bool usable =
          header && !names[i].empty() && std::count(names.begin(), names.end(), names[i]) == 1;
      sample.add_column(usable ? names[i] : std::to_string(i + 1));
    }
  };
  PIRX_TRY(database::read_delimited(
      file, separator,
      [&](std::span<const std::string> values) {
        if (sample.width() == 0) {
          add_columns(values);
          if (header) return true;
        }
        // The importer refuses rows of another width.
        for (std::size_t i = 0; i < std::min(values.size(), sample.width()); ++i) sample.add(i, values[i]);
        return sample.end_row();
      },
      bad));
  return std::move(sample).finish();
}

Result<std::vector<SampledColumn>> sample_json_lines(const std::string& file, database::BadRows* bad) {
  constexpr std::size_t kMaxColumns = 4096;
  Sample sample;
  std::unordered_map<std::string, std::size_t> known;
  PIRX_TRY(database::read_json_lines(
      file,
      [&](const database::JsonMembers& members) {
        for (const auto& [name, value] : members) {
          auto found = known.find(name);
          if (found == known.end()) {
            if (known.size() == kMaxColumns) continue;
            found = known.emplace(name, sample.add_column(name)).first;
          }
          sample.add(found->second, value);
        }
        return sample.end_row();
      },
      bad));
  return std::move(sample).finish();
}

/// The place of a name in kKeyNames. Names such as "user_id" come after all of them.
std::size_t rank_of(const std::string& name) {
  const auto lower = lower_case(name);
  const auto* found = std::find(std::begin(kKeyNames), std::end(kKeyNames), lower);
  if (found != std::end(kKeyNames)) return static_cast<std::size_t>(found - std::begin(kKeyNames));
  return std::size(kKeyNames) + (lower.ends_with("_id") ? 0 : 1);
}

}  // namespace

Result<std::vector<SampledColumn>> sample_columns(const BuildArguments& build) {
  database::BadRows left_out;  // the importer counts them
  auto* bad = build.skip_bad_rows ? &left_out : nullptr;
  if (build.format == "jsonl") return sample_json_lines(build.input, bad);
  if (build.format != "csv" && build.format != "tsv") return std::vector<SampledColumn>();
  PIRX_ASSIGN(const char separator, separator_of(build));
  return sample_delimited(build.input, separator, !build.no_header, bad);
}

std::optional<GuessedKey> guess_key(const std::vector<SampledColumn>& columns) {
  const SampledColumn* best = nullptr;
  for (const auto& column : columns) {
    if (column.distinct && (best == nullptr || rank_of(column.name) < rank_of(best->name))) best = &column;
  }
  if (best == nullptr) return std::nullopt;
  const bool named = rank_of(best->name) <= std::size(kKeyNames);
  return GuessedKey{best->name, best->first,
                    named ? "guessed by its name; no value is there twice"
                          : "guessed: the first column in which no value is there twice"};
}

std::string example_of(const std::vector<SampledColumn>& columns, const std::string& key) {
  const SampledColumn* found = nullptr;
  for (std::size_t i = columns.size(); i-- > 0;) {
    if (columns[i].name == key || (found == nullptr && std::to_string(i + 1) == key)) found = &columns[i];
  }
  return found == nullptr || found->first.size() > kMaxKeyBytes ? std::string() : found->first;
}

}  // namespace pirx::cli
