// The table of a database's options, and opening.
#include "served_database.h"

#include <algorithm>

#include "pirx/client/single_plan.h"
#include "pirx/cpir/dj/server.h"
#include "pirx/cpir/qr/server.h"
#include "pirx/cpir/spiral/server.h"
#include "pirx/database/serving.h"
#include "pirx/itpir/server.h"
#include "values.h"

namespace pirx::cli {
namespace {

using Kind = TextOption::Kind;

constexpr unsigned kGoldberg = 1, kChor = 2, kTree = 4, kQr = 8, kSpiral = 16;
constexpr unsigned kSeveral = kGoldberg | kChor, kNumbers = kTree | kQr;
constexpr std::uint64_t kAny = ~std::uint64_t{0};

struct Protocol {
  const char* name;
  unsigned bit;
};
constexpr Protocol kProtocols[] = {
    {"goldberg", kGoldberg}, {"chor", kChor}, {"dj-tree", kTree}, {"qr", kQr}, {"spiral", kSpiral}};

const DatabaseOption kOptions[] = {
    {{"coordinate", Kind::kNumber, 0, kAny,
      "This server's public x-coordinate: 1, 2, ...; no two servers alike. A bucket knows its own"},
     kSeveral,
     "coordinate"},
    {{"field", Kind::kText, 0, 0,
      "gf2_8, gf2_16, w160, w48 or prime<bits>; the same on all servers [gf2_8, or the bucket's]"},
     kSeveral,
     "field"},
    {{"code", Kind::kText, 0, 0,
      "Batch code: subcube:L,K or subset:L,w; several records then cost little more than one"},
     kSeveral,
     "code"},
    {{"layout", Kind::kText, 0, 0,
      "auto, rows (no copy), or what trades memory for speed of many queries: residues (prime fields, 2.5 "
      "times "
      "the database more), strassen1, strassen2, strassen3 (GF(2^n), 1.75, 2.9 and 5.1 times) [auto]"},
     kSeveral,
     "layout"},
    {{"prepared", Kind::kPath, 0, 0,
      "File that keeps the prepared database, about as large as the database (spiral: five times): used if "
      "it "
      "fits, else written"},
     kSeveral | kSpiral,
     "prepared"},
    {{"max_queries", Kind::kNumber, 1, 4096, "Queries that one request may hold [256]"},
     kSeveral,
     "max_queries"},
    {{"modulus", Kind::kNumber, 1024, 4096, "bits of clients' keys, 2048, 3072 or 4096 [3072]"},
     kNumbers,
     "modulus"},
    {{"arity", Kind::kText, 0, 0, "children of a node, leaves first, the last repeated: 32,16 or 8 [32,16]"},
     kTree,
     "arities"},
    {{"selectors", Kind::kText, 0, 0, "one-hot, or polynomial as in the paper [one-hot]"},
     kTree,
     "selectors"},
    {{"rerandomise", Kind::kSwitch, 0, 0,
      "fresh coins in every node, against clients who would learn of other rows"},
     kTree,
     "rerandomise"},
    {{"tables", Kind::kSize, 0, std::uint64_t{1} << 50, "memory for tables of powers [64MiB]"},
     kTree,
     "table_mib"},
    {{"slots", Kind::kNumber, 1, kAny >> 1,
      "records in a row of the matrix; by default query and reply are about equal"},
     kQr,
     "slots"},
    {{"kernel", Kind::kText, 0, 0, "gmp or ifma [the faster one that runs here]"}, kNumbers, "kernel"},
    {{"paper_reproduction", Kind::kSwitch, 0, 0,
      "keys of 1024 bits, as in the papers, which can be broken; loopback only"},
     kNumbers,
     "paper"},
    {{"set", Kind::kText, 0, 0,
      "s1, s1c, s2, s2s, s3 or s3b, made for certain shapes of databases [the fastest plan for this one]"},
     kSpiral,
     "set"},
};

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

std::string names_of(unsigned protocols) {
  std::string names;
  for (const auto& protocol : kProtocols) {
    if ((protocols & protocol.bit) != 0) names += (names.empty() ? "" : ", ") + std::string(protocol.name);
  }
  return names;
}

/// Weak keys only where nobody else can be deceived by them.
Result<void> check_modulus(const Texts& options, bool loopback) {
  const auto modulus = options.find("modulus");
  const bool short_keys = modulus != options.end() && modulus->second == "1024";
  if (options.count("paper_reproduction") == 0) {
    if (!short_keys) return {};
    return invalid(
        "keys of 1024 bits can be broken: use 3072 (the default) or 2048, or --paper-reproduction to "
        "reproduce "
        "a paper's figures on this machine");
  }
  if (!loopback) {
    return invalid(
        "keys of 1024 bits can be broken: --paper-reproduction is refused beyond loopback, listen on "
        "127.0.0.1 or ::1");
  }
  if (modulus != options.end() && !short_keys) {
    return invalid("--paper-reproduction means keys of 1024 bits: leave --modulus away");
  }
  return {};
}

/// The options as the protocol knows them.
Result<ServerSpec> make_spec(const DatabaseSettings& settings, const OpenContext& context) {
  const auto protocol = std::find_if(std::begin(kProtocols), std::end(kProtocols),
                                     [&](const auto& known) { return settings.protocol == known.name; });
  if (protocol == std::end(kProtocols)) {
    return invalid("no protocol is called '" + settings.protocol + "': there are " + names_of(~0u));
  }
  if (context.spread && (protocol->bit & kSeveral) == 0) {
    return invalid("--shards spreads the product of queries and rows that goldberg and chor compute, which " +
                   settings.protocol + " does not have: leave --shards away");
  }
  ServerSpec spec{.database_path = settings.file,
                  .threads = context.threads,
                  .options = {},
                  .note = context.note,
                  .progress = context.progress};
  if ((protocol->bit & kSeveral) != 0) spec.options = {{"max_queries", "256"}, {"layout", "auto"}};
  for (const auto& [name, text] : settings.options) {
    const auto option = std::find_if(std::begin(kOptions), std::end(kOptions),
                                     [&n = name](const auto& known) { return n == known.text.name; });
    if (option == std::end(kOptions)) return invalid("there is no option " + name + " of a database");
    const auto value = option->text.value(text);
    if (!value) return invalid(flag_of(name) + ": " + value.error().message());
    if ((option->protocols & protocol->bit) == 0) {
      return invalid(flag_of(name) + " is for " + names_of(option->protocols) + ", not " + settings.protocol);
    }
    const bool encoded = protocol->bit == kSpiral && name == "prepared";  // spiral's own name for it
    auto& told = spec.options[encoded ? "encoded" : option->told];
    told = text;
    if (option->text.kind == Kind::kSize) told = std::to_string((*value + (1u << 20) - 1) >> 20);
  }
  PIRX_TRY(check_modulus(settings.options, context.loopback));
  if (const auto paper = spec.options.find("paper"); paper != spec.options.end()) {
    paper->second = "1024";
    spec.options.erase("modulus");
  }
  if ((protocol->bit & kSeveral) == 0 || settings.options.count("coordinate") > 0) return spec;
  PIRX_ASSIGN(const auto database, database::Database::open(settings.file));
  if (database->bucket() != nullptr) return spec;
  return invalid("give --coordinate: every server of a plain database has its own, 1, 2, ...");
}

Registry make_registry(const itpir::Spread& spread) {
  Registry registry;
  itpir::register_goldberg(registry, spread);
  itpir::register_chor(registry, spread);
  cpir::dj::register_dj_tree(registry);
  cpir::qr::register_qr(registry);
  cpir::spiral::register_spiral(registry);
  return registry;
}

}  // namespace

std::span<const DatabaseOption> database_options() { return kOptions; }

std::string DatabaseOption::full_help() const {
  return ((protocols & kSeveral) != 0 ? "" : names_of(protocols) + ": ") + text.help;
}

Result<Served> open_served(const DatabaseSettings& settings, const OpenContext& context) {
  const int attempts = context.spread ? 1 : 5;  // the ranks open in step
  const Registry registry = make_registry(context.spread);
  PIRX_ASSIGN(const auto spec, make_spec(settings, context));
  for (int attempt = 1;; ++attempt) {
    PIRX_ASSIGN(auto before, database::Database::open(spec.database_path));
    PIRX_TRY(check_sample(*before));
    PIRX_ASSIGN(std::unique_ptr<const AnyServer> server, registry.open(settings.protocol, spec));
    // The protocol opens the file by itself: the same file and content before and after is what it found.
    PIRX_ASSIGN(const auto after, database::Database::open(spec.database_path));
    if (before->content_version() == after->content_version() && database::same_file(*before, *after)) {
      auto sound = std::make_shared<SoundServer>(before, std::move(server), context.damaged);
      return Served{std::move(before), std::move(sound)};
    }
    if (attempt == attempts) {
      return fail(ErrorCode::kUnavailable, "the database changes faster than it can be opened");
    }
  }
}

Result<void> check_next(const database::Database& now, const database::Database& next) {
  const auto refuse = [](std::string message) {
    return invalid(std::move(message) + ": the epoch served stays");
  };
  // An update of buckets with noise that was interrupted is done again, with other noise.
  const bool renewed = next.bucket() != nullptr && next.bucket()->independence > 0 &&
                       next.version().epoch == now.version().epoch;
  if (next.version().epoch <= now.version().epoch && !renewed) {
    return refuse("epoch " + std::to_string(next.version().epoch) + " does not follow epoch " +
                  std::to_string(now.version().epoch));
  }
  const auto& old_spec = now.geometry().spec();
  const auto& new_spec = next.geometry().spec();
  if (old_spec.variable_length != new_spec.variable_length || old_spec.digests != new_spec.digests ||
      now.geometry().keyed() != next.geometry().keyed()) {
    return refuse("the new file keeps other records (lengths, digests or keys): restart the server for it");
  }
  const bool both = now.bucket() != nullptr && next.bucket() != nullptr;
  if ((now.bucket() != nullptr) != (next.bucket() != nullptr) || (both && *now.bucket() != *next.bucket())) {
    return refuse("the new file is encoded in another way: restart the server for it");
  }
  return {};
}

namespace {

std::string option_or(const DatabaseSettings& settings, const char* name, std::string otherwise) {
  const auto found = settings.options.find(name);
  return found == settings.options.end() ? std::move(otherwise) : found->second;
}

}  // namespace

std::function<void(const std::string&)> note_log(const DatabaseSettings& settings, Log log) {
  net::LogEvent event{.event = "warning", .text = {}, .numbers = {}};
  if (!settings.name.empty()) event.text.emplace_back("database", settings.name);
  if (!client::is_single_protocol(settings.protocol)) {
    event.event = "prepared";
    event.text.emplace_back("layout", option_or(settings, "layout", "auto"));
    event.text.emplace_back("file", option_or(settings, "prepared", ""));
  }
  return [event, log = std::move(log)](const std::string& note) {
    auto line = event;
    line.text.emplace_back("note", note);
    log(line);
  };
}

std::function<void(const Error&)> damage_log(const DatabaseSettings& settings, Log log) {
  return [settings, log = std::move(log)](const Error& error) {
    net::LogEvent event{.event = "database_damaged",
                        .text = {{"file", settings.file}, {"reason", error.message()}},
                        .numbers = {}};
    if (!settings.name.empty()) event.text.emplace_back("database", settings.name);
    log(event);
  };
}

net::LogEvent database_event(const DatabaseSettings& settings, const Served& served, double seconds) {
  const auto* bucket = served.database->bucket();
  const bool single = client::is_single_protocol(settings.protocol);
  const auto field = option_or(settings, "field",
                               bucket != nullptr             ? bucket->field.name()
                               : settings.protocol == "chor" ? "gf2"
                                                             : "gf2_8");
  const auto coordinate =
      option_or(settings, "coordinate", std::to_string(bucket != nullptr ? bucket->coordinate : 0));
  net::LogEvent event{
      .event = "database",
      .text = {{"file", settings.file}, {"protocol", settings.protocol}, {"field", single ? "none" : field}},
      .numbers = {{"coordinate", std::stod(coordinate)},
                  {"epoch", static_cast<double>(served.database->version().epoch)},
                  {"seconds_to_open", seconds}}};
  if (!settings.name.empty()) event.text.emplace_back("database", settings.name);
  return event;
}

}  // namespace pirx::cli
