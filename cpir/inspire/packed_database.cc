// SPDX-License-Identifier: Apache-2.0
// Packs words and builds blocks, in parallel over blocks. A prepared file holds the salt, and for each block
// a digest of its columns, so that a block is only built anew when its columns changed.
#include "packed_database.h"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "block_builder.h"
#include "src/base/parallel_try.h"
#include "src/database/prepared_file.h"

namespace pirx::cpir::inspire {
namespace {

constexpr std::size_t kPackedRows = 64;  // rows that are packed at a time

/// Copies words of the matrix out of the database's units.
class WordReader {
 public:
  WordReader(const Params& params, const database::Database& database)
      : params_(params), rows_(database.rows()) {}

  void operator()(std::size_t row, std::size_t first, std::size_t count, std::byte* words) const {
    const std::size_t size = params_.set().word_bytes();
    const MutableByteSpan out(words, count * size);
    std::fill(out.begin(), out.end(), std::byte{0});
    const auto& layout = params_.spec().layout;
    const std::uint64_t unit_bytes = params_.unit_bytes(), begin = std::uint64_t{first} * size,
                        end = begin + out.size();
    if (layout.rows_each > 1) {
      // A part of one unit.
      const std::uint64_t offset = row % layout.rows_each * params_.row_bytes();
      copy(row / layout.rows_each, offset + begin, std::min(unit_bytes, offset + end), out.data());
      return;
    }
    for (std::uint64_t i = begin / unit_bytes; i < layout.per_row && i * unit_bytes < end; ++i) {
      const std::uint64_t from = std::max(begin, i * unit_bytes), to = std::min(end, (i + 1) * unit_bytes);
      copy(row * layout.per_row + i, from - i * unit_bytes, to - i * unit_bytes, out.data() + (from - begin));
    }
  }

