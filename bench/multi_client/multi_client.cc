// What batching gains: independent clients in parallel against one server, compared with the same queries one
// after another. Every answer is decoded and compared with the database. Prints JSON; the ratio is the
// figure.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "pirx/base/cpu.h"
#include "pirx/database/builder.h"
#include "pirx/http/http_client.h"
#include "pirx/http/http_server.h"
#include "pirx/itpir/client.h"
#include "pirx/itpir/server.h"

namespace {

using Clock = std::chrono::steady_clock;
namespace itpir = pirx::itpir;
namespace http = pirx::http;

struct Arguments {
  std::uint64_t size = std::uint64_t{256} << 20, record_bytes = 4096;
  int clients = 8, rounds = 10, threads = 1;
  std::int64_t window_us = 2000;
};

template <class T>
T need(pirx::Result<T> result) {
  if (result) {
    if constexpr (std::is_void_v<T>) {
      return;
    } else {
      return std::move(*result);
    }
  }
  std::fprintf(stderr, "multi_client: %s\n", result.error().to_string().c_str());
  std::exit(1);
}

/// A query whose reply from every other server is known already, so that only the measured server works while
/// the clock runs.
struct Prepared {
  std::uint64_t index;
  std::vector<pirx::Bytes> request;  // one element: what goes to the measured server
  pirx::Bytes other_reply;
  itpir::ClientState state;
};

class Bench {
 public:
  explicit Bench(const Arguments& a)
      : a_(a),
        file_(std::filesystem::temp_directory_path() / ("pirx-multi-client-" + std::to_string(getpid()))) {
    const std::uint64_t records = std::max<std::uint64_t>(a.size / a.record_bytes, 2);
    auto rng = need(pirx::Rng::from_os());
    auto builder =
        need(pirx::database::DatabaseBuilder::create(file_, {.fixed_record_bytes = a.record_bytes}));
    pirx::Bytes record(a.record_bytes);
    for (std::uint64_t i = 0; i < records; ++i) {
      rng.fill(record);
      need(builder.add(record));
    }
    need(builder.finish());
    database_ = need(pirx::database::Database::open(file_));
    other_ = need(itpir::make_goldberg_server(database_, {.coordinate = 2, .threads = a.threads}));
    auto params = need(itpir::Params::create({.field = pirx::kTagGf2_8,
                                              .geometry = database_->geometry(),
                                              .version = database_->version(),
                                              .coordinates = {1, 2},
                                              .threshold = 1}));
    client_ = std::make_unique<itpir::Client>(std::move(params));
    http::HttpServerOptions options;
    options.port = 0;
    options.batch_window = std::chrono::microseconds(a.window_us);
    auto measured = need(itpir::make_goldberg_server(database_, {.coordinate = 1, .threads = a.threads}));
    server_ = std::make_unique<http::HttpServer>(need(
        http::HttpServer::create(std::move(measured), options, [this](const auto& event) { count(event); })));
    thread_ = std::thread([this] { need(server_->run()); });
  }
  ~Bench() {
    server_->stop();
    thread_.join();
    std::filesystem::remove(file_);
  }

