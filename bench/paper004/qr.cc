// The server's time for one query of quadratic-residuosity PIR, with every kernel of this machine, beside
// what paper 004 (Sion and Carbunar 2007) counts: one multiplication modulo N for every bit, in plain GMP.
// That is measured on a slice of the columns, which all cost the same. Through the public client and server;
// answers are compared with the database before anything is timed. Prints JSON; the ratios are the figures.
#include <gmpxx.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "pirx/base/cpu.h"
#include "pirx/cpir/qr/client.h"
#include "pirx/cpir/qr/server.h"
#include "pirx/database/builder.h"

namespace {

using Json = nlohmann::ordered_json;
namespace qr = pirx::cpir::qr;

struct Arguments {
  std::uint64_t bytes = 10'000'000;
  unsigned modulus_bits = 1024;
  std::size_t slice = 64;
  int threads = 1, samples = 3;
};

template <class T>
T need(pirx::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "paper004_qr: %s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
void need(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "paper004_qr: %s\n", what);
  std::exit(1);
}

/// Seconds: of this thread on a CPU where nothing else computes, else of the clock on the wall.
double now(int threads) {
  timespec time{};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

mpz_class number_of(pirx::ByteSpan big_endian) {
  mpz_class out;
  mpz_import(out.get_mpz_t(), big_endian.size(), 1, 1, 1, 0, big_endian.data());
  return out;
}

/// As many records as bits in a record.
class Database {
 public:
  explicit Database(std::uint64_t bytes)
      : path_(std::filesystem::temp_directory_path() / ("pirx-paper004-" + std::to_string(getpid()))) {
    const auto record_bytes = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(bytes) / 8))));
    const pirx::database::BuildOptions options{
        .records_per_row = 1, .fixed_record_bytes = record_bytes, .digests = false};
    auto builder = need(pirx::database::DatabaseBuilder::create(path_, options));
    std::mt19937_64 random(1);
    records_.resize(8 * record_bytes, pirx::Bytes(record_bytes));
    for (auto& record : records_) {
      for (auto& byte : record) byte = static_cast<std::byte>(random());
      need(builder.add(record));
    }
    need(builder.finish());
    opened_ = need(pirx::database::Database::open(path_));
  }
  ~Database() { std::filesystem::remove(path_); }
  Database(const Database&) = delete;

  const std::vector<pirx::Bytes>& records() const { return records_; }
  const std::shared_ptr<const pirx::database::Database>& opened() const { return opened_; }

 private:
  std::filesystem::path path_;
  std::vector<pirx::Bytes> records_;
  std::shared_ptr<const pirx::database::Database> opened_;
};

bool bit_of(const pirx::Bytes& record, std::size_t j) {
  return (std::to_integer<unsigned>(record[j / 8]) >> (j % 8) & 1) != 0;
}

/// Kushilevitz and Ostrovsky's server: y_i for a one, its square for a zero. Or nothing for a zero.
std::vector<mpz_class> one_by_one(const Database& database, const mpz_class& n,
                                  const std::vector<mpz_class>& y, const std::vector<mpz_class>* squares,
                                  std::size_t columns) {
  std::vector<mpz_class> z(columns, mpz_class(1));
  mpz_class product;
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const bool one = bit_of(database.records()[i], j);
      if (!one && squares == nullptr) continue;
      mpz_mul(product.get_mpz_t(), z[j].get_mpz_t(), (one ? y[i] : (*squares)[i]).get_mpz_t());
      mpz_tdiv_r(z[j].get_mpz_t(), product.get_mpz_t(), n.get_mpz_t());
    }
  }
  return z;
}

