// SPDX-License-Identifier: Apache-2.0
// Shards against a single process, bit for bit. Runs under mpirun with any number of ranks: every rank runs
// every test on a database of its own making, rank 0 asks, the others work.
#include "database/database_fixture.h"
#include "itpir/chor/common.h"
#include "itpir/goldberg/vectors.h"
#include "pirx/batchcodes/encode_database.h"
#include "pirx/batchcodes/encoding.h"
#include "pirx/batchcodes/fields.h"
#include "pirx/itpir/goldberg/server.h"
#include "pirx/shards/shards.h"
#include "src/base/time_limit.h"
#include "support/random_element.h"
#include "support/serve.h"

namespace pirx::shards {
namespace {

using database::Database;
using itpir::MessageHeader;
using itpir::ServerParameters;
using testing::expect_error;
using testing::good;
using testing::TemporaryFolder;

World* world = nullptr;

/// Says what failed, and on which rank, and ends all: a rank that went on alone would wait for ever.
class EndAll : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", world->rank(), result.file_name() ? result.file_name() : "?",
                 result.line_number(), result.message());
    world->abort(1);
  }
};

/// A server half that was spread over the ranks, one of this process alone, and what both answer from.
class Deployed {
 public:
  /// `change`: what this rank makes of its part, for tests of what goes wrong.
  Deployed(const std::string& protocol, Texts options, const std::filesystem::path& file, Options how,
           std::function<void(Product&)> change = nullptr) {
    how.note = [this](const std::string& text) { notes.push_back(text); };
    how.timeout = std::chrono::minutes(1);
    how.lost = [](const Error& error) { ADD_FAILURE() << error.to_string(); };
    auto made = Shards::create(*world, std::move(how));
    EXPECT_TRUE(good(made));
    shards = std::move(*made);
    const auto spread = [this, change](const Product& whole, const auto& prepare) {
      return shards->spread()(whole, [&](const Part& part) {
        auto product = prepare(part);
        if (product && change) change(*product);
        return product;
      });
    };
    if (Database::open(file).value()->bucket() == nullptr) options.emplace("coordinate", "1");
    together = open(protocol, file, options, spread);
    options.erase("prepared");
    single = open(protocol, file, options, nullptr);
    auto opened = Database::open(file);
    EXPECT_TRUE(good(opened));
    database = *opened;
  }
  Result<void> agree() { return shards->agree(*together, content_of(*database)); }
  /// All that most tests need: agrees, lets rank 0 `ask`, and parts.
  void run(const std::function<void()>& ask) {
    EXPECT_TRUE(good(agree()));
    if (world->rank() != 0) {
      EXPECT_TRUE(good(shards->work()));
      return;
    }
    EXPECT_EQ(notes.size(), static_cast<std::size_t>(world->ranks()));
    ask();
    EXPECT_TRUE(good(shards->leave()));
  }
  std::vector<Result<Bytes>> answer(const std::vector<Bytes>& requests) const {
    return ask(*together, requests);
  }
  /// Both answer alike, also what they refuse.
  void expect_same(const std::vector<Bytes>& requests) const {
    const auto ours = ask(*together, requests), theirs = ask(*single, requests);
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      ASSERT_EQ(ours[i].has_value(), theirs[i].has_value())
          << (ours[i] ? theirs[i] : ours[i]).error().to_string();
      if (ours[i]) {
        ASSERT_EQ(*ours[i], *theirs[i]) << "request " << i;
      } else {
        ASSERT_EQ(ours[i].error().to_string(), theirs[i].error().to_string());
      }
    }
  }

  std::vector<std::string> notes;
  std::unique_ptr<Shards> shards;
  std::unique_ptr<AnyServer> together, single;
  std::shared_ptr<const Database> database;

 private:
  static Bytes content_of(const Database& opened) {
    const auto version = opened.content_version();
    Writer writer;
    writer.put_bytes(version.identity);
    writer.put(version.epoch);
    return std::move(writer).take();
  }
  static std::unique_ptr<AnyServer> open(const std::string& protocol, const std::string& file,
                                         const Texts& options, Spread spread) {
    auto server =
        pirx::testing::serve_file(protocol, file, options, {.database = {}, .spread = std::move(spread)});
    EXPECT_TRUE(good(server));
    return std::move(*server);
  }
  static std::vector<Result<Bytes>> ask(const AnyServer& server, const std::vector<Bytes>& requests) {
    return server.answer(std::vector<ByteSpan>(requests.begin(), requests.end()));
  }
};

