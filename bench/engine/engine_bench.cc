// The engine on one database after another: every field, kernel, number of queries, depth and number of
// threads that is asked for, beside what the machine can do and what other ways take.
//
// What is compared is measured in turns: all products of one field and kernel run once, then a pass over
// memory, then all of them again, so that a change of the machine's speed meets all alike. Every answer is
// checked before it is timed. Prints a JSON array, one object a line ("kind": context, rate, memory, prepare,
// product, skipped), and what it does to stderr.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>

#include "bench/engine/baselines.h"
#include "bench/engine/peers.h"
#include "bench/engine/rates.h"
#include "bench/engine/record.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/strassen/engine.h"

namespace pirx::bench {
namespace {

using Clock = std::chrono::steady_clock;
using matrix::ConstView;
using matrix::Matrix;

/// Calls visit(f) with every field. A new one is one line here.
template <class Visit>
void for_each_field(const Visit& visit) {
  visit(gf2e::Gf2_8());
  visit(gf2e::Gf2_16());
  visit(gf2e::Gf2());
  visit(fp::W160());
  visit(fp::W48());
}

constexpr const char kUsage[] = R"(usage: engine_bench [--name=value ...]
  --mib=64               databases, in MiB; each as square as powers of two allow
  --fields=all           of gf2_8, gf2_16, gf2, w160, w48
  --kernels=best         best, all, or names; PIRX_FORCE_ISA holds for all of them
  --q=1,2,3,4,5,7,8,...  queries
  --depths=auto          levels of Strassen: auto, 0, 1, ...
  --prepared=0           what is stored with the database: so many levels of Strassen, or "residues" of a
                         prime field (0 for the others); each choice a copy of it in memory
  --threads=1            threads
  --peers=1,4            queries for the table look-up, m4rie and isal (where installed); 0: none
  --cases=               instead of --fields, --q, --depths, --prepared, --threads and --peers:
                         contender/q[/depth[/threads[/prepared]]], such as gf2_8/256/auto/2 or table/4
  --case_seconds=0.25    time each case for so long in all,
  --samples=3            and so often at least
  --case_limit=10        leave out cases that should take longer than this for one product
  --seconds=180          start nothing more after so many seconds
)";

[[noreturn]] void die(const std::string& message, int code = 1) {
  std::fprintf(stderr, "engine_bench: %s\n", message.c_str());
  std::exit(code);
}
template <class T>
T or_die(Result<T> result) {
  if (!result) die(result.error().to_string());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// --- what to do

struct Case {
  std::string contender;  // a field, or a peer
  std::size_t q = 0;
  int depth = -1;  // -1: the plan's own
  int threads = 1;
  int stored = 0;
};

struct Options {
  std::vector<std::size_t> mib;
  std::vector<std::string> kernels;
  std::vector<Case> cases;
  double case_seconds = 0, case_limit = 0, seconds = 0;
  std::size_t samples = 0;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

long to_number(const std::string& text, long least, long most) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    die("'" + text + "' is no number from " + std::to_string(least) + " to " + std::to_string(most), 2);
  }
  return value;
}
int to_depth(const std::string& text) {
  return text == "auto" ? -1 : static_cast<int>(to_number(text, 0, 20));
}
constexpr int kStoredResidues = -1;
int to_stored(const std::string& text) {
  return text == "residues" ? kStoredResidues : static_cast<int>(to_number(text, 0, 3));
}
int to_threads(const std::string& text) { return static_cast<int>(to_number(text, 1, 1024)); }
std::size_t to_queries(const std::string& text) {
  return static_cast<std::size_t>(to_number(text, 0, 1 << 20));
}
double to_seconds(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0)) die("'" + text + "' is no number of seconds", 2);
  return value;
}

