// SPDX-License-Identifier: Apache-2.0
// The server's time for one query of quadratic-residuosity PIR, with every kernel of this machine. Beside it,
// what paper 004 (Sion and Carbunar 2007) counts: one multiplication modulo N for every bit, in plain GMP
// (plain.h), with Montgomery's reduction and with a division. That is measured on a slice of the columns,
// because all columns cost the same; the counter `share` says how large it is.
//
// server/...           the whole answer of the library
// plain/...            one multiplication for every bit; ones_only: for ones only
// t_mul/modulus:...    one multiplication, measured on a thousand: the time is of one
// two_levels/...       the answer in two levels, as Kushilevitz and Ostrovsky have it, to one bit of a matrix
// of
//                      --two_levels by --two_levels bits; counters: bytes up and down
#include <gmpxx.h>

#include <cmath>

#include "paper004/plain.h"
#include "pirx/cpir/qr/client.h"
#include "pirx/cpir/qr/server.h"
#include "random_database.h"

namespace {

using pirx::bench::add;
using pirx::bench::ask;
using pirx::bench::column_products;
using pirx::bench::need;
using pirx::bench::Program;
namespace qr = pirx::cpir::qr;

mpz_class number_of(pirx::ByteSpan big_endian) {
  mpz_class out;
  mpz_import(out.get_mpz_t(), big_endian.size(), 1, 1, 1, 0, big_endian.data());
  return out;
}

bool bit_of(pirx::ByteSpan record, std::size_t j) {
  return (std::to_integer<unsigned>(record[j / 8]) >> (j % 8) & 1) != 0;
}

/// A thousand multiplications modulo N, one after the other.
void add_t_mul(const mpz_class& n, unsigned bits, bool montgomery) {
  constexpr int kTimes = 1000;
  const auto loop = [=](benchmark::State& state) {
    const pirx::bench::PlainModulus modulus(n, montgomery);
    const mpz_class factor = n / 3;
    const auto by = modulus.from(factor);
    auto x = by;
    for (int i = 1; i < kTimes; ++i) modulus.multiply(x, x, by);
    mpz_class expected;
    mpz_powm_ui(expected.get_mpz_t(), factor.get_mpz_t(), kTimes, n.get_mpz_t());
    if (modulus.to(x) != expected) return Program::wrong(state, "a wrong product");
    for (auto _ : state) modulus.multiply(x, x, by);
    benchmark::DoNotOptimize(x.data());
  };
  const std::string name =
      "t_mul/modulus:" + std::to_string(bits) + "/by:" + (montgomery ? "montgomery" : "division");
  benchmark::RegisterBenchmark(name.c_str(), loop)->MeasureProcessCPUTime()->Unit(benchmark::kNanosecond);
}

/// Both levels of the server for one bit of `side` x `side` bits, and the client that asked.
class TwoLevels {
 public:
  TwoLevels(const mpz_class& n, const mpz_class& p, std::size_t side)
      : n_(n), p_(p), modulus_(n, true), side_(side), bits_(mpz_sizeinbase(n.get_mpz_t(), 2)) {
    height_ = static_cast<std::size_t>(std::llround(std::ceil(std::sqrt(static_cast<double>(side)))));
    width_ = (side + height_ - 1) / height_;
    random_.seed(7);
    first_ = query(side_, row_);
    second_ = query(height_, column_ / width_);
  }
  bool bit(std::size_t i, std::size_t j) const { return (i * 31 + j * j * 17 + i * j) % 7 < 3; }
  std::vector<mpz_class> answer() const {
    const auto z = column_products(modulus_, first_, side_, false,
                                   [this](std::size_t i, std::size_t j) { return bit(i, j); });
    return second_level(modulus_, second_, z, width_, bits_);
  }
  bool right(const std::vector<mpz_class>& reply) const {
    mpz_class z;
    for (std::size_t t = 0; t < bits_; ++t) {
      if (is_one(reply[column_ % width_ * bits_ + t])) mpz_setbit(z.get_mpz_t(), t);
    }
    return is_one(z) == bit(row_, column_);
  }
  benchmark::UserCounters counters() const {
    const double bytes = static_cast<double>(bits_) / 8;
    return {{"up", static_cast<double>(side_ + height_ + 1) * bytes},
            {"down", static_cast<double>(width_ * bits_) * bytes},
            {"multiplications_1", static_cast<double>(side_ * side_)},
            {"multiplications_2", static_cast<double>(height_ * width_ * bits_)}};
  }

 private:
  bool is_one(const mpz_class& x) const { return mpz_legendre(x.get_mpz_t(), p_.get_mpz_t()) == -1; }
  /// Squares, and at `wanted` minus a square: p and q are 3 modulo 4, so that it is none.
  std::vector<mpz_class> query(std::size_t rows, std::size_t wanted) {
    std::vector<mpz_class> y;
    for (std::size_t i = 0; i < rows; ++i) {
      const mpz_class root = random_.get_z_range(n_);
      y.push_back(root * root % n_);
    }
    y[wanted] = n_ - y[wanted];
    return y;
  }
  mpz_class n_, p_;
  pirx::bench::PlainModulus modulus_;
  std::size_t side_, bits_, height_ = 0, width_ = 0;
  std::size_t row_ = side_ / 3, column_ = side_ / 2;
  gmp_randclass random_{gmp_randinit_mt};
  std::vector<mpz_class> first_, second_;
};

}  // namespace

