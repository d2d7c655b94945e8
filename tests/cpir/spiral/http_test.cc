// Spiral over HTTP: the service knows nothing of keys, and needs not.
#include <thread>

#include "deployment.h"
#include "pirx/net/http_client.h"
#include "pirx/net/http_server.h"
#include "support/seed.h"

namespace pirx::cpir::spiral {
namespace {

using namespace testing;

TEST(SpiralOverHttp, EveryItem) {
  auto engine = pirx::testing::seeded_engine();
  const TestDatabase db(7, 256, false, engine);
  net::HttpServerOptions options;
  options.port = 0;
  auto made =
      make_spiral_server(db.database(), {.scheme = toy_scheme(), .threads = 1, .allow_insecure = true})
          .value();
  auto server = net::HttpServer::create(std::move(made), options, [](const net::LogEvent&) {}).value();
  std::thread thread([&] { EXPECT_TRUE(server.run()); });
  {
    auto transport = net::HttpTransport::create(
                         {{.url = "http://127.0.0.1:" + std::to_string(server.port()), .ca_file = {}}})
                         .value();
    const auto parameters = transport.parameters_all({});
    const auto params = Params::decode(parameters.at(0).reply.value()).value();
    const auto client = Client::create(params, true).value();
    auto rng = Rng::from_os().value();
    const auto& geometry = params.geometry();
    for (std::uint64_t record = 0; record < geometry.records(); ++record) {
      const auto at = params.locate(record).value();
      const auto item = client.fetch(at.row, rng, [&](const Bytes& request) -> Result<Bytes> {
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
}

}  // namespace
}  // namespace pirx::cpir::spiral
