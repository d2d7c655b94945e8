// SPDX-License-Identifier: Apache-2.0
// How a database is cut: the parts make it whole, and the way that moves fewer bytes is taken.
#include <gtest/gtest.h>

#include "pirx/shards/shards.h"

namespace pirx::shards {
namespace {

Product shape(std::size_t rows, std::size_t words, std::size_t elem_bits = 8, std::size_t sum_bytes = 1) {
  Product product;
  product.rows = rows;
  product.words = words;
  product.elem_bits = elem_bits;
  product.sum_bytes = sum_bytes;
  return product;
}

TEST(Split, PartsMakeTheWholeAndDifferByOneAtMost) {
  for (const std::size_t rows : {0u, 1u, 3u, 4u, 7u, 100u}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      const auto whole = shape(rows, rows + 5);
      std::size_t next_row = 0, next_word = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto r = part_of(whole, Split::kRows, ranks, rank),
                   c = part_of(whole, Split::kColumns, ranks, rank);
        EXPECT_EQ(r.first_row, next_row);
        EXPECT_EQ(c.first_word, next_word);
        next_row += r.rows;
        next_word += c.words;
        EXPECT_EQ(r.first_word, 0u);
        EXPECT_EQ(c.first_row, 0u);
        EXPECT_EQ(r.words, whole.words);
        EXPECT_EQ(c.rows, whole.rows);
        const auto n = static_cast<std::size_t>(ranks);
        EXPECT_LE(r.rows, (rows + n - 1) / n);
        EXPECT_GE(r.rows, rows / n);
      }
      EXPECT_EQ(next_row, whole.rows);
      EXPECT_EQ(next_word, whole.words);
    }
  }
}

TEST(Split, ElementsInBitsAreCutWhereAByteBegins) {
  for (const std::size_t rows : {0u, 1u, 7u, 8u, 9u, 17u, 100u, 1000u}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      const auto whole = shape(rows, 5, 1);
      std::size_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto part = part_of(whole, Split::kRows, ranks, rank);
        EXPECT_EQ(part.first_row, next);
        EXPECT_TRUE(part.first_row % 8 == 0 || part.rows == 0);
        next += part.rows;
        EXPECT_LE(part.rows, (rows / 8 + 1) / static_cast<std::size_t>(ranks) * 8 + 8);
      }
      EXPECT_EQ(next, rows);
    }
  }
}

TEST(Split, ColumnsWhereARowIsTheLongSide) {
  EXPECT_EQ(choose_split(Split::kAuto, shape(800, 101, 1)), Split::kColumns);
  EXPECT_EQ(choose_split(Split::kAuto, shape(800, 100, 1)), Split::kRows);
  EXPECT_EQ(choose_split(Split::kAuto, shape(100, 100)), Split::kRows);
  EXPECT_EQ(choose_split(Split::kAuto, shape(100, 101)), Split::kColumns);
  EXPECT_EQ(choose_split(Split::kAuto, shape(100, 60, 8, 2)), Split::kColumns);
  EXPECT_EQ(choose_split(Split::kRows, shape(1, 1000)), Split::kRows);
  EXPECT_EQ(choose_split(Split::kColumns, shape(1000, 1)), Split::kColumns);
}

TEST(Split, NamesLeadToSplitsAndBack) {
  for (const auto split : {Split::kAuto, Split::kRows, Split::kColumns}) {
    EXPECT_EQ(*parse_split(split_name(split)), split);
  }
  for (const char* bad : {"", "row", "Rows", "both"}) {
    EXPECT_EQ(parse_split(bad).error().code(), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace pirx::shards