 private:
  /// Bytes [from, to) of a unit, if there is such a unit.
  void copy(std::uint64_t unit, std::uint64_t from, std::uint64_t to, std::byte* out) const {
    if (unit >= params_.units() || from >= to) return;
    const auto& geometry = params_.geometry();
    database::Location at{unit, 0};
    if (!geometry.keyed()) {
      const auto per_row = geometry.spec().records_per_row;
      at = {unit / per_row, unit % per_row * geometry.slot_bytes()};
    }
    std::copy_n(rows_.row(static_cast<std::size_t>(at.row)) + at.offset + from, to - from, out);
  }
  const Params& params_;
  matrix::ConstView<std::byte> rows_;
};

/// The layout of a part of a prepared file: salt, digest of the columns, masks, packed H.
constexpr std::size_t kDigestAt = sizeof(Salt), kMasksAt = kDigestAt + sizeof(Digest);
static_assert(kMasksAt % 64 == 0);
std::uint64_t packing_at(const Params& params) noexcept {
  return kMasksAt + round_up(params.masks_bytes(), 64);
}

strassen::IntegerShape packing_shape_of(const Params& params, std::size_t columns) noexcept {
  return {params.set().l * params.d(), columns, params.set().packing_bytes};
}
strassen::IntegerShape words_shape_of(const Params& params, std::size_t columns) noexcept {
  return {params.rows(), columns, params.set().word_bytes()};
}

/// Everything that H and masks of a block depend on.
Digest columns_digest(const Params& params, const WordReader& read, std::size_t block) {
  Sha256 hash;
  Writer writer;
  writer.put_bytes(as_bytes("pirx inspire columns"));
  writer.put_bytes(params.spec().salt);
  hash.update(std::move(writer).take());
  const std::size_t count = params.columns_of(block);
  Bytes words(kPackedRows * count * params.set().word_bytes());
  for (std::size_t row = 0; row < params.rows();) {
    std::size_t filled = 0;
    for (std::size_t i = 0; i < kPackedRows && row < params.rows(); ++i, ++row) {
      read(row, block * params.d(), count, words.data() + filled);
      filled += count * params.set().word_bytes();
    }
    hash.update(ByteSpan(words).first(filled));
  }
  return std::move(hash).finish();
}

void pack_words(const Params& params, const WordReader& read, std::size_t block, std::byte* packed) {
  const auto shape = words_shape_of(params, params.columns_of(block));
  const std::size_t stride = shape.columns * shape.word_bytes;
  Bytes words(kPackedRows * stride);
  for (std::size_t first = 0; first < shape.rows; first += kPackedRows) {
    const std::size_t count = std::min(kPackedRows, shape.rows - first);
    for (std::size_t i = 0; i < count; ++i) {
      read(first + i, block * params.d(), shape.columns, words.data() + i * stride);
    }
    strassen::pack_integers(shape, words.data(), stride, first, count, packed);
  }
}

Result<void> build_block(const Params& params, const BlockBuilder& builder, const WordReader& read,
                         std::size_t block, BlockScratch& scratch, MutableByteSpan part) {
  const auto shape = packing_shape_of(params, params.columns_of(block));
  const std::size_t stride = shape.columns * shape.word_bytes;
  Bytes packing(shape.rows * stride);
  PIRX_TRY(builder.build(block, read, scratch, {part.subspan(kMasksAt, params.masks_bytes()), packing}));
  strassen::pack_integers(shape, packing.data(), stride, 0, shape.rows,
                          part.data() + static_cast<std::size_t>(packing_at(params)));
  return {};
}

Params with(const Params& params, const Salt& salt, std::vector<Digest> masks) {
  auto spec = params.spec();
  spec.salt = salt;
  spec.masks = std::move(masks);
  auto made = Params::create(std::move(spec));
  PIRX_CHECK(made.has_value());
  return std::move(*made);
}

}  // namespace

std::uint64_t packed_database_bytes(const Params& params) noexcept {
  const std::size_t d = std::min(params.d(), params.columns());
  return saturated_mul(
      params.blocks(),
      saturated_add(strassen::packed_bytes(words_shape_of(params, d)),
                    packing_at(params) + strassen::packed_bytes(packing_shape_of(params, d))));
}

std::uint64_t preparation_bytes(const Params& params, int threads) noexcept {
  const auto shape = packing_shape_of(params, std::min(params.d(), params.columns()));
  return static_cast<std::uint64_t>(threads) *
         (BlockBuilder::scratch_bytes(params) + shape.rows * shape.columns * shape.word_bytes);
}

Result<PackedDatabase> PackedDatabase::create(Params params, const database::Database& database, int threads,
                                              const std::string& file,
                                              const std::function<void(const std::string&)>& note) {
  PackedDatabase out(std::move(params));
  const Params& plan = out.params_;
  const std::size_t d = std::min(plan.d(), plan.columns());
  out.words_bytes_ = strassen::packed_bytes(words_shape_of(plan, d));
  out.part_bytes_ = packing_at(plan) + strassen::packed_bytes(packing_shape_of(plan, d));
  const auto words = checked_mul(plan.blocks(), out.words_bytes_),
             parts = checked_mul(plan.blocks(), out.part_bytes_);
  if (!words || !parts) return fail(ErrorCode::kResourceExhausted, "no machine has memory for this database");
  PIRX_ASSIGN(out.words_, AlignedBuffer::create(*words));
  PIRX_ASSIGN(out.parts_, AlignedBuffer::create(*parts));
  PIRX_TRY(out.build_blocks(database, threads, file, note));
  return out;
}

Result<void> PackedDatabase::build_blocks(const database::Database& database, int threads,
                                          const std::string& file,
                                          const std::function<void(const std::string&)>& note) {
  const auto tell = [&](const std::string& text) {
    if (note) note(text);
  };
  // What the parts hold says itself which database it belongs to, block by block.
  const auto& set = params_.set();
  const database::PreparedLabel label{{},
                                      "packing of inspire (order 1), s" + std::to_string(set.w) + ", d " +
                                          std::to_string(set.d()) + ", " + std::to_string(params_.rows()) +
                                          " rows, " + std::to_string(params_.columns()) + " columns",
                                      static_cast<std::uint32_t>(params_.blocks()),
                                      part_bytes_};
  std::vector<MutableByteSpan> parts;
  std::vector<std::size_t> all;
  for (std::size_t block = 0; block < params_.blocks(); ++block) {
    parts.push_back(part(block));
    all.push_back(block);
  }
  Salt salt = params_.spec().salt;
  std::string why;
  bool read = false;
  if (!file.empty()) {
    const auto opened = database::PreparedFile::open(file, label);
    const auto done = opened ? opened->read(parts, threads) : tl::unexpected(opened.error());
    read = done.has_value();
    if (read) {
      std::copy_n(parts[0].begin(), salt.size(), salt.begin());
    } else {
      why = done.error().message();
    }
  }
  params_ = with(params_, salt, {});
  const WordReader words(params_, database);

  std::vector<Digest> digests(params_.blocks());
  std::vector<char> same(params_.blocks(), 0);
  PIRX_TRY(parallel_try(threads, all.size(), [&](std::size_t block, std::size_t) -> Result<void> {
    pack_words(params_, words, block, words_.data() + block * words_bytes_);
    if (file.empty()) return {};
    digests[block] = columns_digest(params_, words, block);
    const auto held = parts[block];
    same[block] = read && std::equal(salt.begin(), salt.end(), held.begin()) &&
                  std::equal(digests[block].begin(), digests[block].end(), held.begin() + kDigestAt);
    return {};
  }));
  std::vector<std::size_t> missing;
  std::copy_if(all.begin(), all.end(), std::back_inserter(missing),
               [&](auto block) { return same[block] == 0; });

  if (!missing.empty()) {
    tell("prepares " + std::to_string(missing.size()) + " of " + std::to_string(all.size()) +
         " blocks of columns" + (why.empty() ? "" : " (" + why + ")"));
    PIRX_ASSIGN(const auto builder, BlockBuilder::create(params_, Ring::get(set.log_d), threads));
    std::vector<BlockScratch> scratch;
    for (int thread = 0; thread < threads; ++thread) {
      PIRX_ASSIGN(auto one, builder.scratch());
      scratch.push_back(std::move(one));
    }
    const auto start = std::chrono::steady_clock::now();
    std::mutex mutex;
    std::size_t done = 0, told = 0;
    const auto build = [&](std::size_t i, std::size_t worker) -> Result<void> {
      const std::size_t block = missing[i];
      PIRX_TRY(build_block(params_, builder, words, block, scratch[worker], parts[block]));
      std::copy(salt.begin(), salt.end(), parts[block].begin());
      std::copy(digests[block].begin(), digests[block].end(), parts[block].begin() + kDigestAt);
      const std::lock_guard lock(mutex);
      // About ten lines for a long preparation, none for a short one.
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (++done < missing.size() && spent.count() > 2 && 10 * done / missing.size() > told) {
        told = 10 * done / missing.size();
        const double left =
            spent.count() / static_cast<double>(done) * static_cast<double>(missing.size() - done);
        tell("prepared " + std::to_string(100 * done / missing.size()) + " %, about " +
             std::to_string(static_cast<int>(left) + 1) + " s to go");
      }
      return {};
    };
    PIRX_TRY(parallel_try(threads, missing.size(), build));
  }
  std::vector<Digest> masks_digests;
  for (const auto block : all) masks_digests.push_back(mask_digest(salt, block, masks(block)));
  params_ = with(params_, salt, std::move(masks_digests));
  if (file.empty()) return {};
  if (missing.empty()) {
    tell("the prepared database was read");
    return {};
  }
  // What was made from damaged rows would be taken for what sound ones make.
  PIRX_TRY(database.verify());
  const auto kept =
      database::write_prepared_file(file, label, std::vector<ByteSpan>(parts.begin(), parts.end()), threads);
  tell(kept ? "kept for the next start" : "not kept: " + kept.error().message());
  return {};
}

strassen::IntegerShape PackedDatabase::words_shape(std::size_t block) const noexcept {
  return words_shape_of(params_, params_.columns_of(block));
}
strassen::IntegerShape PackedDatabase::packing_shape(std::size_t block) const noexcept {
  return packing_shape_of(params_, params_.columns_of(block));
}
const std::byte* PackedDatabase::packing(std::size_t block) const noexcept {
  return parts_.data() + block * part_bytes_ + packing_at(params_);
}
ByteSpan PackedDatabase::masks(std::size_t block) const noexcept {
  return {parts_.data() + block * part_bytes_ + kMasksAt, params_.masks_bytes()};
}
MutableByteSpan PackedDatabase::part(std::size_t block) noexcept {
  return {parts_.data() + block * part_bytes_, static_cast<std::size_t>(part_bytes_)};
}

}  // namespace pirx::cpir::inspire
