// Options by name: what `pirx serve` passes on.
#include "server_options.h"

#include <charconv>
#include <limits>

namespace pirx::itpir {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Result<std::uint64_t> parse_number(const std::string& name, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return invalid("option " + name + "='" + text + "' is no number below 2^64");
  }
  return value;
}

Result<strassen::PrepareOptions> parse_layout(const std::string& text) {
  using strassen::Layout;
  static constexpr struct {
    const char* name;
    Layout layout;
    int depth;
  } kLayouts[] = {{"auto", Layout::kAuto, 0},         {"rows", Layout::kRows, 0},
                  {"residues", Layout::kResidues, 0}, {"strassen1", Layout::kAuto, 1},
                  {"strassen2", Layout::kAuto, 2},    {"strassen3", Layout::kAuto, 3}};
  std::string names;
  for (const auto& known : kLayouts) {
    if (text == known.name) return strassen::PrepareOptions{.layout = known.layout, .depth = known.depth};
    names += std::string(names.empty() ? "" : ", ") + known.name;
  }
  return invalid("there is no layout '" + text + "', only " + names);
}

}  // namespace

Result<ServerOptions> parse_server_options(const ServerSpec& spec, const std::string& protocol) {
  ServerOptions options;
  options.threads = spec.threads;
  options.note = spec.note;
  for (const auto& [name, value] : spec.options) {
    if (name == "field") {
      PIRX_ASSIGN(options.field, field_by_name(value));
    } else if (name == "coordinate") {
      PIRX_ASSIGN(options.coordinate, parse_number(name, value));
    } else if (name == "max_queries") {
      PIRX_ASSIGN(const auto number, parse_number(name, value));
      // What does not fit becomes a number that check_server_options refuses.
      options.max_queries_per_request = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(number, std::numeric_limits<std::uint32_t>::max()));
    } else if (name == "layout") {
      PIRX_ASSIGN(options.layout, parse_layout(value));
    } else if (name == "prepared") {
      options.prepared_file = value;
    } else if (name == "code") {
      options.code = value;
    } else {
      return invalid(protocol + " has no option '" + name +
                     "': the options are field, coordinate, max_queries, layout, prepared and code");
    }
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

}  // namespace pirx::itpir
