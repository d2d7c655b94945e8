// SPDX-License-Identifier: Apache-2.0
#include "bucket_sources.h"

#include <sys/stat.h>

#include <algorithm>
#include <sstream>

#include "pirx/base/small_file.h"
#include "src/base/file.h"
#include "src/database/mapping.h"

namespace pirx::batchcodes {
namespace {

constexpr std::string_view kFirstLine = "pirx buckets and their databases 1";
constexpr std::size_t kMostLines = 100, kMostBytes = std::size_t{64} << 10;

std::filesystem::path path_beside(const database::Database& plain) {
  auto path = behind_links(plain.mapping().path).value_or(plain.mapping().path);
  path += ".buckets";
  return path;
}

}  // namespace

BucketSources BucketSources::read(const database::Database& plain) {
  BucketSources sources;
  const auto path = path_beside(plain);
  std::istringstream text(read_file(path, kMostBytes, "list of buckets", true).value_or(""));
  std::string line;
  if (!std::getline(text, line) || line != kFirstLine) {
    sources.foreign_ = is_there(path).value_or(true);
    return sources;
  }
  while (std::getline(text, line)) {
    std::istringstream fields(line);
    std::string buckets, identity;
    Source source;
    if (!(fields >> buckets >> source.plain.epoch >> identity >> source.count)) continue;
    const auto of = digest_from_hex(buckets), of_plain = digest_from_hex(identity);
    if (!of || !of_plain) continue;
    source.plain.identity = *of_plain;
    sources.lines_.push_back({*of, source});
  }
  return sources;
}

std::optional<BucketSources::Source> BucketSources::of(const Digest& buckets) const {
  const auto line =
      std::find_if(lines_.begin(), lines_.end(), [&](const Line& one) { return one.buckets == buckets; });
  return line == lines_.end() ? std::nullopt : std::optional(line->source);
}

bool BucketSources::any_of(const database::Version& plain) const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [&](const Line& line) { return line.source.plain == plain; });
}

Result<void> BucketSources::add(const database::Database& plain, const Digest& buckets, std::size_t count) {
  const auto path = path_beside(plain);
  PIRX_ASSIGN(const auto lock, lock_folder(path));
  BucketSources sources = read(plain);
  if (sources.foreign_) {
    return invalid(printable(path.native()) +
                   " is to say which buckets are of this database, but is another file");
  }
  auto& lines = sources.lines_;
  lines.push_back({buckets, {plain.version(), count}});
  if (lines.size() > kMostLines) lines.erase(lines.begin());
  std::string text = std::string(kFirstLine) + "\n";
  for (const auto& [of, source] : lines) {
    text += to_hex(of) + " " + std::to_string(source.plain.epoch) + " " + to_hex(source.plain.identity) +
            " " + std::to_string(source.count) + "\n";
  }
  // Who may read the database may read its hash.
  struct stat status;
  const bool known = ::stat(plain.mapping().path.c_str(), &status) == 0;
  return replace_file(path, text, known ? status.st_mode & 0666 : 0600);
}

}  // namespace pirx::batchcodes
