// SPDX-License-Identifier: Apache-2.0
// Servers and a client in one process over random records, for benchmarks of the client.
#pragma once

#include <filesystem>

#include "bench/measure.h"
#include "bench/random_database.h"
#include "pirx/batchcodes/encoding.h"
#include "pirx/itpir/goldberg/client.h"
#include "pirx/itpir/goldberg/server.h"

namespace pirx::bench {

struct Settings {
  std::string field;
  unsigned servers = 8, threshold = 2, ramp = 1;
  std::uint64_t records = 2, record_bytes = 0;

  std::string name() const {
    std::ostringstream text;
    text << field << ' ' << servers << ' ' << threshold << ' ' << ramp << ' ' << records << ' '
         << record_bytes;
    return text.str();
  }
};

/// A database of random records, a row each; all servers hold it whole.
class Deployment {
 public:
  explicit Deployment(const Settings& a)
      : database_(random_database(
            a.records, {.records_per_row = 1, .fixed_record_bytes = a.record_bytes, .digests = false})) {
    const auto field = need(itpir::field_by_name(a.field));
    itpir::goldberg::Params::Spec spec{field,
                                       database_->geometry(),
                                       database_->version(),
                                       need(batchcodes::Encoding::suggested_coordinates(field, a.servers)),
                                       a.threshold,
                                       a.ramp};
    for (const auto coordinate : spec.coordinates) {
      itpir::ServerOptions server;
      server.field = spec.field;
      server.coordinate = coordinate;
      server.threads = 1;
      server.layout.layout = strassen::Layout::kRows;
      servers_.push_back(need(itpir::goldberg::make_server(database_, server)));
    }
    client_.emplace(need(itpir::goldberg::Params::create(spec)));
  }

  const itpir::goldberg::Client& client() const { return *client_; }
  std::vector<Bytes> answer(const itpir::Query& query) const {
    std::vector<Bytes> replies;
    for (std::size_t j = 0; j < servers_.size(); ++j) {
      replies.push_back(ask(*servers_[j], query.requests[j]));
    }
    return replies;
  }
  /// Whether these are the records, and proven to be.
  bool right(const std::vector<std::uint64_t>& indices, Answer answer) const {
    bool right = answer.certainty == Certainty::kProven && answer.records.size() == indices.size();
    for (std::size_t m = 0; right && m < indices.size(); ++m) {
      spoil(answer.records[m]);
      right = std::ranges::equal(answer.records[m], need(database_->record(indices[m])));
    }
    return right;
  }

 private:
  std::shared_ptr<const database::Database> database_;
  std::vector<std::unique_ptr<AnyServer>> servers_;
  std::optional<itpir::goldberg::Client> client_;
};

/// One query, its replies and the records. Each step may be taken once.
class Exchange {
 public:
  Exchange(const Deployment& deployment, Rng& rng, std::vector<std::uint64_t> indices)
      : deployment_(deployment), rng_(rng), indices_(std::move(indices)) {}
  void ask() { query_.emplace(need(deployment_.client().query(indices_, rng_))); }
  /// The servers answer, and one may lie.
  void serve(std::optional<std::size_t> liar) {
    replies_ = deployment_.answer(*query_);
    collector_ = deployment_.client().collect(std::move(query_->state));
    if (!liar) return;
    // A bit in every 21st byte: an element of every field it was one of before, but for the top of a few.
    for (std::size_t b = itpir::MessageHeader::kBytes; b < replies_[*liar].size(); b += 21) {
      replies_[*liar][b] ^= std::byte{1};
    }
  }
  void gather() {
    for (std::size_t j = 0; j < replies_.size(); ++j) need(collector_->add(j, replies_[j]));
  }
  void decode() { need(need(collector_->decode()).status == itpir::DecodeStatus::kOk, "no answer"); }
  void finish() { answer_ = need(std::move(*collector_).finish()); }
  /// Whether the records are right, and nobody but the liar is named as one.
  bool right(std::optional<std::size_t> liar) const {
    for (std::size_t j = 0; j < answer_.servers.size(); ++j) {
      if ((answer_.servers[j] == ServerStatus::kLied) != (liar == j)) return false;
    }
    return deployment_.right(indices_, answer_);
  }

 private:
  const Deployment& deployment_;
  Rng& rng_;
  std::vector<std::uint64_t> indices_;
  std::optional<itpir::Query> query_;
  std::vector<Bytes> replies_;
  std::unique_ptr<itpir::ReplyCollector> collector_;
  Answer answer_;
};

}  // namespace pirx::bench
