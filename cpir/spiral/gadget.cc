// SPDX-License-Identifier: Apache-2.0
// Plans of digits. z/2 is added to every digit at once; this turns balanced digits into plain ones, without
// carries.
#include "gadget.h"

#include <bit>
#include <cmath>

namespace pirx::cpir::spiral {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

U64 largest_modulus(Domain domain) { return domain == Domain::kResidues ? kPrimes[0] : kModulus; }

U64 integer_power(U64 z, unsigned exponent) {
  U64 out = 1;
  for (unsigned k = 0; k < exponent; ++k) out *= z;
  return out;
}

/// The largest top digit of a number below q, and the part of it that such a number reaches.
double unsigned_top(const Gadget::Spec& spec) {
  return static_cast<double>(kModulus) / static_cast<double>(integer_power(spec.z, spec.t - 1));
}

}  // namespace

Result<Gadget> Gadget::create(Spec spec) {
  if (spec.z < 2 || spec.z > 65536) return invalid("a gadget's base is 2 to 65536");
  if (spec.domain > Domain::kUnsigned) return invalid("a gadget's domain is unknown");
  if (spec.bits != 0 && (!std::has_single_bit(spec.z) || spec.bits > 15 || spec.z >> spec.bits < 2)) {
    return invalid("bits are left out below a digit of a base that is a power of two only");
  }
  unsigned least = 0;
  for (U64 reached = U64{1} << spec.bits; reached < largest_modulus(spec.domain); ++least) {
    if (__builtin_mul_overflow(reached, U64{spec.z}, &reached)) reached = ~U64{0};
  }
  if (spec.t == 0) spec.t = least;
  if (spec.t < least) {
    return invalid(std::to_string(spec.t) + " digits of base " + std::to_string(spec.z) +
                   " do not reach q: " + std::to_string(least) + " do");
  }
  if (spec.t > kMaxDigits) return invalid("a gadget has at most " + std::to_string(kMaxDigits) + " digits");
  U64 top = U64{1} << spec.bits;
  for (unsigned k = 1; k < spec.t; ++k) {
    if (__builtin_mul_overflow(top, U64{spec.z}, &top) || top >= largest_modulus(spec.domain)) {
      return invalid(std::to_string(spec.t) + " digits of base " + std::to_string(spec.z) +
                     " are too many: the top one is always zero");
    }
  }
  if (spec.drop >= spec.t) return invalid("a gadget that leaves all digits out");
  if (spec.drop + spec.bits != 0 && spec.domain == Domain::kResidues) {
    return invalid("digits of residues cannot be left out: low ones are as important as high ones");
  }
  if (spec.drop + spec.bits != 0 && spec.domain == Domain::kUnsigned) {
    return invalid("unsigned digits are for comparisons with exact gadgets: leave none out");
  }
  // Digits are numbers of 27 bits at most.
  if (largest_modulus(spec.domain) / 2 / top + 1 >= (U64{1} << 27))
    return invalid("the top digit is too large");
  return Gadget(spec);
}

U64 Gadget::delta() const noexcept { return integer_power(spec_.z, spec_.drop) << spec_.bits; }

U32 Gadget::weight(unsigned k, unsigned prime) const noexcept {
  const unsigned each = spec_.t - spec_.drop;
  if (spec_.domain == Domain::kResidues && k / each != prime) return 0;
  const U32 q = kPrimes[prime];
  return static_cast<U32>(U64{power(spec_.z, spec_.drop + k % each, q)} * (U64{1} << spec_.bits) % q);
}

U64 Gadget::weight(unsigned k) const noexcept {
  // Garner.
  const U64 r1 = weight(k, 0), r2 = weight(k, 1), q2 = kPrimes[1];
  const U64 inverse = power(kPrimes[0], q2 - 2, kPrimes[1]);
  return r1 + kPrimes[0] * ((r2 + q2 - r1 % q2) % q2 * inverse % q2);
}

double Gadget::mean_square() const noexcept {
  const double z = spec_.z;
  const double regular = spec_.z % 2 == 1 ? (z * z - 1) / 12 : (z * z + 2) / 12;
  if (spec_.domain == Domain::kUnsigned) {
    const double mean = unsigned_top(spec_) / 2;
    return variance() + (spec_.t - 1) * (z - 1) * (z - 1) / 4 + mean * mean;
  }
  double sum = 0;
  for (unsigned part = 0; part < parts(); ++part) {
    const double modulus = spec_.domain == Domain::kResidues ? static_cast<double>(kPrimes[part])
                                                             : static_cast<double>(kModulus);
    // The top digit is x rounded, |x| <= most: 0 below 1/2, j below j + 1/2.
    const double most = modulus / static_cast<double>(integer_power(spec_.z, spec_.t - 1) << spec_.bits) / 2;
    const double n = std::floor(most + 0.5);
    const double top = n < 1 ? 0 : ((n - 1) * n * (2 * n - 1) / 6 + n * n * (most - n + 0.5)) / most;
    sum += (spec_.t - spec_.drop - 1) * regular + top;
  }
  return sum;
}

