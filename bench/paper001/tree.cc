// The tree's server and client beside a plain GMP implementation of paper 001 in the same run, over items of
// one plaintext each. Both answers are decrypted and compared with the item before anything is timed. Prints
// JSON; the ratios of medians are the figures.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "paper001/plain.h"
#include "pirx/base/cpu.h"
#include "pirx/cpir/dj/cipher.h"
#include "pirx/cpir/dj/client.h"
#include "pirx/cpir/dj/server.h"
#include "pirx/database/builder.h"

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;
namespace dj = pirx::cpir::dj;
namespace plain = pirx::bench::plain;

struct Arguments {
  unsigned bits = 1024;
  unsigned digit_bits = 3;
  unsigned levels = 3;
  std::vector<std::uint32_t> arities;
  std::vector<std::string> kernels{"auto", "gmp"};
  std::vector<int> threads{1};
  std::uint64_t table_mib = 64;
  int runs = 5, plain_runs = 3;
};

template <class T>
T need(pirx::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "tree: %s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
void need(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "tree: %s\n", what);
  std::exit(1);
}

mpz_class number(pirx::ByteSpan big_endian) {
  mpz_class out;
  mpz_import(out.get_mpz_t(), big_endian.size(), 1, 1, 1, 0, big_endian.data());
  return out;
}

/// By the clock on the wall, and by the processor's for all threads: on a machine with other work the second
/// is the steadier.
struct Times {
  std::vector<double> wall, cpu;

  template <class F>
  void measure(F&& f) {
    const auto processor = std::clock();
    const auto start = Clock::now();
    f();
    wall.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    cpu.push_back(1e3 * static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC);
  }
};
double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
Json summary(const Times& times) {
  const auto [best, worst] = std::minmax_element(times.wall.begin(), times.wall.end());
  return {{"median_ms", median(times.wall)},
          {"best_ms", *best},
          {"worst_ms", *worst},
          {"cpu_ms", median(times.cpu)}};
}

class Items {
 public:
  Items(std::uint64_t count, std::size_t bytes)
      : folder_(std::filesystem::temp_directory_path() / ("pirx-tree-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    auto builder = need(pirx::database::DatabaseBuilder::create(
        folder_ / "db", {.records_per_row = 1, .fixed_record_bytes = bytes, .digests = false}));
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < count; ++i) {
      pirx::Bytes record(bytes);
      for (auto& byte : record) byte = static_cast<std::byte>(random());
      need(builder.add(record));
      numbers_.push_back(number(record));
    }
    need(builder.finish());
    database_ = need(pirx::database::Database::open(folder_ / "db"));
  }
  ~Items() { std::filesystem::remove_all(folder_); }
  Items(const Items&) = delete;

  const std::shared_ptr<const pirx::database::Database>& database() const { return database_; }
  const std::vector<mpz_class>& numbers() const { return numbers_; }

 private:
  std::filesystem::path folder_;
  std::vector<mpz_class> numbers_;
  std::shared_ptr<const pirx::database::Database> database_;
};

