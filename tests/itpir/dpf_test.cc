// SPDX-License-Identifier: Apache-2.0
// Keys of point functions: known answers, every point, hostile keys, servers and clients of dpf.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "itpir/dpf/expand.h"
#include "itpir/dpf/keys.h"
#include "pirx/base/sha256.h"
#include "pirx/database/builder.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/itpir/dpf/client.h"
#include "pirx/strassen/engine.h"
#include "support/files.h"
#include "support/kernels.h"
#include "support/random_element.h"
#include "support/seed.h"
#include "support/serve.h"
#include "support/source_file.h"

namespace pirx::itpir::dpf {
namespace {

using pirx::testing::EngineSource;
using pirx::testing::expect_error;
using pirx::testing::good;

/// Repeats known coins.
struct Coins {
  Bytes bytes;
  void fill(MutableByteSpan out) const { std::copy_n(bytes.begin(), out.size(), out.begin()); }
};

struct Keys {
  Bytes first, second;
};
template <RandomSource R>
Keys make_keys(std::uint64_t point, std::uint64_t rows, R& source) {
  Keys keys{Bytes(key_bytes(rows)), Bytes(key_bytes(rows))};
  Hash hash;
  write_keys(hash, point, rows, source, keys.first, keys.second);
  return keys;
}

std::vector<Node> expand(const Bytes& key, std::uint64_t rows) {
  Bytes sum(expansion_bytes(rows));
  Expander().add(key, rows, sum);
  std::vector<Node> nodes;
  for (std::size_t at = 0; at < sum.size(); at += sizeof(Node)) nodes.push_back(Node::load(&sum[at]));
  return nodes;
}

Bytes bytes_of(const std::vector<Node>& nodes) {
  Bytes bytes(16 * nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].store(bytes.data() + 16 * i);
  return bytes;
}

bool bit(const std::vector<Node>& nodes, std::uint64_t row) {
  const Node leaf = nodes[static_cast<std::size_t>(row / kLeafBits)];
  return ((row % kLeafBits < 64 ? leaf.low : leaf.high) >> (row % 64) & 1) != 0;
}

/// Row by row down the tree, as the specification has it: the oracle.
bool evaluate(const Bytes& key, std::uint64_t rows, std::uint64_t row) {
  Hash hash;
  const unsigned h = levels(rows);
  Node node = Node::load(key.data() + 1);
  std::uint64_t control = std::to_integer<std::uint64_t>(key[0]);
  for (unsigned level = 0; level < h; ++level) {
    Node left, right;
    hash.children({&node, 1}, {&left, 1}, {&right, 1});
    const bool to_right = (row / kLeafBits >> (h - 1 - level) & 1) != 0;
    const Node child = to_right ? right : left;
    const Node seed = Node::load(key.data() + 17 + 16 * level);
    const auto bits = std::to_integer<unsigned>(key[17 + 16 * h + level / 4]) >> (2 * (level % 4));
    const std::uint64_t correction = (to_right ? bits >> 1 : bits) & 1;
    const std::uint64_t next = child.control() ^ (control & correction);
    node = control != 0 ? child.seed() ^ seed : child.seed();
    control = next;
  }
  Node leaf;
  hash.leaves({&node, 1}, {&leaf, 1});
  if (control != 0) leaf = leaf ^ Node::load(key.data() + key.size() - 16);
  return bit({leaf}, row % kLeafBits);
}

TEST(Dpf, KnownAnswers) {
  auto file = pirx::testing::source_file("tests/vectors/dpf_kat.json");
  const auto known = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(known.is_object()) << "tests/vectors/dpf_kat.json is missing or no JSON";
  ASSERT_EQ(known.at("cases").size(), 8u);
  for (const auto& item : known.at("cases")) {
    const std::uint64_t rows = std::uint64_t{1} << item.at("bits").get<unsigned>();
    Coins coins{
        from_hex(item.at("seeds")[0].get<std::string>() + item.at("seeds")[1].get<std::string>()).value()};
    const Keys keys = make_keys(item.at("point"), rows, coins);
    EXPECT_EQ(to_hex(keys.first), item.at("keys")[0].get<std::string>());
    EXPECT_EQ(to_hex(keys.second), item.at("keys")[1].get<std::string>());
    EXPECT_EQ(to_hex(sha256(bytes_of(expand(keys.first, rows)))),
              item.at("expansions_sha256")[0].get<std::string>());
    EXPECT_EQ(to_hex(sha256(bytes_of(expand(keys.second, rows)))),
              item.at("expansions_sha256")[1].get<std::string>());
  }
}

TEST(Dpf, AKeyFor2To22RowsTakes277Bytes) { EXPECT_EQ(key_bytes(std::uint64_t{1} << 22), 277u); }

TEST(Dpf, TheTwoFunctionsDifferAtThePointAlone) {
  std::mt19937_64 engine = pirx::testing::seeded_engine();
  EngineSource source{engine};
  for (const std::uint64_t rows : {1u, 2u, 127u, 128u, 129u, 255u, 257u, 1000u, 4096u}) {
    const bool all = rows <= 1000;
    for (std::uint64_t k = 0; k < (all ? rows : 64); ++k) {
      const std::uint64_t point = all ? k : engine() % rows;
      const Keys keys = make_keys(point, rows, source);
      const auto first = expand(keys.first, rows), second = expand(keys.second, rows);
      std::uint64_t ones = 0;
      for (std::uint64_t row = 0; row < rows; ++row) ones += bit(first, row) != bit(second, row);
      EXPECT_EQ(ones, 1u) << rows << " rows, point " << point;
      EXPECT_NE(bit(first, point), bit(second, point)) << rows << " rows, point " << point;
    }
  }
}

// Trees with several subtrees, and rows that end within one.
TEST(Dpf, ExpandsAsTheTreeIsDefined) {
  std::mt19937_64 engine = pirx::testing::seeded_engine();
  EngineSource source{engine};
  for (const std::uint64_t rows : {300u, 131072u, 131073u, 400001u}) {
    const std::uint64_t point = engine() % rows;
    const Keys keys = make_keys(point, rows, source);
    for (const Bytes* key : {&keys.first, &keys.second}) {
      const auto bits = expand(*key, rows);
      for (int k = 0; k < 300; ++k) {
        const std::uint64_t row = k == 0 ? point : k == 1 ? rows - 1 : engine() % rows;
        EXPECT_EQ(bit(bits, row), evaluate(*key, rows, row)) << rows << " rows, row " << row;
      }
    }
  }
}

// Every set of kernels, and the library's cipher, to places that are aligned in no way. Memory around the sum
// stays as it is.
TEST(Dpf, EveryKernelExpandsAlike) {
  std::mt19937_64 engine = pirx::testing::seeded_engine();
  EngineSource source{engine};
  std::size_t kinds = 0;
  for (const auto& kernels : pirx::testing::runnable(expand_kernels())) {
    ++kinds;
    SCOPED_TRACE(kernels.name);
    Expander fast(&kernels), plain(nullptr);
    for (std::uint64_t rows = 1; rows < 600'000;
         rows += rows < 10'000 ? 1 + engine() % 100 : engine() % 99'999) {
      Bytes key = make_keys(engine() % rows, rows, source).first;
      key[0] = static_cast<std::byte>(engine() % 2);
      Bytes want(expansion_bytes(rows));
      source.fill(want);
      const std::size_t before = engine() % 64;
      Bytes got(before, std::byte{0xA5});
      got.insert(got.end(), want.begin(), want.end());
      got.resize(got.size() + 64, std::byte{0x5A});
      plain.add(key, rows, want);
      fast.add(key, rows, MutableByteSpan(got).subspan(before, want.size()));
      const auto inside = got.begin() + static_cast<std::ptrdiff_t>(before);
      const auto behind = inside + static_cast<std::ptrdiff_t>(want.size());
      ASSERT_EQ(Bytes(inside, behind), want) << rows << " rows";
      ASSERT_EQ(Bytes(got.begin(), inside), Bytes(before, std::byte{0xA5}));
      ASSERT_EQ(Bytes(behind, got.end()), Bytes(64, std::byte{0x5A}));
    }
  }
  if (kinds == 0) GTEST_SKIP() << "this CPU has no kernels for AES";
}

// A correction matters to the server whose node is on the way to the point with control bit 1.
TEST(Dpf, EveryBitOfAKeyMattersToAServerOrIsRefused) {
  std::mt19937_64 engine = pirx::testing::seeded_engine();
  EngineSource source{engine};
  constexpr std::uint64_t kRows = 1000;
  const Keys keys = make_keys(417, kRows, source);
  for (std::size_t at = 8; at < 8 * keys.first.size(); ++at) {
    bool refused = false, matters = false;
    for (const Bytes* key : {&keys.first, &keys.second}) {
      Bytes changed = *key;
      changed[at / 8] ^= static_cast<std::byte>(1u << (at % 8));
      refused |= !check_keys(changed, kRows);
      matters |= !refused && bytes_of(expand(changed, kRows)) != bytes_of(expand(*key, kRows));
    }
    EXPECT_TRUE(refused || matters) << "bit " << at;
  }
}

TEST(Dpf, RefusesKeysThatCannotBe) {
  std::mt19937_64 engine = pirx::testing::seeded_engine();
  EngineSource source{engine};
  constexpr std::uint64_t kRows = 1000;  // three levels, so two spare control bits
  const Keys keys = make_keys(3, kRows, source);
  EXPECT_TRUE(good(check_keys(keys.first, kRows)));
  Bytes third = keys.first;
  third[0] = std::byte{2};
  expect_error(check_keys(third, kRows), ErrorCode::kInvalidArgument, "party 0 or 1");
  Bytes mixed = keys.first;
  mixed.insert(mixed.end(), keys.second.begin(), keys.second.end());
  expect_error(check_keys(mixed, kRows), ErrorCode::kInvalidArgument, "two parties");
  const std::pair<std::size_t, unsigned> zeros[] = {{1, 0}, {17, 0}, {33, 0}, {49, 0}, {65, 6}, {65, 7}};
  for (const auto& [byte, place] : zeros) {
    Bytes spare = keys.first;
    spare[byte] |= static_cast<std::byte>(1u << place);
    expect_error(check_keys(spare, kRows), ErrorCode::kInvalidArgument, "must be zero");
  }
}

// Privacy over a tiny tree. Every node's children and leaf are fresh coins off a tape, as those of a random
// function are. A server's view is its key and all that it can compute from it.

struct ToyNode {
  unsigned bits = 0;  // a seed, above the control bit

