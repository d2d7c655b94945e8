// The one virtual interface of pirx: a server half of any protocol, as the network and the registry see it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pirx/base/bytes.h"

namespace pirx {

/// On the wire. New protocols take the next number; numbers are never reused.
enum class ProtocolId : std::uint8_t {
  kGoldberg = 1,
  kChor = 2,
  kDamgardJurikTree = 3,
  kQuadraticResiduosity = 4,
  kSpiral = 5
};

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
  /// Queries that a request holds (its share of a batch), after a full check of its header and exact length,
  /// cheaply. InvalidArgument, StaleEpoch.
  virtual Result<std::size_t> admit(ByteSpan request) const = 0;
  /// One result per request, in order. A bad request fails alone.
  virtual std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const = 0;
  /// The same for requests from `senders`, one for each, as the transport tells clients apart; an empty name
  /// where it cannot. For protocols that keep something for clients, to share room fairly.
  virtual std::vector<Result<Bytes>> answer_from(
      std::span<const ByteSpan> requests, [[maybe_unused]] std::span<const std::string_view> senders) const {
    return answer(requests);
  }
};

/// What a protocol needs to open its server half.
struct ServerSpec {
  std::string database_path;
  int threads = 0;  ///< 0: all
  std::map<std::string, std::string>
      options;  ///< protocol's own, e.g. field, coordinate; unknown names are refused
  /// Told, in lines for people, what opening did beside opening; may be empty.
  std::function<void(const std::string&)> note = nullptr;
  /// Told, again and again and from any thread, which part of the answer under way is done, 0 to 1, by
  /// protocols whose answers take seconds; may be empty.
  std::function<void(double)> progress = nullptr;
};

/// Protocol names to the functions that open their server halves.
class Registry {
 public:
  using Open = std::function<Result<std::unique_ptr<AnyServer>>(const ServerSpec&)>;
  struct Entry {
    std::string name;     ///< "goldberg"
    std::string summary;  ///< one line for --help
    Open open;
  };
  /// A second entry of the same name is a broken contract.
  void add(Entry entry);
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// InvalidArgument lists the names that exist.
  Result<std::unique_ptr<AnyServer>> open(const std::string& name, const ServerSpec& spec) const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace pirx
