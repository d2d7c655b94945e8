// What the server computes for a query (Spiral, section 3 of eprint 2022/368), stage by stage.
#pragma once

#include "gadget.h"
#include "public_keys.h"

namespace pirx::cpir::spiral {

/// Threads, and a workspace for each. Not for two computations at once.
class Evaluator {
 public:
  /// ResourceExhausted.
  static Result<Evaluator> create(const Params& params, const Ring& ring, int threads);

  /// The bits of a query as ciphertexts, slots: one for every row; for bit l of the column t' of b z^k.
  struct Query {
    Polynomials rows, bits;
  };
  /// ResourceExhausted. c0, c1: the query ciphertext, slots.
  Result<Query> expand(const PublicKeys& keys, const std::uint32_t* c0, const std::uint32_t* c1);
  /// The GSW ciphertexts of the column's bits: for each t' columns of s b z^k, then t' of b z^k; Montgomery's
  /// form.
  Result<Polynomials> convert(const PublicKeys& keys, const Polynomials& bits);

  /// Coefficients 0 .. count - 1 of a ciphertext in positions 2i + `odd`, as ciphertexts: the coefficient
  /// tree. For tests. ciphertexts[0] is the input; rounds with keys of `left` or right gadgets.
  void expand_tree(const PublicKeys& keys, bool left, unsigned rounds, std::size_t count,
                   Polynomials& ciphertexts);
  /// The round that splits odd from even coefficients: (even, odd) = expand(in).
  void split(const PublicKeys& keys, const std::uint32_t* in, Polynomials& even_odd);

  /// The rows as the first dimension reads them: word (z, i, row of the ciphertext, s), and one more.
  /// ResourceExhausted.
  Result<AlignedBuffer> first_dimension_query(const Polynomials& rows);
  /// Polynomial number `polynomial` of the database times the rows of every query: one ciphertext a column
  /// each.
  void first_dimension(const std::uint64_t* database, std::size_t polynomial,
                       std::span<const AlignedBuffer> queries, std::span<Polynomials> out);
  /// Leaves the selected column's ciphertext in ciphertexts[0].
  void fold(const Polynomials& columns, Polynomials& ciphertexts, FoldForm form);
  /// n^2 ciphertexts, row by row, packed into n + 1 polynomials for each of n columns: out[c (n + 1) + row].
  void pack(const PublicKeys& keys, const Polynomials& in, Polynomials& out);
  /// The body of the reply for one trial's polynomials.
  void switch_modulus(const Polynomials& packed, class BitWriter& out);

  const Ring& ring() const noexcept { return ring_; }

 private:
  Evaluator(const Params& params, const Ring& ring, int threads)
      : params_(params), ring_(ring), threads_(threads) {}
  /// One node: v -> v + tau(v), and x^(-2^r) (v - tau(v)) to `second` unless null.
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
