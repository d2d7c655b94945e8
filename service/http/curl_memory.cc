// SPDX-License-Identifier: Apache-2.0
// Makes libcurl allocate secret memory, because its buffers hold queries and records.
#include "curl_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>

#include "pirx/base/secret_memory.h"
#include "tls_messages.h"

namespace pirx::http {
namespace {

/// The size of a block stands before it, and leaves it aligned as malloc's are.
constexpr std::size_t kBefore = alignof(std::max_align_t);
static_assert(kBefore >= sizeof(std::size_t));

std::byte* start_of(void* memory) noexcept { return static_cast<std::byte*>(memory) - kBefore; }

std::size_t size_of(void* memory) noexcept {
  std::size_t size;
  std::memcpy(&size, start_of(memory), sizeof(size));
  return size;
}

void* allocate(std::size_t size) noexcept {
  if (size > PTRDIFF_MAX - kBefore) return nullptr;
  try {
    auto* start = static_cast<std::byte*>(secret_allocate(kBefore + size));
    std::memcpy(start, &size, sizeof(size));
    return start + kBefore;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void* allocate_zeros(std::size_t count, std::size_t each) noexcept {
  std::size_t size;
  if (__builtin_mul_overflow(count, each, &size)) return nullptr;
  void* memory = allocate(size);
  if (memory != nullptr) std::memset(memory, 0, size);
  return memory;
}

void give_back(void* memory) noexcept {
  if (memory != nullptr) secret_free(start_of(memory), kBefore + size_of(memory));
}

void* move(void* memory, std::size_t size) noexcept {
  void* moved = allocate(size);
  if (moved == nullptr || memory == nullptr) return moved;
  std::memcpy(moved, memory, std::min(size, size_of(memory)));
  give_back(memory);
  return moved;
}

char* copy(const char* text) noexcept {
  const std::size_t size = std::strlen(text) + 1;
  void* memory = allocate(size);
  if (memory != nullptr) std::memcpy(memory, text, size);
  return static_cast<char*>(memory);
}

CURLcode set_up(CURL*, void* context, void*) noexcept {
  auto* tls = static_cast<SSL_CTX*>(context);
  SSL_CTX_set_options(tls, SSL_OP_CLEANSE_PLAINTEXT);
  bound_tls_messages(tls);
  return CURLE_OK;
}

}  // namespace

CURLcode start_curl() noexcept {
  return curl_global_init_mem(CURL_GLOBAL_DEFAULT, allocate, give_back, move, copy, allocate_zeros);
}

void set_up_tls(CURL* easy) noexcept {
  const char* tls = curl_version_info(CURLVERSION_NOW)->ssl_version;
  if (tls == nullptr || std::string_view(tls).rfind("OpenSSL/", 0) != 0) return;
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, &set_up);
}

}  // namespace pirx::http
