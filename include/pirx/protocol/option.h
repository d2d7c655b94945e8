// SPDX-License-Identifier: Apache-2.0
// Options with values that people write as text. One entry gives an option's name, kind of value, range and
// help; the command line, the environment, config files and documents all use it.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pirx/base/result.h"

namespace pirx {

struct Option {
  enum class Kind : std::uint8_t { kText, kPath, kNumber, kNumbers, kSize, kTime, kSwitch };
  std::string_view name;  ///< the key in config files, as in "max_queries"; flag_of(name) is the flag
  Kind kind;
  std::uint64_t least, most;  ///< bounds of the value: a number (or each of a list), bytes or microseconds
  std::string_view help;      ///< ends with the default in brackets

  /// The value of a text: a number, bytes or microseconds, and 1 for a switch that is "on". 0 for kText,
  /// kPath and kNumbers. InvalidArgument: the text is not such a value, or the value is out of range.
  Result<std::uint64_t> value(const std::string& text) const;
};

/// The options that were given, by name. A switch that is given has the text "on".
using Texts = std::map<std::string, std::string, std::less<>>;

/// Options that were given, after a check against the list of known ones.
class Options {
 public:
  Options() = default;
  /// Checks `texts` against `known`. `owner` is what takes the options ("goldberg"). InvalidArgument names
  /// the option that is unknown or has a wrong value.
  static Result<Options> create(std::span<const Option> known, const Texts& texts, std::string_view owner);
  /// The value of a number, a size or a time; nothing if it was not given.
  std::optional<std::uint64_t> number(std::string_view name) const;
  /// The value of a text or a path; empty if it was not given.
  std::string text(std::string_view name) const;
  /// The value of a list of numbers, written as "32,16"; empty if it was not given.
  std::vector<std::uint64_t> numbers(std::string_view name) const;
  /// DataLoss: one of these was not given.
  Result<void> require(std::initializer_list<std::string_view> names) const;
  bool on(std::string_view name) const { return texts_.find(name) != texts_.end(); }

 private:
  Texts texts_;
  std::map<std::string, std::uint64_t, std::less<>> numbers_;
};

/// The option with that name; null if there is none.
const Option* find_option(std::span<const Option> options, std::string_view name) noexcept;
/// The flag of a key: "--max-connections" for "max_connections".
std::string flag_of(std::string_view key);

/// Reads "250us", "2ms", "1.5s", "2m", or a bare number of milliseconds. InvalidArgument: it is no duration.
Result<std::chrono::microseconds> parse_duration(const std::string& text);
/// Reads "4096", "64KiB", "2MiB", "1GiB", and the decimal KB, MB, GB. InvalidArgument: it is no size.
Result<std::uint64_t> parse_size(const std::string& text);
/// Reads decimal digits and nothing else. InvalidArgument: other characters, or a number outside [low, high].
Result<std::uint64_t> parse_whole_number(const std::string& text, std::uint64_t low, std::uint64_t high);

/// Reads whole numbers with commas between them, at least one. InvalidArgument as parse_whole_number.
Result<std::vector<std::uint64_t>> parse_whole_numbers(const std::string& text, std::uint64_t low,
                                                       std::uint64_t high);

/// Texts that parse_duration() and parse_size() read back exactly: "250us", "10s", "1GiB", "4097".
std::string show_duration(std::uint64_t microseconds);
std::string show_size(std::uint64_t bytes);
/// A rounded size for people: "1.5 GiB", "812 B".
std::string human_bytes(std::uint64_t bytes);

}  // namespace pirx
