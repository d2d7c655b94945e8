// SPDX-License-Identifier: Apache-2.0
// SHA-256 and AES-256-CTR for clients without OpenSSL, against OpenSSL's and published answers.
#include "src/base/crypto_portable.h"

#include <gtest/gtest.h>

#include "pirx/base/rng.h"
#include "pirx/base/sha256.h"
#include "src/base/aes128.h"
#include "support/files.h"
#include "support/seed.h"

namespace pirx {
namespace {

using testing::random_bytes;

/// Calls f with each piece of a random cut of so many bytes.
template <class F>
void in_pieces(std::mt19937_64& engine, std::size_t size, const F& f) {
  for (std::size_t at = 0; at < size;) {
    const auto length = std::min<std::size_t>(size - at, engine() % 200);
    f(at, length);
    at += length;
  }
}

TEST(CryptoPortable, HashesAsTheStandardSays) {
  portable::Sha256 hash;
  hash.update(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"));
  EXPECT_EQ(to_hex(hash.finish()), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(to_hex(portable::Sha256().finish()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(CryptoPortable, HashesAsOpenSslDoes) {
  auto engine = testing::seeded_engine(1);
  for (int i = 0; i < 3000; ++i) {
    const auto data = random_bytes(engine, i < 300 ? static_cast<std::size_t>(i) : engine() % 5000);
    portable::Sha256 hash;
    in_pieces(engine, data.size(),
              [&](auto at, auto size) { hash.update(ByteSpan(data).subspan(at, size)); });
    ASSERT_EQ(hash.finish(), sha256(data)) << data.size();
  }
}

// The counter-mode example of NIST SP 800-38A has another first counter: this is the block cipher of FIPS
// 197, C.3, whose plain text is no counter. So the zero key's stream it is, which the GCM specification
// prints.
TEST(CryptoPortable, StreamsAsTheStandardSays) {
  portable::AesCounter stream(std::array<std::byte, 32>{});
  Bytes bytes(32);
  stream.fill(bytes);
  EXPECT_EQ(to_hex(bytes), "dc95c078a2408989ad48a21492842087530f8afbc74536b9a963b4f1c4cb738b");
}

TEST(CryptoPortable, StreamsAsOpenSslDoes) {
  auto engine = testing::seeded_engine(2);
  for (int i = 0; i < 2000; ++i) {
    const auto seed = random_bytes(engine, kSeedBytes);
    const auto size = i < 300 ? static_cast<std::size_t>(i) : engine() % 6000;  // past 256 blocks: a carry
    Bytes ours(size), theirs(size);
    portable::AesCounter stream(std::span<const std::byte, kSeedBytes>{seed});
    in_pieces(engine, size,
              [&](auto at, auto part) { stream.fill(MutableByteSpan(ours).subspan(at, part)); });
    SeedStream(std::span<const std::byte, kSeedBytes>(seed)).fill(theirs);
    ASSERT_EQ(ours, theirs) << size;
  }
  // 65536 blocks and more: a carry into the third byte.
  const auto seed = random_bytes(engine, kSeedBytes);
  Bytes ours((std::size_t{16} << 16) + 1000), theirs(ours.size());
  portable::AesCounter(std::span<const std::byte, kSeedBytes>(seed)).fill(ours);
  SeedStream(std::span<const std::byte, kSeedBytes>(seed)).fill(theirs);
  EXPECT_TRUE(ours == theirs);
}

// FIPS 197, C.1, then OpenSSL.
TEST(CryptoPortable, EncryptsBlocksAsAes128Does) {
  std::array<std::byte, 128> blocks{}, ours;
  std::array<std::byte, 16> key;
  for (unsigned i = 0; i < 16; ++i) {
    key[i] = static_cast<std::byte>(i);
    blocks[i] = static_cast<std::byte>(0x11 * i);
  }
  portable::Aes<16>(key).encrypt(blocks, ours);
  EXPECT_EQ(to_hex(ByteSpan(ours).first(16)), "69c4e0d86a7b0430d8cdb78070b4c55a");
  auto engine = testing::seeded_engine(3);
  for (int i = 0; i < 500; ++i) {
    for (auto& byte : key) byte = static_cast<std::byte>(engine());
    for (auto& byte : blocks) byte = static_cast<std::byte>(engine());
    portable::Aes<16>(key).encrypt(blocks, ours);
    std::array<std::byte, 128> theirs;
    Aes128(key).encrypt(blocks, theirs);
    ASSERT_EQ(ours, theirs);
  }
}

}  // namespace
}  // namespace pirx
