// SPDX-License-Identifier: Apache-2.0
// pirx manifest: a publisher's key, and what is signed with it about an epoch of a database.
#include <sys/stat.h>

#include <algorithm>
#include <cinttypes>
#include <filesystem>

#include "cli.h"
#include "pirx/base/small_file.h"
#include "pirx/database/database.h"
#include "protocol_options.h"
#include "publisher.h"
#include "served_database.h"

namespace pirx::cli {
namespace {

constexpr std::size_t kMaxKeyFile = std::size_t{1} << 16;

struct ManifestArguments {
  DatabaseSettings database;
  std::string key, out, manifest, publisher, name;
  bool add = false;
};

Result<ed25519::Seed> read_key(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0 && (status.st_mode & 077) != 0) {
    return invalid(file + " can be read or changed by others than its owner: chmod 600 " + file);
  }
  PIRX_ASSIGN(auto text, read_file(file, kMaxKeyFile, "key of a publisher ('pirx manifest key' makes one)"));
  auto seed = ed25519::from_pem(text);
  secure_wipe(text.data(), text.size());
  if (!seed) return invalid(file + ": " + seed.error().message());
  return seed;
}

/// Writes a new key, and beside it the public one in a file of its own. Where there is a key alone, only the
/// public one: this was cut short before.
Result<void> make_key(const ManifestArguments& a) {
  PIRX_ASSIGN(const auto lock, lock_folder(a.key));
  const auto public_file = a.key + ".pub";
  PIRX_ASSIGN(const bool public_there, is_there(public_file));
  constexpr std::string_view kExists = " exists, and a key that is overwritten is lost: name another file";
  if (public_there) return invalid(public_file + std::string(kExists));
  PIRX_ASSIGN(const bool there, is_there(a.key));
  const auto seed = there ? read_key(a.key) : ed25519::new_seed();
  if (!seed) return there ? invalid(a.key + std::string(kExists)) : tl::unexpected(seed.error());
  const auto publisher = to_hex(ed25519::public_key(*seed));
  if (!there) PIRX_TRY(replace_file(a.key, as_text(ed25519::to_pem(*seed)), 0600));
  PIRX_TRY(replace_file(public_file, publisher + "\n"));
  std::printf("%s %s: keep it secret, and keep a copy\npublisher       %s\n",
              there ? "there was a key in" : "wrote", a.key.c_str(), publisher.c_str());
  return {};
}

/// What the servers of that database will say of themselves.
Result<Told> tell_of(const DatabaseSettings& settings, const Protocol& protocol,
                     std::shared_ptr<const database::Database> database) {
  auto options = settings.options;
  // Any will do: a digest is that of parameters without one.
  const bool any = find_option(protocol.options, "coordinate") != nullptr && database->bucket() == nullptr;
  if (any) options.emplace("coordinate", "1");
  ServerSpec spec{.database = std::move(database), .loopback = true};
  PIRX_ASSIGN(const auto server, serve(protocol, std::move(spec), options));
  return tell(server->parameters());
}

/// What the manifest in `file` serves, if it is of the same epoch.
Result<std::vector<Manifest::Served>> served_before(const std::string& file, const Manifest::Spec& next) {
  PIRX_ASSIGN(const auto old, load_manifest(file));
  if (!old.check(next.geometry, next.version)) {
    return invalid(file + " is for an earlier epoch: sign without --add");
  }
  return old.spec().served;
}

/// Refuses to overwrite what is no manifest, and manifests that this one cannot follow. With another
/// publisher or name one of the two is a mistake, and clients that pinned the old one would take nothing any
/// more. Epochs never go back, and each has one content.
Result<void> check_overwritten(const std::string& file, const client::Pin& next,
                               const database::Database& database) {
  const auto old = load_manifest(file);
  PIRX_ASSIGN(const bool there, is_there(file));
  if (!old && there) {
    if (old.error().code() == ErrorCode::kUnavailable) return tl::unexpected(old.error());  // it may be one
    return invalid(file + " is no manifest, and is not replaced: give another --out, or remove it");
  }
  if (!old) return {};
  if (!old->check(next)) {
    return invalid(file + " is the manifest of " + old->spec().pin.text() +
                   ": give its key and name, another --out, or remove it");
  }
  const auto was = old->spec().version.epoch, is = database.version().epoch;
  if (was < is || old->check(database.geometry(), database.version())) return {};
  return invalid(file + " is for " + (was == is ? "another content of epoch " : "the later epoch ") +
                 std::to_string(was) + ", and clients that have seen that refuse this one of epoch " +
                 std::to_string(is) + ": build with a later epoch than " + std::to_string(was) +
                 " (pirx db build --epoch), or give another --out");
}

void print(const Manifest& manifest) {
  const auto& spec = manifest.spec();
  std::printf("publisher       %s\n", spec.pin.text().c_str());
  std::printf("epoch           %" PRIu64 "\n", spec.version.epoch);
  std::printf("identity        %s\n", to_hex(spec.version.identity).c_str());
  std::printf("records         %" PRIu64 " of up to %" PRIu64 " bytes%s\n", spec.geometry.records(),
              spec.geometry.record_bytes(), spec.geometry.keyed() ? ", by key" : "");
  for (const auto& one : spec.served) {
    const auto all = protocols();
    const auto known = std::ranges::find(all, one.protocol,
                                         [](const auto* row) { return static_cast<std::uint64_t>(row->id); });
    const auto name =
        known == all.end() ? "protocol " + std::to_string(one.protocol) : std::string((*known)->name);
    std::printf("parameters      %s %s\n", to_hex(one.parameters).c_str(), name.c_str());
  }
}

Result<void> sign(const ManifestArguments& a) {
  PIRX_ASSIGN(const auto seed, read_key(a.key));
  const auto out = a.out.empty() ? a.database.file + ".manifest" : a.out;
  PIRX_ASSIGN(const auto file, behind_links(out));
  const client::Pin pin{ed25519::public_key(seed), a.name};
  PIRX_ASSIGN(const auto* protocol, find_protocol(a.database.protocol));
  PIRX_ASSIGN(const std::shared_ptr<const database::Database> database,
              database::Database::open(a.database.file));
  PIRX_TRY(check_overwritten(out, pin, *database));
  PIRX_ASSIGN(const auto told, tell_of(a.database, *protocol, database));
  PIRX_TRY(database->verify());  // not before its rows are read: they may change then
  Manifest::Spec spec{.geometry = told.geometry,
                      .version = told.version,
                      .served = {{static_cast<std::uint64_t>(protocol->id), told.digest}},
                      .pin = pin};
  // Another one may have been signed while this took its time.
  PIRX_ASSIGN(const auto lock, lock_folder(out));
  PIRX_TRY(check_overwritten(out, pin, *database));
  if (a.add) {
    PIRX_ASSIGN(const auto before, served_before(out, spec));
    spec.served.insert(spec.served.end(), before.begin(), before.end());
    std::ranges::sort(spec.served);
    const auto repeated = std::ranges::unique(spec.served);
    spec.served.erase(repeated.begin(), repeated.end());
  }
  PIRX_ASSIGN(const auto manifest,
              Manifest::create(spec, [&](ByteSpan message) { return ed25519::sign(seed, message); }));
  PIRX_TRY(replace_file(file, as_text(manifest.bytes())));
  std::printf("wrote %s\n", out.c_str());
  print(manifest);
  return {};
}

Result<void> show(const ManifestArguments& a) {
  PIRX_ASSIGN(const auto manifest, load_manifest(a.manifest));
  if (!a.publisher.empty()) {
    PIRX_ASSIGN(const auto publisher, read_publisher(a.publisher));
    PIRX_TRY(manifest.check({publisher, manifest.spec().pin.database}));
  }
  if (!a.database.file.empty()) {
    PIRX_ASSIGN(const auto database, database::Database::open(a.database.file));
    PIRX_TRY(manifest.check(database->geometry(), database->version()));
  }
  print(manifest);
  std::printf("the signature is right\n");
  return {};
}

}  // namespace

