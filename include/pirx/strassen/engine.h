// The server engine: R = Q * D over any field, blocked, threaded, with Strassen on top (paper 000, section
// 3).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "pirx/base/field.h"
#include "pirx/database/geometry.h"
#include "pirx/matrix/matrix.h"

namespace pirx::strassen {

using matrix::ConstView;
using matrix::Matrix;
using matrix::View;

/// Q is q x r scalars, D is r x s database words, R is q x s sums.
struct Shape {
  std::size_t q = 0, r = 0, s = 0;
};

struct ExecOptions {
  int threads = 0;  ///< 0: as many as OpenMP gives the caller
  int depth = -1;   ///< levels of Strassen; -1: the plan decides; more than the shape allows: as many as go
};

/// How a prepared database lies in memory.
enum class Layout : std::uint8_t {
  kAuto,
  kRows,      ///< as it was given: the bytes are borrowed
  kSliced,    ///< in planes of bits, an own copy of about the same size; where the kernel can
  kResidues,  ///< modulo many small moduli, an own copy of about 2.5 times the size beside the bytes as
              ///< given, which are borrowed: prime fields answer many queries several times faster; where the
              ///< kernel can
};

struct PrepareOptions {
  Layout layout = Layout::kAuto;  ///< kAuto: in planes where that is faster and little is padded
  int threads = 0;                ///< 0: as many as OpenMP gives the caller
  /// kSliced: levels of Strassen to store with the database, up to 2: 1 takes 7/4 of its memory, 2 (one step
  /// of 47 products, not 49) take 47/16. Each takes nearly an eighth off the time of many queries; few
  /// queries take the time that they take without. Fewer levels are stored where the blocks would be too
  /// small, and none in rows.
  int depth = 0;
};

/// Where planes are kept between runs (docs/prepared_format.md).
struct KeepIn {
  std::filesystem::path file;
  database::Version
      version;  ///< of the content that is prepared: a file that was made of another is replaced
  std::function<void(const std::string&)> note = nullptr;  ///< told in a line for people what happened
};

/// How the entries of a product are computed.
enum class Way : std::uint8_t {
  kRows,      ///< row by row of the database, with levels of Strassen around it
  kToom,      ///< rows, many queries: Toom-Cook
  kResidues,  ///< rows or residues, many queries: modulo many small moduli
  kPlanes,    ///< planes: Karatsuba on sums of planes
  kFused,     ///< planes, not many queries: the sums are formed in registers
  kDirect,    ///< planes, few queries: without sums
};

/// How a product will be computed. Pure data: the same shape, options and kernel give the same plan.
struct Plan {
  Shape shape;
  Layout layout = Layout::kRows;  ///< what is read of the prepared database
  Way way = Way::kRows;
  int depth = 0;   ///< levels of Strassen
  int stored = 0;  ///< kSliced: levels that the database has stored. If any, what follows tells of the
                   ///< product of one of its parts
  int threads = 1;
  bool split_rows = false;       ///< threads share rows (then sum) instead of columns: s is short
  std::size_t tile_rows = 0;     ///< rows of D per block
  std::size_t tile_words = 0;    ///< words of a row of D per block
  std::size_t tile_queries = 0;  ///< queries per pass over D
  std::size_t chunk_rows = 0;    ///< not kRows: rows whose queries are made ready at a time
  std::size_t run = 1;           ///< not kRows: tiles side by side that share a block of queries in the cache
  std::uint64_t workspace_bytes = 0;  ///< of all threads together
  std::string kernel;
  /// One line for people: "q=256 r=32768 s=32768 kernel=gfni512 depth=2 threads=2 ...".
  std::string to_string() const;
};

class PreparedPlanes;
class ResidueMatrix;

/// A database laid out for one field and kernel. Cheap to copy. In the layouts kRows and
/// kResidues it borrows the bytes that it was prepared from: they must outlive it.
template <class F>
class PreparedMatrix {
 public:
  std::size_t rows() const noexcept { return words_.rows; }
  /// Words in a row.
  std::size_t cols() const noexcept { return cols_; }
  Layout layout() const noexcept {
    return planes_ ? Layout::kSliced : residues_ ? Layout::kResidues : Layout::kRows;
  }
  /// Levels of Strassen that are stored.
  int depth() const noexcept { return depth_; }
  /// Memory of its own, beside the bytes that it was prepared from.
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  template <class>
  friend class Engine;
  PreparedMatrix(ConstView<std::byte> words, std::size_t word_bytes)
      : words_(words), word_bytes_(word_bytes), cols_(words.cols / word_bytes) {}
  ConstView<std::byte> words_;  // cols = bytes
  std::size_t word_bytes_, cols_;
  int depth_ = 0;
  std::uint64_t bytes_ = 0;
  std::shared_ptr<const PreparedPlanes> planes_;
  std::shared_ptr<const ResidueMatrix> residues_;
};

/// Const, thread-safe and cheap to copy. Results do not depend on plan, thread count or kernel.
template <class F>
class Engine {
 public:
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;

  /// Uses the best kernel that this process may use (PIRX_FORCE_ISA).
  explicit Engine(const F& f);
  /// Uses that kernel, which must outlive the engine; for tests and benchmarks.
  Engine(const F& f, const Kernels<F>& kernels);

  const F& field() const noexcept { return f_; }
  const Kernels<F>& kernels() const noexcept { return *kernels_; }

  /// D as database bytes: D.cols must be a multiple of f.word_bytes(), else InvalidArgument.
  /// ResourceExhausted without memory for the copy in planes. With `keep`, planes are read from its file if
  /// that holds them, and kept there if it does not.
  Result<PreparedMatrix<F>> prepare(ConstView<std::byte> D, const PrepareOptions& options = {},
                                    const KeepIn* keep = nullptr) const;

  /// The memory that prepare() will take for a database of so many rows of so many words.
  std::uint64_t prepared_bytes(std::size_t rows, std::size_t words, const PrepareOptions& options = {}) const;

  /// How multiply() will go on a database of that shape prepared with these options.
  Plan plan(const Shape& shape, const ExecOptions& options = {}, const PrepareOptions& prepared = {}) const;

  /// R = Q * D. Q: q x r, R: q x s. InvalidArgument on a shape mismatch or when D was prepared for a word of
  /// another size or a kernel without its layout, ResourceExhausted without workspace. R must not overlap Q.
  /// Timing may depend on values: Q holds uniform shares, never an index.
  Result<void> multiply(ConstView<Elem> Q, const PreparedMatrix<F>& D, View<Sum> R,
                        const ExecOptions& options = {}) const;

  /// R = Q * D with D given as sums (shares, replies) instead of database words. As multiply otherwise.
  Result<void> multiply_sums(ConstView<Elem> Q, ConstView<Sum> D, View<Sum> R,
                             const ExecOptions& options = {}) const;

 private:
  F f_;
  const Kernels<F>* kernels_;
};

}  // namespace pirx::strassen
