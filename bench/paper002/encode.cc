// Experiment 2 of paper 002 (Henry 2016): one server's time for a query to a u-ary bucket, against the plain
// database, through the encoder, the client's shares and the engine that ship. Every bucket's answers are
// decoded on a narrow window before the clock runs. Prints a JSON record a case; the figure is speedup / u,
// of medians taken in turns, in seconds of one core.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "engine/record.h"
#include "paper002/measure.h"
#include "pirx/batchcodes/encoder.h"
#include "pirx/batchcodes/polynomial_code.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"

namespace {

using namespace pirx;
using namespace pirx::batchcodes;
using bench::cpu_milliseconds;
using bench::median;
using bench::need;
using matrix::ConstView;
using matrix::Matrix;

struct Arguments {
  std::uint64_t mib = 1024, row_kib = 64;
  std::vector<std::string> fields{"gf2_8", "gf2_16", "w160", "w48"};
  std::vector<unsigned> arities{1, 2, 4, 6, 8};
  std::vector<std::size_t> queries{1, 16};
  int samples = 7;
};

/// One server's bucket for one arity.
template <class F>
class Bucket {
 public:
  using Elem = typename F::Elem;

  /// As sums, or where they are that as words.
  Bucket(const F& f, unsigned u, const Matrix<std::byte>& D, std::size_t s, std::size_t queries,
         bool as_words, Rng& rng, const strassen::ExecOptions& exec)
      : f_(f), engine_(f), exec_(exec), u_(u), s_(s), D_(&D) {
    const unsigned l = u + 1;  // t = 1: the fewest servers
    const auto encoding =
        need(Encoding::create({f.tag(), 1, 1, u, 0, 0, need(Encoding::suggested_coordinates(f.tag(), l))}));
    code_.emplace(engine_, encoding);
    const auto R = static_cast<std::size_t>(encoding.rows(D.rows()));
    // The shares of server 0 in one matrix, and of the others for the check.
    for (unsigned j = 0; j < l; ++j) shares_.push_back(need(Matrix<Elem>::create(queries, R)));
    auto coins = need(Matrix<Elem>::create(1, R)), shares = need(Matrix<Elem>::create(l, R));
    for (std::size_t i = 0; i < queries; ++i) {
      wanted_.push_back({i * 7919 % D.rows(), ~std::uint64_t{0}});
      f.random_fill(rng, std::span<Elem>(coins.row(0), R));
      need(code_->share({&wanted_[i], 1}, std::as_const(coins).view(), shares.view()));
      for (unsigned j = 0; j < l; ++j) std::copy_n(shares.row(j), R, shares_[j].row(i));
    }
    answers_ = need(Matrix<Elem>::create(queries, s));
    // Without an encoding every server holds the plain database.
    if (u > 1) {
      bucket_ = need(Matrix<Elem>::create(R, s));
      const auto encoder = need(Encoder<F>::create(engine_, encoding, {0}));
      const double start = cpu_milliseconds();
      need(encoder.encode(0, D.view(), {}, bucket_.view(), exec_));
      encode_seconds_ = (cpu_milliseconds() - start) / 1e3;
    }
    if (u > 1 && as_words) {
      words_ = need(Matrix<std::byte>::create(R, s * f.word_bytes()));
      for (std::size_t g = 0; g < R; ++g) {
        const std::span<const Elem> sums(bucket_.row(g), s);
        if (!store_words(f, sums, {words_.row(g), words_.cols()})) {
          std::fprintf(stderr, "paper002_encode: a sum is no word, by a rare chance: run it again\n");
          std::exit(1);
        }
      }
      bucket_ = {};
    }
    if (u == 1 || as_words) {
      const auto words = u == 1 ? D.view() : std::as_const(words_).view();
      prepared_.emplace(need(engine_.prepare(words, {strassen::Layout::kAuto, exec.threads})));
    }
  }

  double answer() {
    const double start = cpu_milliseconds();
    if (prepared_) {
      need(engine_.multiply(shares_[0].view(), *prepared_, answers_.view(), exec_));
    } else {
      need(engine_.multiply_sums(shares_[0].view(), std::as_const(bucket_).view(), answers_.view(), exec_));
    }
    return (cpu_milliseconds() - start) / 1e3;
  }

