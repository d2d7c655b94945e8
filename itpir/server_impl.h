// SPDX-License-Identifier: Apache-2.0
// VectorServer<F, V>: the query vectors of all clients are the rows of Q, and Q * D is one product (paper
// 000). It is the server half of every protocol of this folder; V says how query vectors lie in a request.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>

#include "check_messages.h"
#include "pirx/base/buffer.h"
#include "pirx/itpir/server_options.h"
#include "pirx/strassen/engine.h"
#include "server_options.h"
#include "server_prepare.h"
#include "src/base/threads.h"

namespace pirx::itpir {

/// V has the protocol's number kProtocol, kSeeds (whether a seed may stand for a vector) and static
/// functions. bytes(f, rows): of a query vector. scratch_bytes(rows): what reading one takes beside the
/// vector. check(vectors, rows): what must be wrong with them already when they are admitted. read(f, from,
/// to): a vector; false if it holds a value that is no element. expand(f, seed, to), with kSeeds: the vector
/// that a seed stands for. Several threads read at a time, and may throw bad_alloc.
template <Field F, class V>
class VectorServer final : public AnyServer {
 public:
  using Elem = typename F::Elem;
  using Sum = typename F::Sum;

  /// `options` are checked by the caller against the engine's field, and name a coordinate.
  static Result<std::unique_ptr<AnyServer>> create(strassen::Engine<F> engine, ServedRows served,
                                                   const ServerOptions& options);

  ProtocolId protocol() const noexcept override { return V::kProtocol; }
  Bytes parameters() const override {
    return ServerParameters{field().tag(), served_.geometry,     served_.version, coordinate_,
                            served_.arity, served_.independence, served_.modulus, V::kProtocol}
        .encode();
  }
  std::size_t max_request_bytes() const noexcept override {
    return static_cast<std::size_t>(
        std::max(message_bytes(max_queries_, vector_bytes(), 1), seeds_bytes(max_queries_)));
  }
  std::size_t max_queries() const noexcept override { return max_queries_; }
  /// The encoded reply, the sums, the decoded or expanded query vectors, and what the product takes for each.
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    const std::size_t per_query = product_.words * (field().sum_bytes() + sizeof(Sum)) +
                                  product_.rows * sizeof(Elem) + V::scratch_bytes(product_.rows) +
                                  product_.bytes_per_query;  // of dimensions that fit memory
    const auto all = checked_mul(queries, per_query);
    const auto sum = all ? checked_add(*all, MessageHeader::kBytes) : std::nullopt;
    return sum.value_or(std::numeric_limits<std::size_t>::max());
  }

  std::size_t pass_bytes() const noexcept override { return product_.workspace_bytes; }
  std::size_t preferred_queries() const noexcept override { return product_.preferred_queries; }
  std::vector<std::pair<std::string, std::string>> facts() const override {
    return {{"field", field().tag().name()}, {"coordinate", std::to_string(coordinate_)}};
  }

