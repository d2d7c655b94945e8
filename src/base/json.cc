// SPDX-License-Identifier: Apache-2.0
// Parses by nlohmann-json with exceptions off, and checks what it lets pass.
#include "pirx/base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "pirx/base/bytes.h"
#include "pirx/base/printable.h"

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

/// Line and column, both from 1, of the last of so many bytes.
std::string place_of(std::string_view text, std::size_t bytes) {
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

/// What nlohmann-json lets pass, and where values are. Nothing is kept of the values: its parser with a
/// callback would tell the same, in a time that grows with the square of a list's length.
class Watch final : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Lines = std::map<std::string, std::size_t, std::less<>>;
  /// `lines`: gets the line of each member, by path; may be null. `line`: of what is read.
  Watch(Lines* lines, const std::size_t& line) : lines_(lines), line_(line) {}

  bool too_deep() const noexcept { return too_deep_; }
  const std::optional<std::string>& twice() const noexcept { return twice_; }
  /// The bytes that were read where the text stops to be JSON. Nothing after a number beyond all bounds.
  std::optional<std::size_t> end() const noexcept { return end_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(std::int64_t) override { return value(); }
  bool number_unsigned(std::uint64_t) override { return value(); }
  bool number_float(double, const std::string&) override { return value(); }
  bool string(std::string&) override { return value(); }
  bool binary(nlohmann::json::binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (!names_.back().insert(name).second) twice_ = name;
    if (lines_ == nullptr) return true;
    path_.name(name);
    lines_->insert_or_assign(path_.text(), line_);
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception& error) override {
    if (dynamic_cast<const nlohmann::json::parse_error*>(&error) != nullptr) end_ = at;
    return false;
  }

 private:
  bool value() {
    if (lines_ != nullptr) path_.value();
    return true;
  }
  bool open(bool list) {
    too_deep_ = names_.size() == kMaxDepth;
    if (too_deep_) return false;
    names_.emplace_back();
    if (lines_ == nullptr) return true;
    path_.open(list);
    if (!list) lines_->insert_or_assign(path_.text(), line_);
    return true;
  }
  bool close() {
    names_.pop_back();
    if (lines_ != nullptr) path_.close();
    return true;
  }

  static constexpr std::size_t kMaxDepth = Json::kMaxDepth;
  Lines* const lines_;
  const std::size_t& line_;
  Path path_;
  std::vector<std::set<std::string>> names_;  // of the objects that are open
  std::optional<std::string> twice_;
  std::optional<std::size_t> end_;
  bool too_deep_ = false;
};

}  // namespace

Result<Json> Json::parse(std::string_view text, Source source) {
  auto document = std::make_shared<Document>(Document{std::move(source)});
  const Json whole(document, &document->root, "");
  if (text.size() > document->source.max_bytes) {
    return whole.error("it is longer than the " + std::to_string(document->source.max_bytes) +
                       " bytes that it may have");
  }
  std::size_t line = 1;
  Watch watch(document->source.lines ? &document->lines : nullptr, line);
  const bool good = nlohmann::json::sax_parse(Counting(text.data(), &line),
                                              Counting(text.data() + text.size(), &line), &watch);
  if (watch.too_deep()) return whole.error("it is nested too deeply");
  if (!good && document->source.lines) {
    const auto end = watch.end();
    return whole.error("it is not a JSON object: " +
                       (end ? place_of(text, std::min(*end, text.size())) : "a number beyond all bounds") +
                       " cannot be read");
  }
  const bool cut = text.find('\0') != text.npos;  // where nlohmann-json takes the text to end
  if (good && !cut) document->root = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document->root.is_object()) return whole.error("it is not a JSON object");
  if (watch.twice()) return whole[*watch.twice()].error("is there twice");
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
  // No tree of nlohmann's: destroying one takes memory, and ends the process where there is none.
  std::string& out;
  int indent;
  int level = 0;

  template <class T>
  void operator()(const T& value) const {
    out +=
        nlohmann::ordered_json(value).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  void operator()(const Null&) const { out += "null"; }
  void line(int depth) const {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(depth), ' ');
  }
  void operator()(const std::vector<OutJson>& values) const {
    out += '[';
    for (const auto& one : values) {
      if (&one != &values.front()) out += ',';
      line(level + 1);
      std::visit(Conversion{out, indent, level + 1}, one.value_);
    }
    if (!values.empty()) line(level);
    out += ']';
  }
  void operator()(const OutJson::Members& members) const {
    out += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto& name = members[i].first;
      if (std::any_of(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const auto& before) { return before.first == name; })) {
        continue;
      }
      if (i > 0) out += ',';
      line(level + 1);
      (*this)(std::string(name));
      out += indent < 0 ? ":" : ": ";
      std::visit(Conversion{out, indent, level + 1}, members[i].second.value_);
    }
    if (!members.empty()) line(level);
    out += '}';
  }
};

OutJson& OutJson::operator[](std::string_view name) {
  if (std::holds_alternative<Null>(value_)) value_ = Members();
  auto& members = std::get<Members>(value_);
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == name; });
  return found != members.end() ? found->second : members.emplace_back(name, nullptr).second;
}

void OutJson::push_back(OutJson value) {
  if (std::holds_alternative<Null>(value_)) value_ = std::vector<OutJson>();
  std::get<std::vector<OutJson>>(value_).push_back(std::move(value));
}

std::string OutJson::dump(int indent) const {
  std::string json;
  std::visit(Conversion{json, indent}, value_);
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
