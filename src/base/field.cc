// SPDX-License-Identifier: Apache-2.0
// FieldTag: its name and its form on the wire.
#include "pirx/base/field.h"

namespace pirx {
namespace {

struct Named {
  FieldTag tag;
  const char* name;
};
constexpr Named kNamed[] = {
    {kTagGf2, "gf2"}, {kTagGf2_8, "gf2_8"}, {kTagGf2_16, "gf2_16"}, {kTagW160, "w160"}, {kTagW48, "w48"},
};

}  // namespace

std::string FieldTag::name() const {
  for (const auto& named : kNamed) {
    if (named.tag == *this) return named.name;
  }
  if (kind == FieldKind::kPrime && bits > 1) return "prime" + std::to_string(bits - 1);
  return std::to_string(static_cast<unsigned>(kind)) + "/" + std::to_string(bits) + "/" + std::to_string(low);
}

void FieldTag::encode(Writer& writer) const {
  writer.put(static_cast<std::uint8_t>(kind));
  writer.put(std::uint8_t{0});
  writer.put(bits);
  writer.put(low);
}

Result<FieldTag> FieldTag::decode(Reader& reader) {
  PIRX_ASSIGN(const auto kind, reader.get<std::uint8_t>());
  PIRX_ASSIGN(const auto zero, reader.get<std::uint8_t>());
  PIRX_ASSIGN(const auto bits, reader.get<std::uint16_t>());
  PIRX_ASSIGN(const auto low, reader.get<std::uint32_t>());
  if ((kind != 1 && kind != 2) || zero != 0 || bits == 0) {
    return fail(ErrorCode::kDataLoss, "a field tag is malformed");
  }
  return FieldTag{static_cast<FieldKind>(kind), bits, low};
}

}  // namespace pirx
