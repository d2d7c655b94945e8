// SPDX-License-Identifier: Apache-2.0
// The row of inspire in the table of protocols.
#include "pirx/protocol.h"

#include "client_plan.h"
#include "cpir/rows_client.h"
#ifndef PIRX_CLIENT_ONLY
#include "cost.h"
#include "pirx/cpir/inspire/server.h"
#endif

namespace pirx {
namespace cpir::inspire {
namespace {

using Kind = Option::Kind;

constexpr Option kOptions[] = {
    {"words", Kind::kNumber, 8, 16,
     "Bits of a word: 8 (most often fewest bytes and least work) or 16 (faster to prepare) [what suits the "
     "goal]"},
    {"goal", Kind::kText, 0, 0, "bytes (shortest query and reply together) or time (fastest server) [bytes]"},
    kPreparedOption,
};

#ifndef PIRX_CLIENT_ONLY
Result<std::optional<Set>> read_set(std::optional<std::uint64_t> word_bits) {
  if (!word_bits) return std::nullopt;
  for (const auto& set : {kS8, kS16}) {
    if (*word_bits == set.w) return set;
  }
  return invalid("--words: words have 8 or 16 bits, not " + std::to_string(*word_bits));
}

Result<Goal> read_goal(const std::string& name) {
  if (name.empty() || name == "bytes") return Goal::kBytes;
  if (name == "time") return Goal::kTime;
  return invalid("--goal: '" + name + "' is neither bytes nor time");
}

Result<std::unique_ptr<AnyServer>> serve(const ServerSpec& spec) {
  ServerOptions options;
  options.threads = spec.threads;
  PIRX_ASSIGN(options.set, read_set(spec.options.number("words")));
  PIRX_ASSIGN(options.goal, read_goal(spec.options.text("goal")));
  options.prepared_file = spec.options.text("prepared");
  options.note = spec.note;
  return make_inspire_server(spec.database, options);
}
#endif

}  // namespace
}  // namespace cpir::inspire

extern const Protocol kInspireProtocol;

constinit const Protocol kInspireProtocol{
    .id = ProtocolId::kInspire,
    .name = "inspire",
    .summary = "one server, lattices, nothing kept for clients: fast when many clients ask at once",
    .members = cpir::kMessageMembers,
    .from_database = cpir::kMessageFromDatabase,
    .describes_database = true,
    .client_options = cpir::inspire::kClientOptions,
    .tell = cpir::inspire::tell,
    .plan = cpir::inspire::make_plan,
#ifndef PIRX_CLIENT_ONLY
    .options = cpir::inspire::kOptions,
    .serve = cpir::inspire::serve,
    .schemes = cpir::inspire::kSchemes,
    .steps = cpir::inspire::kSteps
#endif
};

}  // namespace pirx
