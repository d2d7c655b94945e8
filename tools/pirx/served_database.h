// SPDX-License-Identifier: Apache-2.0
// A database as `pirx serve` opens it: the settings from flags or a config file, and the function that makes
// the server of a protocol out of them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "pirx/client/manifest.h"
#include "pirx/database/database.h"
#include "pirx/protocol.h"
#include "serve_log.h"
#include "sound_server.h"

namespace pirx::cli {

using client::Manifest;

/// options_of_all(&Protocol::options).
std::span<const Option> database_options();

struct DatabaseSettings {
  std::string name;  ///< used in paths, logs and metrics; empty if it is the only database
  std::string file;
  std::string protocol = std::string(protocols().front()->name);
  Texts options = {};         ///< by the names of the protocol's options
  std::string manifest = {};  ///< the publisher's manifest, a file; empty: there is none
};

/// What the process gives to each database that it opens.
struct OpenContext {
  ServerSpec spec = {};                                 ///< but the database and its options
  std::function<void(const Error&)> damaged = nullptr;  ///< see SoundServer
};

/// A database, and the server that answers from it.
struct Served {
  std::shared_ptr<const database::Database> database;
  std::shared_ptr<SoundServer> server;
  std::shared_ptr<const Manifest> manifest = {};  ///< for these very parameters; null: there is none

  /// The manifest as clients get it; empty: there is none.
  Bytes manifest_bytes() const { return manifest == nullptr ? Bytes() : manifest->bytes(); }
  /// Told::digest in hexadecimal digits: what operators publish.
  std::string parameters_digest() const;
};

/// Opens the current content of the file and its delta, and checks a sample of it. InvalidArgument names the
/// option that does not fit. StaleEpoch: the manifest is for something else. Other errors are those of
/// opening the files, and of the protocol.
Result<Served> open_served(const DatabaseSettings& settings, const OpenContext& context);
/// The same for the content that was opened.
Result<Served> serve_opened(const DatabaseSettings& settings, const OpenContext& context,
                            std::shared_ptr<const database::Database> database);

/// The manifest that the settings name, for what this server serves; null: they name none. Errors are those
/// of load_manifest and Manifest::check.
Result<std::shared_ptr<const Manifest>> open_manifest(const DatabaseSettings& settings,
                                                      const AnyServer& server);

/// Checks that clients of `now` can go on with `next`, which must have a later epoch and records of the same
/// kind.
Result<void> check_next(const database::Database& now, const database::Database& next);

/// The max_in_flight_bytes that a server of this needs, or a little more.
std::size_t in_flight_needed(const AnyServer& server);
/// Says on standard error if the rows of a database are so long, or so many, that servers refuse it by
/// default.
void warn_of_long_rows(const std::string& file);
/// Says there that buckets with noise of that epoch were made before.
void warn_of_other_buckets(std::uint64_t epoch);

/// A function that writes the notes about opening to the log.
std::function<void(const std::string&)> note_log(const DatabaseSettings& settings, Log log);
/// What becomes of damage: a line of the log.
std::function<void(const Error&)> damage_log(const DatabaseSettings& settings, Log log);
/// The log's line about a database that was opened.
http::LogEvent database_event(const DatabaseSettings& settings, const Served& served, double seconds);

}  // namespace pirx::cli
