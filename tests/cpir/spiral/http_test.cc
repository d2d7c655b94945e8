// SPDX-License-Identifier: Apache-2.0
// Spiral over HTTP: the service knows nothing of keys, and needs not, but says who sent them.
#include <set>
#include <thread>

#include "deployment.h"
#include "pirx/http/http_client.h"
#include "pirx/http/http_server.h"
#include "pirx/protocol/forwarding_server.h"
#include "support/seed.h"

namespace pirx::cpir::spiral {
namespace {

using namespace testing;

/// A server that remembers who asked it.
class Listener final : public ForwardingServer {
 public:
  using ForwardingServer::ForwardingServer;
  std::vector<Result<Bytes>> answer_from(std::span<const ByteSpan> requests,
                                         std::span<const std::string_view> senders) const override {
    EXPECT_EQ(senders.size(), requests.size());
    seen_.insert(senders.begin(), senders.end());
    return ForwardingServer::answer_from(requests, senders);
  }
  /// Once no request is under way.
  const std::set<std::string>& seen() const { return seen_; }

 private:
  mutable std::set<std::string> seen_;  // answers come one at a time
};

TEST(SpiralOverHttp, EveryItem) {
  auto engine = pirx::testing::seeded_engine();
  const TestDatabase db(7, 256, false, engine);
  http::HttpServerOptions options;
  options.port = 0;
  auto made = std::make_unique<Listener>(
      make_spiral_server(db.database(), {.scheme = toy_scheme(), .threads = 1, .allow_insecure = true})
          .value());
  const Listener& listener = *made;
  auto server = http::HttpServer::create(std::move(made), options, [](const http::LogEvent&) {}).value();
  std::thread thread([&] { EXPECT_TRUE(server.run()); });
  {
    auto transport = http::HttpTransport::create(
                         {{.url = "http://127.0.0.1:" + std::to_string(server.port()), .ca_file = {}}})
                         .value();
    const auto parameters = transport.parameters_all({});
    const auto params = Params::decode(parameters.at(0).reply.value()).value();
    const auto client = Client::create(params, true).value();
    auto rng = Rng::from_os().value();
    const auto& geometry = params.geometry();
    for (std::uint64_t record = 0; record < geometry.records(); ++record) {
      const auto at = params.locate(record).value();
      const auto item = fetch(client, at.row, rng, [&](const Bytes& request) -> Result<Bytes> {
        return std::move(transport.query_all({request}, {}).at(0).reply);
      });
      ASSERT_TRUE(item) << item.error().message();
      const auto slot = ByteSpan(item->expose()).subspan(at.offset, geometry.slot_bytes());
      const auto data = geometry.read_slot(record, slot).value();
      EXPECT_TRUE(
          std::equal(data.begin(), data.end(), db.records()[record].begin(), db.records()[record].end()));
    }
  }
  server.stop();
  thread.join();
  ASSERT_EQ(listener.seen().size(), 1u);
  EXPECT_NE(listener.seen().begin()->find("127.0.0.1"), std::string::npos);
}

}  // namespace
}  // namespace pirx::cpir::spiral