Result<Manifest> load_manifest(const std::string& file) {
  PIRX_ASSIGN(const auto text,
              read_file(file, Manifest::kMaxBytes, "manifest ('pirx manifest sign' writes one)", true));
  auto manifest = Manifest::parse(as_bytes(text));
  if (!manifest) return fail(manifest.error().code(), file + ": " + manifest.error().message());
  return manifest;
}

Result<ed25519::PublicKey> read_publisher(const std::string& text) {
  std::error_code ignored;
  // Digits are never a file: who writes into the working folder would choose the key.
  const bool digits = text.size() == 2 * sizeof(ed25519::PublicKey) && from_hex(text);
  if (digits || !std::filesystem::exists(text, ignored)) return parse_publisher(text);
  PIRX_ASSIGN(auto content, read_file(text, kMaxKeyFile, "publisher's key"));
  while (!content.empty() && (content.back() == '\n' || content.back() == '\r')) content.pop_back();
  auto key = parse_publisher(content);
  if (!key) return invalid(text + ": " + key.error().message());
  return key;
}

Result<client::Pin> read_pin(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) {
    return invalid("'" + text +
                   "' names no database of the publisher: write KEY:NAME, as 'pirx manifest show' prints it");
  }
  PIRX_ASSIGN(const auto publisher, read_publisher(text.substr(0, colon)));
  return client::parse_pin(to_hex(publisher) + text.substr(colon));
}

