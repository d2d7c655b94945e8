// SPDX-License-Identifier: Apache-2.0
// Experiment 2 of paper 002 (Henry 2016): a server's time for a query to a u-ary bucket, beside one to the
// plain database. Uses the shipped encoder, shares and engine.
//
// u-ary/field:.../stored_as:.../q:.../u:...   seconds of the processor; u:1 is the plain database
//
// With --on_disk=1 the plain database is a mapped file beside this program, so that it can be larger than
// memory; times are then of the wall's clock, as the processor waits for the disk.
//
// Before anything is timed, the answers of every bucket are decoded and checked on a few columns. The counter
// speedup_over_u is the speed-up over a query to the plain database, which follows at once, divided by u. It
// should be 1.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "bench/measure.h"
#include "pirx/batchcodes/encoder.h"
#include "pirx/batchcodes/polynomial_code.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"

namespace pirx::bench {
namespace {

using namespace batchcodes;
using benchmark::State;
using matrix::ConstView;
using matrix::Matrix;

constexpr strassen::ExecOptions kOneThread{1, -1};
constexpr std::size_t kCheckedWords = 16;  // the first ones of each row

struct Sizes {
  std::uint64_t mib, row_kib;
  bool on_disk;
  double (*clock() const)() { return on_disk ? wall_clock : processor_clock; }
};

/// Random rows, in memory or in a file.
class PlainDatabase {
 public:
  PlainDatabase(const Sizes& sizes, std::size_t rows, std::size_t row_bytes, std::size_t head_bytes)
      : heads_(need(Matrix<std::byte>::create(rows, std::min(row_bytes, head_bytes)))) {
    auto rng = need(Rng::from_os());
    int file = -1;
    if (!sizes.on_disk) {
      memory_ = need(Matrix<std::byte>::create(rows, row_bytes));
      view_ = std::as_const(memory_).view();
    } else {
      const auto name = std::filesystem::read_symlink("/proc/self/exe").string() + ".database";
      file = ::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      need(file >= 0 && ::unlink(name.c_str()) == 0, "cannot make the file");
    }
    Bytes row(row_bytes);
    for (std::size_t i = 0; i < rows; ++i) {
      rng.fill(row);
      std::copy_n(row.data(), heads_.cols(), heads_.row(i));
      if (file < 0) {
        std::copy(row.begin(), row.end(), memory_.row(i));
      } else {
        need(::write(file, row.data(), row_bytes) == static_cast<ssize_t>(row_bytes),
             "cannot write the file");
      }
    }
    if (file < 0) return;
    mapped_bytes_ = rows * row_bytes;
    mapped_ = ::mmap(nullptr, mapped_bytes_, PROT_READ, MAP_SHARED, file, 0);
    need(mapped_ != MAP_FAILED, "cannot map the file");
    ::close(file);
    view_ = {static_cast<const std::byte*>(mapped_), rows, row_bytes, row_bytes};
  }
  ~PlainDatabase() {
    if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
  }
  PlainDatabase(const PlainDatabase&) = delete;
  PlainDatabase& operator=(const PlainDatabase&) = delete;

  ConstView<std::byte> view() const { return view_; }
  /// The first words of each row, in memory: what is checked.
  ConstView<std::byte> heads() const { return heads_.view(); }

 private:
  Matrix<std::byte> heads_, memory_;
  ConstView<std::byte> view_;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

/// One server's bucket for one arity.
template <class F>
class Bucket {
 public:
  using Elem = typename F::Elem;

