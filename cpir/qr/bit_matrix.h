// SPDX-License-Identifier: Apache-2.0
// The database as a matrix of bits, read in place. A row of the matrix is several slots of the database.
#pragma once

#include "pirx/base/matrix.h"
#include "pirx/cpir/qr/common.h"

namespace pirx::cpir::qr {

/// Column 8 i + j is bit j of byte i of the rows; bit 0 is the least significant one.
class BitMatrix {
 public:
  /// `rows` are the rows of the database, which must outlive this.
  BitMatrix(const Params& params, matrix::ConstView<std::byte> rows)
      : geometry_(params.geometry()),
        slots_(params.slots()),
        rows_(params.rows()),
        data_(rows),
        zeros_(static_cast<std::size_t>(geometry_.slot_bytes())) {}

  std::size_t rows() const noexcept { return rows_; }
  std::size_t slots() const noexcept { return static_cast<std::size_t>(slots_); }  ///< in a row
  std::size_t slot_bytes() const noexcept { return zeros_.size(); }
  std::size_t row_bytes() const noexcept { return slots() * slot_bytes(); }

  /// slot_bytes() bytes. Zeros after the last record and below the last row.
  const std::byte* slot(std::size_t row, std::size_t slot) const noexcept {
    const std::uint64_t record = row * slots_ + slot;
    if (record >= geometry_.records()) return zeros_.data();
    const std::uint64_t per_row = geometry_.spec().records_per_row;
    return data_.row(static_cast<std::size_t>(record / per_row)) + record % per_row * geometry_.slot_bytes();
  }

 private:
  database::Geometry geometry_;
  std::uint64_t slots_;
  std::size_t rows_;
  matrix::ConstView<std::byte> data_;
  Bytes zeros_;
};

}  // namespace pirx::cpir::qr
