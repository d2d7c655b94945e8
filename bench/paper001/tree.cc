// SPDX-License-Identifier: Apache-2.0
// Damgard-Jurik trees beside a plain GMP implementation of paper 001, over records of one plaintext each
// unless --record_bytes says otherwise (then with --plain_repetitions=0).
// Times the server by kernel and threads, and the client: making coins ahead, making a query from such coins,
// and decrypting all levels of a reply. Of the plain one: the server on one thread, its two parallel
// versions, and its client.
#ifdef _OPENMP
#include <omp.h>
#endif

#include "paper001/plain.h"
#include "pirx/cpir/dj/cipher.h"
#include "pirx/cpir/dj/client.h"
#include "pirx/cpir/dj/server.h"
#include "random_database.h"

namespace {

using pirx::bench::add;
using pirx::bench::ask;
using pirx::bench::need;
using pirx::bench::Program;
namespace dj = pirx::cpir::dj;
namespace plain = pirx::bench::plain;

mpz_class number(pirx::ByteSpan big_endian) {
  mpz_class out;
  mpz_import(out.get_mpz_t(), big_endian.size(), 1, 1, 1, 0, big_endian.data());
  return out;
}

void use_threads([[maybe_unused]] int threads) {
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  Program program(argc, argv);
  const auto bits = static_cast<unsigned>(program.number("bits", 1024, 1024, 4096));
  // Of the plain tree: 1 binary, 2 quadratic, 3 octal.
  const auto digit_bits = static_cast<unsigned>(program.number("digit_bits", 3, 1, 3));
  const auto levels =
      static_cast<unsigned>(program.number("levels", 3, 1, std::min(dj::kMaxLevels, 24 / digit_bits)));
  // Of our tree, leaves first; the plain tree's if there are none.
  auto arities = program.numbers<std::uint32_t>("arities", "", 2, 1u << 16);
  const auto kernels = program.texts("kernels", "auto,gmp");
  const auto threads = program.numbers<unsigned>("threads", "1", 1, 1024);
  const auto leaf_layer =
      static_cast<unsigned>(program.number("leaf_layer", 1, 1, dj::Params::kMaxLeafLayer));
  const auto record_bytes = program.number("record_bytes", (bits - 1) / 8, 1, 1 << 20);
  // Plain ones take seconds and more. 0: none.
  const auto plain_repetitions = static_cast<int>(program.number("plain_repetitions", 1, 0, 1000));
  program.start();
  if (plain_repetitions > 0 && record_bytes > (bits - 1) / 8) {
    need<void>(pirx::invalid("the plain tree's records are one plaintext: give --plain_repetitions=0"));
  }

  const std::uint64_t count = std::uint64_t{1} << (digit_bits * levels), wanted = count - 1 - count / 3;
  if (arities.empty()) arities.assign(levels, 1u << digit_bits);
  const auto policy = bits == 1024 ? dj::KeyPolicy::kPaperReproduction : dj::KeyPolicy::kSecure;
  const auto database = pirx::bench::random_database(
      count, {.records_per_row = 1, .fixed_record_bytes = record_bytes, .digests = false});
  std::vector<mpz_class> records;
  for (std::uint64_t i = 0; i < count; ++i) records.push_back(number(need(database->record(i))));

  std::vector<std::unique_ptr<pirx::AnyServer>> servers;
  for (const auto& kernel : kernels) {
    for (const auto count_of_threads : threads) {
      dj::ServerOptions options{.arities = arities, .modulus_bits = bits, .policy = policy};
      options.threads = static_cast<int>(count_of_threads);
      options.kernel = kernel;
      options.leaf_layer = leaf_layer;
      servers.push_back(need(dj::make_dj_server(database, options)));
    }
  }
  if (servers.empty()) need<void>(pirx::invalid("give a kernel and a number of threads"));
  const auto key = need(dj::SecretKey::generate(bits, policy));
  const auto client = need(dj::Client::create(need(dj::Params::decode(servers[0]->parameters())), key));
  auto rng = need(pirx::Rng::from_os());
  const auto request = need(client.query(wanted, rng));
  const auto is_wanted = [&](const pirx::SecretVector<std::byte>& row) {
    return number(row.expose()) == records[wanted];
  };
  const auto is_reply = [&](const pirx::Bytes& reply) { return is_wanted(need(client.decode(reply))); };
  const auto reply = ask(*servers[0], request);

  for (std::size_t i = 0; i < servers.size(); ++i) {
    add(
        "server/" + kernels[i / threads.size()] + "/threads:" + std::to_string(threads[i % threads.size()]),
        [&server = *servers[i], &request] { return ask(server, request); }, is_reply);
  }
  for (const auto count_of_threads : threads) {
    const int n = static_cast<int>(count_of_threads);
    const std::string name = "/threads:" + std::to_string(n);
    // Coins are right if a query with them is.
    const auto blind = [&client, &rng, n] {
      use_threads(n);
      return std::make_shared<dj::Blinding>(client.blind(rng));
    };
    add("client/blind" + name, blind, [&](const auto& blinding) {
      return is_reply(ask(*servers[0], need(client.query(wanted, std::move(*blinding)))));
    });
    const auto decode = [&client, &reply, n] {
      use_threads(n);
      return need(client.decode(reply));
    };
    add("client/decode" + name, decode, is_wanted);
  }
  const auto query = [&](benchmark::State& state) {
    auto blinding = client.blind(rng);
    pirx::Bytes asked;
    for (auto _ : state) asked = need(client.query(wanted, std::move(blinding)));
    if (!is_reply(ask(*servers[0], asked))) Program::wrong(state, "a wrong query");
  };
  benchmark::RegisterBenchmark("client/query", query)->Iterations(1)->Unit(benchmark::kMillisecond);

  std::vector<unsigned> digits;
  for (unsigned level = 0; level < levels; ++level) {
    digits.push_back(static_cast<unsigned>(wanted >> level * digit_bits) & ((1u << digit_bits) - 1));
  }
  plain::Client plain_client(number(key.expose_p()), number(key.expose_q()), digit_bits);
  const mpz_class n = number(key.public_key().modulus());
  plain::Server baseline(n, digit_bits);
  const auto selectors = plain_client.selectors(digits, 1);
  // What the plain ones compute is decrypted by pirx's cipher.
  const auto cipher = need(dj::Cipher::create(key, levels));
  const auto ciphertext = [&](unsigned s, const mpz_class& value) {
    pirx::Bytes bytes(key.public_key().ciphertext_bytes(s));
    const auto used = (mpz_sizeinbase(value.get_mpz_t(), 2) + 7) / 8;
    mpz_export(bytes.data() + (bytes.size() - used), nullptr, 1, 1, 1, 0, value.get_mpz_t());
    return bytes;
  };
  const auto is_root = [&](const mpz_class& root) {
    return is_wanted(need(cipher.decrypt_layers(levels, ciphertext(levels, root))));
  };
  const auto are_selectors = [&](const std::vector<std::vector<mpz_class>>& made) {
    for (unsigned s = 1; s <= levels; ++s) {
      for (unsigned set = 1; set < 1u << digit_bits; ++set) {
        const auto bit = need(cipher.decrypt(s, ciphertext(s, made[s - 1][set])));
        if (number(bit.expose()) != ((digits[s - 1] & set) == set ? 1 : 0)) return false;
      }
    }
    return true;
  };
  const auto add_plain = [&](const std::string& name, const auto& run, const auto& right) {
    if (plain_repetitions > 0) add(name, run, right)->Repetitions(plain_repetitions);
  };
  add_plain(
      "plain", [&] { return baseline.answer(records, selectors); }, is_root);
  for (const auto count_of_threads : threads) {
    const int team = static_cast<int>(count_of_threads);
    const std::string in_name = "/threads:" + std::to_string(team);
    for (const auto parallel : {plain::Parallel::kNodes, plain::Parallel::kPowers}) {
      if (team == 1) break;
      add_plain((parallel == plain::Parallel::kNodes ? "plain_nodes" : "plain_powers") + in_name,
                [&, team, parallel] { return baseline.answer(records, selectors, team, parallel); }, is_root);
    }
    add_plain(
        "plain_client/encrypt" + in_name, [&, team] { return plain_client.selectors(digits, team); },
        are_selectors);
  }
  mpz_class root = records[wanted];
  plain::Coins coins(n);
  for (unsigned s = 1; s <= levels; ++s) {
    root = plain::product(plain::encryption(n, s, root, coins.next()), plain::power_of(n, s + 1));
  }
  add_plain(
      "plain_client/decrypt", [&] { return plain_client.decrypt(levels, root); },
      [&](const mpz_class& record) { return record == records[wanted]; });
  return Program::run();
}
