// SPDX-License-Identifier: Apache-2.0
// Certificates as a log sees them: bytes of an X.509 certificate (DER), read from PEM or DER by OpenSSL, and
// a generator of as many as a large test log needs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pirx/base/sha256.h"

namespace pirx::ct {

struct Certificate {
  Bytes der;                    ///< exactly as given, not encoded anew
  std::uint64_t not_after = 0;  ///< seconds since 1970
  std::string subject;          ///< RFC 2253, printable ASCII
};

/// No certificate is longer: RFC 6962 has 24 bits for the length.
inline constexpr std::size_t kMaxCertificateBytes = (std::size_t{1} << 24) - 1;

/// DataLoss: not one X.509 certificate from first to last byte, or too long.
Result<Certificate> parse_certificate(ByteSpan der);

/// Every CERTIFICATE block of a PEM text, whatever lies between them; or the one certificate of a DER file.
/// DataLoss: a block that is damaged or no certificate (the message counts it), or none at all;
/// ResourceExhausted: more than `limit` blocks.
Result<std::vector<Certificate>> parse_certificates(std::string_view text, std::size_t limit = 1 << 20);
/// The same of a file of at most 256 MiB. Unavailable too; every message names the file.
Result<std::vector<Certificate>> read_certificates(const std::filesystem::path& path);

std::string to_pem(ByteSpan der);

/// SHA-256 of the DER bytes: what OpenSSL and browsers call the fingerprint. Lower-case hexadecimal of it is
/// the key of the certificate in a keyed database.
std::string certificate_key(const Digest& fingerprint);

/// Makes certificate number i of a large test log: well-formed X.509, the same on every machine, all
/// different. Only their serial numbers differ, so the signature of all but a template is wrong; a log does
/// not look at it.
class CertificateGenerator {
 public:
  /// Internal: OpenSSL lacks Ed25519.
  static Result<CertificateGenerator> create();
  Bytes make(std::uint64_t number) const;
  std::uint64_t not_after() const noexcept { return not_after_; }

 private:
  CertificateGenerator() = default;
  Bytes template_;
  std::size_t serial_at_ = 0;
  std::uint64_t not_after_ = 0;
};

}  // namespace pirx::ct
