// SPDX-License-Identifier: Apache-2.0
// Moves of buffers, wherever their memory comes from.
#include <utility>

#include "pirx/base/buffer.h"

namespace pirx {

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace pirx
