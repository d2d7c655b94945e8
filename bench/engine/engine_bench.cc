// SPDX-License-Identifier: Apache-2.0
// Times the engine's product over one database, for all fields, kernels, numbers of queries, depths, stored
// levels and threads that are asked for; beside it the rates of this machine and other ways to multiply.
//
// product/field:.../kernel:.../q:.../depth:.../stored:.../threads:...   one product
// product/.../scheme:.../threads:...   the same, by one scheme of products of bits
// prepare/field:.../kernel:.../threads:...   laying the database out
// table/q:...[/depth:...], m4rie/q:..., isal/q:...   GF(2^8) in other ways; the table with levels of Strassen
// memory/read:<threads>, rate/instruction:...
//
// Every answer is checked before it is timed. A pass over memory follows each product; the counter
// share_of_read compares the two.
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "bench/engine/memory.h"
#include "bench/engine/peers.h"
#include "bench/engine/rates.h"
#include "pirx/base/sliced_kernels.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/strassen/engine.h"

namespace pirx::bench {
namespace {

using benchmark::State;
using matrix::ConstView;
using matrix::Matrix;

constexpr double kGiB = 1 << 30;

/// Fast, repeatable bytes.
struct Source {
  std::mt19937_64 engine{1};
  void fill(MutableByteSpan out) {
    std::size_t at = 0;
    for (; at + 8 <= out.size(); at += 8) store_le<std::uint64_t>(out.data() + at, engine());
    for (; at < out.size(); ++at) out[at] = static_cast<std::byte>(engine());
  }
};

/// As square as powers of two allow: 2^k rows of as many bytes or twice as many.
struct Database {
  explicit Database(std::size_t mib) {
    const std::uint64_t bytes = std::uint64_t{mib} << 20;
    std::size_t rows = 1024;
    while (std::uint64_t{rows} * rows * 4 <= bytes) rows *= 2;
    matrix = need(Matrix<std::uint64_t>::create(rows, bytes / rows / 8));
    Source source;
    for (std::size_t i = 0; i < rows; ++i) {
      source.fill({reinterpret_cast<std::byte*>(matrix.row(i)), matrix.cols() * 8});
    }
  }
  /// The leading columns that are whole words of that size.
  ConstView<std::byte> words(std::size_t word_bytes) const {
    const auto view = matrix.view();
    const std::size_t width = view.cols * 8 / word_bytes * word_bytes;
    return {reinterpret_cast<const std::byte*>(view.data), view.rows, width, view.stride};
  }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(matrix.view().data); }
  std::size_t bytes() const { return matrix.rows() * matrix.view().stride; }
  Matrix<std::uint64_t> matrix;
};

std::size_t database_mib = 64;
/// The database of this run, made when it is first used.
const Database& database() {
  static const Database made(database_mib);
  return made;
}

/// The most memory that this process held at a time. It is one benchmark's if no other ran before.
double peak_mib() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

double read_seconds(int threads) {
  return seconds_of(
      [&] { benchmark::DoNotOptimize(read_memory(database().data(), database().bytes(), threads)); });
}

/// The counters of q queries over `bytes` bytes of the database that take so many seconds.
void add_counters(State& state, double seconds, double bytes, std::size_t q, int threads) {
  const double read = read_seconds(threads) * bytes / static_cast<double>(database().bytes());
  state.counters["gb_per_s"] = bytes / seconds / 1e9;
  state.counters["ms_per_query_gib"] = seconds * 1e3 / static_cast<double>(q) / (bytes / kGiB);
  state.counters["share_of_read"] = read / seconds;
  state.counters["peak_mib"] = peak_mib();
}

/// Sixteen positions in a matrix.
template <class Right>
bool right_entries(std::size_t rows, std::size_t cols, const Right& right) {
  std::mt19937_64 engine(3);
  for (int round = 0; round < 16; ++round) {
    const std::size_t i = engine() % rows, j = engine() % cols;
    if (!right(i, j)) return false;
  }
  return true;
}

// --- the engine

constexpr int kStoredResidues = -1, kRowsAsTheyLie = -2;

struct Case {
  std::size_t q = 0;
  int depth = -1;  ///< -1: the plan's own
  int threads = 1;
  int stored = 0;               ///< levels of Strassen, kStoredResidues or kRowsAsTheyLie
  std::string scheme = "auto";  ///< a name from SlicedKernels::schemes; auto: the plan's own

