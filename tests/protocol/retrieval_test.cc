// SPDX-License-Identifier: Apache-2.0
// Retrievals of every protocol of the table, driven in memory: every order of arrival, loss and lie.
#include "pirx/protocol/retrieval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "pirx/database/builder.h"
#include "pirx/itpir/common.h"
#include "pirx/protocol.h"
#include "support/files.h"
#include "support/serve.h"

namespace pirx {
namespace {

using testing::expect_error;
using testing::good;

constexpr std::uint64_t kRecords = 40;

Bytes record(std::uint64_t i) { return testing::to_bytes("record " + std::to_string(i * i)); }
std::string key(std::uint64_t i) { return "key" + std::to_string(i); }

/// What a server does with a message.
enum class Mood { kTrue, kLies, kSilent, kMoved, kWantsToken };

/// The servers of a protocol over one database, and a client of theirs.
class World {
 public:
  World(const Protocol& protocol, bool keyed, unsigned servers, Texts options = {}) : keyed_(keyed) {
    auto builder = *database::DatabaseBuilder::create(folder_ / "db", {.digests = true, .keyed = keyed});
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      EXPECT_TRUE(good(keyed ? builder.add(key(i), record(i)) : builder.add(record(i))));
    }
    EXPECT_TRUE(good(builder.finish()));
    const bool weak = find_option(protocol.options, "paper_reproduction") != nullptr;
    if (weak) options["paper_reproduction"] = "on";  // a second faster
    auto deployed =
        testing::deploy(protocol, *database::Database::open(folder_ / "db"), servers, std::move(options));
    EXPECT_TRUE(good(deployed));
    if (!deployed) return;
    servers_ = std::move(deployed->servers);
    plan_ = std::move(deployed->plan);
    auto client = join(*plan_, {.loopback = true}, weak ? Texts{{"paper_reproduction", "on"}} : Texts());
    EXPECT_TRUE(good(client));
    client_ = std::move(*client);
  }

  const Plan& plan() const { return *plan_; }
  unsigned servers() const { return static_cast<unsigned>(servers_.size()); }
  /// Of records by these numbers, which need not exist.
  Result<std::unique_ptr<Retrieval>> begin(const std::vector<std::uint64_t>& wanted,
                                           const RetrieveOptions& options = {}) const {
    auto rng = *Rng::from_os();
    if (!keyed_) return client_->retrieve(wanted, options, std::move(rng));
    std::vector<std::string> keys;
    for (const auto i : wanted) keys.push_back(key(i));
    return client_->retrieve(keys, options, std::move(rng));
  }
  Bytes reply(const Message& message, Mood mood = Mood::kTrue) const {
    const ByteSpan request = message.bytes;
    auto replies = servers_[message.server]->answer({&request, 1});
    EXPECT_TRUE(good(replies.front()));
    auto reply = std::move(*replies.front());
    if (mood == Mood::kLies) reply.back() ^= std::byte{1};
    return reply;
  }
  /// Drives it to its end. Replies come in this order of the servers; `lengths` gets those of the messages.
  Result<Answer> drive(Retrieval& retrieval, const std::vector<unsigned>& order,
                       const std::vector<Mood>& moods, std::vector<std::size_t>* lengths = nullptr) const {
    for (;;) {
      PIRX_ASSIGN(auto wave, retrieval.outgoing());
      if (wave.empty()) return std::move(retrieval).finish();
      for (const auto& message : wave) {
        if (lengths != nullptr) lengths->push_back(message.bytes.size());
      }
      for (const auto server : order) {
        if (!retrieval.waiting()) break;
        const auto at = std::find_if(wave.begin(), wave.end(),
                                     [&](const auto& message) { return message.server == server; });
        if (at == wave.end()) continue;
        if (moods[server] >= Mood::kSilent) {
          const auto code = moods[server] == Mood::kSilent  ? ErrorCode::kUnavailable
                            : moods[server] == Mood::kMoved ? ErrorCode::kStaleEpoch
                                                            : ErrorCode::kUnauthenticated;
          EXPECT_TRUE(good(retrieval.lost(at->id, Error(code, "no reply"))));
        } else {
          static_cast<void>(retrieval.receive(at->id, reply(*at, moods[server])));
        }
      }
      EXPECT_FALSE(retrieval.waiting());
    }
  }
  Result<Answer> drive(Retrieval& retrieval) const {
    std::vector<unsigned> order(servers());
    std::iota(order.begin(), order.end(), 0u);
    return drive(retrieval, order, std::vector<Mood>(servers(), Mood::kTrue));
  }

