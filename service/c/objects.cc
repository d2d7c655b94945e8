// SPDX-License-Identifier: Apache-2.0
// Handles, errors and versions of the C interface.
#include "objects.h"

#ifndef __wasi__
#include <pthread.h>
#endif

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_map>

namespace pirx::c {
namespace {

struct Registry {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects;
  std::uintptr_t last = 1;
};

/// It is never destroyed: other threads may still work while the process ends. In a child of fork it is not
/// locked by a thread that the child does not have.
Registry& registry() {
  static auto* const kept = [] {
    auto* const made = new Registry;
#ifndef __wasi__
    pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); },
                   [] { registry().mutex.unlock(); });
#endif
    return made;
  }();
  return *kept;
}

/// A fixed room, so that an error can be kept when memory is out.
struct LastError {
  pirx_status status = PIRX_OK;
  char message[4096] = {};
};
thread_local LastError last_error;

constexpr std::size_t kFirstOptionsSize = sizeof(pirx_options);  // of PIRX_ABI 1

}  // namespace

std::uintptr_t add_object(std::shared_ptr<Object> object) {
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto handle = all.last + 2;  // odd, and so the address of no object
  if (handle < all.last) throw std::bad_alloc();
  all.objects.emplace(handle, std::move(object));
  all.last = handle;
  return handle;
}

std::shared_ptr<Object> find_object(std::uintptr_t handle) noexcept {
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.objects.find(handle);
  return found == all.objects.end() ? nullptr : found->second;
}

std::shared_ptr<Object> take_object(std::uintptr_t handle) noexcept {
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.objects.find(handle);
  if (found == all.objects.end()) return nullptr;
  auto object = std::move(found->second);
  all.objects.erase(found);
  return object;
}

pirx_status report(pirx_status status, std::string_view message) noexcept {
  last_error.status = status;
  const auto size = std::min(message.size(), sizeof last_error.message - 1);
  std::copy_n(message.data(), size, last_error.message);
  last_error.message[size] = '\0';
  return status;
}

Result<LookUp> read_options(const pirx_options* options) {
  LookUp look_up;
  if (options == nullptr) return look_up;
  if (options->struct_size < kFirstOptionsSize) {
    return invalid("pirx_options: struct_size is too small: call pirx_options_init() first");
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(options);
  for (std::size_t i = sizeof(pirx_options); i < options->struct_size; ++i) {
    if (bytes[i] != 0) return invalid("pirx_options: an option is set that this version does not have");
  }
  if (options->liars < -1) return invalid("pirx_options: liars is -1 or a number of servers");
  if (options->liars >= 0) look_up.retrieve.liars = static_cast<unsigned>(options->liars);
  if (options->rounds != 0) look_up.retrieve.rounds = options->rounds;
  look_up.retrieve.wait_for_all = options->wait_for_all != 0;
  if (options->believe != nullptr) {
    look_up.retrieve.believe = [believe = options->believe, context = options->believe_context](
                                   std::span<const std::optional<Bytes>> found) {
      std::vector<pirx_record> records;
      for (const auto& one : found) {
        const bool any = one && !one->empty();
        records.push_back({any ? reinterpret_cast<const std::uint8_t*>(one->data()) : nullptr,
                           one ? one->size() : 0, one ? 1 : 0, PIRX_PROBABLE});
      }
      return believe(context, records.data(), records.size()) != 0;
    };
  }
  if (options->stop != nullptr) {
    look_up.retrieve.stop = [stop = options->stop, context = options->stop_context] {
      return stop(context) != 0;
    };
  }
  constexpr std::uint64_t kDay = 24 * 60 * 60 * std::uint64_t{1000};
  if (options->max_bytes != 0) look_up.limits.bytes = options->max_bytes;
  if (options->max_memory != 0) look_up.limits.memory = options->max_memory;
  if (options->max_work != 0) {
    look_up.limits.time = std::chrono::milliseconds(std::min(options->max_work, kDay));
  }
  if (options->deadline != 0) look_up.deadline = std::chrono::milliseconds(std::min(options->deadline, kDay));
  return look_up;
}

Result<std::span<const std::uint64_t>> read_positions(const std::uint64_t* positions, std::size_t count) {
  PIRX_TRY(check_wishes(count));
  PIRX_TRY(check_not_null(positions));
  return std::span(positions, count);
}

Result<WantedKeys> read_keys(const pirx_bytes* keys, std::size_t count) {
  PIRX_TRY(check_wishes(count));
  PIRX_TRY(check_not_null(keys));
  std::vector<std::string_view> texts;
  for (const auto& key : std::span(keys, count)) {
    if (key.data == nullptr && key.size != 0) return invalid("a key is NULL, but its size is not 0");
    texts.emplace_back(static_cast<const char*>(key.data), key.size);
  }
  return WantedKeys(std::span(texts));
}

}  // namespace pirx::c

using namespace pirx::c;

unsigned pirx_abi(void) { return PIRX_ABI; }

const char* pirx_version(void) { return PIRX_C_VERSION; }

const char* pirx_status_name(pirx_status status) {
  static constexpr const char* kNames[] = {
      "Ok",          "InvalidArgument",   "OutOfRange",      "DataLoss",
      "Unavailable", "ResourceExhausted", "Unauthenticated", "StaleEpoch",
      "Undecodable", "Internal",          "BufferTooSmall"};
  static_assert(std::size(kNames) == PIRX_BUFFER_TOO_SMALL + 1);
  const auto at = static_cast<std::size_t>(status);
  return at < std::size(kNames) ? kNames[at] : "Unknown";
}

pirx_status pirx_status_from_name(const char* name) {
  if (name == nullptr) return PIRX_INTERNAL;
  for (int i = PIRX_INVALID_ARGUMENT; i <= PIRX_INTERNAL; ++i) {
    const auto status = static_cast<pirx_status>(i);
    if (std::string_view(name) == pirx_status_name(status)) return status;
  }
  return PIRX_INTERNAL;
}

pirx_status pirx_last_error(const char** message) {
  if (message != nullptr) *message = last_error.message;
  return last_error.status;
}

pirx_status pirx_options_init(pirx_options* options, size_t struct_size) {
  return guarded([&]() -> pirx::Result<void> {
    PIRX_TRY(check_not_null(options));
    if (struct_size < kFirstOptionsSize) return pirx::invalid("pirx_options: struct_size is too small");
    std::fill_n(reinterpret_cast<unsigned char*>(options), struct_size, static_cast<unsigned char>(0));
    options->struct_size = struct_size;
    options->liars = -1;
    return {};
  });
}
