// SPDX-License-Identifier: Apache-2.0
// The server half of Chor's protocol: the product over GF(2), of query vectors that arrive as bits.
#include "server.h"

#include "common.h"
#include "itpir/server_vertical.h"
#include "pirx/itpir/chor/server.h"

namespace pirx::itpir::chor {
namespace {

using gf2e::Gf2;

/// Query vectors as bits.
struct BitVectors {
  static constexpr ProtocolId kProtocol = ProtocolId::kChor;
  static constexpr bool kSeeds = true;
  static constexpr std::size_t kWindowRows = 0;
  struct Scratch {};
  template <class>
  using Entry = std::byte;
  static std::size_t entries(std::size_t rows) noexcept { return static_cast<std::size_t>(bit_bytes(rows)); }
  static std::size_t scratch_bytes(std::size_t) noexcept { return 0; }
  static std::uint64_t bytes(const Gf2&, std::uint64_t rows) noexcept { return bit_bytes(rows); }
  static Result<void> check(ByteSpan vectors, std::uint64_t rows) {
    const auto each = static_cast<std::size_t>(bit_bytes(rows));
    for (std::size_t end = each; end <= vectors.size(); end += each) {
      if ((vectors[end - 1] & ~last_byte_mask(rows)) != std::byte{0}) {
        return invalid("a query vector has bits behind its last row, which must be zero");
      }
    }
    return {};
  }
  static bool read(const Gf2&, std::size_t, const std::byte* from, std::size_t, MutableByteSpan to,
                   Scratch&) noexcept {
    std::copy_n(from, to.size(), to.begin());
    return true;
  }
  static void expand(const Gf2&, std::span<const std::byte, kSeedBytes> seed, MutableByteSpan to) {
    SeedStream(seed).fill(to);
  }
};

}  // namespace

Result<std::unique_ptr<AnyServer>> make_server(ServedRows served, const ServerOptions& options,
                                               strassen::Engine<Gf2> engine) {
  PIRX_ASSIGN(const auto chosen, check_xor_options(options, "Chor's protocol"));
  PIRX_TRY(check_sizes(served.geometry.rows(), served.geometry.row_bytes()));
  return VectorServer<Gf2, BitVectors>::create(std::move(engine), std::move(served), chosen);
}

Result<std::unique_ptr<AnyServer>> make_server(std::shared_ptr<const database::Database> database,
                                               const ServerOptions& options) {
  PIRX_CHECK(database != nullptr);
  if (database->bucket() != nullptr) {
    return invalid(
        "this file is one server's bucket of an encoded database: Chor's protocol serves plain ones");
  }
  const auto open = [&](ServedRows rows) { return make_server(std::move(rows), options); };
  if (options.code.empty()) {
    return open(ServedRows{database->geometry(), database->version(), database->rows(), database});
  }
  PIRX_TRY(check_server_options(options));
  return make_vertical_server(std::move(database), options.code, options.threads, open);
}

}  // namespace pirx::itpir::chor
