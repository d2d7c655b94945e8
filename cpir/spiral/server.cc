// SPDX-License-Identifier: Apache-2.0
// Checks messages, collects queries into batches, and implements AnyServer for Spiral.
#include "pirx/cpir/spiral/server.h"

#include <algorithm>

#include "cpir/ring/sampling.h"
#include "encoded_database.h"
#include "evaluate.h"
#include "key_store.h"
#include "src/base/guarded.h"
#include "src/base/threads.h"
#include "src/protocol/message.h"
#include "wire.h"

namespace pirx::cpir::spiral {
namespace {

using U32 = std::uint32_t;

/// Queries of one pass over the database: more gain little and take memory.
constexpr std::size_t kMostQueries = 8;
constexpr const char* kNoMemory = "no memory for an answer: ask later";

/// A checked query, and where its reply goes.
struct Asked {
  std::size_t at = 0;
  std::shared_ptr<const PublicKeys> keys;
  Polynomials ciphertext;
};

class SpiralServer final : public AnyServer {
 public:
  SpiralServer(Params params, EncodedDatabase encoded, std::size_t clients, int threads)
      : params_(std::move(params)),
        ring_(Ring::get(params_.scheme().log_d)),
        encoded_(std::move(encoded)),
        keys_(clients),
        threads_(threads) {}

  ProtocolId protocol() const noexcept override { return ProtocolId::kSpiral; }
  Bytes parameters() const override { return params_.encode(); }
  std::size_t max_request_bytes() const noexcept override {
    return std::max(params_.request_bytes(), params_.keys_bytes());
  }
  std::size_t max_queries() const noexcept override { return 1; }
  /// Keys on their way into memory; or expanded rows, twice, GSW ciphertexts, a ciphertext a column and the
  /// reply. And what the threads share.
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    const std::uint64_t polynomial = polynomial_stride(params_.d()) * sizeof(U32);
    const std::uint64_t digits = std::uint64_t{params_.fold().digits()} * params_.scheme().log_columns;
    const std::uint64_t n = params_.scheme().pack;
    const std::uint64_t each =
        std::max(PublicKeys::bytes(params_),
                 polynomial * (4 * params_.rows() + 6 * digits + 4 * params_.columns() +
                               2 * params_.polynomials() + n * (n + 1) + 16)) +
        params_.reply_bytes();
    const std::uint64_t shared = static_cast<std::uint64_t>(threads_) * polynomial * 2 * kLazyProducts;
    const std::uint64_t waiting = params_.reply_bytes() + 2 * polynomial;  // its reply and its ciphertext
    return static_cast<std::size_t>(saturated_add(saturated_mul(std::min(queries, kMostQueries), each),
                                                  saturated_add(saturated_mul(queries, waiting), shared)));
  }
  std::size_t max_reply_bytes(std::size_t queries) const noexcept override {
    return static_cast<std::size_t>(saturated_mul(queries, params_.reply_bytes()));
  }
  Result<std::size_t> admit(ByteSpan request) const override {
    PIRX_TRY(check(request));
    return std::size_t{1};
  }

  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    return answer_from(requests, {});
  }

