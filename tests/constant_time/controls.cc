// SPDX-License-Identifier: Apache-2.0
// One leak of each kind. Compilers turn some branches into selections, which leak nothing: an empty statement
// of assembly keeps those here.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "cases.h"
#include "src/base/constant_time.h"

#define PIRX_KEEP __asm__ volatile("" ::: "memory")

namespace pirx::constant_time {
namespace {

using U64 = std::uint64_t;

volatile U64 sink = 0;  // what comes out is used

/// A number that is secret.
[[gnu::noinline]] U64 secret(U64 value) {
  checkmem::hide(value);
  return value;
}
/// So many secret bytes, below 16.
[[gnu::noinline]] Bytes secret_bytes(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(5 * i % 16);
  checkmem::hide(bytes);
  return bytes;
}

void branch_on_bit(U64 row) {
  if ((row & 1) != 0) {
    PIRX_KEEP;
    sink = 1;
  }
}
void range_check(U64 row) {
  if (row >= 1000) {
    PIRX_KEEP;
    sink = 1;
  }
}
void early_exit() {
  const Bytes digest = secret_bytes(16), expected(16);
  for (std::size_t i = 0; i < 16; ++i) {
    PIRX_KEEP;
    if (digest[i] != expected[i]) return;
  }
}
void memcmp_of_digests() {
  const Bytes digest = secret_bytes(16), expected = secret_bytes(16);
  sink = static_cast<U64>(std::memcmp(digest.data(), expected.data(), 16));
}
void load_at_secret(U64 row) {
  static const volatile unsigned char table[256] = {1, 2, 3};
  sink = table[row & 255];
}
void store_at_secret(U64 row) {
  static volatile unsigned char vector[256] = {};
  vector[row & 255] = 1;
  sink = vector[0];
}
void secret_loop_count(U64 digit) {
  for (U64 i = 0; i < (digit & 7); ++i) {
    PIRX_KEEP;
    sink = sink + i;
  }
}
void square_and_multiply(U64 exponent) {
  U64 product = 1, square = 3;
  for (unsigned bit = 0; bit < 16; ++bit, square *= square) {
    if ((exponent >> bit & 1) == 0) continue;
    PIRX_KEEP;
    product *= square;
  }
  sink = product;
}
void switch_on_digit(U64 digit) {
  switch (digit & 7) {
    case 0:
      PIRX_KEEP;
      sink = 5;
      break;
    case 1:
      PIRX_KEEP;
      sink = 9;
      break;
    case 2:
      PIRX_KEEP;
      sink = 1;
      break;
    case 3:
      PIRX_KEEP;
      sink = 7;
      break;
    case 4:
      PIRX_KEEP;
      sink = 3;
      break;
    default:
      PIRX_KEEP;
      sink = 2;
      break;
  }
}
void call_by_secret(U64 kind) {
  using Function = void (*)(U64);
  static volatile Function functions[2] = {[](U64) { sink = 1; }, [](U64) { sink = 2; }};
  functions[kind & 1](0);
}
void reduce_by_subtraction(U64 value) {
  value &= 1023;
  while (value >= 100) {
    PIRX_KEEP;
    value -= 100;
  }
  sink = value;
}
void round_by_sign(U64 value) {
  const auto error = static_cast<std::int64_t>(value) - 50;
  if (error < 0) {
    PIRX_KEEP;
    sink = static_cast<U64>(-error);
  }
}
void skip_zero_limbs() {
  const Bytes number = secret_bytes(64);
  std::size_t size = number.size();
  while (size > 1 && number[size - 1] == std::byte{0}) {
    PIRX_KEEP;
    --size;
  }
  sink = size;
}
void copy_of_secret_length(U64 length) {
  Bytes out(64);
  const Bytes record(64);
  std::memcpy(out.data(), record.data(), length & 63);
  sink = std::to_integer<U64>(out[0]);
}
void cut_at_secret_offset(U64 offset) {
  const Bytes row = secret_bytes(256);
  Bytes slot(16);
  std::copy_n(row.begin() + static_cast<std::ptrdiff_t>(offset & 127), 16, slot.begin());
  sink = std::to_integer<U64>(slot[0]);
}
void find_by_secret_key(U64 key) {
  const std::map<U64, U64> records{{1, 2}, {3, 4}, {1000, 6}};
  sink = records.count(key);
}
void sort_secrets() {
  std::array<U64, 5> rows{9, 3, 7, 1, 5};
  checkmem::hide(rows);
  std::sort(rows.begin(), rows.end());
  sink = rows[0];
}
void and_of_secrets(U64 a, U64 b) {
  const auto costly = [](U64 x) {
    PIRX_KEEP;
    return x > 3;
  };
  if (costly(a) && costly(b)) sink = 1;
}
void rejection_on_secret(U64 seed) {
  for (U64 candidate = seed & 255; candidate >= 200; candidate = candidate * 5 % 256) {
    PIRX_KEEP;
    sink = candidate;
  }
}

// memcheck does not see these; no_division_test.py must.
[[gnu::noinline]] U64 planted_division(U64 value, U64 modulus) { return value / modulus; }
[[gnu::noinline]] std::int64_t planted_signed_division(std::int64_t value, std::int64_t modulus) {
  return value % modulus;
}
[[gnu::noinline]] double planted_square_root(double value) { return std::sqrt(value); }

}  // namespace

std::vector<Case> controls() {
  const volatile U64 seven = 7;
  sink = planted_division(sink, seven) +
         static_cast<U64>(
             planted_signed_division(static_cast<std::int64_t>(sink), static_cast<std::int64_t>(seven))) +
         static_cast<U64>(planted_square_root(static_cast<double>(sink)));
  const auto with = [](void (*leak)(U64)) {
    return [leak] {
      leak(secret(77));
      return true;
    };
  };
  const auto alone = [](void (*leak)()) {
    return [leak] {
      leak();
      return true;
    };
  };
  return {
      {"a branch on a bit of the row", "row", with(branch_on_bit)},
      {"a check that the row exists, without reveal()", "row", with(range_check)},
      {"a comparison that ends at the first difference", "digest", alone(early_exit)},
      {"memcmp", "digests", alone(memcmp_of_digests)},
      {"a table read at a secret place", "row", with(load_at_secret)},
      {"a unit vector written at a secret place", "row", with(store_at_secret)},
      {"a loop that runs a secret number of times", "digit", with(secret_loop_count)},
      {"square and multiply", "exponent", with(square_and_multiply)},
      {"a switch", "digit", with(switch_on_digit)},
      {"a call through a table of functions", "kind", with(call_by_secret)},
      {"a reduction by subtracting while it is too large", "number", with(reduce_by_subtraction)},
      {"rounding that asks for the sign", "error", with(round_by_sign)},
      {"leading zero limbs that are skipped", "number", alone(skip_zero_limbs)},
      {"memcpy of a secret length", "length", with(copy_of_secret_length)},
      {"a record cut out at its offset", "offset", with(cut_at_secret_offset)},
      {"a search for a secret key", "key", with(find_by_secret_key)},
      {"std::sort", "rows", alone(sort_secrets)},
      {"&& of two secrets", "both",
       [] {
         and_of_secrets(secret(7), secret(5));
         return true;
       }},
      {"rejection that depends on what is kept", "seed", with(rejection_on_secret)},
  };
}

}  // namespace pirx::constant_time