  std::uint64_t control() const { return bits & 1; }
  ToyNode seed() const { return {bits & ~1u}; }
  friend ToyNode operator^(ToyNode a, ToyNode b) { return {a.bits ^ b.bits}; }
  friend ToyNode operator&(ToyNode a, std::uint64_t mask) { return {a.bits & static_cast<unsigned>(mask)}; }
  static ToyNode unit(std::uint64_t row) { return {1u << row}; }
};

struct Tape {
  unsigned seed_bits, leaf_bits;
  std::uint64_t coins;
  std::array<std::uint64_t, 2> seen{};          // by either server, of its own nodes
  std::vector<std::array<unsigned, 2>> left{};  // control bits of both servers' left children, level by level

  unsigned draw(unsigned bits) {
    const auto drawn = static_cast<unsigned>(coins & ((1u << bits) - 1));
    coins >>= bits;
    return drawn;
  }
  ToyNode node(std::size_t server, unsigned bits) {
    const ToyNode drawn{draw(bits)};
    seen[server] = seen[server] << bits | drawn.bits;
    return drawn;
  }
  void children(std::span<const ToyNode>, std::span<ToyNode> to_left, std::span<ToyNode> to_right) {
    for (std::size_t b = 0; b < 2; ++b) {
      to_left[b] = node(b, seed_bits + 1);
      to_right[b] = node(b, seed_bits + 1);
    }
    left.push_back({to_left[0].bits & 1, to_left[1].bits & 1});
  }
  void leaves(std::span<const ToyNode>, std::span<ToyNode> out) {
    for (std::size_t b = 0; b < 2; ++b) out[b] = node(b, leaf_bits);
  }
};

struct Toy {
  unsigned levels, seed_bits, log_leaf;
};

/// How often each view of `server` comes, over all coins. With a bug the left control bits are corrected by
/// that server's own child alone.
std::vector<unsigned> views(const Toy& toy, std::uint64_t point, std::size_t server, bool bug) {
  const auto [levels, seed_bits, log_leaf] = toy;
  const unsigned leaf_bits = 1u << log_leaf;
  const unsigned coins = 2 * seed_bits + levels * 4 * (seed_bits + 1) + 2 * leaf_bits;
  const unsigned seen_bits = levels * 2 * (seed_bits + 1) + leaf_bits;
  std::vector<unsigned> count(std::size_t{1}
                              << (seed_bits + levels * (seed_bits + 2) + leaf_bits + seen_bits));
  for (std::uint64_t tape = 0; tape < std::uint64_t{1} << coins; ++tape) {
    Tape hash{seed_bits, leaf_bits, tape};
    std::array<ToyNode, 2> roots;
    for (auto& root : roots) root.bits = hash.draw(seed_bits) << 1;
    const auto corrections = correct(hash, point, levels, log_leaf, roots);
    std::uint64_t view = roots[server].bits >> 1;
    for (unsigned i = 0; i < levels; ++i) {
      const auto& level = corrections.levels[i];
      const std::uint64_t left = level.left ^ (bug ? hash.left[i][1 - server] : 0);
      view = view << (seed_bits + 2) | (level.seed.bits >> 1) << 2 | left << 1 | level.right;
    }
    view = view << leaf_bits | corrections.last.bits;
    ++count[view << seen_bits | hash.seen[server]];
  }
  return count;
}

TEST(DpfPrivacy, OneServersViewIsTheSameForEveryPoint) {
  for (const Toy& toy : {Toy{0, 2, 2}, Toy{1, 1, 1}, Toy{1, 2, 1}, Toy{2, 1, 0}}) {
    for (const std::size_t server : {0u, 1u}) {
      const auto first = views(toy, 0, server, false);
      for (std::uint64_t point = 1; point < std::uint64_t{1} << (toy.levels + toy.log_leaf); ++point) {
        EXPECT_EQ(views(toy, point, server, false), first)
            << toy.levels << " levels, server " << server << ", point " << point;
      }
    }
  }
}

TEST(DpfPrivacy, APlantedBugIsCaught) {
  const Toy toy{1, 1, 1};
  for (const std::size_t server : {0u, 1u}) {
    EXPECT_EQ(views(toy, 1, server, true), views(toy, 0, server, true));  // on the same side
    EXPECT_NE(views(toy, 2, server, true), views(toy, 0, server, true));
  }
}

// Servers and clients.

class DpfServers : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kRecords = 700;
  static Bytes record(std::uint64_t i) { return pirx::testing::to_bytes("record " + std::to_string(i * i)); }
  void open(const database::BuildOptions& options) {
    auto builder = *database::DatabaseBuilder::create(folder_ / "db", options);
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(
          good(options.keyed ? builder.add("key" + std::to_string(i), record(i)) : builder.add(record(i))));
    }
    ASSERT_TRUE(good(builder.finish()));
    for (const char* coordinate : {"1", "2"}) {
      servers_.push_back(
          pirx::testing::serve_file("dpf", folder_ / "db", {{"coordinate", coordinate}}).value());
    }
    const auto told = ServerParameters::decode(servers_[0]->parameters()).value();
    EXPECT_EQ(told.protocol, ProtocolId::kPointFunctions);
    client_.emplace(Params::create({told.geometry, told.version, {1, 2}}).value());
  }
  std::vector<std::optional<Bytes>> replies(const Query& query) const {
    std::vector<std::optional<Bytes>> all;
    for (std::size_t j = 0; j < 2; ++j) {
      const ByteSpan request = query.requests[j];
      all.emplace_back(servers_[j]->answer({&request, 1}).at(0).value());
    }
    return all;
  }
  pirx::testing::TemporaryFolder folder_;
  std::vector<std::unique_ptr<AnyServer>> servers_;
  std::optional<Client> client_;
};

