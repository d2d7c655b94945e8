// SPDX-License-Identifier: Apache-2.0
// ExpandKernels for any vector width. The includer defines PIRX_DPF_TARGET, the target attribute of its
// instruction set, and passes an Ops class:
//
//   Vec, kNodes                            a vector of kNodes nodes
//   load(from, n), store(to, v, n)         the first n <= kNodes nodes; the others are zero, or left alone
//   all(from)                              one node in all places
//   round(v, key), last_round(v, key)      of AES
//   seeds(v)                               with control bits cleared
//   sigma(seeds)                           (low xor high) || low, where low is the first half of a node
//   add_if_control(x, v, correction)       x ^ correction where v's control bit is set
//   pairs_first, pairs_last(left, right)   left[0] right[0] left[1] ..., and what follows
//
// Loops and addresses depend on counts only.
#include <immintrin.h>

#include "kernels.h"

#define PIRX_DPF_INLINE PIRX_DPF_TARGET __attribute__((always_inline)) static inline

namespace pirx::itpir::dpf {
namespace {

template <class Ops>
struct Expand {
  using Vec = typename Ops::Vec;
  static constexpr std::size_t kNode = 16;
  static constexpr int kRounds = 10;

  PIRX_DPF_INLINE Vec key_of(const RoundKeys& keys, int round) {
    return Ops::all(keys.bytes + static_cast<std::size_t>(round) * kNode);
  }

  /// x = AES(x) for kV vectors under one key.
  template <std::size_t kV>
  PIRX_DPF_INLINE void encrypt_vectors(const RoundKeys& keys, Vec (&x)[kV]) {
    const Vec first = key_of(keys, 0), last = key_of(keys, kRounds);
    for (std::size_t v = 0; v < kV; ++v) x[v] = x[v] ^ first;
    for (int round = 1; round < kRounds; ++round) {
      const Vec key = key_of(keys, round);
      for (std::size_t v = 0; v < kV; ++v) x[v] = Ops::round(x[v], key);
    }
    for (std::size_t v = 0; v < kV; ++v) x[v] = Ops::last_round(x[v], last);
  }

  /// The children of kV vectors of parents, of which the last has `n` nodes.
  template <std::size_t kV>
  PIRX_DPF_INLINE void children_of(const RoundKeys& left, const RoundKeys& right, Vec left_correction,
                                   Vec right_correction, const std::byte* from, std::size_t n,
                                   std::byte* to) {
    constexpr std::size_t kN = Ops::kNodes;
    Vec parent[kV], x[kV], l[kV], r[kV];
    for (std::size_t v = 0; v < kV; ++v) {
      parent[v] = Ops::load(from + v * kN * kNode, v + 1 < kV ? kN : n);
      x[v] = Ops::sigma(Ops::seeds(parent[v]));
      l[v] = x[v] ^ key_of(left, 0);
      r[v] = x[v] ^ key_of(right, 0);
    }
    for (int round = 1; round < kRounds; ++round) {
      const Vec left_key = key_of(left, round), right_key = key_of(right, round);
      for (std::size_t v = 0; v < kV; ++v) l[v] = Ops::round(l[v], left_key);
      for (std::size_t v = 0; v < kV; ++v) r[v] = Ops::round(r[v], right_key);
    }
    const Vec left_key = key_of(left, kRounds), right_key = key_of(right, kRounds);
    for (std::size_t v = 0; v < kV; ++v) {
      l[v] = Ops::add_if_control(Ops::last_round(l[v], left_key) ^ x[v], parent[v], left_correction);
      r[v] = Ops::add_if_control(Ops::last_round(r[v], right_key) ^ x[v], parent[v], right_correction);
      const std::size_t here = v + 1 < kV ? kN : n, first = 2 * here < kN ? 2 * here : kN;
      std::byte* out = to + 2 * v * kN * kNode;
      Ops::store(out, Ops::pairs_first(l[v], r[v]), first);
      Ops::store(out + kN * kNode, Ops::pairs_last(l[v], r[v]), 2 * here - first);
    }
  }

