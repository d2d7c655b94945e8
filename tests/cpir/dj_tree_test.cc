// SPDX-License-Identifier: Apache-2.0
// Trees against known answers and plain look-up: any rows, arities and chunks, every kernel and thread count.
#include <gtest/gtest.h>

#include "cpir/dj/level_shape.h"
#include "cpir/dj/polynomial.h"
#include "cpir/dj/tree.h"
#include "dj_support.h"
#include "pirx/cpir/dj/cipher.h"
#include "pirx/cpir/dj/client.h"
#include "src/protocol/message.h"
#include "support/seed.h"

namespace pirx::cpir::dj {
namespace {

using testing::KnownKey;
using testing::number;

database::Geometry rows_of(std::uint64_t rows, std::uint64_t bytes) {
  return database::Geometry::create({rows, bytes, 1, false, false}).value();
}
Params toy(const database::Geometry& geometry, std::vector<std::uint32_t> arities, unsigned leaf_layer) {
  return Params::create(
             {geometry, {}, std::move(arities), 128, KeyPolicy::kToy, Selectors::kOneHot, leaf_layer})
      .value();
}

std::vector<TreeOptions> all_options() {
  std::vector<TreeOptions> all;
  for (const char* name : {"gmp", "ifma"}) {
    const auto kernel = choose_kernel(name);
    if (!kernel) continue;
    for (const int threads : {1, 3}) {
      for (const std::uint64_t table : {std::uint64_t{0}, std::uint64_t{1} << 20})
        all.push_back({*kernel, threads, table});
    }
  }
  return all;
}

TEST(Tree, KnownAnswers) {
  int used = 0;
  for (const auto& known : testing::known_answers().at("trees")) {
    const KnownKey key(known.at("key"));
    const std::vector<std::uint32_t> arities = known.at("arities");
    const auto& items = known.at("items");
    if (key.n == 35) continue;  // no byte fits below 35
    ++used;
    const unsigned leaf_layer = known.at("leaf_layer");
    const std::size_t bytes = leaf_layer * 127 / 8;
    const auto params = toy(rows_of(items.size(), bytes), arities, leaf_layer);
    EXPECT_EQ(params.chunks(), 1u);
    std::vector<std::byte> rows(items.size() * bytes);
    for (std::size_t i = 0; i < items.size(); ++i) {
      number_to_bytes(number(items[i]), MutableByteSpan(rows).subspan(i * bytes, bytes));
    }
    std::vector<std::vector<mpz_class>> sent;
    for (const auto& level : known.at("selectors")) {
      auto& out = sent.emplace_back();
      for (const auto& c : level) out.push_back(number(c));
    }
    const CheckedQuery query{key.n, sent};
    for (const auto& options : all_options()) {
      const auto root =
          answer_tree(params, {rows.data(), items.size(), bytes, bytes}, query, options).value();
      EXPECT_EQ(number_from_bytes(root), number(known.at("root")));
      const unsigned top = params.layer(params.levels());
      const auto cipher = Cipher::create(key.secret(), top).value();
      EXPECT_EQ(number_from_bytes(cipher.decrypt_layers(top, root, leaf_layer).value().expose()),
                number(items[known.at("index").get<std::size_t>()]));
    }
  }
  EXPECT_EQ(used, 5);
}

TEST(Tree, TheWorkedExampleModulo35) {
  // Items below 35 are no bytes, so this one goes through the products alone: 8 children, s = 1.
  const auto& known = testing::known_answers().at("trees").at(0);
  const KnownKey key("35");
  const mpz_class modulus = key.n * key.n;
  std::vector<mpz_class> selectors{1};
  for (const auto& c : known.at("selectors").at(0)) {
    selectors.push_back(number(c));
    selectors[0] = selectors[0] * number(c) % modulus;
  }
  selectors[0] = testing::inverse(selectors[0], modulus) * (key.n + 1) % modulus;
  EXPECT_EQ(selectors[0], 18);
  class Items final : public Exponents {
   public:
    void load(std::size_t, std::size_t base, std::span<std::uint64_t> words) const override {
      words[0] = 1 + 4 * base;
    }
  };
  for (const auto& options : all_options()) {
    const Ring ring(*options.kernel, key.n, 1);
    const PowerShape shape{8, 6, 1};
    std::vector<std::uint64_t> bases(8 * ring.stride()), out(1);
    for (std::size_t i = 0; i < 8; ++i) ring.import_number(selectors[i], bases.data() + i * ring.stride());
    auto powers =
        Powers::create(ring, shape, plan_powers(ring, shape, options.table_bytes, 1), bases).value();
    for (std::size_t part = 0; part < powers.parts(); ++part) powers.prepare(part);
    for (std::size_t block = 0; block < powers.blocks(); ++block) powers.evaluate(block, Items(), out, 1);
    EXPECT_EQ(out[0], 361u);
    const auto plain = Cipher::create(key.secret(), 1).value().decrypt(1, testing::bytes(361, 2)).value();
    EXPECT_EQ(number_from_bytes(plain.expose()), 21);
  }
}

TEST(Tree, EqualsLookUp) {
  auto engine = pirx::testing::seeded_engine();
  auto rng = Rng::from_os().value();
  const KnownKey key("128");
  const auto secret = key.secret();
  const auto options = all_options();
  for (int run = 0; run < 25; ++run) {
    std::vector<std::uint32_t> arities;
    std::uint64_t leaves = 1, without_top = 1;
    const std::size_t levels = 1 + engine() % 4;
    for (std::size_t i = 0; i < levels; ++i) {
      arities.push_back(static_cast<std::uint32_t>(2 + engine() % (i == 0 ? 11 : 4)));
      without_top = leaves;
      leaves *= arities.back();
    }
    const std::uint64_t n = without_top + 1 + engine() % (leaves - without_top);
    const std::uint64_t bytes = 1 + engine() % 50;
    const auto leaf_layer = static_cast<unsigned>(1 + engine() % Params::kMaxLeafLayer);
    const auto params = toy(rows_of(n, bytes), arities, leaf_layer);
    SCOPED_TRACE("rows " + std::to_string(n) + " of " + std::to_string(bytes) + " bytes, levels " +
                 std::to_string(levels) + " from layer " + std::to_string(leaf_layer));
    const std::size_t stride = bytes + engine() % 9;
    std::vector<std::byte> rows(n * stride);
    for (auto& byte : rows) byte = static_cast<std::byte>(engine() % 5 == 0 ? 0xff : engine());
    const auto client = Client::create(params, secret).value();
    const std::uint64_t wanted = run % 3 == 0 ? n - 1 : engine() % n;
    const auto request = client.query(wanted, rng).value();
    // The selectors of a request, big-endian behind the header and N.
    std::vector<std::vector<mpz_class>> sent;
    std::size_t at = kHeaderBytes + params.modulus_bytes();
    for (unsigned of = 1; of <= params.levels(); ++of) {
      auto& level = sent.emplace_back();
      const std::size_t size = params.ciphertext_bytes(params.layer(of));
      for (std::uint32_t i = 1; i < arities[of - 1]; ++i, at += size) {
        level.push_back(number_from_bytes(ByteSpan(request).subspan(at, size)));
      }
    }
    ASSERT_EQ(at, request.size());
    const CheckedQuery query{key.n, sent};
    const matrix::ConstView<std::byte> view{rows.data(), n, bytes, stride};
    const auto roots = answer_tree(params, view, query, options[0]).value();
    for (const auto& other : options) EXPECT_EQ(answer_tree(params, view, query, other).value(), roots);
    Writer reply;
    encode_header(reply, ProtocolId::kDamgardJurikTree, MessageType::kReply, params.digest());
    reply.put_bytes(roots);
    const auto row = client.decode(std::move(reply).take()).value();
    EXPECT_TRUE(std::equal(row.expose().begin(), row.expose().end(),
                           rows.begin() + static_cast<std::ptrdiff_t>(wanted * stride)));
  }
}

/// A node in form A: c_0^child_0 * c_1^child_1 * ..., with c_0 = (1 + N) / (c_1 * c_2 * ...).
mpz_class form_a(const mpz_class& n, unsigned s, const std::vector<mpz_class>& c,
                 const std::vector<mpz_class>& children) {
  const mpz_class modulus = power_of(n, s + 1);
  mpz_class all = 1;
  for (const auto& one : c) all = all * one % modulus;
  mpz_class out =
      testing::power_mod((n + 1) * testing::inverse(all, modulus) % modulus, children[0], modulus);
  for (std::size_t i = 0; i < c.size(); ++i)
    out = out * testing::power_mod(c[i], children[i + 1], modulus) % modulus;
  return out;
}
/// A node in form B: (1 + N)^child_0 times c_i^(child_i - child_0), exponents modulo N^s.
mpz_class form_b(const mpz_class& n, unsigned s, const std::vector<mpz_class>& c,
                 const std::vector<mpz_class>& children) {
  const mpz_class modulus = power_of(n, s + 1), order = power_of(n, s);
  mpz_class out = testing::power_mod(n + 1, children[0], modulus);
  for (std::size_t i = 0; i < c.size(); ++i) {
    const mpz_class exponent = (children[i + 1] - children[0] + order) % order;
    out = out * testing::power_mod(c[i], exponent, modulus) % modulus;
  }
  return out;
}

/// Forms A and B of a tree decrypt to the same item, and answer_tree() computes the one that level_shape()
/// chooses, as a number.
TEST(Tree, FormAEqualsFormB) {
  auto engine = pirx::testing::seeded_engine();
  const KnownKey key("128");
  int chosen[2] = {0, 0};
  for (int run = 0; run < 24; ++run) {
    std::vector<std::uint32_t> arities;
    std::uint64_t leaves = 1;
    for (std::size_t levels = 1 + engine() % 3; arities.size() < levels;) {
      arities.push_back(static_cast<std::uint32_t>(2 + engine() % 6));
      leaves *= arities.back();
    }
    const auto leaf_layer = static_cast<unsigned>(1 + engine() % 3);
    const std::uint64_t rows = leaves - engine() % (leaves / arities.back()),
                        bytes = 1 + engine() % (leaf_layer * 127 / 8), wanted = engine() % rows;
    SCOPED_TRACE("row " + std::to_string(wanted) + " of " + std::to_string(rows) + " of " +
                 std::to_string(bytes) + " bytes, levels " + std::to_string(arities.size()) + " from layer " +
                 std::to_string(leaf_layer));
    std::vector<std::byte> data(rows * bytes);
    for (auto& byte : data) byte = static_cast<std::byte>(engine());
    std::vector<mpz_class> items;
    for (std::uint64_t i = 0; i < rows; ++i)
      items.push_back(number_from_bytes(ByteSpan(data).subspan(i * bytes, bytes)));
    CheckedQuery query{key.n, {}};
    std::vector<mpz_class> a = items, b = items, chosen_form = items;
    std::uint64_t index = wanted;
    const auto top = static_cast<unsigned>(leaf_layer + arities.size() - 1);
    for (unsigned s = leaf_layer; s <= top; ++s) {
      const std::size_t arity = arities[s - leaf_layer];
      auto& c = query.levels.emplace_back();
      for (std::size_t i = 1; i < arity; ++i) {
        const mpz_class coin = 1 + testing::random_below(key.n - 1, engine);
        c.push_back(testing::encrypt_ref(key.n, s, i == index % arity ? 1 : 0, coin));
      }
      index /= arity;
      const auto order_bits = mpz_sizeinbase(mpz_class(power_of(key.n, s)).get_mpz_t(), 2);
      const bool differences =
          level_shape(a.size(), arity, 1, s == leaf_layer ? 8 * bytes : order_bits, order_bits).differences;
      ++chosen[differences];
      const auto next_level = [&](std::vector<mpz_class>& nodes, const auto& form) {
        nodes.resize((nodes.size() + arity - 1) / arity * arity);  // missing children are zero
        std::vector<mpz_class> above;
        for (std::size_t at = 0; at < nodes.size(); at += arity) {
          above.push_back(form(key.n, s, c, {nodes.data() + at, nodes.data() + at + arity}));
        }
        nodes = std::move(above);
      };
      next_level(a, form_a);
      next_level(b, form_b);
      next_level(chosen_form, differences ? form_b : form_a);
    }
    const auto root = number_from_bytes(answer_tree(toy(rows_of(rows, bytes), arities, leaf_layer),
                                                    {data.data(), rows, bytes, bytes}, query, {})
                                            .value());
    EXPECT_EQ(root, chosen_form.at(0));
    for (mpz_class c : {a.at(0), b.at(0), root}) {
      for (unsigned s = top; s >= leaf_layer; --s) c = testing::decrypt_ref(key.p, key.q, s, c);
      EXPECT_EQ(c, items[wanted]);
    }
  }
  EXPECT_GT(chosen[0], 0);
  EXPECT_GT(chosen[1], 0);
}

TEST(Polynomial, OrderOfThePaper) {
  using List = std::vector<std::uint32_t>;
  EXPECT_EQ(monomials(2), List({1}));
  EXPECT_EQ(monomials(4), List({1, 2, 3}));
  EXPECT_EQ(monomials(8), List({1, 2, 4, 3, 5, 6, 7}));
}

/// The worked example of the octal tree: items 1, 5, ..., 29, and x = 5.
TEST(Polynomial, TheWorkedExampleModulo35) {
  const KnownKey key("35");
  const mpz_class modulus = key.n * key.n;
  const auto cipher = Cipher::create(key.secret(), 1).value();
  const auto open = [&](const mpz_class& c) {
    return number_from_bytes(cipher.decrypt(1, testing::bytes(c, 2)).value().expose());
  };
  const std::vector<mpz_class> sent{648, 607, 639, 1126, 477, 949, 226};
  const auto selectors = one_hot_from_polynomial(sent, modulus);
  mpz_class root = key.n + 1;
  for (const auto& c : selectors) root = root * testing::inverse(c, modulus) % modulus;  // c_0
  EXPECT_EQ(open(root), 0);
  for (unsigned i = 1; i < 8; ++i) {
    EXPECT_EQ(open(selectors[i - 1]), i == 5 ? 1 : 0) << i;
    root = root * testing::power_mod(selectors[i - 1], 1 + 4 * i, modulus) % modulus;
  }
  EXPECT_EQ(open(root), 21);
  // The paper's own way, exponents as printed: f1-f0, f2-f0, f4-f0, f3-f2-f1+f0, ...: the same number.
  const auto f = [](std::initializer_list<int> plus, std::initializer_list<int> minus) {
    int sum = 0;
    for (const int i : plus) sum += 1 + 4 * i;
    for (const int i : minus) sum -= 1 + 4 * i;
    return sum;
  };
  const int exponents[] = {f({1}, {0}),
                           f({2}, {0}),
                           f({4}, {0}),
                           f({3, 0}, {2, 1}),
                           f({5, 0}, {4, 1}),
                           f({6, 0}, {4, 2}),
                           f({7, 4, 2, 1}, {6, 5, 3, 0})};
  mpz_class paper = testing::power_mod(key.n + 1, 1, modulus);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const mpz_class base = exponents[i] < 0 ? testing::inverse(sent[i], modulus) : sent[i];
    paper = paper * testing::power_mod(base, std::abs(exponents[i]), modulus) % modulus;
  }
  EXPECT_EQ(paper, root);
}

}  // namespace
}  // namespace pirx::cpir::dj
