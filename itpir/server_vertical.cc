// SPDX-License-Identifier: Apache-2.0
// Divides requests among the buckets, and joins their replies.
#include "server_vertical.h"

#include <algorithm>
#include <new>

#include "pirx/batchcodes/vertical_database.h"
#include "pirx/gf2e/gf2.h"
#include "pirx/itpir/vertical_layout.h"

namespace pirx::itpir {
namespace {

using gf2e::Gf2;

/// What the rows of all buckets lie in. Rows behind the database's end are zero: a bucket that has such rows
/// is a copy.
struct Buckets {
  std::shared_ptr<const database::Database> database;
  std::optional<batchcodes::VerticalDatabase<Gf2>> sums;
  std::vector<matrix::Matrix<std::byte>> padded;

  Result<matrix::ConstView<std::byte>> rows(std::size_t bucket) {
    const auto words = sums->words(bucket);
    if (words.rows == sums->rows()) return words;
    PIRX_ASSIGN(auto copy, matrix::Matrix<std::byte>::create(sums->rows(), words.cols));
    for (std::size_t i = 0; i < words.rows; ++i) std::copy_n(words.row(i), words.cols, copy.row(i));
    padded.push_back(std::move(copy));
    return std::as_const(padded.back()).view();
  }
};

/// A query of this server is m of the protocol's, one for each bucket.
class VerticalServer final : public AnyServer {
 public:
  VerticalServer(std::vector<std::unique_ptr<AnyServer>> buckets, const ServerParameters& parameters)
      : buckets_(std::move(buckets)), parameters_(parameters) {
    const auto& first = *buckets_.front();
    each_ = (first.max_request_bytes() - MessageHeader::kBytes) / first.max_queries();
    // A sum has at most twice the bytes of a word.
    reply_each_ = 2 * static_cast<std::size_t>(parameters.geometry.row_bytes() + 32);
    const std::uint64_t largest = std::max(each_, reply_each_) * std::uint64_t{m()};
    max_queries_ = static_cast<std::size_t>(
        std::min<std::uint64_t>({first.max_queries(), kMaxQueriesPerRequest / m(),
                                 (kMaxMessageBytes - MessageHeader::kBytes) / largest}));
  }

  ProtocolId protocol() const noexcept override { return buckets_.front()->protocol(); }
  Bytes parameters() const override { return parameters_.encode(); }
  std::size_t max_request_bytes() const noexcept override {
    return MessageHeader::kBytes + max_queries_ * m() * each_;
  }
  std::size_t max_queries() const noexcept override { return max_queries_; }
  /// What one bucket takes at a time, and all replies twice: as they come, and joined.
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    // A bucket's requests at a time, and replies of all.
    return saturated_add(saturated_mul(queries, 2 * m() * reply_each_ + each_),
                         buckets_.front()->working_bytes(queries));
  }

  std::size_t max_reply_bytes(std::size_t queries) const noexcept override {
    return saturated_add(saturated_mul(queries, m() * reply_each_), MessageHeader::kBytes);
  }
  std::size_t pass_bytes() const noexcept override { return buckets_.front()->pass_bytes(); }
  Bytes sample_request(std::size_t queries) const override {
    Bytes whole;
    for (std::size_t b = 0; b < m(); ++b) {
      if (!join(b, buckets_[b]->sample_request(queries), queries, whole)) throw std::bad_alloc();
    }
    return whole;
  }

  Result<std::size_t> admit(ByteSpan request) const override {
    PIRX_ASSIGN(const std::size_t queries, check(request));
    for (std::size_t bucket = 0; bucket < m(); ++bucket) {
      PIRX_ASSIGN(const Bytes part, deal(request, queries, bucket));
      PIRX_TRY(buckets_[bucket]->admit(part));
    }
    return queries;
  }

  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    std::vector<Result<Bytes>> replies(requests.size(), Bytes());
    std::vector<std::size_t> queries(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto admitted = check(requests[i]);
      if (admitted) {
        queries[i] = *admitted;
      } else {
        replies[i] = tl::unexpected(admitted.error());
      }
    }
    for (std::size_t bucket = 0; bucket < m(); ++bucket) ask(bucket, requests, queries, replies);
    return replies;
  }

 private:
  std::size_t m() const noexcept { return buckets_.size(); }

  /// Queries of m vectors each in a request whose length fits its header; the buckets check the rest.
  Result<std::size_t> check(ByteSpan request) const {
    Reader reader(request, "request");
    const auto header = MessageHeader::decode(reader, protocol());
    if (!header) return invalid("the request is malformed: " + header.error().message());
    if (header->type != MessageType::kQuery && header->type != MessageType::kSeeds) {
      return invalid("this pirx message is no query");
    }
    if (header->queries % m() != 0) {
      return invalid("the request holds " + std::to_string(header->queries) +
                     " queries, no multiple of the " + std::to_string(m()) + " buckets of " +
                     parameters_.code);
    }
    if (header->queries / m() > max_queries_) {
      return invalid("the request holds " + std::to_string(header->queries) + " queries, this server takes " +
                     std::to_string(max_queries_ * m()) + ": ask in several requests");
    }
    if (reader.remaining() % header->queries != 0) {
      return invalid("the request's " + std::to_string(reader.remaining()) + " bytes are no " +
                     std::to_string(header->queries) + " query vectors");
    }
    return header->queries / m();
  }

