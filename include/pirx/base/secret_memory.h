// SPDX-License-Identifier: Apache-2.0
// Memory for secrets. It is wiped when it is freed, and core dumps leave it out.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

namespace pirx {

/// Overwrites memory with zeros in a way that the compiler may not remove.
void secure_wipe(void* data, std::size_t size) noexcept;

/// Allocates `size` bytes at a 64-byte boundary, not zeroed. They lie on pages that hold nothing but secrets
/// and that core dumps leave out (MADV_DONTDUMP). The system may still swap these pages out. More than 32 KiB
/// go back to the system when they are freed. Throws std::bad_alloc. Thread-safe.
void* secret_allocate(std::size_t size);
/// Wipes and frees memory of secret_allocate(size).
void secret_free(void* memory, std::size_t size) noexcept;

/// An allocator for containers. Every block that a container outgrows or frees is wiped.
template <class T>
struct SecretAllocator {
  static_assert(alignof(T) <= 64);
  using value_type = T;
  SecretAllocator() = default;
  template <class U>
  SecretAllocator(const SecretAllocator<U>&) noexcept {}
  T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(secret_allocate(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) noexcept { secret_free(memory, count * sizeof(T)); }
  bool operator==(const SecretAllocator&) const = default;
};

}  // namespace pirx
