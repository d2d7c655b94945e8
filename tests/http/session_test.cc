// SPDX-License-Identifier: Apache-2.0
// One connection by itself: on an io_context of this thread, without the server around it.
#include "service/http/session.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "http/http_support.h"

namespace pirx::http {
namespace {

using namespace testing;
using boost::asio::ip::tcp;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest()
      : fake(std::make_shared<FakeServer>()),
        host(quick_options(), log.sink()),
        hosted({.name = {}, .server = fake}, log.sink(), compute),
        acceptor(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
    host.databases = {&hosted};
    host.on_drained = [this] { ++drained; };
  }
  /// A client's socket and the session at its other end, started.
  RawSocket connect() {
    auto client = RawSocket::connect_to(acceptor.local_endpoint().port());
    make_session(acceptor.accept(), nullptr, host)->start();
    return client;
  }
  /// Runs handlers until `condition` holds; false after five seconds.
  bool run_until(const std::function<bool()>& condition) {
    return eventually([&] {
      io.restart();
      io.poll();
      return condition();
    });
  }
  std::size_t sessions() {
    const std::lock_guard lock(host.mutex);
    return host.sessions.size();
  }

  LogKeeper log;
  std::shared_ptr<FakeServer> fake;
  SessionHost host;
  boost::asio::io_context io{1};
  ComputeThread compute;
  Hosted hosted;  // ends before the io_context
  tcp::acceptor acceptor;
  int drained = 0;
};

TEST_F(SessionTest, AnswersAndGoesOn) {
  auto client = connect();
  EXPECT_EQ(sessions(), 1u);
  for (int i = 0; i < 2; ++i) {
    client.send(query_text("abc"));
    const auto served = static_cast<std::size_t>(i) + 1;
    ASSERT_TRUE(run_until([&] { return fake->seen().size() == served && host.in_flight == 0; }));
    const auto reply = client.receive_message();
    EXPECT_TRUE(is_status(reply, 200));
    EXPECT_NE(reply.find("cba"), std::string::npos) << reply;
  }
  EXPECT_EQ(host.budget.used(), 0u) << "a reply that was written is still charged";
}

TEST_F(SessionTest, AConnectionThatWasResetIsNone) {
  auto client = RawSocket::connect_to(acceptor.local_endpoint().port());
  client.reset();
  EXPECT_EQ(make_session(acceptor.accept(), nullptr, host), nullptr);
  EXPECT_EQ(host.metrics.connections, 0u);
}

TEST_F(SessionTest, AClientThatLeavesTakesItsSessionAlong) {
  auto client = connect();
  client.send("GET /healthz HT");
  run_until([&] { return true; });
  client.close();
  EXPECT_TRUE(run_until([&] { return sessions() == 0; }));
  EXPECT_EQ(host.in_flight, 0u);
}

TEST_F(SessionTest, CloseEndsItWhateverIsInFlight) {
  fake->hold();
  auto client = connect();
  client.send(query_text("abc"));
  ASSERT_TRUE(run_until([&] { return fake->batches().size() == 1; }));
  host.draining = true;
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(host.mutex);
    session = host.sessions.begin()->second.lock();
  }
  ASSERT_TRUE(session);
  session->close();
  session.reset();
  ASSERT_TRUE(run_until([&] { return host.in_flight == 0; }));
  EXPECT_EQ(drained, 1);
  EXPECT_EQ(client.receive_all(), "");
  fake->release();
  EXPECT_TRUE(run_until([&] { return sessions() == 0; }));
}

}  // namespace
}  // namespace pirx::http
