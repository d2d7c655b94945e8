// SPDX-License-Identifier: Apache-2.0
// What a `throw` becomes where there are no exceptions: the end of this WebAssembly instance. Only memory
// that is not to be had throws. pirx.js makes an error of it.
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "pirx/pirx.h"

// pirx.js reads and writes these structs by these offsets.
static_assert(sizeof(pirx_database) == 64 && offsetof(pirx_database, keyed) == 56);
static_assert(sizeof(pirx_server) == 16 && offsetof(pirx_server, ca_file) == 8);
static_assert(sizeof(pirx_options) == 64 && offsetof(pirx_options, wait_for_all) == 12 &&
              offsetof(pirx_options, max_bytes) == 32);
static_assert(sizeof(pirx_message) == 48 && offsetof(pirx_message, data) == 28 &&
              offsetof(pirx_message, max_reply_size) == 40);
static_assert(sizeof(pirx_record) == 16 && sizeof(pirx_summary) == 16 && sizeof(pirx_bytes) == 8);

extern "C" {

void* __cxa_allocate_exception(std::size_t) noexcept {
  std::fputs("out of memory", stderr);
  std::abort();
}

void __cxa_throw(void*, void*, void (*)(void*)) { std::abort(); }

}  // extern "C"
