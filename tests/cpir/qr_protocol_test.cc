// SPDX-License-Identifier: Apache-2.0
// Client and server halves together: every record of small databases, every refusal, and messages that were
// tampered with.
#include <gtest/gtest.h>

#include "pirx/cpir/qr/client.h"
#include "pirx/cpir/qr/server.h"
#include "qr_support.h"
#include "src/protocol/message.h"
#include "support/seed.h"
#include "support/serve.h"

namespace pirx::cpir::qr {
namespace {

using pirx::testing::ask;
using pirx::testing::expect_error;
using testing::TestDatabase;

constexpr auto kPaper = KeyPolicy::kPaperReproduction;
constexpr std::size_t kNumber = 128;  // bytes, of 1024 bits

ServerOptions paper_options(std::uint64_t slots = 0, const char* kernel = "auto") {
  return {.slots = slots, .modulus_bits = 1024, .policy = kPaper, .threads = 2, .kernel = kernel};
}

class Protocol : public ::testing::Test {
 protected:
  Protocol()
      : engine_(pirx::testing::seeded_engine()),
        rng_(Rng::from_os().value()),
        db_(30, 3, 4, false, engine_),
        server_(make_qr_server(db_.database(), paper_options()).value()),
        client_(Client::create(Params::decode(server_->parameters()).value(), testing::paper_key()).value()),
        request_(client_.query(1, rng_).value()) {}

  /// The request with number i (0: the modulus) replaced.
  Bytes with_number(std::size_t i, const mpz_class& value) const {
    Bytes changed = request_;
    dj::number_to_bytes(value, std::span(changed).subspan(kHeaderBytes + i * kNumber, kNumber));
    return changed;
  }

