// SPDX-License-Identifier: Apache-2.0
// The program's operator delete wipes: keys, positions and records pass through strings of the standard
// library, of the command line's and of JSON's, which would leave them in freed memory.
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "pirx/base/secret_memory.h"

void* operator new(std::size_t size) {
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}

void operator delete(void* memory) noexcept {
  pirx::secure_wipe(memory, malloc_usable_size(memory));
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }
