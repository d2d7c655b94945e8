// SPDX-License-Identifier: Apache-2.0
// Certificates: the machine's own bundle, the generator, and hostile PEM and DER.
#include "examples/ct/certificate.h"

#include <gtest/gtest.h>

#include <set>

#include "support/files.h"
#include "support/seed.h"

namespace pirx::ct {
namespace {

using testing::expect_error;
using testing::good;

constexpr const char* kBundle = "/etc/ssl/certs/ca-certificates.crt";

CertificateGenerator generator() {
  auto made = CertificateGenerator::create();
  if (!made) std::abort();
  return std::move(*made);
}

TEST(Certificate, TheMachinesBundle) {
  if (!std::filesystem::exists(kBundle)) GTEST_SKIP() << "no " << kBundle;
  const auto all = read_certificates(kBundle);
  ASSERT_TRUE(good(all));
  EXPECT_GT(all->size(), 50u);
  std::set<std::string> keys;
  for (const auto& certificate : *all) {
    keys.insert(certificate_key(sha256(certificate.der)));
    // The bytes of the file, whatever way the certificate is written.
    const auto pem = parse_certificates(to_pem(certificate.der));
    ASSERT_TRUE(good(pem));
    EXPECT_EQ(pem->front().der, certificate.der);
    const auto der = parse_certificates(as_text(certificate.der));
    ASSERT_TRUE(good(der));
    EXPECT_EQ(der->front().der, certificate.der);
    for (const char c : certificate.subject) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << certificate.subject;
  }
  EXPECT_EQ(keys.size(), all->size());
  EXPECT_EQ(keys.begin()->size(), 64u);
}

TEST(Certificate, GeneratedOnesAreX509AndDiffer) {
  const auto made = generator();
  std::set<Bytes> all;
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4194303}, ~std::uint64_t{0}}) {
    const auto der = made.make(number);
    const auto parsed = parse_certificate(der);
    ASSERT_TRUE(good(parsed));
    EXPECT_EQ(parsed->der, der);
    EXPECT_EQ(parsed->not_after, made.not_after());
    EXPECT_EQ(parsed->subject, "CN=pirx test log entry");
    all.insert(der);
  }
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(generator().make(7), made.make(7));
  // The same on every machine.
  EXPECT_EQ(to_hex(sha256(made.make(7))), "41a65f8276e96c27ee31b00360a222e4475e8150d5803c5987a84e6386b5ae07");
}

TEST(Certificate, SeveralBlocksWithTextBetween) {
  const auto made = generator();
  const std::string text = "# Amazon\n" + to_pem(made.make(1)) + "\nnoise\n" +
                           "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n" + to_pem(made.make(2));
  const auto found = parse_certificates(text);
  ASSERT_TRUE(good(found));
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->back().der, made.make(2));
  expect_error(parse_certificates(text, 1), ErrorCode::kResourceExhausted, "more than 1");
}

TEST(Certificate, HostilePem) {
  const auto made = generator();
  const std::string pem = to_pem(made.make(1));
  expect_error(parse_certificates(""), ErrorCode::kDataLoss, "no certificate");
  expect_error(parse_certificates("hello"), ErrorCode::kDataLoss, "no certificate");
  expect_error(parse_certificates("0"), ErrorCode::kDataLoss, "truncated");
  for (std::size_t cut = 30; cut < pem.size() - 1; cut += 7) {
    EXPECT_FALSE(parse_certificates(std::string_view(pem).substr(0, cut))) << cut;
  }
  expect_error(parse_certificates(pem + pem.substr(0, pem.size() / 2)), ErrorCode::kDataLoss, "PEM block 2");
  auto flipped = pem;
  flipped[60] = '!';
  expect_error(parse_certificates(flipped), ErrorCode::kDataLoss, "PEM block 1");
  // A block whose content is no certificate.
  expect_error(parse_certificates(to_pem(as_bytes("not DER"))), ErrorCode::kDataLoss, "PEM block 1");
  expect_error(parse_certificates("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"),
               ErrorCode::kDataLoss, "no certificate");
}

TEST(Certificate, HostileDer) {
  const auto der = generator().make(1);
  for (std::size_t cut = 0; cut < der.size(); ++cut) {
    EXPECT_FALSE(parse_certificate(ByteSpan(der).first(cut))) << cut;
  }
  auto longer = der;
  longer.push_back(std::byte{0});
  expect_error(parse_certificate(longer), ErrorCode::kDataLoss, "bytes follow");
  // Lengths that lie: of the outer sequence, and one of four bytes.
  auto lying = der;
  lying[3] = std::byte{0xFF};
  expect_error(parse_certificate(lying), ErrorCode::kDataLoss, "damaged");
  const auto huge = from_hex("3084ffffffff");
  expect_error(parse_certificate(*huge), ErrorCode::kDataLoss, "damaged");
  expect_error(parse_certificate(Bytes(kMaxCertificateBytes + 1)), ErrorCode::kDataLoss, "16 MiB");
  // Every byte wrong in turn: an error or a certificate of just these bytes, never more.
  auto engine = testing::seeded_engine();
  for (std::size_t at = 0; at < der.size(); ++at) {
    auto wrong = der;
    wrong[at] ^= static_cast<std::byte>(1 + engine() % 255);
    if (const auto parsed = parse_certificate(wrong); parsed) {
      EXPECT_EQ(parsed->der, wrong);
    }
  }
}

TEST(Certificate, FilesAreNamedInErrors) {
  const testing::TemporaryFolder folder;
  expect_error(read_certificates(folder / "none"), ErrorCode::kUnavailable, "none");
  testing::write_file(folder / "text", as_bytes("text"));
  expect_error(read_certificates(folder / "text"), ErrorCode::kDataLoss, "text: no certificate");
}

}  // namespace
}  // namespace pirx::ct
