// The planner: computes what every scheme would cost for a database, a machine and a link, and says which one
// pays. It follows Sion and Carbunar, "On the Computational Practicality of Private Information Retrieval"
// (2007, paper 004), but compares all protocols of this library, uses measured rates, and takes the download
// of the whole database as the scheme to beat (docs/planner.md).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pirx/database/geometry.h"
#include "pirx/planner/rates.h"
#include "pirx/protocol/option.h"

namespace pirx::planner {

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
  Link link;
  int server_cores = 1, client_cores = 1;
  /// Servers that the client can reach and that do not all work together against it.
  unsigned servers = 1;
  unsigned collusion = 1;  ///< t: up to this many servers may work together
  /// Queries that one version of the database answers. They share the costs of a version.
  std::uint64_t queries = 1;
  unsigned modulus_bits = 3072;
  bool reproduction = false;  ///< allows moduli of 1024 bits, as in the papers
  /// Time that a client can spend before it knows its wish is not counted.
  bool ahead = false;
  /// Memory of a dj-tree server for tables of powers, in bytes.
  std::uint64_t table_bytes = std::uint64_t{64} << 20;
};

/// InvalidArgument names what is wrong: there are no records, cores or servers; a bandwidth is not above zero
/// or not finite; the round trip is negative; a size is above 2^56 bytes; all servers may collude.
Result<void> check(const Question& question);

/// What a scheme costs for one record. Bytes are those of all servers together. Times are those of one
/// server, since servers compute at the same time.
struct Offer {
  std::string scheme;        ///< the name of a protocol, or "download"
  std::string settings;      ///< for people: "arities 32,16"
  Texts options = {};        ///< options to open the server with (pirx::serve)
  std::string privacy = {};  ///< the assumption that privacy needs
  std::vector<std::string> notes = {};
  unsigned servers = 1, threshold = 0;
  std::uint64_t records_per_row = 1;
  bool seeded = false;
  std::uint64_t bytes_up = 0, bytes_down = 0;  ///< exact lengths of the messages, without HTTP
  std::uint64_t bytes_once = 0;                ///< downloaded once for each version of the database
  std::uint64_t bytes_once_up = 0;             ///< a client's keys, sent once
  double server_seconds = 0, client_seconds = 0;
  double ahead_seconds = 0;                          ///< of the client, before it knows what it wants
  double prepare_seconds = 0;                        ///< of a server, once for each version of the database
  std::uint64_t server_bytes = 0, client_bytes = 0;  ///< memory, approximately
};

/// The seconds that one query takes over `link`, with its share of what is needed only once.
double total_seconds(const Offer& offer, const Question& question, const Link& link);

/// The bandwidth down, in bits per second, below which `queries` queries take less time than one download of
/// the records. The ratio of up to down is the question's. Nothing: there is no such bandwidth, since the
/// messages are longer than the records. Infinite: the scheme wins on every link.
std::optional<double> crossover(const Offer& offer, const Question& question, std::uint64_t queries);

/// A row of the table of schemes: makes the best offer for a question. InvalidArgument says why the scheme
/// has no offer.
struct Scheme {
  const char* name;
  Result<Offer> (*offer)(const Question& question, Rates& rates);
};
std::span<const Scheme> schemes() noexcept;

/// The bytes that a download takes: the records, without digests.
std::uint64_t download_bytes(const Question& question) noexcept;

struct Plan {
  Question question;
  std::vector<Offer> offers;                                  ///< the fastest first
  std::vector<std::pair<std::string, std::string>> left_out;  ///< schemes without an offer, and the reasons
  std::string advice;                                         ///< says which scheme pays, in words
};

/// All offers for a question, and the advice. Errors are those of check() and of the rates.
Result<Plan> make_plan(const Question& question, Rates& rates);

}  // namespace pirx::planner
