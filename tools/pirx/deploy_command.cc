// SPDX-License-Identifier: Apache-2.0
// pirx deploy: asks the servers what they hold, checks that they agree, and writes the deployment file.
#include "cli.h"
#include "deploy.h"
#include "pirx/client/deployment.h"
#include "pirx/database/database.h"
#include "protocol_options.h"

namespace pirx::cli {
namespace {

struct DeployArguments {
  std::string target, database;
  http::Endpoint server;                ///< what all have in common
  std::optional<std::string> expected;  ///< an empty one is wrong, not none
  std::vector<std::string> urls, others;
  Credentials credentials;
  Texts chosen, options;  ///< of the deployment; of its clients
  bool force = false, allow_rollback = false, add = false;
  std::chrono::microseconds deadline{10'000'000};
};

std::string describe(const Protocol& protocol, const Told& told) {
  std::string text(protocol.name);
  for (const auto& [name, value] : told.members) text += ", " + name + " " + value.substr(0, 40);
  return text + ", epoch " + std::to_string(told.version.epoch) + ", identity " +
         to_hex(told.version.identity).substr(0, 16) + "...";
}

/// The deployments in FILE; none where there is no such file. InvalidArgument: it is something else than a
/// deployment file, which must not be lost.
Result<std::vector<Deployment>> read_target(const DeployArguments& a) {
  std::error_code ignored;
  std::vector<Deployment> none;
  if (!std::filesystem::exists(std::filesystem::symlink_status(a.target, ignored))) return none;
  if (!std::filesystem::is_regular_file(a.target, ignored)) {
    return invalid(a.target + " exists and is no deployment file: name another file");
  }
  auto before = load_deployments(a.target);
  if (before) return std::move(*before);
  if (a.force) return none;
  return invalid(a.target +
                 " exists and is no deployment file: name another file, or replace this one with "
                 "--force (" +
                 before.error().message() + ")");
}

/// Writes the file unless it goes back behind what was there. With --add, what was there by other protocols
/// for the same epoch stays.
Result<void> save(const DeployArguments& a, const Deployment& deployment) {
  PIRX_ASSIGN(auto before, read_target(a));
  std::vector<Deployment> after;
  std::string left;
  for (auto& old : before) {
    const auto follows = check_follows(*old.plan, *deployment.plan);
    if (!follows && !a.allow_rollback) {
      return fail(follows.error().code(), "the servers' parameters do not follow those in " + a.target +
                                              ": " + follows.error().message() +
                                              "; ask the operator, then give --allow-rollback");
    }
    if (&old.plan->protocol() == &deployment.plan->protocol()) continue;
    if (a.add && old.plan->version().epoch >= deployment.plan->version().epoch) {
      after.push_back(std::move(old));
    } else {
      left += (left.empty() ? "" : ", ") + std::string(old.plan->protocol().name);
    }
  }
  after.push_back(deployment);
  if (const auto one = check_one_database(after); !one) return invalid("--add: " + one.error().message());
  PIRX_TRY(save_deployments(a.target, after));
  if (!left.empty()) {
    std::fprintf(
        stderr, "%s no longer names: %s%s\n", a.target.c_str(), left.c_str(),
        a.add ? ", which it named for an older epoch: add them again" : " (--add keeps other protocols)");
  }
  return {};
}

std::vector<http::CallOutcome> ask_parameters(const DeployArguments& a, http::HttpTransport& transport) {
  const auto deadline = std::chrono::ceil<std::chrono::milliseconds>(a.deadline);
  return transport.parameters_all(
      {.deadline = deadline, .connect_timeout = deadline, .max_reply_bytes = std::size_t{64} << 10});
}

/// Whether others are told the same as this client: whoever published a digest, and clients who ask in
/// another way. They are asked without credentials, which would tell them who asks.
Result<void> check_digest(const DeployArguments& a, const http::Endpoint& reached, const Digest& digest) {
  if (a.expected) {
    const auto expected = from_hex(*a.expected);
    if (!expected || expected->size() != digest.size())
      return invalid("--expect takes 64 hexadecimal digits");
    if (!std::equal(digest.begin(), digest.end(), expected->begin())) {
      return fail(ErrorCode::kStaleEpoch, "the parameters of " + a.urls[0] + " have the digest " +
                                              to_hex(digest) + ", not " + *a.expected +
                                              ": an epoch began meanwhile, or clients are told apart");
    }
  }
  for (const auto& url : a.others) {
    auto other = reached;
    other.url = url;
    PIRX_ASSIGN(auto transport, http::HttpTransport::create({other}));
    const auto reply = std::move(ask_parameters(a, transport).front().reply);
    if (!reply) return fail(reply.error().code(), url + " gave no parameters: " + reply.error().message());
    PIRX_ASSIGN(const auto theirs, tell(*reply));
    if (theirs.digest != digest) {
      return fail(ErrorCode::kStaleEpoch, url + " gives parameters with the digest " + to_hex(theirs.digest) +
                                              ", " + a.urls[0] + " with " + to_hex(digest) +
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

/// The digest of what was deployed.
Result<Digest> deploy(const DeployArguments& a) {
  PIRX_TRY(read_target(a));
  const auto folder = std::filesystem::path(a.target).parent_path();
  std::vector<http::Endpoint> stored, reached;
  for (const auto& url : a.urls) {
    stored.push_back(a.server);
    stored.back().url = url;
    reached.push_back(stored.back());
    if (!a.server.ca_file.empty()) reached.back().ca_file = (folder / a.server.ca_file).string();
  }
  const auto anonymous = reached;
  PIRX_TRY(give_credentials(a.credentials, reached));
  PIRX_ASSIGN(auto transport, http::HttpTransport::create(reached));
  const auto outcomes = ask_parameters(a, transport);

  std::vector<Told> told;
  const Protocol* protocol = nullptr;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto& reply = outcomes[i].reply;
    if (!reply)
      return fail(reply.error().code(), a.urls[i] + " gave no parameters: " + reply.error().message());
    if (outcomes[i].same_as) {
      return invalid(a.urls[i] + " and " + a.urls[*outcomes[i].same_as] +
                     " name the same instance (Pirx-Instance): they are one server, which would get two "
                     "servers' shares, or one of them claims to be the other. Give each server once");
    }
    auto one = tell(*reply);
    if (!one) return fail(one.error().code(), a.urls[i] + ": " + one.error().message());
    const auto* speaks = find_protocol_of(*reply).value();
    if (!speaks->several && a.urls.size() != 1) {
      return invalid(a.urls[i] + " serves by " + std::string(speaks->name) +
                     ", which needs one server and cannot use more: give it alone");
    }
    if (i == 0) {
      protocol = speaks;
      PIRX_TRY(check_digest(a, anonymous.front(), one->digest));
    } else if (speaks != protocol || one->members != told[0].members || one->geometry != told[0].geometry ||
               one->version != told[0].version) {
      return fail(ErrorCode::kStaleEpoch,
                  a.urls[i] + " (" + describe(*speaks, *one) + ") does not serve what " + a.urls[0] +
                      " does (" + describe(*protocol, told[0]) +
                      "): bring all servers to one database file, or its buckets, first");
    }
    told.push_back(std::move(*one));
  }
  PIRX_TRY(check_version(a, told[0].version, told[0].geometry));
  PIRX_ASSIGN(auto plan, plan_for(*protocol, told, a.chosen));
  const Deployment deployment{std::move(plan), std::move(stored)};
  ClientSpec client{.loopback = all_on_this_machine(deployment)};
  PIRX_ASSIGN(client.options, Options::create(protocol->client_options, a.options, protocol->name));
  PIRX_ASSIGN(const auto warning, deployment.plan->check(client));
  PIRX_TRY(save(a, deployment));
  if (!warning.empty()) std::fprintf(stderr, "%s\n", warning.c_str());
  std::printf("wrote %s: %s, %s\n", a.target.c_str(), std::string(protocol->name).c_str(),
              deployment.plan->summary().c_str());
  return told[0].digest;
}

}  // namespace

Result<std::shared_ptr<const Plan>> plan_for(const Protocol& protocol, std::span<const Told> told,
                                             const Texts& chosen) {
  PlanSpec spec;
  for (const auto& one : told) {
    if (one.coordinate) spec.coordinates.push_back(*one.coordinate);
  }
  PIRX_TRY(Options::create(protocol.chosen, chosen, protocol.name));
  auto members = told[0].members;
  for (const auto& [name, text] : chosen) members[name] = text;
  PIRX_ASSIGN(spec.members, Options::create(protocol.members, members, protocol.name));
  spec.version = told[0].version;
  if (!protocol.describes_database) spec.geometry = told[0].geometry;
  return protocol.plan(spec);
}

void add_deploy_command(CLI::App& app) {
  auto& command = *app.add_subcommand("deploy", "Write the deployment file that clients need");
  auto a = std::make_shared<DeployArguments>();
  command.add_option("target", a->target, "The file to write")->required();
  command
      .add_option("--server", a->urls,
                  "URL of a server, repeatable: https://host:port, or https://host:port/v1/db/NAME")
      ->required()
      ->allow_extra_args(false);
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
  command.footer(
      "Example:\n"
      "  pirx deploy packages.json -t 1 --server http://127.0.0.1:8101 --server http://127.0.0.1:8102 "
      "--server http://127.0.0.1:8103");
  set_action(command, [a]() -> Result<void> {
    PIRX_ASSIGN(const auto digest, deploy(*a));
    std::printf("parameters digest %s\n", to_hex(digest).c_str());
    return {};
  });
}

}  // namespace pirx::cli