 private:
  testing::TemporaryFolder folder_;
  const bool keyed_;
  std::vector<std::unique_ptr<AnyServer>> servers_;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<AnyClient> client_;
};

/// Calls `test` with the worlds of every protocol: plain and, where the protocol can, keyed.
template <class Test>
void for_every_protocol(const Test& test, bool one_server_too = true) {
  for (const auto* protocol : protocols()) {
    if (!protocol->several && !one_server_too) continue;
    for (const bool keyed : {false, true}) {
      if (keyed && protocol->id == ProtocolId::kQuadraticResiduosity) continue;
      SCOPED_TRACE(std::string(protocol->name) + (keyed ? ", keyed" : ""));
      test(World(*protocol, keyed, protocol->several ? std::min(4u, protocol->most_servers) : 1), *protocol,
           keyed);
    }
  }
}

TEST(Retrieval, FindsRecords) {
  for_every_protocol([](const World& world, const Protocol&, bool keyed) {
    for (const std::vector<std::uint64_t>& wanted : {std::vector<std::uint64_t>{0}, {kRecords - 1, 7, 7}}) {
      auto retrieval = world.begin(wanted);
      ASSERT_TRUE(good(retrieval));
      const auto answer = world.drive(**retrieval);
      ASSERT_TRUE(good(answer));
      for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(answer->records[i], record(wanted[i]));
      EXPECT_TRUE(answer->missing.empty());
    }
    auto retrieval = world.begin({3, kRecords});
    ASSERT_TRUE(good(retrieval));
    const auto answer = world.drive(**retrieval);
    if (keyed) {
      ASSERT_TRUE(good(answer));
      EXPECT_EQ(answer->missing, std::vector<std::size_t>{1});
      EXPECT_EQ(answer->records[0], record(3));
    } else {
      expect_error(answer, ErrorCode::kOutOfRange, "40 records");
    }
  });
}

TEST(Retrieval, SendsTheSameWhateverIsWanted) {
  for_every_protocol([](const World& world, const Protocol&, bool) {
    std::vector<std::size_t> expected;
    for (const std::vector<std::uint64_t>& wanted :
         {std::vector<std::uint64_t>{5, 6}, {0, 0}, {kRecords, 3}, {~std::uint64_t{0}, kRecords - 1}}) {
      // Keys that the server of a protocol lacks are sent once.
      for (int again = 0; again < (expected.empty() ? 2 : 1); ++again) {
        auto retrieval = world.begin(wanted);
        ASSERT_TRUE(good(retrieval));
        std::vector<std::size_t> lengths;
        std::vector<unsigned> order(world.servers());
        std::iota(order.begin(), order.end(), 0u);
        static_cast<void>(
            world.drive(**retrieval, order, std::vector<Mood>(world.servers(), Mood::kTrue), &lengths));
        if (expected.empty() && again == 1) expected = lengths;
        if (!expected.empty()) {
          EXPECT_EQ(lengths, expected);
        }
      }
    }
  });
}

// Wishes for which a subset code has no plan: rows of the same set, by the order of rows.
TEST(Retrieval, SendsTheSameWhereACodeHasNoPlan) {
  const World world(**find_protocol("goldberg"), false, 3, {{"code", "subset:6,4"}});
  for (const std::uint64_t records : {16, 50}) {  // one batch, and several
    std::set<std::vector<std::size_t>> sent;
    unsigned refused = 0;
    for (std::uint64_t round = 0; round < 10; ++round) {
      std::vector<std::uint64_t> wanted;
      for (std::uint64_t k = 0; k < records; ++k)
        wanted.push_back(round % 2 == 0 ? (k + round) % kRecords : k * k % 3 * 7);
      auto retrieval = world.begin(wanted);
      ASSERT_TRUE(good(retrieval));
      std::vector<std::size_t> lengths;
      const auto answer =
          world.drive(**retrieval, {0, 1, 2}, std::vector<Mood>(world.servers(), Mood::kTrue), &lengths);
      sent.insert(lengths);
      if (!answer) {
        expect_error(answer, ErrorCode::kInvalidArgument, "no way was found");
        ++refused;
        continue;
      }
      for (std::size_t k = 0; k < wanted.size(); ++k) EXPECT_EQ(answer->records[k], record(wanted[k]));
    }
    EXPECT_GT(refused, 0u);
    EXPECT_LT(refused, 10u);
    EXPECT_EQ(sent.size(), 1u);
  }
}

// Four servers (or two), every order in which their replies come, and every way in which they answer, lie or
// are lost.
TEST(Retrieval, HoldsInEveryOrderOfArrivalLossAndLie) {
  for_every_protocol(
      [](const World& world, const Protocol& protocol, bool) {
        const bool corrects = protocol.id == ProtocolId::kGoldberg;
        unsigned found = 0;
        const unsigned servers = world.servers();
        for (unsigned kinds = 0; kinds < (servers == 4 ? 81u : 9u); ++kinds) {
          std::vector<Mood> moods;
          for (unsigned rest = kinds, i = 0; i < servers; ++i, rest /= 3)
            moods.push_back(static_cast<Mood>(rest % 3));
          const auto lies = std::count(moods.begin(), moods.end(), Mood::kLies);
          const auto losses = std::count(moods.begin(), moods.end(), Mood::kSilent);
          std::vector<unsigned> order(servers);
          std::iota(order.begin(), order.end(), 0u);
          do {
            for (const bool wait_for_all : {false, true}) {
              auto retrieval = world.begin({11, 4}, {.wait_for_all = wait_for_all});
              ASSERT_TRUE(good(retrieval));
              const auto answer = world.drive(**retrieval, order, moods);
              // One liar among four, or none among two: what the other replies prove.
              if (corrects && ((lies <= 1 && losses == 0) || (lies == 0 && losses <= 2))) {
                ASSERT_TRUE(good(answer)) << kinds;
              }
              if (!corrects && losses > 0) {
                ASSERT_FALSE(answer) << kinds;
              }
              if (!answer) continue;
              ++found;
              // A lie flips the same bit in every reply: three liars agree with one another, beyond the
              // bound.
              if (lies > answer->proof_bound && answer->certainty == Certainty::kProven) continue;
              // Of just enough replies nothing is claimed.
              if (answer->certainty == Certainty::kUnverified) continue;
              EXPECT_EQ(answer->records[0], record(11)) << kinds;
              EXPECT_EQ(answer->records[1], record(4)) << kinds;
              for (unsigned i = 0; i < servers; ++i) {
                if (answer->servers[i] == ServerStatus::kLied) {
                  EXPECT_EQ(moods[i], Mood::kLies);
                }
              }
            }
          } while (std::next_permutation(order.begin(), order.end()));
        }
        EXPECT_GT(found, 0u);
      },
      /*one_server_too=*/false);
}

// Ended at each of the places where decoding asks whether to stop. Servers see as many rounds as if nobody
// had been told apart.
TEST(Retrieval, DecodingEndsWhenItIsToStop) {
  const World world(**find_protocol("goldberg"), false, 4);
  std::vector<unsigned> order{0, 1, 2, 3};
  const std::vector<Mood> moods{Mood::kTrue, Mood::kLies, Mood::kTrue, Mood::kTrue};
  int asked = 0, last = 0;
  for (;; ++last) {
    asked = 0;
    const auto stop = [&] { return ++asked > last; };
    auto retrieval = world.begin({11, 4}, {.liars = 1, .rounds = 3, .wait_for_all = true, .stop = stop});
    ASSERT_TRUE(good(retrieval));
    std::vector<std::size_t> lengths;
    const auto answer = world.drive(**retrieval, order, moods, &lengths);
    if (last == 0) {
      EXPECT_EQ(lengths.size(), 12u) << "three rounds";
    }
    EXPECT_TRUE(lengths.size() == 4 || (lengths.size() == 12 && !answer)) << lengths.size();
    if (answer) {
      EXPECT_EQ(answer->certainty, Certainty::kProven);
      EXPECT_EQ(answer->records[0], record(11));
      break;
    }
    expect_error(answer, ErrorCode::kUndecodable, "not decoded in time");
  }
  EXPECT_GE(last, 9);
  EXPECT_LE(asked, last);
}

// Four servers, of which some are silent: the first two that answer are found, and every message has new
// keys.
TEST(Retrieval, DpfAsksAnyTwoServersWithNewKeys) {
  for (const bool keyed : {false, true}) {
    const World world(*find_protocol("dpf").value(), keyed, 4);
    for (unsigned silent = 0; silent < 16; ++silent) {
      SCOPED_TRACE(silent);
      const auto is_silent = [&](std::size_t server) { return (silent >> server & 1) != 0; };
      auto retrieval = *world.begin({11, 4});
      std::vector<bool> lost(4);
      std::vector<Bytes> seeds;
      for (auto wave = retrieval->outgoing(); !wave->empty(); wave = retrieval->outgoing()) {
        ASSERT_EQ(wave->size(), 2u);
        EXPECT_NE(wave->at(0).server, wave->at(1).server);
        for (const auto& message : *wave) {
          EXPECT_FALSE(lost[message.server]) << "it did not answer before";
          const auto seed = message.bytes.begin() + itpir::MessageHeader::kBytes + 1;
          seeds.emplace_back(seed, seed + 16);
        }
        for (const auto& message : *wave) {
          if (!retrieval->waiting()) break;
          if (is_silent(message.server)) {
            lost[message.server] = true;
            ASSERT_TRUE(good(retrieval->lost(message.id, Error(ErrorCode::kUnavailable, "silent"))));
          } else {
            ASSERT_TRUE(good(retrieval->receive(message.id, world.reply(message))));
          }
        }
      }
      std::sort(seeds.begin(), seeds.end());
      EXPECT_EQ(std::adjacent_find(seeds.begin(), seeds.end()), seeds.end()) << "a key was sent twice";
      const auto answer = std::move(*retrieval).finish();
      std::vector<unsigned> up;
      for (unsigned i = 0; i < 4; ++i) {
        if (!is_silent(i)) up.push_back(i);
      }
      if (up.size() < 2) {
        expect_error(answer, ErrorCode::kUndecodable, "dpf needs two of them");
        continue;
      }
      ASSERT_TRUE(good(answer));
      EXPECT_EQ(answer->records[0], record(11));
      EXPECT_EQ(answer->records[1], record(4));
      EXPECT_EQ(seeds.size(), 2 * (1 + static_cast<std::size_t>(std::count(lost.begin(), lost.end(), true))));
      for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(answer->servers[i] == ServerStatus::kOk, i == up[0] || i == up[1]) << "server " << i;
      }
    }
    // A lie is noticed, and nobody else is asked: servers would see it.
    auto retrieval = *world.begin({11, 4});
    std::vector<std::size_t> lengths;
    const auto answer =
        world.drive(*retrieval, {0, 1, 2, 3}, {Mood::kTrue, Mood::kLies, Mood::kTrue, Mood::kTrue}, &lengths);
    if (keyed) {
      ASSERT_TRUE(good(answer));  // a slot with a wrong digest is that of no key
      EXPECT_EQ(answer->missing.size(), 1u);
      EXPECT_EQ(answer->certainty, Certainty::kUnverified);
    } else {
      expect_error(answer, ErrorCode::kDataLoss, "dpf cannot tell which one");
    }
    EXPECT_EQ(lengths.size(), 2u);
  }
}

