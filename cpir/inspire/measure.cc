// SPDX-License-Identifier: Apache-2.0
// Measures the rates of inspire: a pass of one query, the preparation of a block, and the client's halves.
#include "block_builder.h"
#include "cost.h"
#include "pirx/cpir/inspire/client.h"
#include "src/protocol/message.h"
#include "src/protocol/stopwatch.h"
#include "strassen/integers.h"

namespace pirx::cpir::inspire {
namespace {

Result<Set> set_of(const RateId& id) {
  for (const auto& set : {kS8, kS16}) {
    if (id.of[0] == set.w) return set;
  }
  return invalid("there is no rate " + id.name() + ": words have 8 or 16 bits");
}

/// Parameters with so many full blocks of rows, and one of columns.
Result<Params> params_of(const Set& set, std::size_t row_blocks) {
  PIRX_ASSIGN(auto geometry, database::Geometry::create({.records = row_blocks * set.d(),
                                                         .record_bytes = set.d() * set.word_bytes(),
                                                         .variable_length = false,
                                                         .digests = false}));
  return Params::create({.geometry = std::move(geometry),
                         .version = {},
                         .set = set,
                         .layout = {},
                         .t = set.most_t(),
                         .tr = set.w + 4});
}

/// Some words, of which a pass or a preparation takes as long as of any other.
void some_words(std::size_t row, std::size_t first, std::size_t count, unsigned bytes, std::byte* out) {
  for (std::size_t i = 0; i < count * bytes; ++i) {
    out[i] = static_cast<std::byte>((row * 40503 + (first + i) * 30011 + row * i) >> 7);
  }
}

/// The seconds of a byte of a matrix of `row_blocks` blocks of rows in the pass of one query.
Result<double> seconds_a_byte(std::size_t rows, unsigned word_bytes, unsigned number_bytes) {
  constexpr std::size_t kBytes = std::size_t{1} << 26, kRows = 64;  // more than caches hold
  const strassen::IntegerShape shape{rows, kBytes / rows / word_bytes, word_bytes};
  PIRX_ASSIGN(auto packed, AlignedBuffer::create(strassen::packed_bytes(shape)));
  Bytes words(kRows * shape.columns * word_bytes);
  for (std::size_t i = 0; i < kRows; ++i) {
    some_words(i, 0, shape.columns, word_bytes, words.data() + i * shape.columns * word_bytes);
  }
  for (std::size_t first = 0; first < rows; first += kRows) {
    strassen::pack_integers(shape, words.data(), shape.columns * word_bytes, first, kRows, packed.data());
  }
  PIRX_ASSIGN(auto query, strassen::IntegerQueries::create(1, rows, number_bytes));
  std::vector<std::uint64_t> numbers(rows), sums(shape.columns);
  for (std::size_t i = 0; i < rows; ++i) numbers[i] = i * 0x9e3779b97f4a7c15;
  query.set(0, numbers);
  Bytes scratch(strassen::multiply_scratch_bytes(shape, query, shape.columns));
  const double seconds = cpu_seconds([&] {
    strassen::multiply_integers(shape, packed.data(), query, 0, shape.columns, sums.data(), shape.columns,
                                scratch);
  });
  return seconds / static_cast<double>(kBytes);
}

Result<double> block_seconds(const Set& set, std::size_t row_blocks) {
  PIRX_ASSIGN(const auto params, params_of(set, row_blocks));
  PIRX_ASSIGN(const auto builder, BlockBuilder::create(params, Ring::get(set.log_d), 1));
  PIRX_ASSIGN(auto scratch, builder.scratch());
  Bytes masks(params.masks_bytes()), packing(set.l * set.d() * set.d() * set.packing_bytes);
  const auto words = [&](std::size_t row, std::size_t first, std::size_t count, std::byte* out) {
    some_words(row, first, count, set.word_bytes(), out);
  };
  Result<void> built;
  const double seconds = cpu_seconds([&] { built = builder.build(0, words, scratch, {masks, packing}); });
  PIRX_TRY(std::move(built));
  return seconds;
}

struct ClientSeconds {
  double query = 0, decode = 0;
};

/// A query over so many blocks of rows, and a reply of one block of columns. Masks and reply are zeros, which
/// take as long as any others.
Result<ClientSeconds> client_seconds(const Set& set, std::size_t row_blocks) {
  PIRX_ASSIGN(const auto plan, params_of(set, row_blocks));
  auto spec = plan.spec();
  const Bytes masks(plan.masks_bytes());
  spec.masks = {mask_digest(spec.salt, 0, masks)};
  PIRX_ASSIGN(const auto params, Params::create(std::move(spec)));
  PIRX_ASSIGN(const auto client, Client::create(params));
  Writer mask_writer(params.masks_reply_bytes(1));
  encode_header(mask_writer, ProtocolId::kInspire, MessageType::kMasks, params.digest());
  mask_writer.put(std::uint32_t{0});
  mask_writer.put(std::uint32_t{1});
  mask_writer.put_bytes(masks);
  PIRX_TRY(client.take_masks(std::move(mask_writer).take()));
  Writer writer(params.reply_bytes());
  encode_header(writer, ProtocolId::kInspire, MessageType::kReply, params.digest());
  writer.extend(params.reply_bytes() - kHeaderBytes);
  const Bytes reply = std::move(writer).take();
  PIRX_ASSIGN(auto rng, Rng::from_os());
  bool right = true;
  ClientSeconds out;
  out.query = cpu_seconds([&] { right &= client.query(1, rng).has_value(); });
  out.decode = cpu_seconds([&] {
    auto query = client.query(1, rng);
    right &= query && client.decode(std::move(query->secret), reply);
  });
  out.decode = std::max(out.decode - out.query, 0.1 * out.decode);
  PIRX_CHECK(right);
  return out;
}

}  // namespace

Result<double> measure_pass(const RateId& id, RateTable& /*others*/) {
  PIRX_ASSIGN(const auto set, set_of(id));
  const unsigned number = set.w == kS8.w ? 4 : 6;
  if (id.step == "inspire_words") return seconds_a_byte(8192, set.word_bytes(), number);
  return seconds_a_byte(set.l * set.d(), set.packing_bytes, 6);
}

Result<double> measure_blocks(const RateId& id, RateTable& others) {
  PIRX_ASSIGN(const auto set, set_of(id));
  PIRX_ASSIGN(const double one, block_seconds(set, 1));
  PIRX_ASSIGN(const double three, block_seconds(set, 3));
  const double columns = std::max((three - one) / 2, 0.1 * one);
  PIRX_TRY(others.set({"inspire_columns", id.of}, columns));
  PIRX_TRY(others.set({"inspire_block", id.of}, std::max(one - columns, 0.1 * one)));
  return others.seconds(id);
}

Result<double> measure_client(const RateId& id, RateTable& others) {
  PIRX_ASSIGN(const auto set, set_of(id));
  PIRX_ASSIGN(const auto one, client_seconds(set, 1));
  PIRX_ASSIGN(const auto four, client_seconds(set, 4));
  // The key's part is as long as a block of rows, or two.
  PIRX_TRY(others.set({"inspire_query", id.of}, (four.query + one.query) / 5));
  PIRX_TRY(others.set({"inspire_decode", id.of}, one.decode));
  return others.seconds(id);
}

}  // namespace pirx::cpir::inspire