  /// Answers of server 0, and those of the other servers for the first words of each row, give the wanted
  /// blocks.
  bool answers_decode() const {
    const std::size_t width = std::min<std::size_t>(s_, 16), l = u_ + 1, queries = wanted_.size();
    const auto R = shares_[0].cols();
    const auto encoder = need(Encoder<F>::create(engine_, code_->encoding()));
    auto buckets = need(Matrix<Elem>::create(l * R, width)), replies = need(Matrix<Elem>::create(l, width));
    auto block = need(Matrix<Elem>::create(1, width));
    need(encoder.encode(0, D_->view().window(0, 0, D_->rows(), width * f_.word_bytes()), {}, buckets.view()));
    for (std::size_t i = 0; i < queries; ++i) {
      for (std::size_t j = 1; j < l; ++j) {
        need(engine_.multiply_sums(shares_[j].view().window(i, 0, 1, R),
                                   std::as_const(buckets).view().window(j * R, 0, R, width),
                                   replies.view().window(j, 0, 1, width)));
      }
      std::copy_n(answers_.row(i), width, replies.row(0));
      const auto W = need(code_->interpolation_rows({&wanted_[i], 1}, code_->coordinates()));
      need(engine_.multiply_sums(W.view(), std::as_const(replies).view(), block.view()));
      const std::byte* expected = D_->row(static_cast<std::size_t>(wanted_[i].block));
      for (std::size_t c = 0; c < width; ++c) {
        if (!f_.sum_equal(f_.load_word(expected + c * f_.word_bytes()), block.at(0, c))) return false;
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
  const Matrix<std::byte>* D_;
  std::optional<PolynomialCode<F>> code_;
  std::vector<Slot> wanted_;
  std::vector<Matrix<Elem>> shares_;
  Matrix<Elem> bucket_, answers_;
  Matrix<std::byte> words_;
  std::optional<strassen::PreparedMatrix<F>> prepared_;
  double encode_seconds_ = 0;
};

template <class F>
void run(const F& f, const Arguments& a, std::size_t queries, bool as_words) {
  auto rng = need(Rng::from_os());
  const strassen::ExecOptions exec{1, -1};
  const std::size_t s = std::max<std::size_t>(1, (a.row_kib << 10) / f.word_bytes());
  // A multiple of 24 rows: every arity divides it, so that none pays for padding.
  const std::size_t r = std::max<std::size_t>(1, (a.mib << 20) / (s * f.word_bytes()) / 24) * 24;
  auto D = need(Matrix<std::byte>::create(r, s * f.word_bytes()));
  for (std::size_t i = 0; i < r; ++i) rng.fill({D.row(i), D.cols()});
  std::vector<std::unique_ptr<Bucket<F>>> buckets;
  std::vector<std::vector<double>> times(a.arities.size());
  for (const unsigned u : a.arities) {
    buckets.push_back(std::make_unique<Bucket<F>>(f, u, D, s, queries, as_words, rng, exec));
    buckets.back()->answer();
    if (!buckets.back()->answers_decode()) {
      std::fprintf(stderr, "paper002_encode: wrong blocks with u = %u over %s\n", u, f.tag().name().c_str());
      std::exit(1);
    }
  }
  for (int sample = 0; sample < a.samples; ++sample) {
    for (std::size_t i = 0; i < buckets.size(); ++i) times[i].push_back(buckets[i]->answer());
  }
  const double base = median(times[0]);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const double time = median(times[i]);
    const double speedup = base / time * a.arities[0];
    const auto [fastest, slowest] = std::minmax_element(times[i].begin(), times[i].end());
    bench::Record record("u-ary");
    record.add("field", f.tag().name())
        .add("stored_as", as_words ? "words" : "sums")
        .add("u", a.arities[i])
        .add("queries", queries)
        .add("rows", r)
        .add("words", s)
        .add("bucket_bytes", buckets[i]->bytes())
        .add("median_s", time)
        .add("min_s", *fastest)
        .add("max_s", *slowest)
        .add("plain_gb_per_s", static_cast<double>(r * D.cols()) / time * 1e-9)
        .add("speedup", speedup)
        .add("speedup_over_u", speedup / a.arities[i])
        .add("encode_one_bucket_s", buckets[i]->encode_seconds())
        .add("plan", buckets[i]->plan());
    std::printf("%s\n", record.to_string().c_str());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app{"Server speed-up of u-ary buckets (experiment 2 of paper 002)"};
  app.add_option("--mib", a.mib, "size of the plain database");
  app.add_option("--row_kib", a.row_kib, "size of a block");
  app.add_option("--fields", a.fields, "gf2_8, gf2_16, w160, w48")->delimiter(',');
  app.add_option("--u", a.arities, "arities; the first is what the others are compared with")->delimiter(',');
  app.add_option("--q", a.queries, "query vectors at a time")->delimiter(',');
  app.add_option("--samples", a.samples, "rounds; the median is reported");
  CLI11_PARSE(app, argc, argv);
  for (const auto& field : a.fields) {
    for (const auto queries : a.queries) {
      if (field == "gf2_8") {
        run(gf2e::Gf2_8{}, a, queries, true);
      } else if (field == "gf2_16") {
        run(gf2e::Gf2_16{}, a, queries, true);
      } else if (field == "w160") {
        for (const bool as_words : {true, false}) run(fp::W160{}, a, queries, as_words);
      } else if (field == "w48") {
        for (const bool as_words : {true, false}) run(fp::W48{}, a, queries, as_words);
      } else {
        std::fprintf(stderr, "paper002_encode: no field %s\n", field.c_str());
        return 1;
      }
    }
  }
}
