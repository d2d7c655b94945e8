// SPDX-License-Identifier: Apache-2.0
// What a fuzz target is: a function that takes any bytes and must come back. Every build replays the kept
// corpus through these functions (replay.cc); the preset `fuzz` makes a libFuzzer program of them
// (libfuzzer.cc). docs/RELIABILITY.md tells how to run it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pirx/base/bytes.h"

namespace pirx::fuzz {

/// Inputs to begin with, such as valid messages.
using Seeds = std::vector<Bytes>;

struct Target {
  std::string_view name;
  void (*run)(ByteSpan input);
  Seeds (*seeds)();
};
/// All targets of the program, in no order. One that is made on the side of a target joins them.
std::vector<Target>& targets();
const Target* find_target(std::string_view name);
struct Registered {
  Registered(std::string_view name, void (*run)(ByteSpan), Seeds (*seeds)()) {
    targets().push_back({name, run, seeds});
  }
};

/// Defines a target: PIRX_FUZZ(name, seeds) { ... `input` ... }
#define PIRX_FUZZ(name, ...)                                                   \
  static void fuzz_##name(ByteSpan input);                                     \
  static const Registered registered_##name{#name, &fuzz_##name, __VA_ARGS__}; \
  static void fuzz_##name(ByteSpan input)

/// Runs a target on an input. The coins of this process start anew, so the same input does the same.
void run(const Target& target, ByteSpan input);

/// Ends the program with a message: the input broke a promise of the library.
[[noreturn]] void broken(std::string_view promise);
inline void expect(bool holds, std::string_view promise) {
  if (!holds) broken(promise);
}
inline constexpr auto kLoss = ErrorCode::kDataLoss, kInvalid = ErrorCode::kInvalidArgument;
/// The error, if there is one, has one of these codes.
template <class T>
void expect_error(const Result<T>& result, std::initializer_list<ErrorCode> codes, std::string_view what) {
  if (result || std::find(codes.begin(), codes.end(), result.error().code()) != codes.end()) return;
  broken(std::string(what) + " gives " + result.error().to_string());
}

/// Makes the random bytes of the operating system start again: `getentropy` of this program gives the same
/// ones in every run.
void restart_coins();

/// A folder of this process for files, in memory where the system has such a place. Removed at the end.
const std::filesystem::path& scratch();
/// Writes a file of it, and gives its path.
std::filesystem::path write_scratch(std::string_view name, ByteSpan bytes);
Bytes read_all(const std::filesystem::path& path);

Bytes bytes_of(std::string_view text);
/// Texts as seeds.
Seeds texts(std::initializer_list<std::string_view> all);

/// Reads an input as a script of numbers and pieces. After its end everything is zero or empty.
class Script {
 public:
  explicit Script(ByteSpan input) : left_(input) {}
  bool empty() const { return left_.empty(); }
  unsigned byte() {
    if (left_.empty()) return 0;
    const auto value = std::to_integer<unsigned>(left_.front());
    left_ = left_.subspan(1);
    return value;
  }
  unsigned word() {
    const unsigned low = byte();
    return low | byte() << 8;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{byte()} << (8 * i);
    return value;
  }
  /// A number of any size, small ones more often.
  std::uint64_t length() {
    const auto shift = byte() % 64;
    return number() >> shift;
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : word() % n; }
  ByteSpan bytes(std::size_t count) {
    const auto piece = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(piece.size());
    return piece;
  }
  /// A piece with its length before it.
  ByteSpan piece() { return bytes(byte()); }
  std::string text() { return std::string(as_text(piece())); }
  ByteSpan rest() { return bytes(left_.size()); }

 private:
  ByteSpan left_;
};

/// Changes `bytes` as the script says: overwrites, cuts, extends or flips.
void change(Bytes& bytes, Script& script);

}  // namespace pirx::fuzz