  strassen::PrepareOptions prepare_options() const {
    if (stored == kStoredResidues) return {strassen::Layout::kResidues, threads, 0};
    if (stored == kRowsAsTheyLie) return {strassen::Layout::kRows, threads, 0};
    return {strassen::Layout::kAuto, threads, stored};
  }
};

/// What the products of one field and kernel share.
template <class F>
struct Room {
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;

  explicit Room(const Kernels<F>& kernels) : engine(F{}, kernels), D(database().words(F{}.word_bytes())) {}
  std::size_t words() const { return D.cols / engine.field().word_bytes(); }
  const strassen::PreparedMatrix<F>& prepared(const Case& c) {
    const auto found = databases.find(c.stored);
    if (found != databases.end()) return found->second;
    return databases.emplace(c.stored, need(engine.prepare(D, c.prepare_options()))).first->second;
  }
  /// Makes room for q queries.
  void hold(std::size_t q) {
    if (Q.rows() >= q) return;
    Q = need(Matrix<Elem>::create(q, D.rows));
    R = need(Matrix<Sum>::create(q, words()));
    Source source;
    for (std::size_t i = 0; i < q; ++i) engine.field().random_fill(source, {Q.row(i), D.rows});
  }
  bool right_answer(std::size_t q) {
    const F& f = engine.field();
    return right_entries(q, words(), [&](std::size_t i, std::size_t j) {
      const std::size_t at = j * f.word_bytes();
      auto sum = f.sum_scale(Q.row(i)[0], f.load_word(D.row(0) + at));
      for (std::size_t k = 1; k < D.rows; ++k) {
        sum = f.sum_add(sum, f.sum_scale(Q.row(i)[k], f.load_word(D.row(k) + at)));
      }
      Sum answer = R.row(i)[j];
      spoil(std::as_writable_bytes(std::span(&answer, 1)));
      return f.sum_equal(sum, answer);
    });
  }

