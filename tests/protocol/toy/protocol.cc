// SPDX-License-Identifier: Apache-2.0
// A protocol as an exercise: the client asks for a row by its number, so that it hides nothing. All of it is
// this folder, and one line in a table (table.cc).
#include "pirx/protocol.h"

#include "cpir/rows_client.h"
#include "pirx/database/database.h"
#include "src/protocol/message.h"

namespace pirx {

extern const Protocol kToyProtocol;

namespace {

constexpr auto kToy = static_cast<ProtocolId>(200);

/// The database, which is all that client and server must know alike.
struct Params {
  struct Spec {
    database::Geometry geometry;
    database::Version version;
  };
  explicit Params(Spec of) : spec_(std::move(of)), digest_(sha256(encode())) {}
  const Spec& spec() const { return spec_; }
  const database::Geometry& geometry() const { return spec_.geometry; }
  const Digest& digest() const { return digest_; }
  std::size_t request_bytes() const { return kHeaderBytes + 8; }
  std::size_t reply_bytes() const { return kHeaderBytes + static_cast<std::size_t>(geometry().row_bytes()); }
  Bytes encode() const {
    Writer writer;
    encode_prefix(writer, kToy, MessageType::kParameters);
    spec_.version.encode(writer);
    spec_.geometry.encode(writer);
    return std::move(writer).take();
  }
  static Result<Params> decode(ByteSpan message) {
    Reader reader(message, "parameters message");
    PIRX_TRY(decode_prefix(reader, kToy, MessageType::kParameters));
    PIRX_ASSIGN(const auto version, database::Version::decode(reader));
    PIRX_ASSIGN(auto geometry, database::Geometry::decode(reader));
    PIRX_TRY(reader.expect_end());
    return Params({std::move(geometry), version});
  }

 private:
  Spec spec_;
  Digest digest_;
};

class ToyServer final : public AnyServer {
 public:
  explicit ToyServer(std::shared_ptr<const database::Database> database)
      : database_(std::move(database)), params_({database_->geometry(), database_->version()}) {}
  ProtocolId protocol() const noexcept override { return kToy; }
  Bytes parameters() const override { return params_.encode(); }
  std::size_t max_request_bytes() const noexcept override { return params_.request_bytes(); }
  std::size_t max_queries() const noexcept override { return 1; }
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    return queries * params_.reply_bytes();
  }
  Result<std::size_t> admit(ByteSpan request) const override {
    PIRX_TRY(body_of(request));
    return std::size_t{1};
  }
  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    std::vector<Result<Bytes>> replies;
    for (const auto request : requests) replies.push_back(answer_one(request));
    return replies;
  }

 private:
  Result<ByteSpan> body_of(ByteSpan request) const {
    return decode_header(request, kToy, MessageType::kQuery, params_.digest(), params_.request_bytes());
  }
  Result<Bytes> answer_one(ByteSpan request) const {
    PIRX_ASSIGN(const auto body, body_of(request));
    const auto row = load_le<std::uint64_t>(body.data());
    if (row >= params_.geometry().rows()) return invalid("there is no such row");
    Writer writer;
    encode_header(writer, kToy, MessageType::kReply, params_.digest());
    const auto rows = database_->rows();
    writer.put_bytes(ByteSpan(rows.row(row), static_cast<std::size_t>(params_.geometry().row_bytes())));
    return std::move(writer).take();
  }
  std::shared_ptr<const database::Database> database_;
  Params params_;
};

class ToyClient final : public cpir::RowsClient {
 public:
  explicit ToyClient(Params params) : params_(std::move(params)) {}

 private:
  const database::Geometry& geometry() const override { return params_.geometry(); }
  Result<database::Location> locate(std::uint64_t slot_or_row) const override {
    if (geometry().keyed()) return database::Location{slot_or_row, 0};
    return geometry().locate(slot_or_row);
  }
  std::uint64_t reply_bytes() const override { return params_.reply_bytes(); }
  Result<Asked> query(std::uint64_t row, Rng&, const Stop&) const override {
    Writer writer;
    encode_header(writer, kToy, MessageType::kQuery, params_.digest());
    writer.put(row);
    return std::move(writer).take();
  }
  Result<SecretVector<std::byte>> decode(std::uint64_t, std::unique_ptr<cpir::QuerySecret>, ByteSpan reply,
                                         const Stop&) const override {
    PIRX_ASSIGN(const auto body,
                decode_header(reply, kToy, MessageType::kReply, params_.digest(), params_.reply_bytes()));
    return SecretVector<std::byte>(body);
  }
  Params params_;
};

class ToyPlan final : public cpir::PlanOf<Params> {
 public:
  using PlanOf::PlanOf;
  const Protocol& protocol() const noexcept override { return kToyProtocol; }
  Texts members() const override { return {}; }
  std::string summary() const override { return "one server, which learns what is wanted; " + traffic(); }
  Result<std::unique_ptr<AnyClient>> join(const ClientSpec&) const override {
    return std::make_unique<ToyClient>(params());
  }
};

constexpr Step kSteps[] = {{"toy_row", 0, [](const RateId&, RateTable&) -> Result<double> { return 1e-6; }}};
constexpr Scheme kSchemes[] = {{"toy", [](const Question& question, Rates& rates) -> Result<Offer> {
                                  PIRX_ASSIGN(const double seconds, rates.seconds({"toy_row"}));
                                  return Offer{.settings = "",
                                               .privacy = "none",
                                               .bytes_up = kHeaderBytes + 8,
                                               .bytes_down = kHeaderBytes + question.record_bytes,
                                               .server_seconds = seconds};
                                }}};

}  // namespace

constinit const Protocol kToyProtocol{
    .id = kToy,
    .name = "toy",
    .summary = "one server, no privacy",
    .tell = [](ByteSpan parameters) -> Result<Told> {
      PIRX_ASSIGN(auto params, Params::decode(parameters));
      return ToyPlan::told(ToyPlan(std::move(params)));
    },
    .plan = [](const PlanSpec& spec) -> Result<std::shared_ptr<const Plan>> {
      return std::make_shared<ToyPlan>(Params({*spec.geometry, spec.version}));
    },
    .serve = [](const ServerSpec& spec) -> Result<std::unique_ptr<AnyServer>> {
      return std::make_unique<ToyServer>(spec.database);
    },
    .schemes = kSchemes,
    .steps = kSteps};

}  // namespace pirx
