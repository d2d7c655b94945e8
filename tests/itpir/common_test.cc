// SPDX-License-Identifier: Apache-2.0
// Parameters and headers: every rule and every error line.
#include "pirx/itpir/common.h"

#include <gtest/gtest.h>

#include "pirx/batchcodes/fields.h"
#include "pirx/itpir/goldberg/client.h"
#include "support/files.h"

namespace pirx::itpir::goldberg {
namespace {

using pirx::testing::expect_error;

database::Geometry geometry_of(std::uint64_t records, std::uint64_t bytes) {
  return database::Geometry::create({records, bytes, 1, true, true}).value();
}

Params::Spec good_spec() { return {kTagGf2_8, geometry_of(10, 30), {}, {1, 2, 3}, 1}; }

void expect_refused(const Params::Spec& spec, std::string_view part) {
  const auto params = Params::create(spec);
  expect_error(params, ErrorCode::kInvalidArgument, part);
}

TEST(Params, AcceptsEveryShippedField) {
  for (const auto& tag : {kTagGf2_8, kTagGf2_16, kTagW160, kTagW48, fp::PrimeField::create(8)->tag()}) {
    auto spec = good_spec();
    spec.field = tag;
    const auto params = Params::create(spec);
    ASSERT_TRUE(params.has_value()) << params.error().to_string();
    EXPECT_EQ(params->servers(), 3u);
    EXPECT_EQ(params->threshold(), 1u);
    EXPECT_EQ(params->field(), tag);
  }
}

TEST(Params, RefusesNoServers) {
  auto spec = good_spec();
  spec.coordinates.clear();
  expect_refused(spec, "needs servers");
}
TEST(Params, RefusesTooManyServers) {
  auto spec = good_spec();
  spec.field = kTagGf2_16;
  spec.coordinates.resize(Params::kMaxServers + 1);
  expect_refused(spec, "too many");
}
TEST(Params, RefusesThresholdZero) {
  auto spec = good_spec();
  spec.threshold = 0;
  expect_refused(spec, "t >= 1");
}
TEST(Params, RefusesThresholdOfAllServers) {
  auto spec = good_spec();
  spec.threshold = 3;
  expect_refused(spec, "d + 1 = 4 servers are needed");
}
TEST(Params, RefusesCoordinateZero) {
  auto spec = good_spec();
  spec.coordinates[1] = 0;
  expect_refused(spec, "coordinate 0");
}
TEST(Params, RefusesRepeatedCoordinate) {
  auto spec = good_spec();
  spec.coordinates[2] = 1;
  expect_refused(spec, "two servers have the same coordinate");
}
TEST(Params, RefusesCoordinateOutsideTheField) {
  auto spec = good_spec();
  spec.coordinates[2] = 256;
  expect_refused(spec, "must be below 256");
}
TEST(Params, RefusesFieldTooSmall) {
  auto spec = good_spec();
  spec.coordinates.clear();
  for (std::uint64_t j = 1; j <= 255; ++j) spec.coordinates.push_back(j);
  spec.ramp = 2;
  expect_refused(spec, "q + l = 2 + 255 coordinates do not fit the field");
}
TEST(Params, OfEncodings) {
  auto spec = good_spec();
  spec.arity = 2;
  expect_refused(spec, "is also a data coordinate");
  spec.coordinates = {2, 3, 4};
  const auto params = Params::create(spec).value();
  EXPECT_EQ(params.spec().modulus, 2u) << "M = u where none is given";
  EXPECT_EQ(params.needed(), 3u);
  spec.ramp = 2;
  expect_refused(spec, "d + 1 = 4 servers are needed");
  spec.coordinates = {250, 251, 252, 253};
  EXPECT_EQ(Params::create(spec)->needed(), 4u);
  spec.modulus = 3;
  expect_refused(spec, "is no multiple of the arity");
  spec.modulus = 254;
  expect_refused(spec, "do not fit the field");
  spec.modulus = 10;
  EXPECT_TRUE(Params::create(spec).has_value());
  spec.independence = 1;
  expect_refused(spec, "d + 1 = 5 servers are needed");
  // q > 1 with tau > 0 where all rows share a coordinate: no query polynomial takes two values there.
  spec.arity = 1;
  spec.modulus = 1;
  expect_refused(spec, "decoding would return garbage");
  spec.ramp = 0;
  expect_refused(spec, "q >= 1");
  spec.ramp = 1;
  spec.arity = 0;
  expect_refused(spec, "u >= 1");
}
TEST(Params, RefusesGf2) {
  auto spec = good_spec();
  spec.field = kTagGf2;
  expect_refused(spec, "single non-zero element");
}
TEST(Params, RefusesUnknownFields) {
  auto spec = good_spec();
  spec.field = {FieldKind::kBinary, 8, 0x1D};
  expect_refused(spec, "no field");
  for (const FieldTag tag : {FieldTag{FieldKind::kPrime, 161, 9}, FieldTag{FieldKind::kPrime, 65535, 1},
                             FieldTag{FieldKind::kPrime, 1, 1}, FieldTag{FieldKind::kPrime, 265, 0}}) {
    spec.field = tag;
    const auto params = Params::create(spec);
    expect_error(params, ErrorCode::kInvalidArgument);
  }
}
TEST(Params, RefusesGeometryWithoutBound) {
  auto spec = good_spec();
  spec.geometry = geometry_of(std::uint64_t{1} << 40, 8);
  expect_refused(spec, "the limit is");
  spec.geometry = geometry_of(2, std::uint64_t{1} << 31);
  expect_refused(spec, "the limit is");
}

TEST(MessageBytes, SaturatesOnOverflow) {
  EXPECT_EQ(message_bytes(2, 3, 4), 80u + 24u);
  EXPECT_EQ(message_bytes(std::uint64_t{1} << 40, std::uint64_t{1} << 40, 1), ~std::uint64_t{0});
  EXPECT_EQ(message_bytes(1, ~std::uint64_t{0}, 1), ~std::uint64_t{0});
}

MessageHeader good_header() {
  MessageHeader header{MessageType::kQuery, kTagW160, {}, 0x0102030405060708u, 3, 500};
  header.version.epoch = 9;
  for (std::size_t i = 0; i < 32; ++i) header.version.identity[i] = static_cast<std::byte>(i);
  return header;
}
Bytes encoded(const MessageHeader& header) {
  Writer writer;
  header.encode(writer);
  return std::move(writer).take();
}
Result<MessageHeader> decoded(ByteSpan bytes) {
  Reader reader(bytes, "message");
  return MessageHeader::decode(reader);
}
void expect_bad_header(ByteSpan bytes, ErrorCode code, std::string_view part) {
  const auto header = decoded(bytes);
  expect_error(header, code, part);
}

TEST(MessageHeader, HasTheDocumentedLayout) {
  const auto bytes = encoded(good_header());
  ASSERT_EQ(bytes.size(), MessageHeader::kBytes);
  EXPECT_EQ(to_hex(bytes),
            "50495258"
            "0100"
            "01"
            "01"
            "0200a10007000000"
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
            "0900000000000000"
            "0807060504030201"
            "03000000"
            "00000000"
            "f401000000000000");
}
TEST(MessageHeader, RoundTrips) {
  const auto header = good_header();
  const auto back = decoded(encoded(header)).value();
  EXPECT_EQ(back.type, header.type);
  EXPECT_EQ(back.field, header.field);
  EXPECT_EQ(back.version, header.version);
  EXPECT_EQ(back.coordinate, header.coordinate);
  EXPECT_EQ(back.queries, header.queries);
  EXPECT_EQ(back.length, header.length);
}
TEST(MessageHeader, RefusesEveryTruncation) {
  const auto bytes = encoded(good_header());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const auto header = decoded(ByteSpan(bytes).first(n));
    expect_error(header, ErrorCode::kDataLoss);
  }
}
TEST(MessageHeader, RefusesWhatItDoesNotKnow) {
  const auto change = [](std::size_t at, unsigned value) {
    auto bytes = encoded(good_header());
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  expect_bad_header(change(0, 'Q'), ErrorCode::kDataLoss, "begin with PIRX");
  expect_bad_header(change(4, 2), ErrorCode::kInvalidArgument, "message format 2");
  expect_bad_header(change(6, 0), ErrorCode::kDataLoss, "message type 0");
  expect_bad_header(change(6, 5), ErrorCode::kDataLoss, "message type 5");
  expect_bad_header(change(6, 3), ErrorCode::kDataLoss, "counts do not fit");
  expect_bad_header(change(7, 2), ErrorCode::kInvalidArgument, "protocol number 2 instead of 1");
  expect_bad_header(change(8, 3), ErrorCode::kDataLoss, "field tag");
  expect_bad_header(change(9, 1), ErrorCode::kDataLoss, "field tag");
  expect_bad_header(change(64, 0), ErrorCode::kDataLoss, "counts do not fit");
  expect_bad_header(change(65, 255), ErrorCode::kDataLoss, "the most is 4096");
  expect_bad_header(change(70, 1), ErrorCode::kDataLoss, "reserved");
  auto header = good_header();
  header.coordinate = 0;
  expect_bad_header(encoded(header), ErrorCode::kDataLoss, "coordinate 0");
  header = good_header();
  header.length = 0;
  expect_bad_header(encoded(header), ErrorCode::kDataLoss, "counts do not fit");
}

TEST(ServerParameters, RoundTrip) {
  const ServerParameters parameters{kTagGf2_16, geometry_of(1000, 77), good_header().version, 12};
  const auto back = ServerParameters::decode(parameters.encode()).value();
  EXPECT_EQ(back.field, parameters.field);
  EXPECT_EQ(back.geometry, parameters.geometry);
  EXPECT_EQ(back.version, parameters.version);
  EXPECT_EQ(back.coordinate, parameters.coordinate);
}
TEST(ServerParameters, SayHowTheBucketWasEncoded) {
  ServerParameters parameters{kTagGf2_16, geometry_of(1000, 77), good_header().version, 5000, 2, 1, 1000};
  const auto back = ServerParameters::decode(parameters.encode()).value();
  EXPECT_EQ(back.arity, 2u);
  EXPECT_EQ(back.independence, 1u);
  EXPECT_EQ(back.modulus, 1000u);
  for (const auto& [u, tau, M] :
       {std::tuple{0u, 0u, 0u}, {1u, 0u, 1u}, {1u, 1u, 0u}, {2u, 0u, 0u}, {2u, 0u, 3u}}) {
    parameters.arity = u;
    parameters.independence = tau;
    parameters.modulus = M;
    const auto refused = ServerParameters::decode(parameters.encode());
    ASSERT_FALSE(refused.has_value()) << u << " " << tau << " " << M;
    expect_error(refused, ErrorCode::kDataLoss, "is impossible");
  }
}

TEST(ServerParameters, RefuseWrongLengthsAndOtherMessages) {
  const auto bytes = ServerParameters{kTagGf2_16, geometry_of(1000, 77), {}, 12}.encode();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const auto parameters = ServerParameters::decode(ByteSpan(bytes).first(n));
    expect_error(parameters, ErrorCode::kDataLoss);
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(ServerParameters::decode(longer).error().code(), ErrorCode::kDataLoss);
  EXPECT_EQ(ServerParameters::decode(encoded(good_header())).error().code(), ErrorCode::kDataLoss);
  auto impossible = bytes;
  std::fill(impossible.begin() + 80, impossible.begin() + 88, std::byte{0});  // no records
  EXPECT_EQ(ServerParameters::decode(impossible).error().code(), ErrorCode::kDataLoss);
}

TEST(ServerParameters, NameTheProtocolAndTheCode) {
  ServerParameters parameters{kTagGf2, geometry_of(1000, 77), good_header().version, 12};
  parameters.protocol = ProtocolId::kChor;
  for (const char* code : {"", "subcube:2,1", "subset:10,3"}) {
    parameters.code = code;
    const auto back = ServerParameters::decode(parameters.encode()).value();
    EXPECT_EQ(back.protocol, ProtocolId::kChor);
    EXPECT_EQ(back.code, code);
  }
  for (const char* code : {"x", "subcube", "subcube:02,1", "subcube:2,1 ", "subcube:1,1", "subset:4,4",
                           "subcube:99999999999,1", "subcube:2,00000000000000000000001"}) {
    parameters.code = code;
    EXPECT_EQ(ServerParameters::decode(parameters.encode()).error().code(), ErrorCode::kDataLoss) << code;
  }
}

}  // namespace
}  // namespace pirx::itpir::goldberg
