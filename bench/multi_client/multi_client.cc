// What batching gains: independent clients in parallel against one server over HTTP, beside the same queries
// one after another. Every answer is decoded and compared with the database.
//
// one_after_another   so many queries of one client
// in_parallel         the same number by --clients clients, who start together
//
// The figure is the counter of in_parallel that compares it with one_after_another right after.
#include <atomic>
#include <barrier>
#include <filesystem>
#include <thread>

#include "bench/measure.h"
#include "bench/random_database.h"
#include "pirx/http/http_client.h"
#include "pirx/http/http_server.h"
#include "pirx/itpir/client.h"
#include "pirx/itpir/server.h"

namespace {

using namespace pirx;
using bench::need;

struct Settings {
  std::uint64_t size, record_bytes, window_us;
  int clients, rounds, threads;
};

/// A query whose reply from every other server is known already, so that only the measured server works while
/// the clock runs.
struct Prepared {
  std::uint64_t index;
  std::vector<Bytes> request;  // one element: what goes to the measured server
  Bytes other_reply;
  std::unique_ptr<itpir::ClientState> state;
};

class Bench {
 public:
  explicit Bench(const Settings& a)
      : database_(need(bench::random_database(std::filesystem::temp_directory_path(),
                                              std::max<std::uint64_t>(a.size / a.record_bytes, 2),
                                              {.fixed_record_bytes = a.record_bytes}))),
        other_(need(itpir::make_goldberg_server(database_, {.coordinate = 2, .threads = a.threads}))),
        client_(need(itpir::Params::create({.field = kTagGf2_8,
                                            .geometry = database_->geometry(),
                                            .version = database_->version(),
                                            .coordinates = {1, 2},
                                            .threshold = 1}))) {
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
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

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
    return bench::seconds_of([&] {
      for (auto& thread : threads) thread.join();
    });
  }
  /// Whether every answer so far was right.
  bool right() const { return right_; }
  std::size_t largest_batch() const { return largest_batch_; }

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
    const std::uint64_t index = next_ = (next_ * 7919 + 13) % database_->geometry().records();
    auto rng = need(Rng::from_os());
    auto query = need(client_.query({&index, 1}, rng));
    const ByteSpan to_other = query.requests[1];
    auto reply = need(std::move(other_->answer({&to_other, 1}).front()));
    query.requests.pop_back();
    return {index, std::move(query.requests), std::move(reply), std::move(query.state)};
  }

  void fetch(http::HttpTransport& transport, Prepared& query) {
    auto outcomes = transport.query_all(query.request, {.deadline = std::chrono::minutes(2)});
    const std::optional<Bytes> replies[] = {need(std::move(outcomes.front().reply)),
                                            std::move(query.other_reply)};
    auto answer = need(client_.decode(std::move(query.state), replies));
    bench::spoil(answer.records.front());
    if (!std::ranges::equal(need(database_->record(query.index)), answer.records.front())) right_ = false;
  }

  std::shared_ptr<const database::Database> database_;
  std::unique_ptr<AnyServer> other_;
  itpir::Client client_;
  std::unique_ptr<http::HttpServer> server_;
  std::thread thread_;
  std::atomic<std::size_t> largest_batch_{0};
  std::atomic<bool> right_{true};
  std::uint64_t next_ = 1;
};

/// An iteration is all queries of all clients.
void run(benchmark::State& state, const Settings& a, bool parallel) {
  static Bench served(a);
  const auto queries = [&](bool together) {
    return together ? served.run(a.clients, a.rounds) : served.run(1, a.clients * a.rounds);
  };
  served.run(1, 1);
  if (!served.right()) return bench::Program::wrong(state, "a wrong answer");
  double seconds = 0;
  for (auto _ : state) {
    const double took = queries(parallel);
    state.SetIterationTime(took);
    seconds += took;
  }
  seconds /= static_cast<double>(state.iterations());
  state.counters["queries_per_s"] = a.clients * a.rounds / seconds;
  if (parallel) {
    state.counters["times_one_after_another"] = queries(false) / seconds;
    state.counters["largest_batch"] = static_cast<double>(served.largest_batch());
  }
  if (!served.right()) return bench::Program::wrong(state, "a wrong answer");
  // Times decide nothing, but a batch of one would mean that the server does not batch at all.
  if (parallel && a.clients > 1 && served.largest_batch() < 2) bench::Program::wrong(state, "no batches");
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program(argc, argv);
  const auto number = [&](const char* name, std::uint64_t fallback, std::uint64_t most) {
    return program.number(name, fallback, 1, most);
  };
  Settings a{};
  a.size = number("size", 256 << 20, std::uint64_t{1} << 40);
  a.record_bytes = number("record_bytes", 4096, 1 << 30);
  a.window_us = number("window_us", 2000, 1'000'000);
  a.clients = static_cast<int>(number("clients", 8, 256));
  a.rounds = static_cast<int>(number("rounds", 10, 10'000));
  a.threads = static_cast<int>(number("threads", 1, 1024));
  program.start();
  for (const bool parallel : {false, true}) {
    benchmark::RegisterBenchmark(parallel ? "in_parallel" : "one_after_another",
                                 [a, parallel](benchmark::State& state) { run(state, a, parallel); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  return bench::Program::run();
}