const std::vector<std::string>& peer_names() {
  static const std::vector<std::string> names = {
    "table",
#if defined(PIRX_BENCH_M4RIE)
    "m4rie",
#endif
#if defined(PIRX_BENCH_ISAL)
    "isal",
#endif
  };
  return names;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

Options parse(int argc, char** argv) {
  std::vector<std::pair<std::string, std::string>> values = {
      {"mib", "64"},
      {"fields", "all"},
      {"kernels", "best"},
      {"q",
       "1,2,3,4,5,7,8,15,16,17,31,32,33,63,64,65,100,127,128,129,255,256,257,511,512,513,1000,1024,1025,2047,"
       "2048,3001,4095,4096"},
      {"depths", "auto"},
      {"prepared", "0"},
      {"threads", "1"},
      {"peers", "1,4"},
      {"cases", ""},
      {"case_seconds", "0.25"},
      {"samples", "3"},
      {"case_limit", "10"},
      {"seconds", "180"}};
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::size_t equals = arg.find('=');
    const auto known = std::find_if(values.begin(), values.end(), [&](const auto& value) {
      return equals != std::string::npos && arg.substr(0, equals) == "--" + value.first;
    });
    if (known == values.end()) {
      std::fputs(kUsage, arg == "--help" ? stdout : stderr);
      std::exit(arg == "--help" ? 0 : 2);
    }
    known->second = arg.substr(equals + 1);
  }
  const auto value = [&](const char* name) {
    return std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first == name; })->second;
  };

  std::vector<std::string> fields;
  for_each_field([&](const auto& f) { fields.push_back(f.tag().name()); });
  Options options;
  for (const auto& mib : split(value("mib"), ',')) {
    options.mib.push_back(static_cast<std::size_t>(to_number(mib, 1, 1 << 20)));
  }
  options.kernels = split(value("kernels"), ',');
  options.case_seconds = to_seconds(value("case_seconds"));
  options.case_limit = to_seconds(value("case_limit"));
  options.seconds = to_seconds(value("seconds"));
  options.samples = static_cast<std::size_t>(to_number(value("samples"), 1, 1000));
  for (const auto& text : split(value("cases"), ',')) {
    const auto parts = split(text, '/');
    if (parts.size() < 2 || parts.size() > 5) {
      die("'" + text + "' is not contender/q[/depth[/threads[/prepared]]]", 2);
    }
    options.cases.push_back({parts[0], to_queries(parts[1]), parts.size() > 2 ? to_depth(parts[2]) : -1,
                             parts.size() > 3 ? to_threads(parts[3]) : 1,
                             parts.size() > 4 ? to_stored(parts[4]) : 0});
  }
  if (value("cases").empty()) {
    const auto wanted = value("fields") == "all" ? fields : split(value("fields"), ',');
    for (const auto& field : wanted) {
      for (const auto& q : split(value("q"), ',')) {
        for (const auto& depth : split(value("depths"), ',')) {
          for (const auto& stored : split(value("prepared"), ',')) {
            for (const auto& threads : split(value("threads"), ',')) {
              options.cases.push_back(
                  {field, to_queries(q), to_depth(depth), to_threads(threads), to_stored(stored)});
            }
          }
        }
      }
    }
    for (const auto& peer : peer_names()) {
      for (const auto& q : split(value("peers"), ','))
        options.cases.push_back({peer, to_queries(q), 0, 1, 0});
    }
  }
  std::erase_if(options.cases, [](const Case& c) { return c.q == 0; });
  return options;
}

// --- what is multiplied

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
  explicit Database(std::size_t size_mib) : mib(size_mib) {
    const std::uint64_t bytes = std::uint64_t{mib} << 20;
    std::size_t rows = 1024;
    while (std::uint64_t{rows} * rows * 4 <= bytes) rows *= 2;
    matrix = or_die(Matrix<std::uint64_t>::create(rows, bytes / rows / 8));
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
  std::size_t mib;
  Matrix<std::uint64_t> matrix;
};

// --- timing

