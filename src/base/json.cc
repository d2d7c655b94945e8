// SPDX-License-Identifier: Apache-2.0
// Parses by nlohmann-json with exceptions off, and checks what it lets pass.
#include "pirx/base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "pirx/base/bytes.h"
#include "printable.h"

namespace pirx {

struct Json::Document {
  Source source;
  nlohmann::json root = {};
  std::map<std::string, std::size_t, std::less<>> lines = {};  ///< by path, with Source::lines
};

namespace {

/// The value if there is one and it is of the kind that `is` tells, else null.
const nlohmann::json* of_kind(const void* at, bool (nlohmann::json::*is)() const noexcept) {
  const auto* value = static_cast<const nlohmann::json*>(at);
  return value != nullptr && (value->*is)() ? value : nullptr;
}

/// Reads a text and keeps count of its lines.
class Counting {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Counting(const char* at, std::size_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  Counting& operator++() {
    *line_ += *at_++ == '\n' ? 1 : 0;
    return *this;
  }
  bool operator==(const Counting& other) const { return at_ == other.at_; }
  bool operator!=(const Counting& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* line_;
};

/// Line and column, both from 1, of where a text stops to be JSON.
std::string place_of_error(std::string_view text) {
  std::size_t bytes = text.size();
  try {
    [[maybe_unused]] const auto parsed = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {  // the only way to learn where
    bytes = std::min(error.byte, text.size());
  } catch (const nlohmann::json::exception&) {
    return "a number beyond all bounds";
  }
  const auto before = text.substr(0, bytes - std::min<std::size_t>(bytes, 1));
  const auto line_begin = before.rfind('\n') + 1;  // 0 without one
  return "line " + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ", column " +
         std::to_string(bytes - line_begin);
}

/// The path of the value that is being read, as Json has it.
class Path {
 public:
  void open(bool list) {
    value();
    levels_.push_back({list, 0, {}});
  }
  void close() { levels_.pop_back(); }
  void name(std::string_view text) { levels_.back().name = text.substr(0, kLongestName); }
  void value() {
    if (!levels_.empty() && levels_.back().list) ++levels_.back().count;
  }
  std::string text() const {
    std::string path;
    for (const auto& level : levels_) {
      if (level.list && level.count > 0) path += "[" + std::to_string(level.count - 1) + "]";
      if (!level.list && !level.name.empty()) path += (path.empty() ? "" : ".") + level.name;
    }
    return path;
  }
  static constexpr std::size_t kLongestName = 100;

 private:
  struct Level {
    bool list;
    std::size_t count;
    std::string name;
  };
  std::vector<Level> levels_;
};

}  // namespace

Result<Json> Json::parse(std::string_view text, Source source) {
  using Event = nlohmann::json::parse_event_t;
  auto document = std::make_shared<Document>(Document{std::move(source)});
  const Json whole(document, &document->root, "");
  if (text.size() > document->source.max_bytes) {
    return whole.error("it is longer than the " + std::to_string(document->source.max_bytes) +
                       " bytes that it may have");
  }
  std::vector<std::set<std::string>> names;  // of the objects that are open
  std::optional<std::string> twice;
  bool deep = false;
  std::size_t line = 1;
  Path path;
  const auto note_line = [&](Event event, const nlohmann::json& parsed) {
    if (event == Event::object_start || event == Event::array_start) path.open(event == Event::array_start);
    if (event == Event::object_end || event == Event::array_end) path.close();
    if (event == Event::value) path.value();
    if (event == Event::key) path.name(parsed.get_ref<const std::string&>());
    if (event == Event::key || event == Event::object_start)
      document->lines.insert_or_assign(path.text(), line);
  };
  const auto watch = [&](int depth, Event event, const nlohmann::json& parsed) {
    if (document->source.lines && !deep) note_line(event, parsed);  // each path is as long as it is deep
    if (event == Event::object_start || event == Event::array_start) deep = deep || depth >= kMaxDepth;
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::object_end) names.pop_back();
    if (event == Event::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!names.back().insert(name).second) twice = name;
    }
    return true;
  };
  document->root =
      nlohmann::json::parse(Counting(text.data(), &line), Counting(text.data() + text.size(), &line), watch,
                            /*allow_exceptions=*/false);
  if (document->root.is_discarded() && document->source.lines) {
    return whole.error("it is not a JSON object: " + place_of_error(text) + " cannot be read");
  }
  const bool cut = text.find('\0') != text.npos;  // where nlohmann-json takes the text to end
  if (cut || !document->root.is_object()) return whole.error("it is not a JSON object");
  if (deep) return whole.error("it is nested too deeply");
  if (twice) return whole[*twice].error("is there twice");
  return whole;
}

Json Json::operator[](std::string_view name) const {
  const auto path = path_ + (path_.empty() ? "" : ".") + std::string(name.substr(0, Path::kLongestName));
  const auto* object = of_kind(value_, &nlohmann::json::is_object);
  if (object == nullptr) return Json(document_, nullptr, path);
  const auto found = object->find(name);
  return Json(document_, found == object->end() ? nullptr : &*found, path);
}

Result<std::vector<std::pair<std::string, Json>>> Json::members() const {
  const auto* object = of_kind(value_, &nlohmann::json::is_object);
  if (object == nullptr) return other_kind("is not an object");
  std::vector<std::pair<std::string, Json>> members;
  for (const auto& item : object->items()) members.emplace_back(item.key(), (*this)[item.key()]);
  return members;
}

Result<std::vector<Json>> Json::list() const {
  const auto* list = of_kind(value_, &nlohmann::json::is_array);
  if (list == nullptr) return other_kind("is not a list");
  std::vector<Json> values;
  for (const auto& value : *list) {
    values.push_back(Json(document_, &value, path_ + "[" + std::to_string(values.size()) + "]"));
  }
  return values;
}

Result<std::uint64_t> Json::number(std::uint64_t least, std::uint64_t most) const {
  const auto* value = of_kind(value_, &nlohmann::json::is_number_unsigned);
  if (value == nullptr) return other_kind("is not a whole number");
  const auto number = value->get<std::uint64_t>();
  if (number < least) return error("is below " + std::to_string(least));
  if (number > most) return error("is above " + std::to_string(most));
  return number;
}

Result<double> Json::real() const {
  const auto* value = of_kind(value_, &nlohmann::json::is_number);
  if (value == nullptr) return other_kind("is not a number");
  return value->get<double>();
}

Result<bool> Json::boolean(std::optional<bool> otherwise) const {
  if (!exists() && otherwise) return *otherwise;
  const auto* value = of_kind(value_, &nlohmann::json::is_boolean);
  if (value == nullptr) return other_kind("is neither true nor false");
  return value->get<bool>();
}

Result<std::string> Json::string(std::optional<std::string> otherwise) const {
  if (!exists() && otherwise) return *otherwise;
  const auto* value = of_kind(value_, &nlohmann::json::is_string);
  if (value == nullptr) return other_kind("is not a string");
  return value->get<std::string>();
}

Result<void> Json::only(std::initializer_list<std::string_view> names) const {
  PIRX_ASSIGN(const auto all, members());
  for (const auto& [name, value] : all) {
    if (std::find(names.begin(), names.end(), name) == names.end()) return value.error("is not known");
  }
  return {};
}

tl::unexpected<Error> Json::error(std::string_view problem) const {
  const auto& source = document_->source;
  std::string message = source.name;
  // What is missing has no line: what it should be in has.
  for (std::string_view path = path_; !path.empty(); path = path.substr(0, path.find_last_of(".["))) {
    const auto found = document_->lines.find(path);
    if (found != document_->lines.end()) {
      message += " line " + std::to_string(found->second);
      break;
    }
    if (path.find_last_of(".[") == path.npos) break;
  }
  if (!source.name.empty()) message += ": ";
  if (!path_.empty()) {
    message += "'" + printable_ascii(path_, 200) + (problem.starts_with(':') ? "'" : "' ");
  }
  return fail(source.code, message + printable_ascii(problem, 1000) + source.advice);
}

tl::unexpected<Error> Json::other_kind(const char* problem) const {
  return error(exists() ? problem : "is missing");
}

struct OutJson::Conversion {
  using To = nlohmann::ordered_json;

