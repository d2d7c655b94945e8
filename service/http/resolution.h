// SPDX-License-Identifier: Apache-2.0
// A name that is being resolved. A resolver cannot be told to give up, and libcurl's own leaves a thread
// behind for every call that does not wait for it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

namespace pirx::http {

class Resolution {
 public:
  /// The one of this name that is under way in this process; or getaddrinfo() starts in a thread of its own,
  /// for which nothing waits. Throws when there is no thread or no memory for it.
  static std::shared_ptr<Resolution> of(const std::string& host, const std::string& port);
  Resolution();
  Resolution(const Resolution&) = delete;
  Resolution& operator=(const Resolution&) = delete;
  ~Resolution();

  bool done() const noexcept { return done_; }
  /// Can be read from once it is done. Negative when descriptors have run out.
  int descriptor() const noexcept { return descriptor_; }
  /// Once it is done, the addresses, with commas between them. Empty: there are none.
  const std::string& addresses() const noexcept { return addresses_; }

 private:
  void resolve(const std::string& host, const std::string& port) noexcept;

  const int descriptor_;
  std::string addresses_;
  std::atomic<bool> done_{false};
};

}  // namespace pirx::http
