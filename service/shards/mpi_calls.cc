// SPDX-License-Identifier: Apache-2.0
// The calls of MPI that the ranks use.
#include "mpi_calls.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace pirx::shards {
namespace {

/// The key of the attribute that says what an operation adds. A process has one, made with the first RowSum.
int sum_key = MPI_KEYVAL_INVALID;

extern "C" void pirx_shards_add_rows(void* from, void* to, int* rows, MPI_Datatype* type) {
  void* found = nullptr;
  int there = 0;
  const int code = MPI_Type_get_attr(*type, sum_key, &found, &there);
  PIRX_CHECK(code == MPI_SUCCESS && there != 0);
  const auto& what = *static_cast<const RowSum::Rows*>(found);
  for (int i = 0; i < *rows; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * what.stride;
    what.product->add(what.product->words, static_cast<const std::byte*>(from) + at,
                      static_cast<std::byte*>(to) + at);
  }
}

}  // namespace

Result<void> check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return {};
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  return fail(ErrorCode::kUnavailable, std::string("MPI failed to ") + what + ": " +
                                           std::string(text, static_cast<std::size_t>(length)));
}

void Pause::operator()() {
  const auto waited = Clock::now() - start_;
  if (waited < std::chrono::microseconds(500)) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(std::min<Clock::duration>(waited / 16, longest_));
  }
}

Result<void> wait_all(std::span<MPI_Request> requests, const std::function<Result<void>()>& go_on,
                      std::chrono::microseconds longest_pause) {
  Pause pause(longest_pause);
  while (true) {
    bool all = true;
    for (auto& request : requests) {
      int done = 0;
      PIRX_TRY(check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "complete a message"));
      all = all && done != 0;
    }
    if (all) return {};
    PIRX_TRY(go_on());
    pause();
  }
}

Result<RowType> RowType::create(std::size_t count, std::size_t value_bytes, std::size_t stride) {
  MPI_Datatype value = MPI_DATATYPE_NULL, row = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  int code = MPI_Type_contiguous(static_cast<int>(value_bytes), MPI_BYTE, &value);
  if (code == MPI_SUCCESS) code = MPI_Type_contiguous(static_cast<int>(count), value, &row);
  if (code == MPI_SUCCESS) code = MPI_Type_create_resized(row, 0, static_cast<MPI_Aint>(stride), &type);
  if (code == MPI_SUCCESS) code = MPI_Type_commit(&type);
  RowType made(type);
  for (auto* part : {&value, &row}) {
    if (*part != MPI_DATATYPE_NULL) MPI_Type_free(part);
  }
  PIRX_TRY(check_mpi(code, "describe rows"));
  return made;
}

RowType::~RowType() {
  if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
}

Result<RowSum> RowSum::create() {
  if (sum_key == MPI_KEYVAL_INVALID) {
    PIRX_TRY(
        check_mpi(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &sum_key, nullptr),
                  "make an attribute"));
  }
  MPI_Op op = MPI_OP_NULL;
  PIRX_TRY(check_mpi(MPI_Op_create(&pirx_shards_add_rows, 1, &op), "make an operation"));
  return RowSum(op);
}

RowSum::~RowSum() {
  if (op_ != MPI_OP_NULL) MPI_Op_free(&op_);
}

Result<void> RowSum::describe(const RowType& type, const Rows& rows) const {
  return check_mpi(MPI_Type_set_attr(type.get(), sum_key, const_cast<Rows*>(&rows)), "set an attribute");
}

}  // namespace pirx::shards
