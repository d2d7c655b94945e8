// Vertical batch codes: every server holds all m buckets of the encoded database, and a client that wants up
// to q blocks asks each bucket for exactly one row, by any scheme at all (Ishai, Kushilevitz, Ostrovsky,
// Sahai 2004; paper 000, Lueks and Goldberg 2015, section 2.2).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "pirx/base/result.h"
#include "pirx/base/secret.h"

namespace pirx::batchcodes {

/// One row for each bucket, and what its answer is for. Secret, wiped.
class VerticalPlan {
 public:
  /// What is asked of one bucket.
  struct Use {
    std::uint64_t row = 0;  ///< below bucket_rows(); 0 for a blank
    std::uint32_t wanted = kBlank;
    bool negative = false;  ///< the answer is subtracted
  };
  static constexpr std::uint32_t kBlank = ~std::uint32_t{0};

  VerticalPlan(std::size_t buckets, std::size_t wanted) : uses_(buckets), wanted_(wanted) {
    for (auto& use : uses_.expose()) use = {};
  }
  std::size_t buckets() const noexcept { return uses_.size(); }
  std::size_t wanted() const noexcept { return wanted_; }
  /// The row to query bucket `bucket` for. A blank is a query like any other; its answer is not used.
  std::uint64_t row(std::size_t bucket) const noexcept { return uses_.expose()[bucket].row; }
  /// wanted k = the sum of +-(answers) of the buckets whose use names k; a bucket serves one wanted block at
  /// most.
  std::span<const Use> uses() const noexcept { return uses_.expose(); }
  std::span<Use> uses() noexcept { return uses_.expose(); }

 private:
  SecretVector<Use> uses_;
  std::size_t wanted_;
};

/// What a vertical code is to those who encode, query and decode. Implementations are immutable and
/// thread-safe.
class VerticalCode {
 public:
  /// Blocks first, first + step, ...: count of them.
  struct Slice {
    std::uint64_t first = 0, step = 1, count = 0;
  };

  virtual ~VerticalCode() = default;
  /// q: wanted blocks in one round.
  virtual std::size_t batch() const noexcept = 0;
  /// m. In every round each is asked for one row.
  virtual std::size_t buckets() const noexcept = 0;
  /// Rows of every bucket; N = buckets() * bucket_rows(r).
  virtual std::uint64_t bucket_rows(std::uint64_t blocks) const noexcept = 0;
  /// The blocks of a bucket that holds plain ones, in order; rows beyond `count` are zero. Nothing for a
  /// bucket of sums.
  virtual std::optional<Slice> slice(std::size_t bucket, std::uint64_t blocks) const noexcept = 0;
  /// The buckets whose sum, row by row, a bucket of sums is: plain ones, or lower in number.
  virtual std::vector<std::size_t> addends(std::size_t bucket) const = 0;
  /// Rows for all buckets, and how the answers combine to the wanted blocks; the same block may be wanted
  /// twice. InvalidArgument: nothing wanted, more than batch(), or (Subset alone) no way found for these
  /// blocks. OutOfRange: no such block. Errors name no index. What is sent afterwards, one query to each
  /// bucket, has one shape for all indices. Local timing and addresses depend on the indices.
  Result<VerticalPlan> plan(std::uint64_t blocks, std::span<const std::uint64_t> wanted) const;

 protected:
  VerticalCode() = default;
  VerticalCode(const VerticalCode&) = default;
  VerticalCode& operator=(const VerticalCode&) = default;

 private:
  virtual Result<void> assign(std::uint64_t blocks, std::span<const std::uint64_t> wanted,
                              VerticalPlan& plan) const = 0;
};

/// The subcube code: split the blocks into L parts, add their sum as part L, and do so K times with each
/// part. q = 2^K, any blocks, repeated ones included; m = (L+1)^K; N = r ((L+1)/L)^K with r rounded up to a
/// multiple of L^K. Buckets are numbered in base L+1, most significant part first.
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
  Result<void> assign(std::uint64_t blocks, std::span<const std::uint64_t> wanted,
                      VerticalPlan& plan) const override;
  void assign_part(unsigned level, std::size_t first_bucket, std::uint64_t rows,
                   std::span<const Request> requests, VerticalPlan& plan) const;
  unsigned parts_, depth_;
  std::size_t buckets_, plain_;
};

/// Whether 1 + 1 = 0 where answers are added up.
enum class Characteristic : std::uint8_t { kTwo, kOther };

/// The subset code: block i belongs to the i mod C(L,w)-th subset S of w out of L; the bucket of a set T of
/// at most w holds, in each row, the sum of the blocks of all S that contain T. q = 2^w, m = sum_{j <= w}
/// C(L,j), N = ceil(r / C(L,w)) m. A block can be had from its own bucket, or for any T within S from all T'
/// with T' cap S = T; in characteristic two also from the buckets on affine flats through S. Distinct S are
/// always served; for repeated ones the planner searches, and may fail. (In characteristic two no failure is
/// known for w <= 3: all multisets of 4 over L = 4 and 5 are tested. Otherwise {S, S, S', S'} with disjoint
/// S, S' fails.) A demonstrator: the download is m / q times that of single queries.
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
  /// The set of a bucket, one bit an element. By size, then lexicographically; the last C(L,w) hold plain
  /// blocks.
  std::uint32_t set(std::size_t bucket) const noexcept { return sets_[bucket]; }

 private:
  Subset(unsigned elements, unsigned weight, Characteristic characteristic, std::vector<std::uint32_t> sets);
  Result<void> assign(std::uint64_t blocks, std::span<const std::uint64_t> wanted,
                      VerticalPlan& plan) const override;
  unsigned elements_, weight_;
  Characteristic characteristic_;
  std::vector<std::uint32_t> sets_;
  std::size_t first_plain_;
};

/// The code that people and messages call "subcube:L,K" or "subset:L,w" (of characteristic two, for exclusive
/// or). One name a code: no spaces, signs or leading zeros. InvalidArgument for another name or what create()
/// refuses.
Result<std::shared_ptr<const VerticalCode>> vertical_code(std::string_view name);

}  // namespace pirx::batchcodes