  PIRX_DPF_TARGET static void children(const RoundKeys& left, const RoundKeys& right,
                                       const std::byte* corrections, const std::byte* parents, std::size_t n,
                                       std::byte* out) noexcept {
    constexpr std::size_t kN = Ops::kNodes, kV = 4;
    const Vec left_correction = Ops::all(corrections), right_correction = Ops::all(corrections + kNode);
    std::size_t i = 0;
    for (; i + kV * kN <= n; i += kV * kN) {
      children_of<kV>(left, right, left_correction, right_correction, parents + i * kNode, kN,
                      out + 2 * i * kNode);
    }
    for (; i < n; i += kN) {
      children_of<1>(left, right, left_correction, right_correction, parents + i * kNode,
                     n - i < kN ? n - i : kN, out + 2 * i * kNode);
    }
  }

  template <std::size_t kV>
  PIRX_DPF_INLINE void leaves_of(const RoundKeys& keys, Vec correction, const std::byte* from, std::size_t n,
                                 std::byte* sum) {
    constexpr std::size_t kN = Ops::kNodes;
    Vec parent[kV], x[kV], y[kV];
    for (std::size_t v = 0; v < kV; ++v) {
      parent[v] = Ops::load(from + v * kN * kNode, v + 1 < kV ? kN : n);
      x[v] = Ops::sigma(Ops::seeds(parent[v]));
      y[v] = x[v];
    }
    encrypt_vectors(keys, y);
    for (std::size_t v = 0; v < kV; ++v) {
      const std::size_t here = v + 1 < kV ? kN : n;
      std::byte* to = sum + v * kN * kNode;
      const Vec leaf = Ops::add_if_control(x[v] ^ y[v], parent[v], correction);
      Ops::store(to, Ops::load(to, here) ^ leaf, here);
    }
  }

  PIRX_DPF_TARGET static void leaves(const RoundKeys& leaf, const std::byte* last, const std::byte* parents,
                                     std::size_t n, std::byte* sum) noexcept {
    constexpr std::size_t kN = Ops::kNodes, kV = 8;
    const Vec correction = Ops::all(last);
    std::size_t i = 0;
    for (; i + kV * kN <= n; i += kV * kN) {
      leaves_of<kV>(leaf, correction, parents + i * kNode, kN, sum + i * kNode);
    }
    for (; i < n; i += kN) {
      leaves_of<1>(leaf, correction, parents + i * kNode, n - i < kN ? n - i : kN, sum + i * kNode);
    }
  }

  template <int kConstant>
  PIRX_DPF_INLINE __m128i next_key(__m128i key) {
    const __m128i turned = _mm_shuffle_epi32(_mm_aeskeygenassist_si128(key, kConstant), 0xFF);
    key = key ^ _mm_slli_si128(key, 4);
    key = key ^ _mm_slli_si128(key, 8);
    return key ^ turned;
  }

  PIRX_DPF_TARGET static void make_keys(const std::byte* key, RoundKeys& keys) noexcept {
    __m128i k = _mm_loadu_si128(reinterpret_cast<const __m128i*>(key));
    auto* out = reinterpret_cast<__m128i*>(keys.bytes);
    _mm_store_si128(out, k);
    _mm_store_si128(out + 1, k = next_key<0x01>(k));
    _mm_store_si128(out + 2, k = next_key<0x02>(k));
    _mm_store_si128(out + 3, k = next_key<0x04>(k));
    _mm_store_si128(out + 4, k = next_key<0x08>(k));
    _mm_store_si128(out + 5, k = next_key<0x10>(k));
    _mm_store_si128(out + 6, k = next_key<0x20>(k));
    _mm_store_si128(out + 7, k = next_key<0x40>(k));
    _mm_store_si128(out + 8, k = next_key<0x80>(k));
    _mm_store_si128(out + 9, k = next_key<0x1B>(k));
    _mm_store_si128(out + 10, next_key<0x36>(k));
  }
};

template <class Ops>
constexpr ExpandKernels make_expand(const char* name, CpuFeatures needs) {
  using E = Expand<Ops>;
  return {.name = name,
          .needs = needs,
          // keys[i] = the key of round i, FIPS 197 section 5.2.
          .make_keys = E::make_keys,
          // out[2i + side] = AES_side(sigma(s)) ^ sigma(s) ^ t corrections[side], s and t of parents[i].
          .children = E::children,
          // sum[i] ^= AES(sigma(s)) ^ sigma(s) ^ t last, s and t of parents[i].
          .leaves = E::leaves};
}

}  // namespace
}  // namespace pirx::itpir::dpf