class Ranks : public ::testing::Test {
 protected:
  /// So many rows of so many bytes; the same on every rank.
  std::filesystem::path build(std::size_t rows, std::size_t row_bytes, std::uint64_t epoch = 1) {
    std::vector<Bytes> records;
    auto random = testing::seeded_engine(static_cast<std::uint64_t>(files_) + 1);
    for (std::size_t i = 0; i < rows; ++i) records.push_back(testing::random_bytes(random, row_bytes));
    const auto file = folder_ / ("db" + std::to_string(++files_));
    EXPECT_TRUE(good(database::build(
        file, records, {},
        {.epoch = epoch, .records_per_row = 1, .fixed_record_bytes = row_bytes, .digests = false})));
    return file;
  }

  /// A request of random vectors, or of seeds for them.
  Bytes request(const Deployed& deployed, std::uint32_t queries, bool seeds = false) {
    const auto parameters = ServerParameters::decode(deployed.single->parameters()).value();
    const bool chor = parameters.protocol == ProtocolId::kChor;
    const auto* bucket = deployed.database->bucket();
    const std::uint64_t rows = bucket ? bucket->rows(parameters.geometry.rows()) : parameters.geometry.rows();
    Writer writer;
    MessageHeader{seeds ? MessageType::kSeeds : MessageType::kQuery,
                  parameters.field,
                  itpir::bound_version(parameters.version, parameters.arity, parameters.independence,
                                       parameters.modulus),
                  parameters.coordinate,
                  queries,
                  rows,
                  parameters.protocol}
        .encode(writer);
    for (std::uint32_t i = 0; i < queries; ++i) {
      if (seeds) {
        writer.put_bytes(testing::random_bytes(random_, kSeedBytes));
      } else if (chor) {
        Bytes bits = testing::random_bytes(random_, static_cast<std::size_t>(itpir::chor::bit_bytes(rows)));
        bits.back() &= itpir::chor::last_byte_mask(rows);
        writer.put_bytes(bits);
      } else {
        const auto written = itpir::with_field(parameters.field, [&](const auto& f) -> Result<bool> {
          using F = std::remove_cvref_t<decltype(f)>;
          std::vector<typename F::Elem> values(static_cast<std::size_t>(rows));
          testing::EngineSource source{random_};
          f.random_fill(source, std::span(values));
          itpir::goldberg::encode_elems(f, std::span<const typename F::Elem>(values),
                                        writer.extend(values.size() * f.elem_bytes()).data());
          return true;
        });
        EXPECT_TRUE(good(written));
      }
    }
    return std::move(writer).take();
  }

  /// Several requests of several queries each, and one of seeds, in one pass and alone.
  void expect_same(const Deployed& deployed, std::uint32_t queries = 3) {
    const std::vector<Bytes> requests{request(deployed, 1), request(deployed, queries),
                                      request(deployed, 2, true), request(deployed, 1)};
    const auto before = deployed.shards->passes();
    deployed.expect_same(requests);
    deployed.expect_same({requests[0]});
    EXPECT_EQ(deployed.shards->passes(), before + 2);
  }

  TemporaryFolder folder_{TemporaryFolder::kMemory};
  std::mt19937_64 random_ = testing::seeded_engine();  ///< of rank 0's requests
  int files_ = 0;
};

constexpr Split kSplits[] = {Split::kRows, Split::kColumns};

TEST_F(Ranks, EveryFieldAndBothSplitsAnswerAsOneProcess) {
  // Fewer rows than ranks; fewer words than ranks in the wide fields; neither divisible.
  constexpr std::size_t kShapes[][2] = {{1, 7}, {3, 41}, {37, 203}};
  for (const auto& [rows, bytes] : kShapes) {
    const auto file = build(rows, bytes);
    for (const char* field : {"gf2_8", "gf2_16", "w160", "w48", "prime64"}) {
      for (const auto split : kSplits) {
        SCOPED_TRACE(std::string(field) + " " + split_name(split) + " " + std::to_string(rows));
        Deployed deployed("goldberg", {{"field", field}, {"coordinate", "3"}}, file, {.split = split});
        deployed.run([&] { expect_same(deployed); });
      }
    }
    for (const auto split : kSplits) {
      SCOPED_TRACE("chor " + split_name(split) + " " + std::to_string(rows));
      Deployed deployed("chor", {}, file, {.split = split});
      deployed.run([&] { expect_same(deployed); });
    }
  }
}

