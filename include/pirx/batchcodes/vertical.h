// SPDX-License-Identifier: Apache-2.0
// Vertical batch codes: every server holds all m buckets of the encoded database. A client that wants up to q
// blocks asks each bucket for exactly one row, by any retrieval scheme (Ishai, Kushilevitz, Ostrovsky, Sahai
// 2004; paper 000, Lueks and Goldberg 2015, section 2.2).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "pirx/base/result.h"
#include "pirx/base/secret.h"

namespace pirx::batchcodes {

/// One row for each bucket, and what its answer is used for. Secret; wiped on destruction.
class VerticalPlan {
 public:
  /// What one bucket is asked for.
  struct Use {
    std::uint64_t row = 0;  ///< below bucket_rows(); 0 if blank
    std::uint32_t wanted = kBlank;
    bool negative = false;  ///< the answer is subtracted, not added
  };
  static constexpr std::uint32_t kBlank = ~std::uint32_t{0};

  VerticalPlan(std::size_t buckets, std::size_t wanted) : uses_(buckets), wanted_(wanted) {
    for (auto& use : uses_.expose()) use = {};
  }
  std::size_t buckets() const noexcept { return uses_.size(); }
  std::size_t wanted() const noexcept { return wanted_; }
  /// The row to ask bucket `bucket` for. A blank is a query like any other, but its answer is not used.
  std::uint64_t row(std::size_t bucket) const noexcept { return uses_.expose()[bucket].row; }
  /// One use for each bucket. Wanted block k is the sum of the answers, with their signs, of the buckets
  /// whose use has `wanted` = k. A bucket serves at most one wanted block.
  std::span<const Use> uses() const noexcept { return uses_.expose(); }
  std::span<Use> uses() noexcept { return uses_.expose(); }

 private:
  SecretVector<Use> uses_;
  std::size_t wanted_;
};

/// A vertical code, as encoders, clients and decoders use it. Implementations are immutable and thread-safe.
class VerticalCode {
 public:
  /// `count` blocks: first, first + step, ...
  struct Slice {
    std::uint64_t first = 0, step = 1, count = 0;
  };

  virtual ~VerticalCode() = default;
  /// q: the blocks that one round can fetch.
  virtual std::size_t batch() const noexcept = 0;
  /// m: the buckets. Every round asks each of them for one row.
  virtual std::size_t buckets() const noexcept = 0;
  /// The rows of every bucket. All buckets together have N = buckets() * bucket_rows(r) rows.
  virtual std::uint64_t bucket_rows(std::uint64_t blocks) const noexcept = 0;
  /// The blocks of a bucket of plain blocks, in order; rows from `count` on are zero. Nothing for a bucket of
  /// sums.
  virtual std::optional<Slice> slice(std::size_t bucket, std::uint64_t blocks) const noexcept = 0;
  /// The buckets that add up, row by row, to a bucket of sums. They are plain or have lower numbers.
  virtual std::vector<std::size_t> addends(std::size_t bucket) const = 0;
  /// The rows to ask all buckets for, and how the answers combine to the wanted blocks. A block may be wanted
  /// twice. What is sent afterwards, one query to each bucket, has the same shape for all indices.
  /// InvalidArgument: nothing is wanted, or more than batch() blocks, or (only Subset) no way was found for
  /// these blocks. OutOfRange: there is no such block. No error names an index. Time and addresses on this
  /// machine depend on the indices. `work` is how much the search for a plan may take, and then what is left
  /// of it; without it, kMaxWork.
  Result<VerticalPlan> plan(std::uint64_t blocks, std::span<const std::uint64_t> wanted,
                            std::size_t& work) const;
  Result<VerticalPlan> plan(std::uint64_t blocks, std::span<const std::uint64_t> wanted) const {
    std::size_t work = kMaxWork;
    return plan(blocks, wanted, work);
  }
  /// Words looked at: about half a second.
  static constexpr std::size_t kMaxWork = (std::size_t{1} << 27) + (std::size_t{1} << 25);

 protected:
  VerticalCode() = default;
  VerticalCode(const VerticalCode&) = default;
  VerticalCode& operator=(const VerticalCode&) = default;