  Result<std::size_t> admit(ByteSpan request) const override {
    PIRX_ASSIGN(const Admitted admitted, check_request(request));
    return admitted.queries;
  }

  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    std::vector<Result<Bytes>> replies(requests.size(), Bytes());
    std::vector<Admitted> slice;
    std::size_t stacked = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      auto admitted = check_request(requests[i]);
      if (!admitted) {
        replies[i] = tl::unexpected(admitted.error());
        continue;
      }
      admitted->request = i;
      if (stacked + admitted->queries > kMaxQueriesPerRequest) {
        answer_slice(requests, slice, stacked, replies);
        slice.clear();
        stacked = 0;
      }
      slice.push_back(*admitted);
      stacked += admitted->queries;
    }
    answer_slice(requests, slice, stacked, replies);
    return replies;
  }

 private:
  struct Admitted {
    std::size_t request;
    std::size_t queries;
    bool seeds;  ///< in place of vectors
  };

  VectorServer(const F& f, ServedRows served, Product product, const ServerOptions& options)
      : f_(f),
        served_(std::move(served)),
        version_(bound_version(served_.version, served_.arity, served_.independence, served_.modulus)),
        product_(std::move(product)),
        coordinate_(*options.coordinate),
        threads_(options.threads),
        max_queries_(options.max_queries_per_request) {
    // Replies are bounded too: a database with rows of 16 MiB answers at most 63 queries at once.
    while (max_queries_ > 1 &&
           std::max(message_bytes(max_queries_, product_.rows, field().elem_bytes()),
                    message_bytes(max_queries_, product_.words, field().sum_bytes())) > kMaxMessageBytes) {
      --max_queries_;
    }
  }

  /// Everything but whether the values are elements.
  Result<Admitted> check_request(ByteSpan request) const {
    Reader reader(request, "request");
    const auto header = MessageHeader::decode(reader, V::kProtocol);
    if (!header) return invalid("the request is malformed: " + header.error().message());
    const bool seeds = V::kSeeds && header->type == MessageType::kSeeds;
    if (!seeds && header->type != MessageType::kQuery) return invalid("this pirx message is no query");
    PIRX_TRY(check_query(
        *header, {MessageType::kQuery, field().tag(), version_, coordinate_, max_queries_, product_.rows}));
    PIRX_TRY(check_query_bytes(request, header->queries, seeds ? kSeedBytes : vector_bytes()));
    if (!seeds) PIRX_TRY(V::check(request.subspan(MessageHeader::kBytes), product_.rows));
    return Admitted{0, header->queries, seeds};
  }

  const F& field() const noexcept { return f_; }
  std::size_t vector_bytes() const noexcept {
    return static_cast<std::size_t>(V::bytes(field(), product_.rows));
  }

  /// One product for all of `slice`. A request with a value that is no element fails alone: its rows are
  /// taken by the next.
  void answer_slice(std::span<const ByteSpan> requests, std::vector<Admitted>& slice, std::size_t stacked,
                    std::vector<Result<Bytes>>& replies) const {
    if (slice.empty()) return;
    const auto result = multiply_slice(requests, slice, stacked, replies);
    if (result) return;
    for (const auto& admitted : slice) replies[admitted.request] = tl::unexpected(result.error());
  }

  Result<void> multiply_slice(std::span<const ByteSpan> requests, std::vector<Admitted>& slice,
                              std::size_t stacked, std::vector<Result<Bytes>>& replies) const {
    const std::size_t r = product_.rows, s = product_.words;
    PIRX_ASSIGN(auto Q, matrix::Matrix<Elem>::create(stacked, r));
    const auto no_memory = [] {
      return fail(ErrorCode::kResourceExhausted,
                  "the server has no memory for these requests: try again later");
    };
    std::vector<const std::byte*> from;  // what each row of Q is read from
    std::vector<char> seeds, good;
    try {
      for (const auto& admitted : slice) {
        const std::size_t each = admitted.seeds ? kSeedBytes : vector_bytes();
        for (std::size_t i = 0; i < admitted.queries; ++i) {
          from.push_back(requests[admitted.request].data() + MessageHeader::kBytes + i * each);
          seeds.push_back(admitted.seeds);
        }
      }
      good.assign(from.size(), true);
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
    std::atomic<bool> enough = true;
    parallel_for(thread_count(threads_), from.size(), [&](std::size_t row, std::size_t) {
      const std::span<Elem> vector(Q.row(row), r);
      try {
        if constexpr (V::kSeeds) {
          if (seeds[row]) {
            const std::span<const std::byte, kSeedBytes> seed(from[row], kSeedBytes);
            return V::expand(field(), seed, vector);
          }
        }
        good[row] = V::read(field(), from[row], vector);
      } catch (const std::bad_alloc&) {  // which must not leave a thread
        enough = false;
      }
    });
    if (!enough) return no_memory();
    // A request with a value that is no element fails alone: the rows after it move up.
    std::size_t rows = 0, next = 0;
    std::erase_if(slice, [&](const Admitted& admitted) {
      const std::size_t first = std::exchange(next, next + admitted.queries);
      const bool whole =
          std::all_of(good.begin() + static_cast<std::ptrdiff_t>(first),
                      good.begin() + static_cast<std::ptrdiff_t>(next), [](char one) { return one; });
      if (!whole) {
        replies[admitted.request] =
            invalid("a query vector holds a value that is no element of " + field().tag().name());
        return true;
      }
      if (rows != first) {
        for (std::size_t i = 0; i < admitted.queries; ++i) std::copy_n(Q.row(first + i), r, Q.row(rows + i));
      }
      rows += admitted.queries;
      return false;
    });
    if (rows == 0) return {};
    PIRX_ASSIGN(auto R, matrix::Matrix<Sum>::create(rows, s));
    PIRX_TRY(product_.multiply(
        {reinterpret_cast<const std::byte*>(Q.row(0)), rows, r * sizeof(Elem), Q.view().stride},
        {reinterpret_cast<std::byte*>(R.row(0)), rows, s * sizeof(Sum), R.view().stride}));
    std::size_t row = 0;
    for (const auto& admitted : slice) {
      replies[admitted.request] = encode_reply(R.view().window(row, 0, admitted.queries, s));
      row += admitted.queries;
    }
    return {};
  }

  Result<Bytes> encode_reply(matrix::ConstView<Sum> sums) const {
    const std::size_t each = sums.cols * field().sum_bytes();
    try {
      Writer writer(MessageHeader::kBytes + sums.rows * each);
      const auto queries = static_cast<std::uint32_t>(sums.rows);
      MessageHeader{MessageType::kReply, field().tag(), version_, coordinate_, queries,
                    sums.cols,           V::kProtocol}
          .encode(writer);
      auto* to = writer.extend(sums.rows * each).data();
      for (std::size_t i = 0; i < sums.rows; ++i) {
        for (const Sum& sum : std::span(sums.row(i), sums.cols)) {
          field().encode_sum(sum, to);
          to += field().sum_bytes();
        }
      }
      return std::move(writer).take();
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::kResourceExhausted, "the server has no memory for this reply: try again later");
    }
  }

  F f_;
  ServedRows served_;
  database::Version version_;  ///< of messages
  Product product_;
  std::uint64_t coordinate_;
  int threads_;
  std::uint32_t max_queries_;
};

// Outside of the class, so that it is not inline: whoever includes this would compile the whole server again.
template <Field F, class V>
Result<std::unique_ptr<AnyServer>> VectorServer<F, V>::create(strassen::Engine<F> engine, ServedRows served,
                                                              const ServerOptions& options) {
  const Product whole = whole_product(engine.field(), served);
  PIRX_CHECK(whole.words * engine.field().word_bytes() <= served.rows.cols && options.coordinate);
  const auto prepare = [&](const Part& part) { return prepare_product(engine, served, part, options); };
  PIRX_ASSIGN(auto product,
              options.spread ? options.spread(whole, prepare) : prepare({0, whole.rows, 0, whole.words}));
  return std::unique_ptr<AnyServer>(
      new VectorServer(engine.field(), std::move(served), std::move(product), options));
}

}  // namespace pirx::itpir
