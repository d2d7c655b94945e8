// Reads the names of fields from a command line.
#include "fields.h"

#include <charconv>

#include "pirx/itpir/common.h"

namespace pirx::itpir {

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
  return fail(
      ErrorCode::kInvalidArgument,
      "no field is called '" + name + "': there are gf2_8, gf2_16, w160, w48 and prime<bits> (as prime64)");
}

}  // namespace pirx::itpir
