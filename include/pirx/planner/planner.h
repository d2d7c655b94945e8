// The planner: what every scheme would cost for a database, a machine and a link, and which one pays. After
// Sion and Carbunar, "On the Computational Practicality of Private Information Retrieval" (2007, paper 004),
// with every protocol of this library in place of one, measured rates in place of estimates of the hardware,
// and the download of the whole database as the one to beat (docs/planner.md).
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

/// Bits and seconds.
struct Link {
  double up = 0, down = 0;  ///< bits a second that the client sends and receives
  double round_trip = 0;    ///< seconds
};

/// What is asked: the database, the link, the machines.
struct Question {
  std::uint64_t records = 0, record_bytes = 0;
  /// Of a database that exists. Without one, every scheme has rows of the records that suit it best: records
  /// of one length, with digests.
  std::optional<database::Geometry> geometry = {};
  Link link;
  int server_cores = 1, client_cores = 1;
  unsigned servers = 1;       ///< that the client can reach and that do not all talk to each other
  unsigned collusion = 1;     ///< t: so many of them may
  std::uint64_t queries = 1;  ///< that one version of the database answers: shares the costs of a version
  unsigned modulus_bits = 3072;
  bool reproduction = false;  ///< allows 1024 bits, as in the papers
  bool ahead = false;         ///< what a client can compute before it knows its wish is not counted
  std::uint64_t table_bytes = std::uint64_t{64} << 20;  ///< of tables of powers of a dj-tree server
};

/// InvalidArgument, which names what is wrong: no records, a bandwidth that is not above zero or not finite,
/// a negative round trip, sizes beyond 2^56 bytes, no cores or servers, as many servers that collude as there
/// are.
Result<void> check(const Question& question);

/// What a scheme costs for one record. All servers' bytes together; the time of one server, as they compute
/// at the same time.
struct Offer {
  std::string scheme;        ///< a protocol of the registry, or "download"
  std::string settings;      ///< for people: "arities 32,16"
  Texts options = {};        ///< what the server half is opened with (pirx::serve)
  std::string privacy = {};  ///< what it rests on
  std::vector<std::string> notes = {};
  unsigned servers = 1, threshold = 0;
  std::uint64_t records_per_row = 1;
  bool seeded = false;
  std::uint64_t bytes_up = 0, bytes_down = 0;  ///< exact lengths of the messages, without HTTP
  std::uint64_t bytes_once = 0;                ///< down, once for each version of the database
  std::uint64_t bytes_once_up = 0;             ///< a client's keys, once
  double server_seconds = 0, client_seconds = 0;
  double ahead_seconds = 0;                          ///< of the client, before it knows what it wants
  double prepare_seconds = 0;                        ///< of a server, once for each version of the database
  std::uint64_t server_bytes = 0, client_bytes = 0;  ///< memory, about
};

/// Seconds for one query over that link, and its share of what is needed once.
double total_seconds(const Offer& offer, const Question& question, const Link& link);

/// The bandwidth down, at the question's ratio of up to down, below which `queries` queries take less time
/// than one download of the records. Nothing: at none, as the messages are longer than the records. Infinite
/// where the scheme wins on any link.
std::optional<double> crossover(const Offer& offer, const Question& question, std::uint64_t queries);

/// A row of the table of schemes: how to make the best offer for a question. InvalidArgument where it has
/// none, and why.
struct Scheme {
  const char* name;
  Result<Offer> (*offer)(const Question& question, Rates& rates);
};
std::span<const Scheme> schemes() noexcept;

/// Bytes that one downloads: the records, without digests.
std::uint64_t download_bytes(const Question& question) noexcept;

struct Plan {
  Question question;
  std::vector<Offer> offers;                                  ///< the fastest first
  std::vector<std::pair<std::string, std::string>> left_out;  ///< schemes without an offer, and why
  std::string advice;                                         ///< which one pays, in words
};

/// Errors of check() and of the rates.
Result<Plan> make_plan(const Question& question, Rates& rates);

}  // namespace pirx::planner
