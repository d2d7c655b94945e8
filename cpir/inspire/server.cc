// SPDX-License-Identifier: Apache-2.0
// Checks messages, and answers all queries of a pass with two products of integers (specification, section
// 2.5).
#include "pirx/cpir/inspire/server.h"

#include <algorithm>
#include <fstream>

#include "cpir/ring/bits.h"
#include "packed_database.h"
#include "src/base/parallel_try.h"
#include "src/protocol/message.h"

namespace pirx::cpir::inspire {
namespace {

/// Sums are modulo 2^48, in which the answer is rounded.
constexpr unsigned kSumBits = 48, kKeyBytes = kSumBits / 8;
/// Queries of one pass over the database; more take memory and gain nothing.
constexpr std::size_t kMostQueries = 256;
/// Columns that a thread multiplies at a time. Their words of a reply fill whole bytes.
constexpr std::size_t kColumnsAtATime = 128;
constexpr const char* kNoMemory = "no memory for an answer: ask later";

/// The bytes of a query's numbers in the product with the database.
unsigned number_bytes(const Params& params) noexcept { return div_up(params.spec().t, 8u); }

class InspireServer final : public AnyServer {
 public:
  InspireServer(PackedDatabase packed, int threads)
      : packed_(std::move(packed)), params_(packed_.params()), threads_(threads) {}

