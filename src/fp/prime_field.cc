// SPDX-License-Identifier: Apache-2.0
// PrimeField on NTL: every operation converts to NTL::ZZ, computes with an explicit modulus, and converts
// back.
#include "pirx/fp/prime_field.h"

#include <NTL/ZZ.h>

namespace pirx::fp {
namespace {

using PrimeElem = PrimeField::Elem;

NTL::ZZ to_zz(const PrimeElem& a) {
  NTL::ZZ out;
  NTL::ZZFromBytes(out, reinterpret_cast<const unsigned char*>(a.limb), sizeof a.limb);
  return out;
}

PrimeElem from_zz(const NTL::ZZ& value) {
  PrimeElem out;
  NTL::BytesFromZZ(reinterpret_cast<unsigned char*>(out.limb), value, sizeof out.limb);
  return out;
}

PrimeElem* row(PrimeElem* matrix, std::size_t stride, std::size_t i) {
  return reinterpret_cast<PrimeElem*>(reinterpret_cast<std::byte*>(matrix) + i * stride);
}

// R += Q * D. The entries of D lie `width` bytes apart and are read by `load`.
template <class Load>
void muladd(const PrimeField& f, std::size_t q, std::size_t r, std::size_t s, const PrimeElem* Q,
            std::size_t q_stride, const std::byte* D, std::size_t d_stride, std::size_t width, PrimeElem* R,
            std::size_t r_stride, const Load& load) {
  for (std::size_t i = 0; i < q; ++i) {
    for (std::size_t k = 0; k < r; ++k) {
      PrimeElem a;
      std::memcpy(&a, reinterpret_cast<const std::byte*>(Q) + i * q_stride + k * sizeof a, sizeof a);
      for (std::size_t j = 0; j < s; ++j) {
        PrimeElem* out = row(R, r_stride, i) + j;
        PrimeElem sum;
        std::memcpy(&sum, out, sizeof sum);
        sum = f.sum_add(sum, f.sum_scale(a, load(D + k * d_stride + j * width)));
        std::memcpy(out, &sum, sizeof sum);
      }
    }
  }
}

void muladd_words(const PrimeField& f, std::size_t q, std::size_t r, std::size_t s, const PrimeElem* Q,
                  std::size_t q_stride, const std::byte* D, std::size_t d_stride, PrimeElem* R,
                  std::size_t r_stride) noexcept {
  muladd(f, q, r, s, Q, q_stride, D, d_stride, f.word_bytes(), R, r_stride,
         [&f](const std::byte* from) { return f.load_word(from); });
}

void muladd_sums(const PrimeField& f, std::size_t q, std::size_t r, std::size_t s, const PrimeElem* Q,
                 std::size_t q_stride, const PrimeElem* D, std::size_t d_stride, PrimeElem* R,
                 std::size_t r_stride) noexcept {
  muladd(f, q, r, s, Q, q_stride, reinterpret_cast<const std::byte*>(D), d_stride, sizeof(PrimeElem), R,
         r_stride, [](const std::byte* from) { return load_le<PrimeElem>(from); });
}

void add_sums(const PrimeField& f, std::size_t n, const PrimeElem* a, const PrimeElem* b,
              PrimeElem* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = f.add(a[i], b[i]);
}

void sub_sums(const PrimeField& f, std::size_t n, const PrimeElem* a, const PrimeElem* b,
              PrimeElem* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) out[i] = f.sub(a[i], b[i]);
}

}  // namespace

PrimeField::PrimeField(std::size_t word_bytes, std::uint32_t low) : word_bytes_(word_bytes), low_(low) {
  prime_.limb[word_bytes / 8] = std::uint64_t{1} << (word_bytes % 8 * 8);
  prime_.limb[0] += low;  // no carry: the lowest limb is 0 or a small power of two
}

Result<PrimeField> PrimeField::create(unsigned word_bits) {
  if (word_bits < 8 || word_bits > 256 || word_bits % 8 != 0) {
    return invalid("a prime field has words of 8, 16, 24, ... 256 bits, not " + std::to_string(word_bits) +
                   ": choose one of these");
  }
  const NTL::ZZ power = NTL::power2_ZZ(static_cast<long>(word_bits));
  // Primes lie about 0.7 w apart, so the difference is far below 32 bits.
  return PrimeField(word_bits / 8, NTL::conv<unsigned int>(NTL::NextPrime(power) - power));
}

Result<PrimeField> PrimeField::create(const FieldTag& tag) {
  if (tag.kind != FieldKind::kPrime || tag.bits == 0) {
    return invalid("field " + tag.name() + " is not a prime field");
  }
  auto f = create(tag.bits - 1u);
  if (f && !(f->tag() == tag)) {
    return invalid("field " + tag.name() + " is not known: the prime field with words of " +
                   std::to_string(tag.bits - 1) + " bits has p = 2^" + std::to_string(tag.bits - 1) + " + " +
                   std::to_string(f->low_));
  }
  return f;
}

FieldTag PrimeField::tag() const noexcept {
  return {FieldKind::kPrime, static_cast<std::uint16_t>(word_bytes_ * 8 + 1), low_};
}

PrimeElem PrimeField::add(Elem a, Elem b) const noexcept {
  return from_zz(NTL::AddMod(to_zz(a), to_zz(b), to_zz(prime_)));
}

PrimeElem PrimeField::sub(Elem a, Elem b) const noexcept {
  return from_zz(NTL::SubMod(to_zz(a), to_zz(b), to_zz(prime_)));
}

PrimeElem PrimeField::mul(Elem a, Elem b) const noexcept {
  return from_zz(NTL::MulMod(to_zz(a), to_zz(b), to_zz(prime_)));
}

PrimeElem PrimeField::inv(Elem a) const noexcept {
  const NTL::ZZ value = to_zz(a);
  if (NTL::IsZero(value)) return zero();
  return from_zz(NTL::InvMod(value, to_zz(prime_)));
}

bool PrimeField::equal(Elem a, Elem b) const noexcept {
  return std::memcmp(a.limb, b.limb, sizeof a.limb) == 0;
}

std::uint64_t PrimeField::size_limit() const noexcept {
  return word_bytes_ < 8 ? prime_.limb[0] : ~std::uint64_t{0};
}

PrimeElem PrimeField::load_word(const std::byte* from) const noexcept {
  Elem out;
  std::memcpy(out.limb, from, word_bytes_);
  return out;
}

bool PrimeField::store_word(Sum s, std::byte* to) const noexcept {
  // p < 2^(w+1), so the byte above the word tells.
  if (reinterpret_cast<const std::byte*>(s.limb)[word_bytes_] != std::byte{0}) return false;
  std::memcpy(to, s.limb, word_bytes_);
  return true;
}

void PrimeField::encode_elem(Elem a, std::byte* to) const noexcept { std::memcpy(to, a.limb, elem_bytes()); }

bool PrimeField::decode_elem(const std::byte* from, Elem& a) const noexcept {
  Elem value;
  std::memcpy(value.limb, from, elem_bytes());
  if (to_zz(value) >= to_zz(prime_)) return false;
  a = value;
  return true;
}

std::span<const Kernels<PrimeField>> kernel_table(const PrimeField&) noexcept {
  static constexpr Kernels<PrimeField> kTable[] = {
      {"portable", 0, muladd_words, muladd_sums, add_sums, sub_sums, 8, 1024},
  };
  return kTable;
}

}  // namespace pirx::fp
