// malloc and free with a wipe in between: blocks may go from libcurl to its callers and back.
#include "curl_memory.h"

#include <malloc.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "pirx/base/secret_memory.h"

namespace pirx::net {
namespace {

void wipe_and_free(void* memory) noexcept {
  secure_wipe(memory, malloc_usable_size(memory));
  std::free(memory);
}

/// realloc would leave the old block as it is.
void* move_and_wipe(void* memory, std::size_t size) noexcept {
  void* moved = std::malloc(size);
  if (moved == nullptr || memory == nullptr) return moved;
  std::memcpy(moved, memory, std::min(size, malloc_usable_size(memory)));
  wipe_and_free(memory);
  return moved;
}

CURLcode set_cleansing(CURL*, void* context, void*) noexcept {
  SSL_CTX_set_options(static_cast<SSL_CTX*>(context), SSL_OP_CLEANSE_PLAINTEXT);
  return CURLE_OK;
}

}  // namespace

CURLcode start_curl() noexcept {
  return curl_global_init_mem(CURL_GLOBAL_DEFAULT, std::malloc, wipe_and_free, move_and_wipe, strdup,
                              std::calloc);
}

void wipe_plaintext(CURL* easy) noexcept {
  const char* tls = curl_version_info(CURLVERSION_NOW)->ssl_version;
  if (tls == nullptr || std::string_view(tls).rfind("OpenSSL/", 0) != 0) return;
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, &set_cleansing);
}

}  // namespace pirx::net
