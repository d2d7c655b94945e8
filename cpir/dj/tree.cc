// SPDX-License-Identifier: Apache-2.0
// Computes the tree level by level from the leaves. Tables of the upper levels need long chains of squares,
// which cannot be divided between threads; they are made while the leaves are still computed.
#include "tree.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

#include "level_shape.h"
#include "pirx/base/rng.h"
#include "src/base/threads.h"
#include "src/base/time_limit.h"

namespace pirx::cpir::dj {
namespace {

/// What a level's nodes are made of: fills `words` with a number by chunk and position.
using Children = std::function<void(std::size_t chunk, std::size_t child, std::span<std::uint64_t> words)>;

/// Bytes of the database, big-endian.
Children leaves(const Params& params, matrix::ConstView<std::byte> rows) {
  return [&params, rows](std::size_t chunk, std::size_t child, std::span<std::uint64_t> words) {
    const std::byte* from = rows.row(child) + chunk * params.chunk_bytes();
    const std::size_t length = params.chunk_length(chunk);
    std::fill(words.begin(), words.end(), std::uint64_t{0});
    for (std::size_t i = 0; i < length; ++i) {
      words[i / 8] |= std::to_integer<std::uint64_t>(from[length - 1 - i]) << (i % 8 * 8);
    }
  };
}

/// Results of the level below: `each` words, chunk by chunk.
Children results(std::span<const std::uint64_t> values, std::size_t nodes, std::size_t each) {
  return [=](std::size_t chunk, std::size_t child, std::span<std::uint64_t> words) {
    const auto value = values.subspan((chunk * nodes + child) * each, each);
    std::copy(value.begin(), value.end(), words.begin());
    std::fill(words.begin() + static_cast<std::ptrdiff_t>(each), words.end(), std::uint64_t{0});
  };
}

/// E_s(0) with coins of the server's. Thread-safe.
class Zeros {
 public:
  explicit Zeros(Rng rng) : rng_(std::move(rng)) {}
  /// r^(N^s) modulo N^(s+1); 64 bits more than N has, so that r is uniform modulo N but for 2^-64.
  mpz_class draw(const mpz_class& n, const mpz_class& exponent, const mpz_class& modulus) {
    Bytes coin((mpz_sizeinbase(n.get_mpz_t(), 2) + 7) / 8 + 8);
    mpz_class r;
    do {
      const std::lock_guard lock(mutex_);
      rng_.fill(coin);
      r = number_from_bytes(coin) % n;
    } while (gcd(r, n) != 1);
    mpz_powm(r.get_mpz_t(), r.get_mpz_t(), exponent.get_mpz_t(), modulus.get_mpz_t());
    return r;
  }

 private:
  std::mutex mutex_;
  Rng rng_;
};

/// Rows of a level are (chunk, node); the children of a node lie side by side one level below.
struct Shape {
  std::size_t children = 0;  // of all nodes of a chunk
  std::size_t nodes = 0;     // a chunk
  std::size_t arity = 0;
};

class Nodes final : public Exponents {
 public:
  Nodes(Children children, const Shape& shape, const mpz_class& n, unsigned s, bool differences, Zeros* zeros)
      : children_(std::move(children)), shape_(shape), s_(s), differences_(differences), zeros_(zeros) {
    for (unsigned j = 0; j <= s + 1; ++j) powers_.push_back(power_of(n, j));
    for (unsigned j = 1; j <= s; ++j) {
      mpz_class& inverse = inverses_.emplace_back(j);
      mpz_invert(inverse.get_mpz_t(), inverse.get_mpz_t(), powers_[s].get_mpz_t());
    }
    order_.resize(mpz_size(powers_[s].get_mpz_t()));
    number_to_words(powers_[s], order_);
  }

  void load(std::size_t row, std::size_t base, std::span<std::uint64_t> words) const override {
    if (!differences_) return child(row, base, words);
    std::array<mp_limb_t, kOrderWords> first;
    const auto size = static_cast<mp_size_t>(words.size());
    child(row, 0, std::span(first).first(words.size()));
    child(row, base + 1, words);
    if (mpn_sub_n(words.data(), words.data(), first.data(), size) != 0) {
      mpn_add_n(words.data(), words.data(), order_.data(), size);
    }
  }

