// SPDX-License-Identifier: Apache-2.0
// Servers with names, and name servers that do not answer. This program has a getaddrinfo() of its own, which
// libcurl would use, too.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <unistd.h>

#include <deque>
#include <fstream>
#include <map>
#include <set>

#include "http/http_support.h"
#include "support/forks.h"

namespace pirx::http {
namespace {

using namespace testing;

/// Names that end with ".test". Each test has others.
class Names {
 public:
  void silence(const std::string& name) {
    const std::lock_guard lock(mutex_);
    silent_.insert(name);
  }
  void answer() {
    const std::lock_guard lock(mutex_);
    silent_.clear();
    changed_.notify_all();
  }
  void fail_once(const std::string& name) {
    const std::lock_guard lock(mutex_);
    failing_.insert(name);
  }
  int asked(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return asked_[name];
  }

  int resolve(const std::string& name, const char* service, const addrinfo* hints, addrinfo** found) {
    {
      std::unique_lock lock(mutex_);
      ++asked_[name];
      changed_.wait(lock, [&] { return silent_.count(name) == 0; });
      if (failing_.erase(name) > 0) return EAI_AGAIN;
    }
    if (const int failed = real("127.0.0.1", service, hints, found)) return failed;
    // Nothing listens at this one.
    addrinfo* other = nullptr;
    if (name == "two.test" && real("::1", service, hints, &other) == 0) {
      other->ai_next = *found;
      *found = other;
    }
    return 0;
  }

  decltype(&::getaddrinfo) const real =
      reinterpret_cast<decltype(&::getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> asked_;
  std::set<std::string> silent_, failing_;
};

/// Never destroyed: a thread may still be resolving when the program ends.
Names& names() {
  static Names& all = *new Names;
  return all;
}

}  // namespace
}  // namespace pirx::http

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  auto& names = pirx::http::names();
  const bool ours = name != nullptr && std::strstr(name, ".test") != nullptr;
  return ours ? names.resolve(name, service, hints, found) : names.real(name, service, hints, found);
}

namespace pirx::http {
namespace {

int threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  }
  return -1;
}

/// Servers with these names, and their client.
struct Service {
  explicit Service(const std::vector<const char*>& hosts) {
    for (const auto* host : hosts) {
      endpoints.push_back({.url = servers.emplace_back().url("http", host), .allow_plaintext = true});
    }
    connect();
  }
  void connect() {
    auto created = HttpTransport::create(endpoints);
    if (!created) std::abort();
    transport = std::make_unique<HttpTransport>(std::move(*created));
  }
  ~Service() { names().answer(); }

  /// A round that ends with so many replies.
  std::vector<CallOutcome> ask(std::size_t enough, const CallOptions& options = {}) {
    std::size_t replies = 0;
    return transport->query_all(std::vector<Bytes>(servers.size(), bytes_of("abc")), options,
                                [&](std::size_t, const CallOutcome& outcome) {
                                  return (replies += outcome.reply ? 1 : 0) == enough;
                                });
  }
  /// How many servers reply.
  std::size_t replies(std::size_t enough, const CallOptions& options = {}) {
    const auto outcomes = ask(enough, options);
    return static_cast<std::size_t>(std::count_if(outcomes.begin(), outcomes.end(), [](const auto& outcome) {
      return outcome.reply && text_of(*outcome.reply) == "cba";
    }));
  }

  std::deque<RunningServer> servers;
  std::vector<Endpoint> endpoints;
  std::unique_ptr<HttpTransport> transport;
};

