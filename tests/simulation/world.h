// SPDX-License-Identifier: Apache-2.0
// The servers of a deployment over three databases, and the plans of clients: what a simulation is about.
#pragma once

#include <array>
#include <memory>
#include <set>

#include "pirx/client/deployment.h"
#include "pirx/protocol.h"
#include "support/files.h"

namespace pirx::simulation {

/// Which database: epoch 1, epoch 2, and epoch 1 with other records in all places.
enum Content : unsigned { kOld, kNew, kOther };
inline constexpr unsigned kContents = 3;

/// A protocol with its parameters.
struct Setting {
  const Protocol* protocol = nullptr;
  bool keyed = false;
  unsigned servers = 1, threshold = 1;
  std::string field = {};  ///< empty: the protocol has no such option
  bool seeded = false;
  std::string code = {};  ///< a batch code; empty: none
  unsigned arity = 1;     ///< above 1: each server has its bucket of a u-ary encoding
  unsigned needed = 1;    ///< replies that decide, if all are honest
  std::string name() const;
};
/// Settings of every protocol in the table.
std::vector<Setting> settings();

class World {
 public:
  explicit World(Setting setting);
  const Setting& setting() const { return setting_; }
  std::uint64_t records() const { return records_; }
  /// The server at this position of the deployment, over that database.
  const AnyServer& server(std::size_t i, Content content) const { return *servers_[content][i]; }
  const std::shared_ptr<const Plan>& plan(Content content) const { return plans_[content]; }
  Content content_of(const database::Version& version) const;
  client::Deployment deployment(Content content) const;
  Texts client_options() const;
  Bytes record(Content content, std::uint64_t i) const;
  std::string key(std::uint64_t i) const { return "key" + std::to_string(i); }
  Result<std::unique_ptr<AnyClient>> join(Content content) const;
  Result<std::unique_ptr<Retrieval>> begin(const AnyClient& client, const std::vector<std::uint64_t>& wanted,
                                           const RetrieveOptions& options) const;
  /// Whether all clients send this piece of a request (ledger_pieces), so that it holds no coin.
  bool is_public(std::uint64_t piece) const { return public_.contains(piece); }
  /// A request of another client to server i: the first that it sent.
  const Bytes& foreign_request(std::size_t i) const { return foreign_[i]; }
  /// The database's file, for damage.
  const Bytes& file() const { return file_; }
  /// A rough cost of one retrieval, in seconds.
  double seconds() const;

 private:
  void learn_what_is_public();
  const Setting setting_;
  const std::uint64_t records_;
  testing::TemporaryFolder folder_{testing::TemporaryFolder::kMemory};
  std::array<std::vector<std::unique_ptr<AnyServer>>, kContents> servers_;
  std::array<std::shared_ptr<const Plan>, kContents> plans_;
  std::set<std::uint64_t> public_;
  std::vector<Bytes> foreign_;
  Bytes file_;
};

/// Fingerprints of the pieces of a request, none of which may be sent to that server twice: with several
/// servers every 16 bytes behind the header, else the whole message. None of messages that are no queries.
std::vector<std::uint64_t> ledger_pieces(const Protocol& protocol, std::size_t server, ByteSpan request);

/// Stops the program: the simulation itself is broken.
void require(bool condition, const std::string& what);

}  // namespace pirx::simulation
