// SPDX-License-Identifier: Apache-2.0
// The settings of `pirx serve`, put together from flags, the environment and a config file
// (docs/operations.md).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "pirx/http/http_server.h"
#include "serve_log.h"
#include "served_database.h"

namespace pirx::cli {

/// The options of the whole server that are not limits: listen, tls_cert, ...
std::span<const Option> server_options();
/// http::limits() as options. Their help gives the defaults.
std::span<const Option> limit_options();
/// The environment variable of a limit: "PIRX_MAX_CONNECTIONS" for "max_connections". Only limits have
/// variables.
std::string variable_of(std::string_view limit);

/// A config file after parsing, checked as far as that is possible without opening the files that it names.
/// Paths in it are relative to its folder.
struct ServeFile {
  struct Database {
    DatabaseSettings settings;
    Texts limits;  ///< the limits of its queue
  };
  Texts server, limits;
  std::vector<Database> databases;  ///< at least one; their names differ
};
/// Parses a config file. DataLoss names the line and the key that is unknown, missing, repeated, or has a
/// wrong type or value; `name` is that of the file.
Result<ServeFile> parse_serve_file(std::string_view text, const std::filesystem::path& folder,
                                   const std::string& name = "config file");
/// Reads and parses a config file of at most 1 MiB. Unavailable: it cannot be read.
Result<ServeFile> load_serve_file(const std::filesystem::path& path);

struct ServeSettings {
  struct Database {
    DatabaseSettings settings;
    http::QueueOptions queue;
    bool batch_max_given = false;  ///< else the server half may prefer another number
  };
  http::HttpServerOptions http;
  std::string web, web_folder;  ///< of the page in http.files; empty: there is none
  std::vector<Database> databases;
  std::chrono::microseconds watch{0};
  bool quiet = false;
  std::optional<LogFormat> log_format;  ///< nothing: as log_format_of_stderr() says
};

/// Puts all settings together. A limit is taken from the flag, else the variable, else the file (where a
/// database's own value comes before the server's), else the default of the protocol or the server. Another
/// option is taken from the flag, else the file. Reads the file of tokens. InvalidArgument names the flag,
/// variable or key that is wrong.
Result<ServeSettings> settle_serve(
    const Texts& flags, const std::function<std::optional<std::string>(const std::string&)>& variable,
    const ServeFile& file);

}  // namespace pirx::cli
