// SPDX-License-Identifier: Apache-2.0
// Whether the time of a client's function tells what is wanted: a fixed wish against random ones, in random
// order, and Welch's t of the two (dudect: Reparaz, Balasch and Verbauwhede 2017). This is the only look at
// kernels with AVX-512, which valgrind does not know. It can show a leak, and never that there is none.
//   constant_time_timing [MEASUREMENTS [TEXT]]   a line for each function (whose name has TEXT in it)
// t is the largest of ten: over the measurements below each tenth of the slowest, which other programs
// disturb. |t| above 10 is a leak, above 4.5 worth a longer run. From 10,000 measurements on the program
// fails if a function leaks, if a planted leak does not come out above 10, or if two sets of random wishes
// differ, which would be a mistake of the measurement.
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpir/inspire/client_core.h"
#include "cpir/spiral/client_core.h"
#include "pirx/base/cpu.h"
#include "pirx/itpir/chor/client.h"
#include "pirx/itpir/dpf/client.h"
#include "pirx/itpir/goldberg/client.h"

namespace {

using namespace pirx;
using U64 = std::uint64_t;

/// What the clock with the finest steps says. Where that is the processor's counter, the fences keep the
/// timed instructions between two readings; it counts other programs, too, whose effect is cut off as slow.
/// Elsewhere: nanoseconds that this thread used.
std::uint64_t ticks() {
#ifdef __x86_64__
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("mfence\n\tlfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
  return std::uint64_t{high} << 32 | low;
#else
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
#endif
}

struct Sample {
  U64 fixed;  ///< 1 or 0
  U64 wish;
  double took;
};

/// Welch's t over the samples that took at most `most`.
double welch(const std::vector<Sample>& samples, double most) {
  double n[2] = {}, mean[2] = {}, squares[2] = {};
  for (const auto& [fixed, wish, took] : samples) {
    if (took > most) continue;
    const double before = took - mean[fixed];
    mean[fixed] += before / ++n[fixed];
    squares[fixed] += before * (took - mean[fixed]);
  }
  if (n[0] < 2 || n[1] < 2) return 0;
  const double error = squares[0] / (n[0] - 1) / n[0] + squares[1] / (n[1] - 1) / n[1];
  return error > 0 ? (mean[0] - mean[1]) / std::sqrt(error) : 0;
}

enum class Kind {
  kFunction,  ///< a fixed wish against random ones; should not leak
  kPlanted,   ///< the same, and must leak
  kNothing,   ///< random wishes against random ones; must not differ
};

class Measurement {
 public:
  /// What is timed: whether it came to its end.
  using Run = std::function<bool()>;
  /// Makes what is to be timed, for a wish.
  using Prepare = std::function<Run(U64 wish)>;

  Measurement(std::size_t count, std::string only) : count_(count), only_(std::move(only)) {}

  /// Wishes are below `wishes`; the fixed one is 0.
  void measure(const std::string& name, U64 wishes, const Prepare& prepare, Kind kind = Kind::kFunction) {
    if (name.find(only_) == std::string::npos) return;
    ++measured_;
    // Everything about the two sets is drawn before the first measurement, without a branch, and which set a
    // measurement is of is not read until all are made. A branch here just before the timed part once was
    // enough for a t of a hundred: the processor predicts branches in the timed part by those before it.
    auto rng = Rng::from_os().value();
    const std::size_t warm = count_ / 10;
    std::vector<Sample> samples(warm + count_);
    for (auto& sample : samples) {
      U64 coins[2];
      rng.fill(std::as_writable_bytes(std::span(coins)));
      sample.fixed = coins[0] & 1;
      sample.wish = coins[1] % wishes & ~(0 - (sample.fixed & U64{kind != Kind::kNothing}));
    }
    for (auto& sample : samples) {
      const auto run = prepare(sample.wish);
      const U64 start = ticks();
      const bool done = run();
      sample.took = static_cast<double>(ticks() - start);
      PIRX_CHECK(done);
    }
    samples.erase(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(warm));
    std::vector<double> sorted;
    for (const auto& sample : samples) sorted.push_back(sample.took);
    std::sort(sorted.begin(), sorted.end());
    double t = 0;
    for (unsigned tenths = 1; tenths <= 10; ++tenths) {
      const double one = welch(samples, sorted[(sorted.size() - 1) * tenths / 10]);
      if (std::abs(one) > std::abs(t)) t = one;
    }
    const double most = kind == Kind::kNothing ? 4.5 : 10;
    const bool wrong = count_ >= kEnough && (std::abs(t) > most) != (kind == Kind::kPlanted);
    wrong_ += wrong ? 1 : 0;
    std::printf("%-54s median %8.0f ticks  t = %8.2f%s\n", name.c_str(), sorted[sorted.size() / 2], t,
                wrong ? "  WRONG" : "");
    std::fflush(stdout);
  }

  /// 0 if all is as it must be.
  int verdict() const { return measured_ == 0 || wrong_ != 0 ? 1 : 0; }

 private:
  static constexpr std::size_t kEnough = 10'000;  ///< fewer measurements decide nothing
  std::size_t count_;
  std::string only_;
  std::size_t measured_ = 0, wrong_ = 0;
};

/// Bytes that a number stands for.
void expand(U64 number, MutableByteSpan out) {
  std::array<std::byte, kSeedBytes> seed{};
  std::memcpy(seed.data(), &number, sizeof number);
  SeedStream(seed).fill(out);
}

/// The early exit that the measurement must find.
[[gnu::noinline]] bool planted_equal(ByteSpan a, ByteSpan b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    __asm__ volatile("" ::: "memory");
    if (a[i] != b[i]) return false;
  }
  return true;
}

void measure_planted(Measurement& all) {
  for (const std::size_t length : {32u, 4096u}) {
    auto here = std::make_shared<Bytes>(length), there = std::make_shared<Bytes>(length);
    all.measure(
        "planted: a comparison of " + std::to_string(length) + " bytes that exits early", length,
        [here, there](U64 wish) {
          std::fill(there->begin(), there->end(), std::byte{0});
          (*there)[wish] = static_cast<std::byte>(wish != 0);
          return [here, there] {
            if (planted_equal(*here, *there)) __asm__ volatile("" ::: "memory");
            return true;
          };
        },
        Kind::kPlanted);
  }
  const auto table = std::make_shared<Bytes>(std::size_t{1} << 26, std::byte{1});
  all.measure(
      "planted: a read of 64 MiB at the wish", table->size(),
      [table](U64 wish) {
        return
            [table, wish] { return static_cast<const volatile std::byte&>((*table)[wish]) == std::byte{1}; };
      },
      Kind::kPlanted);
}

void measure_query(Measurement& all, const std::string& name, const itpir::SharesClient& client,
                   Kind kind = Kind::kFunction) {
  auto rng = Rng::from_os().value();
  all.measure(
      name, client.geometry().records(),
      [&](U64 wish) { return [&, wish] {
                        return client.query({&wish, 1}, rng).has_value();
                      }; }, kind);
}

/// Retrievals of one wish from several servers. On input a reply is words of `word_bytes`, and if `free`, the
/// first server's can be anything while the others' are zeros.
void measure_shares(Measurement& all, const std::string& name, const itpir::SharesClient& client,
                    std::size_t word_bytes, bool free) {
  measure_query(all, name + ": a query", client);
  auto rng = Rng::from_os().value();
  std::unique_ptr<itpir::ReplyCollector> collector;
  all.measure(name + ": decoding", client.geometry().records(), [&](U64 wish) {
    auto made = client.query({&wish, 1}, rng).value();
    collector = client.collect(std::move(made.state));
    for (std::size_t server = 0; server < made.requests.size(); ++server) {
      Reader reader(made.requests[server], "request");
      auto header =
          itpir::MessageHeader::decode(reader, static_cast<ProtocolId>(made.requests[server][7])).value();
      header.type = MessageType::kReply;
      const auto bytes = static_cast<std::size_t>(client.reply_bytes(1)),
                 row = bytes - itpir::MessageHeader::kBytes;
      header.length = row / word_bytes;
      Writer writer(bytes);
      header.encode(writer);
      const auto words = writer.extend(row);  // zeros are a codeword of every code
      if (free && server == 0) expand(wish, words);
      PIRX_CHECK(collector->add(server, std::move(writer).take()));
    }
    return [&] { return std::move(*collector).finish().has_value(); };
  });
}

void measure_inspire(Measurement& all) {
  using namespace cpir::inspire;
  const auto geometry = database::Geometry::create({.records = 14000, .record_bytes = 16, .digests = false});
  const Params::Spec spec{.geometry = geometry.value(),
                          .version = {},
                          .set = kS8,
                          .layout = {.per_row = 7, .rows_each = 1},
                          .t = 28U,
                          .tr = 11,
                          .toy = true};
  const auto params = Params::create(spec).value();
  auto rng = Rng::from_os().value();
  const cpir::Coins coins = [&](MutableByteSpan out) { rng.fill(out); };
  const ClientCore core(params, ClientCore::expand(params));
  Bytes key(params.key_bytes()), numbers(params.query_bytes()), body(params.reply_bytes());
  const auto query = [&](U64 wish) {
    return core.query(FreshSecret(params, coins), wish, coins, key, numbers);
  };
  all.measure("inspire: a query", params.rows(), [&](U64 wish) {
    return [&, wish] {
      static_cast<void>(query(wish));
      return true;
    };
  });
  Bytes public_masks(params.masks_bytes());
  expand(1, public_masks);
  const std::vector masks(params.blocks(), std::make_shared<const MaskSlots>(core.mask_slots(public_masks)));
  std::optional<RowSecret> secret;
  all.measure("inspire: decoding", params.rows(), [&](U64 wish) {
    secret.emplace(query(wish));
    expand(wish, body);
    return [&] { return core.decode(std::move(*secret), masks, body).size() != 0; };
  });
}

void measure_spiral(Measurement& all) {
  using namespace cpir::spiral;
  const cpir::spiral::Scheme scheme{
      .policy = Policy::kToy, .log_d = 11, .log_p = 4, .pack = 1, .log_columns = 4};
  const auto geometry = database::Geometry::create({4096, 64, 1, false, false});
  const auto params = Params::create({geometry.value(), {}, scheme}).value();
  auto rng = Rng::from_os().value();
  const cpir::Coins coins = [&](MutableByteSpan out) { rng.fill(out); };
  const ClientCore core(params, coins);
  Bytes query(kSeedBytes + params.polynomial_bytes()), body(params.reply_bytes());
  all.measure("spiral: a query", params.items(), [&](U64 wish) {
    return [&, wish] {
      core.query(params, wish, coins, query);
      return true;
    };
  });
  all.measure("spiral: decoding", params.items(), [&](U64 wish) {
    expand(wish, body);
    return [&] { return core.decode(params, body).size() != 0; };
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
  const auto features = allowed_cpu_features();
  if (!features || count < 10) return 2;
  std::printf("%zu measurements of each; CPU features that kernels may use: %s\n", count,
              cpu_features_name(*features).c_str());
  Measurement all(count, argc > 2 ? argv[2] : "");
  const auto geometry = database::Geometry::create({16384, 32, 4, false, false}).value();
  const itpir::chor::Client chor(itpir::chor::Params::create({geometry, {}, {1, 2}}).value());
  const itpir::dpf::Client dpf(itpir::dpf::Params::create({geometry, {}, {1, 2}}).value());
  measure_planted(all);
  measure_query(all, "nothing: chor's query, random wishes in both sets", chor, Kind::kNothing);
  for (const auto& field : {kTagGf2_8, kTagGf2_16, kTagW160, kTagW48}) {
    const auto params = itpir::goldberg::Params::create({field, geometry, {}, {1, 2, 3, 4}, 1});
    const auto word_bytes =
        itpir::with_field(field, [](const auto& f) -> Result<std::size_t> { return f.sum_bytes(); });
    measure_shares(all, "goldberg over " + field.name(), itpir::goldberg::Client(params.value()), *word_bytes,
                   false);
  }
  measure_shares(all, "chor", chor, 1, true);
  measure_shares(all, "dpf", dpf, 1, true);
  measure_inspire(all);
  measure_spiral(all);
  return all.verdict();
}
