// SPDX-License-Identifier: Apache-2.0
// client::refresh, as applications call it, against a server that went back.
#include "pirx/client/refresh.h"

#include <gtest/gtest.h>

#include <thread>

#include "http/http_support.h"
#include "pirx/database/builder.h"
#include "support/files.h"
#include "support/serve.h"

namespace pirx::client {
namespace {

using pirx::testing::expect_error;
using pirx::testing::good;

TEST(Refresh, FollowsServersForwardsOnly) {
  const pirx::testing::TemporaryFolder folder;
  const auto serve = [&](std::uint64_t epoch, char record, const std::string& protocol = "download") {
    const auto path = folder / (std::to_string(epoch) + record + protocol);
    auto builder = *database::DatabaseBuilder::create(path, {.epoch = epoch});
    EXPECT_TRUE(good(builder.add(as_bytes(std::string(20, record)))));
    EXPECT_TRUE(good(builder.finish()));
    return std::shared_ptr<AnyServer>(*pirx::testing::serve_file(protocol, path, {}));
  };
  auto server = *http::HttpServer::create(serve(5, 'a'), http::testing::quick_options(), {});
  std::thread thread([&] { EXPECT_TRUE(server.run()); });
  const std::vector<http::Endpoint> servers{{"http://127.0.0.1:" + std::to_string(server.port()), {}}};
  const auto now = ask_parameters(servers);
  ASSERT_TRUE(good(now));
  const Deployment fifth{*plan_for(*now, {}), servers};
  const auto epoch_after = [&](std::uint64_t epoch, char record, const RefreshOptions& options = {}) {
    EXPECT_TRUE(server.replace(serve(epoch, record)));
    return refresh(fifth, options).map([](const Deployment& next) { return next.plan->version().epoch; });
  };
  EXPECT_EQ(epoch_after(6, 'b'), 6u);
  EXPECT_EQ(epoch_after(5, 'a'), 5u);
  expect_error(epoch_after(4, 'b'), ErrorCode::kStaleEpoch);
  expect_error(epoch_after(5, 'b'), ErrorCode::kStaleEpoch);
  EXPECT_EQ(epoch_after(4, 'b', {.allow_rollback = true}), 4u);
  EXPECT_TRUE(server.replace(serve(7, 'a', "inspire")));
  expect_error(refresh(fifth, {}), ErrorCode::kStaleEpoch, "serves by inspire now, not by download");
  server.stop();
  thread.join();
}

}  // namespace
}  // namespace pirx::client
