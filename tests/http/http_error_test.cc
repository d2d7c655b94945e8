// SPDX-License-Identifier: Apache-2.0
// Errors to HTTP and back, and a peer's words made harmless.
#include "service/http/http_error.h"

#include <gtest/gtest.h>

namespace pirx::http {
namespace {

TEST(HttpError, StatusOfEveryCode) {
  EXPECT_EQ(http_status(ErrorCode::kInvalidArgument), 400u);
  EXPECT_EQ(http_status(ErrorCode::kOutOfRange), 400u);
  EXPECT_EQ(http_status(ErrorCode::kDataLoss), 400u);
  EXPECT_EQ(http_status(ErrorCode::kUnavailable), 503u);
  EXPECT_EQ(http_status(ErrorCode::kResourceExhausted), 429u);
  EXPECT_EQ(http_status(ErrorCode::kUnauthenticated), 401u);
  EXPECT_EQ(http_status(ErrorCode::kStaleEpoch), 409u);
  EXPECT_EQ(http_status(ErrorCode::kUndecodable), 500u);
  EXPECT_EQ(http_status(ErrorCode::kInternal), 500u);
}

TEST(HttpError, BodyIsJsonAndComesBack) {
  const Error error(ErrorCode::kStaleEpoch, "epoch 3, not \"4\"\n");
  EXPECT_EQ(error_body(error), R"({"error":{"code":"StaleEpoch","message":"epoch 3, not \"4\"\n"}})");
  EXPECT_EQ(error_message(error_body(error), 1024), "epoch 3, not \"4\"?");
  EXPECT_EQ(error_body(Error(ErrorCode::kInternal, "\xff")).find('\xff'), std::string::npos);
}

Bytes parameters(std::size_t size) {
  Bytes bytes(size);
  const char start[] = "PIRX\1\0\3\1";
  std::copy_n(reinterpret_cast<const std::byte*>(start), 8, bytes.begin());
  bytes[48] = std::byte{9};
  return bytes;
}

TEST(HttpError, ParametersComeBack) {
  const Error error(ErrorCode::kStaleEpoch, "old");
  const auto body = error_body(error, parameters(60));
  EXPECT_NE(body.find("\"epoch\":9"), std::string::npos) << body;
  EXPECT_EQ(error_parameters(body), parameters(60));
  EXPECT_EQ(error_message(body, 100), "old");
  // What clients would not take, or could not read, is not sent.
  EXPECT_EQ(error_parameters(error_body(error, parameters(kMaxRefusalParameters))).size(),
            kMaxRefusalParameters);
  EXPECT_LE(error_body(error, parameters(kMaxRefusalParameters)).size(), 16u * 1024);
  EXPECT_EQ(error_body(error, parameters(kMaxRefusalParameters + 1)), error_body(error));
  EXPECT_EQ(error_body(error, as_bytes("no parameters")), error_body(error));
}

TEST(HttpError, StrangeParametersAreNone) {
  const auto with = [](const std::string& value) { return R"({"error":{"parameters":)" + value + "}}"; };
  const auto hex = to_hex(parameters(60));
  EXPECT_FALSE(error_parameters(with('"' + hex + '"')).empty());
  const auto too_long = to_hex(parameters(kMaxRefusalParameters + 1));
  for (const auto& value :
       {hex, "7" + hex, '"' + hex + "0\"", '"' + hex.substr(0, 100) + '"', '"' + too_long + '"',
        "\"z" + hex.substr(1) + '"', std::string("\"\""), std::string("[]"), std::string("3")}) {
    EXPECT_TRUE(error_parameters(with(value)).empty()) << value.substr(0, 40);
  }
}

TEST(HttpError, EveryNameComesBack) {
  for (unsigned number = 1; number <= 9; ++number) {
    const auto code = static_cast<ErrorCode>(number);
    EXPECT_EQ(error_code_from_name(error_code_name(code)), code);
  }
  EXPECT_EQ(error_code_from_name(""), std::nullopt);
  EXPECT_EQ(error_code_from_name("staleepoch"), std::nullopt);
  EXPECT_EQ(error_code_from_name("StaleEpoch\r\n"), std::nullopt);
}

TEST(HttpError, OtherBodiesHaveNoMessage) {
  for (const char* body : {"", "{", "[]", "null", "{\"error\":3}", "{\"error\":{}}",
                           "{\"error\":{\"message\":7}}", "{\"error\":{\"message\":\"\xff\"}}", "<html>"}) {
    EXPECT_EQ(error_message(body, 100), "") << body;
  }
  // Deep nesting is no danger.
  EXPECT_EQ(error_message(std::string(16 * 1024, '['), 100), "");
}

}  // namespace
}  // namespace pirx::http
