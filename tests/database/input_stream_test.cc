// SPDX-License-Identifier: Apache-2.0
// What gzip and zstd packed: the same bytes come out, damage has a place, and bombs stay small.
#include "src/database/input_stream.h"

#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <thread>

#include "importer_fixture.h"
#include "memory_limit.h"
#include "support/memory.h"

namespace pirx::database {
namespace {

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(::deflateBound(&stream, text.size()), '\0');
  std::string in(text);
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ::ZSTD_createCCtx();
  ::ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  const std::size_t size = ::ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
  ::ZSTD_freeCCtx(context);
  EXPECT_EQ(::ZSTD_isError(size), 0u);
  out.resize(size);
  return out;
}

struct Kind {
  const char *name, *suffix;
  std::string (*pack)(std::string_view);
  const char* bomb;  ///< what a line that never ends is refused for
};
constexpr Kind kKinds[] = {{"gzip", ".gz", gzip, "line 1: a line or row is longer than the limit"},
                           {"zstd", ".zst", zstd, "times as long"}};

/// All that comes out of a file with that content, read in pieces.
Result<std::string> unpacked(const std::string& packed, const std::string& name = "input",
                             std::size_t piece = 1000) {
  const TemporaryFolder folder;
  write_file(folder / name, as_bytes(packed));
  PIRX_ASSIGN(auto stream, InputStream::open(folder / name));
  EXPECT_EQ(stream.total(), packed.size());
  std::string text;
  for (Bytes buffer(piece);;) {
    PIRX_ASSIGN(const std::size_t count, stream.read(buffer));
    text += as_text(ByteSpan(buffer).first(count));
    if (count < buffer.size()) break;
  }
  EXPECT_EQ(stream.consumed(), packed.size());
  return text;
}

TEST(InputStream, GivesBackWhatWasPacked) {
  auto engine = testing::seeded_engine(21);
  // Sizes around the buffers; random text hardly packs, repeated text packs well.
  for (const std::size_t size : {0u, 1u, 999u, 1000u, 65'535u, 65'536u, 65'537u, 400'000u}) {
    for (const std::string& text : {random_text(engine, "0123456789abcdef", size), std::string(size, 'x')}) {
      const auto plain = unpacked(text);
      ASSERT_TRUE(good(plain));
      EXPECT_EQ(*plain, text);
      for (const auto& kind : kKinds) {
        for (const std::size_t piece : {1000u, 262'144u}) {
          const auto again = unpacked(kind.pack(text), std::string("x") + kind.suffix, piece);
          ASSERT_TRUE(good(again));
          EXPECT_EQ(*again, text);
        }
        // One after another, as `cat a.gz b.gz` gives.
        const auto twice = unpacked(kind.pack(text) + kind.pack("") + kind.pack("end"));
        ASSERT_TRUE(good(twice));
        EXPECT_EQ(*twice, text + "end");
      }
    }
  }
}

TEST(InputStream, ZstdMayBeginWithAFrameThatIsSkipped) {
  // As pzstd writes it: before each frame one that says how long it is.
  const auto skipped = [](int kind, std::string_view text) {
    return std::string{static_cast<char>(0x50 + kind), '\x2a', '\x4d', '\x18',
                       static_cast<char>(text.size()), 0,      0,      0} +
           std::string(text);
  };
  for (int kind = 0; kind < 16; ++kind) {
    for (const char* name : {"data.csv.zst", "input"}) {
      const auto text =
          unpacked(skipped(kind, "size") + zstd("one\n") + skipped(kind, "") + zstd("two\n"), name);
      ASSERT_TRUE(good(text));
      EXPECT_EQ(*text, "one\ntwo\n");
    }
  }
  expect_error(unpacked(skipped(0, "size").substr(0, 10)), ErrorCode::kDataLoss, "ends too early");
  expect_error(unpacked(skipped(0, "size") + "a,b\n1,2\n"), ErrorCode::kDataLoss, "the zstd data is damaged");
}

TEST(InputStream, CutOffAtEveryByteIsDataLoss) {
  for (const auto& kind : kKinds) {
    const std::string packed = kind.pack("some text that is packed, some text that is packed");
    for (std::size_t size = 4; size < packed.size(); ++size) {
      expect_error(unpacked(packed.substr(0, size)), ErrorCode::kDataLoss,
                   "input, byte " + std::to_string(size) + ": the packed data ends too early");
    }
    expect_error(unpacked(packed.substr(0, 1), std::string("data") + kind.suffix), ErrorCode::kDataLoss,
                 std::string("this is no ") + kind.name + " data");
  }
}

TEST(InputStream, DamageIsDataLossOrTheSameText) {
  const std::string text = "some text that is packed, some text that is packed";
  for (const auto& kind : kKinds) {
    const std::string packed = kind.pack(text);
    int damaged = 0;
    for (std::size_t bit = 32; bit < 8 * packed.size(); ++bit) {
      std::string changed = packed;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
      const auto again = unpacked(changed);
      // Some bits of the headers say nothing about the text.
      if (again) {
        EXPECT_EQ(*again, text) << kind.name << " bit " << bit;
      } else {
        EXPECT_TRUE(again.error().code() == ErrorCode::kDataLoss ||
                    again.error().code() == ErrorCode::kResourceExhausted)
            << again.error().message();
        ++damaged;
      }
    }
    EXPECT_GT(damaged, 100);
    expect_error(unpacked(packed + "rubbish"), ErrorCode::kDataLoss,
                 std::string("the ") + kind.name + " data is damaged");
  }
}

TEST(InputStream, TheNameMustBeRight) {
  expect_error(unpacked("a,b\n1,2\n", "data.csv.gz"), ErrorCode::kDataLoss,
               "data.csv.gz: the name ends with .gz, but this is no gzip data");
  expect_error(unpacked("", "data.csv.zst"), ErrorCode::kDataLoss, "this is no zstd data");
}

TEST(InputStream, PipesToo) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::thread writer([&] { write_file(folder / "pipe", as_bytes(zstd("one\ntwo\n"))); });
  const auto rows =
      imported(folder, [&](DatabaseBuilder& builder) { return import_lines(folder / "pipe", builder); });
  writer.join();
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(*rows, (Rows{{"", "one"}, {"", "two"}}));
}

TEST(InputStream, EveryImporterOfTextUnpacks) {
  for (const auto& kind : kKinds) {
    auto rows = imported_text(kind.pack("k,v\n1,one\n"), [](const auto& file, DatabaseBuilder& builder) {
      return import_delimited(file, ',', true, {"k", {"v"}}, builder);
    });
    ASSERT_TRUE(good(rows));
    EXPECT_EQ(*rows, (Rows{{"1", "one"}}));
    rows =
        imported_text(kind.pack("{\"k\":1,\"v\":\"one\"}\n"), [](const auto& file, DatabaseBuilder& builder) {
          return import_json_lines(file, {"k", {"v"}}, builder);
        });
    ASSERT_TRUE(good(rows));
    EXPECT_EQ(*rows, (Rows{{"1", "one"}}));
  }
}

TEST(InputStream, ABombDoesNotEatTheMemory) {
  // 400 MiB of zeros without a newline in a few hundred kilobytes: refused at the limit of a line.
  const std::string zeros(std::size_t{40} << 20, '0');
  for (const auto& kind : kKinds) {
    const TemporaryFolder folder;
    const std::string one = kind.pack(zeros);
    std::string bomb;
    for (int i = 0; i < 10; ++i) bomb += one;
    EXPECT_LT(bomb.size(), std::size_t{4} << 20);
    write_file(folder / "bomb", as_bytes(bomb));
    expect_true_within(std::uint64_t{500} << 20, [&] {
      auto builder = DatabaseBuilder::create(folder / "db", {.max_record_bytes = 1000});
      return builder.has_value() &&
             is_error(import_lines(folder / "bomb", *builder), ErrorCode::kResourceExhausted, kind.bomb);
    });
  }
}

TEST(InputStream, ABombDoesNotFillTheDisk) {
  const auto bomb = zstd(std::string(std::size_t{200} << 20, '\n'));
  expect_error(unpacked(bomb, "input", std::size_t{1} << 18), ErrorCode::kResourceExhausted, "times as long");
}

TEST(InputStream, ABombBecomesNoHugeDatabase) {
  if (testing::kSanitized) GTEST_SKIP() << "five million records take a minute";
  const TemporaryFolder folder;
  const std::string lines(std::size_t{5} << 20, '\n');
  write_file(folder / "plain", as_bytes(lines));
  write_file(folder / "bomb", as_bytes(zstd(lines)));
  const auto build = [&](const char* input, bool meant) -> Result<BuildReport> {
    PIRX_ASSIGN(auto builder, DatabaseBuilder::create(folder / "db", {.long_records = meant}));
    PIRX_TRY(import_lines(folder / input, builder));
    return builder.finish();
  };
  expect_error(build("bomb", false), ErrorCode::kResourceExhausted, "the packed input would become");
  EXPECT_TRUE(good(build("bomb", true)));
  EXPECT_TRUE(good(build("plain", false)));
}

TEST(InputStream, AWindowOfGigabytesIsRefused) {
  // A frame's header alone: no single segment, window log 30.
  expect_error(unpacked(std::string("\x28\xb5\x2f\xfd\x00\xa0\x00\x00\x00", 9)),
               ErrorCode::kResourceExhausted, "more than 128 MiB");
}

}  // namespace
}  // namespace pirx::database
