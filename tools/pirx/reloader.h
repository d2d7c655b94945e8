// SPDX-License-Identifier: Apache-2.0
// Loads new epochs of a database while it is served.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "serve_log.h"
#include "served_database.h"

namespace pirx::cli {

/// What tells changed files from the same ones, cheaply. A chmod or a link costs a look at what is there.
/// That of a file that has just been written changes once more two seconds later: some file systems know
/// whole seconds only. `now` is in seconds, as time(2) gives them.
std::string stamp_of(std::span<const std::string> files, std::int64_t now = std::time(nullptr));

/// Opens and prepares the next epoch on a thread of its own, beside the one that is served, and gives it to
/// the server. If anything is wrong with it, the server goes on with the old one.
class Reloader {
 public:
  /// Makes the server answer from the next epoch and give its manifest, and returns the one before
  /// (HttpServer::replace).
  using Replace =
      std::function<Result<std::shared_ptr<const AnyServer>>(std::shared_ptr<const AnyServer>, Bytes)>;
  /// Makes the server give another manifest (HttpServer::publish).
  using Publish = std::function<Result<void>(Bytes)>;
  /// Looks at something else, too; `asked` by request().
  using Beside = std::function<void(bool asked)>;

  /// Checks the file every `watch`; if `watch` is zero, only on request(). Calls `beside`, if there is one,
  /// each time after that.
  Reloader(DatabaseSettings settings, OpenContext context, Served served, Replace replace, Publish publish,
           std::chrono::microseconds watch, Log log, Beside beside = nullptr);
  ~Reloader();
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;
  /// Checks the file now and logs the result, as on SIGHUP.
  void request();

 private:
  void run();
  void look(bool asked);
  Result<void> take(bool asked);
  Result<void> take_manifest();
  void refused(const Error& error);
  void log(http::LogEvent event) const;

  const DatabaseSettings settings_;
  const OpenContext context_;
  Served served_;
  const Replace replace_;
  const Publish publish_;
  const std::chrono::microseconds watch_;
  const Log log_;
  const Beside beside_;
  std::string stamp_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool requested_ = false, stopping_ = false;
  std::thread thread_;  ///< last member: it starts when all others exist
};

}  // namespace pirx::cli
