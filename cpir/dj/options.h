// SPDX-License-Identifier: Apache-2.0
// The options of servers whose clients have keys of dj/keys.h.
#pragma once

#include <tuple>

#include "pirx/cpir/dj/keys.h"
#include "pirx/protocol.h"

namespace pirx::cpir::dj {

inline constexpr Option kModulusOption{"modulus", Option::Kind::kNumber, 1024, 4096,
                                       "Bits of clients' keys: 2048, 3072 or 4096 [3072]"};
inline constexpr Option kKernelOption{"kernel", Option::Kind::kText, 0, 0,
                                      "gmp or ifma [the faster one that runs here]"};
inline constexpr Option kPaperOption{
    "paper_reproduction", Option::Kind::kSwitch, 0, 0,
    "Keys of 1024 bits, as in the papers, which can be broken; loopback only"};

inline constexpr Option kPaperClientOption{
    "paper_reproduction", Option::Kind::kSwitch, 0, 0,
    "Use keys of 1024 bits, which can be broken, with a server on this machine that wants them"};
inline constexpr Option kKeyBitsMember{"modulus_bits", Option::Kind::kNumber, 0, kMaxModulusBits,
                                       "Bits of the client's keys: 2048, 3072 or 4096"};
inline constexpr Option kKeyPolicyMember{
    "key_policy", Option::Kind::kText, 0, 0,
    "paper-reproduction, with 1024 bits and only then: keys that can be broken; else left out"};

/// Reads these options of a server: the bits of keys, and their policy. A note warns of short keys.
/// InvalidArgument: short keys were not asked for explicitly, or clients on other machines could be deceived
/// by them.
Result<std::pair<unsigned, KeyPolicy>> read_key_options(const ServerSpec& spec);
/// The options of a server, as far as both protocols with such keys have them.
template <class ServerOptions>
Result<ServerOptions> read_server_options(const ServerSpec& spec) {
  ServerOptions options;
  PIRX_ASSIGN(std::tie(options.modulus_bits, options.policy), read_key_options(spec));
  if (spec.options.on("kernel")) options.kernel = spec.options.text("kernel");
  options.threads = spec.threads;
  options.progress = spec.progress;
  return options;
}

/// The members of a deployment file for these keys, and back. DataLoss: they are missing or not known.
Texts key_members(unsigned modulus_bits, KeyPolicy policy);
Result<KeyPolicy> read_key_members(const Options& members);
/// InvalidArgument: a server asks for keys that are for tests.
Result<void> refuse_toy_keys(KeyPolicy policy);
/// The seconds of one core of a server for a query, roughly: every bit of the database takes a hundredth of a
/// product of numbers with so many 64-bit limbs (docs/planner.md).
inline double server_seconds(const database::Geometry& geometry, double limbs) {
  return 8e-11 * static_cast<double>(geometry.data_bytes()) * limbs * limbs;
}
/// The seconds of one core for making a key, roughly.
inline double key_seconds(double modulus_bits) {
  return 1e-14 * modulus_bits * modulus_bits * modulus_bits * modulus_bits;
}
/// What Plan::check says of such keys.
Result<std::string> check_client_keys(KeyPolicy policy, const ClientSpec& spec);

}  // namespace pirx::cpir::dj
