// A private audit: fetches the proof of one certificate from servers of which any t learn nothing, checks it
// against the signed tree head, and says what came of it. The network is the caller's, so that tests can lie.
#pragma once

#include <optional>

#include "certificate.h"
#include "pirx/itpir/client.h"
#include "proof_record.h"
#include "servers.h"

namespace pirx::ct {

/// The client of a database of proofs. StaleEpoch: the servers hold another database than the tree head is
/// about. DataLoss: records of another length than the head's proofs. InvalidArgument: what
/// itpir::Params::create refuses.
Result<itpir::Client> make_client(const Publication& publication, const Servers& servers,
                                  bool seeded = false);

enum class Verdict : std::uint8_t {
  kIncluded,  ///< the proof leads to the signed root: true whatever servers do
  kAbsent,  ///< the database has no proof of this certificate: true unless more than proof_bound servers lied
  kForged,  ///< the database has a proof, and it is wrong
  kUndecided,  ///< no proof came, and too few servers answered to know that there is none
};

struct AuditOptions {
  /// Position of the proof, from the web server; nothing: by the certificate's fingerprint, from a keyed
  /// database.
  std::optional<std::uint64_t> index = {};
  std::chrono::milliseconds deadline{10'000};  ///< of each round
  bool wait_for_all = false;
  unsigned rounds = 4;
};

struct ServerAccount {
  itpir::ServerStatus status = itpir::ServerStatus::kSilent;
  bool abandoned = false;  ///< not waited for: enough had answered
  std::string error;
  double milliseconds = 0;
  std::uint64_t bytes_up = 0, bytes_down = 0;
};

struct Audit {
  Verdict verdict = Verdict::kUndecided;
  Inclusion inclusion;  ///< kIncluded
  std::string reason;   ///< kForged: what is wrong with the proof
  itpir::Certainty certainty = itpir::Certainty::kUnverified;
  unsigned proof_bound = 0, responders = 0, rounds = 0;
  std::vector<ServerAccount> servers;
  std::uint64_t request_bytes = 0;  ///< of one query to one server, the same for every certificate
};

/// Sends requests[i] to server i, all at once: net::HttpTransport::query_all, or a test.
using Ask = std::function<std::vector<net::CallOutcome>(const std::vector<Bytes>& requests,
                                                        const net::CallOptions& options,
                                                        const net::HttpTransport::OnSettled& on_settled)>;

/// What is sent, to whom and how often depends on the certificate in nothing: not on whether it is in the
/// log, nor on what its proof says. `publication` has been verified. Errors of itpir::Client and
/// ReplyCollector: StaleEpoch, Undecodable (too few replies, or too many wrong ones; the message lists every
/// server), DataLoss; InvalidArgument: an index for a keyed database, or none for another.
Result<Audit> audit(const Publication& publication, const Certificate& certificate,
                    const itpir::Client& client, const Ask& ask, Rng& rng, const AuditOptions& options);

}  // namespace pirx::ct
