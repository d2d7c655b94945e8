// SPDX-License-Identifier: Apache-2.0
// The server while operator new fails in every thread but the test's: it may drop connections, never the
// process, the accept loop or a stop. And what OpenSSL's allocations are for.
#include <gtest/gtest.h>
#include <openssl/crypto.h>

#include <cstdlib>
#include <new>

#include "http/http_support.h"
#include "pirx/base/json.h"
#include "pirx/base/sha256.h"

namespace {
std::atomic<bool> failing{false};
thread_local bool exempt = false;
thread_local int until_one_fails = -1;

void* allocate(std::size_t size) {
  if (until_one_fails >= 0 && until_one_fails-- == 0) return nullptr;
  if (failing && !exempt) return nullptr;
  return std::malloc(size == 0 ? 1 : size);
}

void* allocate_for_openssl(std::size_t size, const char*, int) {
  return until_one_fails >= 0 && until_one_fails-- == 0 ? nullptr : std::malloc(size);
}
void* resize_for_openssl(void* memory, std::size_t size, const char*, int) {
  return std::realloc(memory, size);
}
void free_for_openssl(void* memory, const char*, int) { std::free(memory); }
// Possible only before OpenSSL's first allocation.
const int for_openssl = CRYPTO_set_mem_functions(allocate_for_openssl, resize_for_openssl, free_for_openssl);
}  // namespace

// Not inlined: gcc would see free() and new side by side and warn.
#define PIRX_NOINLINE __attribute__((noinline))
PIRX_NOINLINE void* operator new(std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
PIRX_NOINLINE void* operator new[](std::size_t size) { return operator new(size); }
PIRX_NOINLINE void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
PIRX_NOINLINE void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
PIRX_NOINLINE void operator delete(void* memory) noexcept { std::free(memory); }
PIRX_NOINLINE void operator delete[](void* memory) noexcept { std::free(memory); }
PIRX_NOINLINE void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
PIRX_NOINLINE void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace pirx::http {
namespace {

using namespace testing;

class OutOfMemory : public ::testing::Test {
 protected:
  OutOfMemory() { exempt = true; }
  ~OutOfMemory() override { failing = false; }
};

// libstdc++ 12 would jump to nowhere: see OutJson.
TEST_F(OutOfMemory, EachAllocationOfACopyOfJson) {
  const OutJson json = {{"error", {{"code", std::string(60, 'c')}, {"list", std::vector<int>{1, 2}}}}};
  int failed = 0;
  for (bool done = false; !done;) {
    until_one_fails = failed;
    try {
      const OutJson copy = json;
      done = until_one_fails >= 0;
      until_one_fails = -1;
      EXPECT_EQ(copy.dump(), json.dump());
    } catch (const std::bad_alloc&) {
      ++failed;
    }
  }
  EXPECT_GT(failed, 3);
}

TEST_F(OutOfMemory, EachAllocationOfADigest) {
  ASSERT_EQ(for_openssl, 1);
  sha256({});  // while OpenSSL starts, it crashes itself without memory
  int failed = 0;
  for (bool done = false; !done;) {
    until_one_fails = failed;
    try {
      const auto digest = sha256(as_bytes("abc"));
      done = until_one_fails >= 0;
      until_one_fails = -1;
      EXPECT_EQ(to_hex(digest), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    } catch (const std::bad_alloc&) {
      ++failed;
    }
  }
  EXPECT_GT(failed, 1);
}

bool is_alive(const RunningServer& server) {
  return static_cast<bool>(
      is_status(RawSocket::sending(server.port(), get_text("/healthz")).receive_message(), 200));
}

TEST_F(OutOfMemory, TheServerGoesOnAfterwards) {
  auto options = quick_options();
  options.io_threads = 2;
  RunningServer server(options);
  for (int round = 0; round < 3; ++round) {
    std::vector<RawSocket> open;
    for (int i = 0; i < 10; ++i) open.push_back(RawSocket::connect_to(server.port()));
    ASSERT_TRUE(is_alive(server));
    failing = true;
    for (auto& socket : open) {
      auto another = RawSocket::sending(server.port(), query_text("abc"));
      socket.send(query_text("abc"));
      std::this_thread::sleep_for(5ms);
    }
    failing = false;
    open.clear();
    EXPECT_TRUE(eventually([&] { return is_alive(server); }));
  }
  server.stop();
  server.join();
}

TEST_F(OutOfMemory, AnAnswerThatCannotBeHandedOverEndsItsConnection) {
  RunningServer server;
  server.fake->hold();
  auto socket = RawSocket::sending(server.port(), query_text("abc"));
  ASSERT_TRUE(eventually([&] { return server.fake->batches().size() == 1; }));
  failing = true;
  server.fake->release();
  socket.readable_within(kPatience);
  failing = false;
  const auto answer = socket.receive_message();  // until the connection ends, or a refusal got through
  EXPECT_TRUE(answer.empty() || is_status(answer, 503)) << answer;
  EXPECT_TRUE(eventually([&] { return is_alive(server); }));
}

TEST_F(OutOfMemory, AStopIsNotLost) {
  RunningServer server;
  const auto idle = RawSocket::connect_to(server.port());
  ASSERT_TRUE(is_alive(server));
  failing = true;
  exempt = false;
  server.stop();
  exempt = true;
  std::this_thread::sleep_for(20ms);
  failing = false;
  server.join();  // returns
}

}  // namespace
}  // namespace pirx::http
