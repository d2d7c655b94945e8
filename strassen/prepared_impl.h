// Engine::save and Engine::load: planes to a side file and back.
#pragma once

#include "strassen/prepared_file.h"
#include "strassen/prepared_planes.h"
#include "strassen/threads.h"

namespace pirx::strassen {
namespace detail {

template <class F>
PreparedLabel label_of(const F& f, const SlicedKernels& kernels, std::size_t rows, std::size_t row_bytes,
                       int depth, const PreparedOrigin& origin) {
  const StoredBlocks blocks(kernels, rows, row_bytes, depth);
  return {f.tag(),
          kernels.planes,
          rows,
          row_bytes,
          origin,
          static_cast<std::uint32_t>(depth),
          static_cast<std::uint32_t>(blocks.parts),
          SlicedMatrix::bytes(kernels, blocks.rows, blocks.row_bytes)};
}

}  // namespace detail

template <class F>
Result<void> Engine<F>::save(const PreparedMatrix<F>& D, const std::filesystem::path& file,
                             const PreparedOrigin& origin, int threads) const try {
  if (D.planes_ == nullptr || kernels_->sliced == nullptr || D.word_bytes_ != f_.word_bytes()) {
    return fail(ErrorCode::kInvalidArgument,
                "the database was not prepared in planes for this field: there is "
                "nothing to keep in a file");
  }
  std::vector<ByteSpan> parts;
  for (const SlicedMatrix& part : D.planes_->parts()) parts.push_back(part.bytes());
  return write_prepared_file(
      file, detail::label_of(f_, *kernels_->sliced, D.rows(), D.cols() * f_.word_bytes(), D.depth(), origin),
      parts, threads > 0 ? threads : available_threads());
} catch (const std::bad_alloc&) {
  return fail(ErrorCode::kResourceExhausted, "there is no memory to write the prepared database");
}

template <class F>
Result<PreparedMatrix<F>> Engine<F>::load(const std::filesystem::path& file, const PreparedOrigin& origin,
                                          std::size_t rows, std::size_t row_bytes,
                                          const PrepareOptions& options) const try {
  if (row_bytes % f_.word_bytes() != 0 || !detail::slices(*kernels_, rows, row_bytes, options.layout)) {
    return fail(ErrorCode::kInvalidArgument,
                "a database of this shape is not prepared in planes for this "
                "field and CPU: no file can hold it");
  }
  const SlicedKernels& sliced = *kernels_->sliced;
  PreparedMatrix<F> prepared({nullptr, rows, row_bytes, row_bytes}, f_.word_bytes());
  prepared.depth_ = stored_depth(sliced, rows, row_bytes, options.depth);
  const auto label = detail::label_of(f_, sliced, rows, row_bytes, prepared.depth_, origin);
  PIRX_ASSIGN(const PreparedFile kept, PreparedFile::open(file, label));

  const StoredBlocks blocks(sliced, rows, row_bytes, prepared.depth_);
  std::vector<SlicedMatrix> parts;
  std::vector<MutableByteSpan> bytes;
  for (std::uint32_t i = 0; i < label.parts; ++i) {
    PIRX_ASSIGN(auto part, SlicedMatrix::create_zero(sliced, blocks.rows, blocks.row_bytes));
    parts.push_back(std::move(part));
    bytes.push_back(parts.back().bytes());
  }
  PIRX_TRY(kept.read(bytes, options.threads > 0 ? options.threads : available_threads()));
  PIRX_ASSIGN(auto planes,
              PreparedPlanes::from_parts(sliced, rows, row_bytes, prepared.depth_, std::move(parts)));
  prepared.planes_ = std::make_shared<const PreparedPlanes>(std::move(planes));
  prepared.bytes_ = PreparedPlanes::bytes(sliced, rows, row_bytes, prepared.depth_);
  return prepared;
} catch (const std::bad_alloc&) {
  return fail(ErrorCode::kResourceExhausted, "there is no memory for the prepared database");
}

}  // namespace pirx::strassen
