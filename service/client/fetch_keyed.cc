// Fetching by key: the slots of a key's column in three rows each, added up, and what their sum says.
#include "pirx/client/fetch.h"
#include "pirx/database/key_filter.h"

namespace pirx::client {

Result<FetchReport> Fetcher::fetch_keys(std::span<const std::string> keys, const FetchOptions& options) {
  PIRX_ASSIGN(const auto filter, database::KeyFilter::create(client_.params().geometry()));
  SecretVector<std::array<std::uint64_t, itpir::kSummedRows>> rows(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) rows.expose()[i] = filter.place(keys[i]).rows;

  itpir::DecodeOptions decode;
  decode.sums = itpir::SumReader{
      [&](std::size_t i) { return filter.place(keys[i]).offset; },
      [&](std::size_t i, ByteSpan slot) {
        const auto record = filter.read_slot(keys[i], slot);
        return record && record->has_value();
      },
  };
  if (options.believe) {
    decode.evidence = [&](std::span<const Bytes> slots) {
      std::vector<std::optional<Bytes>> records;
      for (std::size_t i = 0; i < slots.size(); ++i) {
        auto record = filter.read_slot(keys[i], slots[i]);
        if (!record) return false;
        records.push_back(std::move(*record));
      }
      return options.believe(records);
    };
  }
  const auto query = [&] { return client_.query_sums(std::as_const(rows).expose(), rng_); };
  PIRX_ASSIGN(auto report, run({keys.size(), itpir::QueryKind::kRowSums, query, std::move(decode)}, options));
  auto& answer = report.answer;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    PIRX_ASSIGN(std::optional<Bytes> record, filter.read_slot(keys[i], answer.records[i]));
    if (!record) report.missing.push_back(i);
    answer.records[i] = std::move(record).value_or(Bytes());
  }
  // A fingerprint that fits is evidence; one that does not is none.
  if (!report.missing.empty() && answer.certainty == itpir::Certainty::kProbable) {
    answer.certainty = itpir::Certainty::kUnverified;
  }
  return report;
}

}  // namespace pirx::client