// The error says why all servers were lost, not only the last two, in whatever order they were.
TEST(Retrieval, DpfSaysWhyTooFewOfAllServersReplied) {
  const World world(*find_protocol("dpf").value(), false, 3);
  constexpr auto kTrue = Mood::kTrue, kSilent = Mood::kSilent, kMoved = Mood::kMoved,
                 kToken = Mood::kWantsToken;
  const struct {
    std::vector<Mood> moods;
    ErrorCode code;
    std::string_view part;
  } cases[] = {
      {{kMoved, kMoved, kSilent}, ErrorCode::kStaleEpoch, "with another database version): take the"},
      {{kSilent, kMoved, kMoved}, ErrorCode::kStaleEpoch, "pirx deploy --refresh"},
      {{kTrue, kMoved, kSilent}, ErrorCode::kStaleEpoch, "of 3 servers, dpf needs two of them ("},
      {{kMoved, kMoved, kMoved}, ErrorCode::kStaleEpoch, "2 with another database version"},
      {{kToken, kToken, kToken}, ErrorCode::kUnauthenticated, "and 2 are not trusted"},
      {{kTrue, kToken, kSilent}, ErrorCode::kUnauthenticated, "of 3 servers, at least 2 are needed, and 1 "},
      {{kSilent, kTrue, kSilent}, ErrorCode::kUndecodable, "ask again when more servers answer"},
  };
  for (const auto& one : cases) {
    for (const std::vector<unsigned>& order : {std::vector<unsigned>{0, 1, 2}, {2, 1, 0}}) {
      SCOPED_TRACE(std::string(one.part) + (order[0] == 0 ? "" : ", the last first"));
      auto retrieval = *world.begin({11});
      expect_error(world.drive(*retrieval, order, one.moods), one.code, one.part);
    }
  }
}

