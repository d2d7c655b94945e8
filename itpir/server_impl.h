// SPDX-License-Identifier: Apache-2.0
// VectorServer<F, V>: the query vectors of all clients are the rows of Q, and Q * D is one product (paper
// 000). It is the server half of every protocol of this folder; V says how query vectors lie in a request.
#pragma once

#include <algorithm>

#include "check_messages.h"
#include "pirx/base/buffer.h"
#include "pirx/itpir/server_options.h"
#include "pirx/strassen/engine.h"
#include "server_options.h"
#include "server_prepare.h"
#include "src/base/parallel_try.h"

namespace pirx::itpir {

/// V has the protocol's number kProtocol, kSeeds (whether a seed may stand for a vector), Entry (of a vector
/// in memory: an element, or a byte of 8 elements of GF(2)), Scratch (what a thread reads vectors with) and
/// static functions. bytes(f, rows): of a query vector on the wire. entries(rows): of a vector in memory.
/// scratch_bytes(rows): what reading one takes beside the vector. check(vectors, rows): what must be wrong
/// with them already when they are admitted. read(f, rows, from, first, to, scratch): the entries of a vector
/// from row `first` on, whatever `to` holds; false if one is no element. expand(f, seed, to), with kSeeds:
/// the vector that a seed stands for. Several threads read at a time, and may throw bad_alloc. kWindowRows:
/// how many rows of vectors are made and multiplied at a time, a multiple of 16; 0: all. Vectors made in
/// windows hold elements only.
template <Field F, class V>
class VectorServer final : public AnyServer {
 public:
  using Entry = typename V::template Entry<F>;
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
  /// The encoded reply, the sums, the decoded or expanded query vectors (a window of them), and what the
  /// product takes for each.
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    const std::size_t per_query = product_.words * (field().sum_bytes() + (windows() ? 2 : 1) * sizeof(Sum)) +
                                  V::entries(window_rows()) * sizeof(Entry) +
                                  V::scratch_bytes(product_.rows) +
                                  product_.bytes_per_query;  // of dimensions that fit memory
    return saturated_add(saturated_mul(queries, per_query), MessageHeader::kBytes);
  }

