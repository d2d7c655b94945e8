// SPDX-License-Identifier: Apache-2.0
// Measures time and error around the stages of a server.
#include "pirx/cpir/spiral/profile.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <random>

#include "client_core.h"
#include "encoded_database.h"
#include "evaluate.h"
#include "item.h"
#include "src/protocol/message.h"
#include "wire.h"

namespace pirx::cpir::spiral {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

/// Seconds: of this thread on a CPU, or of the clock on the wall.
double now(bool wall = false) {
  timespec time{};
  clock_gettime(wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The bytes of an item.
void make_item(const std::optional<unsigned>& constant, U64 item, MutableByteSpan out) {
  std::mt19937_64 engine(item);
  for (auto& byte : out) byte = static_cast<std::byte>(constant ? *constant : engine());
}

/// Mean square of phase - message, over the values modulo q.
struct MeanSquare {
  double sum = 0, count = 0;
  void add(std::int64_t phase, std::int64_t message) {
    const auto q = static_cast<std::int64_t>(kModulus);
    std::int64_t x = (phase - message) % q;
    if (x > q / 2) x -= q;
    if (x < -(q / 2)) x += q;
    sum += static_cast<double>(x) * static_cast<double>(x);
    count += 1;
  }
  double value() const { return count == 0 ? 0 : sum / count; }
};

std::int64_t centred_weight(U64 weight) {
  const auto x = static_cast<std::int64_t>(weight);
  return weight > kModulus / 2 ? x - static_cast<std::int64_t>(kModulus) : x;
}

/// Coefficients below p as signed ones.
std::vector<std::int64_t> signed_coefficients(const Params& params, std::span<const std::uint16_t> in) {
  const std::int64_t p = std::int64_t{1} << params.scheme().log_p;
  std::vector<std::int64_t> out(in.begin(), in.end());
  for (auto& x : out) x = x >= p / 2 ? x - p : x;
  return out;
}

}  // namespace

Result<Profile> profile(const Params& params, const ProfileOptions& options) {
  const Ring& ring = Ring::get(params.scheme().log_d);
  const std::size_t d = ring.d(), n = params.scheme().pack, columns = params.columns();
  const auto step = static_cast<std::int64_t>(kModulus >> params.scheme().log_p);
  const bool wall = options.wall || options.threads > 1;
  Profile out;
  PIRX_ASSIGN(auto rng, Rng::from_os());
  const Coins coins = [&](MutableByteSpan bytes) { rng.fill(bytes); };
  double start = now(wall);
  const ClientCore client(params, coins);
  const Bytes keys_message = client.keys(params, coins);
  out.keys = now(wall) - start;
  start = now(wall);
  PIRX_ASSIGN(const auto keys,
              PublicKeys::decode(params, ring, ByteSpan(keys_message).subspan(kHeaderBytes)));
  out.hold_keys = now(wall) - start;
  start = now(wall);
  const auto items = [&](U64 item, MutableByteSpan bytes) { make_item(options.constant_data, item, bytes); };
  PIRX_ASSIGN(const auto encoded, EncodedDatabase::create(params, items, options.threads));
  out.encode = now(wall) - start;

  std::vector<U64> wanted;
  std::vector<Bytes> bodies;
  std::vector<double> query_times;
  std::mt19937_64 engine(std::random_device{}());
  for (unsigned i = 0; i < options.queries; ++i) {
    // Of two items that exist the one with more ones in its column: bits that are 1 forget digits.
    const U64 a = engine() % params.items(), b = engine() % params.items();
    wanted.push_back(std::popcount(a % columns) > std::popcount(b % columns) ? a : b);
    bodies.emplace_back(kSeedBytes + params.polynomial_bytes());
    start = now(wall);
    client.query(params, wanted[i], coins, bodies[i]);
    query_times.push_back(now(wall) - start);
  }
  out.query = median(query_times);

  PIRX_ASSIGN(auto evaluator, Evaluator::create(params, ring, options.threads));
  std::vector<std::array<double, 5>> samples;  // of the five stages of Profile
  MeanSquare expanded, gsw_bit, gsw_secret, first_error, folded, packed_error;
  double wrong = 0;
  const std::vector<U32> ones(2 * d, 1);
  for (unsigned sample = 0; sample < options.samples; ++sample) {
    const bool measure = options.measure_noise && sample == 0;
    auto& [expand_time, convert_time, first_time, fold_time, pack_time] = samples.emplace_back();
    std::vector<Polynomials> gsw, results;
    std::vector<AlignedBuffer> rows;
    std::vector<Polynomials> ciphertexts;
    std::vector<std::vector<std::int64_t>> contents;
    for (unsigned i = 0; i < options.queries; ++i) {
      std::vector<U32> c0(2 * d), c1(2 * d);
      UniformStream(ByteSpan(bodies[i]).first<kSeedBytes>()).next(ring, c0.data());
      get_slots(ring, bodies[i].data() + kSeedBytes, c1.data());
      start = now(wall);
      PIRX_ASSIGN(const auto query, evaluator.expand(keys, c0.data(), c1.data()));
      PIRX_ASSIGN(auto words, evaluator.first_dimension_query(query.rows));
      rows.push_back(std::move(words));
      expand_time += now(wall) - start;
      start = now(wall);
      PIRX_ASSIGN(auto converted, evaluator.convert(keys, query.bits));
      convert_time += now(wall) - start;
      gsw.push_back(std::move(converted));
      PIRX_ASSIGN(auto memory, Polynomials::create(2 * columns, d));
      ciphertexts.push_back(std::move(memory));
      PIRX_ASSIGN(auto result, Polynomials::create(2 * n * n, d));
      results.push_back(std::move(result));
      Bytes bytes(params.item_bytes());
      items(wanted[i], bytes);
      std::vector<std::uint16_t> coefficients(params.polynomials() * d);
      item_to_coefficients(params, wanted[i], bytes, coefficients);
      contents.push_back(signed_coefficients(params, coefficients));
      if (!measure) continue;
      for (std::size_t row = 0; row < params.rows(); ++row) {
        const auto phase = client.phase(query.rows[2 * row], query.rows[2 * row + 1]);
        for (std::size_t at = 0; at < d; ++at) {
          expanded.add(phase[at], at == 0 && row == wanted[i] / columns ? step : 0);
        }
      }
      const unsigned digits = params.fold().digits();
      for (unsigned k = 0; k < digits * params.scheme().log_columns; ++k) {
        const auto phase = client.phase(query.bits[2 * k], query.bits[2 * k + 1]);
        const bool bit = (wanted[i] >> (k / digits) & 1) != 0;
        const std::int64_t value = bit ? centred_weight(params.fold().weight(k % digits)) : 0;
        for (std::size_t at = 0; at < d; ++at) gsw_bit.add(phase[at], at == 0 ? value : 0);
        // Out of Montgomery's form again, and without its message.
        std::vector<U32> column(4 * d), message(2 * d);
        const std::size_t first = 4 * (k / digits) * digits + 2 * (k % digits);
        for (std::size_t row = 0; row < 2; ++row) {
          ring.multiply(column.data() + row * 2 * d, ones.data(), gsw[i][first + row]);
        }
        if (bit) {
          ring.scale(message.data(), client.secret().slots.expose().data(),
                     params.fold().weights(k % digits));
        }
        ring.subtract(column.data() + 2 * d, column.data() + 2 * d, message.data());
        for (const auto x : client.phase(column.data(), column.data() + 2 * d)) gsw_secret.add(x, 0);
      }
    }
    std::vector<Bytes> replies(options.queries, Bytes(params.reply_bytes() - kHeaderBytes));
    std::vector<BitWriter> writers(replies.begin(), replies.end());
    for (std::size_t trial = 0; trial < params.trials(); ++trial) {
      for (std::size_t k = 0; k < n * n; ++k) {
        const std::size_t polynomial = trial * n * n + k;
        start = now(wall);
        PIRX_TRY(evaluator.first_dimension(encoded.words(), polynomial, rows, ciphertexts));
        first_time += now(wall) - start;
        for (unsigned i = 0; i < options.queries; ++i) {
          const auto measure_against = [&](std::size_t column, MeanSquare& to) {
            const auto phase = client.phase(ciphertexts[i][2 * column], ciphertexts[i][2 * column + 1]);
            for (std::size_t at = 0; at < d; ++at) to.add(phase[at], step * contents[i][polynomial * d + at]);
          };
          if (measure) measure_against(wanted[i] % columns, first_error);
          start = now(wall);
          evaluator.fold(gsw[i], ciphertexts[i],
                         options.two_products ? FoldForm::kTwoProducts : params.fold_form());
          fold_time += now(wall) - start;
          if (measure) measure_against(0, folded);
          std::copy(ciphertexts[i][0], ciphertexts[i][2], results[i][2 * k]);
        }
      }
      for (unsigned i = 0; i < options.queries; ++i) {
        PIRX_ASSIGN(auto packed, Polynomials::create(n * (n + 1), d));
        start = now(wall);
        evaluator.pack(keys, results[i], packed);
        evaluator.switch_modulus(packed, writers[i]);
        pack_time += now(wall) - start;
        for (std::size_t k = 0; measure && k < n * n; ++k) {
          const std::size_t row = k / n, column = k % n;
          const auto phase =
              client.packed_phase(row, packed[column * (n + 1)], packed[column * (n + 1) + 1 + row]);
          for (std::size_t at = 0; at < d; ++at) {
            packed_error.add(phase[at], step * contents[i][(trial * n * n + k) * d + at]);
          }
        }
      }
    }
    std::vector<double> decode_times;
    for (unsigned i = 0; i < options.queries; ++i) {
      writers[i].finish();
      start = now(wall);
      const auto got = client.decode(params, replies[i]);
      decode_times.push_back(now(wall) - start);
      const auto found = signed_coefficients(params, got.expose());
      for (std::size_t at = 0; at < found.size(); ++at) wrong += found[at] != contents[i][at] ? 1 : 0;
    }
    out.decode = median(decode_times);
  }
  double* const stages[] = {&out.expansion, &out.conversion, &out.first_dimension, &out.folding,
                            &out.packing};
  for (std::size_t stage = 0; stage < std::size(stages); ++stage) {
    std::vector<double> times;
    for (const auto& sample : samples) times.push_back(sample[stage]);
    *stages[stage] = median(std::move(times));
  }
  out.total = out.expansion + out.conversion + out.first_dimension + out.folding + out.packing;
  out.wrong = wrong / (static_cast<double>(options.samples) * options.queries *
                       static_cast<double>(params.polynomials() * d));
  out.noise.expanded = expanded.value();
  out.noise.gsw_bit = gsw_bit.value();
  out.noise.gsw_secret = gsw_secret.value();
  out.noise.first = first_error.value();
  out.noise.folded = folded.value();
  out.noise.packed = packed_error.value();
  return out;
}

std::vector<KernelTime> kernel_times() {
  std::vector<KernelTime> out;
  for (const auto* kernel : usable_kernels()) {
    const Ring ring(kLogDimension, *kernel);
    std::vector<U32> x(ring.d(), 1);
    const auto best = [&](auto transform) {
      double least = 1;
      for (int sample = 0; sample < 200; ++sample) {
        constexpr int kRepeat = 20;
        const double start = now();
        for (int i = 0; i < kRepeat; ++i) transform(ring.prime(0), x.data(), x.data());
        least = std::min(least, (now() - start) / kRepeat);
      }
      return least;
    };
    out.push_back({kernel->name, best(kernel->forward), best(kernel->inverse)});
  }
  return out;
}

}  // namespace pirx::cpir::spiral
