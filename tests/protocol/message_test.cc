// SPDX-License-Identifier: Apache-2.0
// The beginning of single-server messages: every wrong byte and length is an error of its kind.
#include "src/protocol/message.h"

#include <gtest/gtest.h>

namespace pirx {
namespace {

const Digest kPlan = sha256(as_bytes(std::string_view("plan")));

Bytes message(ProtocolId protocol, MessageType type, std::size_t body) {
  Writer writer;
  encode_header(writer, protocol, type, kPlan);
  auto bytes = std::move(writer).take();
  bytes.resize(kHeaderBytes + body, std::byte{0x5A});
  return bytes;
}

ErrorCode refusal(ByteSpan bytes, std::size_t expected) {
  const auto body = decode_header(bytes, ProtocolId::kSpiral, MessageType::kReply, kPlan, expected);
  return body ? ErrorCode::kInternal : body.error().code();
}

TEST(Message, GivesWhatIsBehindItsHeader) {
  const auto bytes = message(ProtocolId::kSpiral, MessageType::kReply, 3);
  const auto body = decode_header(bytes, ProtocolId::kSpiral, MessageType::kReply, kPlan, bytes.size());
  ASSERT_TRUE(body) << body.error().to_string();
  EXPECT_EQ(body->size(), 3u);
  EXPECT_EQ(body->data(), bytes.data() + kHeaderBytes);
}

TEST(Message, RefusesOtherProtocolsTypesAndPlans) {
  EXPECT_EQ(refusal(message(ProtocolId::kQuadraticResiduosity, MessageType::kReply, 3), 43),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(message(ProtocolId::kSpiral, MessageType::kQuery, 3), 43), ErrorCode::kDataLoss);
  auto stale = message(ProtocolId::kSpiral, MessageType::kReply, 3);
  stale[kHeaderBytes - 1] ^= std::byte{1};
  EXPECT_EQ(refusal(stale, 43), ErrorCode::kStaleEpoch);
}

TEST(Message, RefusesEveryLengthButTheRightOne) {
  const auto bytes = message(ProtocolId::kSpiral, MessageType::kReply, 3);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(refusal(ByteSpan(bytes).first(length), bytes.size()), ErrorCode::kDataLoss) << length;
  }
  EXPECT_EQ(refusal(bytes, 42), ErrorCode::kDataLoss);
  EXPECT_EQ(refusal(bytes, 44), ErrorCode::kDataLoss);
}

/// A query and a reply have their names; of other types the caller knows the name.
TEST(Message, ErrorsNameTheMessage) {
  const struct {
    MessageType type;
    std::string_view given, name;
  } messages[] = {{MessageType::kQuery, {}, "query"},
                  {MessageType::kReply, {}, "reply"},
                  {MessageType::kKeys, "keys message", "keys message"},
                  {MessageType::kMasksWanted, "masks request", "masks request"}};
  for (const auto& message_type : messages) {
    const auto said = [&](ByteSpan bytes) {
      return decode_header(bytes, ProtocolId::kSpiral, message_type.type, kPlan, kHeaderBytes + 8,
                           message_type.given)
          .error()
          .message();
    };
    const std::string the = "the " + std::string(message_type.name);
    auto bytes = message(ProtocolId::kSpiral, message_type.type, 9);
    EXPECT_EQ(said(bytes), the + " has 49 bytes, not 48");
    bytes[kHeaderBytes - 1] ^= std::byte{1};
    EXPECT_EQ(said(bytes).find(the + " is for other parameters"), 0u) << said(bytes);
  }
}

TEST(Message, RefusesEveryChangedByteOfTheHeader) {
  const auto bytes = message(ProtocolId::kSpiral, MessageType::kReply, 3);
  for (std::size_t at = 0; at < kHeaderBytes; ++at) {
    auto changed = bytes;
    changed[at] ^= std::byte{0x10};
    EXPECT_NE(refusal(changed, bytes.size()), ErrorCode::kInternal) << at;
  }
}

TEST(Message, TypeOfWhatBeginsAsMessagesDo) {
  Writer writer(8);
  encode_prefix(writer, ProtocolId::kInspire, MessageType::kMasks);
  const Bytes good = std::move(writer).take();
  EXPECT_EQ(message_type(good), MessageType::kMasks);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(message_type(ByteSpan(good).first(size)), std::nullopt) << size;
  }
  for (std::size_t i = 0; i < 6; ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte{1};
    EXPECT_EQ(message_type(bad), std::nullopt) << i;
  }
}

}  // namespace
}  // namespace pirx
