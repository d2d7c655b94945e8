// SPDX-License-Identifier: Apache-2.0
// Whether the time of a client's function tells what is wanted: a fixed wish against random ones, in random
// order, and Welch's t of the two (dudect: Reparaz, Balasch and Verbauwhede 2017). This is the only look at
// kernels with AVX-512, which valgrind does not know. It can show a leak, and never that there is none.
//   constant_time_timing [MEASUREMENTS]   a line for each function; the largest |t| over the measurements
//                                         below each tenth of the slowest, which other programs disturb
// |t| above 10 is a leak, above 4.5 worth a longer run. The planted comparison must come out far above 10 if
// there are 100,000 measurements.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "cpir/inspire/client_core.h"
#include "cpir/spiral/client_core.h"
#include "pirx/base/cpu.h"
#include "pirx/itpir/chor/client.h"
#include "pirx/itpir/dpf/client.h"
#include "pirx/itpir/goldberg/client.h"

namespace {

using namespace pirx;
using U64 = std::uint64_t;

constexpr U64 kRows = 4096;

/// Nanoseconds of processor time that this thread has used: other programs on the machine do not count.
double thread_clock() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Sample {
  bool fixed;
  double nanoseconds;
};

/// Welch's t over the samples that took at most `most`.
double welch(const std::vector<Sample>& samples, double most) {
  double n[2] = {}, mean[2] = {}, squares[2] = {};
  for (const auto& [fixed, value] : samples) {
    if (value > most) continue;
    const double before = value - mean[fixed];
    mean[fixed] += before / ++n[fixed];
    squares[fixed] += before * (value - mean[fixed]);
  }
  if (n[0] < 2 || n[1] < 2) return 0;
  const double error = squares[0] / (n[0] - 1) / n[0] + squares[1] / (n[1] - 1) / n[1];
  return error > 0 ? (mean[0] - mean[1]) / std::sqrt(error) : 0;
}

/// On input `prepare` makes what is to be timed, for a wish.
void measure(const char* name, std::size_t count, U64 wishes,
             const std::function<std::function<void()>(U64 wish)>& prepare) {
  auto rng = Rng::from_os().value();
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < count + count / 10; ++i) {
    U64 coins[2];
    rng.fill(std::as_writable_bytes(std::span(coins)));
    const bool fixed = (coins[0] & 1) != 0;
    const auto run = prepare(fixed ? 0 : coins[1] % wishes);
    const double start = thread_clock();
    run();
    const double took = thread_clock() - start;
    if (i >= count / 10) samples.push_back({fixed, took});  // caches are warm
  }
  std::vector<double> sorted;
  for (const auto& sample : samples) sorted.push_back(sample.nanoseconds);
  std::sort(sorted.begin(), sorted.end());
  double worst = 0;
  for (unsigned tenths = 1; tenths <= 10; ++tenths) {
    const double t = welch(samples, sorted[(sorted.size() - 1) * tenths / 10]);
    if (std::abs(t) > std::abs(worst)) worst = t;
  }
  std::printf("%-44s %8zu measurements  median %10.0f ns  t = %8.2f\n", name, samples.size(),
              sorted[sorted.size() / 2], worst);
  std::fflush(stdout);
}

/// The early exit that the measurement must find.
[[gnu::noinline]] bool planted_equal(ByteSpan a, ByteSpan b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    __asm__ volatile("" ::: "memory");
    if (a[i] != b[i]) return false;
  }
  return true;
}

