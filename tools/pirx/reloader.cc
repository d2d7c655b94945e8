// SPDX-License-Identifier: Apache-2.0
// Looking, opening beside, swapping, and letting the old epoch go.
#include "reloader.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "pirx/base/small_file.h"
#include "pirx/database/serving.h"

namespace pirx::cli {
namespace {

/// Of the database, its delta and its manifest.
std::string stamp(const DatabaseSettings& settings) {
  const auto file = behind_links(settings.file).value_or(settings.file);
  return stamp_of(std::array{file.native(), file.native() + ".delta", settings.manifest});
}

double epoch_of(const database::Database& database) { return static_cast<double>(database.version().epoch); }

}  // namespace

std::string stamp_of(std::span<const std::string> files, std::int64_t now) {
  constexpr std::int64_t kRecent = 2;  // seconds
  std::string text;
  for (const auto& name : files) {
    struct stat status {};
    const bool there = ::stat(name.c_str(), &status) == 0;
    for (const auto part :
         {there ? static_cast<long>(status.st_ino) : -1L, static_cast<long>(status.st_size),
          static_cast<long>(status.st_mtim.tv_sec), static_cast<long>(status.st_mtim.tv_nsec),
          static_cast<long>(status.st_ctim.tv_sec), static_cast<long>(status.st_ctim.tv_nsec)}) {
      text += std::to_string(part) + " ";
    }
    if (there && now - std::max(status.st_mtim.tv_sec, status.st_ctim.tv_sec) < kRecent) text += "recent ";
  }
  return text;
}

Reloader::Reloader(DatabaseSettings settings, OpenContext context, Served served, Replace replace,
                   Publish publish, std::chrono::microseconds watch, Log log, Beside beside)
    : settings_(std::move(settings)),
      context_(std::move(context)),
      served_(std::move(served)),
      replace_(std::move(replace)),
      publish_(std::move(publish)),
      watch_(watch),
      log_(std::move(log)),
      beside_(std::move(beside)),
      thread_([this] { run(); }) {}

Reloader::~Reloader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Reloader::request() {
  const std::lock_guard lock(mutex_);
  requested_ = true;
  changed_.notify_all();
}

void Reloader::run() {
  for (std::unique_lock lock(mutex_); !stopping_;) {
    const auto wake = [this] { return requested_ || stopping_; };
    if (watch_.count() > 0) {
      changed_.wait_for(lock, watch_, wake);
    } else {
      changed_.wait(lock, wake);
    }
    if (stopping_) break;
    const bool asked = std::exchange(requested_, false);
    lock.unlock();
    try {
      look(asked);
      if (beside_) beside_(asked);
    } catch (const std::exception& error) {
      stamp_.clear();
      try {
        refused(Error(ErrorCode::kResourceExhausted, error.what()));
      } catch (const std::bad_alloc&) {  // then the next look may have memory to say it
      }
    }
    lock.lock();
  }
}

void Reloader::log(http::LogEvent event) const {
  if (!settings_.name.empty()) event.text.emplace_back("database", settings_.name);
  log_(event);
}

void Reloader::refused(const Error& error) {
  log({.event = "epoch_refused",
       .text = {{"code", std::string(error_code_name(error.code()))}, {"reason", error.message()}},
       .numbers = {{"epoch_served", epoch_of(*served_.database)}}});
}

void Reloader::look(bool asked) {
  std::string now = stamp(settings_);
  if (now == stamp_ && !asked) return;
  stamp_ = std::move(now);  // a bad file is named once, or, while it is recent, twice
  const auto taken = take(asked);
  if (taken) return;
  const auto code = taken.error().code();
  if (code == ErrorCode::kResourceExhausted || code == ErrorCode::kUnavailable) stamp_.clear();  // may pass
  refused(taken.error());
}

/// Gives clients the manifest of now, if it is another one for the same epoch.
Result<void> Reloader::take_manifest() {
  PIRX_ASSIGN(auto now, open_manifest(settings_, *served_.server));
  if (now == nullptr || now->bytes() == served_.manifest->bytes()) return {};
  PIRX_TRY(publish_(now->bytes()));
  served_.manifest = std::move(now);
  log({.event = "manifest", .text = {}, .numbers = {{"epoch", epoch_of(*served_.database)}}});
  return {};
}

Result<void> Reloader::take(bool asked) {
  const auto start = std::chrono::steady_clock::now();
  // What is checked is what is served: opened again, the file could have another content.
  PIRX_ASSIGN(const auto found, database::Database::open(settings_.file));
  const bool damaged = !served_.server->still_sound();
  const auto same = [this](const database::Database& database) {
    return database.content_version() == served_.database->content_version();
  };
  if (same(*found) && !damaged) {
    PIRX_TRY(take_manifest());
    if (!asked) return {};
    log({.event = "epoch_unchanged", .text = {}, .numbers = {{"epoch", epoch_of(*found)}}});
    served_.server->verify();
    return {};
  }
  // A damaged database is served again once its file is mended: all of it, as a sample may miss what was
  // written.
  if (damaged) PIRX_TRY(found->verify());
  if (!same(*found)) PIRX_TRY(check_next(*served_.database, *found));
  PIRX_ASSIGN(Served next, serve_opened(settings_, context_, found));
  if (database::written_to(*found)) {
    return fail(ErrorCode::kUnavailable, settings_.file + " was written to while it was checked");
  }
  PIRX_ASSIGN(auto old, replace_(next.server, next.manifest_bytes()));
  const auto seconds = [&start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  log({.event = "epoch",
       .text = {{"identity", to_hex(next.database->version().identity)},
                {"parameters_digest", next.parameters_digest()}},
       .numbers = {{"epoch", epoch_of(*next.database)},
                   {"epoch_before", epoch_of(*served_.database)},
                   {"seconds", seconds()}}});
  const double before = epoch_of(*served_.database);
  served_ = std::move(next);
  // Freed here, where nobody waits, once its last query is answered.
  std::unique_lock lock(mutex_);
  while (old.use_count() > 1 && !stopping_) changed_.wait_for(lock, std::chrono::milliseconds(20));
  lock.unlock();
  old.reset();
  log({.event = "epoch_retired", .text = {}, .numbers = {{"epoch", before}, {"seconds", seconds()}}});
  return {};
}

}  // namespace pirx::cli
