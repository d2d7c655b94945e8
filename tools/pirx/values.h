// Sizes, times and counts as people write them, on the command line, in the environment and in config files.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "pirx/base/result.h"

namespace pirx::cli {

/// "250us", "2ms", "1.5s", "2m" or a bare number of milliseconds. InvalidArgument.
Result<std::chrono::microseconds> parse_duration(const std::string& text);
/// "4096", "64KiB", "2MiB", "1GiB" and the decimal KB, MB, GB. InvalidArgument.
Result<std::uint64_t> parse_size(const std::string& text);
/// Decimal digits and nothing else. InvalidArgument, also for what is not within the bounds.
Result<std::uint64_t> parse_whole_number(const std::string& text, std::uint64_t low, std::uint64_t high);

/// "--max-connections" of the key "max_connections".
std::string flag_of(std::string_view key);

/// So that parse_duration() and parse_size() give it back: "250us", "10s", "1GiB", "4097".
std::string show_duration(std::uint64_t microseconds);
std::string show_size(std::uint64_t bytes);

/// "1.5 GiB", "812 B".
std::string human_bytes(std::uint64_t bytes);

}  // namespace pirx::cli