// Rank 0 looks after the others all the time, between passes of every size.
TEST_F(Ranks, EveryLayoutAndManyQueries) {
  const auto file = build(301, 1990);
  struct {
    const char *field, *layout;
  } const kLayouts[] = {{"gf2_8", "strassen1"}, {"gf2_8", "auto"}, {"gf2_16", "rows"}, {"w160", "residues"}};
  for (const auto& [field, layout] : kLayouts) {
    for (const auto split : kSplits) {
      SCOPED_TRACE(std::string(field) + " " + layout + " " + split_name(split));
      Deployed deployed("goldberg", {{"field", field}, {"layout", layout}}, file,
                        {.split = split, .ping = std::chrono::milliseconds(1)});
      deployed.run([&] { expect_same(deployed, 150); });
    }
  }
}

TEST_F(Ranks, WhatIsTooMuchForOnePassTakesSeveral) {
  const auto file = build(301, 1990);
  for (const auto split : kSplits) {
    Deployed deployed("goldberg", {{"field", "w48"}}, file, {.split = split, .max_pass_bytes = 10'000});
    deployed.run([&] {
      const auto message = request(deployed, 9);
      deployed.expect_same({message});
      // 332 words of 8 bytes: three queries at a time.
      EXPECT_EQ(deployed.shards->passes(), 3u);
    });
  }
}

TEST_F(Ranks, PreparedPartsAreKeptApart) {
  const auto file = build(300, 2000), kept = folder_ / "kept";
  for (int start = 0; start < 2; ++start) {
    Deployed deployed("goldberg", {{"prepared", kept}}, file, {.split = Split::kRows});
    deployed.run([&] { expect_same(deployed); });
  }
  // Ranks on machines of their own write the same names, the parts' shapes; this one has only its own.
  const auto files = folder_.files();
  EXPECT_EQ(std::count(files.begin(), files.end(), "kept"), 0);
}

TEST_F(Ranks, BucketsOfEncodedDatabases) {
  const auto plain = Database::open(build(45, 90)).value();
  for (const auto& field : {kTagGf2_8, kTagGf2_16}) {
    const auto encoding = batchcodes::Encoding::create(
        {field, 1, 1, 2, 0, 2, batchcodes::Encoding::suggested_coordinates(field, 4).value()});
    const auto encoded = batchcodes::encode_database(*plain, encoding.value(), folder_ / field.name(),
                                                     {.only = {1}, .threads = 1});
    ASSERT_TRUE(good(encoded));
    for (const auto split : kSplits) {
      SCOPED_TRACE(field.name() + " " + split_name(split));
      Deployed deployed("goldberg", {}, encoded->files[0], {.split = split});
      deployed.run([&] { expect_same(deployed); });
    }
  }
}

TEST_F(Ranks, HostileRequestsReachNoOtherRank) {
  const auto file = build(37, 203);
  for (const auto split : kSplits) {
    Deployed deployed("goldberg", {{"field", "w160"}, {"max_queries", "4"}}, file, {.split = split});
    deployed.run([&] {
      const Bytes sound = request(deployed, 2);
      std::vector<Bytes> bad{{}, Bytes(79), request(deployed, 5), sound, sound, sound, sound};
      bad[3].pop_back();              // too short
      bad[4][0] ^= std::byte{1};      // no pirx message
      bad[5][24] ^= std::byte{1};     // another database, or none
      bad[6][100] = std::byte{0xff};  // the highest byte of the first element
      deployed.expect_same({bad.begin(), bad.end() - 1});
      deployed.expect_same({bad[6]});
      for (const auto& reply : deployed.answer(bad)) EXPECT_FALSE(reply);
      EXPECT_EQ(deployed.shards->passes(), 0u);
      // Beside a sound one they fail alone.
      bad.push_back(sound);
      deployed.expect_same(bad);
      EXPECT_EQ(deployed.shards->passes(), 1u);
    });
  }
}

TEST_F(Ranks, APartThatFailsFailsThatPassOnly) {
  const auto file = build(37, 203);
  for (const auto split : kSplits) {
    for (int failing = 0; failing < 2; ++failing) {
      auto left = std::make_shared<int>(world->rank() == failing ? 1 : 0);
      Deployed deployed("goldberg", {}, file, {.split = split}, [left](Product& product) {
        product.multiply = [left, multiply = product.multiply](auto Q, auto R) -> Result<void> {
          if (std::exchange(*left, 0) > 0) return fail(ErrorCode::kResourceExhausted, "no memory");
          return multiply(Q, R);
        };
      });
      deployed.run([&] {
        const auto replies = deployed.answer({request(deployed, 2), request(deployed, 1)});
        for (const auto& reply : replies) expect_error(reply, ErrorCode::kResourceExhausted, "memory");
        expect_same(deployed);
      });
    }
  }
}

TEST_F(Ranks, APassIsStoppedAtEveryRank) {
  const auto file = build(37, 203);
  for (const auto split : kSplits) {
    for (int slow = 0; slow < 2; ++slow) {
      auto left = std::make_shared<int>(world->rank() == slow ? 1 : 0);
      Deployed deployed("goldberg", {}, file, {.split = split}, [left](Product& product) {
        product.multiply = [left, multiply = product.multiply](auto Q, auto R) -> Result<void> {
          if (std::exchange(*left, 0) == 0) return multiply(Q, R);
          TimeLimit* const limit = TimeLimit::current();
          EXPECT_NE(limit, nullptr);
          while (!over(limit)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return {};
        };
      });
      deployed.run([&] {
        {
          TimeLimit limit(TimeLimit::Clock::now() + std::chrono::milliseconds(100));
          deployed.answer({request(deployed, 2)});
          EXPECT_TRUE(limit.reached());
        }
        expect_same(deployed);
      });
    }
  }
}

TEST_F(Ranks, WhatDiffersIsNotServed) {
  const auto file = build(37, 203), other = build(37, 203), later = build(37, 203, 2);
  struct {
    const char* what;
    std::filesystem::path file;
    Split split;
    const char* coordinate;
  } const kOthers[] = {{"content", other, Split::kRows, "1"},
                       {"epoch", later, Split::kRows, "1"},
                       {"split", file, Split::kColumns, "1"},
                       {"coordinate", file, Split::kRows, "2"}};
  for (const auto& c : kOthers) {
    SCOPED_TRACE(c.what);
    const bool last = world->rank() == world->ranks() - 1;
    Deployed deployed("goldberg", {{"coordinate", last ? c.coordinate : "1"}}, last ? c.file : file,
                      {.split = last ? c.split : Split::kRows});
    const auto agreed = deployed.agree();
    if (world->rank() != 0) {
      EXPECT_TRUE(good(agreed));  // it has said what it holds
      continue;
    }
    expect_error(agreed, ErrorCode::kInvalidArgument, "rank " + std::to_string(world->ranks() - 1));
    expect_error(deployed.answer({request(deployed, 1)})[0], ErrorCode::kUnavailable, "not together");
    expect_error(deployed.shards->leave(), ErrorCode::kUnavailable, "not all ranks");
  }
}

TEST_F(Ranks, ARankCanGiveUp) {
  Deployed deployed("goldberg", {}, build(5, 5), {.ping = std::chrono::milliseconds(0)});
  EXPECT_TRUE(good(deployed.agree()));
  if (world->rank() == 0) return;
  int asked = 0;
  expect_error(deployed.shards->work([&asked] { return ++asked == 3; }), ErrorCode::kUnavailable,
               "told to end");
}

TEST_F(Ranks, CodesAndSecondDatabasesAreRefused) {
  auto shards = Shards::create(*world, {});
  ASSERT_TRUE(good(shards));
  const auto file = build(37, 203);
  const auto open = [&](const std::string& protocol, Texts options) {
    options.emplace("coordinate", "1");
    return pirx::testing::serve_file(protocol, file, options,
                                     {.database = {}, .spread = (*shards)->spread()});
  };
  for (const char* protocol : {"goldberg", "chor"}) {
    expect_error(open(protocol, {{"code", "subcube:2,1"}}), ErrorCode::kInvalidArgument, "cannot be spread");
  }
  EXPECT_TRUE(good(open("goldberg", {})));
  expect_error(open("goldberg", {}), ErrorCode::kInvalidArgument, "start all of them again");
}

}  // namespace
}  // namespace pirx::shards

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  auto world = pirx::shards::World::create();
  if (!world) {
    std::fprintf(stderr, "%s\n", world.error().to_string().c_str());
    return 1;
  }
  pirx::shards::world = world->get();
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if ((*world)->rank() != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new pirx::shards::EndAll);
  const int result = RUN_ALL_TESTS();
  if (result != 0) (*world)->abort(1);
  (*world)->finish();
  return 0;
}
