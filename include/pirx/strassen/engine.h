// SPDX-License-Identifier: Apache-2.0
// The server's engine multiplies a matrix of queries by the database, R = Q * D, over any field. It computes
// the product in blocks, on several threads, and with Strassen's algorithm where that pays (paper 000,
// section 3).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "pirx/base/field.h"
#include "pirx/base/matrix.h"
#include "pirx/database/geometry.h"

namespace pirx::gf2e {
class Gf2;
}

namespace pirx::strassen {

using matrix::ConstView;
using matrix::Matrix;
using matrix::View;

/// The shape of a product R = Q * D: Q is q x r scalars, D is r x s database words, R is q x s sums.
struct Shape {
  std::size_t q = 0, r = 0, s = 0;
};

struct ExecOptions {
  int threads = 0;  ///< 0: as many threads as OpenMP gives the caller
  /// Levels of Strassen. -1: the plan decides. If the shape allows fewer levels than are asked for, as many
  /// as possible are used.
  int depth = -1;
};

/// How a prepared database lies in memory.
enum class Layout : std::uint8_t {
  kAuto,
  kRows,  ///< the rows as given; their bytes are borrowed
  /// Bit planes: a copy of about the same size. If the kernel cannot multiply planes, kRows is used.
  kSliced,
  /// Remainders modulo many small moduli: a copy of about 2.5 times the size, beside the given bytes, which
  /// are borrowed. Many queries over a prime field are answered several times faster. If the kernel cannot
  /// multiply residues, kAuto is used.
  kResidues,
};

struct PrepareOptions {
  Layout layout = Layout::kAuto;  ///< kAuto: planes, if they are faster and need little padding; else rows
  int threads = 0;                ///< 0: as many threads as OpenMP gives the caller
  /// For kSliced: how many levels of Strassen are stored with the database, at most 2. One level takes 7/4 of
  /// the database's memory, two levels take 47/16 (they are one step of 47 products, instead of 49). Each
  /// level saves nearly an eighth of the time when there are many queries, and costs nothing when there are
  /// few. If the blocks would become too small, fewer levels are stored. The other layouts store none.
  int depth = 0;
};

/// The file that keeps the prepared planes between runs (docs/prepared_format.md).
struct KeepIn {
  std::filesystem::path file;
  /// The version of the content that is prepared. A file made from another version is replaced.
  database::Version version;
  /// Called with a line for people that says what happened; may be empty.
  std::function<void(const std::string&)> note = nullptr;
  /// Called before planes are kept: whether what they were made from is sound. May be empty.
  std::function<Result<void>()> check = nullptr;
};

/// How the entries of a product are computed.
enum class Way : std::uint8_t {
  kRows,      ///< the database row by row, with levels of Strassen around it
  kToom,      ///< from rows, for many queries: Toom-Cook
  kResidues,  ///< from rows or residues, for many queries: modulo many small moduli
  kPlanes,    ///< from planes: a bilinear scheme on sums of planes
  kFused,     ///< from planes, for fewer queries: as kPlanes, but the sums are formed in registers
  kDirect,    ///< from planes, for few queries: no sums are formed
};

/// How a product will be computed. The same shape, options and kernel always give the same plan.
struct Plan {
  Shape shape;
  Layout layout = Layout::kRows;  ///< the layout that is read
  Way way = Way::kRows;
  int depth = 0;  ///< levels of Strassen
  /// For kSliced: levels that are stored with the database. If there are any, the members below describe the
  /// product of one stored part.
  int stored = 0;
  /// kPlanes and kFused: the scheme, as its place in the kernel's list, and how many products of bits it
  /// makes of one product of elements.
  std::size_t scheme = 0, products = 0;
  int threads = 1;
  /// True: each thread multiplies some of the rows, and the results are added up, because the rows are short.
  /// False: each thread computes some of the columns.
  bool split_rows = false;
  std::size_t tile_rows = 0;     ///< rows of D in a block
  std::size_t tile_words = 0;    ///< words of a row of D in a block
  std::size_t tile_queries = 0;  ///< queries in one pass over D
  std::size_t chunk_rows = 0;    ///< all ways but kRows: rows whose scalars of Q are prepared at a time
  /// All ways but kRows: panels of columns that are multiplied one after another by the same block of
  /// queries, which meanwhile stays in the cache.
  std::size_t run = 1;
  std::uint64_t workspace_bytes = 0;  ///< memory of all threads together
  std::string kernel;
  /// One line for people: "q=256 r=32768 s=32768 kernel=gfni512 depth=2 threads=2 ...".
  std::string to_string() const;
};

class PreparedPlanes;
class ResidueMatrix;

/// A database laid out for one field and one kernel. Cheap to copy. In the layouts kRows and kResidues it
/// borrows the database's bytes, which must outlive it.
template <class F>
class PreparedMatrix {
 public:
  std::size_t rows() const noexcept { return words_.rows; }
  /// The number of words in a row.
  std::size_t cols() const noexcept { return cols_; }
  Layout layout() const noexcept {
    return planes_ ? Layout::kSliced : residues_ ? Layout::kResidues : Layout::kRows;
  }
  /// The number of Strassen levels that are stored.
  int depth() const noexcept { return depth_; }
  /// The bytes of memory that it owns, without those that it borrows.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// The same without the rows before `first` and from `first` + `rows` on. Both are multiples of 16, unless
  /// it ends with the last row. Nothing if levels of Strassen or residues are stored, which need all rows.
  std::optional<PreparedMatrix> window(std::size_t first, std::size_t rows) const {
    PIRX_CHECK(first % 16 == 0 && first <= this->rows() && rows <= this->rows() - first);
    PIRX_CHECK(rows % 16 == 0 || first + rows == this->rows());
    if (depth_ > 0 || residues_) return std::nullopt;
    PreparedMatrix part = *this;
    part.words_.rows = rows;
    if (part.words_.data != nullptr) part.words_.data = words_.row(first);
    part.first_row_ += first;
    return part;
  }

