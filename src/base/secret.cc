// Wiping by OpenSSL, which knows how to keep the compiler from removing it.
#include "pirx/base/secret.h"

#include <openssl/crypto.h>

namespace pirx {

void secure_wipe(void* data, std::size_t size) noexcept { OPENSSL_cleanse(data, size); }

}  // namespace pirx
