// SPDX-License-Identifier: Apache-2.0
// What deployment files and clients say of keys.
#include "options.h"

namespace pirx::cpir::dj {
namespace {

constexpr const char* kPaperPolicy = "paper-reproduction";

}  // namespace

Texts key_members(unsigned modulus_bits, KeyPolicy policy) {
  Texts members{{"modulus_bits", std::to_string(modulus_bits)}};
  if (policy == KeyPolicy::kPaperReproduction) members["key_policy"] = kPaperPolicy;
  return members;
}

Result<KeyPolicy> read_key_members(const Options& members) {
  PIRX_TRY(members.require({"modulus_bits"}));
  if (!members.on("key_policy")) return KeyPolicy::kSecure;
  const auto name = members.text("key_policy");
  if (name == kPaperPolicy) return KeyPolicy::kPaperReproduction;
  return fail(ErrorCode::kDataLoss, "key policy '" + name + "' is not known");
}

Result<void> refuse_toy_keys(KeyPolicy policy) {
  if (policy != KeyPolicy::kToy) return {};
  return invalid("the server asks for toy keys, which hide nothing: use another server");
}

Result<std::string> check_client_keys(KeyPolicy policy, const ClientSpec& spec) {
  if (policy == KeyPolicy::kSecure) return std::string();
  if (!spec.options.on("paper_reproduction")) {
    return invalid(
        "the server asks for keys of 1024 bits, which can be broken: use another server, or, to reproduce a "
        "paper's figures on this machine, give --paper-reproduction");
  }
  if (!spec.loopback) {
    return invalid(
        "keys of 1024 bits can be broken: --paper-reproduction is refused for servers on other machines");
  }
  return std::string(
      "warning: keys of 1024 bits reproduce a paper's figures; they can be broken and hide nothing from who "
      "pays for it");
}

}  // namespace pirx::cpir::dj