TEST(Retrieval, OneServerThatLiesOrIsLostIsNoticed) {
  for_every_protocol([](const World& world, const Protocol& protocol, bool keyed) {
    if (protocol.several) return;
    std::size_t waves = 0;
    {
      auto retrieval = *world.begin({2, 9});
      ASSERT_TRUE(good(world.drive(*retrieval)));
      retrieval = *world.begin({2, 9});
      for (auto wave = retrieval->outgoing(); !wave->empty(); wave = retrieval->outgoing()) {
        ++waves;
        EXPECT_TRUE(good(retrieval->receive(wave->front().id, world.reply(wave->front()))));
      }
    }
    // What a server says makes no record missing, and is no mistake of the caller.
    const std::pair<ErrorCode, ErrorCode> kSaid[] = {
        {ErrorCode::kOutOfRange, ErrorCode::kUnavailable},
        {ErrorCode::kInvalidArgument, ErrorCode::kDataLoss},
        {ErrorCode::kResourceExhausted, ErrorCode::kResourceExhausted}};
    for (std::size_t bad = 0; bad < waves; ++bad) {
      const auto& [said, told] = kSaid[bad % std::size(kSaid)];
      for (const Mood mood : {Mood::kLies, Mood::kSilent}) {
        auto retrieval = *world.begin({2, 9});
        for (std::size_t i = 0;; ++i) {
          auto wave = retrieval->outgoing();
          ASSERT_TRUE(good(wave));
          if (wave->empty()) break;
          const auto& message = wave->front();
          if (i == bad && mood == Mood::kSilent) {
            EXPECT_TRUE(good(retrieval->lost(message.id, Error(said, "silent"))));
          } else {
            static_cast<void>(
                retrieval->receive(message.id, world.reply(message, i == bad ? mood : Mood::kTrue)));
          }
        }
        const auto answer = std::move(*retrieval).finish();
        if (mood == Mood::kSilent) {
          expect_error(answer, told, "silent");
        } else if (answer) {
          // A damaged sum looks like a missing key, and what is not read may be damaged.
          EXPECT_TRUE(keyed || answer->records == (std::vector<Bytes>{record(2), record(9)}));
          EXPECT_NE(answer->certainty, Certainty::kProven);
        }
      }
    }
  });
}

