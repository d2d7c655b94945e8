// Checks chunks on demand, and replaces lost pages by zeros.
#include "pirx/database/serving.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "mapping.h"
#include "src/base/file.h"

namespace pirx::database {
namespace {

std::array<MapGuard::Slot, 512> slots;

/// Whether the address lies in the slot's map. A slot of another map may change meanwhile: its end is 0 then,
/// or another one.
bool holds(const MapGuard::Slot& slot, std::uintptr_t address) noexcept {
  const std::uintptr_t end = slot.end, begin = slot.begin;
  return end == slot.end && begin <= address && address < end;
}

/// For SIGBUS: calls nothing that may not be called from a handler.
void replace_by_zeros(int, siginfo_t* info, void*) noexcept {
  const int error = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const auto slot = std::find_if(slots.begin(), slots.end(),
                                 [address](const MapGuard::Slot& one) { return holds(one, address); });
  bool replaced = false;
  if (slot != slots.end()) {
    // Nothing of it is used any more, and page by page there would be more maps than a process may have.
    replaced = ::mmap(reinterpret_cast<void*>(slot->begin.load()), slot->end - slot->begin, PROT_READ,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
    for (auto& other : slots) {
      if (other.end != 0 && other.device == slot->device && other.inode == slot->inode) other.lost = true;
    }
  }
  // Without a handler the same access ends the process.
  if (!replaced) ::signal(SIGBUS, SIG_DFL);
  errno = error;
}

}  // namespace

MapGuard::MapGuard(ByteSpan map, const struct stat& file) noexcept {
  const auto free =
      std::find_if(slots.begin(), slots.end(), [](Slot& slot) { return !slot.taken.exchange(true); });
  if (free == slots.end()) return;
  slot_ = &*free;
  slot_->lost = false;
  slot_->device = file.st_dev;
  slot_->inode = file.st_ino;
  slot_->begin = reinterpret_cast<std::uintptr_t>(map.data());
  slot_->end = slot_->begin + map.size();
}

MapGuard::~MapGuard() {
  if (slot_ == nullptr) return;
  slot_->end = 0;
  slot_->taken = false;
}

std::uint64_t chunks(const Database& database) noexcept { return database.mapping().header.layout.chunks(); }

Result<void> check_chunk(const Database& database, std::uint64_t chunk) {
  auto checked = database.mapping().check_chunk(chunk);
  if (checked) return {};
  return fail(checked.error().code(),
              printable(database.mapping().path.native()) + ": " + checked.error().message());
}

bool same_file(const Database& a, const Database& b) noexcept {
  const auto &x = a.mapping().status, &y = b.mapping().status;
  return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
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

}  // namespace pirx::database
