// SPDX-License-Identifier: Apache-2.0
// Aligned buffers: alignment, zeros, moves, refusals.
#include "pirx/base/buffer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace pirx {
namespace {

TEST(AlignedBuffer, IsAlignedZeroedAndWritable) {
  for (std::uint64_t size :
       {1ull, 63ull, 64ull, 65ull, 4096ull, (4ull << 20) - 1, 4ull << 20, (9ull << 20) + 1}) {
    auto buffer = AlignedBuffer::create(size).value();
    ASSERT_GE(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    for (std::uint64_t i = 0; i < buffer.size(); ++i) ASSERT_EQ(buffer.data()[i], std::byte{0});
    std::memset(buffer.data(), 0xff, buffer.size());
    AlignedBuffer moved(std::move(buffer));
    EXPECT_EQ(buffer.data(), nullptr);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(moved.data()[size - 1], std::byte{0xff});
    AlignedBuffer assigned;
    assigned = std::move(moved);
    EXPECT_EQ(assigned.data()[0], std::byte{0xff});
  }
}

TEST(AlignedBuffer, EmptyAndImpossibleSizes) {
  EXPECT_EQ(AlignedBuffer::create(0)->data(), nullptr);
  EXPECT_EQ(AlignedBuffer::create(std::uint64_t{1} << 60).error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(AlignedBuffer::create(~std::uint64_t{0}).error().code(), ErrorCode::kResourceExhausted);
}

/// /proc/self/smaps_rollup, as far as it is looked at.
std::string usage(std::uint64_t anonymous_mib, std::uint64_t huge_mib) {
  return "55f537c94000-7ffcbfe40000 ---p 00000000 00:00 0                          [rollup]\n"
         "Rss:             1234567 kB\nPss_Anon:              108 kB\nAnonymous:       " +
         std::to_string(anonymous_mib << 10) +
         " kB\nKSM:                   0 kB\nAnonHugePages:   " + std::to_string(huge_mib << 10) +
         " kB\nSwap:                  0 kB\n";
}

TEST(HugePageNote, SaysWhenTheSystemGivesNone) {
  const auto note = huge_page_note("always madvise [never]\n", usage(4096, 0));
  EXPECT_NE(note.find("'never'"), std::string::npos) << note;
  EXPECT_NE(note.find("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"), std::string::npos)
      << note;
  EXPECT_FALSE(huge_page_note("always madvise [never]\n", "").empty());
}

TEST(HugePageNote, SaysHowManyWereNotGiven) {
  for (const char* enabled : {"always [madvise] never\n", "[always] madvise never\n", ""}) {
    const auto note = huge_page_note(enabled, usage(4100, 10));
    EXPECT_EQ(note.find("only 10 of 4100 MiB"), 0u) << note;
    EXPECT_FALSE(huge_page_note(enabled, usage(100, 49)).empty());
  }
}

TEST(HugePageNote, IsSilentWhenAllIsWellOrUnknown) {
  const char* enabled = "always [madvise] never\n";
  EXPECT_EQ(huge_page_note(enabled, usage(4100, 4000)), "");
  EXPECT_EQ(huge_page_note(enabled, usage(100, 50)), "");
  EXPECT_EQ(huge_page_note(enabled, usage(63, 0)), "");  // a process with nothing to speak of
  for (const char* text :
       {"", "Anonymous:", "Anonymous: x kB\nAnonHugePages: 0 kB\n", "AnonHugePages: 0 kB\n",
        "Anonymous: 99999999 kB\n", "Anonymous:99999999999999999999999 kB\nAnonHugePages: 0 kB"}) {
    EXPECT_EQ(huge_page_note(enabled, text), "") << text;
    EXPECT_EQ(huge_page_note("", text), "") << text;
  }
}

// Whatever this machine gives, the note goes with it.
TEST(HugePageNote, KnowsThisSystem) {
  auto buffer = AlignedBuffer::create(std::uint64_t{128} << 20).value();
  for (std::uint64_t i = 0; i < buffer.size(); i += 4096) buffer.data()[i] = std::byte{1};
  std::ifstream in("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  if (text.find("[never]") != std::string::npos) {
    EXPECT_NE(huge_page_note().find("'never'"), std::string::npos);
  } else {
    EXPECT_EQ(huge_page_note().find("'never'"), std::string::npos);
  }
}

TEST(CheckedArithmetic, Overflows) {
  EXPECT_EQ(checked_mul(1ull << 32, 1ull << 31), 1ull << 63);
  EXPECT_FALSE(checked_mul(1ull << 32, 1ull << 32));
  EXPECT_EQ(checked_add(~0ull - 1, 1), ~0ull);
  EXPECT_FALSE(checked_add(~0ull, 1));
  EXPECT_EQ(round_up(0, 64), 0u);
  EXPECT_EQ(round_up(1, 20), 20u);
  EXPECT_EQ(round_up(40, 20), 40u);
}

}  // namespace
}  // namespace pirx
