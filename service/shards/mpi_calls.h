// SPDX-License-Identifier: Apache-2.0
// MPI as the ranks use it: errors are values, waiting can be ended, rows of a matrix are a data type, and a
// sum over a field is an operation. MPI is used only here and in the .cc files of this folder.
#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <span>
#include <utility>

#include "pirx/protocol/product.h"

namespace pirx::shards {

/// Unavailable: the call failed; the message has `what` and MPI's reason.
Result<void> check_mpi(int code, const char* what);

/// Gives the processor to other threads between two checks, because MPI itself would spin. In its first half
/// millisecond it yields. Later it sleeps for a 16th of the time since it was made, at most `longest`.
class Pause {
 public:
  explicit Pause(std::chrono::microseconds longest) : longest_(longest) {}
  void operator()();

 private:
  using Clock = std::chrono::steady_clock;
  Clock::duration longest_;
  Clock::time_point start_ = Clock::now();
};

/// The longest sleep while a message moves, since messages move only during calls of MPI; and the longest
/// sleep while other ranks compute.
inline constexpr std::chrono::microseconds kWhileMoving{50}, kWhileWorking{1'000};

/// Waits until all requests are complete. `go_on` is called repeatedly, and its error ends the waiting. Then
/// some requests are not complete, and the memory that they read and write must stay in place.
Result<void> wait_all(std::span<MPI_Request> requests, const std::function<Result<void>()>& go_on,
                      std::chrono::microseconds longest_pause = kWhileMoving);

/// A data type for rows of `count` values of `value_bytes` bytes each; the rows lie `stride` bytes apart.
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

/// The field's addition as an MPI operation over rows of sums. MPI gives an operation no context, so an
/// attribute of the data type says what is added.
class RowSum {
 public:
  static Result<RowSum> create();
  RowSum(RowSum&& other) noexcept : op_(std::exchange(other.op_, MPI_OP_NULL)) {}
  RowSum& operator=(RowSum&&) = delete;
  ~RowSum();
  /// What the rows of a RowType contain. It must outlive the type.
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
