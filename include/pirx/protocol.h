// SPDX-License-Identifier: Apache-2.0
// The interface of a protocol: its row in the table of protocols, and the server that it opens.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pirx/base/bytes.h"
#include "pirx/protocol/offer.h"
#include "pirx/protocol/option.h"
#include "pirx/protocol/plan.h"
#include "pirx/protocol/product.h"

namespace pirx {

namespace database {
class Database;
}

/// The protocol's number on the wire. A new protocol takes the next number; a number is never reused.
enum class ProtocolId : std::uint8_t {
  kGoldberg = 1,
  kChor = 2,
  kDamgardJurikTree = 3,
  kQuadraticResiduosity = 4,
  kSpiral = 5,
  kDownload = 6,
  kInspire = 7,
  kPointFunctions = 8
};

/// Whether messages of that protocol begin with the header of protocols with several servers
/// (docs/wire_format.md, section 2), which is eight bytes longer.
constexpr bool has_message_header(ProtocolId protocol) noexcept {
  return protocol == ProtocolId::kGoldberg || protocol == ProtocolId::kChor ||
         protocol == ProtocolId::kPointFunctions;
}

/// What a message is, on the wire. From 4 on, each protocol has numbers of its own.
enum class MessageType : std::uint8_t {
  kQuery = 1,
  kReply = 2,
  kParameters = 3,
  kSeeds = 4,        ///< Goldberg, Chor: a query with a seed in place of each vector
  kKeys = 4,         ///< Spiral: keys that the server is to hold
  kMasksWanted = 4,  ///< InsPIRe: a request for masks
  kMasks = 5,        ///< InsPIRe: the masks
  kKeysHeld = 5,     ///< Spiral: the server's word that it holds them
  kKeysUnknown = 6,  ///< Spiral: the server does not know the keys of a query
};

/// The greatest length of a message, in any protocol.
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 30;

/// The most servers of one deployment.
inline constexpr unsigned kMaxServers = 1024;

/// The epoch in a parameters message of any protocol (docs/wire_format.md, sections 2 and 11). Nothing if its
/// magic, version, type, protocol or length is not that of a parameters message. No other part is checked.
/// The message may come from a stranger.
std::optional<std::uint64_t> parameters_epoch(ByteSpan message);

/// The server of a protocol over one database. Const and thread-safe. A request is an encoded message of
/// docs/wire_format.md, from any client. One answer() is one pass over the database for all its requests.
class AnyServer {
 public:
  virtual ~AnyServer() = default;
  virtual ProtocolId protocol() const noexcept = 0;
  /// What clients need to know, as an encoded parameters message: geometry, field, identity, epoch, limits.
  /// Public.
  virtual Bytes parameters() const = 0;
  /// The length of the longest valid request. Transports refuse longer bodies before they read them.
  virtual std::size_t max_request_bytes() const noexcept = 0;
  /// The number of queries in the largest valid request.
  virtual std::size_t max_queries() const noexcept = 0;
  /// The bytes of memory that answering requests of `queries` queries takes beside these: for their encoded
  /// replies, and for what is held while they are computed. The transport has them when it calls answer().
  /// SIZE_MAX if the number would be larger.
  virtual std::size_t working_bytes(std::size_t queries) const noexcept = 0;
  /// The bytes of the encoded reply to a request of `queries` queries, at most. The transport reserves them
  /// before it queues the request.
  virtual std::size_t max_reply_bytes(std::size_t queries) const noexcept { return working_bytes(queries); }
  /// The bytes of memory that one answer() takes in addition, for any number of requests. Transports run one
  /// answer() at a time.
  virtual std::size_t pass_bytes() const noexcept { return 0; }
  /// The number of queries that passes should have room for, because this server is prepared to answer large
  /// passes faster (such as by stored levels of Strassen). 0: every size will do.
  virtual std::size_t preferred_queries() const noexcept { return 0; }
  /// The number of queries in a request, which is its share of a batch. Checks the header and the exact
  /// length in full, at little cost. InvalidArgument: the request is wrong. StaleEpoch: it is for another
  /// version.
  virtual Result<std::size_t> admit(ByteSpan request) const = 0;
  /// A request with so many queries, at most max_queries(), whose answers nobody wants: what it takes shows
  /// how long passes take. Empty: that is learned from the first requests.
  virtual Bytes sample_request([[maybe_unused]] std::size_t queries) const { return {}; }
  /// What a log says about this server beside its protocol: pairs such as "field" and "gf2_8".
  virtual std::vector<std::pair<std::string, std::string>> facts() const { return {}; }
  /// One result per request, in the same order. A bad request fails alone.
  virtual std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const = 0;
  /// The same with the name of each request's sender, or an empty name if it is unknown. Protocols that keep
  /// data of clients use it to share their room fairly among clients.
  virtual std::vector<Result<Bytes>> answer_from(
      std::span<const ByteSpan> requests, [[maybe_unused]] std::span<const std::string_view> senders) const {
    return answer(requests);
  }
};

/// What Protocol::serve opens: a database, with options, in the surroundings of this process.
struct ServerSpec {
  std::shared_ptr<const database::Database> database;
  Options options = {};   ///< checked against Protocol::options
  int threads = 0;        ///< 0: all cores
  bool loopback = false;  ///< only clients on this machine can reach the server
  /// Called with lines for people about what else happened while the server was opened; may be empty.
  std::function<void(const std::string&)> note = nullptr;
  /// Called repeatedly, from any thread, with the part of the current answer that is done (0 to 1), by
  /// protocols whose answers take seconds; may be empty.
  std::function<void(double)> progress = nullptr;  ///< must not throw
  /// Computes the products, for protocols that can spread them. Empty: this process computes them.
  Spread spread = nullptr;
};

/// A row of the table of protocols: a protocol as programs see it. Each protocol's folder has one, in
/// protocol.cc.
struct Protocol {
  ProtocolId id;
  std::string_view name;                ///< "goldberg"
  std::string_view summary;             ///< one line for --help
  bool several = false;                 ///< true: the client asks several servers; false: only one
  unsigned most_servers = kMaxServers;  ///< that a retrieval asks at a time
  bool slow = false;     ///< a query takes a server seconds, so a pass holds one query and few may wait
  bool spreads = false;  ///< uses ServerSpec::spread
  /// What a deployment file says of the protocol beside the database and the servers. A name such as
  /// "encoding.arity" is the member "arity" of the object "encoding".
  std::span<const Option> members = {};
  /// Those of `members` that the writer of a deployment file chooses (pirx deploy). They do not come from
  /// servers.
  std::span<const Option> chosen = {};
  /// The names of those of `members` that follow from the database and may change with its epoch.
  std::span<const std::string_view> from_database = {};
  bool describes_database = false;              ///< `members` describe the database, too
  std::span<const Option> client_options = {};  ///< options of the client (pirx get)
  /// Reads a parameters message. The message may come from a stranger. DataLoss: it is malformed.
  /// InvalidArgument: another protocol or version, or numbers that do not fit.
  Result<Told> (*tell)(ByteSpan parameters) = nullptr;
  /// The plan of a deployment. DataLoss: a member is missing. InvalidArgument: they do not fit each other.
  Result<std::shared_ptr<const Plan>> (*plan)(const PlanSpec& spec) = nullptr;
  std::span<const Option> options = {};  ///< options of the server
  /// Opens the server over spec.database. InvalidArgument: an option or the database does not fit.
  Result<std::unique_ptr<AnyServer>> (*serve)(const ServerSpec& spec) = nullptr;
  /// The ways to use the protocol, for the planner, and the steps that their cost models count.
  std::span<const Scheme> schemes = {};
  std::span<const Step> steps = {};
};

/// Calls Protocol::serve with options given as texts. InvalidArgument: the protocol has no such option.
Result<std::unique_ptr<AnyServer>> serve(const Protocol& protocol, ServerSpec spec, const Texts& options);

/// What the parameters message of any protocol says. Errors of Protocol::tell and find_protocol_of.
Result<Told> tell(ByteSpan parameters);
/// The protocol that sent a parameters message. DataLoss: this is no pirx message. InvalidArgument: the table
/// has no such protocol.
Result<const Protocol*> find_protocol_of(ByteSpan parameters);

/// Calls Plan::join with options given as texts. InvalidArgument: the protocol's clients have no such option.
Result<std::unique_ptr<AnyClient>> join(const Plan& plan, ClientSpec spec, const Texts& options);

/// The table (service/table/protocols.cc), in the order of the numbers.
std::span<const Protocol* const> protocols() noexcept;
/// The protocol of that name. InvalidArgument lists the names that exist.
Result<const Protocol*> find_protocol(std::string_view name);
/// The names of all protocols, separated by commas.
std::string protocol_names();

/// The option of protocols that can keep the prepared database between runs.
inline constexpr Option kPreparedOption{
    "prepared", Option::Kind::kPath, 0, 0,
    "File that keeps the prepared database, as large as the database or several times that: used if it fits, "
    "else written"};

}  // namespace pirx
