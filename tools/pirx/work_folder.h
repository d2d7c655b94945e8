// SPDX-License-Identifier: Apache-2.0
// A folder for the files of one run, which does not outlive the process when that is interrupted.
#pragma once

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "pirx/base/result.h"

namespace pirx::cli {

/// Makes a folder under a name of its own that only this user can read, and removes it when the object is
/// destroyed. SIGINT, SIGTERM, SIGHUP and SIGQUIT remove it, too, and then end the process as they would have
/// without it; those that are ignored stay so. Create it before any other thread starts: the signals are
/// blocked in all threads but its own.
class WorkFolder {
 public:
  /// In the system's folder for temporary files or, if `kept` is not empty, beside that path, so that keep()
  /// can rename it. InvalidArgument: `kept` exists. Unavailable: no folder can be made there.
  static Result<std::unique_ptr<WorkFolder>> create(const std::filesystem::path& kept);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  /// Removes the folder; open files stay readable.
  void remove() noexcept;
  /// Gives the folder its name `kept`; it stays from then on. Unavailable: that failed.
  Result<void> keep();

 private:
  WorkFolder(std::filesystem::path path, std::filesystem::path kept, const sigset_t& signals);
  void wait() noexcept;

  std::filesystem::path path_;  ///< changed by keep() only
  const std::filesystem::path temporary_, kept_;
  const sigset_t signals_;
  std::atomic<bool> ending_{false};  ///< by the destructor or by a signal, which comes first
  std::thread waiter_;               ///< last: it starts when everything else exists
};

}  // namespace pirx::cli
