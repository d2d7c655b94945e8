// SPDX-License-Identifier: Apache-2.0
// A small deployment of every protocol, in memory: the servers over one database, and a client. Protocols
// with large numbers have toy ones here, so that an input takes milliseconds.
#pragma once

#include <memory>
#include <utility>

#include "fuzz.h"
#include "pirx/database/database.h"
#include "pirx/protocol.h"

namespace pirx::fuzz {

enum class Room {
  kGoldberg,
  kGoldbergKeyed,
  kGoldbergW160,
  kGoldbergW48,
  kGoldbergCode,     ///< the buckets of a batch code
  kGoldbergEncoded,  ///< a bucket of the database a server
  kChor,
  kChorCode,
  kPoints,
  kPointsKeyed,
  kTree,
  kTreePolynomial,
  kResidues,
  kSpiral,
  kInspire,       ///< a client that has the masks
  kInspireMasks,  ///< a client that has to fetch them first
  kDownload,
  kDownloadKeyed
};

/// The records of all databases: so many, with these bytes and keys.
inline constexpr std::uint64_t kRecords = 40;
Bytes record(std::uint64_t i);
std::string key(std::uint64_t i);
/// A database of them with one of the two kinds of keys, or a bucket of it; made once.
enum class Kind { kPlain, kIndexed, kKeyed, kFixed, kBucket };
std::filesystem::path database_file(Kind kind);

class World {
 public:
  /// Made at the first call. Fixed coins start anew with every call.
  static const World& of(Room room);

  std::size_t servers() const { return servers_.size(); }
  const AnyServer& server(std::size_t i) const { return *servers_[i]; }
  /// Not of toys.
  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  /// Looks up `kWanted`, as keys in a keyed database.
  static constexpr std::uint64_t kWanted[] = {3, 17};
  Result<std::unique_ptr<Retrieval>> begin(const RetrieveOptions& options = {}) const;
  /// The honest reply of a server.
  Bytes reply(std::size_t server, ByteSpan request) const;
  /// A request to the first server and its reply, always the same.
  const std::pair<Bytes, Bytes>& honest() const { return honest_; }
  /// The first requests of begin(), with coins that start anew.
  std::vector<Message> requests() const;

 private:
  explicit World(Room room);
  bool keyed_ = false;
  bool forgets_ = false;  ///< every retrieval has a new client; the earlier one ends
  std::vector<std::unique_ptr<AnyServer>> servers_;
  std::shared_ptr<const Plan> plan_;
  mutable std::unique_ptr<AnyClient> client_;
  std::pair<Bytes, Bytes> honest_;
};

}  // namespace pirx::fuzz