double Gadget::variance() const noexcept {
  if (spec_.domain != Domain::kUnsigned) return mean_square();
  const double z = spec_.z, top = unsigned_top(spec_);
  return (spec_.t - 1) * (z * z - 1) / 12 + top * top / 12;
}

void Gadget::encode(Writer& writer) const {
  writer.put(spec_.z);
  writer.put(spec_.t);
  writer.put(spec_.drop);
  writer.put(spec_.bits);
  writer.put(static_cast<std::uint32_t>(spec_.domain));
}

Result<Gadget> Gadget::decode(Reader& reader) {
  Spec spec;
  PIRX_ASSIGN(spec.z, reader.get<U32>());
  PIRX_ASSIGN(spec.t, reader.get<U32>());
  PIRX_ASSIGN(spec.drop, reader.get<U32>());
  PIRX_ASSIGN(spec.bits, reader.get<U32>());
  PIRX_ASSIGN(const auto domain, reader.get<U32>());
  if (domain > 2 || spec.t == 0) return fail(ErrorCode::kDataLoss, "a gadget is none");
  spec.domain = static_cast<Domain>(domain);
  return create(spec);
}

DigitPlan digit_plan(const Gadget& gadget, U64 modulus) noexcept {
  const auto& spec = gadget.spec();
  DigitPlan plan;
  plan.z = spec.z;
  plan.count = spec.t - spec.drop;
  plan.shift = std::has_single_bit(spec.z) ? static_cast<unsigned>(std::countr_zero(spec.z)) : 0;
  plan.delta = gadget.delta();
  plan.half = static_cast<std::int32_t>(spec.z / 2);
  if (spec.domain == Domain::kUnsigned) {
    plan.half = plan.top = 0;
    plan.offset = 0;
  } else {
    const U64 top = integer_power(spec.z, spec.t - 1) << spec.bits;
    plan.top = static_cast<std::int32_t>(modulus / 2 / top + 2);
    plan.offset = plan.delta / 2 + static_cast<U64>(plan.top) * top;
    for (unsigned k = spec.drop; k + 1 < spec.t; ++k) {
      plan.offset += static_cast<U64>(plan.half) * (integer_power(spec.z, k) << spec.bits);
    }
  }
  plan.chunk = 1;
  plan.chunk_base = spec.z;
  while (U64{plan.chunk_base} * spec.z < (U64{1} << 28)) {
    plan.chunk_base *= spec.z;
    ++plan.chunk;
  }
  return plan;
}

Result<Workspace> Workspace::create(std::size_t d, unsigned digits) {
  Workspace out;
  PIRX_ASSIGN(out.numbers_, AlignedBuffer::create(d * sizeof(std::int64_t)));
  PIRX_ASSIGN(out.digits, Polynomials::create(digits, d));
  PIRX_ASSIGN(out.coefficients, Polynomials::create(2, d));
  PIRX_ASSIGN(out.product, Polynomials::create(4, d));
  return out;
}

void decompose(const Ring& ring, const Gadget& gadget, const U32* slots, unsigned first,
               Workspace& workspace) noexcept {
  const std::size_t d = ring.d();
  U32* coefficients = workspace.coefficients[0];
  ring.inverse(coefficients, slots);
  const unsigned each = gadget.digits() / gadget.parts();
  for (unsigned part = 0; part < gadget.parts(); ++part) {
    U64 modulus = kModulus;
    if (gadget.spec().domain != Domain::kResidues) {
      ring.compose(workspace.numbers(), coefficients);
      if (gadget.spec().domain == Domain::kUnsigned) {
        for (std::size_t i = 0; i < d; ++i) {
          std::int64_t& x = workspace.numbers()[i];
          x += static_cast<std::int64_t>(kModulus) & (x >> 63);
        }
      }
    } else {
      modulus = kPrimes[part];
      const auto q = static_cast<std::int64_t>(modulus);
      for (std::size_t i = 0; i < d; ++i) {
        const std::int64_t x = coefficients[part * d + i];
        workspace.numbers()[i] = x - (q & ((q / 2 - x) >> 63));
      }
    }
    const std::size_t stride = polynomial_stride(d);
    U32* digits = workspace.digits[first + part * each] + d;
    ring.kernel().digits(digit_plan(gadget, modulus), d, reinterpret_cast<std::int32_t*>(digits), stride,
                         workspace.numbers());
  }
}

void transform_digits(const Ring& ring, unsigned digits, Workspace& workspace) noexcept {
  const std::size_t d = ring.d();
  for (unsigned k = 0; k < digits; ++k) {
    U32* at = workspace.digits[k];
    ring.kernel().forward(ring.prime(0), at, at + d);
    ring.kernel().forward(ring.prime(1), at + d, at + d);
  }
}

void multiply_digits(const Ring& ring, unsigned digits, const U32* columns, U32* out,
                     Workspace& workspace) noexcept {
  const std::size_t d = ring.d(), stride = polynomial_stride(d);
  U32* at = workspace.digits[0];
  for (std::size_t k = 0; k < 2; ++k) {
    ring.kernel().transform_products(ring.prime(k), out + k * d, at + k * d, at + d, columns + k * d, stride,
                                     digits);
  }
}

}  // namespace pirx::cpir::spiral
