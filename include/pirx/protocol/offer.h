// SPDX-License-Identifier: Apache-2.0
// What a protocol would cost: the question that the planner asks every protocol, and the offers that they
// make.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pirx/database/geometry.h"
#include "pirx/protocol/option.h"
#include "pirx/protocol/rates.h"

namespace pirx {

/// The network between the client and a server.
struct Link {
  double up = 0, down = 0;  ///< bits per second that the client sends and receives
  double round_trip = 0;    ///< seconds
};

/// What the planner is asked: the database, the link, the machines.
struct Question {
  std::uint64_t records = 0, record_bytes = 0;
  /// The geometry of a database that exists. Without one, every scheme puts records into rows as suits it
  /// best; all records then have one length, and digests.
  std::optional<database::Geometry> geometry = {};
  std::uint64_t key_index_bytes = 0;  ///< of a database that exists; a download includes some of them
  Link link;
  int server_cores = 1, client_cores = 1;
  /// Servers that the client can reach and that do not all work together against it.
  unsigned servers = 1;
  unsigned collusion = 1;  ///< t: up to this many servers may work together
  /// Queries that one version of the database answers. They share the costs of a version.
  std::uint64_t queries = 1;
  unsigned modulus_bits = 3072;  ///< of keys whose length can be chosen
  bool reproduction = false;     ///< allows moduli of 1024 bits, as in the papers
  /// Does not count the time that a client can spend before it knows what it wants.
  bool ahead = false;
  /// Memory of a server for tables that make it faster, in bytes.
  std::uint64_t table_bytes = std::uint64_t{64} << 20;
};

/// What a scheme of a protocol costs for one record. Bytes are those of all servers together. Times are those
/// of one server, since servers compute at the same time.
struct Offer {
  std::string protocol = {};  ///< its name; the planner fills it in
  std::string settings;       ///< for people: "arities 32,16"
  Texts options = {};         ///< options to open the server with (pirx::serve)
  std::string privacy = {};   ///< the assumption that privacy needs
  std::vector<std::string> notes = {};
  bool whole = false;  ///< the client takes the whole database: what all other offers are compared with
  unsigned servers = 1, threshold = 0;
  std::uint64_t records_per_row = 1;
  bool seeded = false;
  std::uint64_t bytes_up = 0, bytes_down = 0;  ///< exact lengths of the messages, without HTTP
  std::uint64_t bytes_once = 0;                ///< downloaded once for each version of the database
  std::uint64_t bytes_once_up = 0;             ///< sent once: a client's keys, requests for a download
  std::uint64_t round_trips = 1;               ///< of a query, one after another
  std::uint64_t round_trips_once = 0;          ///< in addition, once for each version of the database
  double server_seconds = 0, client_seconds = 0;
  double ahead_seconds = 0;                          ///< of the client, before it knows what it wants
  double prepare_seconds = 0;                        ///< of a server, once for each version of the database
  std::uint64_t server_bytes = 0, client_bytes = 0;  ///< memory, approximately
};

/// The seconds that one query takes over `link`, with its share of what is needed only once.
double total_seconds(const Offer& offer, const Question& question, const Link& link);

/// A way to use a protocol: makes its best offer for a question. A row of Protocol::schemes.
struct Scheme {
  std::string_view name;  ///< "goldberg seeded"
  /// InvalidArgument says why the scheme has no offer. Other errors are those of the rates.
  Result<Offer> (*offer)(const Question& question, Rates& rates);
};

}  // namespace pirx
