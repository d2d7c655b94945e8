// Numbers with units, in and out.
#include "values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

namespace pirx::cli {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

Result<double> parse_scaled(const std::string& text, std::span<const Unit> units, const char* example) {
  const auto bad = [&] {
    return fail(ErrorCode::kInvalidArgument, "'" + text + "' is not a value like " + example);
  };
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !(number >= 0) || !std::isfinite(number)) return bad();
  const std::string_view suffix(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  for (const auto& unit : units) {
    if (unit.suffix == suffix) return number * unit.factor;
  }
  return bad();
}

}  // namespace

Result<std::chrono::microseconds> parse_duration(const std::string& text) {
  static constexpr Unit kUnits[] = {{"us", 1}, {"ms", 1e3}, {"", 1e3}, {"s", 1e6}, {"m", 6e7}};
  PIRX_ASSIGN(const double micros, parse_scaled(text, kUnits, "250us, 2ms, 1.5s or 2m"));
  if (micros > 1e15) return fail(ErrorCode::kInvalidArgument, "'" + text + "' is too long a time");
  return std::chrono::microseconds(std::llround(micros));
}

Result<std::uint64_t> parse_size(const std::string& text) {
  static constexpr Unit kUnits[] = {
      {"", 1},     {"B", 1},      {"KB", 1e3},           {"MB", 1e6},
      {"GB", 1e9}, {"KiB", 1024}, {"MiB", 1024. * 1024}, {"GiB", 1024. * 1024 * 1024}};
  PIRX_ASSIGN(const double bytes, parse_scaled(text, kUnits, "4096, 64KiB, 2MiB or 1GB"));
  if (bytes > 9e15) return fail(ErrorCode::kInvalidArgument, "'" + text + "' is too large a size");
  return static_cast<std::uint64_t>(bytes);
}

Result<std::uint64_t> parse_whole_number(const std::string& text, std::uint64_t low, std::uint64_t high) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && rest == end && value >= low && value <= high) return value;
  return fail(ErrorCode::kInvalidArgument, "'" + text + "' is no whole number from " + std::to_string(low) +
                                               " to " + std::to_string(high));
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

}  // namespace pirx::cli