TEST_F(DpfServers, EveryRecordWhateverTheFilesRowsAre) {
  auto rng = Rng::from_os().value();
  for (const std::uint64_t per_row : {1u, 3u, 700u}) {
    servers_.clear();
    open({.records_per_row = per_row, .digests = true});
    for (std::uint64_t i = 0; i < kRecords; i += i < 10 || i > 690 ? 1 : 23) {
      const std::vector<std::uint64_t> wanted{i, kRecords - 1 - i, i};
      auto query = client_->query(wanted, rng).value();
      EXPECT_EQ(query.requests[0].size(), client_->request_bytes(3));
      const auto all = replies(query);
      EXPECT_EQ(all[0]->size(), client_->reply_bytes(3));
      const auto answer = client_->decode(std::move(query.state), all);
      ASSERT_TRUE(good(answer));
      for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(answer->records[k], record(wanted[k]));
    }
  }
}

TEST_F(DpfServers, ClientsInOnePassGetWhatTheyGetAlone) {
  open({.digests = true});
  auto rng = Rng::from_os().value();
  std::vector<Bytes> requests;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::vector<std::uint64_t> wanted(i % 3 + 1, 31 * i);
    requests.push_back(client_->query(wanted, rng).value().requests[0]);
  }
  const std::vector<ByteSpan> views(requests.begin(), requests.end());
  const auto together = servers_[0]->answer(views);
  for (std::size_t i = 0; i < views.size(); ++i) {
    EXPECT_EQ(together[i].value(), servers_[0]->answer({&views[i], 1}).at(0).value());
  }
}

