// SPDX-License-Identifier: Apache-2.0
// Gives pieces of the database file.
#include "server.h"

#include "common.h"
#include "src/base/guarded.h"
#include "src/database/mapping.h"
#include "src/protocol/message.h"

namespace pirx::download {
namespace {

class DownloadServer final : public AnyServer {
 public:
  DownloadServer(std::shared_ptr<const database::Database> database, Params params)
      : database_(std::move(database)), params_(std::move(params)) {}

  ProtocolId protocol() const noexcept override { return ProtocolId::kDownload; }
  Bytes parameters() const override { return params_.encode(); }
  std::size_t max_request_bytes() const noexcept override { return kRequestBytes; }
  std::size_t max_queries() const noexcept override { return 1; }
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    return queries * (kHeaderBytes + Params::kPieceBytes);
  }
  Result<std::size_t> admit(ByteSpan request) const override {
    PIRX_TRY(piece_of(request));
    return std::size_t{1};
  }
  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    std::vector<Result<Bytes>> replies;
    for (const auto request : requests) {
      replies.push_back(guarded([&] { return answer_one(request); }, "no memory for a piece: ask later"));
    }
    return replies;
  }

 private:
  Result<Params::Piece> piece_of(ByteSpan request) const {
    PIRX_ASSIGN(const auto body, decode_header(request, ProtocolId::kDownload, MessageType::kQuery,
                                               params_.digest(), kRequestBytes));
    const auto number = load_le<std::uint64_t>(body.data());
    if (number < params_.pieces()) return params_.piece(number);
    return invalid("there are " + std::to_string(params_.pieces()) + " pieces, numbered from 0");
  }
  Result<Bytes> answer_one(ByteSpan request) const {
    PIRX_ASSIGN(const auto piece, piece_of(request));
    Writer writer(kHeaderBytes + piece.length);
    encode_header(writer, ProtocolId::kDownload, MessageType::kReply, params_.digest());
    writer.put_bytes(database_->mapping().file.subspan(static_cast<std::size_t>(piece.offset), piece.length));
    return std::move(writer).take();
  }

  std::shared_ptr<const database::Database> database_;
  Params params_;
};

}  // namespace

Result<std::unique_ptr<AnyServer>> make_server(std::shared_ptr<const database::Database> database) {
  PIRX_CHECK(database != nullptr);
  if (database->bucket() != nullptr) {
    return invalid("download serves a plain database, not a bucket of an encoded one");
  }
  PIRX_ASSIGN(auto params,
              Params::create(database->geometry(), database->version(), database->key_index_bytes()));
  return std::make_unique<DownloadServer>(std::move(database), std::move(params));
}

}  // namespace pirx::download