struct Contender {
  std::string kernel;
  int threads;
  std::unique_ptr<pirx::AnyServer> server;
  Times answer;
};

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app("Damgard-Jurik trees beside a plain implementation of paper 001");
  app.add_option("--bits", a.bits, "Of N: 1024 (the paper's), 2048, 3072, 4096");
  app.add_option("--digit_bits", a.digit_bits, "Of the plain tree: 1 binary, 2 quadratic, 3 octal")
      ->check(CLI::Range(1, 3));
  app.add_option("--levels", a.levels, "Of the plain tree, full")->check(CLI::Range(1u, dj::kMaxLevels));
  app.add_option("--arities", a.arities, "Of our tree, leaves first; default: the plain tree's")
      ->delimiter(',');
  app.add_option("--kernels", a.kernels, "auto, gmp, ifma")->delimiter(',');
  app.add_option("--threads", a.threads, "Each a contender")->delimiter(',');
  app.add_option("--table_mib", a.table_mib, "For tables of powers");
  app.add_option("--runs", a.runs, "Of ours, in turns with the plain one")->check(CLI::Range(1, 1000));
  app.add_option("--plain_runs", a.plain_runs, "0: no plain one")->check(CLI::Range(0, 1000));
  CLI11_PARSE(app, argc, argv);
  need(a.digit_bits * a.levels <= 24, "at most 2^24 items");

  const std::uint64_t count = std::uint64_t{1} << (a.digit_bits * a.levels);
  if (a.arities.empty()) a.arities.assign(a.levels, std::uint32_t{1} << a.digit_bits);
  const Items items(count, (a.bits - 1) / 8);
  const auto policy = a.bits == 1024 ? dj::KeyPolicy::kPaperReproduction : dj::KeyPolicy::kSecure;
  const auto key = need(dj::SecretKey::generate(a.bits, policy));
  auto rng = need(pirx::Rng::from_os());
  const std::uint64_t wanted = count - 1 - count / 3;

  std::vector<Contender> contenders;
  for (const auto& kernel : a.kernels) {
    for (const int threads : a.threads) {
      dj::ServerOptions options;
      options.arities = a.arities;
      options.modulus_bits = a.bits;
      options.policy = policy;
      options.threads = threads;
      options.table_bytes = a.table_mib << 20;
      options.kernel = kernel;
      contenders.push_back({kernel, threads, need(dj::make_dj_server(items.database(), options)), {}});
    }
  }
  const auto client =
      need(dj::Client::create(need(dj::Params::decode(contenders[0].server->parameters())), key));
  const auto request = need(client.query(wanted, rng));
  const pirx::ByteSpan view = request;
  pirx::Bytes reply;
  for (const auto& contender : contenders) {
    reply = need(std::move(contender.server->answer({&view, 1}).at(0)));
    const auto row = need(client.decode(reply));
    need(number(row.expose()) == items.numbers()[wanted], "an answer is wrong");
  }

  plain::Server baseline(number(key.public_key().modulus()), a.digit_bits);
  std::vector<std::vector<mpz_class>> selectors;
  for (unsigned s = 1; s <= a.levels; ++s) {
    const auto digit = static_cast<unsigned>(wanted >> (s - 1) * a.digit_bits) & ((1u << a.digit_bits) - 1);
    selectors.push_back(baseline.selectors(s, digit));
  }
  Times plain_answer;
  const auto run_plain = [&](bool check) {
    mpz_class root;
    plain_answer.measure([&] { root = baseline.answer(items.numbers(), selectors); });
    if (!check) return;
    const auto cipher = need(dj::Cipher::create(key, a.levels));
    pirx::Bytes bytes(key.public_key().ciphertext_bytes(a.levels));
    const auto used = (mpz_sizeinbase(root.get_mpz_t(), 2) + 7) / 8;
    mpz_export(bytes.data() + (bytes.size() - used), nullptr, 1, 1, 1, 0, root.get_mpz_t());
    need(number(need(cipher.decrypt_layers(a.levels, bytes)).expose()) == items.numbers()[wanted],
         "the plain answer is wrong");
  };

  Times blind, query, decode;
  for (int run = 0; run < std::max(a.runs, a.plain_runs); ++run) {
    if (run < a.plain_runs) run_plain(run == 0);
    if (run >= a.runs) continue;
    for (auto& contender : contenders) {
      contender.answer.measure([&] { need(std::move(contender.server->answer({&view, 1}).at(0))); });
    }
    std::optional<dj::Blinding> blinding;
    blind.measure([&] { blinding.emplace(client.blind(rng)); });
    query.measure([&] { need(client.query(wanted, std::move(*blinding))); });
    decode.measure([&] { need(client.decode(reply)); });
  }

  Json json = {
      {"kind", "dj_tree"},
      {"cpu", pirx::cpu_features_name(need(pirx::allowed_cpu_features()))},
      {"compiler", __VERSION__},
      {"gmp", gmp_version},
      {"modulus_bits", a.bits},
      {"items", count},
      {"item_bytes", (a.bits - 1) / 8},
      {"arities", a.arities},
      {"table_mib", a.table_mib},
      {"runs", a.runs},
      {"request_bytes", request.size()},
      {"reply_bytes", reply.size()},
      {"client", {{"blind", summary(blind)}, {"query", summary(query)}, {"decode", summary(decode)}}}};
  if (!plain_answer.wall.empty()) json["plain"] = summary(plain_answer);
  for (const auto& contender : contenders) {
    Json one = {{"kernel", contender.kernel}, {"threads", contender.threads}};
    one.update(summary(contender.answer));
    if (!plain_answer.wall.empty()) {
      one["times_the_plain"] = median(plain_answer.wall) / median(contender.answer.wall);
      one["times_the_plain_cpu"] = median(plain_answer.cpu) / median(contender.answer.cpu);
    }
    json["servers"].push_back(one);
  }
  std::printf("%s\n", json.dump(2).c_str());
  return 0;
}