TEST(HttpNames, ASilentNameServerLeavesOneThread) {
  Service service({"a1.test", "b1.test", "c1.test", "silent1.test"});
  names().silence("silent1.test");
  EXPECT_EQ(service.replies(3), 3u);
  const int before = threads();
  const auto start = Clock::now();
  for (int round = 0; round < 100; ++round) {
    service.transport->close();
    ASSERT_EQ(service.replies(3), 3u);
    ASSERT_LE(threads(), before + 20) << round;  // some of quick names may not have ended yet
  }
  EXPECT_LE(ms_since(start), 100'000);
  EXPECT_EQ(names().asked("silent1.test"), 1);
  EXPECT_EQ(names().asked("a1.test"), 101);
  names().answer();
  EXPECT_EQ(service.replies(4), 4u);
  EXPECT_EQ(service.servers[3].fake->seen(), std::vector<std::string>{"abc"});
}

TEST(HttpNames, ClientsOfOneLookUpEachLeaveOneThreadTogether) {
  Service service({"a6.test", "silent6.test"});
  names().silence("silent6.test");
  for (int round = 0; round < 20; ++round) {
    service.connect();
    ASSERT_EQ(service.replies(1), 1u);
  }
  EXPECT_EQ(names().asked("silent6.test"), 1);
  // Nobody resolves on in a child of fork.
  const int status = pirx::testing::status_of_child([&] {
    service.connect();
    if (service.replies(1) != 1) return false;
    for (int wait = 0; wait < 2000 && names().asked("silent6.test") != 2; ++wait) {
      std::this_thread::sleep_for(10ms);  // its thread has only been started
    }
    return names().asked("silent6.test") == 2;
  });
  EXPECT_EQ(status, 0);
}

TEST(HttpNames, ALaterRoundWaitsForTheResolutionUnderWay) {
  Service service({"silent2.test"});
  names().silence("silent2.test");
  CallOptions options;
  options.connect_timeout = 200ms;
  options.deadline = 60s;
  const auto start = Clock::now();
  const auto outcome = std::move(service.ask(1, options).at(0));
  EXPECT_GE(ms_since(start), 200);
  EXPECT_LE(ms_since(start), 20'000);
  EXPECT_GE(outcome.milliseconds, 200);
  expect_error(outcome.reply, ErrorCode::kUnavailable, "did not reply in time");
  EXPECT_NE(outcome.reply.error().message().find("silent2.test"), std::string::npos);

  int polled = 0;
  options.connect_timeout = 60s;
  options.stop = [&] {
    if (++polled == 2) names().answer();
    return false;
  };
  EXPECT_EQ(service.replies(1, options), 1u);
  EXPECT_GE(polled, 2);
  EXPECT_EQ(names().asked("silent2.test"), 1);
}

TEST(HttpNames, AFailureIsNotKept) {
  Service service({"failing.test", "quick3.test"});
  names().fail_once("failing.test");
  const auto outcomes = service.ask(2);
  EXPECT_TRUE(outcomes[1].reply);
  expect_error(outcomes[0].reply, ErrorCode::kUnavailable, "Could not resolve host: failing.test");
  EXPECT_EQ(service.replies(2), 2u);
  EXPECT_EQ(names().asked("failing.test"), 2);
}

TEST(HttpNames, AConnectionThatIsOpenNeedsNone) {
  Service service({"silent4.test"});
  EXPECT_EQ(service.replies(1), 1u);
  names().silence("silent4.test");
  EXPECT_EQ(service.replies(1), 1u);
  EXPECT_EQ(names().asked("silent4.test"), 1);
}

TEST(HttpNames, TheTransportMayGoMeanwhile) {
  Service service({"silent5.test", "quick5.test"});
  names().silence("silent5.test");
  EXPECT_EQ(service.replies(1), 1u);
  const auto start = Clock::now();
  service.transport.reset();
  EXPECT_LE(ms_since(start), 5'000);
}

TEST(HttpNames, EveryAddressOfANameIsTried) { EXPECT_EQ(Service({"two.test"}).replies(1), 1u); }

TEST(HttpNames, NamesAreResolvedOnceHoweverTheyAreWritten) {
  Service service({"UPPER.test", "dot.test."});
  EXPECT_EQ(service.replies(2), 2u);
  EXPECT_EQ(names().asked("upper.test"), 1);
  EXPECT_EQ(names().asked("dot.test."), 1);
}

}  // namespace
}  // namespace pirx::http
