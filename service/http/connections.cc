// SPDX-License-Identifier: Apache-2.0
// Counts connections by client. A client may have as many as are still free: the rule of a queue with a
// dynamic threshold in a shared buffer.
#include "connections.h"

#include <algorithm>

#include "log.h"

namespace pirx::http {

struct Connections::Client {
  // Beside a large request there is room for some connections, such as those of health checks, and those that
  // are there grow by what they read.
  Client(ByteBudget& all_memory, ByteBudget& all_requests) noexcept
      : memory(ByteBudget::Client{&requests, all_memory.limit() / 64}, all_memory),
        requests(ByteBudget::Client{&memory}, all_requests) {}
  std::size_t connections = 0;
  ByteBudget memory, requests;
};

Connections::Connections(const HttpServerOptions& options, ByteBudget& memory, ByteBudget& requests,
                         LogSink log)
    : most_(options.max_connections),
      per_client_(options.connections_per_client),
      memory_(memory),
      requests_(requests),
      log_(std::move(log)) {}

std::optional<Connections::Place> Connections::admit(std::string client, std::size_t bytes,
                                                     Clock::time_point now) {
  std::optional<Limit> reached;
  std::shared_ptr<Client> entered;
  {
    const std::lock_guard lock(mutex_);
    if (open_ >= most_) {
      reached = kTotal;
    } else if (!may_have_another(client, most_ - open_)) {
      reached = kClient;
    } else {
      entered = enter(client);
      ++open_;
    }
  }
  if (!reached) {
    Place place(*this, std::move(client), std::move(entered));
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
  return (mine == clients_.end() ? 0 : mine->second->connections) < std::max(per_client_, free);
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

std::shared_ptr<Connections::Client> Connections::enter(const std::string& client) {
  auto mine = clients_.find(client);
  if (mine == clients_.end()) {
    mine = clients_.emplace(client, std::make_shared<Client>(memory_, requests_)).first;
  }
  ++mine->second->connections;
  return mine->second;
}

void Connections::leave(const std::string& client) noexcept {
  const auto mine = clients_.find(client);
  if (--mine->second->connections == 0) clients_.erase(mine);
}

Connections::Place::Place(Connections& all, std::string name, std::shared_ptr<Client> client) noexcept
    : all_(&all),
      name_(std::move(name)),
      client_(std::move(client)),
      lease_(std::shared_ptr<ByteBudget>(client_, &client_->memory)) {}

Connections::Place::Place(Place&& other) noexcept
    : all_(std::exchange(other.all_, nullptr)),
      name_(std::move(other.name_)),
      client_(std::move(other.client_)),
      lease_(std::move(other.lease_)) {}

Connections::Place::~Place() {
  if (all_ == nullptr) return;
  all_->bytes_ -= lease_.held();
  const std::lock_guard lock(all_->mutex_);
  all_->leave(name_);
  --all_->open_;
}

bool Connections::Place::move_to(const std::string& client) {
  if (client == name_) return true;
  auto name = client;
  auto reached = kClient;
  {
    const std::lock_guard lock(all_->mutex_);
    if (all_->may_have_another(name, all_->most_ - all_->open_ + 1)) {
      auto entered = all_->enter(name);
      ByteLease lease(std::shared_ptr<ByteBudget>(entered, &entered->memory));
      if (lease.resize(lease_.held())) {
        all_->leave(name_);
        name_ = std::move(name);
        client_ = std::move(entered);
        lease_ = std::move(lease);
        return true;
      }
      all_->leave(name);
      reached = kMemory;
    }
  }
  all_->refuse(reached, Clock::now());
  return false;
}

ByteLease Connections::Place::lease() const noexcept {
  return ByteLease(std::shared_ptr<ByteBudget>(client_, &client_->requests));
}

bool Connections::Place::resize(std::size_t bytes) noexcept {
  const auto before = lease_.held();
  if (!lease_.resize(bytes)) return false;
  all_->bytes_ += bytes - before;
  return true;
}

}  // namespace pirx::http
