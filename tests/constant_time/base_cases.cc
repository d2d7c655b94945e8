// SPDX-License-Identifier: Apache-2.0
// Hashes and ciphers, OpenSSL's and our own, and arithmetic on single secret numbers.
#include "cases.h"
#include "cpir/ring/bits.h"
#include "pirx/base/sha256.h"
#include "src/base/aes128.h"
#include "src/base/constant_time.h"
#include "src/base/crypto_portable.h"

namespace pirx::constant_time {
namespace {

using checkmem::hidden;
using checkmem::hide;
using U64 = std::uint64_t;

Bytes secret(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(37 * i);
  hide(bytes);
  return bytes;
}

template <class Hash>
bool hashes() {
  const Bytes message = secret(200);
  Hash hash;
  hash.update(message);
  return hidden(std::move(hash).finish());
}
template <class Stream>
bool streams() {
  const Bytes key = secret(32);
  Bytes out(1000);
  Stream(std::span<const std::byte, 32>(key.data(), 32)).fill(out);
  return hidden(out);
}
bool own_aes128() {
  const Bytes key = secret(16);
  Bytes blocks = secret(128);
  const std::span<std::byte, 128> all(blocks.data(), 128);
  portable::Aes<16>(std::span<const std::byte, 16>(key.data(), 16)).encrypt(all, all);
  return hidden(blocks);
}
bool aes128() {
  const Bytes key(16);  // as in dpf, where it is public
  Bytes blocks = secret(160);
  Aes128(std::span<const std::byte, 16>(key.data(), 16)).encrypt(blocks, blocks);
  return hidden(blocks);
}

bool comparisons() {
  U64 a = 12, b = 700;
  hide(a);
  hide(b);
  const U64 results[] = {mask_equal(a, b), mask_less(a, b), select(mask_less(a, b), a, b)};
  return hidden(results[0]) && hidden(results[1]) && hidden(results[2]);
}
bool division() {
  U64 n = 123456789;
  hide(n);
  const auto [quotient, remainder] = divide(n, 1000);
  bool good = hidden(quotient) && hidden(remainder);
  checkmem::show(quotient);
  checkmem::show(remainder);
  return good && quotient == 123456 && remainder == 789;
}
bool cuts_out() {
  const Bytes row = secret(16 * 7);
  U64 offset = 3 * 16;
  hide(offset);
  Bytes slot(16);
  cut_out(row, offset, slot);
  return hidden(slot);
}
bool differences() {
  const Bytes a = secret(40), b = secret(40);
  return hidden(difference(a, b));
}
bool bits() {
  Bytes run(70);
  cpir::BitWriter writer(run);
  for (unsigned i = 0; i < 40; ++i) {
    U64 value = i;
    hide(value);
    writer.put(value, 13);
  }
  writer.finish();
  cpir::BitReader reader(run);
  return hidden(run) && hidden(reader.get(13));
}

}  // namespace

void add_base_cases(std::vector<Case>& cases) {
  cases.push_back({"base: SHA-256, OpenSSL", "message", hashes<Sha256>});
  cases.push_back({"base: SHA-256, ours", "message", hashes<portable::Sha256>});
  cases.push_back({"base: AES-256-CTR, OpenSSL", "key", streams<SeedStream>});
  cases.push_back({"base: AES-256-CTR, ours", "key", streams<portable::AesCounter>});
  cases.push_back({"base: AES-128, OpenSSL", "blocks", aes128});
  cases.push_back({"base: AES-128, ours", "key, blocks", own_aes128});
  cases.push_back({"base: mask_equal, mask_less, select", "numbers", comparisons});
  cases.push_back({"base: divide", "dividend", division});
  cases.push_back({"base: cut_out", "row, offset", cuts_out});
  cases.push_back({"base: difference", "both runs", differences});
  cases.push_back({"ring: BitWriter, BitReader", "numbers", bits});
}

}  // namespace pirx::constant_time
