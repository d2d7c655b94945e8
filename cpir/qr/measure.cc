// SPDX-License-Identifier: Apache-2.0
// Measures the rates of quadratic residuosity. The server does all its work in one loop; measuring three
// shapes separates the steps.
#include <cmath>

#include "cost.h"
#include "cpir/dj/cost.h"
#include "cpir/dj/number.h"
#include "cpir/qr/column_products.h"
#include "pirx/base/rng.h"
#include "pirx/cpir/qr/client.h"
#include "src/protocol/message.h"
#include "src/protocol/stopwatch.h"

namespace pirx::cpir::qr {
namespace {

Result<database::Geometry> plain_geometry(std::uint64_t rows, std::uint64_t row_bytes) {
  return database::Geometry::create({.records = rows,
                                     .record_bytes = row_bytes,
                                     .records_per_row = 1,
                                     .variable_length = false,
                                     .digests = false});
}

/// Some odd number of so many bits; whether it is a product of two primes makes no difference here.
mpz_class any_modulus(unsigned bits) { return (mpz_class(1) << bits) - 189; }

struct Shape {
  std::size_t rows, row_bytes;
  unsigned window;
};

Result<double> column_seconds(unsigned modulus_bits, const Shape& shape) {
  PIRX_ASSIGN(const auto geometry, plain_geometry(shape.rows, shape.row_bytes));
  PIRX_ASSIGN(const auto params,
              Params::create({geometry, {}, 1, modulus_bits, dj::policy_of(modulus_bits)}));
  // All entries of tables take part.
  PIRX_ASSIGN(auto data, matrix::Matrix<std::byte>::create(shape.rows, shape.row_bytes));
  PIRX_ASSIGN(auto rng, Rng::from_os());
  for (std::size_t i = 0; i < shape.rows; ++i) rng.fill({data.row(i), shape.row_bytes});
  PIRX_ASSIGN(const auto* kernel, dj::choose_kernel("auto"));
  const mpz_class n = any_modulus(modulus_bits);
  const dj::Ring ring(*kernel, n, 0);
  std::vector<mpz_class> y;
  for (std::size_t i = 0; i < shape.rows; ++i) y.emplace_back(n / (i + 3));
  const BitMatrix bits(params, std::as_const(data).view());
  Bytes out(8 * shape.row_bytes * params.number_bytes());
  const ColumnPlan plan{shape.window, 0, 0};
  Result<void> done;
  const double seconds = cpu_seconds([&] { done = column_products(ring, y, bits, plan, 1, out); });
  PIRX_TRY(std::move(done));
  return seconds;
}

}  // namespace

Result<double> measure_columns(const RateId& id, RateTable& others) {
  const unsigned modulus_bits = id.of[0], window = id.of[1];
  PIRX_TRY(dj::check_modulus_bits(modulus_bits, dj::policy_of(modulus_bits)));
  if (window < 1 || window > kMaxWindow) return invalid("there is no rate " + id.name());
  const double entries = std::exp2(window) - 1;
  constexpr std::size_t kWindows = 12, kBytes = 256;
  const auto columns = [](std::size_t bytes) { return 8 * static_cast<double>(bytes); };
  // Columns; the same through more windows; tables for hardly any columns.
  PIRX_ASSIGN(const double once, column_seconds(modulus_bits, {1, kBytes, 1}));
  PIRX_ASSIGN(const double wide, column_seconds(modulus_bits, {window * kWindows, kBytes, window}));
  PIRX_ASSIGN(const double thin, column_seconds(modulus_bits, {window * kWindows, 1, window}));
  const double product = std::max((wide - thin) / (columns(kBytes) - columns(1)) - once / columns(kBytes),
                                  0.1 * wide / columns(kBytes)) /
                         (kWindows - 1.0);
  const double column = std::max(once / columns(kBytes) - product, 0.1 * product);
  const double entry =
      std::max(thin - columns(1) * (kWindows * product + column), 0.1 * thin) / (kWindows * entries);
  PIRX_TRY(others.set({"qr_entry", id.of}, entry));
  PIRX_TRY(others.set({"qr_product", id.of}, product));
  PIRX_TRY(others.set({"qr_column", id.of}, column));
  return others.seconds(id);
}

/// As the server checks: below N, a unit, Jacobi symbol 1.
Result<double> measure_check(const RateId& id, RateTable& /*others*/) {
  const unsigned modulus_bits = id.of[0];
  PIRX_TRY(dj::check_modulus_bits(modulus_bits, dj::policy_of(modulus_bits)));
  const mpz_class n = any_modulus(modulus_bits);
  // Not n / 3 or the like, which have little to do with a typical number: Euclid's algorithm is soon done
  // with them.
  mpz_class typical, product = n / 7;
  mpz_powm_ui(typical.get_mpz_t(), product.get_mpz_t(), 65537, n.get_mpz_t());
  Bytes bytes((modulus_bits + 7) / 8);
  dj::number_to_bytes(typical, bytes);
  int symbols = 0;  // so that nothing is left out for want of a use
  const double seconds = cpu_seconds([&] {
    const mpz_class y = dj::number_from_bytes(bytes);
    product = product * y % n;
    symbols += mpz_jacobi(y.get_mpz_t(), n.get_mpz_t());
  });
  PIRX_CHECK(symbols != 0 && sgn(product) >= 0);
  return seconds;
}

Result<double> measure_client(const RateId& id, RateTable& others) {
  const unsigned modulus_bits = id.of[0];
  const auto policy = dj::policy_of(modulus_bits);
  constexpr std::size_t kRows = 64, kRowBytes = 1;
  PIRX_ASSIGN(const auto geometry, plain_geometry(kRows, kRowBytes));
  PIRX_ASSIGN(const auto params, Params::create({geometry, {}, 1, modulus_bits, policy}));
  PIRX_ASSIGN(const auto key, SecretKey::generate(modulus_bits, policy));
  PIRX_ASSIGN(const auto client, Client::create(params, key));
  PIRX_ASSIGN(auto rng, Rng::from_os());
  PIRX_ASSIGN(const auto request, client.query(0, rng));
  const double hide = cpu_seconds([&] { static_cast<void>(client.query(0, rng)); }) / kRows;
  // Numbers of a query are numbers that a reply can hold.
  Writer reply(params.reply_bytes());
  encode_header(reply, ProtocolId::kQuadraticResiduosity, MessageType::kReply, params.digest());
  reply.put_bytes(
      ByteSpan(request).subspan(kHeaderBytes + params.number_bytes(), 8 * kRowBytes * params.number_bytes()));
  const Bytes message = std::move(reply).take();
  PIRX_TRY(client.decode(message, 1));
  const double tell = cpu_seconds([&] { static_cast<void>(client.decode(message, 1)); }) / (8.0 * kRowBytes);
  PIRX_TRY(others.set({"qr_hide", id.of}, hide));
  PIRX_TRY(others.set({"qr_tell", id.of}, tell));
  return others.seconds(id);
}

}  // namespace pirx::cpir::qr
