// SPDX-License-Identifier: Apache-2.0
// Checksums: the algorithm and its key by a known answer, and that small damage shows.
#include "src/base/checksum.h"

#include <gtest/gtest.h>

#include "support/files.h"
#include "support/seed.h"

namespace pirx {
namespace {

using testing::random_bytes;

/// Computed by another implementation of RFC 8439 with the key SHA-256("pirx checksum v1").
TEST(Checksum, KnownAnswers) {
  const auto hex = [](ByteSpan bytes) { return to_hex(checksum(bytes).value()); };
  EXPECT_EQ(hex({}), "10654ca07e78f7e3fcb5a1f29966aa10");
  EXPECT_EQ(hex(as_bytes("pirx")), "3cf2602d9b89233a4460e5245c49f1c9");
  EXPECT_EQ(hex(Bytes(1000, std::byte{0xff})), "d566e37d0807f4405d8a98816a7abf12");
}

TEST(Checksum, ShowsEveryFlippedBitAndEveryChangedLength) {
  auto engine = testing::seeded_engine(1);
  Bytes bytes = random_bytes(engine, 300);
  const Checksum sum = *checksum(bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto mask = std::byte{1} << (bit % 8);
    bytes[bit / 8] ^= mask;
    EXPECT_NE(*checksum(bytes), sum) << bit;
    bytes[bit / 8] ^= mask;
  }
  EXPECT_EQ(*checksum(bytes), sum);
  EXPECT_NE(*checksum(ByteSpan(bytes).first(299)), sum);
  bytes.push_back(std::byte{0});
  EXPECT_NE(*checksum(bytes), sum);
}

}  // namespace
}  // namespace pirx
