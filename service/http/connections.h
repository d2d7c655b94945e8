// SPDX-License-Identifier: Apache-2.0
// Counts the connections of each client, decides whether it may open another, and counts refusals.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "byte_budget.h"
#include "pirx/http/http_server.h"

namespace pirx::http {

/// The places of a server's connections. A client may open another while it has fewer than there are free
/// places, or fewer than `connections_per_client`. So one client alone gets half of all places. k clients
/// that grow together get the (k + 1)-th part each, and as many stay free for the next one. The memory that
/// its connections and its requests take goes by the same rule: see ByteBudget::Client. Thread-safe.
class Connections {
 public:
  using Clock = std::chrono::steady_clock;
  /// Why a connection was refused; the names of the limits.
  static constexpr std::array<const char*, 3> kLimits{"max_connections", "connections_per_client",
                                                      "max_in_flight"};

  /// Connections are charged to `memory`, and their requests and replies to `requests`.
  Connections(const HttpServerOptions& options, ByteBudget& memory, ByteBudget& requests, LogSink log);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  struct Client;

  /// One connection's place, and the memory that it is charged for; given back on destruction.
  class Place {
   public:
    Place(Place&& other) noexcept;
    Place& operator=(Place&&) = delete;
    ~Place();
    /// The connection is another client's from now on. False, and nothing changed, where that one may not
    /// have another.
    bool move_to(const std::string& client);
    /// The connection itself takes so many bytes now. False, and nothing changed, without room for them.
    bool resize(std::size_t bytes) noexcept;
    /// Of no bytes, for the client's requests and replies.
    ByteLease lease() const noexcept;

   private:
    friend class Connections;
    Place(Connections& all, std::string name, std::shared_ptr<Client> client) noexcept;
    Connections* all_;
    std::string name_;
    std::shared_ptr<Client> client_;
    ByteLease lease_;
  };

  /// A place for a connection of this client that takes so many bytes; nothing where a limit is reached,
  /// which is counted, and logged once a minute.
  std::optional<Place> admit(std::string client, std::size_t bytes, Clock::time_point now = Clock::now());
  /// Logs the refusals that no line has counted yet.
  void log_refused() noexcept;

  std::size_t open() const;
  /// What connections take, beside requests and replies.
  std::size_t bytes() const noexcept { return bytes_; }
  /// By limit, as in kLimits.
  std::uint64_t refused(std::size_t limit) const noexcept { return refused_[limit]; }

 private:
  enum Limit : std::uint8_t { kTotal, kClient, kMemory };

  /// Whether this client may have one of the `free` places. Under mutex_.
  bool may_have_another(const std::string& client, std::size_t free) const;
  void refuse(Limit limit, Clock::time_point now) noexcept;
  /// Under mutex_.
  std::shared_ptr<Client> enter(const std::string& client);
  void leave(const std::string& client) noexcept;

  const std::size_t most_, per_client_;
  ByteBudget &memory_, &requests_;
  const LogSink log_;
  std::atomic<std::size_t> bytes_{0};
  std::array<std::atomic<std::uint64_t>, kLimits.size()> refused_{};

  mutable std::mutex mutex_;
  std::size_t open_ = 0;
  std::unordered_map<std::string, std::shared_ptr<Client>> clients_;  ///< those with connections
  std::array<std::uint64_t, kLimits.size()> logged_{};                ///< of refused_
  std::optional<Clock::time_point> logged_at_;
};

}  // namespace pirx::http
