// An option that is text until it is used: the same on the command line, in the environment and in config
// files.
#pragma once

#include <map>
#include <string>

#include "pirx/base/result.h"

namespace pirx::cli {

struct TextOption {
  enum class Kind : std::uint8_t { kText, kPath, kNumber, kSize, kTime, kSwitch };
  std::string name;  ///< "max_connections", a key in config files; the flag is flag_of(name)
  Kind kind;
  std::uint64_t least, most;  ///< of numbers, bytes or microseconds
  std::string help;

  /// The value of a text, of kText and kPath 0 and of a switch 1. InvalidArgument: the text is none, or is
  /// out of bounds.
  Result<std::uint64_t> value(const std::string& text) const;
};

/// Of those given, by name. A switch that is on is "on".
using Texts = std::map<std::string, std::string>;

}  // namespace pirx::cli
