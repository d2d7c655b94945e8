// SPDX-License-Identifier: Apache-2.0
// The client half of vertical codes.
#include "pirx/itpir/vertical.h"

#include <algorithm>

#include "client_messages.h"

namespace pirx::itpir {

Result<VerticalClient> VerticalClient::create(const std::string& code, const database::Geometry& plain,
                                              const database::Version& version, const MakeClient& make,
                                              const ClientOptions& options) {
  PIRX_ASSIGN(auto layout, VerticalLayout::create(code, plain, version));
  PIRX_ASSIGN(auto client, make(layout.bucket, layout.version, options));
  return VerticalClient(std::move(layout), std::move(client));
}

Result<std::size_t> VerticalClient::batches(std::size_t records) const {
  const std::size_t m = layout_.code->buckets(), q = layout_.code->batch();
  if (records == 0) return invalid("a query needs at least one record to ask for");
  const std::size_t batches = div_up(records, q);
  if (batches > kMaxQueriesPerRequest / m) {
    return invalid(std::to_string(records) + " records in one request are too many: at most " +
                   std::to_string(kMaxQueriesPerRequest / m * q) + " with this code, ask in several");
  }
  return batches;
}

Result<void> VerticalClient::plan_batch(Wish& wish, std::size_t batch, std::span<const std::uint64_t> blocks,
                                        std::size_t& work) const {
  const std::size_t m = layout_.code->buckets();
  PIRX_ASSIGN(auto plan, layout_.code->plan(layout_.plain.rows(), blocks, work));
  for (std::size_t b = 0; b < m; ++b) wish.rows_.expose()[batch * m + b] = plan.row(b);
  wish.plans_[batch] = std::move(plan);
  return {};
}

Result<VerticalClient::Wish> VerticalClient::plan(std::span<const std::uint64_t> records) const {
  const std::size_t q = layout_.code->batch();
  PIRX_ASSIGN(const auto batches, this->batches(records.size()));
  Wish wish(SecretVector<std::uint64_t>(records), batches, layout_.code->buckets());
  SecretVector<std::uint64_t> wanted(records.size());
  for (std::size_t k = 0; k < records.size(); ++k) {
    PIRX_ASSIGN(const auto location, layout_.plain.locate(records[k]));
    wanted.expose()[k] = location.row;
  }
  // For all batches together: the time depends on what is wanted, and servers may see it.
  std::size_t work = batchcodes::VerticalCode::kMaxWork;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    const auto blocks =
        std::as_const(wanted).expose().subspan(batch * q, std::min(q, records.size() - batch * q));
    PIRX_TRY(plan_batch(wish, batch, blocks, work));
  }
  return wish;
}

Result<VerticalClient::Wish> VerticalClient::stand_in(std::size_t records) const {
  PIRX_ASSIGN(const auto batches, this->batches(records));
  Wish wish(SecretVector<std::uint64_t>(1), batches, layout_.code->buckets());
  constexpr std::uint64_t kFirst[] = {0};
  std::size_t work = batchcodes::VerticalCode::kMaxWork;
  PIRX_TRY(plan_batch(wish, 0, kFirst, work));
  return wish;
}

Result<Records> VerticalClient::records(const Wish& wish, std::span<const Bytes> rows) const {
  const auto& geometry = layout_.plain;
  const std::size_t m = layout_.code->buckets(), q = layout_.code->batch();
  const auto row_bytes = static_cast<std::size_t>(geometry.row_bytes());
  PIRX_CHECK(rows.size() == wish.rows_.size());
  // A wanted row is the sum of the answers that serve it.
  SecretVector<std::byte> blocks(wish.records_.size() * row_bytes);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& use = wish.plans_[i / m].uses()[i % m];
    if (use.wanted == batchcodes::VerticalPlan::kBlank) continue;
    PIRX_CHECK(rows[i].size() == row_bytes);
    const auto block = blocks.expose().subspan((i / m * q + use.wanted) * row_bytes, row_bytes);
    for (std::size_t c = 0; c < row_bytes; ++c) block[c] ^= rows[i][c];
  }
  return read_records(geometry, wish.records_.expose(), blocks.expose());
}

}  // namespace pirx::itpir
