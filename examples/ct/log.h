// SPDX-License-Identifier: Apache-2.0
// A log in a folder: its key, its entries, its signed tree head; and the databases of inclusion proofs made
// from it. One process at a time may change a log. It keeps hashes of the certificates, not the certificates.
#pragma once

#include <functional>

#include "certificate.h"
#include "merkle.h"
#include "proof_record.h"

namespace pirx::ct {

/// What the file `entries` holds for each leaf, in order: 80 bytes, little-endian, and the first 8 of their
/// SHA-256.
struct Entry {
  Digest fingerprint{}, leaf{};
  std::uint64_t timestamp = 0;  ///< milliseconds since 1970
  std::uint64_t not_after = 0;  ///< seconds since 1970
};

struct DatabaseOptions {
  /// Hashes of a proof that are fetched in private; what lies above is public, 32 bytes for each 2^levels
  /// leaves. As many as the tree is high (22 for 2^22 leaves): the paper's database.
  unsigned levels = 12;
  /// Records at the positions of their leaves, which web servers tell their clients (paper 000 section 4.3),
  /// in place of a keyed database. A database that is there is updated: only what the log's growth changed is
  /// written.
  bool by_index = false;
  /// Leaves out certificates that had expired at that time, in seconds since 1970; keyed databases only.
  std::optional<std::uint64_t> unexpired_at = {};
};

struct DatabaseReport {
  std::uint64_t records = 0, left_out = 0;  ///< left_out: expired
  std::uint64_t changed = 0;  ///< records written; fewer than all only where a database was updated
  std::uint64_t file_bytes = 0;
  Publication publication;
};

class Log {
 public:
  /// A new log with a key of its own and no entries: folder/{key.pem,public.pem,entries}. Unavailable;
  /// InvalidArgument when the folder holds anything but what a call that was cut short left.
  static Result<void> create(const std::filesystem::path& folder);
  /// Checks that the entries are undamaged and make the tree head. Unavailable, DataLoss; Unauthenticated: a
  /// head that another key signed.
  static Result<Log> open(const std::filesystem::path& folder);

  /// Of the latest signed tree head; size 0 and no signature before the first.
  const TreeHead& head() const noexcept { return head_; }

  struct Appended {
    std::uint64_t added = 0, known = 0;  ///< known: certificates that the log has already
  };
  /// Appends these certificates, then generated ones until there are `fill` leaves, and signs a new tree
  /// head. All or nothing: entries count once a head over them is written. `now` in milliseconds since 1970
  /// must not lie before the last head's. Unavailable while another process appends, and after it.
  Result<Appended> append(std::span<const Certificate> certificates, std::uint64_t fill, std::uint64_t now);

  /// Calls visit(index, entry) for every entry until it returns an error. DataLoss: an entry is damaged
  /// (before it is visited), or the entries do not make the tree head any more (afterwards).
  Result<void> for_each(
      const std::function<Result<void>(std::uint64_t index, const Entry& entry)>& visit) const;
  /// The whole tree in memory, 64 bytes a leaf. InvalidArgument without entries.
  Result<MerkleTree> tree() const;
  /// Where the certificate is, for web servers that tell their clients. Nothing when it is not in the log.
  Result<std::optional<std::uint64_t>> find(const Digest& fingerprint) const;

  /// Builds or updates the database of proofs at `target` for the latest head, in a stream: memory for
  /// 2^levels leaves, beside what DatabaseBuilder takes. An older database is replaced under the next epoch.
  /// InvalidArgument: no entries, levels above kMaxLevels, a target that is another file, or a database of
  /// another kind or with other levels where it is to be updated.
  Result<DatabaseReport> build_database(const std::filesystem::path& target,
                                        const DatabaseOptions& options) const;

  /// What clients need of the latest head and a database by index of its proofs. StaleEpoch: it has another
  /// number of records. InvalidArgument: a keyed database, or records of no proof's length.
  /// With `unchecked` a keyed database is taken for one of the latest head's tree.
  Result<Publication> publish(const std::filesystem::path& database, bool unchecked = false) const;

 private:
  Log(std::filesystem::path folder, TreeHead head) : folder_(std::move(folder)), head_(std::move(head)) {}
  std::filesystem::path folder_;
  TreeHead head_;
};

}  // namespace pirx::ct
