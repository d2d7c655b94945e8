// One JSON object on one line, names in the order given.
#pragma once

#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>

namespace pirx::bench {

class Record {
 public:
  explicit Record(std::string_view kind) { add("kind", kind); }
  Record& add(std::string_view name, std::string_view value) {
    begin(name);
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    text_ += '"';
    return *this;
  }
  Record& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  template <std::integral T>
  Record& add(std::string_view name, T value) {
    begin(name);
    text_ += std::to_string(value);
    return *this;
  }
  /// `value` is finite.
  Record& add(std::string_view name, double value) {
    begin(name);
    char number[32];
    std::snprintf(number, sizeof number, "%.6g", value);
    text_ += number;
    return *this;
  }
  std::string to_string() const { return "{" + text_ + "}"; }

 private:
  void begin(std::string_view name) {
    if (!text_.empty()) text_ += ", ";
    text_ += '"';
    text_ += name;
    text_ += "\": ";
  }
  std::string text_;
};

}  // namespace pirx::bench