  mpz_class factor(std::size_t row) const override {
    mpz_class out = first_child(row);
    if (zeros_ != nullptr)
      out = out * zeros_->draw(powers_[1], powers_[s_], powers_[s_ + 1]) % powers_[s_ + 1];
    return out;
  }

 private:
  static constexpr std::size_t kOrderWords = kMaxLevels * kMaxModulusBits / 64;

  /// (1 + N)^f_0, by the binomial series.
  mpz_class first_child(std::size_t row) const {
    if (!differences_) return 1;
    std::array<std::uint64_t, kOrderWords> words;
    child(row, 0, std::span(words).first(order_.size()));
    const mpz_class m = number_from_words(std::span(words).first(order_.size()));
    mpz_class sum = 1, binomial = 1;
    for (unsigned j = 1; j <= s_; ++j) {
      const mpz_class& modulus = powers_[s_ - j + 1];
      binomial = binomial * (m - (j - 1)) % modulus * inverses_[j - 1] % modulus;
      sum += binomial * powers_[j];
    }
    sum %= powers_[s_ + 1];
    return sgn(sum) < 0 ? mpz_class(sum + powers_[s_ + 1]) : sum;
  }

  void child(std::size_t row, std::size_t i, std::span<std::uint64_t> words) const {
    const std::size_t at = row % shape_.nodes * shape_.arity + i;
    if (at < shape_.children) return children_(row / shape_.nodes, at, words);
    std::fill(words.begin(), words.end(), std::uint64_t{0});
  }

  Children children_;
  Shape shape_;
  unsigned s_;
  bool differences_;
  Zeros* zeros_;                              // null: nodes are not rerandomised
  std::vector<mpz_class> powers_, inverses_;  // N^j; 1/j modulo N^s
  std::vector<std::uint64_t> order_;          // N^s
};

struct Level {
  Shape shape;
  std::size_t words_each = 0;  // of what it makes
  std::unique_ptr<Ring> ring;
  std::unique_ptr<Powers> powers;
  std::unique_ptr<Nodes> nodes;
  std::vector<std::uint64_t> values;
  double block_cost = 0;  // of a block, in products of digits, about
};

/// What the tasks of a team share. No exception may leave a task.
struct Team {
  const std::function<void(double)>& progress;
  double cost = 0;  // of all blocks
  std::atomic<double> done = 0;
  std::atomic<bool> no_memory = false;
  TimeLimit* const limit = TimeLimit::current();

