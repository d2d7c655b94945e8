// What a client of the tree computes: coins made ahead, a query from the pool, and decryption of all levels
// of one chunk, by one thread and by two. Answers are checked before anything is timed. Prints JSON.
#ifdef _OPENMP
#include <omp.h>
#endif

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "pirx/base/cpu.h"
#include "pirx/cpir/dj/cipher.h"
#include "pirx/cpir/dj/pool.h"

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;
namespace dj = pirx::cpir::dj;

template <class T>
T need(pirx::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "client: %s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
void need(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "client: %s\n", what);
  std::exit(1);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// By the clock on the wall, and by the processor's for all threads: on a machine with other work the second
/// is the steadier.
template <class F>
Json measure(int runs, F&& f) {
  std::vector<double> wall, cpu;
  for (int run = 0; run < runs; ++run) {
    const auto processor = std::clock();
    const auto start = Clock::now();
    f();
    wall.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    cpu.push_back(1e3 * static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC);
  }
  return {{"best_ms", *std::min_element(wall.begin(), wall.end())},
          {"median_ms", median(wall)},
          {"worst_ms", *std::max_element(wall.begin(), wall.end())},
          {"cpu_median_ms", median(cpu)}};
}

void use_threads([[maybe_unused]] int threads) {
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
}

/// E_m(... E_1(message)), as the root of a tree holds it.
pirx::Bytes encrypt_layers(const dj::PublicKey& key, unsigned levels, pirx::ByteSpan message,
                           pirx::Rng& rng) {
  pirx::Bytes value(message.begin(), message.end());
  for (unsigned s = 1; s <= levels; ++s) value = need(dj::encrypt(key, s, value, rng));
  return value;
}

/// The selectors of the query decrypt to the digits of the row.
void check_query(const dj::Params& params, const dj::Cipher& cipher, pirx::ByteSpan query,
                 std::uint64_t row) {
  std::size_t at = dj::Params::kHeaderBytes + params.modulus_bytes();
  for (unsigned s = 1; s <= params.levels(); ++s) {
    const auto arity = params.arities()[s - 1];
    for (std::uint32_t i = 1; i < arity; ++i, at += params.ciphertext_bytes(s)) {
      const auto bit = need(cipher.decrypt(s, query.subspan(at, params.ciphertext_bytes(s))));
      const auto bytes = bit.expose();
      const bool zero = std::all_of(bytes.begin(), bytes.end() - 1, [](auto b) { return b == std::byte{0}; });
      need(zero && std::to_integer<unsigned>(bytes.back()) == (row % arity == i), "a wrong selector");
    }
    row /= arity;
  }
}

}  // namespace

int main(int argc, char** argv) {
  unsigned bits = 3072, levels = 3;
  std::uint64_t rows = 512;
  std::vector<std::uint32_t> arities{32, 16};
  std::vector<int> threads{1, 2};
  int runs = 5, queries = 20;
  CLI::App app("Paper 001: the client's side of a tree");
  app.add_option("--bits", bits, "Of the modulus; 1024 is the paper's")->capture_default_str();
  app.add_option("--rows", rows, "Of the database")->capture_default_str();
  app.add_option("--arities", arities, "Leaves first")->delimiter(',')->capture_default_str();
  app.add_option("--levels", levels, "Of the chunk that is decrypted")->capture_default_str();
  app.add_option("--threads", threads, "Each of them")->delimiter(',')->capture_default_str();
  app.add_option("--runs", runs, "Of everything but queries")->capture_default_str();
  app.add_option("--queries", queries, "From the pool")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const auto policy = bits == 1024 ? dj::KeyPolicy::kPaperReproduction : dj::KeyPolicy::kSecure;
  auto rng = need(pirx::Rng::from_os());
  const auto key = need(dj::SecretKey::generate(bits, policy));
  const auto geometry = need(pirx::database::Geometry::create(
      {.records = rows, .record_bytes = (bits - 1) / 8, .variable_length = false, .digests = false}));
  const auto params = need(dj::Params::create({geometry, {}, arities, bits, policy}));
  const auto client = need(dj::Client::create(params, key));
  const auto cipher = need(dj::Cipher::create(key, std::max(levels, params.levels())));

  dj::Pool pool(client);
  need(pool.fill(1, rng));
  const std::uint64_t row = rows * 2 / 3;
  check_query(params, cipher, need(client.query(row, std::move(*pool.take()))), row);
  const pirx::Bytes message(bits / 8 - 1, std::byte{0x5A});
  const auto root = encrypt_layers(key.public_key(), levels, message, rng);
  const auto plain = need(cipher.decrypt_layers(levels, root));
  need(std::equal(message.rbegin(), message.rend(), plain.expose().rbegin()), "a wrong plaintext");

  Json json = {{"kind", "dj_client"},
               {"cpu", pirx::cpu_features_name(need(pirx::allowed_cpu_features()))},
               {"compiler", __VERSION__},
               {"modulus_bits", bits},
               {"rows", rows},
               {"arities", arities},
               {"levels_decrypted", levels},
               {"by_threads", Json::array()}};
  for (const int count : threads) {
    use_threads(count);
    Json one = {{"threads", count}};
    one["blind"] = measure(runs, [&] { static_cast<void>(client.blind(rng)); });
    one["decrypt"] = measure(runs, [&] { need(cipher.decrypt_layers(levels, root)); });
    json["by_threads"].push_back(std::move(one));
  }
  need(pool.fill(static_cast<std::size_t>(queries), rng));
  json["query_from_pool"] = measure(queries, [&] { need(client.query(row, std::move(*pool.take()))); });
  std::printf("%s\n", json.dump(2).c_str());
  return 0;
}
