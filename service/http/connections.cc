// SPDX-License-Identifier: Apache-2.0
// Counts connections by client. A client may have as many as are still free: the rule of a queue with a
// dynamic threshold in a shared buffer.
#include "connections.h"

#include <algorithm>

#include "log.h"

namespace pirx::http {

Connections::Connections(const HttpServerOptions& options, ByteBudget& budget, LogSink log)
    : most_(options.max_connections),
      per_client_(options.connections_per_client),
      budget_(budget),
      log_(std::move(log)) {}

std::optional<Connections::Place> Connections::admit(std::string client, std::size_t bytes,
                                                     Clock::time_point now) {
  std::optional<Limit> reached;
  {
    const std::lock_guard lock(mutex_);
    if (open_ >= most_) {
      reached = kTotal;
    } else if (!may_have_another(client, most_ - open_)) {
      reached = kClient;
    } else {
      ++clients_[client];
      ++open_;
    }
  }
  if (!reached) {
    Place place(*this, std::move(client));
    if (place.resize(bytes)) return place;
    reached = kMemory;
  }
  refuse(*reached, now);
  return std::nullopt;
}

std::size_t Connections::open() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

bool Connections::may_have_another(const std::string& client, std::size_t free) const {
  const auto mine = clients_.find(client);
  return (mine == clients_.end() ? 0 : mine->second) < std::max(per_client_, free);
}

void Connections::refuse(Limit limit, Clock::time_point now) noexcept {
  ++refused_[limit];
  {
    const std::lock_guard lock(mutex_);
    if (logged_at_ && now - *logged_at_ < std::chrono::minutes(1)) return;
    logged_at_ = now;
  }
  log_refused();
}

void Connections::log_refused() noexcept {
  std::array<std::uint64_t, kLimits.size()> counts;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = refused_[i] - logged_[i];
      logged_[i] += counts[i];
    }
  }
  if (std::count(counts.begin(), counts.end(), 0u) == static_cast<std::ptrdiff_t>(counts.size())) return;
  write_log(log_, [&] {
    LogEvent event{"connections_refused", {}, {}};
    for (std::size_t i = 0; i < counts.size(); ++i) {
      event.numbers.emplace_back(kLimits[i], static_cast<double>(counts[i]));
    }
    return event;
  });
}

void Connections::leave(const std::string& client) noexcept {
  const auto mine = clients_.find(client);
  if (--mine->second == 0) clients_.erase(mine);
}

Connections::Place::Place(Place&& other) noexcept
    : all_(std::exchange(other.all_, nullptr)),
      client_(std::move(other.client_)),
      lease_(std::move(other.lease_)) {}

Connections::Place::~Place() {
  if (all_ == nullptr) return;
  all_->bytes_ -= lease_.held();
  const std::lock_guard lock(all_->mutex_);
  all_->leave(client_);
  --all_->open_;
}

bool Connections::Place::move_to(const std::string& client) {
  if (client == client_) return true;
  auto name = client;
  {
    const std::lock_guard lock(all_->mutex_);
    if (all_->may_have_another(name, all_->most_ - all_->open_ + 1)) {
      ++all_->clients_[name];
      all_->leave(client_);
      client_ = std::move(name);
      return true;
    }
  }
  all_->refuse(kClient, Clock::now());
  return false;
}

bool Connections::Place::resize(std::size_t bytes) noexcept {
  const auto before = lease_.held();
  if (!lease_.resize(bytes)) return false;
  all_->bytes_ += bytes - before;
  return true;
}

}  // namespace pirx::http