// Three windows of rows, the last of which is not whole.
TEST_F(DpfServers, WhatIsAddedUpWindowByWindowIsTheSum) {
  constexpr std::uint64_t kMany = 2 * kSubtreeRows + 1000;
  constexpr std::size_t kBytes = 129;  // a vector of each kernel fits half a row
  const auto path = folder_ / "many";
  auto builder = *database::DatabaseBuilder::create(
      path, {.records_per_row = 1, .fixed_record_bytes = kBytes, .digests = false});
  std::mt19937_64 engine = pirx::testing::seeded_engine();
  EngineSource source{engine};
  Bytes record(kBytes);
  for (std::uint64_t i = 0; i < kMany; ++i) {
    source.fill(record);
    ASSERT_TRUE(good(builder.add(record)));
  }
  ASSERT_TRUE(good(builder.finish()));
  const auto database = database::Database::open(path).value();
  const Client client(Params::create({database->geometry(), database->version(), {1, 2}}).value());
  auto rng = Rng::from_os().value();
  const std::vector<std::uint64_t> wanted{0, kSubtreeRows - 1, kSubtreeRows, kMany - 1};
  const Bytes request = client.query(wanted, rng).value().requests[0];
  Bytes sums(wanted.size() * kBytes);
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const auto key =
        request.begin() + MessageHeader::kBytes + static_cast<std::ptrdiff_t>(k * key_bytes(kMany));
    const auto bits = expand({key, key + static_cast<std::ptrdiff_t>(key_bytes(kMany))}, kMany);
    for (std::uint64_t i = 0; i < kMany; ++i) {
      if (!bit(bits, i)) continue;
      const auto of = database->record(i).value();
      for (std::size_t j = 0; j < kBytes; ++j) sums[k * kBytes + j] ^= of[j];
    }
  }
  // A product with a stored level of Strassen needs all rows at a time. Not every kernel stores one.
  const strassen::Engine<gf2e::Gf2> multiplier((gf2e::Gf2()));
  const auto stored = multiplier.plan({1, kMany, kBytes}, {}, {.depth = 1}).stored;
  for (const char* layout : {"auto", "rows", "strassen1"}) {
    const bool windows = stored == 0 || std::string_view(layout) != "strassen1";
    for (const int threads : {1, 3}) {
      ServerSpec how;
      how.threads = threads;
      const Texts options{{"coordinate", "1"}, {"layout", layout}};
      const auto server = pirx::testing::serve_file("dpf", path, options, how).value();
      const ByteSpan view = request;
      const auto reply = server->answer({&view, 1}).at(0).value();
      EXPECT_EQ(Bytes(reply.begin() + MessageHeader::kBytes, reply.end()), sums) << layout;
      const std::uint64_t all_bits = 256 * (kMany / 8 + Expander::scratch_bytes(kMany));
      EXPECT_EQ(server->working_bytes(256) < all_bits, windows) << layout;
    }
  }
}

