// Servers and a client in one process over random records: for the benchmarks of what clients compute.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>

#include "paper002/measure.h"
#include "pirx/batchcodes/encoding.h"
#include "pirx/database/builder.h"
#include "pirx/itpir/client.h"
#include "pirx/itpir/server.h"

namespace pirx::bench {

struct Settings {
  std::string field = "gf2_8";
  unsigned servers = 8, threshold = 2, ramp = 1;
  std::uint64_t records = 2, record_bytes = std::uint64_t{4} << 20;
};

/// A database of random records, a row each, in a folder that is removed again; all servers hold it whole.
class Deployment {
 public:
  explicit Deployment(const Settings& a)
      : folder_(std::filesystem::temp_directory_path() / ("pirx-paper002-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    const database::BuildOptions options{
        .records_per_row = 1, .fixed_record_bytes = a.record_bytes, .digests = false};
    auto builder = need(database::DatabaseBuilder::create(folder_ / "db", options));
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < a.records; ++i) {
      Bytes record(static_cast<std::size_t>(a.record_bytes));
      for (std::size_t b = 0; b < record.size(); b += 8) {
        const std::uint64_t value = random();
        std::memcpy(record.data() + b, &value, std::min<std::size_t>(8, record.size() - b));
      }
      need(builder.add(record));
      records_.push_back(std::move(record));
    }
    need(builder.finish());
    const std::shared_ptr<const database::Database> database = need(database::Database::open(folder_ / "db"));
    const auto field = need(itpir::field_by_name(a.field));
    itpir::Params::Spec spec{field,
                             database->geometry(),
                             database->version(),
                             need(batchcodes::Encoding::suggested_coordinates(field, a.servers)),
                             a.threshold,
                             a.ramp};
    for (const auto coordinate : spec.coordinates) {
      itpir::ServerOptions server;
      server.field = spec.field;
      server.coordinate = coordinate;
      server.threads = 1;
      server.layout.layout = strassen::Layout::kRows;
      servers_.push_back(need(itpir::make_goldberg_server(database, server)));
    }
    client_.emplace(need(itpir::Params::create(spec)));
  }
  ~Deployment() { std::filesystem::remove_all(folder_); }
  Deployment(const Deployment&) = delete;
  Deployment& operator=(const Deployment&) = delete;

  const itpir::Client& client() const { return *client_; }
  const Bytes& record(std::uint64_t i) const { return records_[static_cast<std::size_t>(i)]; }
  std::vector<Bytes> answer(const itpir::Query& query) const {
    std::vector<Bytes> replies;
    for (std::size_t j = 0; j < servers_.size(); ++j) {
      const ByteSpan request = query.requests[j];
      replies.push_back(need(std::move(servers_[j]->answer({&request, 1}).at(0))));
    }
    return replies;
  }

 private:
  std::filesystem::path folder_;
  std::vector<Bytes> records_;
  std::vector<std::unique_ptr<AnyServer>> servers_;
  std::optional<itpir::Client> client_;
};

}  // namespace pirx::bench
