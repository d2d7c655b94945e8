// SPDX-License-Identifier: Apache-2.0
// Times what Inspire's server does for q queries: the product of their digits with the data modulo 2^32, and
// that of their keys' digits with the packing matrix modulo 2^48; set S8 at 1 GiB, of whose columns --mib
// takes a part.
//
// product/part:{all,data,matrix}/q:.../threads:...   both products, or one of them
// prepare/word_bytes:{1,4}, prepare/number_bytes:{4,6}     packing, cutting into digits
//
// Times are processor time, divided by the threads, so that other programs on the machine do not count. Every
// answer is checked before it is timed. Passes over the same bytes, which only read them, take turns with the
// products. The counter share_of_read compares the two, share_of_multiply compares the product with the
// multiply-adds alone at the rate that the CPU has for their instruction, and share_of_roof with the slower
// of the two bounds.
#include <atomic>
#include <random>

#include "bench/engine/memory.h"
#include "bench/engine/rates.h"
#include "pirx/base/buffer.h"
#include "strassen/integers.h"

namespace pirx::bench {
namespace {

using benchmark::State;
using strassen::IntegerQueries;
using strassen::IntegerShape;

// Of set S8: words of a byte, queries modulo 2^32; rows and bytes of the packing matrix, keys modulo 2^48.
constexpr unsigned kDataBytes = 1, kQueryBytes = 4, kMatrixBytes = 4, kKeyBytes = 6;
constexpr std::size_t kMatrixRows = 2048;
// Columns of one call.
constexpr std::size_t kBlock = 2048;

struct Sizes {
  std::size_t rows = 0, columns = 0;
} sizes;

/// A packed matrix and queries for it.
class Product {
 public:
  Product(const IntegerShape& shape, unsigned bytes)
      : shape_(shape), bytes_(bytes), packed_(need(AlignedBuffer::create(packed_bytes(shape)))) {
    // One block of rows again and again.
    std::mt19937_64 engine(shape.rows);
    std::vector<std::byte> words(64 * shape.columns * shape.word_bytes);
    for (auto& word : words) word = static_cast<std::byte>(engine());
    const std::size_t stride = shape.columns * shape.word_bytes;
    for (std::size_t row = 0; row < shape.rows; row += 64) {
      const std::size_t rows = std::min<std::size_t>(64, shape.rows - row);
      strassen::pack_integers(shape, words.data(), stride, row, rows, packed_.data());
    }
    words_ = std::move(words);
  }

  /// Makes room for q queries.
  void hold(std::size_t q) {
    if (queries_ && queries_->count() == q) return;
    queries_.emplace(need(IntegerQueries::create(q, shape_.rows, bytes_)));
    std::mt19937_64 engine(q);
    last_.resize(shape_.rows);
    for (std::size_t k = 0; k < q; ++k) {
      for (auto& number : last_) number = engine();
      queries_->set(k, last_);
    }
    out_.assign(q * shape_.columns, 0);
  }

  std::size_t blocks() const { return (shape_.columns + kBlock - 1) / kBlock; }
  void multiply(std::size_t block, MutableByteSpan scratch) {
    const std::size_t first = block * kBlock;
    multiply_integers(shape_, packed_.data(), *queries_, first, std::min(kBlock, shape_.columns - first),
                      out_.data() + first, shape_.columns, scratch);
  }
  std::size_t scratch_bytes() const {
    return multiply_scratch_bytes(shape_, *queries_, std::min(kBlock, shape_.columns));
  }

