// SPDX-License-Identifier: Apache-2.0
// Imports JSON lines, one object a line, parsed by nlohmann-json with exceptions off.
#include <nlohmann/json.hpp>

#include "text_input.h"

namespace pirx::database {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxValues = 65'536;

/// Parsing and printing recurse with the nesting of the input, and a parsed value takes many times the memory
/// of its text ("0,"); this bounds both before either starts.
Result<void> check_shape(std::string_view line) {
  int depth = 0;
  std::size_t values = 1;  // Each but the first comes behind a comma or an opening bracket.
  bool in_string = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == ',') {
      ++values;
    } else if (c == '{' || c == '[') {
      ++values;
      if (++depth > kMaxDepth) {
        return invalid("JSON nested deeper than " + std::to_string(kMaxDepth) + " levels");
      }
    } else if (c == '}' || c == ']') {
      --depth;
    }
    if (values > kMaxValues) {
      return fail(ErrorCode::kResourceExhausted,
                  "the JSON has more than " + std::to_string(kMaxValues) + " values");
    }
  }
  return {};
}

/// A string as it is, another value as compact JSON.
template <class AnyJson>
std::string value_text(const AnyJson& value) {
  if (value.is_string()) return value.template get<std::string>();
  return value.dump(-1, ' ', false, AnyJson::error_handler_t::replace);
}

/// Appends a member's value: strings as they are, others as compact JSON.
Result<void> append_member(const Json& object, const std::string& name, std::string& out) {
  const auto found = object.find(name);
  if (found == object.end()) {
    std::vector<std::string> names;
    for (const auto& item : object.items()) names.push_back(item.key());
    return invalid("there is no member \"" + printable(name) + "\"; the object has: " + listed(names));
  }
  if (found->is_null()) {
    return invalid("member \"" + printable(name) +
                   "\" is null, which is no text: leave such lines out, or "
                   "give it a value");
  }
  if (const auto* text = found->get_ptr<const std::string*>()) {
    out += *text;
  } else {
    out += value_text(*found);
  }
  return {};
}

template <class AnyJson>
Result<AnyJson> parse_object(std::string_view line) {
  PIRX_TRY(check_shape(line));
  AnyJson object = AnyJson::parse(line.begin(), line.end(), nullptr, false);
  if (object.is_discarded()) return invalid("not valid JSON");
  if (!object.is_object()) return invalid("not a JSON object but " + std::string(object.type_name()));
  return object;
}

Result<void> add_object(std::string_view line, const Columns& columns, DatabaseBuilder& builder) {
  PIRX_ASSIGN(const Json object, parse_object<Json>(line));
  std::string key, value;
  if (!columns.key.empty()) PIRX_TRY(append_member(object, columns.key, key));
  for (std::size_t i = 0; i < columns.values.size(); ++i) {
    if (i != 0) value += '\t';
    PIRX_TRY(append_member(object, columns.values[i], value));
  }
  return add_row(columns, key, columns.values.empty() ? line : value, builder);
}

/// Takes the brackets and commas of an array off the lines of its objects.
class ArrayLines {
 public:
  /// The object of a line that is not blank.
  Result<std::string_view> object(std::string_view line) {
    constexpr std::string_view kBlanks = " \t\r";
    line.remove_prefix(line.find_first_not_of(kBlanks));
    if (state_ == State::kStart) {
      state_ = line.front() == '[' ? State::kInside : State::kNoArray;
      if (state_ == State::kInside) line.remove_prefix(1);
    }
    if (state_ == State::kNoArray) return line;
    if (state_ == State::kEnded) return invalid("text behind the end of the array");
    line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    if (!line.ends_with(',') && !line.ends_with(']')) {
      return invalid("a line of an array is one object with ',' or ']' behind it");
    }
    if (line.ends_with(']')) state_ = State::kEnded;
    line.remove_suffix(1);
    return line;
  }
  bool broken_off() const noexcept { return state_ == State::kInside; }

 private:
  enum class State : std::uint8_t { kStart, kNoArray, kInside, kEnded } state_ = State::kStart;
};

/// Calls `take` with the text and the line of each object, until it gives false or an error.
template <class Take>
Result<void> for_each_object(const std::filesystem::path& file, std::uint64_t max_line_bytes,
                             const Take& take) {
  PIRX_ASSIGN(TextInput input, TextInput::open(file, max_line_bytes));
  PIRX_TRY(input.skip_byte_order_mark());
  ArrayLines lines;
  for (std::string line;; line.clear()) {
    PIRX_ASSIGN(const bool more, input.append_line(line));
    if (!more) break;
    const std::string_view text = without_newline(line);
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto object = lines.object(text);
    if (!object) return input.fail_at(input.line(), object.error());
    const Result<bool> more_wanted = take(*object, input.line());
    if (!more_wanted) return input.fail_at(input.line(), more_wanted.error());
    if (!*more_wanted) return {};
  }
  if (!lines.broken_off()) return {};
  return input.fail_at(
      input.line(), Error(ErrorCode::kDataLoss, "the array does not end: what wrote it may have broken off"));
}

Result<void> import_objects(const std::filesystem::path& file, const Columns& columns,
                            DatabaseBuilder& builder) {
  return for_each_object(file, max_row_bytes(builder),
                         [&](std::string_view object, std::uint64_t line) -> Result<bool> {
                           builder.note_line(line);
                           PIRX_TRY(add_object(object, columns, builder));
                           return true;
                         });
}

Result<void> visit_objects(const std::filesystem::path& file,
                           const std::function<bool(const JsonMembers&)>& visit) {
  return for_each_object(file, kMaxRowBytes, [&](std::string_view text, std::uint64_t) -> Result<bool> {
    PIRX_ASSIGN(const auto object, parse_object<nlohmann::ordered_json>(text));
    JsonMembers members;
    for (const auto& [name, value] : object.items()) {
      if (value.is_null() || value.is_structured()) continue;
      members.emplace_back(name, value_text(value));
    }
    return visit(members);
  });
}

}  // namespace

Result<void> read_json_lines(const std::filesystem::path& file,
                             const std::function<bool(const JsonMembers& members)>& object) {
  return guarded([&] { return visit_objects(file, object); });
}

Result<void> import_json_lines(const std::filesystem::path& file, const Columns& columns,
                               DatabaseBuilder& builder) {
  return guarded([&] { return import_objects(file, columns, builder); });
}

}  // namespace pirx::database
