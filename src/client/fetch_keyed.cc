// Fetching by key: the sums of three rows each, and what they say.
#include <algorithm>

#include "pirx/client/fetch.h"
#include "pirx/database/key_filter.h"

namespace pirx::client {

Result<FetchReport> Fetcher::fetch_keys(std::span<const std::string> keys, const FetchOptions& options) {
  PIRX_ASSIGN(const auto filter, database::KeyFilter::create(client_.params().geometry()));
  SecretVector<std::array<std::uint64_t, itpir::kSummedRows>> rows(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) rows.expose()[i] = filter.place(keys[i]).rows;

  // The check must not refuse a missing key that the replies agree on, nor take one for the truth where they
  // do not: there, liars' sums look like missing keys.
  bool agreed = false;
  const auto check = [&](std::span<const Bytes> sums) {
    if (agreed) return true;
    std::vector<std::optional<Bytes>> records;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      auto record = filter.read(keys[i], sums[i]);
      if (!record) return false;
      records.push_back(std::move(*record));
    }
    if (options.believe) return options.believe(records);
    return std::all_of(records.begin(), records.end(), [](const auto& record) { return record.has_value(); });
  };
  const auto query = [&] { return client_.query_sums(std::as_const(rows).expose(), rng_); };
  PIRX_ASSIGN(auto report,
              run({keys.size(), itpir::QueryKind::kRowSums, query, check, [&] { agreed = true; }}, options));
  auto& answer = report.answer;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    PIRX_ASSIGN(std::optional<Bytes> record, filter.read(keys[i], answer.records[i]));
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
