// Vertical batch codes (pirx/batchcodes/vertical.h) over the wire: every server holds all m buckets, a
// request holds one query for each of them, and a round fetches up to q records. Any protocol of this folder
// answers for the buckets, each of which is a database of rows like any other.
#pragma once

#include "pirx/itpir/client.h"
#include "pirx/itpir/vertical_layout.h"

namespace pirx::itpir {

/// Turns wanted records into rows to ask the buckets for, and their answers into records. Over any client
/// half: ask client() for wish.rows(), in their order, and hand what comes back to records().
class VerticalClient {
 public:
  /// Records that are wanted, planned. Secret, wiped.
  class Wish {
   public:
    /// m rows for each batch of records begun: query i goes to bucket i mod m. As many for all records.
    std::span<const std::uint64_t> rows() const noexcept { return rows_.expose(); }

   private:
    friend class VerticalClient;
    SecretVector<std::uint64_t> records_, rows_;
    std::vector<batchcodes::VerticalPlan> plans_;
  };

  /// `plain`: the deployment, with the geometry and version of the database. InvalidArgument:
  /// VerticalLayout::create, Params::create, or a deployment whose servers hold encoded databases or whose
  /// queries hold several rows (u, tau or q of a polynomial code).
  static Result<VerticalClient> create(const Params& plain, const std::string& code,
                                       const ClientOptions& options = {});

  /// Of the buckets. Its answers are rows.
  const Client& client() const noexcept { return client_; }
  const VerticalLayout& layout() const noexcept { return layout_; }

  /// The same record may be wanted twice. OutOfRange: no such record. InvalidArgument: none, too many for a
  /// request, or (subset codes alone) no way found for these; nothing has been sent then, and a client that
  /// visibly asks otherwise tells servers something. Time and addresses depend on the records.
  Result<Wish> plan(std::span<const std::uint64_t> records) const;

  /// The records, out of the answers to rows(). DataLoss where a length, padding or digest is wrong.
  Result<std::vector<Bytes>> records(const Wish& wish, std::span<const Bytes> rows) const;

  /// For DecodeOptions::check, where records have digests or the caller can check them; else empty. `wish`
  /// must outlive it.
  RecordCheck check(const Wish& wish, RecordCheck of_records = {}) const;

 private:
  VerticalClient(VerticalLayout layout, Client client)
      : layout_(std::move(layout)), client_(std::move(client)) {}
  VerticalLayout layout_;
  Client client_;
};

}  // namespace pirx::itpir
