// SPDX-License-Identifier: Apache-2.0
// The epoch of a parameters message, at its place and nowhere else.
#include <gtest/gtest.h>

#include <cstring>

#include "pirx/protocol.h"

namespace pirx {
namespace {

constexpr std::uint64_t kEpoch = 0x0102030405060708;

Bytes message(unsigned protocol, std::size_t at, std::size_t size = 120) {
  Bytes bytes(size);
  for (const auto& [i, value] : {std::pair(0, 'P'), {1, 'I'}, {2, 'R'}, {3, 'X'}, {4, '\1'}, {6, '\3'}}) {
    bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(value);
  }
  bytes[7] = static_cast<std::byte>(protocol);
  std::memcpy(bytes.data() + at, &kEpoch, sizeof kEpoch);
  return bytes;
}

TEST(ParametersEpoch, OfEveryProtocol) {
  for (const unsigned protocol : {1u, 2u}) EXPECT_EQ(parameters_epoch(message(protocol, 48)), kEpoch);
  for (const unsigned protocol : {3u, 4u, 5u, 6u, 7u, 255u})
    EXPECT_EQ(parameters_epoch(message(protocol, 40)), kEpoch);
}

TEST(ParametersEpoch, OfNothingElse) {
  const auto good = message(1, 48);
  for (std::size_t i = 0; i < 7; ++i) {
    auto bad = good;
    bad[i] ^= std::byte{1};
    EXPECT_EQ(parameters_epoch(bad), std::nullopt) << i;
  }
  EXPECT_EQ(parameters_epoch(message(0, 48)), std::nullopt);
  for (std::size_t size = 0; size < 56; ++size) {
    EXPECT_EQ(parameters_epoch(ByteSpan(good).first(size)), std::nullopt) << size;
  }
  EXPECT_EQ(parameters_epoch(ByteSpan(good).first(56)), kEpoch);
}

}  // namespace
}  // namespace pirx
