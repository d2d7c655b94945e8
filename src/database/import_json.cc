// SPDX-License-Identifier: Apache-2.0
// Imports JSON lines, one object a line. simdjson reads them. nlohmann-json prints values that are no text,
// and reads the few lines that simdjson refuses: those with a number beyond 64 bits, those whose key is
// neither text nor a whole number, and those that get an error.
#include <simdjson.h>

#include <algorithm>
#include <charconv>
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
std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Whether the value is a number that was read as a double, or holds one. Its text need not be the one in the
/// file, and two such numbers may have the same text.
bool has_double(const Json& value) {
  if (!value.is_structured()) return value.is_number_float();
  return std::any_of(value.begin(), value.end(), has_double);
}

/// Appends a member's value: strings as they are, others as compact JSON.
Result<void> append_member(const Json& object, const std::string& name, bool is_key, std::string& out) {
  const auto found = object.find(name);
  if (found == object.end()) {
    std::vector<std::string> names;
    for (const auto& item : object.items()) names.push_back(item.key());
    return invalid("there is no member \"" + printable(name) + "\"; the object has: " + listed(names));
  }
  if (found->is_null()) {
    return invalid("member \"" + printable(name) +
                   "\" is null, which is no text: leave such lines out, or give it a value");
  }
  if (is_key && has_double(*found)) {
    return invalid("the key, member \"" + printable(name) + (found->is_structured() ? "\", has" : "\", is") +
                   " a number that is not an integer of 64 bits: write it as a string");
  }
  out += value_text(*found);
  return {};
}

/// Adds the names of its members to `names`, if given, in their order.
Result<Json> parse_object(std::string_view line, std::vector<std::string>* names = nullptr) {
  // For nlohmann-json the text ends at a zero byte, whatever follows.
  if (line.find('\0') != std::string_view::npos) {
    return invalid("not valid JSON: there is a zero byte; objects are told apart by newlines");
  }
  PIRX_TRY(check_shape(line));
  Json::parser_callback_t note = nullptr;  // with one the time grows with the square of a list's length
  if (names != nullptr) {
    note = [names](int depth, Json::parse_event_t event, const Json& parsed) {
      if (depth == 1 && event == Json::parse_event_t::key) names->push_back(parsed.get<std::string>());
      return true;
    };
  }
  Json object = Json::parse(line.begin(), line.end(), note, false);
  if (object.is_discarded()) return invalid("not valid JSON: a line is one object, also in an array");
  if (!object.is_object()) return invalid("not a JSON object but " + std::string(object.type_name()));
  return object;
}

Result<void> add_parsed_slowly(std::string_view line, const Columns& columns, DatabaseBuilder& builder) {
  PIRX_ASSIGN(const Json object, parse_object(line));
  std::string key, value;
  if (!columns.key.empty()) PIRX_TRY(append_member(object, columns.key, true, key));
  for (std::size_t i = 0; i < columns.values.size(); ++i) {
    if (i != 0) value += '\t';
    PIRX_TRY(append_member(object, columns.values[i], false, value));
  }
  return add_row(columns, key, columns.values.empty() ? line : value, builder);
}

/// The same value for nlohmann-json, which sorts members and keeps the last of one name.
Json converted(const simdjson::dom::element& value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY: {
      Json array = Json::array();
      for (const auto element : value.get_array()) array.push_back(converted(element));
      return array;
    }
    case simdjson::dom::element_type::OBJECT: {
      Json object = Json::object();
      for (const auto [name, member] : value.get_object()) object[std::string(name)] = converted(member);
      return object;
    }
    case simdjson::dom::element_type::INT64:
      return std::int64_t{value.get_int64()};
    case simdjson::dom::element_type::UINT64:
      return std::uint64_t{value.get_uint64()};
    case simdjson::dom::element_type::DOUBLE:
      return double{value.get_double()};
    case simdjson::dom::element_type::STRING:
      return std::string(std::string_view(value.get_string()));
    case simdjson::dom::element_type::BOOL:
      return bool{value.get_bool()};
    case simdjson::dom::element_type::NULL_VALUE:
      break;
  }
  return nullptr;
}

/// Appends a value that is not null: strings as they are, others as compact JSON.
void append_value(const simdjson::dom::element& value, std::string& out) {
  const auto append_number = [&out](auto number) {
    char digits[24];
    out.append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
  };
  switch (value.type()) {
    case simdjson::dom::element_type::STRING:
      out += std::string_view(value.get_string());
      return;
    case simdjson::dom::element_type::INT64:
      append_number(std::int64_t{value.get_int64()});
      return;
    case simdjson::dom::element_type::UINT64:
      append_number(std::uint64_t{value.get_uint64()});
      return;
    default:
      out += value_text(converted(value));
  }
}

/// Adds the records of objects. It keeps the parser's memory from line to line.
class ObjectImport {
 public:
  ObjectImport(const Columns& columns, DatabaseBuilder& builder) : columns_(columns), builder_(builder) {
    if (!columns.key.empty()) wanted_.push_back({columns.key, &key_, {}, false});
    for (const auto& name : columns.values) wanted_.push_back({name, &value_, {}, false});
  }

  /// Adds the record of `line`, behind which SIMDJSON_PADDING more bytes can be read.
  Result<void> add(std::string_view line) {
    if (!find_members(line)) return add_parsed_slowly(line, columns_, builder_);
    key_.clear();
    value_.clear();
    for (const auto& member : wanted_) {
      if (member.text == &value_ && &member != &wanted_[wanted_.size() - columns_.values.size()])
        value_ += '\t';
      append_value(member.value, *member.text);
    }
    return add_row(columns_, key_, columns_.values.empty() ? line : value_, builder_);
  }

