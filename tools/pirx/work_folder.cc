// SPDX-License-Identifier: Apache-2.0
// A thread waits for the signals.
#include "work_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "pirx/base/small_file.h"

namespace pirx::cli {

namespace fs = std::filesystem;

namespace {

/// Those of the signals that end a process and are not ignored. SIGTERM also wakes the thread that waits.
sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction now = {};
    if (signal == SIGTERM || sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_IGN) {
      sigaddset(&signals, signal);
    }
  }
  return signals;
}

}  // namespace

Result<std::unique_ptr<WorkFolder>> WorkFolder::create(const fs::path& kept) {
  std::error_code error;
  fs::path target = kept;
  if (!kept.empty() && !target.has_filename()) target = target.parent_path();  // "folder/"
  PIRX_ASSIGN(const bool there, is_there(target));
  if (there) {
    return invalid(target.string() + " exists already: name a folder that does not exist yet");
  }
  const auto parent = kept.empty() ? fs::temp_directory_path(error) : target.parent_path();
  auto pattern = (parent / (kept.empty() ? "pirx-try.XXXXXX" : ".pirx-try.XXXXXX")).string();
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  if (error || ::mkdtemp(pattern.data()) == nullptr) {
    const auto why = error ? error.message() : std::strerror(errno);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    return fail(ErrorCode::kUnavailable,
                "cannot make a folder in " + (parent.empty() ? "." : parent.string()) + ": " + why);
  }
  try {
    return std::unique_ptr<WorkFolder>(new WorkFolder(pattern, target, signals));
  } catch (const std::system_error& thread) {
    fs::remove_all(pattern, error);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    return fail(ErrorCode::kResourceExhausted, std::string("cannot start a thread: ") + thread.what());
  }
}

WorkFolder::WorkFolder(fs::path path, fs::path kept, const sigset_t& signals)
    : path_(path), temporary_(std::move(path)), kept_(std::move(kept)), signals_(signals) {
  waiter_ = std::thread([this] { wait(); });
}

WorkFolder::~WorkFolder() {
  // After a signal the process ends by that one: another would compete with it.
  if (!ending_.exchange(true)) pthread_kill(waiter_.native_handle(), SIGTERM);
  waiter_.join();
  remove();
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

void WorkFolder::wait() noexcept {
  int signal = 0;
  sigwait(&signals_, &signal);
  if (ending_.exchange(true)) return;
  remove();
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  raise(signal);
}

void WorkFolder::remove() noexcept {
  // A build that goes on in another thread may add a file while this removes others.
  std::error_code error;
  for (int attempt = 0; attempt < 100 && fs::exists(temporary_, error); ++attempt) {
    fs::remove_all(temporary_, error);
  }
}

Result<void> WorkFolder::keep() {
  std::error_code error;
  fs::rename(temporary_, kept_, error);
  if (error) {
    return fail(ErrorCode::kUnavailable, "cannot make " + kept_.string() + ": " + error.message());
  }
  path_ = kept_;
  return {};
}

}  // namespace pirx::cli
