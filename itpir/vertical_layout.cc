// SPDX-License-Identifier: Apache-2.0
// Presents the buckets of a code as databases.
#include "pirx/itpir/vertical_layout.h"

namespace pirx::itpir {
Result<VerticalLayout> VerticalLayout::create(const std::string& code, const database::Geometry& plain,
                                              const database::Version& version) {
  PIRX_ASSIGN(auto parsed, batchcodes::vertical_code(code));
  if (parsed->buckets() > kMaxQueriesPerRequest) {
    return invalid("the code " + code + " has " + std::to_string(parsed->buckets()) +
                   " buckets, one request holds at most " + std::to_string(kMaxQueriesPerRequest) +
                   " queries: choose smaller numbers");
  }
  if (plain.keyed()) return invalid("a keyed database has no batch code: its records are sums of rows");
  PIRX_ASSIGN(auto bucket, database::Geometry::create({.records = parsed->bucket_rows(plain.rows()),
                                                       .record_bytes = plain.row_bytes(),
                                                       .records_per_row = 1,
                                                       .variable_length = false,
                                                       .digests = false}));
  // Queries made for another code must not be answered: the buckets are another database.
  Sha256 identity;
  identity.update(as_bytes("pirx vertical v1"));
  identity.update(as_bytes(code));
  identity.update(as_bytes("\n"));
  identity.update(version.identity);
  return VerticalLayout{std::move(parsed), plain, bucket, {std::move(identity).finish(), version.epoch}};
}

}  // namespace pirx::itpir
