// What a protocol is to the rest of pirx: a row of one table, and the server half that the row opens.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pirx/base/bytes.h"
#include "pirx/protocol/option.h"
#include "pirx/protocol/product.h"

namespace pirx {

namespace database {
class Database;
}

/// On the wire. New protocols take the next number; numbers are never reused.
enum class ProtocolId : std::uint8_t {
  kGoldberg = 1,
  kChor = 2,
  kDamgardJurikTree = 3,
  kQuadraticResiduosity = 4,
  kSpiral = 5
};

/// No message of any protocol is longer.
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 30;

/// The epoch in a parameters message of any protocol (docs/wire_format.md, sections 2 and 11), which may be a
/// stranger's: nothing for what is none by its magic, version, type, protocol and length. The rest is not
/// looked at.
std::optional<std::uint64_t> parameters_epoch(ByteSpan message) noexcept;

/// The server half of a protocol over one database. Const and thread-safe. Requests are encoded messages of
/// docs/wire_format.md, each from any client; one answer() is one pass over the database for all of them.
class AnyServer {
 public:
  virtual ~AnyServer() = default;
  virtual ProtocolId protocol() const noexcept = 0;
  /// What clients need to know, as an encoded parameters message. Public: geometry, field, identity, epoch,
  /// limits.
  virtual Bytes parameters() const = 0;
  /// No valid request is longer. Transports refuse longer bodies before reading them.
  virtual std::size_t max_request_bytes() const noexcept = 0;
  /// No valid request holds more queries.
  virtual std::size_t max_queries() const noexcept = 0;
  /// Memory that answering a request of so many queries takes beside the request: its encoded reply and what
  /// is held while it is computed. The transport charges it before it queues the request. SIZE_MAX where the
  /// number would be larger.
  virtual std::size_t working_bytes(std::size_t queries) const noexcept = 0;
  /// Memory that one answer() takes beside that, for however many requests. Transports run one at a time.
  virtual std::size_t pass_bytes() const noexcept { return 0; }
  /// Queries that a pass must have room for so that what was prepared is used; 0: any number will do.
  virtual std::size_t preferred_queries() const noexcept { return 0; }
  /// Queries that a request holds (its share of a batch), after a full check of its header and exact length,
  /// cheaply. InvalidArgument, StaleEpoch.
  virtual Result<std::size_t> admit(ByteSpan request) const = 0;
  /// What a log says of the server half beside its protocol: pairs such as field and "gf2_8".
  virtual std::vector<std::pair<std::string, std::string>> facts() const { return {}; }
  /// One result per request, in order. A bad request fails alone.
  virtual std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const = 0;
  /// The same for requests from `senders`, one for each, as the transport tells clients apart; an empty name
  /// where it cannot. For protocols that keep something for clients, to share room fairly.
  virtual std::vector<Result<Bytes>> answer_from(
      std::span<const ByteSpan> requests, [[maybe_unused]] std::span<const std::string_view> senders) const {
    return answer(requests);
  }
};

/// What a protocol serves, and how.
struct ServerSpec {
  std::shared_ptr<const database::Database> database;
  Options options = {};   ///< checked against Protocol::options
  int threads = 0;        ///< 0: all
  bool loopback = false;  ///< only this machine's clients can reach the server
  /// Told, in lines for people, what opening did beside opening; may be empty.
  std::function<void(const std::string&)> note = nullptr;
  /// Told, again and again and from any thread, which part of the answer under way is done, 0 to 1, by
  /// protocols whose answers take seconds; may be empty.
  std::function<void(double)> progress = nullptr;
  /// Who computes the products, for protocols that spread them; empty: this process.
  Spread spread = nullptr;
};

/// A protocol, as programs see it. Its folder has one such row, in protocol.cc.
struct Protocol {
  ProtocolId id;
  std::string_view name;     ///< "goldberg"
  std::string_view summary;  ///< one line for --help
  bool several = false;      ///< the client asks several servers; else the only one
  bool slow = false;         ///< a query takes a server seconds: passes hold one, and few may wait
  bool spreads = false;      ///< takes ServerSpec::spread
  std::span<const Option> options = {};  ///< of the server half
  /// The server half over spec.database. InvalidArgument: an option or the database does not fit.
  Result<std::unique_ptr<AnyServer>> (*serve)(const ServerSpec& spec) = nullptr;
};

/// Protocol::serve with the options as texts. InvalidArgument names an option that the protocol does not
/// have.
Result<std::unique_ptr<AnyServer>> serve(const Protocol& protocol, ServerSpec spec, const Texts& options);

/// The table of protocols (service/table/protocols.cc), in the order of their numbers.
std::span<const Protocol* const> protocols() noexcept;
/// The protocol of that name. InvalidArgument lists the names that exist.
Result<const Protocol*> find_protocol(std::string_view name);
/// The names, separated by commas.
std::string protocol_names();

/// Of protocols that can keep what they prepared between runs.
inline constexpr Option kPreparedOption{
    "prepared", Option::Kind::kPath, 0, 0,
    "File that keeps the prepared database, about as large as the database (spiral: five times): used if it "
    "fits, else written"};

}  // namespace pirx
