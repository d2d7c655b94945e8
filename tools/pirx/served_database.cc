// SPDX-License-Identifier: Apache-2.0
// The options of all protocols as one list, and opening.
#include "served_database.h"

#include <cinttypes>
#include <cstdio>

#include "pirx/base/buffer.h"
#include "pirx/http/http_server.h"
#include "protocol_options.h"
#include "publisher.h"

namespace pirx::cli {
std::span<const Option> database_options() {
  static const auto all = options_of_all(&Protocol::options);
  return all;
}

namespace {

tl::unexpected<Error> wrong_manifest(const DatabaseSettings& settings, const Error& error) {
  return fail(error.code(),
              settings.manifest + ": " + error.message() +
                  "; sign what is served (pirx manifest sign), with the options that it is served with");
}

}  // namespace

Result<std::shared_ptr<const Manifest>> open_manifest(const DatabaseSettings& settings,
                                                      const AnyServer& server) {
  std::shared_ptr<const Manifest> none;
  if (settings.manifest.empty()) return none;
  PIRX_ASSIGN(auto manifest, load_manifest(settings.manifest));
  PIRX_ASSIGN(const auto* protocol, find_protocol(settings.protocol));
  PIRX_ASSIGN(const auto told, tell(server.parameters()));
  if (const auto fits = manifest.check(*protocol, told); !fits) return wrong_manifest(settings, fits.error());
  return std::make_shared<const Manifest>(std::move(manifest));
}

Result<Served> open_served(const DatabaseSettings& settings, const OpenContext& context) {
  PIRX_ASSIGN(auto database, database::Database::open(settings.file));
  return serve_opened(settings, context, std::move(database));
}

Result<Served> serve_opened(const DatabaseSettings& settings, const OpenContext& context,
                            std::shared_ptr<const database::Database> database) {
  PIRX_ASSIGN(const auto* protocol, find_protocol(settings.protocol));
  PIRX_TRY(check_sample(*database));
  if (!settings.manifest.empty()) {  // before the work of preparing
    PIRX_ASSIGN(const auto manifest, load_manifest(settings.manifest));
    const auto fits = manifest.check(database->geometry(), database->version());
    if (!fits) return wrong_manifest(settings, fits.error());
  }
  auto spec = context.spec;
  spec.database = database;
  PIRX_ASSIGN(std::unique_ptr<const AnyServer> server, serve(*protocol, std::move(spec), settings.options));
  PIRX_ASSIGN(auto manifest, open_manifest(settings, *server));
  auto sound = std::make_shared<SoundServer>(database, std::move(server), context.damaged);
  return Served{std::move(database), std::move(sound), std::move(manifest)};
}

std::string Served::parameters_digest() const { return to_hex(tell(server->parameters())->digest); }

Result<void> check_next(const database::Database& now, const database::Database& next) {
  const auto refuse = [](std::string message) {
    return invalid(std::move(message) + ": the epoch served stays");
  };
  // An update of buckets with noise that was interrupted is done again, with other noise.
  const bool renewed = next.bucket() != nullptr && next.bucket()->independence > 0 &&
                       next.version().epoch == now.version().epoch;
  if (next.version().epoch <= now.version().epoch && !renewed) {
    return refuse("epoch " + std::to_string(next.version().epoch) + " does not follow epoch " +
                  std::to_string(now.version().epoch));
  }
  const auto& old_spec = now.geometry().spec();
  const auto& new_spec = next.geometry().spec();
  if (old_spec.variable_length != new_spec.variable_length || old_spec.digests != new_spec.digests ||
      now.geometry().keyed() != next.geometry().keyed()) {
    return refuse("the new file keeps other records (lengths, digests or keys): restart the server for it");
  }
  const bool both = now.bucket() != nullptr && next.bucket() != nullptr;
  if ((now.bucket() != nullptr) != (next.bucket() != nullptr) || (both && *now.bucket() != *next.bucket())) {
    return refuse("the new file is encoded in another way: restart the server for it");
  }
  return {};
}

std::size_t in_flight_needed(const AnyServer& server) {
  const auto bytes = saturated_add(http::bytes_for_requests(server), http::bytes_for_passes(server));
  return saturated_add(bytes, bytes / 15 + (std::size_t{1} << 20));  // a sixteenth is for connections
}

void warn_of_long_rows(const std::string& file) {
  const auto database = database::Database::open(file);
  if (!database) return;
  const auto server = serve(*protocols().front(), {.database = *database}, {{"coordinate", "1"}});
  const auto needed = server ? in_flight_needed(**server) : 0;
  if (server && needed <= http::HttpServerOptions().max_in_flight_bytes) return;
  const auto& geometry = (*database)->geometry();
  const std::string why =
      !server ? server.error().message()
              : "pirx serve --max-in-flight " + std::to_string((needed >> 20) + 1) + "MiB takes it";
  std::fprintf(stderr,
               "pirx: %s has %" PRIu64 " rows of %" PRIu64 " bytes: servers refuse it by default (%s)\n",
               file.c_str(), geometry.rows(), geometry.row_bytes(), why.c_str());
}

void warn_of_other_buckets(std::uint64_t epoch) {
  std::fprintf(stderr,
               "pirx: there were other buckets of epoch %" PRIu64
               ": clients that have seen those refuse these, until the database changes (exit code 8)\n",
               epoch);
}

std::function<void(const std::string&)> note_log(const DatabaseSettings& settings, Log log) {
  http::LogEvent event{.event = "note", .text = {{"protocol", settings.protocol}}, .numbers = {}};
  if (!settings.name.empty()) event.text.emplace_back("database", settings.name);
  return [event, log = std::move(log)](const std::string& note) {
    auto line = event;
    line.text.emplace_back("note", note);
    log(line);
  };
}

std::function<void(const Error&)> damage_log(const DatabaseSettings& settings, Log log) {
  return [settings, log = std::move(log)](const Error& error) {
    http::LogEvent event{.event = "database_damaged",
                         .text = {{"file", settings.file}, {"reason", error.message()}},
                         .numbers = {}};
    if (!settings.name.empty()) event.text.emplace_back("database", settings.name);
    log(event);
  };
}

http::LogEvent database_event(const DatabaseSettings& settings, const Served& served, double seconds) {
  http::LogEvent event{.event = "database",
                       .text = {{"file", settings.file},
                                {"protocol", settings.protocol},
                                {"parameters_digest", served.parameters_digest()}},
                       .numbers = {{"epoch", static_cast<double>(served.database->version().epoch)},
                                   {"seconds_to_open", seconds}}};
  if (served.manifest) event.text.emplace_back("publisher", served.manifest->spec().pin.text());
  for (auto& fact : served.server->facts()) event.text.push_back(std::move(fact));
  if (!settings.name.empty()) event.text.emplace_back("database", settings.name);
  return event;
}

}  // namespace pirx::cli
