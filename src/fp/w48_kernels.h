// The kernels of W48. Kernels<F> in field.h is their contract.
#pragma once

#include <cstddef>

#include "pirx/fp/w48.h"

namespace pirx::fp::w48 {

void muladd_words_portable(const W48& f, std::size_t q, std::size_t r, std::size_t s, const W48::Elem* Q,
                           std::size_t q_stride, const std::byte* D, std::size_t d_stride, W48::Elem* R,
                           std::size_t r_stride) noexcept;
void muladd_sums_portable(const W48& f, std::size_t q, std::size_t r, std::size_t s, const W48::Elem* Q,
                          std::size_t q_stride, const W48::Elem* D, std::size_t d_stride, W48::Elem* R,
                          std::size_t r_stride) noexcept;
void add_portable(const W48& f, std::size_t n, const W48::Elem* a, const W48::Elem* b,
                  W48::Elem* out) noexcept;
void sub_portable(const W48& f, std::size_t n, const W48::Elem* a, const W48::Elem* b,
                  W48::Elem* out) noexcept;

#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
void muladd_words_ifma(const W48& f, std::size_t q, std::size_t r, std::size_t s, const W48::Elem* Q,
                       std::size_t q_stride, const std::byte* D, std::size_t d_stride, W48::Elem* R,
                       std::size_t r_stride) noexcept;
void muladd_sums_ifma(const W48& f, std::size_t q, std::size_t r, std::size_t s, const W48::Elem* Q,
                      std::size_t q_stride, const W48::Elem* D, std::size_t d_stride, W48::Elem* R,
                      std::size_t r_stride) noexcept;
void add_ifma(const W48& f, std::size_t n, const W48::Elem* a, const W48::Elem* b, W48::Elem* out) noexcept;
void sub_ifma(const W48& f, std::size_t n, const W48::Elem* a, const W48::Elem* b, W48::Elem* out) noexcept;
#endif

}  // namespace pirx::fp::w48
