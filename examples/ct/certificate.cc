// SPDX-License-Identifier: Apache-2.0
// Reads X.509 certificates with OpenSSL. The input may be hostile: OpenSSL or this file checks every length,
// and no byte may be left over.
#include "certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <climits>
#include <ctime>

#include "files.h"
#include "openssl_handles.h"

namespace pirx::ct {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;
constexpr std::string_view kSerialPlaceholder = "CGeneratedSerial";  // 16 bytes, positive as an INTEGER
constexpr std::time_t kGeneratedNotBefore = 1'767'225'600,
                      kGeneratedNotAfter = 2'398'377'600;  // 2026 to 2046

const unsigned char* octets(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

std::string subject_of(const X509* x509) {
  const Bio out(BIO_new(BIO_s_mem()));
  PIRX_CHECK(out != nullptr);
  X509_NAME_print_ex(out.get(), X509_get_subject_name(x509), 0, XN_FLAG_RFC2253);
  return contents(out.get());
}

}  // namespace

Result<Certificate> parse_certificate(ByteSpan der) {
  const auto broken = [](const char* what) {
    ERR_clear_error();
    return fail(ErrorCode::kDataLoss, std::string("not an X.509 certificate: ") + what);
  };
  if (der.size() > kMaxCertificateBytes) return broken("longer than 16 MiB");
  const unsigned char* at = octets(der.data());
  const X509Handle x509(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  if (x509 == nullptr) return broken("its DER encoding is damaged or truncated");
  if (at != octets(der.data()) + der.size()) return broken("bytes follow its end");
  std::tm end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(x509.get()), &end) != 1) return broken("its end date is no date");
  Certificate certificate;
  certificate.der.assign(der.begin(), der.end());
  certificate.not_after = static_cast<std::uint64_t>(std::max<std::time_t>(timegm(&end), 0));
  certificate.subject = subject_of(x509.get());
  return certificate;
}

Result<std::vector<Certificate>> parse_certificates(std::string_view text, std::size_t limit) {
  std::vector<Certificate> found;
  if (text.starts_with('\x30')) {  // an ASN.1 SEQUENCE, which no text begins with but by accident
    auto only = parse_certificate(as_bytes(text));
    if (only) {
      found.push_back(std::move(*only));
      return found;
    }
    if (text.find("-----BEGIN ") == std::string_view::npos) return tl::unexpected(only.error());
  }
  if (text.size() > INT_MAX) return fail(ErrorCode::kDataLoss, "longer than 2 GiB");
  const Bio in(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  PIRX_CHECK(in != nullptr);
  for (std::size_t number = 1;; ++number) {
    char *name = nullptr, *header = nullptr;
    unsigned char* data = nullptr;
    long size = 0;
    if (PEM_read_bio(in.get(), &name, &header, &data, &size) != 1) {
      const bool end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      ERR_clear_error();
      if (end) break;
      return fail(ErrorCode::kDataLoss, "PEM block " + std::to_string(number) + " is damaged or truncated");
    }
    const std::string kind(name);
    const Bytes der(reinterpret_cast<std::byte*>(data), reinterpret_cast<std::byte*>(data) + size);
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_free(data);
    if (kind != "CERTIFICATE") continue;
    if (found.size() == limit) {
      return fail(ErrorCode::kResourceExhausted,
                  "more than " + std::to_string(limit) + " certificates: split the file");
    }
    auto certificate = parse_certificate(der);
    if (!certificate) {
      return fail(ErrorCode::kDataLoss,
                  "PEM block " + std::to_string(number) + ": " + certificate.error().message());
    }
    found.push_back(std::move(*certificate));
  }
  if (found.empty()) {
    return fail(
        ErrorCode::kDataLoss,
        "no certificate: PEM with '-----BEGIN CERTIFICATE-----' is expected, or one certificate in DER");
  }
  return found;
}

Result<std::vector<Certificate>> read_certificates(const std::filesystem::path& path) {
  PIRX_ASSIGN(const auto text, read_file(path, kMaxFileBytes));
  auto found = parse_certificates(text);
  if (!found) return fail(found.error().code(), path.string() + ": " + found.error().message());
  return found;
}

std::string to_pem(ByteSpan der) {
  const Bio out(BIO_new(BIO_s_mem()));
  PIRX_CHECK(out != nullptr && der.size() <= kMaxCertificateBytes &&
             PEM_write_bio(out.get(), "CERTIFICATE", "", octets(der.data()), static_cast<long>(der.size())) >
                 0);
  return contents(out.get());
}

std::string certificate_key(const Digest& fingerprint) { return to_hex(fingerprint); }

Result<CertificateGenerator> CertificateGenerator::create() {
  const auto broken = [] {
    ERR_clear_error();
    return fail(ErrorCode::kInternal, "OpenSSL cannot make the template certificate of the generator");
  };
  const Digest seed = sha256(as_bytes("pirx: certificates of a test log"));
  const Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, octets(seed.data()), seed.size()));
  const X509Handle x509(X509_new());
  if (key == nullptr || x509 == nullptr) return broken();
  X509_NAME* name = X509_get_subject_name(x509.get());
  const std::string_view common_name = "pirx test log entry";
  CertificateGenerator made;
  made.not_after_ = kGeneratedNotAfter;
  bool ok = X509_set_version(x509.get(), X509_VERSION_3) == 1;
  ok = ok && ASN1_STRING_set(X509_get_serialNumber(x509.get()), kSerialPlaceholder.data(),
                             static_cast<int>(kSerialPlaceholder.size())) == 1;
  ok = ok && X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_ASC,
                                        reinterpret_cast<const unsigned char*>(common_name.data()),
                                        static_cast<int>(common_name.size()), -1, 0) == 1;
  ok = ok && X509_set_issuer_name(x509.get(), name) == 1;
  ok = ok && ASN1_TIME_set(X509_getm_notBefore(x509.get()), kGeneratedNotBefore) != nullptr;
  ok = ok && ASN1_TIME_set(X509_getm_notAfter(x509.get()), kGeneratedNotAfter) != nullptr;
  ok = ok && X509_set_pubkey(x509.get(), key.get()) == 1 && X509_sign(x509.get(), key.get(), nullptr) > 0;
  unsigned char* data = nullptr;
  const int size = ok ? i2d_X509(x509.get(), &data) : -1;
  if (size <= 0) return broken();
  made.template_.assign(reinterpret_cast<std::byte*>(data), reinterpret_cast<std::byte*>(data) + size);
  OPENSSL_free(data);
  const auto at = as_text(made.template_).find(kSerialPlaceholder);
  if (at == std::string_view::npos) return broken();
  made.serial_at_ = at;
  return made;
}

Bytes CertificateGenerator::make(std::uint64_t number) const {
  Bytes der = template_;
  std::byte* serial = der.data() + serial_at_;  // of which the first byte stays: positive, and minimal DER
  for (std::size_t i = 0; i < 8; ++i) serial[15 - i] = static_cast<std::byte>(number >> (8 * i));
  return der;
}

}  // namespace pirx::ct
