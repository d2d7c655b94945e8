// SPDX-License-Identifier: Apache-2.0
// Validates plans, computes their sizes, and reads and writes the parameters message.
#include "pirx/cpir/spiral/common.h"

#include <algorithm>
#include <bit>

#include "cpir/ring/ring.h"
#include "noise.h"
#include "pirx/base/buffer.h"
#include "src/base/constant_time.h"
#include "src/protocol/message.h"

namespace pirx::cpir::spiral {
namespace {

unsigned log2_ceil(std::uint64_t x) { return static_cast<unsigned>(std::bit_width(x - 1)); }

Result<void> check_numbers(const Scheme& scheme) {
  const auto outside = [](unsigned value, unsigned low, unsigned high) {
    return value < low || value > high;
  };
  if (scheme.policy > Policy::kToy) return invalid("the plan's policy is unknown");
  if (outside(scheme.log_d, kMinLogDimension, kLogDimension))
    return invalid("the ring's dimension is 2^6 to 2^11");
  if (outside(scheme.eta, 1, 32)) return invalid("eta is 1 to 32");
  if (outside(scheme.log_p, 1, 16)) return invalid("a coefficient holds 1 to 16 bits");
  if (outside(scheme.pack, 1, 8)) return invalid("1 to 8 results are packed");
  if (outside(scheme.log_q2, 14, 28)) return invalid("the random row of a reply is cut to 14 to 28 bits");
  if (outside(scheme.log_columns, 0, 12)) return invalid("there are 2^0 to 2^12 columns");
  if (scheme.policy != Policy::kToy && scheme.log_d != kLogDimension) {
    return invalid("rings below dimension 2048 are for tests: they are not secure");
  }
  if (scheme.policy == Policy::kSecure && scheme.eta != 32) {
    return invalid("errors and secrets smaller than eta = 32 do not reach 128 bits of security");
  }
  return {};
}

/// Slots, or rows of a keyed database.
std::uint64_t slots_of(const database::Geometry& geometry) {
  return geometry.keyed() ? geometry.rows() : geometry.records();
}

double failure_bound(Policy policy) {
  switch (policy) {
    case Policy::kSecure:
      return Params::kFailureBound;
    case Policy::kComparison:
      return -20;
    default:
      return 0;
  }
}

void encode_scheme(Writer& writer, const Scheme& scheme) {
  for (const std::uint32_t value : {static_cast<std::uint32_t>(scheme.policy), scheme.log_d, scheme.eta,
                                    scheme.log_p, scheme.pack, scheme.log_q2, scheme.log_columns}) {
    writer.put(value);
  }
}

}  // namespace

Result<Params> Params::create(Spec spec) {
  const Scheme& scheme = spec.scheme;
  PIRX_TRY(check_numbers(scheme));
  PIRX_ASSIGN(const auto fold, Gadget::create(scheme.fold));
  PIRX_ASSIGN(const auto left, Gadget::create(scheme.left));
  PIRX_ASSIGN(const auto right, Gadget::create(scheme.right));
  PIRX_ASSIGN(const auto conversion, Gadget::create(scheme.conversion));
  if (conversion.spec().drop != 0) return invalid("the conversion gadget must be exact");
  spec.scheme.fold = fold.spec();
  spec.scheme.left = left.spec();
  spec.scheme.right = right.spec();
  spec.scheme.conversion = conversion.spec();
  Params params(std::move(spec), fold, left, right, conversion);
  auto& p = params;
  const auto& s = p.scheme();
  const std::uint64_t count = slots_of(p.geometry());
  const std::size_t d = p.d();
  // 2^56 bytes of records at most, so none of this overflows.
  const std::uint64_t group_bits = std::uint64_t{s.pack} * s.pack * d * s.log_p;
  const std::uint64_t slot_bits = p.slot_bytes() * 8;
  p.slots_ = std::min(std::max<std::uint64_t>(1, group_bits / slot_bits), count);
  const std::uint64_t trials = div_up(slot_bits, group_bits);
  p.items_ = div_up(count, p.slots_);
  const std::uint64_t rows = div_up(p.items_, p.columns());
  if (rows > d / 2) {
    return invalid("the database has " + std::to_string(p.items_) + " items, more than " +
                   std::to_string(d / 2) + " rows of " + std::to_string(p.columns()) +
                   " columns hold: choose more columns");
  }
  const std::uint64_t bits = std::uint64_t{fold.digits()} * s.log_columns;
  if (bits > d / 2) return invalid("the folding gadget has more digits than a query has room for");
  if (2 * fold.digits() > kLazyProducts || 2 * conversion.digits() > kLazyProducts ||
      s.pack * conversion.digits() > kLazyProducts) {
    return invalid("a gadget has too many digits");
  }
  p.rows_ = static_cast<std::size_t>(rows);
  p.row_rounds_ = 1 + log2_ceil(rows);
  p.bit_rounds_ = 1 + log2_ceil(std::max<std::uint64_t>(1, bits));
  if (trials > kMaxMessageBytes / d) return invalid("a record is too long for this protocol");
  p.trials_ = static_cast<std::size_t>(trials);
  const std::uint64_t columns = std::uint64_t{p.bit_rounds_} * right.digits() +
                                std::uint64_t{p.row_rounds_ - 1} * left.digits() + 2 * conversion.digits() +
                                (s.pack > 1 ? std::uint64_t{s.pack} * s.pack * conversion.digits() : 0);
  p.keys_bytes_ = kHeaderBytes + 32 + static_cast<std::size_t>(columns) * p.polynomial_bytes();
  p.request_bytes_ = kHeaderBytes + 32 + 32 + p.polynomial_bytes();
  p.reply_bytes_ = kHeaderBytes + p.trials_ * d / 8 * (s.pack * s.pack * (s.log_p + 2) + s.pack * s.log_q2);
  if (std::max(p.keys_bytes_, p.reply_bytes_) > kMaxMessageBytes) {
    return invalid("keys or replies would be larger than " + std::to_string(kMaxMessageBytes) +
                   " bytes: the records are too long for this protocol");
  }
  const auto polynomials = checked_mul(rows * p.columns(), p.polynomials());
  const auto encoded = polynomials ? checked_mul(*polynomials, 8 * d) : std::nullopt;
  if (!encoded || *encoded > std::uint64_t{1} << 56)
    return invalid("the database is too large for this protocol");
  p.encoded_bytes_ = *encoded;
  for (const auto* gadget : {&fold, &left, &right, &conversion}) {
    if (s.policy == Policy::kSecure && gadget->spec().domain == Domain::kUnsigned)
      return invalid("digits that are not balanced are for comparisons with other implementations only");
  }
  p.noise_ = noise_model(
      {s, fold, left, right, conversion, p.rows_, p.trials_, p.row_rounds_, p.bit_rounds_, p.fold_form()});
  if (p.noise_.log2_failure > failure_bound(s.policy)) {
    return invalid("an answer would be wrong with probability 2^" + std::to_string(p.noise_.log2_failure) +
                   ", above the bound: choose fewer bits a coefficient or smaller gadget bases");
  }
  p.digest_ = sha256(p.encode());
  Writer writer;
  writer.put_bytes(as_bytes("pirx spiral keys"));
  encode_scheme(writer, {.policy = s.policy,
                         .log_d = s.log_d,
                         .eta = s.eta,
                         .log_p = 0,
                         .pack = s.pack,
                         .log_q2 = 0,
                         .log_columns = 0});
  writer.put(p.row_rounds_);
  writer.put(p.bit_rounds_);
  for (const auto* gadget : {&p.left_, &p.right_, &p.conversion_}) gadget->encode(writer);
  p.keys_digest_ = sha256(std::move(writer).take());
  return params;
}

std::size_t Params::item_bytes() const noexcept { return static_cast<std::size_t>(slots_ * slot_bytes()); }

Result<database::Location> Params::locate(std::uint64_t slot) const {
  if (reveal(~mask_less(slot, slots_of(geometry())))) {
    return fail(ErrorCode::kOutOfRange,
                "there is no such record: the database has " + std::to_string(slots_of(geometry())));
  }
  const Division at = divide(slot, slots_);
  return database::Location{at.quotient, at.remainder * slot_bytes()};
}

Bytes Params::encode() const {
  Writer writer(256);
  encode_prefix(writer, ProtocolId::kSpiral, MessageType::kParameters);
  spec_.version.encode(writer);
  encode_scheme(writer, spec_.scheme);
  for (const auto* gadget : {&fold_, &left_, &right_, &conversion_}) gadget->encode(writer);
  spec_.geometry.encode(writer);
  return std::move(writer).take();
}

Result<Params> Params::decode(ByteSpan bytes) {
  Reader reader(bytes, "parameters message");
  PIRX_TRY(decode_prefix(reader, ProtocolId::kSpiral, MessageType::kParameters));
  PIRX_ASSIGN(const auto version, database::Version::decode(reader));
  Scheme scheme;
  PIRX_ASSIGN(const auto policy, reader.get<std::uint32_t>());
  if (policy > static_cast<std::uint32_t>(Policy::kToy)) {
    return fail(ErrorCode::kDataLoss, "policy " + std::to_string(policy) + " is unknown");
  }
  scheme.policy = static_cast<Policy>(policy);
  for (unsigned* value :
       {&scheme.log_d, &scheme.eta, &scheme.log_p, &scheme.pack, &scheme.log_q2, &scheme.log_columns}) {
    PIRX_ASSIGN(*value, reader.get<std::uint32_t>());
  }
  for (auto* gadget : {&scheme.fold, &scheme.left, &scheme.right, &scheme.conversion}) {
    PIRX_ASSIGN(const auto decoded, Gadget::decode(reader));
    *gadget = decoded.spec();
  }
  PIRX_ASSIGN(auto geometry, database::Geometry::decode(reader));
  PIRX_TRY(reader.expect_end());
  return create({geometry, version, scheme});
}

std::optional<Scheme> named_scheme(std::string_view name) {
  const Gadget::Spec cut2{.z = 4096, .drop = 2, .bits = 8}, cut3{.z = 512, .drop = 3, .bits = 2},
      cut4{.z = 256, .drop = 3};
  const struct {
    std::string_view name;
    unsigned log_p, pack, log_q2, log_columns;
    Gadget::Spec fold;
    std::uint32_t left, right, conversion;  // bases
  } sets[] = {
      {"s1", 13, 1, 24, 9, cut3, 16, 16, 4096},       {"s1c", 12, 1, 23, 9, cut3, 64, 32, 4096},
      {"s2", 14, 3, 25, 10, cut4, 3, 3, 4096},        {"s2s", 10, 2, 22, 8, cut2, 256, 16, 4096},
      {"s3", 11, 6, 23, 5, cut2, 128, 16, 4096},      {"s3b", 14, 2, 27, 6, cut3, 3, 7, 2319},
      {"c1", 8, 2, 20, 6, {.z = 256}, 256, 2, 32768},
  };
  for (const auto& set : sets) {
    if (name != set.name) continue;
    Scheme scheme{.log_p = set.log_p,
                  .pack = set.pack,
                  .log_q2 = set.log_q2,
                  .log_columns = set.log_columns,
                  .fold = set.fold,
                  .left = {.z = set.left},
                  .right = {.z = set.right},
                  .conversion = {.z = set.conversion}};
    if (name != "c1") return scheme;
    // Published parameters of SpiralPack for 2^20 x 256 B, deviation 2.55; a top digit that is always zero is
    // left out.
    scheme.policy = Policy::kComparison;
    scheme.eta = 13;
    for (auto* gadget : {&scheme.fold, &scheme.left, &scheme.right, &scheme.conversion}) {
      gadget->domain = Domain::kUnsigned;
    }
    return scheme;
  }
  return std::nullopt;
}

}  // namespace pirx::cpir::spiral