  template <class F>
  void run(const F& task) noexcept {
    if (no_memory || over(limit)) return;
    try {
      task();
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
  }
};

/// Tasks of the current team; the level outlives them.
void prepare(Team* team, Level* level) {
  for (std::size_t part = 0; part < level->powers->parts(); ++part) {
#pragma omp task firstprivate(team, level, part)
    team->run([&] { level->powers->prepare(part); });
  }
}

void evaluate(Team* team, Level* level) {
  for (std::size_t block = 0; block < level->powers->blocks(); ++block) {
#pragma omp task firstprivate(team, level, block)
    team->run([&] {
      level->powers->evaluate(block, *level->nodes, level->values, level->words_each);
      const double done = team->done.fetch_add(level->block_cost) + level->block_cost;
      if (team->progress) team->progress(done / team->cost);
    });
  }
}

/// c_0, which encrypts 1 less all others.
mpz_class first_selector(const mpz_class& n, const std::vector<mpz_class>& others, const mpz_class& modulus) {
  mpz_class product = 1, inverse;
  for (const auto& c : others) product = product * c % modulus;
  mpz_invert(inverse.get_mpz_t(), product.get_mpz_t(), modulus.get_mpz_t());
  return inverse * (n + 1) % modulus;
}

}  // namespace

Result<Bytes> answer_tree(const Params& params, matrix::ConstView<std::byte> rows, const CheckedQuery& query,
                          const TreeOptions& options) {
  std::vector<Level> levels(params.levels());
  Team team{.progress = options.progress};
  std::optional<Zeros> zeros;
  if (options.rerandomise) {
    PIRX_ASSIGN(auto rng, Rng::from_os());
    zeros.emplace(std::move(rng));
  }
  auto nodes = static_cast<std::size_t>(params.rows());
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const unsigned s = params.layer(static_cast<unsigned>(at + 1));
    Level& level = levels[at];
    level.shape = {nodes, div_up(nodes, params.arities()[at]), params.arities()[at]};
    nodes = level.shape.nodes;
    level.ring = std::make_unique<Ring>(*options.kernel, query.n, s);
    const auto& modulus = level.ring->modulus();
    level.words_each = mpz_size(modulus.get_mpz_t());
    const Level* lower = at == 0 ? nullptr : &levels[at - 1];
    auto children =
        at == 0 ? leaves(params, rows) : results(lower->values, lower->shape.nodes, lower->words_each);
    const mpz_class order = modulus / query.n;
    const std::size_t whole = mpz_sizeinbase(order.get_mpz_t(), 2),
                      own = at == 0 ? 8 * params.chunk_bytes() : whole;
    const auto [differences, shape] =
        level_shape(level.shape.children, level.shape.arity, params.chunks(), own, whole);
    level.nodes = std::make_unique<Nodes>(std::move(children), level.shape, query.n, s, differences,
                                          zeros ? &*zeros : nullptr);
    std::vector<mpz_class> bases = query.levels[at];
    if (!differences) bases.insert(bases.begin(), first_selector(query.n, bases, modulus));
    bases.resize(shape.bases);
    const auto plan = plan_powers(*level.ring, shape, options.table_bytes / params.levels(), options.threads);
    std::vector<std::uint64_t> imported(bases.size() * level.ring->stride());
    for (std::size_t i = 0; i < bases.size(); ++i) {
      level.ring->import_number(bases[i], imported.data() + i * level.ring->stride());
    }
    PIRX_ASSIGN(auto powers, Powers::create(*level.ring, shape, plan, std::move(imported)));
    level.powers = std::make_unique<Powers>(std::move(powers));
    level.values.resize(shape.rows * level.words_each);
    const auto blocks = static_cast<double>(level.powers->blocks());
    team.cost += plan.cost * (s + 1) * (s + 4);
    level.block_cost = plan.cost * (s + 1) * (s + 4) / blocks;
  }

#pragma omp parallel num_threads(thread_count(options.threads))
#pragma omp single
  {
    for (std::size_t i = levels.size() - 1; i > 0; --i) prepare(&team, &levels[i]);
#pragma omp taskgroup
    prepare(&team, &levels[0]);
#pragma omp taskgroup
    evaluate(&team, &levels[0]);
#pragma omp taskwait
    for (std::size_t i = 1; i < levels.size(); ++i) {
#pragma omp taskgroup
      evaluate(&team, &levels[i]);
    }
  }

  if (team.no_memory) return fail(ErrorCode::kResourceExhausted, kNoMemory);
  const Level& top = levels.back();
  const std::size_t each = params.ciphertext_bytes(params.layer(params.levels()));
  Bytes out(params.chunks() * each);
  for (std::size_t chunk = 0; chunk < params.chunks(); ++chunk) {
    const auto value = std::span(top.values).subspan(chunk * top.words_each, top.words_each);
    number_to_bytes(number_from_words(value), MutableByteSpan(out).subspan(chunk * each, each));
  }
  return out;
}

std::uint64_t tree_bytes(const Params& params, std::uint64_t table_bytes) {
  std::uint64_t total = table_bytes, nodes = params.rows();
  for (unsigned level = 1; level <= params.levels(); ++level) {
    nodes = div_up(nodes, params.arities()[level - 1]);
    const std::uint64_t number =
        2 * params.ciphertext_bytes(params.layer(level));  // with the kernel's padding, and conversions
    // Two entries a base are the least there can be.
    total += params.chunks() * nodes * number + std::uint64_t{4} * params.arities()[level - 1] * number;
  }
  return total + params.reply_bytes();
}

}  // namespace pirx::cpir::dj
