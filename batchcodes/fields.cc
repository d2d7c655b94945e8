// SPDX-License-Identifier: Apache-2.0
// Finds fields by their names, and checks how long messages over them are.
#include "pirx/batchcodes/fields.h"

#include <algorithm>
#include <charconv>

#include "pirx/base/buffer.h"
#include "pirx/protocol.h"

namespace pirx::batchcodes {

Result<FieldTag> field_by_name(const std::string& name) {
  for (const auto& tag : {kTagGf2, kTagGf2_8, kTagGf2_16, kTagW160, kTagW48}) {
    if (tag.name() == name) return tag;
  }
  constexpr std::string_view kPrime = "prime";
  unsigned bits = 0;
  if (name.starts_with(kPrime)) {
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + kPrime.size(), end, bits);
    if (error == std::errc{} && rest == end) {
      PIRX_ASSIGN(const auto field, fp::PrimeField::create(bits));
      return field.tag();
    }
  }
  return invalid("no field is called '" + name +
                 "': there are gf2_8, gf2_16, w160, w48 and prime<bits> (as prime64)");
}

std::uint64_t message_bytes(std::uint64_t queries, std::uint64_t length, std::uint64_t each_bytes) noexcept {
  return saturated_add(saturated_mul(saturated_mul(queries, length), each_bytes), kMessageHeaderBytes);
}

Result<void> check_message_sizes(std::uint64_t request, std::uint64_t reply) {
  if (std::max(request, reply) <= kMaxMessageBytes) return {};
  return invalid("a query for a single record would take a request of " + std::to_string(request) +
                 " bytes and a reply of " + std::to_string(reply) + "; the limit is " +
                 std::to_string(kMaxMessageBytes) + ": balance the records per row or split the database");
}

Result<void> check_message_sizes(const FieldTag& field, std::uint64_t rows,
                                 const database::Geometry& geometry) {
  if (geometry.keyed() && field.kind != FieldKind::kBinary) {
    return invalid("the database is keyed: its records are sums of rows in characteristic 2, not over " +
                   field.name() + "; use gf2_8 or gf2_16, or a database that is not keyed");
  }
  return with_field(field, [&](const auto& f) {
    return check_message_sizes(message_bytes(1, rows, f.elem_bytes()),
                               message_bytes(1, geometry.words_per_row(f.word_bytes()), f.sum_bytes()));
  });
}

}  // namespace pirx::batchcodes
