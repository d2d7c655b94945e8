// What rank 0 and the others say to each other. The bytes of structs: all ranks run the same program on the
// same kind of machine, which is what they agree on first (Hello).
#pragma once

#include "pirx/base/sha256.h"
#include "pirx/protocol/product.h"
#include "pirx/shards/split.h"

namespace pirx::shards {

enum Tag : int { kTagHello = 1, kTagOrder, kTagReport, kTagQueries, kTagSums };

/// Rank 0 to each other rank. A pass is kPrepare, answered by a report once there is memory for it; kGo when
/// all are ready, followed by the queries and answered by a report on the product; and kGather when all are
/// good, answered by the sums.
struct Order {
  enum class Kind : std::uint32_t { kPing = 1, kPrepare, kGo, kGather, kStop };
  std::uint64_t number = 0;
  Kind kind = Kind::kPing;
  std::uint32_t queries = 0;
};

/// A rank's answer to an order.
struct Report {
  static constexpr std::uint32_t kGood = 0;
  std::uint64_t number = 0;
  std::uint32_t code = kGood;  ///< or an ErrorCode
  std::uint32_t padding = 0;
};

/// What a rank holds, told once.
struct Hello {
  static constexpr std::uint64_t kMagic = 0x3158524950444853;  // differs where bytes have another order
  std::uint64_t magic = kMagic;
  std::uint64_t size = sizeof(Hello);
  Digest same{};  ///< of all that must be the same on every rank, see digest_of()
  Part part;
  std::uint64_t process = 0;
  std::array<char, 64> host{};  ///< ends in zero
};

/// Of the program, what is served with which parameters, the content and how it is split.
Digest digest_of(const Product& whole, Split split, int ranks, ByteSpan parameters, ByteSpan content);

/// This process's, with the name of its machine.
Hello make_hello(const Digest& same, const Part& part);

/// "rank 3 (process 4711 on host)".
std::string rank_name(int rank, const Hello& hello);

/// Whether `hello` came from the rank that holds `part` of the same whole. InvalidArgument says in what it
/// differs.
Result<void> check_hello(const Hello& hello, const Digest& same, const Part& part, int rank);

}  // namespace pirx::shards