  strassen::Engine<F> engine;
  ConstView<std::byte> D;
  std::map<int, strassen::PreparedMatrix<F>> databases;  // by the levels that are stored
  Matrix<Elem> Q;
  Matrix<Sum> R;
};

template <class F>
bool has_scheme(const Kernels<F>& kernels, std::string_view name) {
  return kernels.sliced != nullptr && std::ranges::any_of(kernels.sliced->schemes, [&](const auto& scheme) {
           return scheme.name == name;
         });
}

/// Kernels that use one scheme for every number of queries.
template <class F>
Kernels<F> with_scheme(Kernels<F> kernels, const std::string& scheme) {
  if (scheme != "auto") {
    kernels.crossovers.fewest_products = kernels.sliced->schemes.front().name == scheme ? 0u : 1u;
  }
  return kernels;
}

/// A run in random order is for one field and one kernel.
template <class F>
Room<F>& room_of(const Kernels<F>& kernels) {
  return shared<Room<F>>(F{}.tag().name() + kernels.name, kernels);
}

template <class F>
void run_product(State& state, const Kernels<F>& kernels, const Case& c, bool& checked) {
  Room<F>& room = room_of(kernels);
  room.hold(c.q);
  const Kernels<F> by_scheme = with_scheme(kernels, c.scheme);  // lives as long as the engine
  const strassen::Engine<F> engine(F{}, by_scheme);
  const auto& prepared = room.prepared(c);
  const auto Q = std::as_const(room.Q).view().window(0, 0, c.q, room.D.rows);
  const auto R = room.R.view().window(0, 0, c.q, room.words());
  const strassen::ExecOptions exec{c.threads, c.depth};
  if (!checked) {
    need(engine.multiply(Q, prepared, R, exec));
    if (!room.right_answer(c.q)) return Program::wrong(state, "a wrong answer");
    checked = true;
  }
  const double seconds = loop(state, [&] { need(engine.multiply(Q, prepared, R, exec)); });
  const double bytes = static_cast<double>(room.D.rows) * static_cast<double>(room.D.cols);
  add_counters(state, seconds, bytes, c.q, c.threads);
  const auto plan = engine.plan({c.q, room.D.rows, room.words()}, exec, c.prepare_options());
  state.counters["plan_depth"] = plan.depth;
  state.counters["plan_stored"] = plan.stored;
  state.SetLabel(plan.to_string());
}

/// Beside copies of memory into memory that is there and into new memory: of the first GiB, as three copies
/// of all of it may not fit.
template <class F>
void run_prepare(State& state, const Kernels<F>& kernels, int threads) {
  Room<F>& room = room_of(kernels);
  strassen::Layout layout = strassen::Layout::kRows;
  const auto prepare = [&] {
    layout = need(room.engine.prepare(room.D, {strassen::Layout::kAuto, threads})).layout();
  };
  prepare();  // a virtual machine may have to ask its host for the memory
  const double seconds = loop(state, prepare);
  const std::size_t part = std::min(database().bytes(), std::size_t{1} << 30);
  const double parts = static_cast<double>(database().bytes()) / static_cast<double>(part);
  auto buffer = need(AlignedBuffer::create(part));
  const auto copy = [&] { std::memcpy(buffer.data(), database().data(), part); };
  copy();
  const double old_memory = seconds_of(copy);
  const double new_memory = seconds_of([&] {
    buffer = need(AlignedBuffer::create(part));
    copy();
  });
  state.counters["gb_per_s"] = static_cast<double>(database().bytes()) / seconds / 1e9;
  state.counters["copy_gb_per_s"] = static_cast<double>(part) / old_memory / 1e9;
  state.counters["share_of_copy"] = parts * old_memory / seconds;
  state.counters["share_of_fresh_copy"] = parts * new_memory / seconds;
  state.SetLabel(layout == strassen::Layout::kSliced ? "sliced" : "rows");
}

// --- other ways

struct PeerCase {
  PeerCase(const PeerMaker& make, std::size_t q)
      : D(database().words(1)), Q(need(Matrix<std::uint8_t>::create(q, D.rows))) {
    Source source;
    for (std::size_t i = 0; i < q; ++i) source.fill(std::as_writable_bytes(std::span(Q.row(i), D.rows)));
    peer = make(std::as_const(Q).view(), D);
  }
  bool right_answer() const {
    return right_entries(Q.rows(), D.cols, [&](std::size_t i, std::size_t j) {
      std::uint8_t sum = 0, answer = peer.entry(i, j);
      for (std::size_t k = 0; k < D.rows; ++k) {
        sum ^= peer.multiply(Q.row(i)[k], static_cast<std::uint8_t>(D.at(k, j)));
      }
      spoil(std::as_writable_bytes(std::span(&answer, 1)));
      return answer == sum;
    });
  }
  ConstView<std::byte> D;
  Matrix<std::uint8_t> Q;
  Peer peer;
};

/// Checks the answer after the first run and not before it, as some take minutes.
void add_peer(const std::string& name, const PeerMaker& make, std::size_t q, const std::string& rest = "") {
  const auto run = [make, q, peer = std::shared_ptr<PeerCase>()](State& state) mutable {
    if (!peer) peer = std::make_shared<PeerCase>(make, q);
    const double seconds = loop(state, peer->peer.run);
    if (!peer->right_answer()) return Program::wrong(state, "a wrong answer");
    add_counters(state, seconds, static_cast<double>(database().bytes()), q, 1);
  };
  benchmark::RegisterBenchmark((name + "/q:" + std::to_string(q) + rest).c_str(), run)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

// --- what there is to run

struct Lists {
  std::vector<std::size_t> q, peers;
  std::vector<unsigned> threads, peer_depths;
  std::vector<std::string> depths, stored, schemes;
  bool all_kernels = false;
};

template <class F>
void add_field(const F& f, const Lists& lists) {
  const CpuFeatures allowed = need(allowed_cpu_features());
  for (const Kernels<F>& kernels : kernel_table(f)) {
    if ((kernels.needs & ~allowed) != 0) continue;
    const auto add = [&](const std::string& kind, const std::string& rest, auto run) {
      const std::string name = kind + "/field:" + f.tag().name() + "/kernel:" + kernels.name + rest;
      benchmark::RegisterBenchmark(name.c_str(), run)->UseRealTime()->Unit(benchmark::kMillisecond);
    };
    for (const unsigned team : lists.threads) {
      const int threads = static_cast<int>(team);
      const std::string in_name = "/threads:" + std::to_string(threads);
      if (kernels.sliced != nullptr) {
        add("prepare", in_name, [&kernels, threads](State& state) { run_prepare(state, kernels, threads); });
      }
      for (const auto& stored : lists.stored) {
        const bool residues = stored == "residues", rows = stored == "rows";
        if (residues ? kernels.residues == nullptr : !rows && stored != "0" && kernels.sliced == nullptr)
          continue;
        for (const auto& depth : lists.depths) {
          for (const auto q : lists.q) {
            for (const auto& scheme : lists.schemes) {
              if (scheme != "auto" && (residues || rows || !has_scheme(kernels, scheme))) continue;
              const Case c{q, depth == "auto" ? -1 : std::stoi(depth), threads,
                           residues ? kStoredResidues
                           : rows   ? kRowsAsTheyLie
                                    : std::stoi(stored),
                           scheme};
              add("product",
                  "/q:" + std::to_string(q) + "/depth:" + depth + "/stored:" + stored +
                      (scheme == "auto" ? "" : "/scheme:" + scheme) + in_name,
                  [&kernels, c, checked = false](State& state) mutable {
                    run_product(state, kernels, c, checked);
                  });
            }
          }
        }
      }
    }
    if (!lists.all_kernels) break;
  }
}

void add_reads(const Lists& lists) {
  for (const unsigned threads : lists.threads) {
    const auto run = [threads](State& state) {
      const double seconds = loop(state, [&] { read_seconds(static_cast<int>(threads)); });
      state.counters["gb_per_s"] = static_cast<double>(database().bytes()) / seconds / 1e9;
    };
    benchmark::RegisterBenchmark(("memory/read:" + std::to_string(threads)).c_str(), run)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
}

/// One of `allowed`, or a number up to `most`.
void need_words(const std::vector<std::string>& words, const std::vector<std::string>& allowed,
                std::uint64_t most) {
  for (const auto& word : words) {
    if (std::ranges::find(allowed, word) == allowed.end()) need(parse_whole_number(word, 0, most));
  }
}

void run(Program& program) {
  database_mib = program.number("mib", 64, 1, 1 << 20);
  Lists lists;
  lists.q = program.numbers<std::size_t>("q", "1,8,32,256,1024", 1, 1 << 20);
  lists.peers = program.numbers<std::size_t>("peers", "1,4", 1, 1 << 20);
  lists.peer_depths = program.numbers<unsigned>("peer_depths", "0", 0, 20);
  lists.threads = program.numbers<unsigned>("threads", "1", 1, 1024);
  lists.depths = program.texts("depths", "auto");
  lists.stored = program.texts("stored", "0");
  lists.schemes = program.texts("schemes", "auto");
  const std::string kernels = program.text("kernels", "best");
  need(kernels == "best" || kernels == "all", "--kernels is 'best' or 'all'");
  need_words(lists.depths, {"auto"}, 20);
  need_words(lists.stored, {"residues", "rows"}, 3);
  lists.all_kernels = kernels == "all";
  program.start();
  benchmark::AddCustomContext("mib", std::to_string(database_mib));

  add_instruction_rates();
  add_reads(lists);
  add_field(gf2e::Gf2_8(), lists);
  for (const auto q : lists.peers) {
    for (const auto depth : lists.peer_depths) {
      const auto make = [depth](auto Q, auto D) { return make_table(Q, D, static_cast<int>(depth)); };
      add_peer("table", make, q, depth == 0 ? "" : "/depth:" + std::to_string(depth));
    }
#if defined(PIRX_BENCH_M4RIE)
    add_peer("m4rie", make_m4rie, q);
#endif
#if defined(PIRX_BENCH_ISAL)
    add_peer("isal", make_isal, q);
#endif
  }
  add_field(gf2e::Gf2_16(), lists);
  add_field(gf2e::Gf2(), lists);
  add_field(fp::W160(), lists);
  add_field(fp::W48(), lists);
}

}  // namespace
}  // namespace pirx::bench

int main(int argc, char** argv) {
  pirx::bench::Program program(argc, argv);
  pirx::bench::run(program);
  return pirx::bench::Program::run();
}