/// The messages that a new client sends for two records, where a server damages its word about keys, or says
/// each time that it does not know them.
std::vector<MessageType> sent_to(const Protocol& protocol, bool damages, bool forgets, bool& answered) {
  const World world(protocol, false, 1);
  auto retrieval = *world.begin({2, 9});
  std::vector<MessageType> sent;
  std::optional<Bytes> unknown;
  for (auto wave = *retrieval->outgoing(); !wave.empty(); wave = *retrieval->outgoing()) {
    sent.push_back(static_cast<MessageType>(wave.front().bytes[6]));
    auto reply = world.reply(wave.front());
    if (reply[6] == static_cast<std::byte>(MessageType::kKeysUnknown)) unknown = reply;
    if (damages && reply[6] == static_cast<std::byte>(MessageType::kKeysHeld)) reply.back() ^= std::byte{1};
    if (forgets && unknown && sent.back() == MessageType::kQuery) reply = *unknown;
    static_cast<void>(retrieval->receive(wave.front().id, reply));
  }
  answered = std::move(*retrieval).finish().has_value();
  return sent;
}

TEST(Retrieval, AServersWordAboutKeysChangesNothingThatIsSentAfterThem) {
  const auto& protocol = **find_protocol("spiral");
  constexpr auto kQuery = MessageType::kQuery, kKeys = MessageType::kKeys;
  bool answered = false;
  const std::vector<MessageType> usual{kQuery, kKeys, kQuery, kQuery};
  EXPECT_EQ(sent_to(protocol, false, false, answered), usual);
  EXPECT_TRUE(answered);
  EXPECT_EQ(sent_to(protocol, true, false, answered), usual);
  EXPECT_FALSE(answered);
  // Who forgets them gets them twice.
  EXPECT_EQ(sent_to(protocol, false, true, answered),
            (std::vector<MessageType>{kQuery, kKeys, kQuery, kKeys, kQuery, kQuery}));
  EXPECT_FALSE(answered);
}

