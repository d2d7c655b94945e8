// SPDX-License-Identifier: Apache-2.0
// One private retrieval in progress, and the client that makes retrievals. Neither sends anything: whoever
// has a way to the servers moves the bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pirx/base/bytes.h"
#include "pirx/base/rng.h"
#include "pirx/base/stop.h"

namespace pirx {

/// How sure an answer is. With one server, kProven means that the records are those of the database that the
/// plan identifies; that identity may be the server's own word.
enum class Certainty : std::uint8_t {
  kProven,      ///< right unless more than proof_bound servers lied
  kProbable,    ///< not proven; decided by the records' digests or by the caller's check
  kUnverified,  ///< just enough replies, and nothing to check them by
};
std::string_view certainty_name(Certainty certainty) noexcept;

/// What a client says of a server after a retrieval.
enum class ServerStatus : std::uint8_t {
  kOk,
  kLied,        ///< one of its replies is wrong (proven)
  kSuspected,   ///< one of its replies disagrees with the probable answer, and no other answer fits
  kSilent,      ///< there was no reply in time
  kRefused,     ///< it answered, but with a refusal
  kMalformed,   ///< its reply has another shape, field or coordinate, or holds values that are no elements
  kStaleEpoch,  ///< its reply (or refusal) is for another version of the database
};
std::string_view server_status_name(ServerStatus status) noexcept;
/// The status of a server from which there was this error instead of a reply.
ServerStatus status_of(const Error& error) noexcept;

/// Records in the order asked for; nothing stands for a key without a record.
using Records = std::vector<std::optional<Bytes>>;

/// What a retrieval found.
struct Answer {
  std::vector<Bytes> records;  ///< in the order asked for; empty for a key that has none
  Certainty certainty = Certainty::kUnverified;
  unsigned responders = 0;  ///< k: the well-formed replies that were used
  /// kProven: the answer is right, and whoever is kLied did lie, unless more servers lied than this.
  unsigned proof_bound = 0;
  unsigned rounds = 1;  ///< rounds of queries that were decoded together
  std::vector<ServerStatus> servers;
  std::vector<std::size_t> missing = {};  ///< which of the keys have no record, ascending

  /// Takes them for records and missing.
  void set_records(Records found);
};

/// The caller's own evidence, such as a signature over each record: whether these can be the Records asked
/// for.
using Believe = std::function<bool(std::span<const std::optional<Bytes>> records)>;

/// The rounds of queries at most where the caller does not say.
inline constexpr unsigned kUsualRounds = 4;

struct RetrieveOptions {
  /// The number of lying servers that the caller wants to be safe from. Nothing: as many as unique decoding
  /// corrects, but at least one if more servers are asked than must answer. For protocols with several
  /// servers.
  std::optional<unsigned> liars = {};
  /// Rounds of queries, 1 to 8. Nothing: kUsualRounds. There is only one round if it tells the liars apart
  /// whatever they do; otherwise all of these rounds are made, so that their number does not show what the
  /// liars' errors look like. For protocols with several servers.
  std::optional<unsigned> rounds = {};
  /// Waits for every server, so that each one's behaviour is reported. For protocols with several servers.
  bool wait_for_all = false;
  /// Chooses if the replies prove no answer: an answer is taken if it is the only possible one of which this
  /// is true. Empty: an answer counts as true if all records fit their digests and, in a look-up by key,
  /// every key has a record. What is asked does not depend on it.
  Believe believe = {};
  /// Ends work that takes seconds: making a query and opening a reply in protocols with large keys, with
  /// Unavailable, and decoding replies of several servers, with Undecodable.
  Stop stop = {};
};

/// The number of one message of one retrieval in this process.
struct MessageId {
  std::uint64_t retrieval = 0, number = 0;
  friend bool operator==(const MessageId&, const MessageId&) = default;
};

/// What is to be sent to a server, once.
struct Message {
  MessageId id;
  std::size_t server = 0;  ///< its position in the deployment
  Bytes bytes;
  std::uint64_t reply_bytes = 0;  ///< the longest valid reply
};

/// A private retrieval as a state machine without input or output:
///
///     for (auto wave = retrieval->outgoing(); !wave->empty(); wave = retrieval->outgoing()) {
///       for (auto& message : *wave) transport.send(message.server, message.bytes);
///       while (retrieval->waiting()) {
///         auto [id, reply] = transport.next();          // of any server of the wave
///         reply ? retrieval->receive(id, *reply) : retrieval->lost(id, reply.error());
///       }
///     }
///     auto answer = std::move(*retrieval).finish();
///
/// What servers see, its length included, depends neither on what is wanted nor on a record. On destruction
/// the retrieval wipes what is wanted and everything that could tell it. Not thread-safe.
class Retrieval {
 public:
  virtual ~Retrieval() = default;
  Retrieval(const Retrieval&) = delete;
  Retrieval& operator=(const Retrieval&) = delete;

