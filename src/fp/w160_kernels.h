// The kernels of W160. Kernels<F> in field.h is their contract.
#pragma once

#include <cstddef>

#include "pirx/base/toom_kernels.h"
#include "pirx/fp/w160.h"

namespace pirx::fp::w160 {

void muladd_words_portable(const W160& f, std::size_t q, std::size_t r, std::size_t s, const W160::Elem* Q,
                           std::size_t q_stride, const std::byte* D, std::size_t d_stride, W160::Elem* R,
                           std::size_t r_stride) noexcept;
void muladd_sums_portable(const W160& f, std::size_t q, std::size_t r, std::size_t s, const W160::Elem* Q,
                          std::size_t q_stride, const W160::Elem* D, std::size_t d_stride, W160::Elem* R,
                          std::size_t r_stride) noexcept;
void add_portable(const W160& f, std::size_t n, const W160::Elem* a, const W160::Elem* b,
                  W160::Elem* out) noexcept;
void sub_portable(const W160& f, std::size_t n, const W160::Elem* a, const W160::Elem* b,
                  W160::Elem* out) noexcept;

#if defined(__x86_64__) && !defined(PIRX_PORTABLE_ONLY)
void muladd_words_ifma(const W160& f, std::size_t q, std::size_t r, std::size_t s, const W160::Elem* Q,
                       std::size_t q_stride, const std::byte* D, std::size_t d_stride, W160::Elem* R,
                       std::size_t r_stride) noexcept;
void muladd_sums_ifma(const W160& f, std::size_t q, std::size_t r, std::size_t s, const W160::Elem* Q,
                      std::size_t q_stride, const W160::Elem* D, std::size_t d_stride, W160::Elem* R,
                      std::size_t r_stride) noexcept;
void add_ifma(const W160& f, std::size_t n, const W160::Elem* a, const W160::Elem* b,
              W160::Elem* out) noexcept;
void sub_ifma(const W160& f, std::size_t n, const W160::Elem* a, const W160::Elem* b,
              W160::Elem* out) noexcept;
extern const ToomKernels<W160> kToom;
#endif

}  // namespace pirx::fp::w160
