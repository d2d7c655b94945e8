// SPDX-License-Identifier: Apache-2.0
// Planes that are kept in a file: every kernel reads what another one wrote.
#include <gtest/gtest.h>

#include <array>

#include "pirx/fp/w160.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/gf2e/gf2_16.h"
#include "pirx/gf2e/gf2_8.h"
#include "pirx/strassen/engine.h"
#include "src/database/prepared_file.h"
#include "support/files.h"
#include "support/kernels.h"
#include "support/seed.h"

namespace pirx::strassen {
namespace {

using testing::good;
using testing::random_bytes;
using testing::TemporaryFolder;

template <class F>
class KeptPlanes : public ::testing::Test {};
using Fields = ::testing::Types<gf2e::Gf2, gf2e::Gf2_8, gf2e::Gf2_16>;
TYPED_TEST_SUITE(KeptPlanes, Fields);

// All kernels lay planes out alike: what one saves, every other loads.
TYPED_TEST(KeptPlanes, AreReadByEveryKernelAsTheyWerePrepared) {
  using F = TypeParam;
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;
  const F f;
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto random = testing::seeded_engine(20u + f.tag().bits);
  std::vector<Kernels<F>> sliced;
  for (const Kernels<F>& kernels : testing::runnable(kernel_table(f))) {
    if (kernels.sliced != nullptr) sliced.push_back(kernels);
  }
  if (sliced.empty()) GTEST_SKIP() << "no kernel of this CPU computes in planes";
  std::string note;
  const KeepIn keep{folder / "f", {{}, 1}, [&note](const std::string& text) { note = text; }};
  int deepest = 0;
  for (const auto& [rows, words] :
       {std::pair<std::size_t, std::size_t>{64, 2048}, {150, 1900}, {1, 64}, {333, 65}, {600, 3000}}) {
    for (const int depth : {0, 1}) {
      const std::size_t row_bytes = words * f.word_bytes();
      const Bytes bytes = random_bytes(random, rows * row_bytes);
      const ConstView<std::byte> D{bytes.data(), rows, row_bytes, row_bytes};
      std::vector<Elem> q(3 * rows);
      for (auto& e : q) e = f.from_label(random() % f.size_limit());
      const ConstView<Elem> Q{q.data(), 3, rows, rows * sizeof(Elem)};
      std::vector<Sum> expected(3 * words), got(3 * words);
      const auto view = [&](std::vector<Sum>& sums) {
        return View<Sum>{sums.data(), 3, words, words * sizeof(Sum)};
      };
      const PrepareOptions options{.layout = Layout::kSliced, .threads = 2, .depth = depth};
      for (const auto& saving : sliced) {
        const Engine<F> saver(f, saving);
        std::filesystem::remove(keep.file);
        const auto prepared = saver.prepare(D, options, &keep);
        ASSERT_TRUE(good(prepared));
        EXPECT_NE(note.find("kept for the next start"), std::string::npos) << note;
        deepest = std::max(deepest, prepared->depth());
        ASSERT_TRUE(good(saver.multiply(Q, *prepared, view(expected))));
        for (const auto& loading : sliced) {
          const Engine<F> loader(f, loading);
          const auto loaded = loader.prepare(D, options, &keep);
          ASSERT_TRUE(good(loaded)) << saving.name << " " << loading.name;
          EXPECT_EQ(note, "the prepared database was read") << saving.name << " " << loading.name;
          EXPECT_EQ(loaded->rows(), rows);
          EXPECT_EQ(loaded->cols(), words);
          EXPECT_EQ(loaded->layout(), Layout::kSliced);
          EXPECT_EQ(loaded->depth(), prepared->depth());
          EXPECT_EQ(loaded->bytes(), prepared->bytes());
          std::fill(got.begin(), got.end(), Sum{1});
          ASSERT_TRUE(good(loader.multiply(Q, *loaded, view(got))));
          EXPECT_TRUE(got == expected) << saving.name << " " << loading.name << " " << rows << " x " << words;
        }
      }
    }
  }
  EXPECT_EQ(deepest, 1);
}

TEST(KeptPlanes, AreMadeAnewForAnythingElse) {
  const gf2e::Gf2_8 f;
  const Engine<gf2e::Gf2_8> engine(f);
  if (engine.kernels().sliced == nullptr) GTEST_SKIP() << "no kernel that is allowed computes in planes";
  const TemporaryFolder folder(TemporaryFolder::kMemory);
  auto random = testing::seeded_engine(30);
  const std::size_t rows = 130, row_bytes = 4098;
  const Bytes bytes = random_bytes(random, rows * row_bytes);
  const auto part = [&](std::size_t height, std::size_t width) {
    return ConstView<std::byte>{bytes.data(), height, width, row_bytes};
  };
  std::string note;
  const auto noted = [&](const auto& with, ConstView<std::byte> D, database::Version version,
                         const PrepareOptions& options = {}) {
    const KeepIn keep{folder / "f", version, [&note](const std::string& text) { note = text; }};
    note.clear();
    EXPECT_TRUE(good(with.prepare(D, options, &keep)));
    return note;
  };
  const database::Version version{{}, 5};
  const auto expect_remade = [&](const std::string& what, const std::string& why) {
    EXPECT_NE(what.find("was prepared ("), std::string::npos) << what;
    EXPECT_NE(what.find(why), std::string::npos) << what;
    EXPECT_NE(what.find("kept for the next start"), std::string::npos) << what;
    // The file is as it was again.
    noted(engine, part(128, 4096), version);
  };
  expect_remade(noted(engine, part(128, 4096), version), "No such file");
  EXPECT_EQ(noted(engine, part(128, 4096), version), "the prepared database was read");
  expect_remade(noted(engine, part(128, 4096), {{}, 6}), "another database");
  expect_remade(noted(engine, part(128, 4096), {{std::byte{1}}, 5}), "another database");
  expect_remade(noted(engine, part(129, 4096), version), "128 rows of 4096 bytes");
  expect_remade(noted(engine, part(128, 4097), version), "wanted are planes of gf2_8");
  expect_remade(noted(engine, part(128, 4096), version, {.depth = 1}), "1 levels of Strassen");
  expect_remade(noted(Engine<gf2e::Gf2_16>(gf2e::Gf2_16()), part(128, 4096), version), "planes of gf2_16");
  // Planes of another order or basis, otherwise alike.
  Bytes planes(128 * 4096);
  const std::array<MutableByteSpan, 1> parts{planes};
  const database::PreparedLabel other{
      version, "planes of gf2_8 (order 2, 8 planes), 128 rows of 4096 bytes, 0 levels of Strassen", 1,
      planes.size()};
  ASSERT_TRUE(good(database::read_or_prepare(
      folder / "f", other, parts, 1, [] { return Result<void>(); }, nullptr)));
  expect_remade(noted(engine, part(128, 4096), version), "order 2");
  const std::string nothing = "there is nothing to keep";
  EXPECT_NE(noted(engine, part(3, 5), version).find(nothing), std::string::npos) << note;
  EXPECT_NE(noted(Engine<fp::W160>(fp::W160()), part(128, 4000), version).find(nothing), std::string::npos);
  EXPECT_NE(noted(engine, part(128, 4096), version, {.layout = Layout::kRows}).find(nothing),
            std::string::npos);
}

}  // namespace
}  // namespace pirx::strassen
