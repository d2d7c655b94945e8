// SPDX-License-Identifier: Apache-2.0
// The row of quadratic residuosity in the table of protocols.
#include "pirx/protocol.h"

#include "client_plan.h"
#include "cost.h"
#include "cpir/dj/options.h"
#include "pirx/cpir/qr/server.h"

namespace pirx {
namespace cpir::qr {
namespace {

constexpr Option kOptions[] = {
    dj::kModulusOption,
    {"slots", Option::Kind::kNumber, 1, ~std::uint64_t{0} >> 1,
     "Records in a row of the matrix; by default query and reply are about equal"},
    dj::kKernelOption,
    dj::kPaperOption,
};

constexpr Option kMembers[] = {
    dj::kKeyBitsMember,
    dj::kKeyPolicyMember,
    {"slots", Option::Kind::kNumber, 1, ~std::uint64_t{0}, "Records in a row of the matrix"},
};
constexpr std::string_view kFromDatabase[] = {"slots"};
constexpr Option kClientOptions[] = {dj::kPaperClientOption};

#ifndef PIRX_CLIENT_ONLY
Result<std::unique_ptr<AnyServer>> serve(const ServerSpec& spec) {
  PIRX_ASSIGN(auto options, dj::read_server_options<ServerOptions>(spec));
  options.slots = spec.options.number("slots").value_or(0);
  return make_qr_server(spec.database, options);
}
#endif

}  // namespace
}  // namespace cpir::qr

extern const Protocol kResiduosityProtocol;

constinit const Protocol kResiduosityProtocol{
    .id = ProtocolId::kQuadraticResiduosity,
    .name = "qr",
    .summary = "one server, quadratic residues: simple and slow, for small databases",
    .slow = true,
    .members = cpir::qr::kMembers,
    .from_database = cpir::qr::kFromDatabase,
    .client_options = cpir::qr::kClientOptions,
    .tell = cpir::qr::tell,
    .plan = cpir::qr::make_plan,
    .options = cpir::qr::kOptions,
#ifndef PIRX_CLIENT_ONLY
    .serve = cpir::qr::serve,
    .schemes = cpir::qr::kSchemes,
    .steps = cpir::qr::kSteps
#endif
};

}  // namespace pirx
