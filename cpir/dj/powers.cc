// SPDX-License-Identifier: Apache-2.0
// Tables of powers, digits of exponents, and the two loops that use them.
#include "powers.h"

#include <algorithm>
#include <utility>

#include "number.h"

namespace pirx::cpir::dj {
namespace {

constexpr unsigned kMaxWindow = 14;
constexpr double kSquare = 0.75;  // of a product

/// Two blocks that products alternate between, and one for an operand.
class Workspace {
 public:
  explicit Workspace(const Ring& ring) : ring_(ring), words_(3 * ring.block_words() + 8) {
    void* at = words_.data();
    std::size_t space = words_.size() * sizeof(std::uint64_t);
    value_ = static_cast<std::uint64_t*>(
        std::align(64, 3 * ring.block_words() * sizeof(std::uint64_t), at, space));
    next_ = value_ + ring.block_words();
    operand_ = next_ + ring.block_words();
  }
  const std::uint64_t* value() const noexcept { return value_; }
  std::uint64_t* operand() noexcept { return operand_; }

  void set(const std::uint64_t* const* numbers) { ring_.kernel().gather(ring_.view(), value_, numbers); }
  void gather_operand(const std::uint64_t* const* numbers) {
    ring_.kernel().gather(ring_.view(), operand_, numbers);
  }
  void multiply() { multiply_by(operand_); }
  void multiply(const std::uint64_t* const* numbers) {
    // A single lane is a block as it lies.
    if (ring_.kernel().lanes == 1) return multiply_by(numbers[0]);
    gather_operand(numbers);
    multiply();
  }
  void square() {
    ring_.kernel().square(ring_.view(), next_, value_);
    std::swap(value_, next_);
  }
  /// The number in one lane.
  void extract(std::size_t lane, std::uint64_t* out) const {
    const auto lanes = ring_.kernel().lanes;
    for (std::size_t i = 0; i < ring_.stride(); ++i) out[i] = value_[i * lanes + lane];
  }

 private:
  void multiply_by(const std::uint64_t* block) {
    ring_.kernel().multiply(ring_.view(), next_, value_, block);
    std::swap(value_, next_);
  }

