// SPDX-License-Identifier: Apache-2.0
// pirx deploy: asks the servers what they hold, checks that they agree, and writes the deployment file.
#include "cli.h"
#include "deploy.h"
#include "pirx/base/small_file.h"
#include "pirx/database/database.h"
#include "pirx/http/http_client.h"
#include "protocol_options.h"
#include "publisher.h"

namespace pirx::cli {
namespace {

struct DeployArguments {
  std::string target, database, publisher;
  http::Endpoint server;                ///< what all have in common
  std::optional<std::string> expected;  ///< an empty one is wrong, not none
  std::vector<std::string> urls, others;
  Credentials credentials;
  Texts chosen, options;  ///< of the deployment; of its clients
  bool force = false, allow_rollback = false, add = false, refresh = false;
  std::chrono::microseconds deadline{10'000'000}, wait{0};
};

/// Whether a FILE that cannot be read as a deployment file may pin a publisher. A wrong bit leaves one of the
/// two names.
bool may_pin(const std::string& file) {
  const auto text = read_file(file, std::size_t{1} << 20);
  return text && (text->find("\"publisher\"") != std::string::npos ||
                  text->find("\"manifest\"") != std::string::npos);
}

/// The deployments in FILE; none where there is no such file. InvalidArgument: it is something else than a
/// deployment file, which must not be lost. Unavailable: it cannot be read.
Result<std::vector<Deployment>> read_target(const DeployArguments& a) {
  std::error_code ignored;
  std::vector<Deployment> none;
  PIRX_ASSIGN(const bool there, is_there(a.target));
  if (!there) return none;
  if (!std::filesystem::is_regular_file(a.target, ignored)) {
    return invalid(a.target + " exists and is no deployment file: name another file");
  }
  auto before = load_deployments(a.target);
  if (before) return std::move(*before);
  // Nobody knows what it says, so not even --force replaces it.
  if (before.error().code() == ErrorCode::kUnavailable) return tl::unexpected(before.error());
  if (a.force) return none;
  return invalid(
      a.target + " exists and is no deployment file: " +
      (may_pin(a.target)
           ? "it seems to pin a publisher, so restore it from a copy, or replace it with --force and "
             "--manifest KEY:NAME, without which the pin is lost ("
           : "name another file, or replace this one with --force (") +
      before.error().message() + ")");
}

/// Whether `next` may stand in FILE in place of `old`.
Result<void> check_no_rollback(const std::string& target, bool allow_rollback, const Deployment& old,
                               const Deployment& next) {
  const auto follows = check_follows(*old.plan, *next.plan);
  if (follows || allow_rollback) return {};
  return fail(follows.error().code(), "the servers' parameters do not follow those in " + target + ": " +
                                          follows.error().message() +
                                          "; ask the operator, then give --allow-rollback");
}

/// Whether FILE may lose what it says of its publisher. No flag allows that: FILE would protect less than
/// before.
Result<void> check_pin(const std::string& target, const Deployment& old, const Deployment& next) {
  const auto follows = check_manifest_follows(old, next);
  if (follows) return {};
  const auto advice = next.manifest == nullptr ? "give --manifest " + old.manifest->spec().pin.text() +
                                                     ", or remove the file to trust the servers alone"
                      : follows.error().code() == ErrorCode::kUnauthenticated
                          ? "remove the file if the publisher has told you of another key or name"
                          : "ask the publisher";
  return fail(follows.error().code(),
              target + " pins a publisher: " + follows.error().message() + "; " + advice);
}

/// Whether FILE may lose what was chosen for its clients: of what the command line leaves away, `next` has
/// the least values. A lower threshold would hide less.
Result<void> check_chosen(const DeployArguments& a, const Deployment& old, const Deployment& next) {
  const auto value = [](const Deployment& of, std::string_view name) {
    const auto members = of.plan->members();
    const auto found = members.find(name);
    return found == members.end() ? "1" : found->second;
  };
  for (const auto& option : next.plan->protocol().chosen) {
    if (a.chosen.find(option.name) != a.chosen.end()) continue;
    const auto before = value(old, option.name), after = value(next, option.name);
    if (std::stoull(after) >= std::stoull(before)) continue;
    const auto flag = flag_of(option.name) + " ";
    return invalid(a.target + " has " + flag + before + ", which would become " + after + ": give " + flag +
                   before + " to keep it, or " + flag + after + " if that is meant");
  }
  return {};
}

/// Writes the file unless it goes back behind what was there. With --add, what was there by other protocols
/// for the same epoch stays.
Result<void> save(const DeployArguments& a, const Deployment& deployment) {
  PIRX_ASSIGN(const auto lock, lock_folder(a.target));
  PIRX_ASSIGN(auto before, read_target(a));
  std::vector<Deployment> after;
  std::string left;
  for (auto& old : before) {
    PIRX_TRY(check_pin(a.target, old, deployment));
    PIRX_TRY(check_no_rollback(a.target, a.allow_rollback, old, deployment));
    if (&old.plan->protocol() == &deployment.plan->protocol()) {
      PIRX_TRY(check_chosen(a, old, deployment));
      continue;
    }
    if (a.add && old.plan->version().epoch >= deployment.plan->version().epoch) {
      after.push_back(std::move(old));
    } else {
      left += (left.empty() ? "" : ", ") + std::string(old.plan->protocol().name);
    }
  }
  after.push_back(deployment);
  if (const auto one = check_one_database(after); !one) return invalid("--add: " + one.error().message());
  const bool lost = before.empty() && may_pin(a.target);
  PIRX_TRY(save_deployments(a.target, after));
  if (lost) {
    std::fprintf(stderr,
                 "%s could not be read, but seemed to pin a publisher: that pin and its epoch are lost%s\n",
                 a.target.c_str(), a.publisher.empty() ? " (--manifest KEY:NAME pins a publisher)" : "");
  }
  if (!left.empty()) {
    std::fprintf(
        stderr, "%s no longer names: %s%s\n", a.target.c_str(), left.c_str(),
        a.add ? ", which it named for an older epoch: add them again" : " (--add keeps other protocols)");
  }
  return {};
}

AskOptions ask_options(const DeployArguments& a) {
  return {.deadline = std::chrono::ceil<std::chrono::milliseconds>(a.deadline),
          .wait = std::chrono::ceil<std::chrono::milliseconds>(a.wait),
          .waiting = [](const std::string& why) { std::fprintf(stderr, "waiting for %s\n", why.c_str()); }};
}

/// Whether others are told the same as this client: whoever published a digest, and clients who ask in
/// another way. They are asked without credentials, which would tell them who asks.
Result<void> check_digest(const DeployArguments& a, http::Endpoint reached, const Digest& digest) {
  const auto asked = reached.url;
  reached.token = {};
  reached.certificate_file.clear();
  reached.key_file.clear();
  if (a.expected) {
    const auto expected = digest_from_hex(*a.expected);
    if (!expected) return invalid("--expect takes 64 hexadecimal digits");
    if (digest != *expected) {
      return fail(ErrorCode::kStaleEpoch, "the parameters of " + asked + " have the digest " +
                                              to_hex(digest) + ", not " + *a.expected +
                                              ": an epoch began meanwhile, or clients are told apart");
    }
  }
  for (const auto& url : a.others) {
    reached.url = url;
    PIRX_ASSIGN(const auto other, ask_parameters({&reached, 1}, ask_options(a)));
    const auto theirs = other.told[0].digest;
    if (theirs != digest) {
      return fail(ErrorCode::kStaleEpoch, url + " gives parameters with the digest " + to_hex(theirs) + ", " +
                                              asked + " with " + to_hex(digest) +
                                              ": an epoch began meanwhile, or clients are told apart");
    }
  }
  return {};
}

/// Whether the servers hold the database file that was given, as it is.
Result<void> check_version(const DeployArguments& a, const database::Version& served,
                           const database::Geometry& geometry) {
  if (a.database.empty()) return {};
  PIRX_ASSIGN(const auto db, database::Database::open(a.database));
  if (db->version() == served && db->geometry() == geometry) return {};
  return fail(
      ErrorCode::kStaleEpoch,
      "the servers do not serve " + a.database + " (epoch " + std::to_string(db->version().epoch) +
          " there, epoch " + std::to_string(served.epoch) + " on the servers)" +
          (db->version().epoch == served.epoch ? ": the content is another one; of buckets with noise (db "
                                                 "encode --independence), which have a name of their own, "
                                                 "give one"
                                               : ""));
}

void say_digest(const Digest& digest) { std::printf("parameters digest %s\n", to_hex(digest).c_str()); }

void say_written(const DeployArguments& a, const Deployment& deployment) {
  std::printf("wrote %s: %s, %s\n", a.target.c_str(), std::string(deployment.plan->protocol().name).c_str(),
              deployment.plan->summary().c_str());
}

/// The digest of what was deployed.
Result<Digest> deploy(const DeployArguments& a) {
  PIRX_TRY(read_target(a));
  PIRX_ASSIGN(const auto file, behind_links(a.target));
  const auto folder = file.parent_path();
  Deployment deployment;
  for (const auto& url : a.urls) {
    auto& server = deployment.servers.emplace_back(a.server);
    server.url = url;
    if (!a.server.ca_file.empty()) server.ca_file = (folder / a.server.ca_file).string();
  }
  PIRX_TRY(give_credentials(a.credentials, deployment.servers));
  auto ask = ask_options(a);
  if (!a.publisher.empty()) {
    PIRX_ASSIGN(ask.pin, read_pin(a.publisher));
  }
  PIRX_ASSIGN(const auto said, ask_parameters(deployment.servers, ask));
  deployment.manifest = said.manifest;
  const auto& first = said.told[0];
  PIRX_TRY(check_digest(a, deployment.servers[0], first.digest));
  PIRX_TRY(check_version(a, first.version, first.geometry));
  PIRX_ASSIGN(deployment.plan, plan_for(said, a.chosen));
  ClientSpec client{.loopback = all_on_this_machine(deployment)};
  PIRX_ASSIGN(client.options, Options::create(said.protocol->client_options, a.options, said.protocol->name));
  PIRX_ASSIGN(const auto warning, deployment.plan->check(client));
  PIRX_TRY(save(a, deployment));
  if (!warning.empty()) std::fprintf(stderr, "%s\n", warning.c_str());
  say_written(a, deployment);
  return first.digest;
}

/// Writes the file if it is as it was read: to ask servers took time, and they chose how much.
Result<void> save_unless_changed(const std::string& path, const RefreshedFile& file) {
  PIRX_ASSIGN(const auto lock, lock_folder(path));
  PIRX_ASSIGN(const auto now, load_deployments(path));
  const auto text = format_deployments(now);
  if (text == format_deployments(file.after)) return {};
  if (text == format_deployments(file.before)) return save_deployments(path, file.after);
  return fail(ErrorCode::kStaleEpoch, path + " was changed by another program meanwhile: try again");
}

/// Brings FILE to the parameters that its servers have now.
Result<void> refresh_and_say(const DeployArguments& a) {
  std::vector<Digest> digests;
  const auto accept = [&](const Deployment& old, const Parameters& said) -> Result<void> {
    digests.push_back(said.told[0].digest);
    if (digests.size() > 1 && (a.expected || !a.others.empty())) {
      return invalid(a.target +
                     " names several protocols, each with a digest of its own: --expect and --compare go "
                     "with one");
    }
    PIRX_TRY(check_digest(a, old.servers[0], digests.back()));
    return check_version(a, said.told[0].version, said.told[0].geometry);
  };
  PIRX_ASSIGN(const auto done, refresh_file(a.target, a.credentials,
                                            {.ask = ask_options(a),
                                             .allow_rollback = a.allow_rollback,
                                             .client_options = a.options,
                                             .accept = accept}));
  const auto epoch = [](const Deployment& of) { return std::to_string(of.plan->version().epoch); };
  if (done.changed) {
    for (const auto& one : done.after) say_written(a, one);
    std::printf("epoch %s, was %s\n", epoch(done.after[0]).c_str(), epoch(done.before[0]).c_str());
  } else {
    std::printf("%s is up to date: epoch %s\n", a.target.c_str(), epoch(done.after[0]).c_str());
  }
  for (const auto& digest : digests) say_digest(digest);
  return {};
}

}  // namespace

Result<void> give_credentials(const Credentials& credentials, std::span<Deployment> all) {
  std::vector<http::Endpoint> servers;
  for (const auto& one : all) servers.insert(servers.end(), one.servers.begin(), one.servers.end());
  PIRX_TRY(http::give_credentials(credentials, servers));
  auto next = servers.begin();
  for (auto& one : all) {
    for (auto& server : one.servers) server = std::move(*next++);
  }
  return {};
}

Result<RefreshedFile> refresh_file(const std::string& path, const Credentials& credentials,
                                   RefreshOptions options, const Protocol* in_use) {
  RefreshedFile file;
  PIRX_ASSIGN(file.before, load_deployments(path));
  const bool allow_rollback = std::exchange(options.allow_rollback, true);  // checked here, with advice
  options.warn = [](const std::string& warning) { std::fprintf(stderr, "%s\n", warning.c_str()); };
  PIRX_TRY(give_credentials(credentials, file.before));
  const auto renewed = [&](const Deployment& old) -> Result<Deployment> {
    PIRX_ASSIGN(auto next, refresh(old, options));
    PIRX_TRY(check_no_rollback(path, allow_rollback, old, next));
    return next;
  };
  Result<void> whole;
  for (auto& old : file.before) {
    auto next = renewed(old);
    if (next) {
      file.after.push_back(std::move(*next));
    } else if (in_use == nullptr || &old.plan->protocol() == in_use) {
      return tl::unexpected(std::move(next).error());
    } else {
      whole = tl::unexpected(std::move(next).error());
    }
  }
  if (whole && !check_one_database(file.after)) {
    whole = fail(ErrorCode::kStaleEpoch, "the servers of the protocols in " + path +
                                             " are not at one epoch of one database: try again when all are");
  }
  if (!whole) {
    if (in_use == nullptr) return tl::unexpected(whole.error());
    options.warn(path + " stays as it is: " + whole.error().message());
    return file;
  }
  file.changed = format_deployments(file.after) != format_deployments(file.before);
  if (file.changed) PIRX_TRY(save_unless_changed(path, file));
  return file;
}

void add_deploy_command(CLI::App& app) {
  auto& command = *app.add_subcommand("deploy", "Write the deployment file that clients need");
  auto a = std::make_shared<DeployArguments>();
  command.add_option("target", a->target, "The file to write")->required();
  auto* servers =
      command
          .add_option("--server", a->urls,
                      "URL of a server, repeatable: https://host:port, or https://host:port/v1/db/NAME")
          ->allow_extra_args(false);
  auto* refresh = command.add_flag(
      "--refresh", a->refresh,
      "Take the parameters that the servers in FILE have now, and keep everything else in FILE: servers, "
      "trust anchors, threshold, protocols");
  for (const auto& option : options_of_all(&Protocol::chosen)) {
    // It keeps its flag of one letter.
    const auto flag = option.name == "threshold" ? "-t," : "";
    add_text_option(command, option, std::string(option.help), a->chosen, flag + flag_of(option.name));
  }
  for (const auto& option : options_of_all(&Protocol::client_options)) {
    if (option.kind == Option::Kind::kSwitch && option.name == "paper_reproduction") {
      add_text_option(command, option, std::string(option.help), a->options);
    }
  }
  command.add_option(
      "--manifest", a->publisher,
      "KEY:NAME, the key of the database's publisher, or the file with it, and the publisher's name of the "
      "database: FILE pins them, and every epoch needs the publisher's manifest");
  command.add_option("--database", a->database, "Check that the servers hold this very database file");
  command.add_option_function<std::string>(
      "--expect", [a](const std::string& digest) { a->expected = digest; },
      "Digest that the parameters must have, as the operator published it: 'pirx serve' logs it, "
      "and this command prints it");
  command
      .add_option("--compare", a->others,
                  "URL, repeatable, at which the parameters must be the same: another way to the first "
                  "server, or another server of the database. Asked without a token or certificate")
      ->allow_extra_args(false);
  command.add_flag("--allow-rollback", a->allow_rollback,
                   "Accept fewer records than FILE has, an older epoch, or other parameters of the same one");
  command.add_flag(
      "--add", a->add,
      "Keep what FILE says of other protocols for the same database: 'pirx get' then chooses the fastest");
  command.add_flag("--force", a->force, "Replace FILE even if it is no deployment file");
  add_ca(command, a->server.ca_file, "PEM trust anchors of https servers, relative to the file written");
  command.add_flag("--allow-plaintext", a->server.allow_plaintext, "Allow http:// beyond loopback");
  command.add_flag("--tls-1.2", a->server.allow_tls_1_2,
                   "Take TLS 1.2, too, from servers that do not know 1.3");
  add_credentials(command, a->credentials);
  add_duration(command, "--deadline", a->deadline, "For the servers to answer [10s]");
  add_duration(command, "--wait", a->wait,
               "Ask servers that cannot be reached again for so long: they may be starting [0s]");
  for (auto* option : command.get_options()) {
    static constexpr std::array kKept{
        "--server",          "--add",     "--force",     "--ca",   "--ca-file",
        "--allow-plaintext", "--tls-1.2", "--threshold", "--ramp", "--manifest"};
    if (std::any_of(kKept.begin(), kKept.end(), [&](auto* name) { return option->check_name(name); })) {
      refresh->excludes(option);
    }
  }
  command.parse_complete_callback([servers, refresh] {
    if (servers->empty() && refresh->empty()) throw CLI::RequiredError("--server (or --refresh)");
  });
  command.footer(
      "Example:\n"
      "  pirx deploy packages.json -t 1 --server http://127.0.0.1:8101 --server http://127.0.0.1:8102 "
      "--server http://127.0.0.1:8103");
  set_action(command, [a]() -> Result<void> {
    if (a->refresh) return refresh_and_say(*a);
    PIRX_ASSIGN(const auto digest, deploy(*a));
    say_digest(digest);
    return {};
  });
}

}  // namespace pirx::cli