void measure_shares(const char* query_name, const char* decode_name, const itpir::SharesClient& client,
                    std::size_t count, U64 records) {
  auto rng = Rng::from_os().value();
  measure(query_name, count, records, [&](U64 wish) {
    return [&, wish] { static_cast<void>(client.query({&wish, 1}, rng)); };
  });
  if (decode_name == nullptr) return;
  std::unique_ptr<itpir::ReplyCollector> collector;
  measure(decode_name, count, records, [&](U64 wish) {
    auto query = client.query({&wish, 1}, rng).value();
    collector = client.collect(std::move(query.state));
    for (std::size_t server = 0; server < query.requests.size(); ++server) {
      Reader reader(query.requests[server], "request");
      auto header = itpir::MessageHeader::decode(reader).value();
      header.type = MessageType::kReply;
      const auto bytes = static_cast<std::size_t>(client.reply_bytes(1));
      header.length = client.geometry().row_bytes();
      Writer writer(bytes);
      header.encode(writer);
      writer.extend(bytes - itpir::MessageHeader::kBytes);  // zeros: a codeword
      static_cast<void>(collector->add(server, std::move(writer).take()));
    }
    return [&] { static_cast<void>(std::move(*collector).finish()); };
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
  const auto features = allowed_cpu_features();
  if (!features || count < 10) return 2;
  std::printf("CPU features that kernels may use: %s\n", cpu_features_name(*features).c_str());

  const Bytes zeros(4096);
  measure("planted: a comparison that exits early", count, kRows, [&](U64 wish) {
    auto other = std::make_shared<Bytes>(4096);
    if (wish != 0) (*other)[wish % 4096] = std::byte{1};
    return [&zeros, other] {
      if (planted_equal(zeros, *other)) __asm__ volatile("" ::: "memory");
    };
  });

  const auto geometry = database::Geometry::create({4 * kRows, 32, 4, false, false}).value();
  for (const auto& field : {kTagGf2_8, kTagGf2_16, kTagW160, kTagW48}) {
    const itpir::goldberg::Client client(
        itpir::goldberg::Params::create({field, geometry, {}, {1, 2, 3, 4}, 1}).value());
    const std::string query = "goldberg: a query over " + field.name();
    // Its replies are as many bytes as its rows only over gf2_8.
    measure_shares(query.c_str(), field == kTagGf2_8 ? "goldberg: decoding over gf2_8" : nullptr, client,
                   count, geometry.records());
  }
  measure_shares("chor: a query", nullptr,
                 itpir::chor::Client(itpir::chor::Params::create({geometry, {}, {1, 2}}).value()), count,
                 geometry.records());
  measure_shares("dpf: a query", nullptr,
                 itpir::dpf::Client(itpir::dpf::Params::create({geometry, {}, {1, 2}}).value()), count,
                 geometry.records());

  auto rng = Rng::from_os().value();
  const cpir::Coins coins = [&](MutableByteSpan out) { rng.fill(out); };
  {
    using namespace cpir::inspire;
    Params::Spec spec{
        .geometry =
            database::Geometry::create({.records = 14000, .record_bytes = 16, .digests = false}).value(),
        .version = {},
        .set = kS8,
        .layout = {.per_row = 7, .rows_each = 1},
        .t = 28U,
        .tr = 11,
        .toy = true};
    const auto params = Params::create(spec).value();
    const ClientCore core(params, ClientCore::expand(params));
    Bytes key(params.key_bytes()), numbers(params.query_bytes());
    measure("inspire: a query", count / 10, params.rows(), [&](U64 wish) {
      return [&, wish] { core.query(FreshSecret(params, coins), wish, coins, key, numbers); };
    });
  }
  {
    using namespace cpir::spiral;
    const cpir::spiral::Scheme scheme{
        .policy = Policy::kToy, .log_d = 11, .log_p = 4, .pack = 1, .log_columns = 4};
    const auto params =
        Params::create({database::Geometry::create({4096, 64, 1, false, false}).value(), {}, scheme}).value();
    const ClientCore core(params, coins);
    Bytes query(kSeedBytes + params.polynomial_bytes());
    measure("spiral: a query", count / 10, params.items(),
            [&](U64 wish) { return [&, wish] { core.query(params, wish, coins, query); }; });
  }
  return 0;
}
