// New epochs of a database that is served.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "serve_log.h"
#include "served_database.h"

namespace pirx::cli {

/// Opens and prepares the next epoch beside the one that is served, on a thread of its own, and hands it to
/// the server; whatever is wrong with it, the server goes on as it is.
class Reloader {
 public:
  /// Lets the server answer from the next epoch, and gives the one before (HttpServer::replace).
  using Replace = std::function<Result<std::shared_ptr<const AnyServer>>(std::shared_ptr<const AnyServer>)>;

  /// Looks at the file every `watch`, or only when asked to where that is zero.
  Reloader(DatabaseSettings settings, OpenContext context, Served served, Replace replace,
           std::chrono::microseconds watch, Log log);
  ~Reloader();
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;
  /// As SIGHUP: look at the file now, and say what came of it.
  void request();

 private:
  void run();
  void look(bool asked);
  Result<void> take(bool asked);
  void refused(const Error& error);
  void log(net::LogEvent event) const;

  const DatabaseSettings settings_;
  const OpenContext context_;
  Served served_;
  const Replace replace_;
  const std::chrono::microseconds watch_;
  const Log log_;
  std::string stamp_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool requested_ = false, stopping_ = false;
  std::thread thread_;  ///< last: it starts when everything else exists
};

}  // namespace pirx::cli
