// SPDX-License-Identifier: Apache-2.0
// Hostile messages for both number-theoretic protocols: every decoder gives a typed error or something valid,
// and nothing crashes. PIRX_FUZZ_SECONDS=N lets each test go on for so long instead of a few rounds.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "dj_support.h"
#include "pirx/cpir/dj/client.h"
#include "pirx/cpir/dj/server.h"
#include "pirx/cpir/qr/client.h"
#include "pirx/cpir/qr/server.h"
#include "qr_support.h"
#include "support/seed.h"
#include "support/serve.h"

namespace pirx::cpir {
namespace {

using Clock = std::chrono::steady_clock;
using qr::testing::TestDatabase;

/// Runs f that often, or for PIRX_FUZZ_SECONDS.
template <class F>
void repeat(int rounds, const F& f) {
  const char* seconds = std::getenv("PIRX_FUZZ_SECONDS");
  const auto end = Clock::now() + std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 0);
  for (long round = 0; seconds != nullptr ? Clock::now() < end : round < rounds; ++round) {
    f();
    if (::testing::Test::HasFatalFailure()) return;
  }
}

/// Flips bits, cuts, extends, writes extreme numbers or splices; half of the time behind the header alone.
Bytes mutate(Bytes bytes, const Bytes& other, std::mt19937_64& engine) {
  constexpr std::size_t kHeader = 40;
  const auto position = [&](std::size_t size) {
    return engine() % 2 == 0 && size > kHeader ? kHeader + engine() % (size - kHeader) : engine() % size;
  };
  for (auto changes = 1 + engine() % 3; changes > 0; --changes) {
    const auto kind = engine() % 7;
    if (kind == 0) {
      for (auto n = 1 + engine() % 40; n > 0; --n) bytes.push_back(static_cast<std::byte>(engine()));
    }
    if (bytes.empty()) continue;
    const auto at = position(bytes.size());
    const auto length = std::min<std::size_t>(bytes.size() - at, 1 + engine() % 40);
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    if (kind == 1) bytes.resize(at);
    if (kind == 2 || kind == 3) *from ^= static_cast<std::byte>(1u << engine() % 8);
    if (kind == 4) std::fill_n(from, length, engine() % 2 == 0 ? std::byte{0xFF} : std::byte{0});
    if (kind == 5) std::generate_n(from, length, [&] { return static_cast<std::byte>(engine()); });
    if (kind == 6 && at + length <= other.size()) {
      std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(at), length, from);
    }
  }
  return bytes;
}

template <class T>
void expect_code(const Result<T>& result, std::initializer_list<ErrorCode> codes) {
  if (result) return;
  ASSERT_NE(std::find(codes.begin(), codes.end(), result.error().code()), codes.end())
      << result.error().to_string();
}
constexpr auto kLoss = ErrorCode::kDataLoss, kInvalid = ErrorCode::kInvalidArgument,
               kStale = ErrorCode::kStaleEpoch, kUndecodable = ErrorCode::kUndecodable;

/// What is common to the two protocols; made by the tests below.
template <class Params, class Client>
struct Halves {
  std::unique_ptr<AnyServer> server;
  Client client;
  std::uint64_t row_bytes;

  void fuzz_parameters(int rounds, const Bytes& other) const {
    auto engine = pirx::testing::seeded_engine();
    const Bytes good = server->parameters();
    repeat(rounds, [&] {
      const auto bytes = mutate(good, other, engine);
      const auto params = Params::decode(bytes);
      expect_code(params, {kLoss, kInvalid});
      ASSERT_TRUE(!params || params->encode() == bytes);
    });
  }
  void fuzz_queries(int rounds) const {
    auto engine = pirx::testing::seeded_engine();
    auto rng = Rng::from_os().value();
    const auto good = client.query(1, rng).value(), other = client.query(0, rng).value();
    int refused = 0;
    repeat(rounds, [&] {
      const auto bytes = mutate(good, other, engine);
      const ByteSpan batch[] = {bytes, good};
      const auto admitted = server->admit(bytes);
      const auto replies = server->answer(std::span(batch).first(engine() % 8 == 0 ? 2 : 1));
      expect_code(admitted, {kLoss, kInvalid, kStale});
      expect_code(replies[0], {kLoss, kInvalid, kStale});
      ASSERT_TRUE(!replies[0] || (admitted && replies[0]->size() == client.params().reply_bytes()));
      ASSERT_TRUE(replies.back() || replies.size() == 1) << "a neighbour must not suffer";
      refused += !replies[0].has_value();
    });
    EXPECT_GT(refused, 0);
  }
  void fuzz_replies(int rounds) const {
    auto engine = pirx::testing::seeded_engine();
    auto rng = Rng::from_os().value();
    const auto answer = [&](std::uint64_t row) {
      const auto request = client.query(row, rng).value();
      const ByteSpan view = request;
      return server->answer({&view, 1}).at(0).value();
    };
    const auto good = answer(1), other = answer(0);
    int refused = 0;
    repeat(rounds, [&] {
      const auto row = client.decode(mutate(good, other, engine));
      expect_code(row, {kLoss, kInvalid, kStale, kUndecodable});
      ASSERT_TRUE(!row || row->size() == row_bytes);
      refused += !row.has_value();
    });
    EXPECT_GT(refused, 0);
  }
};

