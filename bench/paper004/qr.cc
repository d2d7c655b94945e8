// SPDX-License-Identifier: Apache-2.0
// The server's time for one query of quadratic-residuosity PIR, with every kernel of this machine. Beside it,
// what paper 004 (Sion and Carbunar 2007) counts: one multiplication modulo N for every bit, in plain GMP.
// That is measured on a slice of the columns, because all columns cost the same; the counter `share` says how
// large it is.
#include <gmpxx.h>

#include <cmath>

#include "gbench.h"
#include "pirx/cpir/qr/client.h"
#include "pirx/cpir/qr/server.h"
#include "random_database.h"

namespace {

using pirx::bench::add;
using pirx::bench::need;
namespace qr = pirx::cpir::qr;

mpz_class number_of(pirx::ByteSpan big_endian) {
  mpz_class out;
  mpz_import(out.get_mpz_t(), big_endian.size(), 1, 1, 1, 0, big_endian.data());
  return out;
}

bool bit_of(pirx::ByteSpan record, std::size_t j) {
  return (std::to_integer<unsigned>(record[j / 8]) >> (j % 8) & 1) != 0;
}

/// Kushilevitz and Ostrovsky's server: y_i for a one, its square for a zero. Or nothing for a zero.
std::vector<mpz_class> one_by_one(const pirx::database::Database& database, const mpz_class& n,
                                  const std::vector<mpz_class>& y, const std::vector<mpz_class>* squares,
                                  std::size_t columns) {
  std::vector<mpz_class> z(columns, mpz_class(1));
  mpz_class product;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto record = need(database.record(i));
    for (std::size_t j = 0; j < columns; ++j) {
      const bool one = bit_of(record, j);
      if (!one && squares == nullptr) continue;
      mpz_mul(product.get_mpz_t(), z[j].get_mpz_t(), (one ? y[i] : (*squares)[i]).get_mpz_t());
      mpz_tdiv_r(z[j].get_mpz_t(), product.get_mpz_t(), n.get_mpz_t());
    }
  }
  return z;
}

}  // namespace

int main(int argc, char** argv) {
  pirx::bench::Program program(argc, argv);
  const auto bytes = program.number("bytes", 10'000'000, 1, 1'000'000'000);
  const auto modulus_bits = static_cast<unsigned>(program.number("modulus", 1024, 1024, 4096));
  const auto columns_in_gmp = program.number("slice", 64, 1, 1'000'000);
  const auto threads = static_cast<int>(program.number("threads", 1, 1, 1024));
  program.start();
  benchmark::AddCustomContext("threads", std::to_string(threads));

  // As many records as bits in a record.
  const auto record_bytes = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(bytes) / 8))));
  const auto database = need(pirx::bench::random_database(
      std::filesystem::temp_directory_path(), 8 * record_bytes,
      {.records_per_row = 1, .fixed_record_bytes = record_bytes, .digests = false}));
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
  std::vector<mpz_class> y(rows), squares(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    y[i] = number_at(request, i + 1);
    squares[i] = y[i] * y[i] % n;
  }
  const auto answer = [](const pirx::AnyServer& server, pirx::ByteSpan message) {
    return need(std::move(server.answer({&message, 1}).at(0)));
  };
  const auto is_record = [&](const pirx::SecretVector<std::byte>& row) {
    return std::equal(row.expose().begin(), row.expose().end(), record.begin(), record.end());
  };
  const auto products = one_by_one(*database, n, y, nullptr, slice);
  const auto is_reply = [&](const pirx::Bytes& reply) {
    for (std::size_t j = 0; j < slice; ++j) {
      if (number_at(reply, j) != products[j]) return false;
    }
    return is_record(need(client.decode(reply, 1)));
  };

  for (const auto& [kernel, server] : servers) {
    add(
        "server/" + kernel, [&answer, &request, &one = *server] { return answer(one, request); }, is_reply);
  }
  const auto has_bits = [&](const std::vector<mpz_class>& classes) {
    for (std::size_t j = 0; j < slice; ++j) {
      if ((mpz_legendre(classes[j].get_mpz_t(), p.get_mpz_t()) == -1) != bit_of(record, j)) return false;
    }
    return true;
  };
  const benchmark::UserCounters share = {
      {"share", static_cast<double>(slice) / static_cast<double>(columns)}};
  add(
      "plain/one_per_bit", [&] { return one_by_one(*database, n, y, &squares, slice); }, has_bits, share);
  add(
      "plain/ones_only", [&] { return one_by_one(*database, n, y, nullptr, slice); },
      [&](const auto& z) { return z == products; }, share);

  add(
      "client/key",
      [&] { return std::make_shared<qr::SecretKey>(need(qr::SecretKey::generate(modulus_bits, policy))); },
      [](const auto&) { return true; });
  add(
      "client/query", [&] { return need(client.query(wanted, rng)); },
      [&](const auto& asked) {
        return is_record(need(client.decode(answer(*servers.back().second, asked))));
      },
      {{"bytes", static_cast<double>(request.size())}});
  const auto reply = answer(*servers.back().second, request);
  add("client/decode", [&] { return need(client.decode(reply, 1)); }, is_record,
      {{"bytes", static_cast<double>(reply.size())}});
  return pirx::bench::Program::run();
}
