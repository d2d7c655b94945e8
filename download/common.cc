// SPDX-License-Identifier: Apache-2.0
// Which bytes of a database file a client downloads, and how it knows that they are right.
#include "common.h"

#include <algorithm>

#include "src/database/layout.h"
#include "src/protocol/message.h"

namespace pirx::download {
namespace {

database::Layout layout_of(const Params& params) {
  return database::Layout::plan(params.geometry(), params.key_index_bytes()).value();
}

}  // namespace

Result<Params> Params::create(const database::Geometry& geometry, const database::Version& version,
                              std::uint64_t key_index_bytes) {
  PIRX_ASSIGN(const auto layout, database::Layout::plan(geometry, key_index_bytes));
  Params params(geometry, version, key_index_bytes);
  params.checksums_ = {layout.checksums.offset, layout.checksums.length};
  // Whole chunks, so that they can be checked: the last one may hold what follows the rows.
  const auto chunks = div_up(layout.rows.length, database::kChunkBytes);
  params.content_ = {database::kPageBytes, std::min(chunks * database::kChunkBytes, layout.content_bytes())};
  params.digest_ = sha256(params.encode());
  return params;
}

std::uint64_t Params::checksum_pieces() const noexcept { return div_up(checksums_.length, kPieceBytes); }
std::uint64_t Params::row_pieces() const noexcept { return div_up(content_.length, kPieceBytes); }

Params::Piece Params::piece(std::uint64_t i) const {
  PIRX_CHECK(i < pieces());
  const bool rows = i >= checksum_pieces();
  const auto& range = rows ? content_ : checksums_;
  const auto begin = (rows ? i - checksum_pieces() : i) * kPieceBytes;
  return {range.offset + begin,
          static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, range.length - begin))};
}

Digest Params::identity(ByteSpan checksums) const {
  return database::content_identity(layout_of(*this), checksums);
}

Result<void> Params::check(ByteSpan checksums, ByteSpan content) const {
  PIRX_CHECK(checksums.size() == checksums_.length && content.size() == content_.length);
  for (std::size_t at = 0; at < content.size(); at += database::kChunkBytes) {
    const auto digest =
        sha256(content.subspan(at, std::min<std::size_t>(database::kChunkBytes, content.size() - at)));
    const auto expected = checksums.subspan(at / database::kChunkBytes * sizeof digest, sizeof digest);
    if (!std::equal(digest.begin(), digest.end(), expected.begin())) {
      return fail(ErrorCode::kDataLoss,
                  "what was downloaded is damaged, or the server lies: a checksum does not match");
    }
  }
  return {};
}

Bytes Params::encode() const {
  Writer writer;
  encode_prefix(writer, ProtocolId::kDownload, MessageType::kParameters);
  version_.encode(writer);
  geometry_.encode(writer);
  writer.put(key_index_bytes_);
  return std::move(writer).take();
}

Result<Params> Params::decode(ByteSpan bytes) {
  Reader reader(bytes, "parameters message");
  PIRX_TRY(decode_prefix(reader, ProtocolId::kDownload, MessageType::kParameters));
  PIRX_ASSIGN(const auto version, database::Version::decode(reader));
  PIRX_ASSIGN(const auto geometry, database::Geometry::decode(reader));
  PIRX_ASSIGN(const auto key_index_bytes, reader.get<std::uint64_t>());
  PIRX_TRY(reader.expect_end());
  return create(geometry, version, key_index_bytes);
}

}  // namespace pirx::download
