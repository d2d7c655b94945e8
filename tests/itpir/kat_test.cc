// SPDX-License-Identifier: Apache-2.0
// Known answers made by tests/vectors/make_goldberg_kat.py, a program that shares nothing with the library:
// every message byte.
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "deployment.h"
#include "pirx/batchcodes/fields.h"
#include "support/source_file.h"

namespace pirx::itpir::goldberg {
namespace {

using nlohmann::json;

Bytes bytes_of(const json& hex) { return from_hex(hex.get<std::string>()).value(); }
std::vector<Bytes> all_bytes_of(const json& list) {
  std::vector<Bytes> all;
  for (const auto& hex : list) all.push_back(bytes_of(hex));
  return all;
}

/// Hands out recorded coins: every field draws an element as its encoding, and none of these are refused.
class RecordedCoins {
 public:
  explicit RecordedCoins(Bytes coins) : coins_(std::move(coins)) {}
  void fill(MutableByteSpan out) {
    PIRX_CHECK(out.size() <= coins_.size() - used_);
    std::copy_n(coins_.begin() + static_cast<std::ptrdiff_t>(used_), out.size(), out.begin());
    used_ += out.size();
  }
  bool used_up() const { return used_ == coins_.size(); }

 private:
  Bytes coins_;
  std::size_t used_ = 0;
};

template <class F>
void check_case(const F& f, const json& known) {
  const auto& shape = known.at("geometry");
  const auto geometry =
      database::Geometry::create({shape.at("records"), shape.at("record_bytes"), shape.at("records_per_row"),
                                  shape.at("variable_length"), shape.at("digests")})
          .value();
  Params::Spec spec{f.tag(), geometry, {}, known.at("coordinates"), known.at("threshold")};
  spec.ramp = known.value("ramp", 1u);
  if (known.contains("encoding")) {
    spec.arity = known.at("encoding").at("arity");
    spec.independence = known.at("encoding").at("independence");
    spec.modulus = known.at("encoding").at("modulus");
  }
  const auto identity = bytes_of(known.at("identity"));
  std::copy(identity.begin(), identity.end(), spec.version.identity.begin());
  spec.version.epoch = known.at("epoch");
  ASSERT_TRUE(Params::create(spec).has_value());
  const std::vector<std::uint64_t> wanted = known.at("wanted");
  const strassen::Engine<F> engine(f);

  const auto records = all_bytes_of(known.at("records"));
  auto rows = matrix::Matrix<std::byte>::create(static_cast<std::size_t>(geometry.rows()),
                                                static_cast<std::size_t>(geometry.row_stride()))
                  .value();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto at = geometry.locate(i).value();
    geometry.fill_slot(i, records[i],
                       {rows.row(static_cast<std::size_t>(at.row)) + at.offset,
                        static_cast<std::size_t>(geometry.slot_bytes())});
  }
  const auto known_rows = all_bytes_of(known.at("rows"));
  ASSERT_EQ(known_rows.size(), rows.rows());
  for (std::size_t k = 0; k < rows.rows(); ++k) {
    EXPECT_EQ(to_hex({rows.row(k), static_cast<std::size_t>(geometry.row_bytes())}), to_hex(known_rows[k]));
  }

  const bool seeded = known.contains("seeds");
  Bytes coins;
  for (const auto& query : known.at(seeded ? "seeds" : "coins")) {
    for (const auto& row : query) {
      for (const auto& hex : seeded ? json::array({row}) : row) {
        const auto encoded = bytes_of(hex);
        coins.insert(coins.end(), encoded.begin(), encoded.end());
      }
    }
  }
  RecordedCoins tape(std::move(coins));
  // The vectors are of bare shares.
  const auto encoding = testing::encoding_of(spec);
  const GoldbergClient<F> client(engine, spec, encoding, Blinding::kOff, {.seeded = seeded});
  const auto [requests, blinding] = client.query(testing::records_of(wanted), tape).value();
  EXPECT_TRUE(tape.used_up());
  for (const auto& scalar : blinding.expose()) EXPECT_TRUE(f.equal(scalar, f.one()));
  EXPECT_EQ(requests, all_bytes_of(known.at("requests")));

