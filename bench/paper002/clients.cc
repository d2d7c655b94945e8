// SPDX-License-Identifier: Apache-2.0
// Experiments 3 and 4 of paper 002 (Henry 2016): the time that a client takes to make a query, and to
// reconstruct the blocks from the replies, beside plain programs for both (plain.h, berlekamp_welch.h). Uses
// the public client on random records. Times are of the processor; an answer is checked before its time
// counts.
//
// query/...    experiment 3: making a query to a database of --rows rows of one word
// copy/...     experiment 4: memcpy of as many bytes as all replies have
// gather/...   from the bytes of replies to checked values
// decode/...   from there to the values of rows, with all replies compared
// blocks/...   decode, and the records cut out of the rows; blocks_liar/...: with a server that lies
// query_plain/..., gather_plain/..., blocks_plain/...   the same plainly, measured on --plain_rows rows and
//              --plain_words words, and scaled
// blocks_liar_plain/...   a Berlekamp-Welch decoder, likewise, for one block
#ifdef _OPENMP
#include <omp.h>
#endif

#include "bench/paper002/berlekamp_welch.h"
#include "bench/paper002/deployment.h"
#include "bench/paper002/plain.h"

namespace pirx::bench {
namespace {

using benchmark::State;

enum class Step { kQuery, kCopy, kGather, kDecode, kBlocks, kBlocksOfLiar };
constexpr const char* kNames[] = {"query", "copy", "gather", "decode", "blocks", "blocks_liar"};

/// The first q records in any order that is not theirs.
std::vector<std::uint64_t> wanted(const Settings& settings) {
  std::vector<std::uint64_t> indices;
  for (unsigned m = settings.ramp; m-- > 0;) indices.push_back((m * 7919 + 1) % settings.records);
  return indices;
}

void run(State& state, Step step, const Settings& settings, bool& checked) {
  static Rng rng = need(Rng::from_os());
  const auto& deployment = shared<Deployment>(settings.name(), settings);
  const std::optional<std::size_t> liar =
      step == Step::kBlocksOfLiar ? std::optional<std::size_t>(1) : std::nullopt;
  std::optional<Exchange> exchange;
  const auto served = [&] {
    exchange.emplace(deployment, rng, wanted(settings));
    exchange->ask();
    exchange->serve(liar);
  };
  if (!checked) {
    served();
    exchange->gather();
    exchange->finish();
    if (!exchange->right(liar)) return Program::wrong(state, "a wrong answer");
    checked = true;
  }
  const auto before = [&] {
    if (step == Step::kQuery) return void(exchange.emplace(deployment, rng, wanted(settings)));
    served();
    if (step > Step::kGather) exchange->gather();
  };
  processor_loop(state, before, [&] {
    if (step == Step::kQuery) return exchange->ask();
    if (step == Step::kGather) return exchange->gather();
    exchange->decode();
    if (step != Step::kDecode) exchange->finish();
  });
  state.counters["request_bytes"] = static_cast<double>(deployment.client().request_bytes(settings.ramp));
  state.counters["reply_bytes"] = static_cast<double>(deployment.client().reply_bytes(settings.ramp));
}

void run_copy(State& state, const Settings& settings) {
  const auto& deployment = shared<Deployment>(settings.name(), settings);
  const std::size_t bytes = static_cast<std::size_t>(deployment.client().reply_bytes(settings.ramp));
  const std::vector<Bytes> from(settings.servers, Bytes(bytes, std::byte{1}));
  std::vector<Bytes> to = from;
  processor_loop(
      state, [] {},
      [&] {
        for (std::size_t j = 0; j < from.size(); ++j) std::memcpy(to[j].data(), from[j].data(), bytes);
      });
}

/// The plain client, its replies over `rows` rows of `words` words, and what they should give.
template <class Field>
struct Plain {
  Plain(const Settings& settings, std::size_t rows, std::size_t row_words)
      : client(settings.servers, settings.threshold, settings.ramp),
        words(row_words),
        D(rows * words * Field::kWordBytes),
        requests(settings.servers, Bytes(rows * Field::kBytes)),
        replies(settings.servers, Bytes(words * Field::kBytes)),
        blocks(settings.ramp, Bytes(words * Field::kWordBytes)) {
    std::mt19937_64 random(5);
    for (auto& byte : D) byte = static_cast<std::byte>(random());
    for (unsigned m = 0; m < settings.ramp; ++m) hidden.push_back(m * 7919 % rows);
    query();
    for (unsigned j = 0; j < settings.servers; ++j) client.answer(requests[j], D, words, replies[j]);
    gather();
  }
  void query() { client.query(D.size() / (words * Field::kWordBytes), hidden, requests); }
  void gather() { client.read(replies, words); }
  void decode() { need(client.decode(words, blocks), "the plain client's replies contradict each other"); }
  bool right() {
    decode();
    bool right = true;
    for (std::size_t m = 0; m < blocks.size(); ++m) {
      spoil(blocks[m]);
      right = right &&
              std::memcmp(blocks[m].data(), D.data() + hidden[m] * blocks[m].size(), blocks[m].size()) == 0;
    }
    return right;
  }
  PlainClient<Field> client;
  std::size_t words;
  Bytes D;
  std::vector<Bytes> requests, replies, blocks;
  std::vector<std::size_t> hidden;
};

template <class Field>
void run_plain(State& state, Step step, const Settings& settings, std::size_t rows, std::size_t words,
               double scale) {
  Plain<Field> plain(settings, rows, words);
  if (!plain.right()) return Program::wrong(state, "a wrong answer");
  const auto work = [&] {
    if (step == Step::kQuery) plain.query();
    if (step == Step::kGather) plain.gather();
    if (step == Step::kBlocks) plain.decode();
  };
  processor_loop(
      state, [] {}, work, scale);
}

void run_berlekamp_welch(State& state, const Settings& settings, std::size_t words, double scale) {
  WrongWords plain(words, settings.servers, settings.threshold);
  plain.decode();
  spoil(std::as_writable_bytes(std::span(plain.found)));
  if (plain.found != plain.truth) return Program::wrong(state, "a wrong answer");
  processor_loop(
      state, [] {}, [&] { plain.decode(); }, scale);
}

struct Sizes {
  std::uint64_t rows, block_bytes;
  std::size_t plain_rows, plain_words;
};

void add_step(Step step, Settings settings, const Sizes& sizes) {
  const bool w160 = settings.field == "w160";
  const std::uint64_t word_bytes = w160 ? 20 : 1;
  // Experiment 3 has rows of one word, so that answering, which checks the query, costs little.
  const bool query = step == Step::kQuery;
  settings.records = query ? sizes.rows : std::max(2u, settings.ramp);
  settings.record_bytes = query ? word_bytes : sizes.block_bytes;
  const std::size_t rows = query ? sizes.plain_rows : std::max(2u, settings.ramp);
  const std::size_t words = query ? 1 : sizes.plain_words;
  const double scale = query
                           ? static_cast<double>(sizes.rows) / static_cast<double>(rows)
                           : static_cast<double>(sizes.block_bytes / word_bytes) / static_cast<double>(words);
  const auto add = [&](const char* plain, auto run_it) {
    const std::string name = std::string(kNames[static_cast<int>(step)]) + plain +
                             "/field:" + settings.field + "/t:" + std::to_string(settings.threshold) +
                             "/q:" + std::to_string(settings.ramp);
    benchmark::RegisterBenchmark(name.c_str(), run_it)->UseManualTime()->Unit(benchmark::kMillisecond);
  };
  if (step == Step::kCopy) return add("", [=](State& state) { run_copy(state, settings); });
  add("", [=, checked = false](State& state) mutable { run(state, step, settings, checked); });
  if (step == Step::kDecode) return;
  if (step != Step::kBlocksOfLiar) {
    add("_plain", [=](State& state) {
      (w160 ? run_plain<NtlField> : run_plain<TableField>)(state, step, settings, rows, words, scale);
    });
  } else if (!w160 && settings.ramp == 1 && settings.servers <= BerlekampWelch::kMostServers) {
    add("_plain", [=](State& state) { run_berlekamp_welch(state, settings, words, scale); });
  }
}

void add_all(Program& program) {
  const Sizes sizes{program.number("rows", 16'000, 1, 1 << 30),
                    program.number("block_bytes", 4'000'000, 1, 1 << 30),
                    static_cast<std::size_t>(program.number("plain_rows", 1000, 64, 1'000'000)),
                    static_cast<std::size_t>(program.number("plain_words", 2000, 1, 1'000'000))};
  const auto servers = static_cast<unsigned>(program.number("servers", 32, 4, 64));
  const auto thresholds = program.numbers<unsigned>("t", "1,4,16", 1, 64);
  const auto ramps = program.numbers<unsigned>("q", "1,4,8", 1, 64);
  program.start();
  for (const Step step :
       {Step::kQuery, Step::kCopy, Step::kGather, Step::kDecode, Step::kBlocks, Step::kBlocksOfLiar}) {
    for (const char* field : {"w160", "gf2_8"}) {
      for (const auto t : thresholds) {
        for (const auto q : ramps) {
          // A reply more than needed, for a proof, or two to correct a lie.
          const unsigned more = step == Step::kBlocksOfLiar ? 2 : 1;
          if (t + q + more <= servers) add_step(step, {field, servers, t, q}, sizes);
        }
      }
    }
  }
}

}  // namespace
}  // namespace pirx::bench

int main(int argc, char** argv) {
#ifdef _OPENMP
  omp_set_num_threads(1);
#endif
  pirx::bench::Program program(argc, argv);
  pirx::bench::add_all(program);
  return pirx::bench::Program::run();
}