 private:
  template <class>
  friend class Engine;
  PreparedMatrix(ConstView<std::byte> words, std::size_t word_bytes)
      : words_(words), word_bytes_(word_bytes), cols_(words.cols / word_bytes) {}
  ConstView<std::byte> words_;  // cols counts bytes
  std::size_t word_bytes_, cols_;
  std::size_t first_row_ = 0;  // of the planes
  int depth_ = 0;
  std::uint64_t bytes_ = 0;
  std::shared_ptr<const PreparedPlanes> planes_;
  std::shared_ptr<const ResidueMatrix> residues_;
};

/// Multiplies matrices over F. Const, thread-safe and cheap to copy. The results are the same for every plan,
/// thread count and kernel.
template <class F>
class Engine {
 public:
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;

  /// Uses the best kernel that this process may use (see PIRX_FORCE_ISA).
  explicit Engine(const F& f);
  /// Uses the given kernel, which must outlive the engine. For tests and benchmarks.
  Engine(const F& f, const Kernels<F>& kernels);

  const F& field() const noexcept { return f_; }
  const Kernels<F>& kernels() const noexcept { return *kernels_; }

  /// Lays D out for multiply(). On input D holds database bytes, and D.cols is a multiple of f.word_bytes().
  /// With `keep`, planes are read from its file if the file fits; otherwise they are made and written there.
  /// InvalidArgument: D has another width. ResourceExhausted: there is no memory for the copy.
  Result<PreparedMatrix<F>> prepare(ConstView<std::byte> D, const PrepareOptions& options = {},
                                    const KeepIn* keep = nullptr) const;

  /// The bytes of memory that prepare() will take for a database of `rows` rows of `words` words.
  std::uint64_t prepared_bytes(std::size_t rows, std::size_t words, const PrepareOptions& options = {}) const;

  /// The plan that multiply() will follow for a database of this shape, prepared with the options `prepared`.
  Plan plan(const Shape& shape, const ExecOptions& options = {}, const PrepareOptions& prepared = {}) const;

  /// R = Q * D. Q: q x r, R: q x s. R must not overlap Q. InvalidArgument: the shapes do not match, or D was
  /// prepared for another word size or in planes that this engine's kernel cannot multiply.
  /// ResourceExhausted: there is no memory for the workspace. Timing may depend on values: Q holds uniform
  /// shares, never an index.
  Result<void> multiply(ConstView<Elem> Q, const PreparedMatrix<F>& D, View<Sum> R,
                        const ExecOptions& options = {}) const;

  /// multiply() over GF(2) with the scalars of Q in bits: bit k of byte g of a row is scalar 8 g + k. Q: q x
  /// ceil(r / 8) bytes; bits after the last scalar mean nothing.
  Result<void> multiply_bits(ConstView<std::byte> Q, const PreparedMatrix<F>& D, View<Sum> R,
                             const ExecOptions& options = {}) const requires std::same_as<F, gf2e::Gf2>;

  /// R = Q * D where D holds sums (shares, replies) instead of database words. The rest is as in multiply().
  Result<void> multiply_sums(ConstView<Elem> Q, ConstView<Sum> D, View<Sum> R,
                             const ExecOptions& options = {}) const;

 private:
  F f_;
  const Kernels<F>* kernels_;
};

}  // namespace pirx::strassen