class Fuzz : public ::testing::Test {
 protected:
  Fuzz() : engine_(pirx::testing::seeded_engine(1)), db_(20, 5, 2, false, engine_) {}

  Halves<dj::Params, dj::Client> tree(dj::Selectors selectors = dj::Selectors::kOneHot) const {
    dj::ServerOptions options;
    options.arities = {4, 4};
    options.selectors = selectors;
    options.modulus_bits = 128;
    options.policy = dj::KeyPolicy::kToy;
    options.threads = 1;
    auto server = dj::make_dj_server(db_.database(), options).value();
    auto params = dj::Params::decode(server->parameters()).value();
    const auto row_bytes = params.geometry().row_bytes();
    return {std::move(server),
            dj::Client::create(std::move(params), dj::testing::KnownKey("128").secret()).value(), row_bytes};
  }
  Halves<qr::Params, qr::Client> residues() const {
    auto server =
        qr::make_qr_server(
            db_.database(),
            {.slots = 1, .modulus_bits = 1024, .policy = qr::KeyPolicy::kPaperReproduction, .threads = 1})
            .value();
    auto params = qr::Params::decode(server->parameters()).value();
    const auto row_bytes = params.row_bytes();
    return {std::move(server), qr::Client::create(std::move(params), qr::testing::paper_key()).value(),
            row_bytes};
  }

  std::mt19937_64 engine_;
  TestDatabase db_;
};

TEST_F(Fuzz, TreeParameters) { tree().fuzz_parameters(20'000, residues().server->parameters()); }
TEST_F(Fuzz, TreeQueries) { tree().fuzz_queries(400); }
TEST_F(Fuzz, PolynomialQueries) { tree(dj::Selectors::kPolynomial).fuzz_queries(300); }
TEST_F(Fuzz, TreeReplies) { tree().fuzz_replies(200); }
TEST_F(Fuzz, ResiduesParameters) { residues().fuzz_parameters(20'000, tree().server->parameters()); }
TEST_F(Fuzz, ResiduesQueries) { residues().fuzz_queries(200); }
TEST_F(Fuzz, ResiduesReplies) { residues().fuzz_replies(30); }

TEST_F(Fuzz, Keys) {
  const Bytes good(qr::testing::paper_key().public_key().modulus().begin(),
                   qr::testing::paper_key().public_key().modulus().end());
  repeat(200, [&] {
    const auto bytes = mutate(good, good, engine_);
    const auto bits = engine_() % 3 == 0 ? static_cast<unsigned>(engine_() % 5000) : 1024;
    const auto policy = static_cast<dj::KeyPolicy>(engine_() % 3);
    expect_code(dj::PublicKey::create(bytes, bits, policy), {kInvalid});
    expect_code(qr::make_public_key(bytes, bits, policy), {kInvalid});
    const auto half = bytes.size() / 2;
    expect_code(
        dj::SecretKey::from_primes(ByteSpan(bytes).first(half), ByteSpan(bytes).subspan(half), policy),
        {kInvalid});
  });
}

TEST_F(Fuzz, OptionsOfServers) {
  const char* names[] = {"arity", "modulus", "paper_reproduction", "tables", "kernel", "slots", "", "field"};
  const char* values[] = {"8", "32,16", "1024", "2048", "gmp", "", "-1", "8,", ",", "99999999999999999999",
                          "0"};
  repeat(2'000, [&] {
    Texts options;
    for (auto n = engine_() % 3; n > 0; --n) {
      std::string value = values[engine_() % std::size(values)];
      if (engine_() % 2 == 0) value += static_cast<char>(engine_());
      options[names[engine_() % std::size(names)]] = value;
    }
    for (const char* protocol : {"dj-tree", "qr"}) {
      const auto server =
          pirx::testing::serve_file(protocol, db_.path(), options, {.database = {}, .loopback = true});
      expect_code(server, {kInvalid});
    }
  });
}

}  // namespace
}  // namespace pirx::cpir
