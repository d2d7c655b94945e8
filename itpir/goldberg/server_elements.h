// SPDX-License-Identifier: Apache-2.0
// Goldberg's server half: query vectors as elements of a field. Instantiated in server.cc for the shipped
// fields.
#pragma once

#include "itpir/server_impl.h"
#include "pirx/batchcodes/fields.h"
#include "vectors.h"

namespace pirx::itpir::goldberg {

/// Query vectors as elements of a field.
struct ElementVectors {
  static constexpr ProtocolId kProtocol = ProtocolId::kGoldberg;
  static constexpr bool kSeeds = true;
  static constexpr std::size_t kWindowRows = 0;
  struct Scratch {};
  template <class F>
  using Entry = typename F::Elem;
  static std::size_t entries(std::size_t rows) noexcept { return rows; }
  static std::size_t scratch_bytes(std::size_t) noexcept { return 0; }
  template <SharingField F>
  static std::uint64_t bytes(const F& f, std::uint64_t rows) noexcept {
    return rows * f.elem_bytes();
  }
  static Result<void> check(ByteSpan, std::uint64_t) { return {}; }
  template <SharingField F>
  static bool read(const F& f, std::size_t, const std::byte* from, std::size_t,
                   std::span<typename F::Elem> to, Scratch&) {
    return decode_elems(f, from, to);
  }
  template <SharingField F>
  static void expand(const F& f, std::span<const std::byte, kSeedBytes> seed,
                     std::span<typename F::Elem> to) {
    expand_seed(f, seed, to);
  }
};

template <SharingField F>
using GoldbergServer = VectorServer<F, ElementVectors>;

/// A server half over any rows of whole words. `options` name a field and a coordinate. Errors as
/// make_server.
Result<std::unique_ptr<AnyServer>> serve_rows(ServedRows served, const ServerOptions& options);

}  // namespace pirx::itpir::goldberg

namespace pirx::itpir {

// Made once, in server.cc.
extern template class VectorServer<gf2e::Gf2_8, goldberg::ElementVectors>;
extern template class VectorServer<gf2e::Gf2_16, goldberg::ElementVectors>;
extern template class VectorServer<fp::W160, goldberg::ElementVectors>;
extern template class VectorServer<fp::W48, goldberg::ElementVectors>;
extern template class VectorServer<fp::PrimeField, goldberg::ElementVectors>;

}  // namespace pirx::itpir
