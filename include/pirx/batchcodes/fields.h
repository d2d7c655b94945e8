// SPDX-License-Identifier: Apache-2.0
// The fields in which shares are made and databases encoded: by tag, by name, and how long messages over them
// are. This is the only place that turns a FieldTag into a field.
#pragma once

#include <type_traits>

#include "pirx/base/field.h"
#include "pirx/database/geometry.h"
#include "pirx/fp/prime_field.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"

namespace pirx::batchcodes {

/// visit(f) with the field that `tag` names; `visit` takes any of them and always returns the same Result<T>.
/// InvalidArgument: the field is unknown, or has too few elements for two servers.
template <class Visitor>
auto with_field(const FieldTag& tag, Visitor&& visit) -> std::invoke_result_t<Visitor, const gf2e::Gf2_8&> {
  if (tag == kTagGf2_8) return visit(gf2e::Gf2_8{});
  if (tag == kTagGf2_16) return visit(gf2e::Gf2_16{});
  if (tag == kTagW160) return visit(fp::W160{});
  if (tag == kTagW48) return visit(fp::W48{});
  if (tag.kind == FieldKind::kPrime) {
    // PrimeField computes in all prime fields, but slowly: it is for those that have no kernels.
    if (tag.bits > 1 && !tag.name().starts_with("prime")) {
      return fail(ErrorCode::kInternal, "with_field() has no line for " + tag.name());
    }
    PIRX_ASSIGN(const fp::PrimeField f, fp::PrimeField::create(tag));
    return visit(f);
  }
  if (tag == kTagGf2) {
    return invalid(
        "gf2 has a single non-zero element, so it cannot tell servers apart: use gf2_8, gf2_16, w160, "
        "w48 or another prime field");
  }
  return invalid("no field " + tag.name() + " here: use gf2_8, gf2_16, w160, w48 or another prime field");
}

/// The field with that name: gf2, gf2_8, gf2_16, w160, w48 or prime<bits of a word>. InvalidArgument lists
/// them.
Result<FieldTag> field_by_name(const std::string& name);

/// The bytes before the values in the messages of protocols with several servers (docs/wire_format.md,
/// section 2).
inline constexpr std::size_t kMessageHeaderBytes = 80;

/// The bytes of a query or reply: the header, and `queries` x `length` values of each_bytes. 2^64 - 1 on
/// overflow.
std::uint64_t message_bytes(std::uint64_t queries, std::uint64_t length, std::uint64_t each_bytes) noexcept;

/// On input the bytes of a request and of a reply for a single record. InvalidArgument: one exceeds
/// kMaxMessageBytes.
Result<void> check_message_sizes(std::uint64_t request, std::uint64_t reply);

/// InvalidArgument: a query vector of `rows` elements or a row of `geometry` exceeds kMaxMessageBytes, or the
/// geometry is keyed and the field's characteristic is not 2.
Result<void> check_message_sizes(const FieldTag& field, std::uint64_t rows,
                                 const database::Geometry& geometry);

}  // namespace pirx::batchcodes
