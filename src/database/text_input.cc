// SPDX-License-Identifier: Apache-2.0
// Reads lines, and has what the importers of tables share.
#include "text_input.h"

#include <algorithm>
#include <charconv>

namespace pirx::database {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 18;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

Result<TextInput> TextInput::open(const std::filesystem::path& file, std::uint64_t max_line_bytes) {
  PIRX_ASSIGN(InputStream stream, InputStream::open(file));
  return TextInput(std::move(stream), file, max_line_bytes);
}

Result<void> TextInput::fill() {
  buffer_.resize(kReadBytes);
  PIRX_ASSIGN(const std::size_t count, stream_.read(std::as_writable_bytes(std::span(buffer_))));
  buffer_.resize(count);
  used_ = 0;
  return {};
}

Result<void> TextInput::skip_byte_order_mark() {
  PIRX_TRY(fill());
  if (buffer_.starts_with(kByteOrderMark)) used_ = kByteOrderMark.size();
  return {};
}

Result<bool> TextInput::append_line(std::string& text) {
  for (bool started = false;; started = true) {
    if (used_ == buffer_.size()) {
      PIRX_TRY(fill());
      if (buffer_.empty()) {
        line_ += started;
        return started;
      }
    }
    const std::size_t newline = buffer_.find('\n', used_);
    const std::size_t end = newline == std::string::npos ? buffer_.size() : newline + 1;
    if (text.size() + (end - used_) > max_line_bytes_) {
      return fail_at(line_ + 1,
                     Error(ErrorCode::kResourceExhausted, "a line or row is longer than the limit of " +
                                                              std::to_string(max_line_bytes_) + " bytes"));
    }
    text.append(buffer_, used_, end - used_);
    used_ = end;
    if (newline != std::string::npos) {
      ++line_;
      return true;
    }
  }
}

tl::unexpected<Error> TextInput::fail_at(std::uint64_t line, const Error& error) const {
  return fail(error.code(),
              printable(file_.native()) + ", line " + std::to_string(line) + ": " + error.message());
}

std::uint64_t max_row_bytes(const DatabaseBuilder& builder) {
  constexpr std::uint64_t kOtherColumns = std::uint64_t{64} << 20;
  return std::max(builder.options().max_record_bytes, kOtherColumns) + kOtherColumns;
}

std::string_view without_newline(std::string_view line) {
  if (line.ends_with('\n')) {
    line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  return line;
}

Result<void> add_row(const Columns& columns, std::string_view key, std::string_view value,
                     DatabaseBuilder& builder) {
  return columns.key.empty() ? builder.add(as_bytes(value)) : builder.add(key, as_bytes(value));
}

Result<void> TextInput::refuse_row(std::uint64_t line, const Error& error, const DatabaseBuilder& builder,
                                   BadRows* bad) const {
  return refuse(fail_at(line, error), builder.takes_more() ? bad : nullptr);
}

Result<void> refuse(const tl::unexpected<Error>& error, BadRows* bad) {
  if (bad == nullptr) return error;
  if (bad->count++ < BadRows::kMostReasons) bad->reasons.push_back(error.value().message());
  return {};
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 30;
  std::string result;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    result += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  if (names.size() > kMost) result += " and " + std::to_string(names.size() - kMost) + " more";
  return result;
}

Result<std::size_t> find_column(const std::vector<std::string>& names, const std::string& column) {
  const auto found = std::find(names.begin(), names.end(), column);
  if (found != names.end()) {
    if (std::find(found + 1, names.end(), column) != names.end()) {
      return invalid("there are several columns \"" + printable(column) +
                     "\"; name the column by its number");
    }
    return static_cast<std::size_t>(found - names.begin());
  }
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(column.data(), column.data() + column.size(), number);
  if (error == std::errc() && end == column.data() + column.size() && number >= 1 && number <= names.size()) {
    return number - 1;
  }
  return invalid("there is no column \"" + printable(column) + "\" among the " +
                 std::to_string(names.size()) + " columns: " + listed(names));
}

}  // namespace pirx::database
