// Options as people write them: one entry says the name, the kind of value, the range and the help, for the
// command line, the environment, config files and documents alike.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pirx/base/result.h"

namespace pirx {

struct Option {
  enum class Kind : std::uint8_t { kText, kPath, kNumber, kSize, kTime, kSwitch };
  std::string_view name;  ///< "max_queries", a key in config files; the flag is flag_of(name)
  Kind kind;
  std::uint64_t least, most;  ///< of numbers, bytes or microseconds
  std::string_view help;      ///< with the default at its end, in brackets

  /// The value of a text: a number, bytes or microseconds, 1 for a switch that is "on", 0 for kText and
  /// kPath. InvalidArgument: the text has no such value, or one that is out of range.
  Result<std::uint64_t> value(const std::string& text) const;
};

/// Options that were given, by name. A switch that is given is "on".
using Texts = std::map<std::string, std::string, std::less<>>;

/// Given options after they were checked against a list of known ones.
class Options {
 public:
  Options() = default;
  /// InvalidArgument names the option that is not known, or whose text has no value; `owner` is who takes the
  /// options ("goldberg").
  static Result<Options> create(std::span<const Option> known, const Texts& texts, std::string_view owner);
  /// Of a number, a size or a time: nothing when it was not given.
  std::optional<std::uint64_t> number(std::string_view name) const;
  /// Of a text or a path: empty when it was not given.
  std::string text(std::string_view name) const;
  bool on(std::string_view name) const { return texts_.find(name) != texts_.end(); }

 private:
  Texts texts_;
  std::map<std::string, std::uint64_t, std::less<>> numbers_;
};

/// The entry of that name; null when there is none.
const Option* find_option(std::span<const Option> options, std::string_view name) noexcept;
/// "--max-connections" of the key "max_connections".
std::string flag_of(std::string_view key);

/// "250us", "2ms", "1.5s", "2m" or a bare number of milliseconds. InvalidArgument.
Result<std::chrono::microseconds> parse_duration(const std::string& text);
/// "4096", "64KiB", "2MiB", "1GiB" and the decimal KB, MB, GB. InvalidArgument.
Result<std::uint64_t> parse_size(const std::string& text);
/// Decimal digits and nothing else. InvalidArgument, also for what is not within the bounds.
Result<std::uint64_t> parse_whole_number(const std::string& text, std::uint64_t low, std::uint64_t high);

/// So that parse_duration() and parse_size() give it back: "250us", "10s", "1GiB", "4097".
std::string show_duration(std::uint64_t microseconds);
std::string show_size(std::uint64_t bytes);
/// "1.5 GiB", "812 B".
std::string human_bytes(std::uint64_t bytes);

}  // namespace pirx