  /// As sums, or where they are that as words.
  Bucket(const F& f, unsigned u, const PlainDatabase& database, std::size_t s, std::size_t queries,
         bool as_words, Rng& rng, const strassen::ExecOptions& exec)
      : f_(f), engine_(f), exec_(exec), u_(u), s_(s), heads_(database.heads()) {
    const auto D = database.view();
    const unsigned l = u + 1;  // t = 1: the fewest servers
    const auto encoding =
        need(Encoding::create({f.tag(), 1, 1, u, 0, 0, need(Encoding::suggested_coordinates(f.tag(), l))}));
    code_.emplace(engine_, encoding);
    const auto R = static_cast<std::size_t>(encoding.rows(D.rows));
    // The shares of server 0 in one matrix, and of the others for the check.
    for (unsigned j = 0; j < l; ++j) shares_.push_back(need(Matrix<Elem>::create(queries, R)));
    auto coins = need(Matrix<Elem>::create(1, R)), shares = need(Matrix<Elem>::create(l, R));
    for (std::size_t i = 0; i < queries; ++i) {
      wanted_.push_back({i * 7919 % D.rows, ~std::uint64_t{0}});
      f.random_fill(rng, std::span<Elem>(coins.row(0), R));
      need(code_->share({&wanted_[i], 1}, std::as_const(coins).view(), shares.view()));
      for (unsigned j = 0; j < l; ++j) std::copy_n(shares.row(j), R, shares_[j].row(i));
    }
    answers_ = need(Matrix<Elem>::create(queries, s));
    // Without an encoding every server holds the plain database.
    if (u > 1) {
      bucket_ = need(Matrix<Elem>::create(R, s));
      const auto encoder = need(Encoder<F>::create(engine_, encoding, {0}));
      encode_seconds_ =
          seconds_of([&] { need(encoder.encode(0, D, {}, bucket_.view(), exec_)); }, processor_clock);
    }
    if (u > 1 && as_words) {
      words_ = need(Matrix<std::byte>::create(R, s * f.word_bytes()));
      for (std::size_t g = 0; g < R; ++g) {
        const std::span<const Elem> sums(bucket_.row(g), s);
        need(store_words(f, sums, {words_.row(g), words_.cols()}),
             "a sum is no word, by a rare chance: run it again");
      }
      bucket_ = {};
    }
    if (u == 1 || as_words) {
      const auto words = u == 1 ? D : std::as_const(words_).view();
      prepared_.emplace(need(engine_.prepare(words, {strassen::Layout::kAuto, exec.threads})));
    }
  }

  void answer() {
    if (prepared_) {
      need(engine_.multiply(shares_[0].view(), *prepared_, answers_.view(), exec_));
    } else {
      need(engine_.multiply_sums(shares_[0].view(), std::as_const(bucket_).view(), answers_.view(), exec_));
    }
  }

  /// Answers of server 0, and those of the other servers for the first words of each row, give the wanted
  /// blocks.
  bool answers_decode() const {
    const std::size_t width = std::min(s_, kCheckedWords), l = u_ + 1, queries = wanted_.size();
    const auto R = shares_[0].cols();
    const auto encoder = need(Encoder<F>::create(engine_, code_->encoding()));
    auto buckets = need(Matrix<Elem>::create(l * R, width)), replies = need(Matrix<Elem>::create(l, width));
    auto block = need(Matrix<Elem>::create(1, width));
    need(encoder.encode(0, heads_, {}, buckets.view()));
    for (std::size_t i = 0; i < queries; ++i) {
      for (std::size_t j = 1; j < l; ++j) {
        need(engine_.multiply_sums(shares_[j].view().window(i, 0, 1, R),
                                   std::as_const(buckets).view().window(j * R, 0, R, width),
                                   replies.view().window(j, 0, 1, width)));
      }
      std::copy_n(answers_.row(i), width, replies.row(0));
      const auto W = need(code_->interpolation_rows({&wanted_[i], 1}, code_->coordinates()));
      need(engine_.multiply_sums(W.view(), std::as_const(replies).view(), block.view()));
      const std::byte* expected = heads_.row(static_cast<std::size_t>(wanted_[i].block));
      for (std::size_t c = 0; c < width; ++c) {
        Elem found = block.at(0, c);
        spoil(std::as_writable_bytes(std::span(&found, 1)));
        if (!f_.sum_equal(f_.load_word(expected + c * f_.word_bytes()), found)) return false;
      }
    }
    return true;
  }

  double encode_seconds() const { return encode_seconds_; }
  /// What the server holds.
  std::uint64_t bytes() const {
    return shares_[0].cols() * s_ * (prepared_ ? f_.word_bytes() : sizeof(Elem));
  }
  std::string plan() const {
    return engine_.plan({answers_.rows(), shares_[0].cols(), s_}, exec_).to_string();
  }

