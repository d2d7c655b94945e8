// SPDX-License-Identifier: Apache-2.0
// Privacy by enumeration over a grid: every field of 3 to 7 elements, up to five servers, up to three of
// which collude, up to four rows, one or two wishes, blinded or not, seeded or not, ramp and u-ary encodings,
// sums; all of it that is small enough. t servers learn nothing; t + 1 do, which shows that the test can
// fail.
#include "privacy_case.h"

namespace pirx::itpir::goldberg {
namespace {

using pirx::testing::TinyGf4;
using pirx::testing::TinyPrime;
using testing::Case;

constexpr std::uint64_t kMaxQueries = 2500;  ///< of a configuration
constexpr unsigned kLeast = 200;             ///< configurations in all

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  while (exponent-- > 0 && result <= (std::uint64_t{1} << 32)) result *= base;
  return result;
}

/// Whether the encoding exists, few enough queries cover it, and its views are few enough to count or so many
/// that they are listed.
template <class F>
bool fits(const Case<F>& shape) {
  const F f;
  const auto size = f.size_limit();
  if (shape.l >= size || shape.t >= shape.l) return false;
  Params::Spec spec{
      f.tag(), database::Geometry::create({shape.rows, 1, 1, false, false}).value(), {}, {}, shape.t};
  spec.ramp = shape.ramp;
  spec.arity = shape.arity;
  spec.modulus = shape.modulus;
  for (unsigned j = 1; j <= shape.l; ++j) spec.coordinates.push_back(shape.modulus == 0 ? j : size - j);
  const auto encoding = batchcodes::Encoding::create(spec.encoding());
  // As many servers as t + 1 must be able to decode something.
  if (!encoding || encoding->degree() >= shape.l) return false;
  const auto vectors = query_vectors(*encoding, spec.geometry, shape.kind, shape.queries);
  const auto R = encoding->rows(shape.rows);
  const auto coins = (shape.t * R + (shape.blinding == Blinding::kOn ? shape.l : 0)) * vectors;
  const auto wishes =
      power(shape.rows, shape.queries * (shape.kind == QueryKind::kRowSums ? kSummedRows : 1));
  for (const unsigned group : {shape.t, shape.t + 1}) {
    const auto views = power(size, group * R * vectors);
    if (views > 100'000 && views <= (1u << 23)) return false;
  }
  return power(size, coins) * wishes <= kMaxQueries;
}

/// The configurations that were checked.
template <class F>
unsigned check_grid() {
  unsigned checked = 0;
  const auto check = [&](const Case<F>& shape) {
    if (!fits(shape)) return;
    SCOPED_TRACE("|F|=" + std::to_string(F().size_limit()) + " l=" + std::to_string(shape.l) +
                 " t=" + std::to_string(shape.t) + " rows=" + std::to_string(shape.rows) +
                 " wishes=" + std::to_string(shape.queries) + " q=" + std::to_string(shape.ramp) +
                 " u=" + std::to_string(shape.arity) + (shape.blinding == Blinding::kOn ? " blinded" : "") +
                 (shape.seeded ? " seeded" : "") + (shape.kind == QueryKind::kRowSums ? " sums" : ""));
    EXPECT_TRUE(shape.private_against(shape.t));
    // t + 1 servers have nothing to tell apart if there is one row. Nor can they where a share is one element
    // times a secret factor: whether it is zero is all that shows, and that is as likely for every row.
    const bool one_element = (shape.rows + shape.arity - 1) / shape.arity == 1;
    const bool alike = shape.rows == 1 || (one_element && shape.blinding == Blinding::kOn);
    EXPECT_EQ(shape.private_against(shape.t + 1), alike);
    ++checked;
  };
  for (unsigned l = 2; l <= 5; ++l) {
    for (unsigned t = 1; t <= 3; ++t) {
      for (unsigned rows = 1; rows <= 4; ++rows) {
        for (const std::size_t queries : {1u, 2u}) {
          for (const auto blinding : {Blinding::kOff, Blinding::kOn}) {
            for (const bool seeded : {false, true}) {
              for (const unsigned ramp : {1u, 2u}) {
                for (const unsigned arity : {1u, 2u}) {
                  Case<F> shape{l, t, rows, queries, 0, blinding};
                  shape.ramp = ramp;
                  shape.arity = arity;
                  shape.modulus = arity == 1 ? 0 : 2;
                  shape.seeded = seeded;
                  check(shape);
                  if (F().tag().kind != FieldKind::kBinary || queries > 1) continue;
                  shape.kind = QueryKind::kRowSums;
                  check(shape);
                }
              }
            }
          }
        }
      }
    }
  }
  return checked;
}

TEST(PrivacyGrid, NoTServersOfAnyConfigurationLearnAnything) {
  const unsigned checked = check_grid<TinyPrime<3>>() + check_grid<TinyGf4>() + check_grid<TinyPrime<5>>() +
                           check_grid<TinyPrime<7>>();
  std::printf("%u configurations\n", checked);
  RecordProperty("configurations", static_cast<int>(checked));
  EXPECT_GE(checked, kLeast);
}

}  // namespace
}  // namespace pirx::itpir::goldberg
