// SPDX-License-Identifier: Apache-2.0
// Asks for every piece, in order, whatever the client wants; then checks all of it and looks for itself.
#include "client.h"

#include <new>

#include "common.h"
#include "pirx/database/key_filter.h"
#include "src/base/guarded.h"
#include "src/base/wanted_keys.h"
#include "src/database/stand_in.h"
#include "src/protocol/message.h"

namespace pirx {
extern const Protocol kDownloadProtocol;
}

namespace pirx::download {
namespace {

class DownloadRetrieval final : public Retrieval {
 public:
  DownloadRetrieval(const Params& params, std::span<const std::uint64_t> positions,
                    std::span<const std::string> keys)
      : params_(params), positions_(positions), keys_(keys) {}

 private:
  Result<std::vector<Request>> next() override {
    std::vector<Request> requests;
    if (failed_ || next_piece_ == params_.pieces()) return requests;
    Writer writer;
    encode_header(writer, ProtocolId::kDownload, MessageType::kQuery, params_.digest());
    writer.put(next_piece_);
    requests.push_back({0, std::move(writer).take(), kHeaderBytes + params_.piece(next_piece_).length});
    return requests;
  }
  Result<void> take(std::size_t, ByteSpan reply) override {
    const auto piece = params_.piece(next_piece_);
    const auto body = decode_header(reply, ProtocolId::kDownload, MessageType::kReply, params_.digest(),
                                    kHeaderBytes + piece.length);
    if (!body) {
      failed_ = of_reply(body.error());
      return tl::unexpected(*failed_);
    }
    auto& into = next_piece_ < params_.checksum_pieces() ? checksums_ : content_;
    try {
      const bool first = &into == &checksums_;
      into.reserve(static_cast<std::size_t>(first ? params_.checksums_bytes() : params_.content_bytes()));
      into.insert(into.end(), body->begin(), body->end());
    } catch (const std::bad_alloc&) {
      failed_ =
          Error(ErrorCode::kResourceExhausted,
                "no memory for the " + std::to_string(params_.content_bytes()) + " bytes of the database");
    }
    ++next_piece_;
    return {};
  }
  void miss(std::size_t, const Error& why) override { failed_ = of_reply(why); }

  Result<Answer> conclude() override {
    if (failed_) return tl::unexpected(*failed_);
    if (params_.identity(checksums_) != params_.version().identity) {
      return fail(ErrorCode::kDataLoss,
                  "what was downloaded is not the deployment's database: its checksums do not give its "
                  "identity");
    }
    PIRX_TRY(params_.check(checksums_, content_));
    PIRX_ASSIGN(auto records, keys_.size() == 0 ? read_positions() : read_keys());
    Answer answer;
    answer.set_records(std::move(records));
    // The identity proves everything, whoever sent it.
    answer.certainty = Certainty::kProven;
    answer.responders = answer.proof_bound = 1;
    answer.servers = {ServerStatus::kOk};
    return answer;
  }
  ByteSpan slot(std::uint64_t row, std::uint64_t offset) const {
    const auto& geometry = params_.geometry();
    return ByteSpan(content_).subspan(static_cast<std::size_t>(row * geometry.row_stride() + offset),
                                      static_cast<std::size_t>(geometry.slot_bytes()));
  }
  Result<Records> read_positions() const {
    Records records;
    const auto& geometry = params_.geometry();
    PIRX_TRY(database::check_in_range(positions_.expose(), geometry));
    for (const auto position : positions_.expose()) {
      PIRX_ASSIGN(const auto at, geometry.locate(position));
      PIRX_ASSIGN(const auto record, geometry.read_slot(position, slot(at.row, at.offset)));
      records.emplace_back(Bytes(record.begin(), record.end()));
    }
    return records;
  }
  Result<Records> read_keys() const {
    Records records;
    PIRX_ASSIGN(const auto filter, database::KeyFilter::create(params_.geometry()));
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const auto place = filter.place(keys_[i]);
      SecretVector<std::byte> sum(static_cast<std::size_t>(params_.geometry().slot_bytes()));
      for (const auto row : place.rows) {
        const auto part = slot(row, place.offset);
        for (std::size_t b = 0; b < part.size(); ++b) sum.expose()[b] ^= part[b];
      }
      PIRX_ASSIGN(records.emplace_back(), filter.read_slot(keys_[i], sum.expose()));
    }
    return records;
  }

