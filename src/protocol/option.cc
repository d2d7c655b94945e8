// SPDX-License-Identifier: Apache-2.0
// Options and the numbers with units in them.
#include "pirx/protocol/option.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace pirx {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

Result<double> parse_scaled(const std::string& text, std::span<const Unit> units, const char* example) {
  const auto bad = [&] { return invalid("'" + text + "' is not a value like " + example); };
  double number = 0;
#ifdef __cpp_lib_to_chars
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return bad();
#else
  // libc++ 19 cannot read floating point so. strtod takes more than from_chars does.
  if (text.empty() || text[0] < '0' || text[0] > '9' || text.find_first_of("xX") != text.npos) return bad();
  char* rest = nullptr;
  number = std::strtod(text.c_str(), &rest);
#endif
  if (!(number >= 0) || !std::isfinite(number)) return bad();
  const std::string_view suffix(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  for (const auto& unit : units) {
    if (unit.suffix == suffix) return number * unit.factor;
  }
  return bad();
}

}  // namespace

Result<std::uint64_t> Option::value(const std::string& text) const {
  std::uint64_t value = 0;
  switch (kind) {
    case Kind::kText:
    case Kind::kPath:
      if (text.empty()) return invalid("a text is missing");
      return 0;
    case Kind::kSwitch:
      if (text != "on") return invalid("it is given or not, it has no value");
      return 1;
    case Kind::kNumber:
      return parse_whole_number(text, least, most);
    case Kind::kNumbers:
      PIRX_TRY(parse_whole_numbers(text, least, most));
      return 0;
    case Kind::kSize: {
      PIRX_ASSIGN(value, parse_size(text));
      break;
    }
    case Kind::kTime: {
      PIRX_ASSIGN(const auto time, parse_duration(text));
      value = static_cast<std::uint64_t>(time.count());
      break;
    }
  }
  if (value >= least && value <= most) return value;
  const auto shown = [this](std::uint64_t bound) {
    return kind == Kind::kTime ? show_duration(bound) : show_size(bound);
  };
  return invalid("'" + text + "' is not within " + shown(least) + " to " + shown(most));
}

Result<Options> Options::create(std::span<const Option> known, const Texts& texts, std::string_view owner) {
  Options options;
  for (const auto& [name, text] : texts) {
    const auto* option = find_option(known, name);
    if (option == nullptr) {
      std::string names;
      for (const auto& other : known) names += (names.empty() ? "" : ", ") + std::string(other.name);
      return invalid(std::string(owner) + " has no option '" + name + "': its options are " +
                     (names.empty() ? "none" : names));
    }
    const auto value = option->value(text);
    if (!value) return invalid(flag_of(name) + ": " + value.error().message());
    options.numbers_[name] = *value;
  }
  options.texts_ = texts;
  return options;
}

std::optional<std::uint64_t> Options::number(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::string Options::text(std::string_view name) const {
  const auto found = texts_.find(name);
  return found == texts_.end() ? std::string() : found->second;
}

std::vector<std::uint64_t> Options::numbers(std::string_view name) const {
  const auto text = this->text(name);
  return text.empty() ? std::vector<std::uint64_t>()
                      : parse_whole_numbers(text, 0, ~std::uint64_t{0}).value();
}

Result<void> Options::require(std::initializer_list<std::string_view> names) const {
  for (const auto name : names) {
    if (!on(name)) return fail(ErrorCode::kDataLoss, "'" + std::string(name) + "' is missing");
  }
  return {};
}

const Option* find_option(std::span<const Option> options, std::string_view name) noexcept {
  const auto at =
      std::find_if(options.begin(), options.end(), [&](const auto& option) { return option.name == name; });
  return at == options.end() ? nullptr : &*at;
}

Result<std::chrono::microseconds> parse_duration(const std::string& text) {
  static constexpr Unit kUnits[] = {{"us", 1}, {"ms", 1e3}, {"", 1e3}, {"s", 1e6}, {"m", 6e7}};
  PIRX_ASSIGN(const double micros, parse_scaled(text, kUnits, "250us, 2ms, 1.5s or 2m"));
  if (micros > 1e15) return invalid("'" + text + "' is too long a time");
  return std::chrono::microseconds(std::llround(micros));
}

Result<std::uint64_t> parse_size(const std::string& text) {
  static constexpr Unit kUnits[] = {
      {"", 1},     {"B", 1},      {"KB", 1e3},           {"MB", 1e6},
      {"GB", 1e9}, {"KiB", 1024}, {"MiB", 1024. * 1024}, {"GiB", 1024. * 1024 * 1024}};
  PIRX_ASSIGN(const double bytes, parse_scaled(text, kUnits, "4096, 64KiB, 2MiB or 1GB"));
  if (bytes > 9e15) return invalid("'" + text + "' is too large a size");
  return static_cast<std::uint64_t>(bytes);
}

Result<std::uint64_t> parse_whole_number(const std::string& text, std::uint64_t low, std::uint64_t high) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && rest == end && value >= low && value <= high) return value;
  return invalid("'" + text + "' is no whole number from " + std::to_string(low) + " to " +
                 std::to_string(high));
}

Result<std::vector<std::uint64_t>> parse_whole_numbers(const std::string& text, std::uint64_t low,
                                                       std::uint64_t high) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t at = 0;;) {
    const auto comma = text.find(',', at);
    PIRX_ASSIGN(const auto number, parse_whole_number(text.substr(at, comma - at), low, high));
    numbers.push_back(number);
    if (comma == std::string::npos) return numbers;
    at = comma + 1;
  }
}

std::string flag_of(std::string_view key) {
  std::string flag = "--" + std::string(key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string show_duration(std::uint64_t microseconds) {
  if (microseconds % 1'000'000 == 0) return std::to_string(microseconds / 1'000'000) + "s";
  if (microseconds % 1'000 == 0) return std::to_string(microseconds / 1'000) + "ms";
  return std::to_string(microseconds) + "us";
}

std::string show_size(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (bytes > 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kUnits[unit];
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace pirx