 private:
  virtual Result<void> assign(std::uint64_t blocks, std::span<const std::uint64_t> wanted, std::size_t& work,
                              VerticalPlan& plan) const = 0;
};

/// The subcube code: split the blocks into L parts, add their sum as part L, and treat each part in the same
/// way, K times in all. q = 2^K, for any blocks, repeated ones included. m = (L+1)^K. N = r ((L+1)/L)^K, with
/// r rounded up to a multiple of L^K. Buckets are numbered in base L+1, the most significant part first.
class Subcube final : public VerticalCode {
 public:
  static constexpr std::size_t kMaxBuckets = std::size_t{1} << 20;
  /// InvalidArgument: L < 2, K < 1, or more than kMaxBuckets buckets.
  static Result<Subcube> create(unsigned parts, unsigned depth);
  std::size_t batch() const noexcept override { return std::size_t{1} << depth_; }
  std::size_t buckets() const noexcept override { return buckets_; }
  std::uint64_t bucket_rows(std::uint64_t blocks) const noexcept override;
  std::optional<Slice> slice(std::size_t bucket, std::uint64_t blocks) const noexcept override;
  std::vector<std::size_t> addends(std::size_t bucket) const override;

 private:
  struct Request;
  Subcube(unsigned parts, unsigned depth, std::size_t buckets, std::size_t plain)
      : parts_(parts), depth_(depth), buckets_(buckets), plain_(plain) {}
  Result<void> assign(std::uint64_t blocks, std::span<const std::uint64_t> wanted, std::size_t& work,
                      VerticalPlan& plan) const override;
  void assign_part(unsigned level, std::size_t first_bucket, std::uint64_t rows,
                   std::span<const Request> requests, VerticalPlan& plan) const;
  unsigned parts_, depth_;
  std::size_t buckets_, plain_;
};

/// Whether 1 + 1 = 0 in the field in which answers are added.
enum class Characteristic : std::uint8_t { kTwo, kOther };

/// The subset code. Block i belongs to the (i mod C(L,w))-th subset S of w out of L elements. The bucket of a
/// set T of at most w elements holds in each row the sum of the blocks of all S that contain T. q = 2^w, m =
/// sum_{j <= w} C(L,j), N = ceil(r / C(L,w)) m.
///
/// A block can be read from its own bucket, or, for any T within S, from all T' with T' cap S = T; in
/// characteristic two also from the buckets on affine flats through S. Distinct S are always served. For
/// repeated S the planner searches, and may fail. In characteristic two no failure is known for w <= 2 (all
/// multisets of 4 over L = 4 and 5 are tested); with w = 3, five times S and three times S' fails for
/// disjoint S and S'. In others, {S, S, S', S'} with disjoint S and S' fails. The code is a demonstrator: the
/// download is m / q times that of single queries.
class Subset final : public VerticalCode {
 public:
  static constexpr std::size_t kMaxBuckets = std::size_t{1} << 16;
  /// InvalidArgument: w < 1, w >= L, L > 24, or more than kMaxBuckets buckets.
  static Result<Subset> create(unsigned elements, unsigned weight, Characteristic characteristic);
  std::size_t batch() const noexcept override { return std::size_t{1} << weight_; }
  std::size_t buckets() const noexcept override { return sets_.size(); }
  std::uint64_t bucket_rows(std::uint64_t blocks) const noexcept override;
  std::optional<Slice> slice(std::size_t bucket, std::uint64_t blocks) const noexcept override;
  std::vector<std::size_t> addends(std::size_t bucket) const override;
  /// The set of a bucket, one bit for each element. Sets are in order of size, then lexicographic. The last
  /// C(L,w) buckets hold plain blocks.
  std::uint32_t set(std::size_t bucket) const noexcept { return sets_[bucket]; }

 private:
  Subset(unsigned elements, unsigned weight, Characteristic characteristic, std::vector<std::uint32_t> sets);
  Result<void> assign(std::uint64_t blocks, std::span<const std::uint64_t> wanted, std::size_t& work,
                      VerticalPlan& plan) const override;
  unsigned elements_, weight_;
  Characteristic characteristic_;
  std::vector<std::uint32_t> sets_;
  std::size_t first_plain_;
};

/// The code with the name "subcube:L,K" or "subset:L,w" (of characteristic two, for exclusive or), as people
/// and messages write it. Each code has one name, without spaces, signs or leading zeros. InvalidArgument:
/// another name, or what create() refuses.
Result<std::shared_ptr<const VerticalCode>> vertical_code(std::string_view name);

}  // namespace pirx::batchcodes
