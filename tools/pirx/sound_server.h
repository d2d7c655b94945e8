// SPDX-License-Identifier: Apache-2.0
// SoundServer: a server that answers only while its database is sound, that is, undamaged.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "pirx/database/database.h"
#include "pirx/http/content_state.h"
#include "pirx/protocol/forwarding_server.h"

namespace pirx::cli {

/// Checks all checksums of the database in the background, at the start and whenever verify() asks for it.
/// After every pass it checks whether the file was written to or pages of it were lost. Once anything is
/// wrong, it answers every request with Unavailable, because no reply is better than a wrong one.
class SoundServer final : public ForwardingServer, public http::ContentState {
 public:
  /// `server` was opened from the file of `database`. `damaged` is called once, on any thread, with what is
  /// wrong.
  SoundServer(std::shared_ptr<const database::Database> database, std::unique_ptr<const AnyServer> server,
              std::function<void(const Error&)> damaged);
  ~SoundServer() override;
  SoundServer(const SoundServer&) = delete;
  SoundServer& operator=(const SoundServer&) = delete;

  /// Reads everything once more.
  void verify();
  std::optional<bool> sound() const noexcept override;
  /// Looks at the file as after a pass. False once it is damaged.
  bool still_sound() const;

  std::vector<Result<Bytes>> answer_from(std::span<const ByteSpan> requests,
                                         std::span<const std::string_view> senders) const override;

 private:
  enum class State : std::uint8_t { kUnknown, kSound, kDamaged };
  void run();
  Result<void> check_all() const;
  void found_damaged(const Error& error) const;

  const std::shared_ptr<const database::Database> database_;
  const std::function<void(const Error&)> damaged_;
  mutable std::atomic<State> state_{State::kUnknown};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool requested_ = true;
  std::atomic<bool> stopping_{false};
  std::thread thread_;  ///< last: it starts when everything else exists
};

/// Checks some random chunks of the database, so that widespread damage shows before anything is served.
/// DataLoss: a chunk is damaged.
Result<void> check_sample(const database::Database& database);

}  // namespace pirx::cli
