// SPDX-License-Identifier: Apache-2.0
// Imports CSV as in RFC 4180, and tab-separated values. Input that does not parse is refused with its
// line.
#include "text_input.h"

namespace pirx::database {
namespace {

/// A column costs memory whatever its length, so a line of separators alone must not make millions.
constexpr std::size_t kMaxColumns = 4096;
/// Room that a field keeps for the next row.
constexpr std::size_t kKeptFieldBytes = std::size_t{1} << 16;

/// Reads rows. A row is one line, or several when a quoted field holds newlines.
class RowReader {
 public:
  RowReader(TextInput input, char separator) : input_(std::move(input)), separator_(separator) {}

  /// False at the end of the file. A row of more columns than the first one is refused before they are read.
  Result<bool> next();
  /// The same, but what is refused of a single row becomes refuse(..., bad).
  Result<bool> next_good(BadRows* bad);
  const std::vector<std::string>& fields() const noexcept { return fields_; }
  /// The row as it stands in the file, without its last newline.
  std::string_view raw() const noexcept { return without_newline(raw_); }
  /// Line on which the row starts.
  std::uint64_t line() const noexcept { return line_; }
  const TextInput& input() const noexcept { return input_; }

 private:
  tl::unexpected<Error> too_many_columns() const;
  bool at_quote() const noexcept { return separator_ != '\t' && at_ < raw().size() && raw_[at_] == '"'; }
  Result<void> quoted_text(std::string& field);
  Result<void> quoted_field(std::string& field);
  Result<void> plain_field(std::string& field);
  Result<void> skip_rest();

