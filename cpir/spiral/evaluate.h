// SPDX-License-Identifier: Apache-2.0
// The server's computation for a query (Spiral, section 3 of eprint 2022/368), stage by stage.
#pragma once

#include "cpir/ring/bits.h"
#include "gadget.h"
#include "public_keys.h"

namespace pirx::cpir::spiral {

/// Threads, and a workspace for each of them. It must not run two computations at once.
class Evaluator {
 public:
  /// ResourceExhausted: no memory.
  static Result<Evaluator> create(const Params& params, const Ring& ring, int threads);

  /// The bits of a query as ciphertexts in slots: one for every row, and for each bit l the column t' of b
  /// z^k.
  struct Query {
    Polynomials rows, bits;
  };
  /// Expands the query ciphertext (c0, c1), given as slots. ResourceExhausted: no memory.
  Result<Query> expand(const PublicKeys& keys, const std::uint32_t* c0, const std::uint32_t* c1);
  /// The GSW ciphertexts of the bits of the column: for each bit t' columns of s b z^k, then t' columns of b
  /// z^k, in Montgomery form.
  Result<Polynomials> convert(const PublicKeys& keys, const Polynomials& bits);

  /// The coefficient tree: makes ciphertexts of the coefficients 0 .. count - 1 in positions 2i + `odd`. On
  /// input ciphertexts[0] is the ciphertext; the rounds use keys of the left gadget if `left`, otherwise of
  /// the right one. For tests.
  void expand_tree(const PublicKeys& keys, bool left, unsigned rounds, std::size_t count,
                   Polynomials& ciphertexts);
  /// The round that separates even from odd coefficients: (even, odd) = expand(in).
  void split(const PublicKeys& keys, const std::uint32_t* in, Polynomials& even_odd);

  /// The rows in the order in which the first dimension reads them: word (z, i, row of the ciphertext, s),
  /// and one more. ResourceExhausted: no memory.
  Result<AlignedBuffer> first_dimension_query(const Polynomials& rows);
  /// Multiplies polynomial number `polynomial` of the database by the rows of every query. Gives each query
  /// one ciphertext per column. ResourceExhausted: no memory.
  Result<void> first_dimension(const std::uint64_t* database, std::size_t polynomial,
                               std::span<const AlignedBuffer> queries, std::span<Polynomials> out);
  /// Folds until the ciphertext of the selected column is in ciphertexts[0].
  void fold(const Polynomials& columns, Polynomials& ciphertexts, FoldForm form);
  /// Packs n^2 ciphertexts, row by row, into n + 1 polynomials for each of n columns: out[c (n + 1) + row].
  void pack(const PublicKeys& keys, const Polynomials& in, Polynomials& out);
  /// Writes the body of the reply for the polynomials of one trial.
  void switch_modulus(const Polynomials& packed, BitWriter& out);

  const Ring& ring() const noexcept { return ring_; }

 private:
  Evaluator(const Params& params, const Ring& ring, int threads)
      : params_(params), ring_(ring), threads_(threads) {}
  /// One node: replaces v by v + tau(v), and writes x^(-2^r) (v - tau(v)) to `second` unless it is null.
  void expand_node(unsigned round, const Gadget& gadget, const std::uint32_t* key, std::uint32_t* first,
                   std::uint32_t* second, Workspace& workspace) const;
  void external_product(const std::uint32_t* columns, const std::uint32_t* in, std::uint32_t* out,
                        Workspace& workspace) const;

  const Params& params_;
  const Ring& ring_;
  int threads_;
  std::vector<Workspace> workspaces_;
};

}  // namespace pirx::cpir::spiral
