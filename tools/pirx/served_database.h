// A database as `pirx serve` opens it: what flags or a config file say of it, and the one function that makes
// of that the server half of a protocol.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "pirx/database/database.h"
#include "pirx/itpir/product.h"
#include "pirx/protocol.h"
#include "serve_log.h"
#include "sound_server.h"
#include "text_option.h"

namespace pirx::cli {

/// One option of a database. The table is the only list of them: flags, keys of config files and what the
/// protocols are told come from it.
struct DatabaseOption {
  TextOption text;
  unsigned protocols;  ///< set of those that take it, see served_database.cc
  const char* told;    ///< the protocols' own name for it

  /// Of the flag: help, after the protocols that take it where those are few.
  std::string full_help() const;
};
std::span<const DatabaseOption> database_options();

struct DatabaseSettings {
  std::string name;  ///< in paths, logs and metrics; empty: the only one
  std::string file;
  std::string protocol = "goldberg";
  Texts options = {};  ///< by the names of database_options()
};

/// The process around a database.
struct OpenContext {
  int threads = 0;                                         ///< 0: all
  bool loopback = false;                                   ///< only this machine can reach the server
  std::function<void(const std::string&)> note = nullptr;  ///< see ServerSpec
  std::function<void(double)> progress = nullptr;          ///< likewise
  itpir::Spread spread = nullptr;                          ///< --shards: see itpir::ServerOptions
  std::function<void(const Error&)> damaged = nullptr;     ///< see SoundServer
};

/// A database and the server half that was opened from the very same content.
struct Served {
  std::shared_ptr<const database::Database> database;
  std::shared_ptr<SoundServer> server;
};

/// Opens what the file and its delta hold now, and checks a sample of it. DataLoss; InvalidArgument names the
/// option that does not fit; the errors of opening the file, and of the protocol.
Result<Served> open_served(const DatabaseSettings& settings, const OpenContext& context);

/// Whether clients of `now` can go on with `next`: a later epoch of records of the same kind.
Result<void> check_next(const database::Database& now, const database::Database& next);

/// What becomes of the notes of opening: lines of the log.
std::function<void(const std::string&)> note_log(const DatabaseSettings& settings, Log log);
/// What becomes of damage: a line of the log.
std::function<void(const Error&)> damage_log(const DatabaseSettings& settings, Log log);
/// The log's line about a database that was opened.
net::LogEvent database_event(const DatabaseSettings& settings, const Served& served, double seconds);

}  // namespace pirx::cli
