// SPDX-License-Identifier: Apache-2.0
// SHA-256 against FIPS 180-4's examples, and the incremental form against the one-shot form.
#include "pirx/base/sha256.h"

#include <gtest/gtest.h>

namespace pirx {
namespace {

TEST(Sha256, PublishedExamples) {
  EXPECT_EQ(to_hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256(as_bytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, PiecesEqualTheWhole) {
  Bytes data(1000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
  for (std::size_t cut : {0u, 1u, 63u, 64u, 65u, 999u, 1000u}) {
    Sha256 hash;
    hash.update(ByteSpan(data).first(cut));
    hash.update(ByteSpan(data).subspan(cut));
    EXPECT_EQ(std::move(hash).finish(), sha256(data)) << cut;
    EXPECT_EQ(sha256_of({ByteSpan(data).first(cut), {}, ByteSpan(data).subspan(cut)}), sha256(data)) << cut;
  }
}

}  // namespace
}  // namespace pirx
