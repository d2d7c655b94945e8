// SPDX-License-Identifier: Apache-2.0
// Runs the client under valgrind with its secret coins, the wanted item and what decoding finds marked as
// undefined: memcheck reports every branch and every address that depends on them. Seeds, which are public,
// and finished ciphertexts are marked as defined. What reveal() reveals, that there are such records, may
// show.
#include <valgrind/memcheck.h>

#include <cstdio>

#include "cpir/spiral/client_core.h"
#include "cpir/spiral/item.h"
#include "cpir/spiral/wire.h"
#include "pirx/cpir/spiral/client.h"

int main() {
  using namespace pirx;
  using namespace pirx::cpir::spiral;
  const Scheme scheme{.policy = Policy::kToy, .log_d = 6, .log_p = 4, .pack = 2, .log_columns = 1};
  const auto geometry = database::Geometry::create({4, 64, 1, false, false}).value();
  const auto params = Params::create({geometry, {}, scheme}).value();
  auto rng = Rng::from_os().value();
  const Coins coins = [&](MutableByteSpan out) {
    rng.fill(out);
    if (out.size() != kSeedBytes) static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(out.data(), out.size()));
  };
  const ClientCore client(params, coins);
  Bytes keys = client.keys(params, coins);
  std::uint64_t item = params.items() - 1;
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(&item, sizeof item));
  Bytes query(kSeedBytes + params.polynomial_bytes());
  client.query(params, item, coins, query);
  Bytes body(params.reply_bytes());
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::byte>(37 * i);
  const auto coefficients = client.decode(params, body);
  Bytes bytes(params.item_bytes());
  coefficients_to_item(params, item, coefficients.expose(), bytes);
  // As programs ask: from a record, by the client around the core, whose coins are not marked.
  std::uint64_t record = geometry.records() - 1;
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(&record, sizeof record));
  const auto at = params.locate(record);
  const auto outer = Client::create(params, true);
  if (!at || !outer) {
    std::puts("no place or no client");
    return 1;
  }
  const auto asked = outer->query(at->row, rng);
  if (!asked) {
    std::puts("no query");
    return 1;
  }
  unsigned char undefined = 0;
  for (const auto& made : {keys.back(), query.back(), bytes.front(), asked->back()}) {
    undefined = 0;
    static_cast<void>(VALGRIND_GET_VBITS(&made, &undefined, 1));
    if (undefined == 0) {
      std::puts("the marks got lost: nothing was checked");
      return 1;
    }
  }
  return 0;
}