 private:
  F f_;
  strassen::Engine<F> engine_;
  strassen::ExecOptions exec_;
  unsigned u_;
  std::size_t s_;
  ConstView<std::byte> heads_;
  std::optional<PolynomialCode<F>> code_;
  std::vector<Slot> wanted_;
  std::vector<Matrix<Elem>> shares_;
  Matrix<Elem> bucket_, answers_;
  Matrix<std::byte> words_;
  std::optional<strassen::PreparedMatrix<F>> prepared_;
  double encode_seconds_ = 0;
};

/// The plain database and its buckets.
template <class F>
struct Buckets {
  explicit Buckets(const Sizes& a)
      : s(std::max<std::size_t>(1, (a.row_kib << 10) / f.word_bytes())),
        // A multiple of 24 rows: every arity divides it, so that none pays for padding.
        D(a, std::max<std::size_t>(1, (a.mib << 20) / (s * f.word_bytes()) / 24) * 24, s * f.word_bytes(),
          kCheckedWords * f.word_bytes()) {}
  /// Null if its answers are wrong.
  Bucket<F>* of(unsigned u, std::size_t queries, bool as_words) {
    auto& bucket = made[u];
    if (!bucket) {
      bucket = std::make_unique<Bucket<F>>(f, u, D, s, queries, as_words, rng, kOneThread);
      bucket->answer();
      if (!bucket->answers_decode()) bucket.reset();
    }
    return bucket.get();
  }
  F f;
  Rng rng = need(Rng::from_os());
  std::size_t s;
  PlainDatabase D;
  std::map<unsigned, std::unique_ptr<Bucket<F>>> made;
};

/// A run in random order is for one field, way to store and number of queries.
template <class F>
void run(State& state, const Sizes& sizes, unsigned u, std::size_t queries, bool as_words) {
  const std::string kind = F{}.tag().name() + (as_words ? " words " : " sums ") + std::to_string(queries);
  auto& buckets = shared<Buckets<F>>(kind, sizes);
  Bucket<F>*const plain = buckets.of(1, queries, as_words), *const bucket = buckets.of(u, queries, as_words);
  if (plain == nullptr || bucket == nullptr) return Program::wrong(state, "a wrong answer");
  const double seconds = processor_loop(
      state, [] {}, [&] { bucket->answer(); }, 1, sizes.clock());
  const double base = seconds_of([&] { plain->answer(); }, sizes.clock());
  const auto rows = static_cast<double>(buckets.D.view().rows);
  state.counters["rows"] = rows;
  state.counters["words"] = static_cast<double>(buckets.s);
  state.counters["bucket_bytes"] = static_cast<double>(bucket->bytes());
  state.counters["plain_gb_per_s"] = rows * static_cast<double>(buckets.D.view().cols) / seconds / 1e9;
  state.counters["speedup_over_u"] = base / seconds / u;
  state.counters["encode_one_bucket_s"] = bucket->encode_seconds();
  state.SetLabel(bucket->plan());
}

template <class F>
void add_field(const Sizes& sizes, const std::vector<std::size_t>& queries,
               const std::vector<unsigned>& arities) {
  // Over a binary field every sum is a word.
  for (const char* stored_as : {"words", "sums"}) {
    const bool as_words = stored_as == std::string("words");
    if (!as_words && F{}.tag().kind == FieldKind::kBinary) break;
    for (const auto q : queries) {
      for (const auto u : arities) {
        const std::string name = "u-ary/field:" + F{}.tag().name() + "/stored_as:" + stored_as +
                                 "/q:" + std::to_string(q) + "/u:" + std::to_string(u);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=](State& state) { run<F>(state, sizes, u, q, as_words); })
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace
}  // namespace pirx::bench

int main(int argc, char** argv) {
  using namespace pirx;
  bench::Program program(argc, argv);
  const bench::Sizes sizes{program.number("mib", 1024, 1, 1 << 20), program.number("row_kib", 64, 1, 1 << 20),
                           program.number("on_disk", 0, 0, 1) == 1};
  const auto queries = program.numbers<std::size_t>("q", "1,16", 1, 1 << 20);
  const auto arities = program.numbers<unsigned>("u", "1,2,4,6,8", 1, 64);
  program.start();
  bench::add_field<gf2e::Gf2_8>(sizes, queries, arities);
  bench::add_field<gf2e::Gf2_16>(sizes, queries, arities);
  bench::add_field<fp::W160>(sizes, queries, arities);
  bench::add_field<fp::W48>(sizes, queries, arities);
  return bench::Program::run();
}