  std::size_t max_reply_bytes(std::size_t queries) const noexcept override {
    return static_cast<std::size_t>(message_bytes(queries, product_.words, field().sum_bytes()));
  }
  std::size_t pass_bytes() const noexcept override { return product_.workspace_bytes; }
  std::size_t preferred_queries() const noexcept override { return product_.preferred_queries; }
  /// Of zeros: seeds, if the protocol has them, as these need hardly any memory; else keys.
  Bytes sample_request(std::size_t queries) const override {
    const std::size_t bytes = queries * (V::kSeeds ? kSeedBytes : vector_bytes());
    Writer writer(MessageHeader::kBytes + bytes);
    MessageHeader{V::kSeeds ? MessageType::kSeeds : MessageType::kQuery,
                  field().tag(),
                  version_,
                  coordinate_,
                  static_cast<std::uint32_t>(queries),
                  product_.rows,
                  V::kProtocol}
        .encode(writer);
    writer.extend(bytes);
    return std::move(writer).take();
  }
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
           std::max(message_bytes(max_queries_, vector_bytes(), 1),
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

  bool windows() const noexcept {
    return V::kWindowRows > 0 && product_.rows > V::kWindowRows && product_.multiply_window;
  }
  /// The rows of query vectors that are in memory at a time.
  std::size_t window_rows() const noexcept { return windows() ? V::kWindowRows : product_.rows; }

  /// A row of Q, as it came.
  struct Source {
    const std::byte* from;
    bool seed;
    bool good;  ///< no value is found not to be an element
  };

  /// Makes the rows [first, first + rows) of all query vectors. ResourceExhausted: no memory.
  Result<void> read(std::span<Source> sources, std::size_t first, std::size_t rows,
                    std::span<typename V::Scratch> scratch, matrix::View<Entry> Q) const {
    return parallel_try(
        static_cast<int>(scratch.size()), sources.size(),
        [&](std::size_t i, std::size_t worker) -> Result<void> {
          Source& source = sources[i];
          const std::span<Entry> to(Q.row(i), V::entries(rows));
          if constexpr (V::kSeeds) {
            if (source.seed) {
              V::expand(field(), std::span<const std::byte, kSeedBytes>(source.from, kSeedBytes), to);
              return {};
            }
          }
          source.good = V::read(field(), product_.rows, source.from, first, to, scratch[worker]);
          return {};
        });
  }

  Result<void> multiply_slice(std::span<const ByteSpan> requests, std::vector<Admitted>& slice,
                              std::size_t stacked, std::vector<Result<Bytes>>& replies) const try {
    const std::size_t window = window_rows(), width = V::entries(window), s = product_.words;
    PIRX_ASSIGN(auto Q, matrix::Matrix<Entry>::create(stacked, width));
    std::vector<Source> sources;
    for (const auto& admitted : slice) {
      const std::size_t each = admitted.seeds ? kSeedBytes : vector_bytes();
      for (std::size_t i = 0; i < admitted.queries; ++i) {
        sources.push_back(
            {requests[admitted.request].data() + MessageHeader::kBytes + i * each, admitted.seeds, true});
      }
    }
    std::vector<typename V::Scratch> scratch(static_cast<std::size_t>(thread_count(threads_)));
    if (!read(sources, 0, window, scratch, Q.view())) return no_memory();
    // A request with a value that is no element fails alone: the rows after it move up.
    std::size_t rows = 0, next = 0;
    std::erase_if(slice, [&](const Admitted& admitted) {
      const std::size_t first = std::exchange(next, next + admitted.queries);
      const bool whole = std::all_of(sources.begin() + static_cast<std::ptrdiff_t>(first),
                                     sources.begin() + static_cast<std::ptrdiff_t>(next),
                                     [](const Source& one) { return one.good; });
      if (!whole) {
        replies[admitted.request] =
            invalid("a query vector holds a value that is no element of " + field().tag().name());
        return true;
      }
      if (rows != first) {
        for (std::size_t i = 0; i < admitted.queries; ++i)
          std::copy_n(Q.row(first + i), width, Q.row(rows + i));
      }
      rows += admitted.queries;
      return false;
    });
    if (rows == 0) return {};
    PIRX_ASSIGN(auto R, matrix::Matrix<Sum>::create(rows, s));
    const auto multiply = [&](std::size_t first, std::size_t height, matrix::Matrix<Sum>& to) {
      const matrix::ConstView<std::byte> from{reinterpret_cast<const std::byte*>(Q.row(0)), rows,
                                              product_.elems_bytes(height), Q.view().stride};
      const matrix::View<std::byte> sums{reinterpret_cast<std::byte*>(to.row(0)), rows, s * sizeof(Sum),
                                         to.view().stride};
      return windows() ? product_.multiply_window(first, height, from, sums) : product_.multiply(from, sums);
    };
    PIRX_TRY(multiply(0, window, R));
    if (windows()) {
      PIRX_ASSIGN(auto part, matrix::Matrix<Sum>::create(rows, s));
      for (std::size_t first = window; first < product_.rows; first += window) {
        const std::size_t height = std::min(window, product_.rows - first);
        if (!read(sources, first, height, scratch, Q.view())) return no_memory();
        PIRX_TRY(multiply(first, height, part));
        for (std::size_t i = 0; i < rows; ++i) {
          product_.add(s, reinterpret_cast<const std::byte*>(part.row(i)),
                       reinterpret_cast<std::byte*>(R.row(i)));
        }
      }
    }
    std::size_t row = 0;
    for (const auto& admitted : slice) {
      replies[admitted.request] = encode_reply(R.view().window(row, 0, admitted.queries, s));
      row += admitted.queries;
    }
    return {};
  } catch (const std::bad_alloc&) {
    return no_memory();
  }

  static tl::unexpected<Error> no_memory() {
    return fail(ErrorCode::kResourceExhausted,
                "the server has no memory for these requests: try again later");
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
  constexpr bool kBits = std::same_as<Entry, std::byte>;
  const Product whole = whole_product(engine.field(), served, kBits);
  PIRX_CHECK(whole.words * engine.field().word_bytes() <= served.rows.cols && options.coordinate);
  const auto prepare = [&](const Part& part) {
    return prepare_product(engine, served, kBits, part, options);
  };
  PIRX_ASSIGN(auto product,
              options.spread ? options.spread(whole, prepare) : prepare({0, whole.rows, 0, whole.words}));
  return std::unique_ptr<AnyServer>(
      new VectorServer(engine.field(), std::move(served), std::move(product), options));
}

}  // namespace pirx::itpir