  const auto replies = all_bytes_of(known.at("replies"));
  const auto parameters = all_bytes_of(known.at("parameters"));
  for (std::size_t j = 0; j < spec.coordinates.size(); ++j) {
    const ServerOptions options{f.tag(), spec.coordinates[j], 1, 16};
    ServedRows served{geometry, spec.version, std::as_const(rows).view(), nullptr};
    matrix::Matrix<std::byte> bucket;
    if (known.contains("buckets")) {
      const auto bucket_rows = all_bytes_of(known.at("buckets").at(j));
      bucket = matrix::Matrix<std::byte>::create(bucket_rows.size(), bucket_rows.at(0).size()).value();
      for (std::size_t g = 0; g < bucket.rows(); ++g) {
        std::copy(bucket_rows[g].begin(), bucket_rows[g].end(), bucket.row(g));
      }
      served.rows = std::as_const(bucket).view();
      served.arity = spec.arity;
      served.independence = spec.independence;
      served.modulus = spec.modulus;
    }
    const auto server = GoldbergServer<F>::create(engine, std::move(served), options).value();
    EXPECT_EQ(server->parameters(), parameters[j]);
    EXPECT_EQ(testing::Deployment<F>::answer(*server, requests[j]), replies[j]);
  }

  std::vector<typename F::Elem> x;
  for (std::size_t j = 0; j <= encoding.degree(); ++j) x.push_back(f.from_label(spec.coordinates[j]));
  const auto zero = f.zero();
  const auto weights =
      lagrange_matrix(f, std::span<const typename F::Elem>(x), std::span<const typename F::Elem>(&zero, 1))
          .value();
  const auto known_weights = all_bytes_of(known.at("lagrange_at_0"));
  ASSERT_EQ(known_weights.size(), x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    Bytes encoded(f.elem_bytes());
    f.encode_elem(weights.at(0, j), encoded.data());
    EXPECT_EQ(encoded, known_weights[j]);
  }

  GoldbergCollector<F> collector(engine, spec, encoding, testing::records_of(wanted),
                                 SecretVector<typename F::Elem>(blinding.expose()));
  for (std::size_t j = 0; j < replies.size(); ++j) ASSERT_TRUE(collector.add(j, replies[j]).has_value());
  const auto answer = std::move(collector).finish();
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(answer->records[i], records[wanted[i]]);
}

TEST(KnownAnswers, AreReproducedByteForByte) {
  auto file = pirx::testing::source_file("tests/vectors/goldberg_kat.json");
  const auto known = json::parse(file, nullptr, false);
  ASSERT_TRUE(known.is_object()) << "tests/vectors/goldberg_kat.json is missing or no JSON";
  std::set<std::string> fields;
  for (const auto& item : known.at("cases")) {
    SCOPED_TRACE(item.at("name").get<std::string>());
    fields.insert(item.at("field").get<std::string>());
    const auto tag = field_by_name(item.at("field")).value();
    const auto checked = with_field(tag, [&](const auto& f) -> Result<void> {
      check_case(f, item);
      return {};
    });
    ASSERT_TRUE(checked.has_value());
  }
  EXPECT_EQ(fields, (std::set<std::string>{"gf2_8", "gf2_16", "w160"}));
}

/// The document's own figures: section 8 is quoted from the first case.
TEST(KnownAnswers, StandInTheDocument) {
  auto file = pirx::testing::source_file("docs/wire_format.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto vectors = pirx::testing::source_file("tests/vectors/goldberg_kat.json");
  const auto known = json::parse(vectors, nullptr, false);
  ASSERT_TRUE(known.is_object());
  const auto& example = known.at("cases").at(0);
  const auto expect_quoted = [&](const std::string& text) {
    EXPECT_NE(page.find(text), std::string::npos) << "docs/wire_format.md lacks: " << text;
  };
  const auto spaced = [](const std::string& hex) {
    std::string out;
    for (std::size_t i = 0; i < hex.size(); i += 2) out += (i == 0 ? "" : " ") + hex.substr(i, 2);
    return out;
  };
  for (std::size_t j = 0; j < 3; ++j) {
    const auto number = std::to_string(j + 1);
    expect_quoted("Q_" + number + " = " +
                  spaced(example.at("requests").at(j).get<std::string>().substr(160)));
    expect_quoted("R_" + number + " = " + spaced(example.at("replies").at(j).get<std::string>().substr(160)));
  }
  for (std::size_t j = 0; j < 2; ++j) {
    expect_quoted("L_" + std::to_string(j + 1) + " = " +
                  example.at("lagrange_at_0").at(j).get<std::string>());
  }
  // The whole query message to server 1, in lines of 16 bytes.
  const auto message = example.at("requests").at(0).get<std::string>();
  for (std::size_t at = 0; at < message.size(); at += 32) expect_quoted(spaced(message.substr(at, 32)));
}

}  // namespace
}  // namespace pirx::itpir::goldberg