  const Ring& ring_;
  std::vector<std::uint64_t> words_;
  std::uint64_t *value_, *next_, *operand_;
};

/// Bit `from + t` of the exponent becomes bit `to` of digit t.
void add_bits(std::span<const std::uint64_t> words, std::size_t from, unsigned to,
              std::span<std::uint16_t> digits) {
  const std::size_t end = 64 * words.size();
  for (std::size_t t = 0; t < digits.size() && from + t < end; ++t) {
    const std::size_t at = from + t;
    digits[t] = static_cast<std::uint16_t>(digits[t] | (words[at / 64] >> (at % 64) & 1) << to);
  }
}

}  // namespace

PowerPlan plan_powers(const Ring& ring, const PowerShape& shape, std::uint64_t table_bytes, int threads) {
  PIRX_CHECK(shape.bases >= 1 && shape.bits >= 1 && shape.rows >= 1);
  const std::size_t lanes = ring.kernel().lanes, entry = ring.stride() * sizeof(std::uint64_t);
  const auto workers = static_cast<double>(std::max(threads, 1));
  const auto parts = static_cast<double>(div_up(shape.bases, lanes));
  PowerPlan best;
  for (const bool comb : {false, true}) {
    for (unsigned window = 1; window <= kMaxWindow; ++window) {
      const std::uint64_t bytes = shape.bases * entry << window;
      const bool smallest = window == 1 && !comb;
      if (bytes > table_bytes && !smallest) continue;
      const auto bits = static_cast<double>(shape.bits);
      const auto steps = static_cast<double>(div_up(shape.bits, window));
      const double table = static_cast<double>(std::uint64_t{1} << window);
      const double prepare = parts * ((comb ? kSquare * (bits - steps) : 0) + table);
      for (std::size_t rows = 1; rows <= lanes; rows *= 2) {
        const auto blocks = static_cast<double>(div_up(shape.rows, rows));
        const auto products = static_cast<double>(div_up(shape.bases, lanes / rows));
        const double block = steps * ((comb ? 1 : window) * kSquare + products);
        // Preparing overlaps with other work; the blocks of a level wait for each other.
        const double cost = prepare / workers + block * std::max(blocks / workers, 1.0);
        if (best.cost == 0 || cost < best.cost) best = {comb, window, rows, bytes, cost};
      }
    }
  }
  return best;
}

Result<Powers> Powers::create(const Ring& ring, const PowerShape& shape, const PowerPlan& plan,
                              std::vector<std::uint64_t> bases) {
  PIRX_CHECK(bases.size() == shape.bases * ring.stride());
  PIRX_ASSIGN(auto table, AlignedBuffer::create(plan.table_bytes));
  return Powers(ring, shape, plan, std::move(bases), std::move(table));
}

Powers::Powers(const Ring& ring, const PowerShape& shape, const PowerPlan& plan,
               std::vector<std::uint64_t> bases, AlignedBuffer table)
    : ring_(&ring),
      shape_(shape),
      plan_(plan),
      bases_(std::move(bases)),
      one_(ring.stride()),
      table_(std::move(table)) {
  ring.import_number(1, one_.data());
}

const std::uint64_t* Powers::entry(std::size_t base, std::size_t digit) const noexcept {
  return reinterpret_cast<const std::uint64_t*>(table_.data()) +
         ((base << plan_.window) + digit) * ring_->stride();
}
std::uint64_t* Powers::entry(std::size_t base, std::size_t digit) noexcept {
  return reinterpret_cast<std::uint64_t*>(table_.data()) + ((base << plan_.window) + digit) * ring_->stride();
}
std::size_t Powers::steps() const noexcept { return div_up(shape_.bits, plan_.window); }
std::size_t Powers::parts() const noexcept { return div_up(shape_.bases, ring_->kernel().lanes); }
std::size_t Powers::blocks() const noexcept { return div_up(shape_.rows, plan_.rows_per_block); }

/// A lane a base. Digit d of a window stands for c^d; bit b of a comb's digit for the tooth c^(2^(b steps)).
void Powers::prepare(std::size_t part) {
  const std::size_t lanes = ring_->kernel().lanes, first = part * lanes;
  const std::size_t count = std::min(lanes, shape_.bases - first), size = std::size_t{1} << plan_.window;
  Workspace work(*ring_);
  std::vector<const std::uint64_t*> numbers(lanes, one_.data());
  const auto store = [&](std::size_t digit) {
    for (std::size_t lane = 0; lane < count; ++lane) work.extract(lane, entry(first + lane, digit));
  };
  const auto load = [&](std::size_t digit) {
    for (std::size_t lane = 0; lane < count; ++lane) numbers[lane] = entry(first + lane, digit);
    return numbers.data();
  };
  for (std::size_t lane = 0; lane < count; ++lane) {
    std::copy(one_.begin(), one_.end(), entry(first + lane, 0));
    numbers[lane] = bases_.data() + (first + lane) * ring_->stride();
  }
  work.set(numbers.data());
  store(1);
  if (plan_.comb) {
    for (unsigned tooth = 1; tooth < plan_.window; ++tooth) {
      for (std::size_t i = 0; i < steps(); ++i) work.square();
      store(std::size_t{1} << tooth);
    }
    for (std::size_t tooth = 2; tooth < size; tooth *= 2) {
      work.gather_operand(load(tooth));
      for (std::size_t rest = 1; rest < tooth; ++rest) {
        work.set(load(rest));
        work.multiply();
        store(tooth + rest);
      }
    }
  } else {
    work.gather_operand(numbers.data());
    for (std::size_t digit = 2; digit < size; ++digit) {
      work.multiply();
      store(digit);
    }
  }
}

void Powers::evaluate(std::size_t block, const Exponents& exponents, std::span<std::uint64_t> out,
                      std::size_t words_each) const {
  const std::size_t lanes = ring_->kernel().lanes, rows = plan_.rows_per_block, group = lanes / rows;
  const std::size_t first = block * rows, count = std::min(rows, shape_.rows - first);
  const std::size_t share = div_up(shape_.bases, group);  // bases of a lane: i group + lane % group
  const std::size_t length = steps();

  std::vector<std::uint16_t> digits(share * lanes * length);
  const auto digits_of = [&](std::size_t i, std::size_t lane) {
    return std::span(digits).subspan((i * lanes + lane) * length, length);
  };
  std::vector<std::uint64_t> exponent(div_up(shape_.bits, 64));
  const auto base_of = [&](std::size_t i, std::size_t lane) { return i * group + lane % group; };
  const auto is_used = [&](std::size_t i, std::size_t lane) {
    return base_of(i, lane) < shape_.bases && lane / group < count;
  };
  for (std::size_t i = 0; i < share; ++i) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (!is_used(i, lane)) continue;
      exponents.load(first + lane / group, base_of(i, lane), exponent);
      if (plan_.comb) {
        for (unsigned tooth = 0; tooth < plan_.window; ++tooth) {
          add_bits(exponent, tooth * length, tooth, digits_of(i, lane));
        }
      } else {
        for (std::size_t t = 0; t < length; ++t) {
          for (unsigned bit = 0; bit < plan_.window; ++bit) {
            add_bits(exponent, t * plan_.window + bit, bit, digits_of(i, lane).subspan(t, 1));
          }
        }
      }
    }
  }

  Workspace work(*ring_);
  std::vector<const std::uint64_t*> numbers(lanes, one_.data());
  work.set(numbers.data());
  const auto entry_at = [&](std::size_t i, std::size_t lane, std::size_t t) {
    return is_used(i, lane) ? entry(base_of(i, lane), digits_of(i, lane)[t]) : one_.data();
  };
  for (std::size_t t = length; t-- > 0;) {
    if (t + 1 != length) {
      for (unsigned i = 0; i < (plan_.comb ? 1 : plan_.window); ++i) work.square();
    }
    for (std::size_t i = 0; i < share; ++i) {
      for (std::size_t lane = 0; lane < lanes; ++lane) numbers[lane] = entry_at(i, lane, t);
      work.multiply(numbers.data());
    }
  }

  // Lanes of one row are multiplied together: every lane with the one half a group away.
  std::vector<std::uint64_t> parts(lanes * ring_->stride());
  for (std::size_t half = group / 2; half >= 1; half /= 2) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      work.extract(lane, parts.data() + lane * ring_->stride());
      numbers[lane] = parts.data() + (lane ^ half) * ring_->stride();
    }
    work.multiply(numbers.data());
  }
  for (std::size_t row = 0; row < count; ++row) {
    work.extract(row * group, parts.data());
    const mpz_class number =
        ring_->export_number(parts.data()) * exponents.factor(first + row) % ring_->modulus();
    number_to_words(number, out.subspan((first + row) * words_each, words_each));
  }
}

}  // namespace pirx::cpir::dj
