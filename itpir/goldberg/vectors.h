// SPDX-License-Identifier: Apache-2.0
// Vectors of field values on the wire, and matrices of them that are wiped. Both halves use them.
#pragma once

#include <span>

#include "pirx/base/rng.h"
#include "pirx/base/secret.h"
#include "pirx/batchcodes/lagrange.h"
#include "pirx/batchcodes/sharing.h"

namespace pirx::itpir::goldberg {

using batchcodes::invert_all;
using batchcodes::lagrange_matrix;
using batchcodes::SharingField;

/// Writes the scalars of a query vector; `to` has room for values.size() * f.elem_bytes().
template <SharingField F>
void encode_elems(const F& f, std::span<const typename F::Elem> values, std::byte* to) {
  for (const auto& value : values) {
    f.encode_elem(value, to);
    to += f.elem_bytes();
  }
}

/// Reads values.size() scalars. False when one is no element of f; all of them are read whatever they are.
template <SharingField F>
[[nodiscard]] bool decode_elems(const F& f, const std::byte* from, std::span<typename F::Elem> values) {
  bool good = true;
  for (auto& value : values) {
    good &= f.decode_elem(from, value);
    from += f.elem_bytes();
  }
  return good;
}

/// As decode_elems, for the sums of a reply.
template <SharingField F>
[[nodiscard]] bool decode_sums(const F& f, const std::byte* from, std::span<typename F::Sum> values) {
  bool good = true;
  for (auto& value : values) {
    good &= f.decode_sum(from, value);
    from += f.sum_bytes();
  }
  return good;
}

/// The query vector that a seed stands for: each element the next value of the seed's stream that is one
/// (docs/wire_format.md section 4). Client and server expand alike.
template <SharingField F>
void expand_seed(const F& f, std::span<const std::byte, kSeedBytes> seed,
                 std::span<typename F::Elem> vector) {
  SeedStream stream(seed);
  f.random_fill(stream, vector);
}

/// A matrix of secrets: wiped on destruction. Move-only.
template <class T>
class SecretMatrix {
 public:
  static Result<SecretMatrix> create(std::size_t rows, std::size_t cols) {
    PIRX_ASSIGN(auto values, matrix::Matrix<T>::create(rows, cols));
    return SecretMatrix(std::move(values));
  }
  SecretMatrix(SecretMatrix&& other) noexcept : values_(std::exchange(other.values_, {})) {}
  SecretMatrix& operator=(SecretMatrix&& other) noexcept {
    std::swap(values_, other.values_);
    return *this;
  }
  ~SecretMatrix() {
    for (std::size_t i = 0; i < values_.rows(); ++i) secure_wipe(values_.row(i), values_.cols() * sizeof(T));
  }
  matrix::Matrix<T>& expose() noexcept { return values_; }
  const matrix::Matrix<T>& expose() const noexcept { return values_; }

 private:
  explicit SecretMatrix(matrix::Matrix<T> values) : values_(std::move(values)) {}
  matrix::Matrix<T> values_;
};

}  // namespace pirx::itpir::goldberg