/// What is downloaded is proven by the identity alone: a server can write any digest into its headers.
TEST(Retrieval, ADownloadOfAnotherDatabaseIsRefused) {
  const auto& protocol = **find_protocol("download");
  const testing::TemporaryFolder folder;
  std::vector<testing::Deployed> deployed;
  std::vector<Digest> digests;
  for (const std::string name : {"a", "b"}) {
    auto builder = *database::DatabaseBuilder::create(folder / name, {.fixed_record_bytes = 8});
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(good(builder.add(Bytes(8, as_bytes(name)[0]))));
    EXPECT_TRUE(good(builder.finish()));
    deployed.push_back(*testing::deploy(protocol, *database::Database::open(folder / name), 1, {}));
    digests.push_back(tell(deployed.back().servers[0]->parameters())->digest);
  }
  const auto replace = [](Bytes& message, const Digest& from, const Digest& to) {
    const auto at = std::search(message.begin(), message.end(), from.begin(), from.end());
    ASSERT_NE(at, message.end());
    std::copy(to.begin(), to.end(), at);
  };
  for (const std::size_t server : {0u, 1u}) {
    const auto client = *join(*deployed[0].plan, {}, {});
    const std::vector<std::uint64_t> wanted{3};
    auto retrieval = *client->retrieve(wanted, {}, *Rng::from_os());
    for (auto wave = *retrieval->outgoing(); !wave.empty(); wave = *retrieval->outgoing()) {
      auto request = wave.front().bytes;
      replace(request, digests[0], digests[server]);
      const ByteSpan asked = request;
      auto reply = *deployed[server].servers[0]->answer({&asked, 1}).front();
      replace(reply, digests[server], digests[0]);
      EXPECT_TRUE(good(retrieval->receive(wave.front().id, reply)));
    }
    const auto answer = std::move(*retrieval).finish();
    if (server == 0) {
      EXPECT_TRUE(good(answer));
    } else {
      expect_error(answer, ErrorCode::kDataLoss, "do not give its identity");
    }
  }
}

// After a StaleEpoch a Fetcher asks again. If that depended on whether another reply can be decoded, a server
// that damages one row of its database and sends a foreign header afterwards would learn which row was asked.
/// Damages the rows of the first reply, and one byte of the headers of the others.
void expect_that_headers_decide(std::size_t byte_of_header, ErrorCode code) {
  for_every_protocol([&](const World& world, const Protocol& protocol, bool) {
    if (protocol.several || protocol.id == ProtocolId::kDownload) return;  // checks all before it decodes
    for (int damage = 0; damage < 8; ++damage) {
      auto retrieval = *world.begin({2, 9});
      auto wave = *retrieval->outgoing();
      for (bool first = true; !wave.empty(); wave = *retrieval->outgoing()) {
        auto reply = world.reply(wave.front());
        const bool is_reply = reply[6] == static_cast<std::byte>(MessageType::kReply);
        if (is_reply && first) {
          for (std::size_t i = 40; i < reply.size(); i += 1 + static_cast<std::size_t>(damage)) {
            reply[i] ^= std::byte{0xff};
          }
        } else if (is_reply) {
          reply[byte_of_header] ^= std::byte{1};
        }
        first = first && !is_reply;
        static_cast<void>(retrieval->receive(wave.front().id, reply));
      }
      expect_error(std::move(*retrieval).finish(), code, "");
    }
  });
}

TEST(Retrieval, AStaleReplyIsNotHiddenByAnotherThatIsDamaged) {
  expect_that_headers_decide(8, ErrorCode::kStaleEpoch);
}
TEST(Retrieval, AReplyOfAnotherFormatIsNotHiddenByAnotherThatIsDamaged) {
  expect_that_headers_decide(4, ErrorCode::kDataLoss);
}