void add_manifest_command(CLI::App& app) {
  auto& command =
      *app.add_subcommand("manifest", "Sign what a database is, so that no server can tell clients another");
  command.require_subcommand(1);
  command.footer(
      "Examples:\n"
      "  pirx manifest key publisher.key\n"
      "  pirx manifest sign packages.pirx --key publisher.key --name packages\n"
      "  pirx manifest show packages.pirx.manifest --publisher publisher.key.pub");
  auto a = std::make_shared<ManifestArguments>();

  auto& key = *command.add_subcommand("key", "Make a publisher's key");
  key.add_option("file", a->key,
                 "The secret key is written there, for its owner alone; the public one to FILE.pub")
      ->required();
  key.footer("Example:\n  pirx manifest key publisher.key");
  set_action(key, [a] { return make_key(*a); });

  auto& signing =
      *command.add_subcommand("sign", "Sign an epoch of a database for the servers of a protocol");
  signing.add_option("database", a->database.file, "Database file")->required();
  signing.add_option("--key", a->key, "The publisher's secret key")->required();
  signing
      .add_option(
          "--name", a->name,
          "Your name for the database, another one for each and the same at every epoch: clients pin it with "
          "your key")
      ->required();
  signing.add_option("--out", a->out, "The manifest [DATABASE.manifest]");
  signing.add_flag("--add", a->add, "Keep the parameters that the manifest there has for the same epoch");
  signing.add_option("--protocol", a->database.protocol, protocol_help())->capture_default_str();
  for (const auto& option : database_options()) {
    add_text_option(signing, option, std::string(option.help), a->database.options);
  }
  signing.footer(
      "Give the options that the servers are given: their parameters are signed. A coordinate does not "
      "matter.\n"
      "Examples:\n"
      "  pirx manifest sign packages.pirx --key publisher.key --name packages\n"
      "  pirx manifest sign packages.pirx --key publisher.key --name packages --protocol " +
      std::string(protocols().back()->name) + " --add");
  set_action(signing, [a] { return sign(*a); });

  auto& showing = *command.add_subcommand("show", "Check a manifest's signature, and print what it says");
  showing.add_option("manifest", a->manifest, "Manifest file")->required();
  showing.add_option("--publisher", a->publisher, "Key that must have signed it, or the file with it");
  showing.add_option("--database", a->database.file, "Check that it is for this database file");
  showing.footer("Example:\n  pirx manifest show packages.pirx.manifest --publisher publisher.key.pub");
  set_action(showing, [a] { return show(*a); });
}

}  // namespace pirx::cli
