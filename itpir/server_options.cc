// SPDX-License-Identifier: Apache-2.0
// Reads the options of the server halves of this folder.
#include "server_options.h"

#include "check_messages.h"
#include "pirx/base/cpu.h"

namespace pirx::itpir {
namespace {

Result<strassen::PrepareOptions> parse_layout(const std::string& text) {
  using strassen::Layout;
  static constexpr struct {
    const char* name;
    Layout layout;
    int depth;
  } kLayouts[] = {{"auto", Layout::kAuto, 0},
                  {"rows", Layout::kRows, 0},
                  {"residues", Layout::kResidues, 0},
                  {"strassen1", Layout::kAuto, 1},
                  {"strassen2", Layout::kAuto, 2}};
  std::string names;
  for (const auto& known : kLayouts) {
    if (text == known.name) return strassen::PrepareOptions{.layout = known.layout, .depth = known.depth};
    names += std::string(names.empty() ? "" : ", ") + known.name;
  }
  return invalid("there is no layout '" + text + "', only " + names);
}

}  // namespace

Result<ServerOptions> read_server_options(const ServerSpec& spec) {
  const auto& given = spec.options;
  ServerOptions options;
  options.threads = spec.threads;
  options.note = spec.note;
  options.check = [database = spec.database] { return database->verify(); };
  options.spread = spec.spread;
  if (given.on("field")) {
    PIRX_ASSIGN(options.field, field_by_name(given.text("field")));
  }
  options.coordinate = given.number("coordinate");
  if (const auto most = given.number("max_queries")) {
    options.max_queries_per_request = static_cast<std::uint32_t>(*most);
  }
  if (given.on("layout")) {
    PIRX_ASSIGN(options.layout, parse_layout(given.text("layout")));
  }
  options.prepared_file = given.text("prepared");
  options.code = given.text("code");
  if (!options.coordinate && spec.database->bucket() == nullptr) {
    return invalid("give --coordinate: every server of a plain database has its own, 1, 2, ...");
  }
  return options;
}

Result<void> check_server_options(const ServerOptions& options) {
  if (options.max_queries_per_request < 1 || options.max_queries_per_request > kMaxQueriesPerRequest) {
    return invalid("max_queries must be from 1 to " + std::to_string(kMaxQueriesPerRequest));
  }
  if (!options.code.empty() && !options.prepared_file.empty()) {
    return invalid("one file cannot keep the buckets of a batch code: leave 'prepared' or 'code' away");
  }
  if (!options.code.empty() && options.spread) {
    return invalid(
        "a batch code serves sums of rows from all over the database, so its rows cannot be spread over "
        "processes: leave the code away");
  }
  return {};
}

Result<ServerOptions> check_xor_options(const ServerOptions& options, const char* name) {
  PIRX_TRY(allowed_cpu_features());  // an engine has no way to refuse a wrong PIRX_FORCE_ISA
  PIRX_TRY(check_server_options(options));
  if (options.field && *options.field != kTagGf2) {
    return invalid(std::string(name) + " computes in gf2, not in " + options.field->name() +
                   ": leave the field away");
  }
  ServerOptions chosen = options;
  chosen.coordinate = options.coordinate.value_or(1);
  PIRX_TRY(check_coordinates({&*chosen.coordinate, 1}));
  return chosen;
}

}  // namespace pirx::itpir
