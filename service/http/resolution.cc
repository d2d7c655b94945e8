// SPDX-License-Identifier: Apache-2.0
// Resolves a name in a thread of its own.
#include "resolution.h"

#include <netdb.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <thread>

namespace pirx::http {

std::shared_ptr<Resolution> Resolution::start(const std::string& host, const std::string& port) {
  auto started = std::make_shared<Resolution>();
  std::thread([started, host, port] { started->run(host, port); }).detach();
  return started;
}

Resolution::Resolution() : descriptor_(::eventfd(0, EFD_CLOEXEC)) {}
Resolution::~Resolution() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Resolution::run(const std::string& host, const std::string& port) noexcept {
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
  done_ = true;
  ::eventfd_write(descriptor_, 1);
}

}  // namespace pirx::http