  ProtocolId protocol() const noexcept override { return ProtocolId::kInspire; }
  Bytes parameters() const override { return params_.encode(); }
  std::size_t max_request_bytes() const noexcept override {
    return std::max(params_.request_bytes(), Params::kMasksRequestBytes);
  }
  std::size_t max_queries() const noexcept override { return 1; }
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    const std::uint64_t digits =
        strassen::IntegerQueries::memory(1, params_.rows(), number_bytes(params_)) +
        strassen::IntegerQueries::memory(1, params_.set().l * params_.d(), kKeyBytes);
    const std::uint64_t sums =
        2 * sizeof(std::uint64_t) * kColumnsAtATime * static_cast<std::uint64_t>(threads_);
    return static_cast<std::size_t>(saturated_mul(queries, digits + sums + max_reply_bytes(1)));
  }
  std::size_t max_reply_bytes(std::size_t queries) const noexcept override {
    return static_cast<std::size_t>(
        saturated_mul(queries, std::max(params_.reply_bytes(), params_.masks_reply_bytes(params_.blocks()))));
  }
  Result<std::size_t> admit(ByteSpan request) const override {
    if (wants_masks(request)) {
      PIRX_TRY(masks_range(request));
    } else {
      PIRX_TRY(check_query(request));
    }
    return std::size_t{1};
  }

  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    // A text so short that its copies take no memory: tl::expected ends the process where there is none.
    std::vector<Result<Bytes>> replies(requests.size(), fail(ErrorCode::kInternal, "no answer"));
    std::vector<std::size_t> queries;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (wants_masks(requests[i])) {
        replies[i] = guarded([&] { return masks(requests[i]); }, kNoMemory);
      } else if (auto checked = check_query(requests[i]); !checked) {
        replies[i] = tl::unexpected<Error>(std::move(checked).error());
      } else {
        queries.push_back(i);
      }
    }
    for (std::size_t first = 0; first < queries.size(); first += kMostQueries) {
      const auto some = std::span(queries).subspan(first, std::min(kMostQueries, queries.size() - first));
      const auto done = guarded([&] { return answer_some(requests, some, replies); }, kNoMemory);
      if (done) continue;
      for (const auto i : some) replies[i] = tl::unexpected<Error>(done.error());
    }
    return replies;
  }

 private:
  static bool wants_masks(ByteSpan request) noexcept {
    return message_type(request) == MessageType::kMasksWanted;
  }
  struct Range {
    std::uint32_t first = 0, count = 0;
  };
  Result<Range> masks_range(ByteSpan request) const {
    PIRX_ASSIGN(const auto body,
                decode_header(request, ProtocolId::kInspire, MessageType::kMasksWanted, params_.digest(),
                              Params::kMasksRequestBytes, "masks request"));
    const Range range{load_le<std::uint32_t>(body.data()), load_le<std::uint32_t>(body.data() + 4)};
    if (range.count == 0 || range.first >= params_.blocks() || range.count > params_.blocks() - range.first) {
      return invalid("there are " + std::to_string(params_.blocks()) + " blocks of masks, and " +
                     std::to_string(range.count) + " from number " + std::to_string(range.first) +
                     " on were asked for");
    }
    return range;
  }
  Result<Bytes> masks(ByteSpan request) const {
    PIRX_ASSIGN(const auto range, masks_range(request));
    Writer writer(params_.masks_reply_bytes(range.count));
    encode_header(writer, ProtocolId::kInspire, MessageType::kMasks, params_.digest());
    writer.put(range.first);
    writer.put(range.count);
    for (std::uint32_t k = 0; k < range.count; ++k) writer.put_bytes(packed_.masks(range.first + k));
    return std::move(writer).take();
  }

  /// The key and the numbers of a query.
  struct Query {
    ByteSpan key, numbers;
  };
  Result<Query> check_query(ByteSpan request) const {
    PIRX_ASSIGN(const auto body, decode_header(request, ProtocolId::kInspire, MessageType::kQuery,
                                               params_.digest(), params_.request_bytes()));
    const Query query{body.first(params_.key_bytes()), body.subspan(params_.key_bytes())};
    PIRX_TRY(check_spare(query.key, params_.set().l * params_.d() * params_.set().kappa));
    PIRX_TRY(check_spare(query.numbers, params_.rows() * params_.spec().t));
    return query;
  }
  static Result<void> check_spare(ByteSpan run, std::size_t bits) {
    if (bits % 8 == 0 || (run.back() >> (bits % 8)) == std::byte{0}) return {};
    return invalid("a query has bits set that must be zero");
  }

  /// Cuts a run of numbers of `bits` bits into digits, moved to the top of their modulus.
  static void set_digits(ByteSpan run, unsigned bits, std::size_t count, std::size_t k,
                         strassen::IntegerQueries& digits) {
    std::vector<std::uint64_t> numbers(count);
    BitReader reader(run);
    for (auto& number : numbers) number = reader.get(bits) << (8 * digits.bytes() - bits);
    digits.set(k, numbers);
  }

  Result<void> answer_some(std::span<const ByteSpan> requests, std::span<const std::size_t> some,
                           std::vector<Result<Bytes>>& replies) const {
    const auto& set = params_.set();
    const unsigned t = params_.spec().t, tr = params_.spec().tr, bytes = number_bytes(params_);
    PIRX_ASSIGN(auto numbers, strassen::IntegerQueries::create(some.size(), params_.rows(), bytes));
    PIRX_ASSIGN(auto keys, strassen::IntegerQueries::create(some.size(), set.l * params_.d(), kKeyBytes));
    std::vector<Bytes> made(some.size());
    for (auto& reply : made) {
      Writer writer(params_.reply_bytes());
      encode_header(writer, ProtocolId::kInspire, MessageType::kReply, params_.digest());
      writer.extend(params_.reply_bytes() - kHeaderBytes);
      reply = std::move(writer).take();
    }
    PIRX_TRY(parallel_try(threads_, some.size(), [&](std::size_t k, std::size_t) -> Result<void> {
      PIRX_ASSIGN(const auto query, check_query(requests[some[k]]));
      set_digits(query.numbers, t, params_.rows(), k, numbers);
      set_digits(query.key, set.kappa, set.l * params_.d(), k, keys);
      return {};
    }));
    const std::size_t pieces = div_up(params_.d(), kColumnsAtATime);
    PIRX_TRY(
        parallel_try(threads_, params_.blocks() * pieces, [&](std::size_t i, std::size_t) -> Result<void> {
          const std::size_t block = i / pieces, first = i % pieces * kColumnsAtATime;
          if (first >= params_.columns_of(block)) return {};
          multiply(block, first, std::min(kColumnsAtATime, params_.columns_of(block) - first), numbers, keys,
                   tr, made);
          return {};
        }));
    for (std::size_t k = 0; k < some.size(); ++k) replies[some[k]] = std::move(made[k]);
    return {};
  }

  /// Writes the words of some columns into all replies.
  void multiply(std::size_t block, std::size_t first, std::size_t columns,
                const strassen::IntegerQueries& numbers, const strassen::IntegerQueries& keys, unsigned tr,
                std::vector<Bytes>& replies) const {
    const auto words = packed_.words_shape(block), packing = packed_.packing_shape(block);
    const std::size_t queries = replies.size();
    std::vector<std::uint64_t> sums(queries * columns), packed(queries * columns);
    Bytes scratch(std::max(strassen::multiply_scratch_bytes(words, numbers, columns),
                           strassen::multiply_scratch_bytes(packing, keys, columns)));
    strassen::multiply_integers(words, packed_.words(block), numbers, first, columns, sums.data(), columns,
                                scratch);
    strassen::multiply_integers(packing, packed_.packing(block), keys, first, columns, packed.data(), columns,
                                scratch);
    const unsigned up = kSumBits - 8 * numbers.bytes();
    const std::uint64_t half = std::uint64_t{1} << (kSumBits - tr - 1), mask = (std::uint64_t{1} << tr) - 1;
    const std::size_t at = (block * params_.d() + first) * tr / 8;
    for (std::size_t k = 0; k < queries; ++k) {
      const auto body = MutableByteSpan(replies[k]).subspan(kHeaderBytes + at);
      BitWriter writer(body.first(div_up(columns * tr, 8)));
      for (std::size_t j = 0; j < columns; ++j) {
        const std::uint64_t z = (sums[k * columns + j] << up) + packed[k * columns + j];
        writer.put((z + half) >> (kSumBits - tr) & mask, tr);
      }
      writer.finish();
    }
  }

  PackedDatabase packed_;
  const Params& params_;
  int threads_;
};

