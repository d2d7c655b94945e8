// SPDX-License-Identifier: Apache-2.0
// Vertical batch codes (pirx/batchcodes/vertical.h) over the wire. Every server holds all m buckets, a
// request holds one query for each of them, and one round fetches up to q records. Each bucket is a database
// of rows like any other, so any protocol of this folder can answer for it.
#pragma once

#include "pirx/itpir/client_interface.h"
#include "pirx/itpir/vertical_layout.h"

namespace pirx::itpir {

/// Turns wanted records into rows to ask the buckets for, and the answers into records. It works over any
/// client: ask client() for wish.rows(), in their order, and give the answers to records().
class VerticalClient {
 public:
  /// A plan for the wanted records. Secret; wiped on destruction.
  class Wish {
   public:
    /// m rows for each batch of records, a partial batch included: query i goes to bucket i mod m. The number
    /// of rows depends on the number of records only.
    std::span<const std::uint64_t> rows() const noexcept { return rows_.expose(); }

   private:
    friend class VerticalClient;
    Wish(SecretVector<std::uint64_t> records, std::size_t batches, std::size_t buckets)
        : records_(std::move(records)), rows_(batches * buckets) {
      for (std::size_t i = 0; i < batches; ++i) plans_.emplace_back(buckets, 0);
    }
    SecretVector<std::uint64_t> records_, rows_;
    std::vector<batchcodes::VerticalPlan> plans_;
  };

  /// `plain` and `version` are those of the database; `make` makes the client for the buckets. Errors of
  /// VerticalLayout::create and of `make`.
  static Result<VerticalClient> create(const std::string& code, const database::Geometry& plain,
                                       const database::Version& version, const MakeClient& make,
                                       const ClientOptions& options = {});

  /// The client for the buckets. Its answers are rows.
  const SharesClient& client() const noexcept { return *client_; }
  const VerticalLayout& layout() const noexcept { return layout_; }

  /// Plans a wish. A record may be wanted twice. OutOfRange: there is no such record. InvalidArgument: there
  /// are none, there are too many for a request, or (only subset codes) no way was found for these. Nothing
  /// has been sent then, but if the client visibly asks in another way instead, servers learn something. Time
  /// and addresses depend on the records; all batches together may take VerticalCode::kMaxWork.
  Result<Wish> plan(std::span<const std::uint64_t> records) const;

  /// A wish that servers cannot tell from one for so many records: for record 0, and otherwise blank. Errors
  /// as plan(), but there always is a way.
  Result<Wish> stand_in(std::size_t records) const;

  /// The records, from the answers to rows(), for DecodeOptions::read. It checks digests if the records have
  /// any. DataLoss: a length, padding or digest is wrong.
  Result<Records> records(const Wish& wish, std::span<const Bytes> rows) const;

 private:
  VerticalClient(VerticalLayout layout, std::shared_ptr<const SharesClient> client)
      : layout_(std::move(layout)), client_(std::move(client)) {}
  Result<std::size_t> batches(std::size_t records) const;
  Result<void> plan_batch(Wish& wish, std::size_t batch, std::span<const std::uint64_t> blocks,
                          std::size_t& work) const;
  VerticalLayout layout_;
  std::shared_ptr<const SharesClient> client_;
};

}  // namespace pirx::itpir
