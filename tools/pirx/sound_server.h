// SoundServer: the server half of a protocol, as long as the database that it answers from is whole.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "pirx/database/database.h"
#include "pirx/net/content_state.h"
#include "pirx/protocol.h"

namespace pirx::cli {

/// Checks all of the database's checksums in the background, from the beginning and whenever verify() asks
/// for it, and looks after every pass whether pages of the file were lost. Once one thing is wrong, every
/// request is answered Unavailable: clients do better without a reply than with a wrong one.
class SoundServer final : public AnyServer, public net::ContentState {
 public:
  /// `server` was opened from the file of `database`. `damaged` is told once what is wrong, on any thread.
  SoundServer(std::shared_ptr<const database::Database> database, std::unique_ptr<const AnyServer> server,
              std::function<void(const Error&)> damaged);
  ~SoundServer() override;
  SoundServer(const SoundServer&) = delete;
  SoundServer& operator=(const SoundServer&) = delete;

  /// Reads everything once more.
  void verify();
  std::optional<bool> sound() const noexcept override;

  ProtocolId protocol() const noexcept override { return server_->protocol(); }
  Bytes parameters() const override { return server_->parameters(); }
  std::size_t max_request_bytes() const noexcept override { return server_->max_request_bytes(); }
  std::size_t max_queries() const noexcept override { return server_->max_queries(); }
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    return server_->working_bytes(queries);
  }
  std::size_t pass_bytes() const noexcept override { return server_->pass_bytes(); }
  std::size_t preferred_queries() const noexcept override { return server_->preferred_queries(); }
  std::vector<std::pair<std::string, std::string>> facts() const override { return server_->facts(); }
  Result<std::size_t> admit(ByteSpan request) const override { return server_->admit(request); }
  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    return answer_from(requests, std::vector<std::string_view>(requests.size()));
  }
  std::vector<Result<Bytes>> answer_from(std::span<const ByteSpan> requests,
                                         std::span<const std::string_view> senders) const override;

 private:
  enum class State : std::uint8_t { kUnknown, kSound, kDamaged };
  void run();
  Result<void> check_all() const;
  void found_damaged(const Error& error) const;

  const std::shared_ptr<const database::Database> database_;
  const std::unique_ptr<const AnyServer> server_;
  const std::function<void(const Error&)> damaged_;
  mutable std::atomic<State> state_{State::kUnknown};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool requested_ = true;
  std::atomic<bool> stopping_{false};
  std::thread thread_;  ///< last: it starts when everything else exists
};

/// Checks some chunks of the database, drawn at random: damage that is not a rare bit shows before anything
/// is served. DataLoss.
Result<void> check_sample(const database::Database& database);

}  // namespace pirx::cli