TEST_F(DpfServers, RefuseWhatIsNoRequest) {
  open({.digests = true});
  auto rng = Rng::from_os().value();
  const std::vector<std::uint64_t> wanted{5};
  const auto query = client_->query(wanted, rng).value();
  const Bytes& request = query.requests[0];
  EXPECT_TRUE(good(servers_[0]->admit(request)));
  for (std::size_t n = 0; n < request.size(); ++n) {
    EXPECT_FALSE(servers_[0]->admit(ByteSpan(request).first(n))) << n << " bytes";
  }
  Bytes longer = request;
  longer.push_back(std::byte{0});
  expect_error(servers_[0]->admit(longer), ErrorCode::kInvalidArgument, "bytes instead of");
  Bytes third = request;
  third[MessageHeader::kBytes] = std::byte{7};
  expect_error(servers_[0]->admit(third), ErrorCode::kInvalidArgument, "party 0 or 1");
  expect_error(servers_[1]->admit(request), ErrorCode::kInvalidArgument, "coordinate");
  Bytes seeds = request;
  seeds[5] = static_cast<std::byte>(MessageType::kSeeds);
  EXPECT_FALSE(servers_[0]->admit(seeds));
}

TEST_F(DpfServers, RefuseKeysForAnotherDomain) {
  open({.digests = true});
  auto rng = Rng::from_os().value();
  const auto told = ServerParameters::decode(servers_[0]->parameters()).value();
  auto spec = told.geometry.spec();
  spec.records_per_row = 1;
  for (const std::uint64_t records : {1u, 512u, 699u, 701u, 1025u, 1u << 20}) {
    spec.records = records;
    const auto other = database::Geometry::create(spec).value();
    const Client stranger(Params::create({other, told.version, {1, 2}}).value());
    const std::vector<std::uint64_t> wanted{0};
    Bytes request = stranger.query(wanted, rng).value().requests[0];
    expect_error(servers_[0]->admit(request), ErrorCode::kInvalidArgument,
                 "the query is for " + std::to_string(records) + " rows, there are 700 here");
    // As if for the server's rows, by what the header says. Keys of as many levels are keys of some function.
    const Bytes own = client_->query(wanted, rng).value().requests[0];
    std::copy_n(own.begin(), MessageHeader::kBytes, request.begin());
    if (levels(records) == levels(kRecords)) {
      EXPECT_TRUE(good(servers_[0]->admit(request)));
    } else {
      expect_error(servers_[0]->admit(request), ErrorCode::kInvalidArgument, "bytes instead of");
    }
  }
}

