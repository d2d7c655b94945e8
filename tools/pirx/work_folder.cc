// A thread waits for the signals.
#include "work_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace pirx::cli {

namespace fs = std::filesystem;

Result<std::unique_ptr<WorkFolder>> WorkFolder::create(const fs::path& kept) {
  std::error_code error, ignored;
  fs::path target = kept;
  if (!kept.empty() && !target.has_filename()) target = target.parent_path();  // "folder/"
  if (!kept.empty() && fs::exists(fs::symlink_status(target, ignored))) {
    return invalid(target.string() + " exists already: name a folder that does not exist yet");
  }
  const auto parent = kept.empty() ? fs::temp_directory_path(error) : target.parent_path();
  auto pattern = (parent / (kept.empty() ? "pirx-try.XXXXXX" : ".pirx-try.XXXXXX")).string();
  if (error || ::mkdtemp(pattern.data()) == nullptr) {
    return fail(ErrorCode::kUnavailable, "cannot make a folder in " +
                                             (parent.empty() ? "." : parent.string()) + ": " +
                                             (error ? error.message() : std::strerror(errno)));
  }
  try {
    return std::unique_ptr<WorkFolder>(new WorkFolder(pattern, target));
  } catch (const std::system_error& thread) {
    fs::remove_all(pattern, error);
    return fail(ErrorCode::kResourceExhausted, std::string("cannot start a thread: ") + thread.what());
  }
}

WorkFolder::WorkFolder(fs::path path, fs::path kept)
    : path_(path), temporary_(std::move(path)), kept_(std::move(kept)) {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  waiter_ = std::thread([this] { wait(); });
}

WorkFolder::~WorkFolder() {
  ending_ = true;
  pthread_kill(waiter_.native_handle(), SIGTERM);
  waiter_.join();
  remove();
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

void WorkFolder::wait() noexcept {
  int signal = 0;
  sigwait(&signals_, &signal);
  if (ending_) return;
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
