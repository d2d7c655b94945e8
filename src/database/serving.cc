// SPDX-License-Identifier: Apache-2.0
// Checks chunks on demand, and replaces lost pages by zeros.
#include "pirx/database/serving.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "mapping.h"
#include "replacement.h"

namespace pirx::database {
namespace {

/// As many as a process may have maps (Linux's vm.max_map_count, as it usually is). Those that were never
/// used take no memory.
constinit std::array<MapGuard::Entry, 65530> entries;
std::atomic<bool> any_lost{false};

/// Whether the address lies in the entry's map. An entry of another map may change meanwhile: its end is 0
/// then, or another one.
bool holds(const MapGuard::Entry& entry, std::uintptr_t address) noexcept {
  const std::uintptr_t end = entry.end, begin = entry.begin;
  return end == entry.end && begin <= address && address < end;
}

/// For SIGBUS: calls nothing that may not be called from a handler.
void replace_by_zeros(int, siginfo_t* info, void*) noexcept {
  const int error = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [address](const MapGuard::Entry& one) { return holds(one, address); });
  bool replaced = false;
  if (entry != entries.end()) {
    // Nothing of it is used any more, and page by page there would be more maps than a process may have.
    replaced = ::mmap(reinterpret_cast<void*>(entry->begin.load()), entry->end - entry->begin,
                      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                      0) != MAP_FAILED;
    any_lost = true;
    for (auto& other : entries) {
      if (other.end != 0 && other.device == entry->device && other.inode == entry->inode) other.lost = true;
    }
  }
  // Without a handler the same access ends the process.
  if (!replaced) ::signal(SIGBUS, SIG_DFL);
  errno = error;
}

}  // namespace

MapGuard::MapGuard(ByteSpan map, const struct stat& file) noexcept {
  const auto free =
      std::find_if(entries.begin(), entries.end(), [](Entry& entry) { return !entry.taken.exchange(true); });
  if (free == entries.end()) return;
  entry_ = &*free;
  entry_->lost = false;
  entry_->device = file.st_dev;
  entry_->inode = file.st_ino;
  entry_->begin = reinterpret_cast<std::uintptr_t>(map.data());
  entry_->end = entry_->begin + map.size();
}

MapGuard::~MapGuard() {
  if (entry_ == nullptr) return;
  entry_->end = 0;
  entry_->taken = false;
}

std::uint64_t chunks(const Database& database) noexcept { return database.mapping().header.layout.chunks(); }

Result<void> check_chunk(const Database& database, std::uint64_t chunk) {
  auto checked = database.mapping().check_chunk(chunk);
  if (checked) return {};
  return with_path(database.mapping().path, checked.error());
}

Result<void> survive_lost_pages() {
  struct sigaction action {};
  action.sa_sigaction = &replace_by_zeros;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  if (::sigaction(SIGBUS, &action, nullptr) == 0) return {};
  return fail(ErrorCode::kInternal, "cannot install a signal handler");
}

bool pages_lost(const Database& database) noexcept { return database.mapping().guard->lost(); }
bool pages_lost() noexcept { return any_lost; }

bool written_to(const Database& database) noexcept {
  const auto& mapping = database.mapping();
  const int fd = mapping.on_disk.fd.get();
  struct stat now {};
  if (::fstat(fd, &now) != 0) return true;
  return written_since({mapping.on_disk.status, mapping.base}, now, fd, kPageBytes);
}

}  // namespace pirx::database