struct Samples {
  std::vector<double> seconds;
  double total() const {
    double sum = 0;
    for (const double s : seconds) sum += s;
    return sum;
  }
  double best() const { return *std::min_element(seconds.begin(), seconds.end()); }
  double worst() const { return *std::max_element(seconds.begin(), seconds.end()); }
  double median() const {
    auto sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
  template <class Run>
  void take(const Run& run) {
    const auto start = Clock::now();
    run();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  Record& add_to(Record& record) const {
    return record.add("samples", seconds.size())
        .add("seconds", median())
        .add("best", best())
        .add("worst", worst());
  }
};

/// Writes the JSON array, and a line to stderr for each object.
class Output {
 public:
  Output() { std::fputs("[", stdout); }
  ~Output() { std::fputs("\n]\n", stdout); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  void print(const Record& record) {
    const std::string text = record.to_string();
    std::printf("%s\n%s", first_ ? "" : ",", text.c_str());
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", text.c_str());
    first_ = false;
  }

 private:
  bool first_ = true;
};

struct Session {
  const Options& options;
  Output& output;
  Clock::time_point start = Clock::now();
  bool late() const { return std::chrono::duration<double>(Clock::now() - start).count() > options.seconds; }
};

/// A product to be timed with its neighbours.
struct Contender {
  Case what;
  std::function<void()> run;
  std::function<void(std::size_t)> part;  ///< of the first so many queries; may be empty
  std::function<bool()> check;
  std::function<void(Record&)> describe;
  Samples samples;
};

Record product_record(const char* kind, const Case& c, const Database& database, const char* field,
                      const char* kernel) {
  Record record(kind);
  record.add("contender", c.contender).add("field", field).add("kernel", kernel).add("mib", database.mib);
  record.add("q", c.q).add("threads", c.threads);
  return record;
}

/// Checks, then times all contenders in turns, with passes over memory between.
void measure(Session& session, const Database& database, ConstView<std::byte> D, const char* field,
             const char* kernel, std::vector<Contender> contenders) {
  const Options& options = session.options;
  const auto skip = [&](const Contender& contender, const char* reason) {
    session.output.print(
        product_record("skipped", contender.what, database, field, kernel).add("reason", reason));
  };
  std::vector<Contender*> timed;
  std::map<std::string, double> per_query;  // seconds, of the last case
  std::vector<int> teams;
  for (Contender& contender : contenders) {
    double& seconds = per_query[contender.what.contender];
    const auto q = static_cast<double>(contender.what.q);
    // Few queries cost more each. As many as surely take no longer than the limit tell how long all take.
    const double rows = std::floor(std::min(q / 8, options.case_limit / seconds));
    if (seconds * q > options.case_limit && contender.part && rows >= 1) {
      Samples part;
      part.take([&] { contender.part(static_cast<std::size_t>(rows)); });
      seconds = part.best() / rows;
    }
    if (seconds * q > options.case_limit) {
      skip(contender, "it would take longer than --case_limit");
      continue;
    }
    if (session.late()) {
      skip(contender, "--seconds are over");
      continue;
    }
    Samples first;
    first.take(contender.run);
    if (!contender.check()) die("wrong answer: " + contender.what.contender + " with kernel " + kernel);
    seconds = first.best() / q;
    timed.push_back(&contender);
    if (std::find(teams.begin(), teams.end(), contender.what.threads) == teams.end()) {
      teams.push_back(contender.what.threads);
    }
  }
  std::vector<Samples> reads(teams.size());
  constexpr std::size_t kMostRounds = 1000;
  std::uint64_t sum = 0;
  for (std::size_t round = 0; round < kMostRounds; ++round) {
    bool more = false;
    for (Contender* contender : timed) {
      const bool enough = contender->samples.seconds.size() >= options.samples &&
                          contender->samples.total() >= options.case_seconds;
      if (enough || (round > 0 && session.late())) continue;
      contender->samples.take(contender->run);
      more = true;
    }
    if (!more) break;
    for (std::size_t t = 0; t < teams.size(); ++t) {
      reads[t].take([&] { sum += read_memory(database.data(), database.bytes(), teams[t]); });
    }
  }
  for (std::size_t t = 0; t < teams.size(); ++t) {
    Record record("memory");
    record.add("pass", "read").add("mib", database.mib).add("threads", teams[t]).add("checksum", sum);
    reads[t].add_to(record).add("gb_per_s", static_cast<double>(database.bytes()) / reads[t].median() / 1e9);
    session.output.print(record);
  }
  const double bytes = static_cast<double>(D.rows) * static_cast<double>(D.cols);
  for (const Contender* contender : timed) {
    const Case& c = contender->what;
    const double seconds = contender->samples.median(), q = static_cast<double>(c.q);
    const auto team =
        static_cast<std::size_t>(std::find(teams.begin(), teams.end(), c.threads) - teams.begin());
    const double read = reads[team].median() * bytes / static_cast<double>(database.bytes());
    Record record = product_record("product", c, database, field, kernel);
    contender->describe(record);
    contender->samples.add_to(record)
        .add("ms_per_query_gib", seconds * 1e3 / q / (bytes / (1 << 30)))
        .add("best_ms_per_query_gib", contender->samples.best() * 1e3 / q / (bytes / (1 << 30)))
        .add("gb_per_s", bytes / seconds / 1e9)
        .add("share_of_read", read / seconds);
    session.output.print(record);
  }
}

/// How long laying the database out takes, beside copies of memory into memory that is there and into new
/// memory (of its first GiB: three copies of all of it may not fit).
template <class F>
void measure_prepare(Session& session, const strassen::Engine<F>& engine, const Database& database,
                     ConstView<std::byte> D, int threads) {
  const std::size_t part = std::min(database.bytes(), std::size_t{1} << 30);
  auto target = or_die(AlignedBuffer::create(part));
  Samples prepare, copy, fresh;
  strassen::Layout layout = strassen::Layout::kRows;
  for (int round = 0; round < 3; ++round) {
    prepare.take([&] { layout = or_die(engine.prepare(D, {strassen::Layout::kAuto, threads})).layout(); });
    copy.take([&] { std::memcpy(target.data(), database.data(), part); });
    fresh.take([&] {
      auto buffer = or_die(AlignedBuffer::create(part));
      std::memcpy(buffer.data(), database.data(), part);
    });
  }
  const double bytes = static_cast<double>(database.bytes()), copied = static_cast<double>(part);
  Record record("prepare");
  record.add("field", engine.field().tag().name()).add("kernel", engine.kernels().name);
  record.add("mib", database.mib).add("threads", threads);
  record.add("layout", layout == strassen::Layout::kSliced ? "sliced" : "rows");
  prepare.add_to(record)
      .add("copy_gb_per_s", copied / copy.median() / 1e9)
      .add("fresh_copy_gb_per_s", copied / fresh.median() / 1e9)
      .add("share_of_copy", copy.median() * bytes / copied / prepare.median())
      .add("share_of_fresh_copy", fresh.median() * bytes / copied / prepare.median())
      .add("best_share_of_copy", copy.best() * bytes / copied / prepare.best())
      .add("best_share_of_fresh_copy", fresh.best() * bytes / copied / prepare.best());
  session.output.print(record);
}

/// Whether some sums are right, by the field's scalar arithmetic.
template <class F>
bool right_answer(const F& f, ConstView<typename F::Elem> Q, ConstView<std::byte> D,
                  ConstView<typename F::Sum> R) {
  std::mt19937_64 engine(3);
  for (int round = 0; round < 16; ++round) {
    const std::size_t i = engine() % R.rows, j = engine() % R.cols;
    auto sum = f.sum_scale(Q.at(i, 0), f.load_word(D.row(0) + j * f.word_bytes()));
    for (std::size_t k = 1; k < D.rows; ++k) {
      sum = f.sum_add(sum, f.sum_scale(Q.at(i, k), f.load_word(D.row(k) + j * f.word_bytes())));
    }
    if (!f.sum_equal(sum, R.at(i, j))) return false;
  }
  return true;
}

/// The cases of one field on one kernel, and with `peers` those of the other ways over GF(2^8).
template <class F>
void measure_kernel(Session& session, const F& f, const Kernels<F>& kernels, const Database& database,
                    bool peers) {
  const strassen::Engine<F> engine(f, kernels);
  const std::string field = f.tag().name();
  const ConstView<std::byte> D = database.words(f.word_bytes());
  std::vector<Case> cases;
  std::size_t most = 0;
  for (const Case& c : session.options.cases) {
    if (c.contender != field && !(peers && contains(peer_names(), c.contender))) continue;
    cases.push_back(c);
    most = std::max(most, c.q);
  }
  if (cases.empty()) return;
  measure_prepare(session, engine, database, D, cases.front().threads);

  const std::size_t words = D.cols / f.word_bytes();
  std::map<int, strassen::PreparedMatrix<F>> databases;  // by the levels that are stored
  const auto how = [](const Case& c) {
    if (c.stored == kStoredResidues)
      return strassen::PrepareOptions{strassen::Layout::kResidues, c.threads, 0};
    return strassen::PrepareOptions{strassen::Layout::kAuto, c.threads, c.stored};
  };
  for (const Case& c : cases) {
    if (!databases.contains(c.stored)) databases.emplace(c.stored, or_die(engine.prepare(D, how(c))));
  }
  auto Q = or_die(Matrix<typename F::Elem>::create(most, D.rows));
  auto R = or_die(Matrix<typename F::Sum>::create(most, words));
  Source source;
  for (std::size_t i = 0; i < most; ++i) f.random_fill(source, {Q.row(i), D.rows});

  std::vector<Contender> contenders;
  for (const Case& c : cases) {
    const auto queries = std::as_const(Q).view().window(0, 0, c.q, D.rows);
    const auto results = R.view().window(0, 0, c.q, words);
    Contender contender{c, {}, {}, [=] { return right_answer<F>(f, queries, D, results); }, {}, {}};
    if (c.contender == field) {
      const strassen::ExecOptions exec{c.threads, c.depth};
      const strassen::PreparedMatrix<F>& prepared = databases.at(c.stored);
      contender.run = [=, &engine, &prepared] { or_die(engine.multiply(queries, prepared, results, exec)); };
      contender.part = [=, &engine, &prepared](std::size_t rows) {
        or_die(engine.multiply(queries.window(0, 0, rows, queries.cols), prepared,
                               results.window(0, 0, rows, results.cols), exec));
      };
      contender.describe = [=, &engine](Record& record) {
        const strassen::Shape shape{c.q, D.rows, results.cols};
        const auto plan = engine.plan(shape, exec, how(c));
        record.add("depth", plan.depth)
            .add("auto_depth", engine.plan(shape, {c.threads, -1}, how(c)).depth)
            .add("prepared", c.stored == kStoredResidues ? "residues" : std::to_string(plan.stored))
            .add("prepared_bytes", engine.prepared_bytes(shape.r, shape.s, how(c)))
            .add("plan", plan.to_string())
            .add("workspace", plan.workspace_bytes);
      };
    } else if constexpr (std::is_same_v<F, gf2e::Gf2_8>) {
      contender.describe = [](Record&) {};
      if (c.contender == "table") {
        const auto table = std::make_shared<TableProduct>(f);
        contender.run = [=] { table->multiply(queries, D, results); };
      } else {
        [[maybe_unused]] PeerMaker make = nullptr;
#if defined(PIRX_BENCH_M4RIE)
        if (c.contender == "m4rie") make = make_m4rie;
#endif
#if defined(PIRX_BENCH_ISAL)
        if (c.contender == "isal") make = make_isal;
#endif
        const Peer peer = make(queries, D);
        contender.run = peer.run;
        contender.check = peer.check;
      }
    }
    contenders.push_back(std::move(contender));
  }
  measure(session, database, D, field.c_str(), kernels.name, std::move(contenders));
}

template <class F>
void measure_field(Session& session, const F& f, const Database& database) {
  const CpuFeatures allowed = allowed_cpu_features_or_die();
  const auto& names = session.options.kernels;
  bool first = true;
  for (const Kernels<F>& kernels : kernel_table(f)) {
    if ((kernels.needs & ~allowed) != 0) continue;
    if (contains(names, "all") || contains(names, kernels.name) || (first && contains(names, "best"))) {
      measure_kernel(session, f, kernels, database, first && f.tag() == kTagGf2_8);
    }
    first = false;
  }
}

// --- the machine

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(": ") + 2, line.size()));
  }
  return "unknown";
}

void run(const Options& options) {
  Output output;
  Session session{options, output};
  Record context("context");
  context.add("cpu", cpu_model())
      .add("cpu_features", cpu_features_name(detected_cpu_features()))
      .add("kernel_features", cpu_features_name(allowed_cpu_features_or_die()))
      .add("compiler",
#if defined(__clang__)
           "clang " __clang_version__
#else
           "gcc " __VERSION__
#endif
      );
  output.print(context);
  for (const InstructionRate& rate : measure_instruction_rates()) {
    output.print(Record("rate").add("name", rate.name).add("per_second", rate.per_second));
  }
  auto known = peer_names();
  for_each_field([&](const auto& f) { known.push_back(f.tag().name()); });
  for (const Case& c : options.cases) {
    if (contains(known, c.contender)) continue;
    output.print(
        Record("skipped").add("contender", c.contender).add("q", c.q).add("reason", "not in this build"));
  }
  for (const std::size_t mib : options.mib) {
    const Database database(mib);
    for_each_field([&](const auto& f) { measure_field(session, f, database); });
  }
}

}  // namespace
}  // namespace pirx::bench

int main(int argc, char** argv) {
  pirx::bench::run(pirx::bench::parse(argc, argv));
  return 0;
}