  /// Sixteen columns of the last query.
  bool right() {
    std::mt19937_64 engine(3);
    const std::size_t k = queries_->count() - 1, width = shape_.word_bytes;
    const unsigned spare = 64 - 8 * shape_.word_bytes;
    for (int round = 0; round < 16; ++round) {
      const std::size_t j = engine() % shape_.columns;
      std::uint64_t sum = 0, answer = out_[k * shape_.columns + j];
      for (std::size_t i = 0; i < shape_.rows; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, words_.data() + (i % 64 * shape_.columns + j) * width, width);
        sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(word << spare) >> spare) * last_[i];
      }
      spoil(std::as_writable_bytes(std::span(&answer, 1)));
      if (answer != sum << (64 - 8 * bytes_) >> (64 - 8 * bytes_)) return false;
    }
    return true;
  }

  std::uint64_t read(int threads) const { return read_memory(packed_.data(), bytes(), threads); }
  std::size_t bytes() const { return packed_bytes(shape_); }
  /// Products of bytes that a query needs.
  double products() const {
    double pairs = 0;
    for (unsigned i = 0; i < shape_.word_bytes; ++i) pairs += i < bytes_ ? bytes_ - i : 0;
    return static_cast<double>(shape_.rows) * static_cast<double>(shape_.columns) * pairs;
  }

 private:
  IntegerShape shape_;
  unsigned bytes_;
  AlignedBuffer packed_;
  std::vector<std::byte> words_;
  std::optional<IntegerQueries> queries_;
  std::vector<std::uint64_t> last_;  ///< the numbers of the last query
  std::vector<std::uint64_t> out_;
};

struct Server {
  Product data{{sizes.rows, sizes.columns, kDataBytes}, kQueryBytes};
  Product matrix{{kMatrixRows, sizes.columns, kMatrixBytes}, kKeyBytes};
};

/// Products of bytes per second of one core with the instruction of the kernels that are used; 0 if there is
/// no such instruction.
double multiply_rate() {
  const std::string_view name = strassen::integer_kernels().name;
  if (name == "amx") return 16384 * instruction_rate("tdpbsud");
  if (name == "vnni") return 64 * instruction_rate("vpdpbusd_512");
  return name == "avx2" ? 16 * instruction_rate("vpmaddwd_256") : 0;
}

void run_product(State& state, const std::string& part, std::size_t q, int threads) {
  auto& server = shared<Server>("server");
  std::vector<Product*> parts;
  if (part != "matrix") parts.push_back(&server.data);
  if (part != "data") parts.push_back(&server.matrix);
  std::size_t scratch_bytes = 0, bytes = 0;
  double products = 0;
  for (auto* of : parts) {
    of->hold(q);
    scratch_bytes = std::max(scratch_bytes, of->scratch_bytes());
    bytes += of->bytes();
    products += static_cast<double>(q) * of->products();
  }
  std::vector<AlignedBuffer> scratch;
  for (int i = 0; i < threads; ++i) scratch.push_back(need(AlignedBuffer::create(scratch_bytes)));
  const auto multiply = [&] {
    const std::size_t blocks = parts[0]->blocks();
    std::atomic<std::size_t> next = 0;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int i = 0; i < threads; ++i) {
      auto& own = scratch[static_cast<std::size_t>(i)];
      for (std::size_t block = next++; block < blocks; block = next++) {
        for (auto* of : parts) of->multiply(block, {own.data(), own.size()});
      }
    }
  };
  multiply();
  for (auto* of : parts) {
    if (!of->right()) return Program::wrong(state, "a wrong answer");
  }
  double read = 0, rate = 0, wall = 0;
  const auto read_all = [&] {
    for (auto* of : parts) benchmark::DoNotOptimize(of->read(threads));
  };
  const auto timed = [&] { wall += seconds_of(multiply); };
  const double share = 1.0 / threads;
  const auto bounds = [&] {
    read += seconds_of(read_all, processor_clock) * share;
    rate += multiply_rate() * threads;
  };
  const double seconds = processor_loop(state, bounds, timed, share);
  const auto count = static_cast<double>(state.iterations());
  read /= count;
  const double least = rate > 0 ? products * count / rate : 0;
  state.counters["ms_per_query"] = seconds * 1e3 / static_cast<double>(q);
  state.counters["wall_ms"] = wall / count * 1e3;
  state.counters["gb_per_s"] = static_cast<double>(bytes) / seconds / 1e9;
  state.counters["read_gb_per_s"] = static_cast<double>(bytes) / read / 1e9;
  state.counters["share_of_read"] = read / seconds;
  state.counters["share_of_multiply"] = least / seconds;
  state.counters["share_of_roof"] = std::max(read, least) / seconds;
}

