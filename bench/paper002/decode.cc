// What it costs to decode a block, with and without a liar, beside copying the same replies and beside a
// plain Berlekamp-Welch decoder that solves a system of equations for every word. Through the public client.
//
// copy             memcpy of as many bytes as all replies have
// gather           from the bytes of replies to checked values
// decode           from there to values of the row, all replies compared
// records/liars:N  decode, and the record cut out of the row
// berlekamp_welch  words with a wrong value each, scaled to a block
//
// Seconds of the processor. The answer is compared with the database before anything is timed.
#include <array>
#include <random>

#include "paper002/deployment.h"

namespace {

using namespace pirx::bench;
using benchmark::State;

/// Berlekamp-Welch over GF(2^8), one word after another, as text books have it, with tables of logarithms.
class BerlekampWelch {
 public:
  BerlekampWelch(unsigned k, unsigned d) : k_(k), d_(d), e_((k - d - 1) / 2) {
    unsigned value = 1;
    for (unsigned i = 0; i < 255; ++i) {
      exp_[i] = exp_[i + 255] = static_cast<std::uint8_t>(value);
      log_[value] = i;
      value ^= value << 1;  // times x + 1, a generator
      if (value & 0x100) value ^= 0x11B;
    }
  }
  std::uint8_t mul(std::uint8_t a, std::uint8_t b) const {
    return a == 0 || b == 0 ? std::uint8_t{0} : exp_[log_[a] + log_[b]];
  }
  std::uint8_t inv(std::uint8_t a) const { return exp_[255 - log_[a]]; }

  /// The value at 0 of the polynomial of degree d that all but e of the values y at 1 .. k are of.
  std::optional<std::uint8_t> decode(const std::uint8_t* y) const {
    // Q(x_j) = y_j E(x_j) with deg Q <= d + e and E monic of degree e: k equations.
    const unsigned q = d_ + e_ + 1, n = q + e_;
    std::array<std::array<std::uint8_t, 33>, 32> rows{};
    for (unsigned j = 0; j < k_; ++j) {
      std::uint8_t power = 1;
      const auto x = static_cast<std::uint8_t>(j + 1);
      for (unsigned c = 0; c < q; ++c, power = mul(power, x)) rows[j][c] = power;
      power = 1;
      for (unsigned c = 0; c < e_; ++c, power = mul(power, x)) rows[j][q + c] = mul(y[j], power);
      rows[j][n] = mul(y[j], power);
    }
    std::array<unsigned, 32> pivots{};
    unsigned rank = 0;
    for (unsigned c = 0; c < n && rank < k_; ++c) {
      unsigned r = rank;
      while (r < k_ && rows[r][c] == 0) ++r;
      if (r == k_) continue;
      std::swap(rows[r], rows[rank]);
      const auto scale = inv(rows[rank][c]);
      for (unsigned i = c; i <= n; ++i) rows[rank][i] = mul(rows[rank][i], scale);
      for (unsigned other = 0; other < k_; ++other) {
        const auto factor = rows[other][c];
        if (other == rank || factor == 0) continue;
        for (unsigned i = c; i <= n; ++i) rows[other][i] ^= mul(factor, rows[rank][i]);
      }
      pivots[rank++] = c;
    }
    for (unsigned r = rank; r < k_; ++r) {
      if (rows[r][n] != 0) return std::nullopt;
    }
    std::array<std::uint8_t, 33> solution{};
    for (unsigned r = 0; r < rank; ++r) solution[pivots[r]] = rows[r][n];
    // Q / E, from the top.
    std::array<std::uint8_t, 33> quotient{};
    std::array<std::uint8_t, 33> E{};
    for (unsigned c = 0; c < e_; ++c) E[c] = solution[q + c];
    E[e_] = 1;
    for (unsigned c = d_ + 1; c-- > 0;) {
      quotient[c] = solution[c + e_];
      for (unsigned i = 0; i <= e_; ++i) solution[c + i] ^= mul(quotient[c], E[i]);
    }
    for (unsigned c = 0; c < q; ++c) {
      if (solution[c] != 0) return std::nullopt;
    }
    return quotient[0];
  }
  unsigned radius() const { return e_; }

