// SPDX-License-Identifier: Apache-2.0
// Checks queries, and implements AnyServer for quadratic residuosity.
#include "pirx/cpir/qr/server.h"

#include "column_products.h"
#include "cpir/dj/number.h"
#include "pirx/base/buffer.h"
#include "src/base/guarded.h"
#include "src/base/parallel_try.h"
#include "src/protocol/message.h"

namespace pirx::cpir::qr {
namespace {

struct Query {
  mpz_class n;
  std::vector<mpz_class> y;
};

/// Reads and checks what a client chose. A number of Jacobi symbol 1 is a unit; one of symbol -1 is known for
/// a non-residue by everybody, and so would be the row.
Result<Query> decode_query(const Params& params, ByteSpan request, int threads) {
  PIRX_ASSIGN(const auto body, decode_header(request, ProtocolId::kQuadraticResiduosity, MessageType::kQuery,
                                             params.digest(), params.request_bytes()));
  const auto number = [&](std::size_t i) {
    return body.subspan(i * params.number_bytes(), params.number_bytes());
  };
  PIRX_ASSIGN(const auto key, make_public_key(number(0), params.spec().modulus_bits, params.spec().policy));
  Query out{dj::number_from_bytes(key.modulus()), std::vector<mpz_class>(params.rows())};
  mpz_class product = 1;
  for (std::size_t i = 0; i < params.rows(); ++i) {
    out.y[i] = dj::number_from_bytes(number(i + 1));
    if (sgn(out.y[i]) == 0 || out.y[i] >= out.n)
      return invalid("a number of the query is zero or not below N");
    product = product * out.y[i] % out.n;
  }
  if (gcd(product, out.n) != 1)
    return invalid("a number of the query has a factor in common with the modulus");
  PIRX_TRY(parallel_try(threads, params.rows(), [&](std::size_t i, std::size_t) -> Result<void> {
    if (mpz_jacobi(out.y[i].get_mpz_t(), out.n.get_mpz_t()) == 1) return {};
    return invalid("a number of the query does not have Jacobi symbol 1");
  }));
  return out;
}

class QrServer final : public AnyServer {
 public:
  QrServer(std::shared_ptr<const database::Database> database, Params params, const dj::RowKernel& kernel,
           int threads, std::function<void(double)> progress)
      : database_(std::move(database)),
        params_(std::move(params)),
        kernel_(kernel),
        threads_(threads),
        progress_(std::move(progress)) {}

  ProtocolId protocol() const noexcept override { return ProtocolId::kQuadraticResiduosity; }
  Bytes parameters() const override { return params_.encode(); }
  std::size_t max_request_bytes() const noexcept override { return params_.request_bytes(); }
  std::size_t max_queries() const noexcept override { return 1; }
  /// The reply, the query's numbers, tables and sums.
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    const std::uint64_t each =
        params_.reply_bytes() + params_.rows() * (params_.number_bytes() + sizeof(mpz_class) + 16) +
        column_products_bytes(kernel_, params_.spec().modulus_bits, 8 * params_.row_bytes(), threads_);
    return static_cast<std::size_t>(saturated_mul(queries, each));
  }
  std::size_t max_reply_bytes(std::size_t queries) const noexcept override {
    return static_cast<std::size_t>(saturated_mul(queries, params_.reply_bytes()));
  }
  Result<std::size_t> admit(ByteSpan request) const override {
    PIRX_TRY(decode_header(request, ProtocolId::kQuadraticResiduosity, MessageType::kQuery, params_.digest(),
                           params_.request_bytes()));
    return std::size_t{1};
  }
  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    std::vector<Result<Bytes>> replies;
    replies.reserve(requests.size());
    for (const auto request : requests) {
      replies.push_back(guarded([&] { return answer_one(request); }, "no memory for a reply: ask later"));
    }
    return replies;
  }

 private:
  Result<Bytes> answer_one(ByteSpan request) const {
    PIRX_ASSIGN(const auto query, decode_query(params_, request, threads_));
    const dj::Ring ring(kernel_, query.n, 0);
    const BitMatrix bits(params_, database_->rows());
    Writer writer(params_.reply_bytes());
    encode_header(writer, ProtocolId::kQuadraticResiduosity, MessageType::kReply, params_.digest());
    const auto numbers = writer.extend(params_.reply_bytes() - kHeaderBytes);
    const auto plan = plan_columns(bits.rows(), 8 * bits.row_bytes(), ring);
    PIRX_TRY(column_products(ring, query.y, bits, plan, threads_, numbers, progress_));
    return std::move(writer).take();
  }

  std::shared_ptr<const database::Database> database_;
  Params params_;
  const dj::RowKernel& kernel_;
  int threads_;
  std::function<void(double)> progress_;
};

}  // namespace

Result<std::unique_ptr<AnyServer>> make_qr_server(std::shared_ptr<const database::Database> database,
                                                  const ServerOptions& options) {
  PIRX_CHECK(database != nullptr);
  if (database->bucket() != nullptr) {
    return invalid("qr serves a plain database, not a bucket of an encoded one");
  }
  PIRX_ASSIGN(const auto kernel, dj::choose_kernel(options.kernel));
  PIRX_ASSIGN(auto params, Params::create({database->geometry(), database->version(), options.slots,
                                           options.modulus_bits, options.policy}));
  return std::make_unique<QrServer>(std::move(database), std::move(params), *kernel,
                                    thread_count(options.threads), options.progress);
}

}  // namespace pirx::cpir::qr
