// What `pirx serve` is told, by flags, the environment and a config file (docs/operations.md), put together.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "pirx/net/http_server.h"
#include "served_database.h"

namespace pirx::cli {

/// Of the whole server, beside its limits: listen, tls_cert, ...
std::span<const Option> server_options();
/// net::limits() as options; help says the defaults.
std::span<const Option> limit_options();
/// "PIRX_MAX_CONNECTIONS" of "max_connections". Limits have such variables, nothing else has.
std::string variable_of(std::string_view limit);

/// A config file, parsed and checked as far as it goes without opening what it names. Paths in it are
/// relative to its folder.
struct ServeFile {
  struct Database {
    DatabaseSettings settings;
    Texts limits;  ///< of its queue
  };
  Texts server, limits;
  std::vector<Database> databases;  ///< at least one; names differ
};
/// DataLoss names the key that is unknown, missing, there twice or of a wrong type or value.
Result<ServeFile> parse_serve_file(std::string_view text, const std::filesystem::path& folder);
/// The same from a file of at most 1 MiB. Unavailable: it cannot be read.
Result<ServeFile> load_serve_file(const std::filesystem::path& path);

struct ServeSettings {
  struct Database {
    DatabaseSettings settings;
    net::QueueOptions queue;
    bool batch_max_given = false;  ///< else the server half may prefer another number
  };
  net::HttpServerOptions http;
  std::vector<Database> databases;
  int threads = 0;
  std::chrono::microseconds watch{0};
  bool quiet = false;
};

/// For each limit the flag, else the variable, else the file (a database's own before the server's), else the
/// default of the protocol or the server; for each other option the flag, else the file. InvalidArgument
/// names the flag, variable or key. Reads the file of tokens.
Result<ServeSettings> settle_serve(
    const Texts& flags, const std::function<std::optional<std::string>(const std::string&)>& variable,
    const ServeFile& file);

}  // namespace pirx::cli
