// Level by level from the leaves. Tables of the upper levels, whose long chains of squares nobody can share,
// are made while the leaves are still computed.
#include "tree.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace pirx::cpir::dj {
namespace {

std::size_t divide_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

/// Rows of a level are (chunk, node); the children of a node lie side by side one level below, and those that
/// do not exist are zero.
struct Shape {
  std::size_t children = 0;  // of all nodes of a chunk: nodes one level below
  std::size_t nodes = 0;     // a chunk
  std::size_t arity = 0;

  /// (chunk, child), or nothing.
  std::optional<std::pair<std::size_t, std::size_t>> child(std::size_t row, std::size_t base) const {
    const std::size_t at = row % nodes * arity + base;
    if (at >= children) return std::nullopt;
    return std::pair{row / nodes, at};
  }
};

class Leaves final : public Exponents {
 public:
  Leaves(const Params& params, const Shape& shape, matrix::ConstView<std::byte> rows)
      : params_(params), shape_(shape), rows_(rows) {}
  void load(std::size_t row, std::size_t base, std::span<std::uint64_t> words) const override {
    std::fill(words.begin(), words.end(), std::uint64_t{0});
    const auto at = shape_.child(row, base);
    if (!at) return;
    const auto [chunk, child] = *at;
    const std::byte* from = rows_.row(child) + chunk * params_.chunk_bytes();
    const std::size_t length = params_.chunk_length(chunk);
    for (std::size_t i = 0; i < length; ++i) {
      words[i / 8] |= std::to_integer<std::uint64_t>(from[length - 1 - i]) << (i % 8 * 8);
    }
  }

 private:
  const Params& params_;
  Shape shape_;
  matrix::ConstView<std::byte> rows_;
};

class Inner final : public Exponents {
 public:
  Inner(const Shape& shape, std::span<const std::uint64_t> values, std::size_t words_each)
      : shape_(shape), values_(values), words_each_(words_each) {}
  void load(std::size_t row, std::size_t base, std::span<std::uint64_t> words) const override {
    std::fill(words.begin(), words.end(), std::uint64_t{0});
    const auto at = shape_.child(row, base);
    if (!at) return;
    const auto [chunk, child] = *at;
    const auto value = values_.subspan((chunk * shape_.children + child) * words_each_, words_each_);
    std::copy_n(value.begin(), std::min(words.size(), value.size()), words.begin());
  }

 private:
  Shape shape_;
  std::span<const std::uint64_t> values_;
  std::size_t words_each_;
};

struct Level {
  Shape shape;
  std::size_t words_each = 0;  // of what it makes
  std::unique_ptr<Ring> ring;
  std::unique_ptr<Powers> powers;
  std::unique_ptr<Exponents> exponents;
  std::vector<std::uint64_t> values;
};

/// Tasks of the current team; the level outlives them.
void prepare(Level* level) {
  for (std::size_t part = 0; part < level->powers->parts(); ++part) {
#pragma omp task firstprivate(level, part)
    level->powers->prepare(part);
  }
}

void evaluate(Level* level) {
  for (std::size_t block = 0; block < level->powers->blocks(); ++block) {
#pragma omp task firstprivate(level, block)
    level->powers->evaluate(block, *level->exponents, level->values, level->words_each);
  }
}

}  // namespace

Result<Bytes> answer_tree(const Params& params, matrix::ConstView<std::byte> rows, const Selectors& selectors,
                          const TreeOptions& options) {
  std::vector<Level> levels(params.levels());
  auto nodes = static_cast<std::size_t>(params.rows());
  for (unsigned s = 1; s <= params.levels(); ++s) {
    Level& level = levels[s - 1];
    level.shape = {nodes, divide_up(nodes, params.arities()[s - 1]), params.arities()[s - 1]};
    nodes = level.shape.nodes;
    level.ring = std::make_unique<Ring>(*options.kernel, selectors.n, s);
    const auto& modulus = level.ring->modulus();
    level.words_each = mpz_size(modulus.get_mpz_t());
    // What is above the last child of the only node is zero and needs no table.
    const std::size_t bases = std::min(level.shape.arity, level.shape.children);
    const mpz_class below = modulus / selectors.n;
    const PowerShape shape{bases, s == 1 ? 8 * params.chunk_bytes() : mpz_sizeinbase(below.get_mpz_t(), 2),
                           params.chunks() * nodes};
    const auto plan = plan_powers(*level.ring, shape, options.table_bytes / params.levels(), options.threads);
    std::vector<std::uint64_t> imported(bases * level.ring->stride());
    for (std::size_t i = 0; i < bases; ++i) {
      level.ring->import_number(selectors.levels[s - 1][i], imported.data() + i * level.ring->stride());
    }
    PIRX_ASSIGN(auto powers, Powers::create(*level.ring, shape, plan, std::move(imported)));
    level.powers = std::make_unique<Powers>(std::move(powers));
    if (s == 1) {
      level.exponents = std::make_unique<Leaves>(params, level.shape, rows);
    } else {
      const Level& lower = levels[s - 2];
      level.exponents = std::make_unique<Inner>(level.shape, lower.values, lower.words_each);
    }
    level.values.resize(shape.rows * level.words_each);
  }

#pragma omp parallel num_threads(options.threads)
#pragma omp single
  {
    for (std::size_t i = levels.size() - 1; i > 0; --i) prepare(&levels[i]);
#pragma omp taskgroup
    prepare(&levels[0]);
#pragma omp taskgroup
    evaluate(&levels[0]);
#pragma omp taskwait
    for (std::size_t i = 1; i < levels.size(); ++i) {
#pragma omp taskgroup
      evaluate(&levels[i]);
    }
  }

  const Level& top = levels.back();
  const std::size_t each = params.ciphertext_bytes(params.levels());
  Bytes out(params.chunks() * each);
  for (std::size_t chunk = 0; chunk < params.chunks(); ++chunk) {
    const auto value = std::span(top.values).subspan(chunk * top.words_each, top.words_each);
    number_to_bytes(number_from_words(value), MutableByteSpan(out).subspan(chunk * each, each));
  }
  return out;
}

std::uint64_t tree_bytes(const Params& params, std::uint64_t table_bytes) {
  std::uint64_t total = table_bytes, nodes = params.rows();
  for (unsigned s = 1; s <= params.levels(); ++s) {
    nodes = (nodes + params.arities()[s - 1] - 1) / params.arities()[s - 1];
    const std::uint64_t number =
        2 * params.ciphertext_bytes(s);  // with the kernel's padding, and conversions
    // Two entries a base are the least there can be.
    total += params.chunks() * nodes * number + std::uint64_t{4} * params.arities()[s - 1] * number;
  }
  return total + params.reply_bytes();
}

}  // namespace pirx::cpir::dj
