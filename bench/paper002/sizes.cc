// SPDX-License-Identifier: Apache-2.0
// Prints as a Markdown table how many bytes a query and its replies take, with and without seeds, beside
// Percy++ 1.0. Sizes are from the library's formulas and are compared with the messages of a real query.
// Exits with 1 if they differ.
#include <cstdio>
#include <numeric>

#include "bench/measure.h"
#include "pirx/batchcodes/encoding.h"
#include "pirx/itpir/goldberg/client.h"

namespace {

using namespace pirx;
using namespace pirx::bench;

struct Case {
  const char* name;
  const char* field;
  unsigned elem_bytes;  ///< of a scalar or sum on the wire
  unsigned servers, threshold, ramp, arity;
  std::uint64_t rows, row_bytes;
};

constexpr Case kCases[] = {
    {"GiB over GF(2^8), 3 servers", "gf2_8", 1, 3, 1, 1, 1, 32'768, 32'768},
    {"the same, 9 servers", "gf2_8", 1, 9, 3, 1, 1, 32'768, 32'768},
    {"the same, 8-ary", "gf2_8", 1, 12, 3, 1, 8, 32'768, 32'768},
    {"GiB over GF(2^16), 3 servers", "gf2_16", 2, 3, 1, 1, 1, 32'768, 32'768},
    {"paper 002: 64 GB, one block", "w160", 21, 32, 16, 1, 1, 16'000, 4'000'000},
    {"paper 002: 64 GB, 8 blocks", "w160", 21, 32, 16, 8, 1, 16'000, 4'000'000},
    {"paper 002: 64 GB, 8 blocks, 8-ary", "w160", 21, 32, 15, 8, 8, 16'000, 4'000'000},
};

itpir::goldberg::Client client_of(const Case& c, bool seeded) {
  const auto field = need(itpir::field_by_name(c.field));
  const database::Geometry::Spec geometry{c.rows, c.row_bytes, 1, false, false};
  itpir::goldberg::Params::Spec spec{
      field,       need(database::Geometry::create(geometry)),
      {},          need(batchcodes::Encoding::suggested_coordinates(field, c.servers)),
      c.threshold, c.ramp,
      c.arity};
  if (c.ramp > 1 && c.arity > 1) spec.modulus = batchcodes::Encoding::batch_modulus(c.arity, c.rows);
  itpir::ClientOptions options;
  options.seeded = seeded;
  return itpir::goldberg::Client(need(itpir::goldberg::Params::create(spec)), options);
}

/// Bytes of all requests of a real query for `ramp` records.
std::uint64_t uploaded(const Case& c, bool seeded, Rng& rng) {
  std::vector<std::uint64_t> records(c.ramp);
  std::iota(records.begin(), records.end(), std::uint64_t{7});
  const auto query = need(client_of(c, seeded).query(records, rng));
  return std::accumulate(query.requests.begin(), query.requests.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Bytes& request) { return sum + request.size(); });
}

}  // namespace

int main() {
  auto rng = need(Rng::from_os());
  std::printf(
      "| database and encoding | t | l | q | query, all servers | with seeds | Percy++ 1.0 | seeds to "
      "Percy++ | replies | Percy++ |\n|---|---|---|---|---|---|---|---|---|---|\n");
  bool good = true;
  for (const Case& c : kCases) {
    const std::uint64_t l = c.servers, t = c.threshold;
    const std::uint64_t rows = div_up(c.rows, c.arity);
    const std::uint64_t vector = itpir::message_bytes(1, rows, c.elem_bytes);
    const std::uint64_t plain = l * vector, seeded = (l - t) * vector + t * itpir::seeds_bytes(1);
    good = good && uploaded(c, false, rng) == plain && uploaded(c, true, rng) == seeded;
    const std::uint64_t replies = l * client_of(c, false).reply_bytes(c.ramp);
    // A count of 16 bits, then the elements; Percy++ 1.0 has no u-ary databases.
    const std::uint64_t word_bytes = c.elem_bytes == 21 ? 20 : c.elem_bytes;
    const std::uint64_t percy = l * (2 + c.rows * c.elem_bytes);
    const std::uint64_t percy_replies = l * (c.row_bytes / word_bytes) * c.elem_bytes;
    std::printf("| %s | %u | %u | %u | %llu | %llu | %llu | %.2f | %llu | %llu |\n", c.name, c.threshold,
                c.servers, c.ramp, static_cast<unsigned long long>(plain),
                static_cast<unsigned long long>(seeded), static_cast<unsigned long long>(percy),
                static_cast<double>(seeded) / static_cast<double>(percy),
                static_cast<unsigned long long>(replies), static_cast<unsigned long long>(percy_replies));
  }
  if (!good) std::fprintf(stderr, "real messages have other sizes\n");
  return good ? 0 : 1;
}