  std::mt19937_64 engine_;
  Rng rng_;
  TestDatabase db_;
  std::unique_ptr<AnyServer> server_;
  Client client_;
  Bytes request_;
};

void fetch_all(const TestDatabase& db, const AnyServer& server, const SecretKey& key, Rng& rng) {
  const auto params = Params::decode(server.parameters()).value();
  const auto client = Client::create(params, key).value();
  for (std::uint64_t row = 0; row < params.rows(); ++row) {
    const auto request = client.query(row, rng).value();
    ASSERT_EQ(request.size(), params.request_bytes());
    ASSERT_EQ(server.admit(request).value(), 1u);
    const auto reply = ask(server, request).value();
    ASSERT_EQ(reply.size(), params.reply_bytes());
    EXPECT_EQ(client.decode(reply, 2, [] { return true; }).error().code(), ErrorCode::kUnavailable);
    const auto bytes = client.decode(reply, 2).value();
    for (std::uint64_t record = 0; record < db.records().size(); ++record) {
      const auto at = params.locate(record).value();
      if (at.row != row) continue;
      const auto slot = std::span(bytes.expose())
                            .subspan(static_cast<std::size_t>(at.offset),
                                     static_cast<std::size_t>(params.geometry().slot_bytes()));
      const auto data = params.geometry().read_slot(record, slot).value();
      ASSERT_TRUE(
          std::equal(data.begin(), data.end(), db.records()[record].begin(), db.records()[record].end()));
    }
  }
}

TEST_F(Protocol, MakingAQueryEndsWhenItsCallerSaysSo) {
  const auto rows = static_cast<int>(client_.params().rows());
  int asked = 0;
  expect_error(client_.query(1, rng_, [&] { return ++asked == rows; }), ErrorCode::kUnavailable, "in time");
  EXPECT_EQ(asked, rows);
  EXPECT_TRUE(client_.query(1, rng_, [] { return false; }));
}

TEST_F(Protocol, EveryRecordOfRandomDatabases) {
  for (int round = 0; round < 6; ++round) {
    const std::uint64_t records = 1 + engine_() % 20;
    const TestDatabase db(records, 1 + engine_() % 6, 1 + engine_() % records, round % 2 == 0, engine_);
    const auto slots = engine_() % 3 == 0 ? 0 : 1 + engine_() % records;
    const auto server =
        make_qr_server(db.database(), paper_options(slots, round < 3 ? "gmp" : "auto")).value();
    fetch_all(db, *server, testing::paper_key(), rng_);
  }
}

TEST_F(Protocol, DefaultKeysWork) {
  const TestDatabase db(3, 1, 1, true, engine_);
  const auto server = make_qr_server(db.database(), {}).value();
  EXPECT_EQ(Params::decode(server->parameters())->spec().modulus_bits, 3072u);
  const auto key = SecretKey::generate(3072, KeyPolicy::kSecure).value();
  fetch_all(db, *server, key, rng_);
  const auto longer = make_qr_server(db.database(), {.modulus_bits = 4096}).value();
  expect_error(Client::create(Params::decode(longer->parameters()).value(), key), ErrorCode::kInvalidArgument,
               "of 4096 bits");
}

TEST_F(Protocol, RepliesDependOnTheQueryAlone) {
  const auto reply = ask(*server_, request_).value();
  for (const char* kernel : {"gmp", "auto"}) {
    auto options = paper_options(0, kernel);
    for (options.threads = 1; options.threads <= 3; ++options.threads) {
      EXPECT_EQ(ask(*make_qr_server(db_.database(), options).value(), request_).value(), reply);
    }
  }
}

TEST_F(Protocol, BadRequestFailsAlone) {
  const Bytes bad = with_number(1, 0);
  const ByteSpan batch[] = {request_, bad, request_};
  const auto replies = server_->answer(batch);
  EXPECT_EQ(replies[0].value(), replies[2].value());
  expect_error(replies[1], ErrorCode::kInvalidArgument, "zero");
}

TEST_F(Protocol, TheServerRefusesNumbers) {
  const auto& key = testing::paper_key();
  const mpz_class n = dj::number_from_bytes(key.public_key().modulus()),
                  p = dj::number_from_bytes(key.expose_p());
  const auto last = client_.params().rows();
  expect_error(ask(*server_, with_number(1, 0)), ErrorCode::kInvalidArgument, "zero or not below N");
  expect_error(ask(*server_, with_number(last, n)), ErrorCode::kInvalidArgument, "zero or not below N");
  expect_error(ask(*server_, with_number(last, 3 * p)), ErrorCode::kInvalidArgument, "factor in common");
  mpz_class odd_one = 2;
  while (mpz_jacobi(odd_one.get_mpz_t(), n.get_mpz_t()) != -1) ++odd_one;
  expect_error(ask(*server_, with_number(2, odd_one)), ErrorCode::kInvalidArgument, "Jacobi");
  expect_error(ask(*server_, with_number(0, n + 1)), ErrorCode::kInvalidArgument, "even");
  expect_error(ask(*server_, with_number(0, n >> 8)), ErrorCode::kInvalidArgument, "exactly 1024 bits");
  expect_error(ask(*server_, with_number(0, (mpz_class(1) << 1023) + 3)), ErrorCode::kInvalidArgument, "");
}

TEST_F(Protocol, MessagesOfOtherKindsAreRefused) {
  const auto refused = [&](const Bytes& request, ErrorCode code, const char* why) {
    const auto admitted = server_->admit(request);
    expect_error(admitted, code);
    expect_error(ask(*server_, request), code, why);
  };
  const auto changed = [&](std::size_t at, unsigned value) {
    Bytes request = request_;
    request[at] = static_cast<std::byte>(value);
    return request;
  };
  refused({}, ErrorCode::kDataLoss, "");
  refused(changed(0, 'Q'), ErrorCode::kDataLoss, "does not begin with PIRX");
  refused(changed(4, 2), ErrorCode::kInvalidArgument, "message format 2");
  refused(changed(6, 2), ErrorCode::kDataLoss, "type 2 where type 1");
  refused(changed(7, 3), ErrorCode::kInvalidArgument, "protocol number 3 instead of 4");
  refused(changed(8, std::to_integer<unsigned>(request_[8]) ^ 1), ErrorCode::kStaleEpoch,
          "fetch the server's");
  Bytes longer = request_, shorter = request_;
  longer.emplace_back();
  shorter.pop_back();
  refused(longer, ErrorCode::kDataLoss, "bytes, not");
  refused(shorter, ErrorCode::kDataLoss, "bytes, not");
  const TestDatabase other(30, 3, 4, false, engine_);
  expect_error(ask(*make_qr_server(other.database(), paper_options()).value(), request_),
               ErrorCode::kStaleEpoch, "another version of the database");
}

TEST_F(Protocol, TheClientRefusesReplies) {
  const auto refused = [&](const Bytes& reply, ErrorCode code) {
    const auto row = client_.decode(reply, 1);
    expect_error(row, code);
  };
  const auto reply = ask(*server_, request_).value();
  const auto with = [&](std::size_t i, const mpz_class& value) {
    Bytes changed = reply;
    dj::number_to_bytes(value, std::span(changed).subspan(kHeaderBytes + i * kNumber, kNumber));
    return changed;
  };
  const auto& key = testing::paper_key();
  const mpz_class n = dj::number_from_bytes(key.public_key().modulus());
  refused(with(0, 0), ErrorCode::kUndecodable);
  refused(with(3, n), ErrorCode::kUndecodable);
  refused(with(3, n + 1), ErrorCode::kUndecodable);
  refused(with(8 * client_.params().row_bytes() - 1, dj::number_from_bytes(key.expose_p())),
          ErrorCode::kUndecodable);
  refused(request_, ErrorCode::kDataLoss);
  refused(Bytes(reply.begin(), reply.end() - 1), ErrorCode::kDataLoss);
  Bytes stale = reply;
  stale[20] ^= std::byte{1};
  refused(stale, ErrorCode::kStaleEpoch);
}

TEST_F(Protocol, ArgumentsAreRefused) {
  const auto& params = client_.params();
  EXPECT_EQ(client_.query(params.rows(), rng_).error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(params.locate(30).error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(params.locate(30).error().message().find("31"), std::string::npos);
  const auto secure = make_qr_server(db_.database(), {}).value();
  EXPECT_EQ(Client::create(Params::decode(secure->parameters()).value(), testing::paper_key()).error().code(),
            ErrorCode::kInvalidArgument);
  for (const ServerOptions& options :
       {ServerOptions{.modulus_bits = 1024}, ServerOptions{.modulus_bits = 2048, .policy = kPaper},
        ServerOptions{.slots = 31}, ServerOptions{.kernel = "sse"}}) {
    EXPECT_EQ(make_qr_server(db_.database(), options).error().code(), ErrorCode::kInvalidArgument);
  }
  auto spec = params.spec();
  spec.geometry = database::Geometry::create({std::uint64_t{1} << 40, 1 << 10, 1, false, false}).value();
  EXPECT_EQ(Params::create(spec).error().code(), ErrorCode::kInvalidArgument);
  spec.geometry = database::Geometry::create({std::uint64_t{1} << 10, 1 << 30, 1, false, false}).value();
  EXPECT_EQ(Params::create(spec).error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(Protocol, KeyedDatabasesAreRefused) {
  auto spec = client_.params().spec();
  auto geometry = spec.geometry.spec();
  geometry.filter = database::FilterSpec{.segment_length = 16, .segments = 1};
  geometry.records_per_row = 1;
  const auto keyed = database::Geometry::create(geometry);
  ASSERT_TRUE(keyed) << keyed.error().message();
  spec.geometry = *keyed;
  const auto params = Params::create(spec);
  ASSERT_FALSE(params);
  EXPECT_NE(params.error().message().find("keyed"), std::string::npos);
}

TEST_F(Protocol, ParametersRoundTripAndSurviveFuzzing) {
  const auto bytes = server_->parameters();
  EXPECT_EQ(Params::decode(bytes)->digest(), client_.params().digest());
  EXPECT_EQ(Params::decode(bytes)->encode(), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(Params::decode(ByteSpan(bytes).first(size)));
  for (int round = 0; round < 20000; ++round) {
    Bytes changed = bytes;
    for (std::uint64_t i = 0; i <= engine_() % 4; ++i)
      changed[engine_() % changed.size()] = static_cast<std::byte>(engine_());
    const auto params = Params::decode(changed);
    if (!params) continue;
    EXPECT_EQ(params->encode(), changed);
    EXPECT_LE(std::max(params->request_bytes(), params->reply_bytes()), kMaxMessageBytes);
  }
}

TEST_F(Protocol, FuzzedMessagesNeverSucceedSilently) {
  const auto reply = ask(*server_, request_).value();
  const auto row = client_.decode(reply, 1).value();
  for (int round = 0; round < 60; ++round) {
    Bytes request = request_, answered = reply;
    request[engine_() % request.size()] ^= static_cast<std::byte>(1 + engine_() % 255);
    answered[engine_() % answered.size()] ^= static_cast<std::byte>(1 + engine_() % 255);
    if (const auto got = ask(*server_, request)) {
      EXPECT_EQ(got->size(), client_.params().reply_bytes());
    }
    if (const auto got = client_.decode(answered, 1)) {
      EXPECT_EQ(got->size(), row.size());
    }
  }
}

TEST_F(Protocol, SizesForTheTransport) {
  EXPECT_EQ(server_->protocol(), ProtocolId::kQuadraticResiduosity);
  EXPECT_EQ(server_->max_request_bytes(), request_.size());
  EXPECT_EQ(server_->max_queries(), 1u);
  EXPECT_GT(server_->working_bytes(1), client_.params().reply_bytes());
  EXPECT_EQ(server_->max_reply_bytes(1), client_.params().reply_bytes());
  EXPECT_EQ(server_->working_bytes(SIZE_MAX), SIZE_MAX);
  // Balanced: 30 slots of 23 bytes.
  EXPECT_EQ(client_.params().slots(), 1u);
  EXPECT_EQ(client_.params().rows(), 30u);
}

TEST_F(Protocol, OpensThroughTheTable) {
  std::string noted;
  ServerSpec spec;
  spec.loopback = true;
  spec.note = [&](const std::string& line) { noted += line; };
  const auto open = [&](const Texts& options) {
    return pirx::testing::serve_file("qr", db_.path(), options, spec);
  };
  const auto server = open({{"paper_reproduction", "on"}, {"slots", "5"}, {"kernel", "gmp"}}).value();
  EXPECT_NE(noted.find("1024 bits can be broken"), std::string::npos);
  EXPECT_EQ(Params::decode(server->parameters())->slots(), 5u);
  const auto refused = [&](const Texts& options, const char* why) {
    const auto opened = open(options);
    expect_error(opened, ErrorCode::kInvalidArgument, why);
  };
  refused({{"window", "3"}}, "no option 'window'");
  refused({{"slots", "3x"}}, "no whole number");
  refused({{"modulus", "1024"}}, "can be broken");
  refused({{"modulus", "99999999999"}}, "no whole number from 1024 to 4096");
  refused({{"modulus", "2048"}, {"paper_reproduction", "on"}}, "leave --modulus away");
}

}  // namespace
}  // namespace pirx::cpir::qr
