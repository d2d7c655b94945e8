// The server engine: R = Q * D over any field, blocked, threaded, with Strassen on top (paper 000, section
// 3).
#pragma once

#include <array>
#include <filesystem>
#include <memory>

#include "pirx/base/field.h"
#include "pirx/matrix/matrix.h"
#include "pirx/strassen/tuning.h"

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
  int depth = -1;   ///< levels of Strassen; -1: the plan decides; deeper than shape and workspace allow: as
                    ///< deep as it goes
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
  /// kSliced: levels of Strassen to store with the database, up to 3: 1 takes 7/4 of its memory, 2 (one step
  /// of 47 products, not 49) 47/16, 3 takes 329/64. Each takes nearly an eighth off the time of many queries;
  /// few queries take the time that they take without. Fewer levels are stored where the blocks would be too
  /// small, and none in rows.
  int depth = 0;
};

/// Which content of which database rows are: what a side file of them is bound to.
struct PreparedOrigin {
  std::array<std::byte, 32> identity{};
  std::uint64_t epoch = 0;
  friend bool operator==(const PreparedOrigin&, const PreparedOrigin&) = default;
};

/// How a product will be computed. Pure data: the same shape, options and kernel give the same plan.
struct Plan {
  Shape shape;
  Layout layout = Layout::kRows;
  int depth = 0;          ///< levels of Strassen
  int stored = 0;         ///< kSliced: levels that the database has stored. If any, what follows tells of the
                          ///< product of one of its parts
  bool direct = false;    ///< kSliced: few queries, multiplied without sums
  bool fused = false;     ///< kSliced: not many queries, sums formed in registers; depth is 0
  bool toom = false;      ///< kRows: many queries, Toom-Cook; depth is 0
  bool residues = false;  ///< many queries, modulo many small moduli; depth is 0
  bool kept = false;      ///< those of the database were prepared (kResidues)
  int threads = 1;
  bool split_rows = false;       ///< threads share rows (then sum) instead of columns: s is short
  std::size_t tile_rows = 0;     ///< rows of D per block
  std::size_t tile_words = 0;    ///< words of a row of D per block
  std::size_t tile_queries = 0;  ///< queries per pass over D
  std::size_t chunk_rows = 0;    ///< kSliced, toom, residues: rows whose queries are made ready at a time
  std::size_t run = 1;  ///< kSliced, toom: tiles side by side that share a block of queries in the cache
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
  /// Uses that kernel; for tests and benchmarks. The tuning is the process's, or the one that is given.
  Engine(const F& f, const Kernels<F>& kernels);
  Engine(const F& f, const Kernels<F>& kernels, Tuning tuning);

  const F& field() const noexcept { return f_; }
  const Kernels<F>& kernels() const noexcept { return *kernels_; }

  /// D as database bytes: D.cols must be a multiple of f.word_bytes(), else InvalidArgument.
  /// ResourceExhausted without memory for the copy in planes.
  Result<PreparedMatrix<F>> prepare(ConstView<std::byte> D, const PrepareOptions& options = {}) const;

  /// Keeps a database in planes in `file` (docs/prepared_format.md), which is replaced as a whole or left as
  /// it was. InvalidArgument: D is in rows, or something that is no such file has that name.
  /// ResourceExhausted: the disk is full. Unavailable.
  Result<void> save(const PreparedMatrix<F>& D, const std::filesystem::path& file,
                    const PreparedOrigin& origin, int threads = 0) const;

  /// What prepare() gives for rows x row_bytes bytes of that origin, read from a file that save() wrote, on
  /// whatever instruction set. InvalidArgument: the file was made from another database, for another field,
  /// shape, depth or order of planes, or the options want no planes. DataLoss: it is damaged, foreign or of
  /// another version. Unavailable: it cannot be read. ResourceExhausted without memory.
  Result<PreparedMatrix<F>> load(const std::filesystem::path& file, const PreparedOrigin& origin,
                                 std::size_t rows, std::size_t row_bytes,
                                 const PrepareOptions& options = {}) const;

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
  std::shared_ptr<const Tuning> tuning_;
};

}  // namespace pirx::strassen