int main(int argc, char** argv) {
  pirx::bench::Program program(argc, argv);
  const auto bytes = program.number("bytes", 10'000'000, 1, 1'000'000'000);
  const auto modulus_bits = static_cast<unsigned>(program.number("modulus", 1024, 1024, 4096));
  const auto columns_in_gmp = program.number("slice", 64, 1, 1'000'000);
  const auto side = program.number("two_levels", 256, 4, 100'000);
  const auto threads = static_cast<int>(program.number("threads", 1, 1, 1024));
  program.start();
  benchmark::AddCustomContext("threads", std::to_string(threads));

  // As many records as bits in a record.
  const auto record_bytes = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(bytes) / 8))));
  const auto database = pirx::bench::random_database(
      8 * record_bytes, {.records_per_row = 1, .fixed_record_bytes = record_bytes, .digests = false});
  const auto policy = modulus_bits == 1024 ? qr::KeyPolicy::kPaperReproduction : qr::KeyPolicy::kSecure;
  std::vector<std::pair<std::string, std::unique_ptr<pirx::AnyServer>>> servers;
  qr::ServerOptions options{.slots = 1, .modulus_bits = modulus_bits, .policy = policy, .threads = threads};
  options.kernel = "gmp";
  servers.emplace_back("gmp", need(qr::make_qr_server(database, options)));
  options.kernel = "ifma";  // not on every machine
  if (auto server = qr::make_qr_server(database, options)) servers.emplace_back("ifma", std::move(*server));

  const auto params = need(qr::Params::decode(servers[0].second->parameters()));
  const std::size_t rows = params.rows(), columns = 8 * params.row_bytes(), wanted = rows / 3;
  const std::size_t slice = std::min<std::size_t>(columns_in_gmp, columns);
  const auto key = need(qr::SecretKey::generate(modulus_bits, policy));
  const auto client = need(qr::Client::create(params, key));
  auto rng = need(pirx::Rng::from_os());
  const auto request = need(client.query(wanted, rng));
  const auto record = need(database->record(wanted));

  // The numbers after 40 bytes of header: N and one a row; in a reply one a column.
  const auto number_at = [&](const pirx::Bytes& message, std::size_t i) {
    return number_of(pirx::ByteSpan(message).subspan(40 + i * params.number_bytes(), params.number_bytes()));
  };
  const mpz_class n = number_at(request, 0), p = number_of(key.expose_p());
  std::vector<mpz_class> y(rows);
  for (std::size_t i = 0; i < rows; ++i) y[i] = number_at(request, i + 1);
  const auto is_record = [&](const pirx::SecretVector<std::byte>& row) {
    return std::equal(row.expose().begin(), row.expose().end(), record.begin(), record.end());
  };
  std::vector<pirx::ByteSpan> records;
  for (std::size_t i = 0; i < rows; ++i) records.push_back(need(database->record(i)));
  const auto one_by_one = [&](bool montgomery, bool ones_only) {
    return column_products(pirx::bench::PlainModulus(n, montgomery), y, slice, ones_only,
                           [&](std::size_t i, std::size_t j) { return bit_of(records[i], j); });
  };
  const auto products = one_by_one(true, true);
  const auto is_reply = [&](const pirx::Bytes& reply) {
    for (std::size_t j = 0; j < slice; ++j) {
      if (number_at(reply, j) != products[j]) return false;
    }
    return is_record(need(client.decode(reply, 1)));
  };

  for (const auto& [kernel, server] : servers) {
    add(
        "server/" + kernel, [&request, &one = *server] { return ask(one, request); }, is_reply);
  }
  const auto has_bits = [&](const std::vector<mpz_class>& classes) {
    for (std::size_t j = 0; j < slice; ++j) {
      if ((mpz_legendre(classes[j].get_mpz_t(), p.get_mpz_t()) == -1) != bit_of(record, j)) return false;
    }
    return true;
  };
  const benchmark::UserCounters share = {
      {"share", static_cast<double>(slice) / static_cast<double>(columns)}};
  for (const bool montgomery : {true, false}) {
    const std::string by = montgomery ? "/by:montgomery" : "/by:division";
    add(
        "plain/one_per_bit" + by, [&, montgomery] { return one_by_one(montgomery, false); }, has_bits, share);
    add(
        "plain/ones_only" + by, [&, montgomery] { return one_by_one(montgomery, true); },
        [&](const auto& z) { return z == products; }, share);
    add_t_mul(n, modulus_bits, montgomery);
  }
  const TwoLevels two_levels(n, p, side);
  add(
      "two_levels/side:" + std::to_string(side), [&] { return two_levels.answer(); },
      [&](const auto& reply) { return two_levels.right(reply); }, two_levels.counters());

  add(
      "client/key",
      [&] { return std::make_shared<qr::SecretKey>(need(qr::SecretKey::generate(modulus_bits, policy))); },
      [](const auto&) { return true; });
  add(
      "client/query", [&] { return need(client.query(wanted, rng)); },
      [&](const auto& asked) { return is_record(need(client.decode(ask(*servers.back().second, asked)))); },
      {{"bytes", static_cast<double>(request.size())}});
  const auto reply = ask(*servers.back().second, request);
  add("client/decode", [&] { return need(client.decode(reply, 1)); }, is_record,
      {{"bytes", static_cast<double>(reply.size())}});
  return pirx::bench::Program::run();
}