TEST(Retrieval, WhatIsWrongWithAReplyIsNoMistakeOfTheCaller) {
  for_every_protocol([](const World& world, const Protocol& protocol, bool) {
    for (const std::size_t byte : {4u, 7u}) {
      auto retrieval = *world.begin({2});
      bool wrong = true;
      for (auto wave = *retrieval->outgoing(); !wave.empty(); wave = *retrieval->outgoing()) {
        for (const auto& message : wave) {
          auto reply = world.reply(message);
          if (wrong) reply[byte] ^= std::byte{0x30};
          const auto taken = retrieval->receive(message.id, reply);
          if (wrong && !taken) expect_error(taken, ErrorCode::kDataLoss, "");
          wrong = false;
        }
      }
      const auto answer = std::move(*retrieval).finish();
      if (!protocol.several) expect_error(answer, ErrorCode::kDataLoss, "");
    }
  });
}

TEST(Retrieval, RefusesRepliesThatItDoesNotAwait) {
  for_every_protocol([](const World& world, const Protocol&, bool) {
    auto retrieval = *world.begin({8});
    const auto other = *world.begin({9});
    constexpr auto kMisused = ErrorCode::kInvalidArgument;
    expect_error(std::move(*retrieval).finish(), kMisused, "not everything has been asked");
    const auto foreign = *other->outgoing();
    Message last;
    for (;;) {
      auto wave = retrieval->outgoing();
      ASSERT_TRUE(good(wave));
      if (wave->empty()) break;
      expect_error(retrieval->outgoing(), kMisused, "still awaited");
      for (auto& message : *wave) {
        const auto reply = world.reply(message);
        expect_error(retrieval->receive(foreign[0].id, reply), kMisused, "no reply");
        expect_error(retrieval->receive({message.id.retrieval, 1000}, reply), kMisused, "no reply");
        if (retrieval->waiting()) {
          EXPECT_TRUE(good(retrieval->receive(message.id, reply)));
          expect_error(retrieval->receive(message.id, reply), kMisused, "no reply");
          expect_error(retrieval->lost(message.id, Error(ErrorCode::kUnavailable, "")), kMisused, "no reply");
        }
        last = std::move(message);
      }
    }
    const auto answer = std::move(*retrieval).finish();
    ASSERT_TRUE(good(answer));
    EXPECT_EQ(answer->records[0], record(8));
    expect_error(retrieval->receive(last.id, Bytes(10)), kMisused, "no reply");
    expect_error(retrieval->outgoing(), kMisused, "finished");
    expect_error(std::move(*retrieval).finish(), kMisused, "finished");
  });
}

TEST(Retrieval, RefusesWishesThatCannotBe) {
  for_every_protocol([](const World& world, const Protocol& protocol, bool) {
    expect_error(world.begin({}), ErrorCode::kInvalidArgument, "1 to 4096");
    expect_error(world.begin(std::vector<std::uint64_t>(4097)), ErrorCode::kInvalidArgument, "4097");
    if (protocol.several) return;
    expect_error(world.begin({1}, {.liars = 1}), ErrorCode::kInvalidArgument, "several servers");
    expect_error(world.begin({1}, {.rounds = 2}), ErrorCode::kInvalidArgument, "several servers");
    expect_error(world.begin({1}, {.wait_for_all = true}), ErrorCode::kInvalidArgument, "several servers");
  });
}

/// What a plan says of messages is what a retrieval sends and receives.
TEST(Retrieval, DoesTheWorkOfItsPlan) {
  for (const std::size_t wishes : {1, 5}) {
    for_every_protocol([&](const World& world, const Protocol& protocol, bool keyed) {
      std::vector<std::uint64_t> wanted(wishes);
      std::iota(wanted.begin(), wanted.end(), 3u);
      auto retrieval = *world.begin(wanted, {.wait_for_all = protocol.several});
      double waves = 0, up = 0, down = 0;
      for (auto wave = retrieval->outgoing(); !wave->empty(); wave = retrieval->outgoing()) {
        ++waves;
        for (const auto& message : *wave) {
          const auto reply = world.reply(message);
          up += static_cast<double>(message.bytes.size());
          down += static_cast<double>(reply.size());
          ASSERT_TRUE(good(retrieval->receive(message.id, reply)));
        }
      }
      const auto work = world.plan().work();
      const auto queries = static_cast<double>(wishes * (keyed ? work.key_queries : 1));
      EXPECT_EQ(waves, work.once_messages + queries * work.query_messages);
      // Headers are not counted, which queries in one message share, nor replies that are one.
      const double headers = 100 * world.servers() * (waves + queries);
      EXPECT_NEAR(up, work.once_up + queries * work.up, headers);
      EXPECT_NEAR(down, work.once_down + queries * work.down, headers);
    });
  }
}

}  // namespace
}  // namespace pirx
