// SPDX-License-Identifier: Apache-2.0
// A database of a server, with the AnyServer that answers for it, its queue and its counters.
#pragma once

#include <algorithm>

#include "batcher.h"
#include "metrics.h"
#include "pirx/http/content_state.h"

namespace pirx::http {

class Hosted {
 public:
  /// Who answers, and what GET .../parameters and GET .../manifest give: always of one another.
  struct Epoch {
    std::shared_ptr<const AnyServer> server;
    std::shared_ptr<const Bytes> parameters, manifest;  ///< replies share them
    std::optional<std::uint64_t> number = parameters_epoch(*parameters);
  };

  Hosted(HostedDatabase database, const LogSink& log, ComputeThread& compute)
      : name_(std::move(database.name)),
        protocol_(std::move(database.protocol)),
        batcher_(database.queue, named(log), metrics_, compute) {
    auto parameters = database.server->parameters();
    replace(std::move(database.server), std::move(parameters), std::move(database.manifest));
  }

  const std::string& name() const noexcept { return name_; }
  const std::string& protocol() const noexcept { return protocol_; }
  std::shared_ptr<const Epoch> epoch() const {
    const std::lock_guard lock(mutex_);
    return epoch_;
  }
  /// Gives the one before; null at first.
  std::shared_ptr<const Epoch> replace(std::shared_ptr<const AnyServer> server, Bytes parameters,
                                       Bytes manifest) {
    // Queries of an earlier epoch may be longer; they are read all the same, to be told that they are stale.
    max_request_bytes_ = std::max(max_request_bytes_.load(), server->max_request_bytes());
    auto next = std::make_shared<const Epoch>(Epoch{std::move(server),
                                                    std::make_shared<const Bytes>(std::move(parameters)),
                                                    std::make_shared<const Bytes>(std::move(manifest))});
    const std::lock_guard lock(mutex_);
    epoch_.swap(next);
    return next;
  }
  /// See ContentState; nothing, too, where the server does not know.
  std::optional<bool> sound() const {
    const auto now = epoch();
    const auto* content = dynamic_cast<const ContentState*>(now->server.get());
    return content == nullptr ? std::nullopt : content->sound();
  }
  std::size_t max_request_bytes() const noexcept { return max_request_bytes_; }
  Metrics& metrics() noexcept { return metrics_; }
  const Metrics& metrics() const noexcept { return metrics_; }
  Batcher& batcher() noexcept { return batcher_; }
  const Batcher& batcher() const noexcept { return batcher_; }

 private:
  /// Lines of the log say whose they are.
  LogSink named(const LogSink& log) const {
    if (name_.empty() || !log) return log;
    return [log, name = name_](const LogEvent& event) {
      auto line = event;
      line.text.emplace_back("database", name);
      log(line);
    };
  }

  const std::string name_, protocol_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Epoch> epoch_;
  std::atomic<std::size_t> max_request_bytes_{0};
  Metrics metrics_;
  Batcher batcher_;  ///< last: it ends first
};

}  // namespace pirx::http
