// SPDX-License-Identifier: Apache-2.0
// Resolves a name in a thread of its own.
#include "resolution.h"

#include <netdb.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace pirx::http {
namespace {

/// Those that are under way. Never destroyed, as a thread may outlast the program's end.
struct UnderWay {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Resolution>> by_name;
};
UnderWay& under_way() {
  static UnderWay& all = *new UnderWay;
  // In a child of fork nobody resolves on.
  static const int registered =
      ::pthread_atfork([] { under_way().mutex.lock(); }, [] { under_way().mutex.unlock(); },
                       [] {
                         under_way().by_name.clear();
                         under_way().mutex.unlock();
                       });
  static_cast<void>(registered);
  return all;
}

}  // namespace

std::shared_ptr<Resolution> Resolution::of(const std::string& host, const std::string& port) {
  auto& all = under_way();
  const std::lock_guard lock(all.mutex);
  const std::pair name(host, port);
  auto& named = all.by_name[name];
  if (!named) {
    try {
      named = std::make_shared<Resolution>();
      std::thread([started = named, name] {
        started->resolve(name.first, name.second);
        {
          auto& others = under_way();
          const std::lock_guard ended(others.mutex);
          others.by_name.erase(name);
        }
        started->done_ = true;
        ::eventfd_write(started->descriptor_, 1);
      }).detach();
    } catch (...) {
      all.by_name.erase(name);
      throw;
    }
  }
  return named;
}

Resolution::Resolution() : descriptor_(::eventfd(0, EFD_CLOEXEC)) {}
Resolution::~Resolution() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Resolution::resolve(const std::string& host, const std::string& port) noexcept {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found) == 0) {
    try {
      for (const auto* at = found; at != nullptr; at = at->ai_next) {
        char text[NI_MAXHOST];
        if (::getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
          continue;
        // libcurl takes no address of a link with the link's name.
        addresses_.append(addresses_.empty() ? "" : ",").append(text, std::strcspn(text, "%"));
      }
    } catch (const std::bad_alloc&) {
      addresses_.clear();
    }
    ::freeaddrinfo(found);
  }
}

}  // namespace pirx::http
