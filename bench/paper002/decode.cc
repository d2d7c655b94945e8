// What it costs to decode a block, with and without a liar, beside copying the same replies and beside a
// plain Berlekamp-Welch decoder that solves a system of equations for every word. Through the public client;
// answers are compared with the database before anything is timed. Prints JSON; the ratios are the figures.
#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "paper002/deployment.h"
#include "pirx/base/cpu.h"

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;
namespace itpir = pirx::itpir;
using namespace pirx::bench;

struct Arguments {
  std::uint64_t block_bytes = std::uint64_t{4} << 20;
  unsigned servers = 8, threshold = 2;
  int runs = 15;
  std::string field = "gf2_8";
  std::size_t words = 20'000;
};

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}
struct Times {
  std::vector<double> gather, decode, cut;
};

/// Gathers, decodes and cuts one answer out; checks it.
void decode_once(const Deployment& deployment, pirx::Rng& rng, int liar, Times& times) {
  const std::uint64_t wanted = 1;
  auto query = need(deployment.client().query({&wanted, 1}, rng));
  auto replies = deployment.answer(query);
  if (liar >= 0) {
    auto& reply = replies[static_cast<std::size_t>(liar)];
    constexpr std::size_t header = itpir::MessageHeader::kBytes;
    // A bit in every 20th byte: an element of every field it was one of before, but for the top of a few.
    for (std::size_t b = header; b < reply.size(); b += 21) reply[b] ^= std::byte{1};
  }
  auto collector = deployment.client().collect(std::move(query.state));
  auto start = Clock::now();
  for (std::size_t j = 0; j < replies.size(); ++j) need(collector.add(j, replies[j]));
  times.gather.push_back(milliseconds_since(start));
  start = Clock::now();
  const auto report = need(collector.decode());
  times.decode.push_back(milliseconds_since(start));
  start = Clock::now();
  const auto answer = need(std::move(collector).finish());
  times.cut.push_back(milliseconds_since(start));
  need(report.status == itpir::DecodeStatus::kOk && answer.certainty == Certainty::kProven,
       "the answer is not proven");
  need(answer.records.at(0) == deployment.record(wanted), "the answer is wrong");
  for (int j = 0; j < static_cast<int>(answer.servers.size()); ++j) {
    const bool lied = answer.servers[static_cast<std::size_t>(j)] == ServerStatus::kLied;
    need(lied == (j == liar), "another server is named a liar");
  }
}

/// memcpy of as many bytes as all replies have, between buffers that exist already.
double copy_once(const std::vector<pirx::Bytes>& from, std::vector<pirx::Bytes>& to) {
  const auto start = Clock::now();
  for (std::size_t j = 0; j < from.size(); ++j) std::memcpy(to[j].data(), from[j].data(), from[j].size());
  return milliseconds_since(start);
}

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

/// Nanoseconds a word of words with one wrong value each.
double time_berlekamp_welch(const Arguments& a) {
  const BerlekampWelch decoder(a.servers, a.threshold);
  std::mt19937_64 random(2);
  std::vector<std::uint8_t> values(a.words * a.servers), truth;
  for (std::size_t w = 0; w < a.words; ++w) {
    std::vector<std::uint8_t> coefficients(a.threshold + 1);
    for (auto& c : coefficients) c = static_cast<std::uint8_t>(random());
    truth.push_back(coefficients[0]);
    for (unsigned j = 0; j < a.servers; ++j) {
      std::uint8_t value = 0;
      for (std::size_t c = coefficients.size(); c-- > 0;) {
        value =
            static_cast<std::uint8_t>(decoder.mul(value, static_cast<std::uint8_t>(j + 1)) ^ coefficients[c]);
      }
      values[w * a.servers + j] = value;
    }
    values[w * a.servers + random() % a.servers] ^= decoder.radius() > 0 ? 0x5A : 0;
  }
  const auto start = Clock::now();
  for (std::size_t w = 0; w < a.words; ++w) {
    need(decoder.decode(values.data() + w * a.servers) == truth[w], "Berlekamp-Welch is wrong");
  }
  return milliseconds_since(start) * 1e6 / static_cast<double>(a.words);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app("Decoding a block beside copying its replies and beside Berlekamp-Welch");
  app.add_option("--bytes", a.block_bytes, "Bytes of the block");
  app.add_option("--servers", a.servers, "k")->check(CLI::Range(2, 30));
  app.add_option("--threshold", a.threshold, "t = d")->check(CLI::Range(1, 28));
  app.add_option("--runs", a.runs, "Of each, in turns; medians are printed")->check(CLI::Range(1, 1000));
  app.add_option("--field", a.field, "gf2_8, gf2_16, w160, w48");
  app.add_option("--words", a.words, "That Berlekamp-Welch decodes")->check(CLI::Range(1, 10'000'000));
  CLI11_PARSE(app, argc, argv);
  need(a.threshold + 3 <= a.servers, "a liar is corrected by t + 3 servers or more");

  const Deployment deployment({a.field, a.servers, a.threshold, 1, 2, a.block_bytes});
  auto rng = need(pirx::Rng::from_os());
  const auto bytes = deployment.client().reply_bytes(1);
  std::vector<pirx::Bytes> from(a.servers, pirx::Bytes(bytes, std::byte{1})), to = from;
  Times honest, lied, ignored;
  std::vector<double> copies, solved;
  decode_once(deployment, rng, -1, ignored);
  decode_once(deployment, rng, 1, ignored);
  for (int run = 0; run < a.runs; ++run) {
    copies.push_back(copy_once(from, to));
    decode_once(deployment, rng, -1, honest);
    copies.push_back(copy_once(from, to));
    decode_once(deployment, rng, run % static_cast<int>(a.servers), lied);
    solved.push_back(time_berlekamp_welch(a));
  }
  const auto sum = [](const std::vector<double>& x, const std::vector<double>& y) {
    std::vector<double> total(x);
    for (std::size_t i = 0; i < x.size(); ++i) total[i] += y[i];
    return total;
  };
  const double copy = median(copies), decode = median(honest.decode);
  // With a liar the wanted row is made in finish(), without one in decode(): both are compared whole.
  const double whole_free = median(sum(honest.decode, honest.cut)),
               whole_lied = median(sum(lied.decode, lied.cut));
  Json json = {
      {"kind", "decode"},
      {"cpu", pirx::cpu_features_name(need(pirx::allowed_cpu_features()))},
      {"compiler", __VERSION__},
      {"field", a.field},
      {"servers", a.servers},
      {"threshold", a.threshold},
      {"block_bytes", a.block_bytes},
      {"runs", a.runs},
      {"copy_ms", copy},
      {"gather_ms", median(honest.gather)},
      {"decode_ms", decode},
      {"cut_ms", median(honest.cut)},
      {"one_liar_ms", {{"decode", median(lied.decode)}, {"with_records", whole_lied}}},
      {"share_of_copy_speed", copy / decode},
      {"share_of_copy_speed_with_records", copy / whole_free},
      {"one_liar_to_error_free", whole_lied / whole_free},
  };
  if (a.field == "gf2_8") {
    json["berlekamp_welch_ns_per_word"] = median(solved);
    json["berlekamp_welch_to_one_liar"] =
        median(solved) * static_cast<double>(a.block_bytes) / 1e6 / whole_lied;
  }
  std::printf("%s\n", json.dump(2).c_str());
  return 0;
}
