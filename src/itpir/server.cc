// The server half behind AnyServer: chooses the field, reads the options of a ServerSpec.
#include "pirx/itpir/server.h"

#include <charconv>
#include <limits>

#include "fields.h"
#include "server_impl.h"

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

/// A bucket holds values at one coordinate in one field: nothing else can be computed from it.
Result<void> check_bucket(const database::BucketInfo& bucket, const ServerOptions& options) {
  if (options.field && *options.field != bucket.field) {
    return invalid("the bucket is encoded over " + bucket.field.name() + ", not " + options.field->name() +
                   ": leave the field away");
  }
  if (options.coordinate && *options.coordinate != bucket.coordinate) {
    return invalid("the bucket is for the server with coordinate " + std::to_string(bucket.coordinate) +
                   ", not " + std::to_string(*options.coordinate) +
                   ": leave the coordinate away, or take that server's bucket");
  }
  return {};
}

Result<std::unique_ptr<AnyServer>> open_goldberg(const ServerSpec& spec) {
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
      // What does not fit becomes a number that make_goldberg_server refuses.
      options.max_queries_per_request = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(number, std::numeric_limits<std::uint32_t>::max()));
    } else if (name == "layout") {
      PIRX_ASSIGN(options.layout, parse_layout(value));
    } else if (name == "prepared") {
      options.prepared_file = value;
    } else {
      return invalid("goldberg has no option '" + name +
                     "': the options are field, coordinate, max_queries, layout and prepared");
    }
  }
  PIRX_ASSIGN(auto database, database::Database::open(spec.database_path));
  return make_goldberg_server(std::move(database), options);
}

}  // namespace

Result<std::unique_ptr<AnyServer>> make_goldberg_server(std::shared_ptr<const database::Database> database,
                                                        const ServerOptions& options) {
  PIRX_CHECK(database != nullptr);
  if (options.max_queries_per_request < 1 || options.max_queries_per_request > kMaxQueriesPerRequest) {
    return invalid("max_queries must be from 1 to " + std::to_string(kMaxQueriesPerRequest));
  }
  ServedRows served{database->geometry(), database->version(), database->rows(), database};
  ServerOptions chosen = options;
  if (const auto* bucket = database->bucket()) {
    PIRX_TRY(check_bucket(*bucket, options));
    chosen.field = bucket->field;
    chosen.coordinate = bucket->coordinate;
    served.arity = bucket->arity;
    served.independence = bucket->independence;
    served.modulus = bucket->arity == 1 && bucket->independence == 0 ? 0 : bucket->modulus;
    served.rows_version = database->content_version();
  }
  chosen.field = chosen.field.value_or(kTagGf2_8);
  chosen.coordinate = chosen.coordinate.value_or(1);
  return serve_rows(std::move(served), chosen);
}

Result<std::unique_ptr<AnyServer>> serve_rows(ServedRows served, const ServerOptions& options) {
  PIRX_CHECK(options.field && options.coordinate);
  PIRX_TRY(check_coordinates(*options.field, {&*options.coordinate, 1}));
  PIRX_TRY(check_message_sizes(*options.field, served.rows.rows, served.geometry));
  return with_field(*options.field, [&](const auto& f) -> Result<std::unique_ptr<AnyServer>> {
    using F = std::remove_cvref_t<decltype(f)>;
    return GoldbergServer<F>::create(strassen::Engine<F>(f), std::move(served), options);
  });
}

void register_goldberg(Registry& registry) {
  registry.add({"goldberg",
                "Shamir-shared queries to several servers, any t of which learn nothing; liars are corrected",
                &open_goldberg});
}

}  // namespace pirx::itpir
