// SPDX-License-Identifier: Apache-2.0
// The row of Spiral in the table of protocols.
#include "pirx/protocol.h"

#include "client_plan.h"
#include "cost.h"
#include "cpir/rows_client.h"
#include "pirx/cpir/spiral/server.h"

namespace pirx {
namespace cpir::spiral {
namespace {

using Kind = Option::Kind;

constexpr Option kOptions[] = {
    {"set", Kind::kText, 0, 0,
     "s1, s1c, s2, s2s, s3 or s3b, made for certain shapes of databases [the fastest plan for this one]"},
    kPreparedOption,
    {"keys", Kind::kSize, 0, std::uint64_t{1} << 50, "Memory for clients' keys [1GiB]"},
};

#ifndef PIRX_CLIENT_ONLY
Result<std::unique_ptr<AnyServer>> serve(const ServerSpec& spec) {
  ServerOptions options;
  options.threads = spec.threads;
  if (spec.options.on("set")) {
    options.scheme = named_scheme(spec.options.text("set"));
    if (!options.scheme) {
      return invalid("--set: '" + spec.options.text("set") + "' is none of " + std::string(kSchemeNames));
    }
  }
  options.prepared_file = spec.options.text("prepared");
  options.note = spec.note;
  options.key_memory = spec.options.number("keys").value_or(options.key_memory);
  return make_spiral_server(spec.database, options);
}
#endif

}  // namespace
}  // namespace cpir::spiral

extern const Protocol kSpiralProtocol;

constinit const Protocol kSpiralProtocol{
    .id = ProtocolId::kSpiral,
    .name = "spiral",
    .summary = "one server, lattices: small queries and answers, gigabytes a second",
    .members = cpir::kMessageMembers,
    .from_database = cpir::kMessageFromDatabase,
    .describes_database = true,
    .tell = cpir::spiral::tell,
    .plan = cpir::spiral::make_plan,
    .options = cpir::spiral::kOptions,
#ifndef PIRX_CLIENT_ONLY
    .serve = cpir::spiral::serve,
    .schemes = cpir::spiral::kSchemes,
    .steps = cpir::spiral::kSteps
#endif
};

}  // namespace pirx
