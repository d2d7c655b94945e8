// SPDX-License-Identifier: Apache-2.0
// What clients of the protocols of this folder know of a deployment.
#pragma once

#include "pirx/itpir/client_interface.h"
#include "pirx/protocol.h"

namespace pirx::itpir {

class SharesPlan final : public Plan {
 public:
  struct Spec {
    const Protocol* protocol;
    database::Geometry geometry;
    database::Version version;
    std::vector<std::uint64_t> coordinates;
    unsigned threshold;
    std::string code = {};  ///< the vertical batch code of which the servers hold the buckets; empty: none
    Texts members = {};     ///< of the deployment file, beside threshold and code
    Texts server_options = {};  ///< of every server, beside coordinate and code
    std::string notes = {};     ///< further lines of the summary
    unsigned ramp = 1;          ///< rows that one vector fetches
    double server_seconds =
        1e-12;                ///< of a server's core, for a byte of the database and each query, roughly
    double pair_seconds = 0;  ///< of the client, for each pair of rows that are wanted together
    MakeClient client = {};
  };
  /// Errors of Spec::client, and of VerticalClient::create if there is a code.
  static Result<std::shared_ptr<const Plan>> create(Spec spec);

  const Protocol& protocol() const noexcept override { return *spec_.protocol; }
  const database::Geometry& geometry() const noexcept override { return spec_.geometry; }
  const database::Version& version() const noexcept override { return spec_.version; }
  Texts members() const override;
  std::vector<std::uint64_t> coordinates() const override { return spec_.coordinates; }
  Texts server_options(std::size_t server) const override;
  Work work() const override;
  std::string summary() const override;
  Result<std::unique_ptr<AnyClient>> join(const ClientSpec& spec) const override;

 private:
  SharesPlan(Spec spec, unsigned needed, MessageSizes sizes, ClientEffort effort, std::size_t batch);
  Spec spec_;
  unsigned needed_;
  MessageSizes sizes_;   ///< for as many wishes as go together, of which there are batch_
  ClientEffort effort_;  ///< likewise
  std::size_t batch_;
};

/// DataLoss: one of these members is missing.
Result<void> check_given(const Options& members, std::initializer_list<const char*> names);

/// What a parameters message says (Protocol::tell). The second is for protocols whose threshold follows from
/// the number of servers, which a server does not know.
Result<Told> tell_shares(ByteSpan parameters);
Result<Told> tell_all_but_threshold(ByteSpan parameters);

/// The client half (client_retrieval.cc).
Result<std::unique_ptr<AnyClient>> make_shares_client(const SharesPlan::Spec& spec,
                                                      const ClientOptions& options);

// Options of the rows.
inline constexpr Option kThresholdOption{"threshold", Option::Kind::kNumber, 0, kMaxServers,
                                         "So many servers together must learn nothing [1]"};
inline constexpr Option kCodeMember{"code", Option::Kind::kText, 0, 0,
                                    "Batch code of the servers' buckets: subcube:L,K or subset:L,w"};
inline constexpr Option kSharesClientOptions[] = {
    {"seeded", Option::Kind::kSwitch, 0, 0,
     "Send seeds of 32 bytes in place of t of the query vectors: less to upload, and privacy then rests on "
     "AES-256 too"},
};

}  // namespace pirx::itpir
