// SPDX-License-Identifier: Apache-2.0
// The parameters of Goldberg's protocol: t-private information retrieval (Shamir shares of unit vectors) over
// any polynomial encoding of the database. Goldberg 2007; paper 002 (Henry 2016).
#pragma once

#include <span>
#include <vector>

#include "pirx/batchcodes/encoding.h"
#include "pirx/itpir/common.h"

namespace pirx::itpir::goldberg {

/// A deployment as the client sees it. l servers with distinct non-zero coordinates hold the same database,
/// or each its bucket of it. Any t of them together learn nothing about the records asked for. A validated
/// value.
class Params {
 public:
  struct Spec {
    FieldTag field = kTagGf2_8;
    database::Geometry geometry;
    database::Version version;
    std::vector<std::uint64_t> coordinates;  ///< one for each server
    unsigned threshold = 1;                  ///< t
    unsigned ramp = 1;                       ///< q: rows that one query vector fetches; the client chooses it
    unsigned arity = 1;                      ///< u: database rows in one row of a bucket
    unsigned independence = 0;  ///< tau: this many servers together learn nothing about the database
    std::uint64_t modulus = 0;  ///< M, see batchcodes::Encoding; 0 means u

    batchcodes::Encoding::Spec encoding() const {
      return {field, threshold, ramp, arity, independence, modulus, coordinates};
    }
  };
  /// InvalidArgument: an unknown field, no server or more than kMaxServers, a coordinate that is zero, a
  /// geometry too large for kMaxMessageBytes, or what batchcodes::Encoding::create refuses (t < 1, fewer than
  /// d + 1 servers, coordinates that are repeated or do not fit the field).
  static Result<Params> create(Spec spec);

  static constexpr unsigned kMaxServers = pirx::kMaxServers;

  const Spec& spec() const noexcept { return spec_; }
  FieldTag field() const noexcept { return spec_.field; }
  const database::Geometry& geometry() const noexcept { return spec_.geometry; }
  const database::Version& version() const noexcept { return spec_.version; }
  const std::vector<std::uint64_t>& coordinates() const noexcept { return spec_.coordinates; }
  unsigned servers() const noexcept { return static_cast<unsigned>(spec_.coordinates.size()); }  ///< l
  unsigned threshold() const noexcept { return spec_.threshold; }                                ///< t
  const batchcodes::Encoding& encoding() const noexcept { return encoding_; }
  /// d + 1: this many replies make a record. More replies reveal lies.
  unsigned needed() const noexcept { return encoding_.degree() + 1; }

 private:
  Params(Spec spec, batchcodes::Encoding encoding) : spec_(std::move(spec)), encoding_(std::move(encoding)) {}
  Spec spec_;
  batchcodes::Encoding encoding_;
};

/// Checks what a deployment and a single server must both satisfy. InvalidArgument: the field is unknown, or
/// a coordinate is zero or not an element of it.
Result<void> check_coordinates(const FieldTag& field, std::span<const std::uint64_t> coordinates);

}  // namespace pirx::itpir::goldberg