  /// Seconds for `clients` threads to make `rounds` queries each, all starting together.
  double run(int clients, int rounds) {
    std::vector<std::vector<Prepared>> work(static_cast<std::size_t>(clients));
    for (auto& mine : work) {
      for (int i = 0; i < rounds; ++i) mine.push_back(prepare());
    }
    std::barrier start(clients + 1);
    std::vector<std::thread> threads;
    for (auto& mine : work) {
      threads.emplace_back([&] {
        auto transport = need(http::HttpTransport::create(
            {{.url = "http://127.0.0.1:" + std::to_string(server_->port()), .ca_file = {}}}));
        start.arrive_and_wait();
        for (auto& query : mine) fetch(transport, query);
      });
    }
    start.arrive_and_wait();
    const auto begin = Clock::now();
    for (auto& thread : threads) thread.join();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  std::size_t largest_batch() const { return largest_batch_; }
  void forget_batches() { largest_batch_ = 0; }
  const pirx::database::Geometry& geometry() const { return database_->geometry(); }

 private:
  void count(const http::LogEvent& event) {
    if (event.event != "batch") return;
    for (const auto& [name, value] : event.numbers) {
      if (name != "requests") continue;
      auto seen = largest_batch_.load();
      const auto now = static_cast<std::size_t>(value);
      while (now > seen && !largest_batch_.compare_exchange_weak(seen, now)) {
      }
    }
  }

  Prepared prepare() {
    const std::uint64_t index = next_ = (next_ * 7919 + 13) % geometry().records();
    auto rng = need(pirx::Rng::from_os());
    auto query = need(client_->query({&index, 1}, rng));
    const pirx::ByteSpan to_other = query.requests[1];
    auto reply = need(std::move(other_->answer({&to_other, 1}).front()));
    query.requests.pop_back();
    return {index, std::move(query.requests), std::move(reply), std::move(query.state)};
  }

  void fetch(http::HttpTransport& transport, Prepared& query) {
    auto outcomes = transport.query_all(query.request, {.deadline = std::chrono::minutes(2)});
    const std::optional<pirx::Bytes> replies[] = {need(std::move(outcomes.front().reply)),
                                                  std::move(query.other_reply)};
    const auto answer = need(client_->decode(std::move(query.state), replies));
    const auto truth = need(database_->record(query.index));
    if (!std::equal(truth.begin(), truth.end(), answer.records.front().begin(),
                    answer.records.front().end())) {
      std::fprintf(stderr, "multi_client: a wrong answer\n");
      std::exit(1);
    }
  }

  Arguments a_;
  std::filesystem::path file_;
  std::shared_ptr<const pirx::database::Database> database_;
  std::unique_ptr<pirx::AnyServer> other_;
  std::unique_ptr<itpir::Client> client_;
  std::unique_ptr<http::HttpServer> server_;
  std::thread thread_;
  std::atomic<std::size_t> largest_batch_{0};
  std::uint64_t next_ = 1;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app(
      "Throughput of clients in parallel against one server, over the same queries one after another");
  app.add_option("--size", a.size, "Bytes of the database")->capture_default_str();
  app.add_option("--record-bytes", a.record_bytes)->capture_default_str();
  app.add_option("--clients", a.clients)->capture_default_str()->check(CLI::Range(1, 256));
  app.add_option("--rounds", a.rounds, "Queries of each client in each run")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  app.add_option("--threads", a.threads, "Of the matrix product")->capture_default_str();
  app.add_option("--window-us", a.window_us, "Batch window")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  Bench bench(a);
  bench.run(1, 1);  // warm
  std::vector<double> ratios, single_rates, parallel_rates;
  bench.forget_batches();
  const double queries = static_cast<double>(a.clients) * a.rounds;
  for (int run = 0; run < 3; ++run) {
    single_rates.push_back(queries / bench.run(1, a.clients * a.rounds));
    parallel_rates.push_back(queries / bench.run(a.clients, a.rounds));
    ratios.push_back(parallel_rates.back() / single_rates.back());
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const nlohmann::ordered_json json = {{"isa", pirx::cpu_features_name(pirx::allowed_cpu_features_or_die())},
                                       {"compiler", __VERSION__},
                                       {"cores", std::thread::hardware_concurrency()},
                                       {"rows", bench.geometry().rows()},
                                       {"row_bytes", bench.geometry().row_bytes()},
                                       {"clients", a.clients},
                                       {"rounds", a.rounds},
                                       {"threads", a.threads},
                                       {"batch_window_us", a.window_us},
                                       {"answers_checked", 6 * a.clients * a.rounds + 1},
                                       {"largest_batch", bench.largest_batch()},
                                       {"one_after_another_per_second", median(single_rates)},
                                       {"in_parallel_per_second", median(parallel_rates)},
                                       {"ratio", median(ratios)},
                                       {"ratio_least", *least},
                                       {"ratio_most", *most}};
  std::printf("%s\n", json.dump(2).c_str());
  // A batch of one would mean that the server does not batch at all. Times decide nothing.
  return a.clients > 1 && bench.largest_batch() < 2 ? 1 : 0;
}