  /// The next messages; none when nothing is left to ask. This may take long: close connections before the
  /// call if a server could learn from their end how long it took. InvalidArgument: replies are still
  /// awaited. Errors of the protocol end the retrieval.
  Result<std::vector<Message>> outgoing();
  /// Whether replies to the latest messages are still of use. Once this is false, stop waiting for the rest
  /// of them.
  bool waiting() const;
  /// Takes a reply. InvalidArgument: no reply to `id` is awaited; nothing has changed. Another error says why
  /// the reply is not valid. It then counts as lost, and the retrieval goes on.
  Result<void> receive(MessageId id, ByteSpan reply);
  /// Says why there will be no reply to a message. InvalidArgument as receive.
  Result<void> lost(MessageId id, const Error& why);
  /// The records. Call it once, after outgoing() gave no messages; otherwise InvalidArgument. Other errors
  /// are the protocol's: Undecodable, StaleEpoch, DataLoss, OutOfRange, Unavailable. Whether it succeeds, and
  /// how long it takes, may depend on the records: servers must not see it.
  Result<Answer> finish() &&;

 protected:
  Retrieval();
  struct Request {
    std::size_t server;
    Bytes bytes;
    std::uint64_t reply_bytes;
  };
  /// The next messages: none, or one to every server that is asked, in their order.
  virtual Result<std::vector<Request>> next() = 0;
  virtual Result<void> take(std::size_t server, ByteSpan reply) = 0;
  virtual void miss(std::size_t server, const Error& why) = 0;
  /// Whether the replies to the latest messages that have come are enough.
  virtual bool enough() const { return false; }
  virtual Result<Answer> conclude() = 0;

 private:
  struct Awaited {
    std::uint64_t number;
    std::size_t server;
  };
  /// Stops awaiting the reply to a message and gives the message's server.
  Result<std::size_t> settle(MessageId id);
  const std::uint64_t id_;
  std::uint64_t messages_ = 0;
  std::vector<Awaited> awaited_;
  bool asked_all_ = false, finished_ = false;
};

/// The client half of a protocol, for one deployment. Const and thread-safe. It holds what is used for many
/// retrievals, such as keys. In a protocol with keys, servers can tell that two of its retrievals come from
/// one client.
class AnyClient {
 public:
  virtual ~AnyClient() = default;
  /// Begins a retrieval of the records at these positions, or of these keys; they are copied. The client must
  /// outlive the retrieval. A position beyond the database is asked for like any other, and finish() says
  /// OutOfRange, so that a server which claims to have fewer records learns nothing. InvalidArgument: no wish
  /// or more than kMaxWishes, keys of a database that is not keyed (or positions of one that is), or options
  /// that the protocol does not have.
  virtual Result<std::unique_ptr<Retrieval>> retrieve(std::span<const std::uint64_t> positions,
                                                      const RetrieveOptions& options, Rng rng) const = 0;
  virtual Result<std::unique_ptr<Retrieval>> retrieve(std::span<const std::string> keys,
                                                      const RetrieveOptions& options, Rng rng) const = 0;
};

/// The code of an error that a server reported, as far as clients believe it. OutOfRange means "no such
/// record" to callers. Only the client can find that out, so a server's OutOfRange becomes Unavailable.
/// InvalidArgument is for callers' mistakes, and becomes DataLoss.
ErrorCode code_of_server(const Error& error) noexcept;

/// The most records or keys in one retrieval. By default servers take fewer in a message.
inline constexpr std::size_t kMaxWishes = 4096;
/// InvalidArgument: no wish or too many.
Result<void> check_wishes(std::size_t wishes);
/// Whether to trust records that nothing proves: what `believe` says or, without it, whether no record is
/// missing.
bool speaks_for(const Believe& believe, const Records& records);
/// InvalidArgument: options for several servers.
Result<void> check_one_server(const RetrieveOptions& options);

}  // namespace pirx