  TextInput input_;
  char separator_;
  std::string raw_;
  std::size_t at_ = 0;  ///< how much of raw_ is read
  std::vector<std::string> fields_;
  std::uint64_t line_ = 0;
  std::size_t columns_ = 0;  ///< of the first row; 0 before it is read
  bool can_go_on_ = false;   ///< an error is that of one row, and next() goes on with the line that follows
};

tl::unexpected<Error> RowReader::too_many_columns() const {
  if (columns_ != 0) {
    return input_.fail_at(
        line_, Error(ErrorCode::kInvalidArgument,
                     "the row has more columns than the first line, which has " + std::to_string(columns_)));
  }
  return input_.fail_at(
      line_, Error(ErrorCode::kResourceExhausted, "the line has more than " + std::to_string(kMaxColumns) +
                                                      " columns; is this the right separator?"));
}

Result<bool> RowReader::next() {
  raw_.clear();
  can_go_on_ = false;
  PIRX_ASSIGN(const bool more, input_.append_line(raw_));
  if (!more) return false;
  line_ = input_.line();
  can_go_on_ = columns_ != 0;
  const std::size_t most = columns_ == 0 ? kMaxColumns : columns_;
  std::size_t count = 0;
  for (at_ = 0;; ++at_) {
    if (count == most) return too_many_columns();
    // The strings of the last row are used again: a million rows need no million allocations. Not the long
    // ones: each row could make another column long.
    if (count == fields_.size()) fields_.emplace_back();
    std::string& field = fields_[count++];
    if (field.capacity() > kKeptFieldBytes) std::string().swap(field);
    field.clear();
    PIRX_TRY(at_quote() ? quoted_field(field) : plain_field(field));
    if (at_ == raw().size()) break;
  }
  fields_.resize(count);
  if (columns_ == 0) columns_ = count;
  return true;
}

Result<bool> RowReader::next_good(BadRows* bad) {
  for (;;) {
    auto read = next();
    if (read || !can_go_on_) return read;
    PIRX_TRY(refuse(tl::unexpected(read.error()), bad));
    PIRX_TRY(skip_rest());
  }
}

/// Goes to the end of a row that is refused, so that no line of a quoted field is taken for a row: whoever
/// writes the text of such a field could otherwise choose keys.
Result<void> RowReader::skip_rest() {
  for (std::string ignored; at_ < raw().size(); ++at_) {
    ignored.clear();
    if (at_quote()) PIRX_TRY(quoted_text(ignored));
    at_ = std::min(raw().find(separator_, at_), raw().size());
  }
  return {};
}

/// From a quote to behind the one that closes it.
Result<void> RowReader::quoted_text(std::string& field) {
  const std::uint64_t opened = input_.line();
  ++at_;
  for (;;) {
    const std::size_t quote = raw_.find('"', at_);
    if (quote == std::string::npos) {
      field.append(raw_, at_);
      at_ = raw_.size();
      can_go_on_ = false;
      PIRX_ASSIGN(const bool more, input_.append_line(raw_));
      can_go_on_ = more && columns_ != 0;
      if (!more) {
        return input_.fail_at(opened, Error(ErrorCode::kInvalidArgument,
                                            "broken quote: the quote opened on this line is never closed"));
      }
      continue;
    }
    field.append(raw_, at_, quote - at_);
    at_ = quote + 1;
    if (at_ == raw_.size() || raw_[at_] != '"') return {};
    field += '"';
    ++at_;
  }
}

Result<void> RowReader::quoted_field(std::string& field) {
  PIRX_TRY(quoted_text(field));
  if (at_ < raw().size() && raw_[at_] != separator_) {
    return input_.fail_here(
        "broken quote: text behind a closing quote; a quote inside of a field is written twice");
  }
  return {};
}

Result<void> RowReader::plain_field(std::string& field) {
  const std::size_t end = std::min(raw().find(separator_, at_), raw().size());
  field.assign(raw_, at_, end - at_);
  if (separator_ != '\t' && field.find('"') != std::string::npos) {
    return input_.fail_here(
        "broken quote: a quote inside of an unquoted field; quote the whole field and write the quote twice");
  }
  at_ = end;
  return {};
}

Result<void> check_separator(char separator) {
  if (separator != '"' && separator != '\n' && separator != '\r') return {};
  return invalid("a separator may not be a quote or a newline");
}

Result<void> import_rows(const std::filesystem::path& file, char separator, bool header,
                         const Columns& columns, DatabaseBuilder& builder, BadRows* bad) {
  PIRX_TRY(check_separator(separator));
  PIRX_ASSIGN(TextInput input, TextInput::open(file, max_row_bytes(builder)));
  PIRX_TRY(input.skip_byte_order_mark());
  RowReader rows(std::move(input), separator);
  PIRX_ASSIGN(bool more, rows.next());
  if (!more) {
    return invalid(printable(file.native()) + ": the file is empty");
  }
  std::vector<std::string> names = rows.fields();
  if (!header) {
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = std::to_string(i + 1);
  }
  const auto column_of = [&](const std::string& column) -> Result<std::size_t> {
    auto found = find_column(names, column);
    if (!found) return rows.input().fail_at(1, found.error());
    return found;
  };
  std::size_t key = 0;
  if (!columns.key.empty()) {
    PIRX_ASSIGN(key, column_of(columns.key));
  }
  std::vector<std::size_t> values;
  for (const std::string& column : columns.values) {
    PIRX_ASSIGN(const std::size_t value, column_of(column));
    values.push_back(value);
  }
  if (header) {
    PIRX_ASSIGN(more, rows.next_good(bad));
  }
  std::string joined;
  const auto take = [&](const std::vector<std::string>& fields) -> Result<void> {
    if (fields.size() != names.size()) {
      return invalid("the row has " + std::to_string(fields.size()) + " columns, the first line has " +
                     std::to_string(names.size()));
    }
    joined.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 0) joined += '\t';
      joined += fields[values[i]];
    }
    return add_row(columns, fields[key], values.empty() ? rows.raw() : joined, builder);
  };
  while (more) {
    rows.input().note_place(rows.line(), builder);
    if (auto taken = take(rows.fields()); !taken) {
      PIRX_TRY(rows.input().refuse_row(rows.line(), taken.error(), builder, bad));
    }
    PIRX_ASSIGN(more, rows.next_good(bad));
  }
  return {};
}

Result<void> visit_rows(const std::filesystem::path& file, char separator,
                        const std::function<bool(std::span<const std::string>)>& visit, BadRows* bad) {
  PIRX_TRY(check_separator(separator));
  PIRX_ASSIGN(TextInput input, TextInput::open(file, kMaxRowBytes));
  PIRX_TRY(input.skip_byte_order_mark());
  RowReader rows(std::move(input), separator);
  for (;;) {
    PIRX_ASSIGN(const bool more, rows.next_good(bad));
    if (!more || !visit(rows.fields())) return {};
  }
}

}  // namespace

Result<void> read_delimited(const std::filesystem::path& file, char separator,
                            const std::function<bool(std::span<const std::string> values)>& row,
                            BadRows* bad) {
  return guarded([&] { return visit_rows(file, separator, row, bad); });
}

Result<void> import_delimited(const std::filesystem::path& file, char separator, bool header,
                              const Columns& columns, DatabaseBuilder& builder, BadRows* bad) {
  return guarded([&] { return import_rows(file, separator, header, columns, builder, bad); });
}

}  // namespace pirx::database