TEST_F(DpfServers, ALieIsNoticed) {
  open({.digests = true});
  auto rng = Rng::from_os().value();
  const std::vector<std::uint64_t> wanted{5};
  auto query = client_->query(wanted, rng).value();
  auto all = replies(query);
  all[1]->at(MessageHeader::kBytes) ^= std::byte{1};
  expect_error(client_->decode(std::move(query.state), all), ErrorCode::kDataLoss,
               "dpf cannot tell which one");
}

TEST(DpfParams, AreRefusedWithTheReason) {
  const auto geometry = database::Geometry::create({.records = 10, .record_bytes = 4}).value();
  expect_error(Params::create({geometry, {}, {1, 2, 3}}), ErrorCode::kInvalidArgument,
               "two servers at a time, not 3");
  expect_error(Params::create({geometry, {}, {1}}), ErrorCode::kInvalidArgument, "two servers, not 1");
  expect_error(Params::create({geometry, {}, {0, 2}}), ErrorCode::kInvalidArgument, "coordinate 0");
  expect_error(Params::create({geometry, {}, std::vector<std::uint64_t>(kMaxServers + 1, 1)}),
               ErrorCode::kInvalidArgument, "too many");
  expect_error(Params::create({geometry, {}, {2, 2}}), ErrorCode::kInvalidArgument, "coordinate 2");
}

TEST_F(DpfServers, WishesThatCannotBeAreRefused) {
  open({.digests = true});
  auto rng = Rng::from_os().value();
  const std::vector<std::uint64_t> beyond{kRecords};
  expect_error(client_->query(beyond, rng), ErrorCode::kOutOfRange, "no such record");
  const std::array<std::uint64_t, kSummedRows> rows[] = {{0, 1, 2}};
  expect_error(client_->query_sums(rows, rng), ErrorCode::kInvalidArgument, "by position");
}

TEST_F(DpfServers, WhatDpfDoesNotServe) {
  open({.digests = true});
  const auto path = folder_ / "db";
  expect_error(pirx::testing::serve_file("dpf", path, {{"coordinate", "0"}}), ErrorCode::kInvalidArgument,
               "coordinate 0");
  expect_error(pirx::testing::serve_file("dpf", path, {}), ErrorCode::kInvalidArgument, "--coordinate");
}

}  // namespace
}  // namespace pirx::itpir::dpf
