// SPDX-License-Identifier: Apache-2.0
// The messages between rank 0 and the other ranks. They are the bytes of structs: all ranks run the same
// program on the same kind of machine, which they check first (Hello).
#pragma once

#include "pirx/base/sha256.h"
#include "pirx/protocol/product.h"
#include "pirx/shards/split.h"

namespace pirx::shards {

enum Tag : int { kTagHello = 1, kTagOrder, kTagReport, kTagQueries, kTagSums };

/// What rank 0 sends to each other rank. A pass has three orders. After kPrepare the rank gets memory for the
/// pass and reports. After kGo, which is sent when all are ready, it receives its queries, multiplies and
/// reports. After kGather, which is sent when all products are good, it sends its sums.
struct Order {
  enum class Kind : std::uint32_t { kPing = 1, kPrepare, kGo, kGather, kStop };
  std::uint64_t number = 0;
  Kind kind = Kind::kPing;
  std::uint32_t queries = 0;
  double seconds = kNoLimit;  ///< that the rank may take; it reports that it took longer as ResourceExhausted
  static constexpr double kNoLimit = 1e8;
};

/// A rank's answer to an order.
struct Report {
  static constexpr std::uint32_t kGood = 0;
  std::uint64_t number = 0;
  std::uint32_t code = kGood;  ///< kGood or an ErrorCode
  std::uint32_t padding = 0;
};

/// What a rank holds. It is sent once.
struct Hello {
  // reads differently on machines with another byte order
  static constexpr std::uint64_t kMagic = 0x3158524950444853;
  std::uint64_t magic = kMagic;
  std::uint64_t size = sizeof(Hello);
  Digest same{};  ///< a digest of all that must be the same on every rank, see digest_of()
  Part part;
  std::uint64_t process = 0;
  std::array<char, 64> host{};  ///< ends with a zero
};

/// A digest of the program, of what is served with which parameters, of the content, and of the split.
Digest digest_of(const Product& whole, Split split, int ranks, ByteSpan parameters, ByteSpan content);

/// The Hello of this process, with the name of its machine.
Hello make_hello(const Digest& same, const Part& part);

/// A rank's name for people: "rank 3 (process 4711 on host)".
std::string rank_name(int rank, const Hello& hello);

/// Checks that `hello` came from the rank that holds `part` of the same whole. InvalidArgument says what
/// differs.
Result<void> check_hello(const Hello& hello, const Digest& same, const Part& part, int rank);

}  // namespace pirx::shards
