// SPDX-License-Identifier: Apache-2.0
// MapGuard: lists the mapped databases of this process where a signal handler can find them.
#pragma once

#include <sys/stat.h>

#include <atomic>

#include "pirx/base/bytes.h"

namespace pirx::database {

/// Registers a map of a file for as long as it lives; it ends before the map does. Where Linux lets a process
/// have more than its usual 65,530 maps, those beyond are not registered: nothing is ever lost of them, and
/// SIGBUS ends the process.
class MapGuard {
 public:
  MapGuard(ByteSpan map, const struct stat& file) noexcept;
  MapGuard(const MapGuard&) = delete;
  MapGuard& operator=(const MapGuard&) = delete;
  ~MapGuard();
  bool lost() const noexcept { return entry_ != nullptr && entry_->lost; }

  /// What the handler reads.
  struct Entry {
    std::atomic<bool> taken{false}, lost{false};
    std::atomic<std::uintptr_t> begin{0}, end{0};  ///< end: 0 while the others change
    std::atomic<std::uint64_t> device{0}, inode{0};
  };

 private:
  Entry* entry_ = nullptr;
};

}  // namespace pirx::database
