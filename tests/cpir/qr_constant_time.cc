// SPDX-License-Identifier: Apache-2.0
// Runs the client's secret arithmetic under valgrind with the key's primes and the wanted bits marked as
// undefined: memcheck reports every branch and every address that depends on them. Of a prime, its highest
// limb stays defined, which only tells its length.
#include <valgrind/memcheck.h>

#include <cstdio>

#include "cpir/qr/residues.h"

int main() {
  using namespace pirx;
  using namespace pirx::cpir;
  const auto key = qr::SecretKey::generate(512, qr::KeyPolicy::kToy).value();
  auto rng = Rng::from_os().value();
  for (const auto prime : {key.expose_p(), key.expose_q()}) {
    static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(prime.data() + 8, prime.size() - 8));
  }
  const qr::Residues residues(key);
  unsigned wrong = 0;
  for (unsigned round = 0; round < 4; ++round) {
    unsigned bit = round % 2;
    static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(&bit, sizeof bit));
    Bytes number(64);
    residues.encrypt_bit(bit, rng, number);
    // What is sent is public.
    static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(number.data(), number.size()));
    const unsigned got = residues.decrypt_bit(number);
    unsigned undefined = 0;
    static_cast<void>(VALGRIND_GET_VBITS(&got, &undefined, sizeof got));
    if (undefined == 0) {
      std::puts("the marks got lost: nothing was checked");
      return 1;
    }
    wrong |= got ^ bit;
  }
  static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(&wrong, sizeof wrong));
  return wrong == 0 ? 0 : 1;
}