/// What the system says is free; nothing if it does not say.
std::optional<std::uint64_t> available_memory() {
  std::ifstream info("/proc/meminfo");
  for (std::string word; info >> word;) {
    std::uint64_t kib = 0;
    if (word == "MemAvailable:" && info >> kib) return kib * 1024;
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<AnyServer>> make_inspire_server(std::shared_ptr<const database::Database> database,
                                                       const ServerOptions& options) {
  PIRX_CHECK(database != nullptr);
  if (database->bucket() != nullptr) {
    return invalid("inspire serves a plain database, not a bucket of an encoded one");
  }
  const int threads = thread_count(options.threads);
  const auto make = [&]() -> Result<std::unique_ptr<AnyServer>> {
    PIRX_ASSIGN(const auto params,
                choose_params(database->geometry(), database->version(), options.set, options.goal));
    // Servers of the same file tell clients the same, and a new start does not change it.
    auto spec = params.spec();
    spec.salt = sha256_of({as_bytes("pirx inspire salt"), database->version().identity});
    PIRX_ASSIGN(auto salted, Params::create(std::move(spec)));
    const std::uint64_t kept = packed_database_bytes(salted),
                        needed = kept + preparation_bytes(salted, threads);
    const auto available = available_memory();
    if (available && needed > *available) {
      return fail(ErrorCode::kResourceExhausted,
                  "inspire takes " + std::to_string(needed >> 20) + " MiB to prepare this database with " +
                      std::to_string(threads) + " threads, and " + std::to_string(kept >> 20) +
                      " MiB to serve it; this machine has " + std::to_string(*available >> 20) +
                      " MiB left: use fewer threads, --goal time, or a smaller database");
    }
    PIRX_ASSIGN(auto packed, PackedDatabase::create(std::move(salted), *database, threads,
                                                    options.prepared_file, options.note));
    return std::make_unique<InspireServer>(std::move(packed), threads);
  };
  return guarded(make, "no memory for the prepared database");
}

}  // namespace pirx::cpir::inspire