/// Beside a copy of the same bytes.
void run_pack(State& state, unsigned word_bytes) {
  const IntegerShape shape{word_bytes == 1 ? sizes.rows : kMatrixRows, sizes.columns, word_bytes};
  auto packed = need(AlignedBuffer::create(packed_bytes(shape)));
  auto words = need(AlignedBuffer::create(shape.rows * shape.columns * word_bytes));
  std::memset(packed.data(), 1, packed.size());
  std::memset(words.data(), 1, words.size());
  double copy = 0;
  const double seconds = processor_loop(
      state,
      [&] {
        copy += seconds_of([&] { std::memcpy(packed.data(), words.data(), words.size()); }, processor_clock);
      },
      [&] {
        strassen::pack_integers(shape, words.data(), shape.columns * word_bytes, 0, shape.rows,
                                packed.data());
      });
  state.counters["gb_per_s"] = static_cast<double>(words.size()) / seconds / 1e9;
  state.counters["share_of_copy"] = copy / static_cast<double>(state.iterations()) / seconds;
}

void run_digits(State& state, unsigned bytes) {
  const std::size_t rows = bytes == kQueryBytes ? sizes.rows : kMatrixRows;
  auto queries = need(IntegerQueries::create(1, rows, bytes));
  const std::vector<std::uint64_t> numbers(rows, 0x123456789abcdef);
  const double seconds = processor_loop(
      state, [] {}, [&] { queries.set(0, numbers); });
  state.counters["numbers_per_s"] = static_cast<double>(rows) / seconds;
}

void add(const std::string& name, const std::function<void(State&)>& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime()->Unit(benchmark::kMillisecond);
}

void run(Program& program) {
  const auto mib = program.number("mib", 128, 1, 1 << 20);
  sizes.rows = program.number("rows", 20165, 1, 1 << 20);
  const auto q_list = program.numbers<std::size_t>("q", "1,8,64,256", 1, 1 << 16);
  const auto threads_list = program.numbers<unsigned>("threads", "1", 1, 1024);
  program.start();
  sizes.columns = std::max<std::size_t>(64, (mib << 20) / sizes.rows / 64 * 64);
  benchmark::AddCustomContext("kernel", strassen::integer_kernels().name);
  benchmark::AddCustomContext("rows", std::to_string(sizes.rows));
  benchmark::AddCustomContext("columns", std::to_string(sizes.columns));

  add_instruction_rates();
  for (const unsigned team : threads_list) {
    const int threads = static_cast<int>(team);
    for (const std::string part : {"all", "data", "matrix"}) {
      for (const auto q : q_list) {
        add("product/part:" + part + "/q:" + std::to_string(q) + "/threads:" + std::to_string(threads),
            [=](State& state) { run_product(state, part, q, threads); });
      }
    }
  }
  for (const unsigned word_bytes : {kDataBytes, kMatrixBytes}) {
    add("prepare/word_bytes:" + std::to_string(word_bytes),
        [=](State& state) { run_pack(state, word_bytes); });
  }
  for (const unsigned bytes : {kQueryBytes, kKeyBytes}) {
    add("prepare/number_bytes:" + std::to_string(bytes), [=](State& state) { run_digits(state, bytes); });
  }
}

}  // namespace
}  // namespace pirx::bench

int main(int argc, char** argv) {
  pirx::bench::Program program(argc, argv);
  pirx::bench::run(program);
  return pirx::bench::Program::run();
}
