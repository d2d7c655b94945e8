// SPDX-License-Identifier: Apache-2.0
// Runs the primitives for clients without OpenSSL under valgrind with keys and messages marked as undefined:
// memcheck reports every branch and every address that depends on them. "planted" runs a table look-up, which
// memcheck must report.
#include <valgrind/memcheck.h>

#include <cstdio>
#include <string_view>

#include "src/base/crypto_portable.h"

namespace {

using namespace pirx;

/// Whether a mark arrived: what comes out depends on what was hidden.
bool was_hidden(MutableByteSpan data) {
  Bytes marks(data.size());
  static_cast<void>(VALGRIND_GET_VBITS(data.data(), marks.data(), data.size()));
  static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(data.data(), data.size()));
  for (const auto mark : marks) {
    if (mark != std::byte{0}) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Bytes secret(200);
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::byte>(37 * i);
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(secret.data(), secret.size()));

  portable::Sha256 hash;
  hash.update(secret);
  auto digest = hash.finish();
  Bytes stream(1000);
  portable::AesCounter(std::span<const std::byte, 32>(secret.data(), 32)).fill(stream);
  if (!was_hidden(digest) || !was_hidden(stream)) {
    std::puts("nothing was hidden: run it under valgrind");
    return 2;
  }
  if (argc > 1 && std::string_view(argv[1]) == "planted") {
    static const volatile unsigned char table[256] = {1, 2, 3};
    return table[static_cast<unsigned char>(secret[0])] == 1 ? 3 : 4;
  }
  return 0;
}