  std::vector<Result<Bytes>> answer_from(std::span<const ByteSpan> requests,
                                         std::span<const std::string_view> senders) const override {
    // A text so short that its copies take no memory: tl::expected ends the process where there is none.
    std::vector<Result<Bytes>> replies(requests.size(), fail(ErrorCode::kInternal, "no answer"));
    // Keys first: a batch may hold a client's keys and its queries.
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!is_keys(requests[i]) || over(TimeLimit::current())) continue;
      const auto sender = i < senders.size() ? senders[i] : std::string_view{};
      replies[i] = guarded([&] { return hold_keys(requests[i], sender); }, kNoMemory);
    }
    std::vector<Asked> asked;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (is_keys(requests[i])) continue;
      auto query = guarded([&] { return read_query(requests[i]); }, kNoMemory);
      if (!query) {
        replies[i] = tl::unexpected<Error>(std::move(query).error());
      } else if (query->keys == nullptr) {
        Writer writer(kHeaderBytes);
        encode_header(writer, ProtocolId::kSpiral, MessageType::kKeysUnknown, params_.digest());
        replies[i] = std::move(writer).take();
      } else {
        query->at = i;
        asked.push_back(std::move(*query));
      }
    }
    for (std::size_t first = 0; first < asked.size(); first += kMostQueries) {
      const auto some = std::span(asked).subspan(first, std::min(kMostQueries, asked.size() - first));
      const auto done = guarded([&] { return answer_some(some, replies); }, kNoMemory);
      if (!done) {
        for (const auto& query : some) replies[query.at] = tl::unexpected<Error>(done.error());
      }
    }
    return replies;
  }

 private:
  static bool is_keys(ByteSpan request) noexcept { return message_type(request) == MessageType::kKeys; }
  /// The body of a keys message or a query.
  Result<ByteSpan> check(ByteSpan request) const {
    if (is_keys(request)) {
      return decode_header(request, ProtocolId::kSpiral, MessageType::kKeys, params_.keys_digest(),
                           params_.keys_bytes(), "keys message");
    }
    return decode_header(request, ProtocolId::kSpiral, MessageType::kQuery, params_.digest(),
                         params_.request_bytes());
  }

  Result<Bytes> hold_keys(ByteSpan request, std::string_view sender) const {
    PIRX_ASSIGN(const auto body, check(request));
    PIRX_ASSIGN(auto keys, PublicKeys::decode(params_, ring_, body));
    const Digest name = sha256(request);
    keys_.put(name, std::make_shared<const PublicKeys>(std::move(keys)), sender);
    Writer writer(kHeaderBytes + name.size());
    encode_header(writer, ProtocolId::kSpiral, MessageType::kKeysHeld, params_.keys_digest());
    writer.put_bytes(name);
    return std::move(writer).take();
  }

  Result<Asked> read_query(ByteSpan request) const {
    PIRX_ASSIGN(const auto body, check(request));
    Asked out;
    PIRX_ASSIGN(out.ciphertext, Polynomials::create(2, params_.d()));
    const auto seed = body.subspan(sizeof(Digest));
    if (!get_slots(ring_, seed.data() + kSeedBytes, out.ciphertext[1])) {
      return invalid("a number of the query is not below its prime");
    }
    UniformStream(seed.first<kSeedBytes>()).next(ring_, out.ciphertext[0]);
    Digest name;
    std::copy_n(body.begin(), name.size(), name.begin());
    out.keys = keys_.get(name);
    return out;
  }

  Result<void> answer_some(std::span<Asked> asked, std::vector<Result<Bytes>>& replies) const {
    const std::size_t n = params_.scheme().pack;
    PIRX_ASSIGN(auto evaluator, Evaluator::create(params_, ring_, threads_));
    std::vector<Polynomials> gsw;
    std::vector<AlignedBuffer> rows;
    std::vector<Polynomials> columns(asked.size()), results(asked.size()), packed(asked.size());
    std::vector<Writer> writers;
    std::vector<BitWriter> bits;
    writers.reserve(asked.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      PIRX_ASSIGN(const auto query,
                  evaluator.expand(*asked[i].keys, asked[i].ciphertext[0], asked[i].ciphertext[1]));
      PIRX_ASSIGN(auto converted, evaluator.convert(*asked[i].keys, query.bits));
      PIRX_ASSIGN(auto words, evaluator.first_dimension_query(query.rows));
      rows.push_back(std::move(words));
      gsw.push_back(std::move(converted));
      PIRX_ASSIGN(columns[i], Polynomials::create(2 * params_.columns(), params_.d()));
      PIRX_ASSIGN(results[i], Polynomials::create(2 * n * n, params_.d()));
      PIRX_ASSIGN(packed[i], Polynomials::create(n * (n + 1), params_.d()));
      writers.emplace_back(params_.reply_bytes());
      encode_header(writers[i], ProtocolId::kSpiral, MessageType::kReply, params_.digest());
      bits.emplace_back(writers[i].extend(params_.reply_bytes() - kHeaderBytes));
    }
    for (std::size_t trial = 0; trial < params_.trials(); ++trial) {
      for (std::size_t k = 0; k < n * n; ++k) {
        PIRX_TRY(evaluator.first_dimension(encoded_.words(), trial * n * n + k, rows, columns));
        for (std::size_t i = 0; i < asked.size(); ++i) {
          evaluator.fold(gsw[i], columns[i], params_.fold_form());
          std::copy(columns[i][0], columns[i][2], results[i][2 * k]);
        }
      }
      for (std::size_t i = 0; i < asked.size(); ++i) {
        evaluator.pack(*asked[i].keys, results[i], packed[i]);
        evaluator.switch_modulus(packed[i], bits[i]);
      }
    }
    for (std::size_t i = 0; i < asked.size(); ++i) {
      bits[i].finish();
      replies[asked[i].at] = std::move(writers[i]).take();
    }
    return {};
  }

  Params params_;
  const Ring& ring_;
  EncodedDatabase encoded_;
  mutable KeyStore keys_;
  int threads_;
};

}  // namespace

Result<std::unique_ptr<AnyServer>> make_spiral_server(std::shared_ptr<const database::Database> database,
                                                      const ServerOptions& options) {
  PIRX_CHECK(database != nullptr);
  if (database->bucket() != nullptr) {
    return invalid("spiral serves a plain database, not a bucket of an encoded one");
  }
  auto made = options.scheme ? Params::create({database->geometry(), database->version(), *options.scheme})
                             : choose_params(database->geometry(), database->version());
  PIRX_ASSIGN(auto params, std::move(made));
  if (params.scheme().policy != Policy::kSecure && !options.allow_insecure) {
    return invalid(
        "this plan is for tests or comparisons and hides nothing: choose another set, or ask for an insecure "
        "server on purpose");
  }
  const std::uint64_t clients = options.key_memory / PublicKeys::bytes(params);
  if (clients == 0) {
    return invalid("the keys of one client take " + std::to_string(PublicKeys::bytes(params)) +
                   " bytes: give the server more memory for keys");
  }
  const int threads = thread_count(options.threads);
  const auto make = [&]() -> Result<std::unique_ptr<AnyServer>> {
    PIRX_ASSIGN(auto encoded, EncodedDatabase::create(params, EncodedDatabase::items_of(params, *database),
                                                      threads, options.prepared_file, options.note,
                                                      [&] { return database->verify(); }));
    return std::make_unique<SpiralServer>(std::move(params), std::move(encoded),
                                          static_cast<std::size_t>(clients), threads);
  };
  return guarded(make, "no memory for the encoded database");
}

}  // namespace pirx::cpir::spiral