  template <class T>
  To operator()(const T& value) const {
    return value;
  }
  To operator()(const std::vector<OutJson>& values) const {
    To list = To::array();
    for (const auto& one : values) list.push_back(std::visit(*this, one.value_));
    return list;
  }
  To operator()(const OutJson::Members& members) const {
    To object = To::object();
    for (const auto& [name, one] : members) object.emplace(name, std::visit(*this, one.value_));
    return object;
  }
  To operator()(const OutJson& json) const { return std::visit(*this, json.value_); }
};

OutJson& OutJson::operator[](std::string_view name) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Members();
  auto& members = std::get<Members>(value_);
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == name; });
  return found != members.end() ? found->second : members.emplace_back(name, nullptr).second;
}

void OutJson::push_back(OutJson value) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = std::vector<OutJson>();
  std::get<std::vector<OutJson>>(value_).push_back(std::move(value));
}

std::string OutJson::dump(int indent) const {
  const auto json =
      Conversion()(*this).dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  // DEL and U+0080 to U+009F, which JSON leaves as they are and terminals obey.
  std::string text;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const bool two = json[i] == '\xc2' && static_cast<unsigned char>(json[i + 1]) < 0xa0;
    if (!two && json[i] != '\x7f') {
      text += json[i];
      continue;
    }
    if (two) ++i;
    text += "\\u00" + to_hex(as_bytes(std::string_view(json).substr(i, 1)));
  }
  return text;
}

bool is_utf8(std::string_view text) {
  const nlohmann::json json = text;
  using Handler = nlohmann::json::error_handler_t;
  return json.dump(-1, ' ', false, Handler::ignore) == json.dump(-1, ' ', false, Handler::replace);
}

}  // namespace pirx
