// SPDX-License-Identifier: Apache-2.0
// OpenSSL's objects, freed when they go out of scope.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace pirx::ct {

template <auto Free>
struct Freed {
  void operator()(auto* object) const noexcept { Free(object); }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using X509Handle = std::unique_ptr<X509, Freed<X509_free>>;

/// What was written to a memory BIO.
inline std::string contents(BIO* bio) {
  std::string text(BIO_ctrl_pending(bio), '\0');
  std::size_t count = 0;
  if (BIO_read_ex(bio, text.data(), text.size(), &count) != 1) count = 0;
  text.resize(count);
  return text;
}

}  // namespace pirx::ct
