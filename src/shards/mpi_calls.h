// MPI as the ranks use it: errors as values, waiting that can end, rows of a matrix as a data type, and a sum
// over a field as an operation. Only here and in the .cc files beside is MPI seen.
#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "pirx/protocol/product.h"

namespace pirx::shards {

/// Unavailable names `what` and MPI's reason.
Result<void> check_mpi(int code, const char* what);

/// Gives the processor to others between looks, since MPI itself would spin: at once in the first half
/// millisecond since it was made, then by sleeping for a 16th of the time since, at most `longest`.
class Pause {
 public:
  explicit Pause(std::chrono::microseconds longest) : longest_(longest) {}
  void operator()();

 private:
  using Clock = std::chrono::steady_clock;
  Clock::duration longest_;
  Clock::time_point start_ = Clock::now();
};

/// How long to sleep while a message moves, which it does only while MPI is called; and while others work.
inline constexpr std::chrono::microseconds kWhileMoving{50}, kWhileWorking{1'000};

/// Waits until all are complete; `go_on` is asked again and again, and its error ends the waiting: then some
/// are not, and what they read and write must stay where it is.
Result<void> wait_all(std::span<MPI_Request> requests, const std::function<Result<void>()>& go_on,
                      std::chrono::microseconds longest_pause = kWhileMoving);

/// Rows of `count` values of `value_bytes` each that lie `stride` bytes apart.
class RowType {
 public:
  static Result<RowType> create(std::size_t count, std::size_t value_bytes, std::size_t stride);
  RowType(RowType&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  RowType& operator=(RowType&&) = delete;
  ~RowType();
  MPI_Datatype get() const noexcept { return type_; }

 private:
  explicit RowType(MPI_Datatype type) : type_(type) {}
  MPI_Datatype type_;
};

/// The field's addition as an MPI operation over rows of sums: in place of a context, which MPI does not hand
/// over, an attribute of the data type says what is added.
class RowSum {
 public:
  static Result<RowSum> create();
  RowSum(RowSum&& other) noexcept : op_(std::exchange(other.op_, MPI_OP_NULL)) {}
  RowSum& operator=(RowSum&&) = delete;
  ~RowSum();
  /// What a RowType's rows are. It must outlive the type.
  struct Rows {
    const Product* product;
    std::size_t stride;
  };
  Result<void> describe(const RowType& type, const Rows& rows) const;
  MPI_Op get() const noexcept { return op_; }

 private:
  explicit RowSum(MPI_Op op) : op_(op) {}
  MPI_Op op_;
};

}  // namespace pirx::shards
