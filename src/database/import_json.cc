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
        return fail(ErrorCode::kInvalidArgument,
                    "JSON nested deeper than " + std::to_string(kMaxDepth) + " levels");
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

/// Appends a member's value: strings as they are, others as compact JSON.
Result<void> append_member(const Json& object, const std::string& name, std::string& out) {
  const auto found = object.find(name);
  if (found == object.end()) {
    std::vector<std::string> names;
    for (const auto& item : object.items()) names.push_back(item.key());
    return fail(ErrorCode::kInvalidArgument,
                "there is no member \"" + printable(name) + "\"; the object has: " + listed(names));
  }
  if (found->is_null()) {
    return fail(ErrorCode::kInvalidArgument, "member \"" + printable(name) +
                                                 "\" is null, which is no text: leave such lines out, or "
                                                 "give it a value");
  }
  if (const auto* text = found->get_ptr<const std::string*>()) {
    out += *text;
  } else {
    out += found->dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return {};
}

Result<void> add_object(std::string_view line, const Columns& columns, DatabaseBuilder& builder) {
  PIRX_TRY(check_shape(line));
  const Json object = Json::parse(line.begin(), line.end(), nullptr, false);
  if (object.is_discarded()) return invalid("not valid JSON");
  if (!object.is_object()) return invalid("not a JSON object but " + std::string(object.type_name()));
  std::string key, value;
  if (!columns.key.empty()) PIRX_TRY(append_member(object, columns.key, key));
  for (std::size_t i = 0; i < columns.values.size(); ++i) {
    if (i != 0) value += '\t';
    PIRX_TRY(append_member(object, columns.values[i], value));
  }
  return add_row(columns, key, columns.values.empty() ? line : value, builder);
}

Result<void> import_objects(const std::filesystem::path& file, const Columns& columns,
                            DatabaseBuilder& builder) {
  PIRX_ASSIGN(TextInput input, TextInput::open(file, max_row_bytes(builder)));
  PIRX_TRY(input.skip_byte_order_mark());
  for (std::string line;; line.clear()) {
    PIRX_ASSIGN(const bool more, input.append_line(line));
    if (!more) return {};
    const std::string_view text = without_newline(line);
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    builder.note_line(input.line());
    if (auto added = add_object(text, columns, builder); !added)
      return input.fail_at(input.line(), added.error());
  }
}

}  // namespace

Result<void> import_json_lines(const std::filesystem::path& file, const Columns& columns,
                               DatabaseBuilder& builder) {
  return guarded([&] { return import_objects(file, columns, builder); });
}

}  // namespace pirx::database