  /// The request of one bucket: vector i of the whole is for bucket i mod m.
  Result<Bytes> deal(ByteSpan request, std::size_t queries, std::size_t bucket) const {
    const std::size_t each = (request.size() - MessageHeader::kBytes) / (queries * m());
    try {
      Reader reader(request, "request");
      auto header = *MessageHeader::decode(reader, protocol());
      header.queries = static_cast<std::uint32_t>(queries);
      Writer writer(MessageHeader::kBytes + queries * each);
      header.encode(writer);
      for (std::size_t k = 0; k < queries; ++k) {
        writer.put_bytes(request.subspan(MessageHeader::kBytes + (k * m() + bucket) * each, each));
      }
      return std::move(writer).take();
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
  }

  /// Adds a bucket's answers to the replies that are still good.
  void ask(std::size_t bucket, std::span<const ByteSpan> requests, std::span<const std::size_t> queries,
           std::vector<Result<Bytes>>& replies) const {
    std::vector<Bytes> parts;
    std::vector<std::size_t> whose;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!replies[i]) continue;
      auto part = deal(requests[i], queries[i], bucket);
      if (part) {
        parts.push_back(std::move(*part));
        whose.push_back(i);
      } else {
        replies[i] = tl::unexpected(part.error());
      }
    }
    const std::vector<ByteSpan> views(parts.begin(), parts.end());
    const auto answers = buckets_[bucket]->answer(views);
    for (std::size_t a = 0; a < answers.size(); ++a) {
      auto& reply = replies[whose[a]];
      if (!answers[a]) {
        reply = tl::unexpected(answers[a].error());
      } else if (!join(bucket, *answers[a], queries[whose[a]], *reply)) {
        reply = no_memory();
      }
    }
  }

  /// False without memory.
  bool join(std::size_t bucket, const Bytes& answer, std::size_t queries, Bytes& reply) const {
    const std::size_t each = (answer.size() - MessageHeader::kBytes) / queries;
    if (reply.empty()) {
      try {
        Reader reader(answer, "reply");
        auto header = *MessageHeader::decode(reader, protocol());
        header.queries = static_cast<std::uint32_t>(queries * m());
        Writer writer(MessageHeader::kBytes + queries * m() * each);
        header.encode(writer);
        writer.extend(queries * m() * each);
        reply = std::move(writer).take();
      } catch (const std::bad_alloc&) {
        return false;
      }
    }
    for (std::size_t k = 0; k < queries; ++k) {
      std::copy_n(answer.data() + MessageHeader::kBytes + k * each, each,
                  reply.data() + MessageHeader::kBytes + (k * m() + bucket) * each);
    }
    return true;
  }

  static tl::unexpected<Error> no_memory() {
    return fail(ErrorCode::kResourceExhausted, "the server has no memory for this request: try again later");
  }

  std::vector<std::unique_ptr<AnyServer>> buckets_;
  ServerParameters parameters_;
  std::size_t each_ = 0, reply_each_ = 0, max_queries_ = 0;
};

}  // namespace

Result<std::unique_ptr<AnyServer>> make_vertical_server(
    std::shared_ptr<const database::Database> database, const std::string& code, int threads,
    const std::function<Result<std::unique_ptr<AnyServer>>(ServedRows)>& open) {
  PIRX_CHECK(database != nullptr);
  if (database->bucket() != nullptr) {
    return invalid(
        "this file is one server's bucket of an encoded database: a batch code goes with the plain one");
  }
  PIRX_ASSIGN(const auto layout, VerticalLayout::create(code, database->geometry(), database->version()));
  auto all = std::make_shared<Buckets>();
  all->database = database;
  const strassen::Engine<Gf2> engine(Gf2{});
  PIRX_ASSIGN(all->sums, batchcodes::VerticalDatabase<Gf2>::create(engine, *layout.code, database->rows(),
                                                                   {.threads = threads}));
  all->padded.reserve(layout.code->buckets());
  std::vector<std::unique_ptr<AnyServer>> buckets;
  for (std::size_t b = 0; b < layout.code->buckets(); ++b) {
    PIRX_ASSIGN(const auto rows, all->rows(b));
    PIRX_ASSIGN(
        auto bucket,
        open(ServedRows{.geometry = layout.bucket, .version = layout.version, .rows = rows, .owner = all}));
    buckets.push_back(std::move(bucket));
  }
  PIRX_ASSIGN(auto parameters, ServerParameters::decode(buckets.front()->parameters()));
  parameters.geometry = layout.plain;
  parameters.version = database->version();
  parameters.code = code;
  auto server = std::make_unique<VerticalServer>(std::move(buckets), parameters);
  if (server->max_queries() == 0) {
    return invalid("a request with one query for each of the " + std::to_string(layout.code->buckets()) +
                   " buckets of " + code + " would be longer than " + std::to_string(kMaxMessageBytes) +
                   " bytes: choose smaller numbers");
  }
  return server;
}

}  // namespace pirx::itpir
