// The fields of Goldberg's protocol, and the one place that turns a FieldTag into a field.
#pragma once

#include <type_traits>

#include "pirx/base/field.h"
#include "pirx/fp/prime_field.h"
#include "pirx/fp/w160.h"
#include "pirx/fp/w48.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"

namespace pirx::itpir {

/// visit(f) with the field that `tag` names; `visit` takes any of them and always returns the same Result<T>.
/// InvalidArgument for a field that is unknown or has too few elements for two servers.
template <class Visitor>
auto with_field(const FieldTag& tag, Visitor&& visit) -> std::invoke_result_t<Visitor, const gf2e::Gf2_8&> {
  if (tag == kTagGf2_8) return visit(gf2e::Gf2_8{});
  if (tag == kTagGf2_16) return visit(gf2e::Gf2_16{});
  if (tag == kTagW160) return visit(fp::W160{});
  if (tag == kTagW48) return visit(fp::W48{});
  if (tag.kind == FieldKind::kPrime) {
    PIRX_ASSIGN(const fp::PrimeField f, fp::PrimeField::create(tag));
    return visit(f);
  }
  if (tag == kTagGf2) {
    return fail(
        ErrorCode::kInvalidArgument,
        "gf2 has a single non-zero element, so it cannot tell servers apart: use gf2_8, gf2_16, w160, "
        "w48 or another prime field");
  }
  return fail(ErrorCode::kInvalidArgument,
              "no field " + tag.name() + " here: use gf2_8, gf2_16, w160, w48 or another prime field");
}

}  // namespace pirx::itpir