  const Params& params_;
  const SecretVector<std::uint64_t> positions_;
  const WantedKeys keys_;
  std::uint64_t next_piece_ = 0;
  Bytes checksums_, content_;
  std::optional<Error> failed_;
};

class DownloadClient final : public AnyClient {
 public:
  explicit DownloadClient(Params params) : params_(std::move(params)) {}
  Result<std::unique_ptr<Retrieval>> retrieve(std::span<const std::uint64_t> positions,
                                              const RetrieveOptions& options, Rng) const override {
    return guarded([&]() -> Result<std::unique_ptr<Retrieval>> {
      PIRX_TRY(check_wishes(positions.size()));
      PIRX_TRY(check_one_server(options));
      PIRX_TRY(database::check_by_position(params_.geometry()));
      return std::make_unique<DownloadRetrieval>(params_, positions, std::span<const std::string>());
    });
  }
  Result<std::unique_ptr<Retrieval>> retrieve(std::span<const std::string> keys,
                                              const RetrieveOptions& options, Rng) const override {
    return guarded([&]() -> Result<std::unique_ptr<Retrieval>> {
      PIRX_TRY(check_wishes(keys.size()));
      PIRX_TRY(check_one_server(options));
      PIRX_TRY(database::KeyFilter::create(params_.geometry()));
      return std::make_unique<DownloadRetrieval>(params_, std::span<const std::uint64_t>(), keys);
    });
  }

 private:
  const Params params_;
};

class DownloadPlan final : public Plan {
 public:
  explicit DownloadPlan(Params params) : params_(std::move(params)) {}
  const Protocol& protocol() const noexcept override { return kDownloadProtocol; }
  const database::Geometry& geometry() const noexcept override { return params_.geometry(); }
  const database::Version& version() const noexcept override { return params_.version(); }
  Texts members() const override { return {{"key_index_bytes", std::to_string(params_.key_index_bytes())}}; }
  std::optional<Digest> digest() const override { return params_.digest(); }
  Work work() const override {
    const auto bytes = static_cast<double>(params_.checksums_bytes() + params_.content_bytes());
    return {.once_down = bytes,
            .once_messages = static_cast<double>(params_.pieces()),
            .memory = bytes,
            .once_seconds = bytes * 1e-9};
  }
  std::string summary() const override {
    return "one server; a client downloads all " +
           std::to_string(params_.checksums_bytes() + params_.content_bytes()) + " bytes in " +
           std::to_string(params_.pieces()) + " pieces for every retrieval";
  }
  Result<std::unique_ptr<AnyClient>> join(const ClientSpec&) const override {
    return std::make_unique<DownloadClient>(params_);
  }

 private:
  const Params params_;
};

}  // namespace

Result<Told> tell(ByteSpan parameters) {
  PIRX_ASSIGN(const auto params, Params::decode(parameters));
  const DownloadPlan plan(params);
  return Told{plan.members(), params.geometry(), params.version(), std::nullopt, params.digest()};
}

Result<std::shared_ptr<const Plan>> make_plan(const PlanSpec& spec) {
  PIRX_TRY(spec.members.require({"key_index_bytes"}));
  PIRX_ASSIGN(auto params,
              Params::create(*spec.geometry, spec.version, *spec.members.number("key_index_bytes")));
  return std::make_shared<DownloadPlan>(std::move(params));
}

}  // namespace pirx::download