 private:
  unsigned k_, d_, e_;
  std::array<std::uint8_t, 510> exp_{};
  std::array<unsigned, 256> log_{};
};

/// Words of GF(2^8) with a wrong value each, and what they were.
struct Words {
  Words(std::size_t words, unsigned servers, unsigned threshold) : decoder(servers, threshold), k(servers) {
    std::mt19937_64 random(2);
    for (std::size_t w = 0; w < words; ++w) {
      std::vector<std::uint8_t> coefficients(threshold + 1);
      for (auto& c : coefficients) c = static_cast<std::uint8_t>(random());
      truth.push_back(coefficients[0]);
      for (unsigned j = 1; j <= k; ++j) {
        std::uint8_t value = 0;
        for (std::size_t c = coefficients.size(); c-- > 0;) {
          value =
              static_cast<std::uint8_t>(decoder.mul(value, static_cast<std::uint8_t>(j)) ^ coefficients[c]);
        }
        values.push_back(value);
      }
      values[w * k + random() % k] ^= decoder.radius() > 0 ? 0x5A : 0;
    }
    found = truth;
  }
  void decode() {
    for (std::size_t w = 0; w < truth.size(); ++w) found[w] = decoder.decode(&values[w * k]).value_or(0);
  }
  BerlekampWelch decoder;
  unsigned k;
  std::vector<std::uint8_t> values, truth, found;
};

constexpr std::size_t kNobody = ~std::size_t{0};

struct Bench {
  Settings settings;
  pirx::Rng rng = need(pirx::Rng::from_os());
  std::unique_ptr<Deployment> deployment = std::make_unique<Deployment>(settings);
  std::vector<pirx::Bytes> from{
      settings.servers,
      pirx::Bytes(static_cast<std::size_t>(deployment->client().reply_bytes(1)), std::byte{1})};
  std::vector<pirx::Bytes> to = from;

  Retrieval served(std::size_t liar) {
    Retrieval retrieval(*deployment, rng, {1});
    retrieval.ask();
    retrieval.serve(liar);
    return retrieval;
  }
  void copy() {
    for (std::size_t j = 0; j < from.size(); ++j) std::memcpy(to[j].data(), from[j].data(), from[j].size());
  }
  /// Whether the answer is right, and nobody but the liar is named as one.
  bool right(std::size_t liar) {
    Retrieval retrieval = served(liar);
    retrieval.gather();
    retrieval.finish();
    const auto& servers = retrieval.answer().servers;
    bool right = retrieval.right();
    for (std::size_t j = 0; j < servers.size(); ++j) {
      right = right && (servers[j] == pirx::itpir::ServerStatus::kLied) == (j == liar);
    }
    return right;
  }

  void run(State& state, std::size_t liar, bool gathers, bool finishes) {
    if (!gathers && !right(liar)) return Program::wrong(state, "a wrong answer");
    std::optional<Retrieval> retrieval;
    const auto before = [&] {
      retrieval.emplace(served(liar));
      if (!gathers) retrieval->gather();
    };
    const double seconds = processor_loop(state, before, [&] {
      if (gathers) return retrieval->gather();
      retrieval->decode();
      if (finishes) retrieval->finish();
    });
    state.counters["share_of_copy_speed"] = seconds_of([this] { copy(); }, processor_clock) / seconds;
  }
};

}  // namespace

int main(int argc, char** argv) {
  Program program(argc, argv);
  Settings settings;
  settings.record_bytes = program.number("bytes", 4 << 20, 1, 1 << 30);
  settings.servers = program.numbers<unsigned>("servers", "8", 4, 30).at(0);
  settings.threshold = program.numbers<unsigned>("threshold", "2", 1, 27).at(0);
  settings.field = program.text("field", "gf2_8");
  const auto words = program.number("words", 20'000, 1, 10'000'000);
  program.start();
  describe_machine();
  need(settings.threshold + 3 <= settings.servers, "--threshold: a liar is found by --threshold + 3 servers");
  for (const auto& [name, value] : {std::pair{"field", settings.field},
                                    {"servers", std::to_string(settings.servers)},
                                    {"threshold", std::to_string(settings.threshold)},
                                    {"block_bytes", std::to_string(settings.record_bytes)}}) {
    benchmark::AddCustomContext(name, value);
  }

  const auto bench = std::make_shared<Bench>(Bench{settings});
  const auto add = [](const char* name, auto run) {
    benchmark::RegisterBenchmark(name, run)->UseManualTime()->Unit(benchmark::kMillisecond);
  };
  add("copy", [bench](State& state) {
    processor_loop(
        state, [] {}, [&] { bench->copy(); });
  });
  add("gather", [bench](State& state) { bench->run(state, kNobody, true, false); });
  add("decode", [bench](State& state) { bench->run(state, kNobody, false, false); });
  add("records/liars:0", [bench](State& state) { bench->run(state, kNobody, false, true); });
  add("records/liars:1", [bench](State& state) { bench->run(state, 1, false, true); });
  if (settings.field == "gf2_8") {
    add("berlekamp_welch", [settings, words](State& state) {
      Words plain(static_cast<std::size_t>(words), settings.servers, settings.threshold);
      plain.decode();
      spoil(std::as_writable_bytes(std::span(plain.found)));
      if (plain.found != plain.truth) return Program::wrong(state, "a wrong answer");
      const double scale = static_cast<double>(settings.record_bytes) / static_cast<double>(words);
      processor_loop(
          state, [] {}, [&] { plain.decode(); }, scale);
    });
  }
  return Program::run();
}