 private:
  struct Wanted {
    std::string_view name;
    std::string* text;  ///< where it goes
    simdjson::dom::element value;
    bool found;
  };

  static bool is_plain(const simdjson::dom::element& value) {
    using Type = simdjson::dom::element_type;
    return value.type() != Type::DOUBLE && value.type() != Type::ARRAY && value.type() != Type::OBJECT;
  }
  /// False: the line is long, or not as it should be, or its key may hold a number that can be none.
  bool find_members(std::string_view line) {
    // So few bytes hold less than kMaxValues values, and the parser's memory stays small.
    if (line.size() >= kMaxValues) return false;
    if (parser_.capacity() == 0 && parser_.allocate(kMaxValues, kMaxDepth) != simdjson::SUCCESS) return false;
    simdjson::dom::object object;
    if (parser_.parse(line.data(), line.size(), false).get(object) != simdjson::SUCCESS) return false;
    for (auto& member : wanted_) member.found = false;
    for (const auto& [name, value] : object) {
      for (auto& member : wanted_) {
        if (member.name != name) continue;
        member.value = value;  // The last of several counts.
        member.found = !value.is_null() && (member.text != &key_ || is_plain(value));
      }
    }
    return std::all_of(wanted_.begin(), wanted_.end(), [](const Wanted& member) { return member.found; });
  }

  const Columns& columns_;
  DatabaseBuilder& builder_;
  std::vector<Wanted> wanted_;  ///< the key, if there is one, and the values
  std::string key_, value_;
  simdjson::dom::parser parser_;
};

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

/// Calls `take` with the text of each object, which SIMDJSON_PADDING readable bytes follow, and with its
/// place, until it gives false or an error.
template <class Take>
Result<void> for_each_object(const std::filesystem::path& file, std::uint64_t max_line_bytes,
                             const Take& take) {
  PIRX_ASSIGN(TextInput input, TextInput::open(file, max_line_bytes));
  PIRX_TRY(input.skip_byte_order_mark());
  ArrayLines lines;
  for (std::string line;; line.clear()) {
    PIRX_ASSIGN(const bool more, input.append_line(line));
    if (!more) break;
    line.reserve(line.size() + simdjson::SIMDJSON_PADDING);
    const std::string_view text = without_newline(line);
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto object = lines.object(text);
    if (!object) return input.fail_at(input.line(), object.error());
    PIRX_ASSIGN(const bool more_wanted, take(*object, input));
    if (!more_wanted) return {};
  }
  if (!lines.broken_off()) return {};
  return input.fail_at(
      input.line(), Error(ErrorCode::kDataLoss, "the array does not end: what wrote it may have broken off"));
}

Result<void> import_objects(const std::filesystem::path& file, const Columns& columns,
                            DatabaseBuilder& builder, BadRows* bad) {
  ObjectImport import(columns, builder);
  return for_each_object(file, max_row_bytes(builder),
                         [&](std::string_view object, const TextInput& input) -> Result<bool> {
                           input.note_place(input.line(), builder);
                           if (auto added = import.add(object); !added) {
                             PIRX_TRY(input.refuse_row(input.line(), added.error(), builder, bad));
                           }
                           return true;
                         });
}

Result<void> visit_objects(const std::filesystem::path& file,
                           const std::function<bool(const JsonMembers&)>& visit, BadRows* bad) {
  return for_each_object(file, kMaxRowBytes,
                         [&](std::string_view text, const TextInput& input) -> Result<bool> {
                           std::vector<std::string> names;
                           auto object = parse_object(text, &names);
                           if (!object) {
                             PIRX_TRY(refuse(input.fail_at(input.line(), object.error()), bad));
                             return true;
                           }
                           JsonMembers members;
                           for (const auto& name : names) {
                             // A name that is there twice has one value.
                             const Json value = std::exchange((*object)[name], nullptr);
                             if (value.is_null() || value.is_structured() || value.is_number_float())
                               continue;
                             members.emplace_back(name, value_text(value));
                           }
                           return visit(members);
                         });
}

Result<void> visit_texts(const std::filesystem::path& file,
                         const std::function<Result<void>(std::string_view, std::uint64_t)>& visit) {
  return for_each_object(file, kMaxRowBytes,
                         [&](std::string_view text, const TextInput& input) -> Result<bool> {
                           auto visited = check_shape(text);
                           if (visited) visited = visit(text, input.most_bytes());
                           if (!visited) return input.fail_at(input.line(), visited.error());
                           return true;
                         });
}

}  // namespace

Result<void> read_json_objects(
    const std::filesystem::path& file,
    const std::function<Result<void>(std::string_view object, std::uint64_t most_bytes)>& object) {
  return guarded([&] { return visit_texts(file, object); });
}

Result<void> read_json_lines(const std::filesystem::path& file,
                             const std::function<bool(const JsonMembers& members)>& object, BadRows* bad) {
  return guarded([&] { return visit_objects(file, object, bad); });
}

Result<void> import_json_lines(const std::filesystem::path& file, const Columns& columns,
                               DatabaseBuilder& builder, BadRows* bad) {
  return guarded([&] { return import_objects(file, columns, builder, bad); });
}

}  // namespace pirx::database