struct Contender {
  std::string kernel;
  std::unique_ptr<pirx::AnyServer> server;
  std::vector<double> times;
};

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app("Quadratic-residuosity PIR beside one multiplication for every bit");
  app.add_option("--bytes", a.bytes, "Of the database, a square of bits")
      ->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--modulus", a.modulus_bits, "1024 (the paper's), 2048, 3072 or 4096 bits");
  app.add_option("--slice", a.slice, "Columns that plain GMP computes")->check(CLI::Range(1, 1'000'000));
  app.add_option("--threads", a.threads, "Of the server; times of one are CPU times")
      ->check(CLI::Range(1, 1024));
  app.add_option("--samples", a.samples, "Of each, in turns; medians are printed")
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);

  const Database database(a.bytes);
  const auto policy = a.modulus_bits == 1024 ? qr::KeyPolicy::kPaperReproduction : qr::KeyPolicy::kSecure;
  std::vector<Contender> contenders;
  for (const char* kernel : {"gmp", "ifma"}) {
    qr::ServerOptions options{
        .slots = 1, .modulus_bits = a.modulus_bits, .policy = policy, .threads = a.threads};
    options.kernel = kernel;
    auto server = qr::make_qr_server(database.opened(), options);
    if (server) contenders.push_back({kernel, std::move(*server), {}});
  }
  need(!contenders.empty(), "no kernel for such keys");

  const auto params = need(qr::Params::decode(contenders[0].server->parameters()));
  const std::size_t rows = params.rows(), columns = 8 * params.row_bytes(), wanted = rows / 3;
  const std::size_t slice = std::min(a.slice, columns);
  auto start = now(1);
  const auto key = need(qr::SecretKey::generate(a.modulus_bits, policy));
  const double keygen = now(1) - start;
  const auto client = need(qr::Client::create(params, key));
  auto rng = need(pirx::Rng::from_os());
  start = now(1);
  const auto request = need(client.query(wanted, rng));
  const double query = now(1) - start;

  // The numbers behind 40 bytes of header: N and one a row; in a reply one a column.
  const auto number_at = [&](const pirx::Bytes& message, std::size_t i) {
    return number_of(pirx::ByteSpan(message).subspan(40 + i * params.number_bytes(), params.number_bytes()));
  };
  const mpz_class n = number_at(request, 0), p = number_of(key.expose_p());
  std::vector<mpz_class> y(rows), squares(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    y[i] = number_at(request, i + 1);
    squares[i] = y[i] * y[i] % n;
  }

  // Right first.
  double decode = 0;
  const auto products = one_by_one(database, n, y, nullptr, slice);
  const auto classes = one_by_one(database, n, y, &squares, slice);
  for (std::size_t j = 0; j < slice; ++j) {
    const bool is_one = mpz_legendre(classes[j].get_mpz_t(), p.get_mpz_t()) == -1;
    need(is_one == bit_of(database.records()[wanted], j),
         "one multiplication for every bit gives another row");
  }
  for (const auto& contender : contenders) {
    const pirx::ByteSpan asked = request;
    const auto reply = need(std::move(contender.server->answer({&asked, 1}).at(0)));
    for (std::size_t j = 0; j < slice; ++j) need(number_at(reply, j) == products[j], "a product differs");
    start = now(1);
    const auto row = need(client.decode(reply, 1));
    decode = now(1) - start;
    need(std::equal(row.expose().begin(), row.expose().end(), database.records()[wanted].begin()),
         "the row is wrong");
  }

  std::vector<double> paper, ones;
  for (int sample = 0; sample < a.samples; ++sample) {
    start = now(1);
    one_by_one(database, n, y, &squares, slice);
    paper.push_back(now(1) - start);
    start = now(1);
    one_by_one(database, n, y, nullptr, slice);
    ones.push_back(now(1) - start);
    for (auto& contender : contenders) {
      const pirx::ByteSpan asked = request;
      start = now(a.threads);
      need(std::move(contender.server->answer({&asked, 1}).at(0)));
      contender.times.push_back(now(a.threads) - start);
    }
  }
  const double scale = static_cast<double>(columns) / static_cast<double>(slice);
  const double bits = static_cast<double>(rows) * static_cast<double>(columns);
  const double per_bit = median(paper) * scale, only_ones = median(ones) * scale;
  const double moved = 8.0 * static_cast<double>(params.request_bytes() + params.reply_bytes());
  Json json = {
      {"kind", "qr"},
      {"cpu", pirx::cpu_features_name(need(pirx::allowed_cpu_features()))},
      {"compiler", __VERSION__},
      {"modulus_bits", a.modulus_bits},
      {"rows", rows},
      {"columns", columns},
      {"threads", a.threads},
      {"clock", a.threads == 1 ? "cpu" : "wall"},
      {"samples", a.samples},
      {"request_bytes", params.request_bytes()},
      {"reply_bytes", params.reply_bytes()},
      {"client_s", {{"key", keygen}, {"query", query}, {"decode", decode}}},
      {"plain_gmp",
       {{"columns_measured", slice},
        {"ns_per_multiplication", per_bit / bits * 1e9},
        {"one_per_bit_s", per_bit},
        {"ones_only_s", only_ones}}},
  };
  for (const auto& contender : contenders) {
    const double time = median(contender.times);
    const auto [fastest, slowest] = std::minmax_element(contender.times.begin(), contender.times.end());
    json[contender.kernel] = {
        {"median_s", time},
        {"min_s", *fastest},
        {"max_s", *slowest},
        {"times_one_per_bit", per_bit / time},
        {"times_ones_only", only_ones / time},
        // Below it a download of the database takes longer, with as fast a way up as down.
        {"crossover_mbit_per_s", std::max(0.0, (bits - moved) / (time + query + decode) * 1e-6)},
    };
  }
  std::printf("%s\n", json.dump(2).c_str());
  return 0;
}
