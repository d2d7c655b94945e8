// SPDX-License-Identifier: Apache-2.0
// A private audit: fetches the proof of one certificate from servers of which any t learn nothing, checks it
// against the signed tree head, and reports the result.
#pragma once

#include <optional>

#include "certificate.h"
#include "pirx/client/fetch.h"
#include "proof_record.h"

namespace pirx::ct {

/// A client of the database of proofs at `deployment`'s servers. StaleEpoch: they hold another database than
/// the tree head is about. DataLoss: records of another length than the head's proofs, or another shape.
/// InvalidArgument: a protocol with one server, or a batch code. `ask` as of client::Fetcher::create.
Result<client::Fetcher> make_client(const Publication& publication, const client::Deployment& deployment,
                                    bool seeded = false, client::Ask ask = {});
/// Plain copies of the database behind these URLs, at coordinates 1, 2, ... InvalidArgument: what
/// itpir::goldberg::Params::create refuses, and a server listed twice.
Result<client::Deployment> make_deployment(const Publication& publication,
                                           const std::vector<std::string>& urls, unsigned threshold);

enum class Verdict : std::uint8_t {
  kIncluded,  ///< the proof leads to the signed root: true whatever servers do
  kAbsent,  ///< the database has no proof of this certificate: true unless more than proof_bound servers lied
  kForged,  ///< the database has a proof, and it is wrong: true unless more than proof_bound servers lied
  kUndecided,  ///< no proof or a wrong one came, and one liar could have done it
};

struct AuditOptions {
  /// Position of the proof, from the web server; nothing: by the certificate's fingerprint, from a keyed
  /// database.
  std::optional<std::uint64_t> index = {};
  std::chrono::milliseconds deadline{10'000};  ///< of each round
  bool wait_for_all = false;
  unsigned rounds = 4;
};

struct Audit {
  Verdict verdict = Verdict::kUndecided;
  Inclusion inclusion;  ///< kIncluded
  std::string reason;   ///< what is wrong with the proof, if one came
  Certainty certainty = Certainty::kUnverified;
  unsigned proof_bound = 0, responders = 0, rounds = 0;
  std::vector<client::ServerOutcome> servers;
  std::uint64_t request_bytes = 0;  ///< of one query to one server, the same for every certificate
};

/// What is sent, to whom and how often depends on the certificate in nothing: not on whether it is in the
/// log, nor on what its proof says. `publication` has been verified. Errors of client::Fetcher: StaleEpoch,
/// Undecodable (too few replies, or too many wrong ones; the message lists every server), DataLoss;
/// InvalidArgument: an index for a keyed database, or none for another.
Result<Audit> audit(const Publication& publication, const Certificate& certificate, client::Fetcher& fetcher,
                    const AuditOptions& options);

}  // namespace pirx::ct
