// pirx deploy: asks the servers what they hold, checks that they agree, and writes the deployment file.
#include "cli.h"
#include "pirx/client/deployment.h"
#include "pirx/database/database.h"
#include "pirx/itpir/vertical.h"

namespace pirx::cli {
namespace {

struct Arguments {
  std::string target, database, ca_file;
  std::optional<std::string> expected;  ///< an empty one is wrong, not none
  std::vector<std::string> urls, others;
  Credentials credentials;
  unsigned threshold = 1, ramp = 1;
  bool allow_plaintext = false, allow_tls_1_2 = false, paper_reproduction = false, force = false,
       allow_rollback = false;
  std::chrono::microseconds deadline{10'000'000};
};

std::string describe(const itpir::ServerParameters& p) {
  return std::string(p.protocol == ProtocolId::kChor ? "chor" : "goldberg") + ", field " + p.field.name() +
         ", u = " + std::to_string(p.arity) + ", tau = " + std::to_string(p.independence) +
         ", M = " + std::to_string(p.modulus) + (p.code.empty() ? "" : ", code " + p.code) + ", epoch " +
         std::to_string(p.version.epoch) + ", identity " + to_hex(p.version.identity).substr(0, 16) + "...";
}

/// What FILE is now; nothing where there is no such file. InvalidArgument: it is something else than a
/// deployment file, which must not be lost.
Result<std::optional<AnyDeployment>> read_target(const Arguments& a) {
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(a.target, ignored))) return std::nullopt;
  if (!std::filesystem::is_regular_file(a.target, ignored)) {
    return fail(ErrorCode::kInvalidArgument,
                a.target + " exists and is no deployment file: name another file");
  }
  auto before = load_deployment(a.target);
  if (before) return std::move(*before);
  if (a.force) return std::nullopt;
  return fail(ErrorCode::kInvalidArgument,
              a.target +
                  " exists and is no deployment file: name another file, or replace this one with "
                  "--force (" +
                  before.error().message() + ")");
}

/// Writes the file unless it goes back behind what was there.
Result<void> save(const Arguments& a, const AnyDeployment& deployment) {
  PIRX_ASSIGN(const auto before, read_target(a));
  if (before && !a.allow_rollback) {
    if (const auto follows = check_follows(*before, deployment); !follows) {
      return fail(follows.error().code(), "the servers' parameters do not follow those in " + a.target +
                                              ": " + follows.error().message() +
                                              "; ask the operator, then give --allow-rollback");
    }
  }
  return save_deployment(a.target, deployment);
}

std::vector<http::CallOutcome> ask_parameters(const Arguments& a, http::HttpTransport& transport) {
  const auto deadline = std::chrono::ceil<std::chrono::milliseconds>(a.deadline);
  return transport.parameters_all(
      {.deadline = deadline, .connect_timeout = deadline, .max_reply_bytes = std::size_t{64} << 10});
}

/// Whether others are told the same as this client: whoever published a digest, and clients who ask in
/// another way. They are asked without credentials, which would tell them who asks.
Result<Digest> check_digest(const Arguments& a, const http::Endpoint& reached, ByteSpan parameters) {
  const auto told = parameters_digest(parameters);
  if (!told) return fail(told.error().code(), a.urls[0] + ": " + told.error().message());
  const Digest& digest = *told;
  if (a.expected) {
    const auto expected = from_hex(*a.expected);
    if (!expected || expected->size() != digest.size())
      return fail(ErrorCode::kInvalidArgument, "--expect takes 64 hexadecimal digits");
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
    PIRX_ASSIGN(const auto others, parameters_digest(*reply));
    if (others != digest) {
      return fail(ErrorCode::kStaleEpoch, url + " gives parameters with the digest " + to_hex(others) + ", " +
                                              a.urls[0] + " with " + to_hex(digest) +
                                              ": an epoch began meanwhile, or clients are told apart");
    }
  }
  return digest;
}

/// Whether the servers hold the database file that was given, as it is.
Result<void> check_version(const Arguments& a, const database::Version& served,
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

/// A protocol with one server.
Result<void> deploy_single(const Arguments& a, SinglePlan plan, const http::Endpoint& server) {
  const std::string protocol = single_protocol_name(plan);
  if (a.urls.size() != 1) {
    return fail(
        ErrorCode::kInvalidArgument,
        a.urls[0] + " serves by " + protocol + ", which needs one server and cannot use more: give it alone");
  }
  if (a.ramp > 1) return fail(ErrorCode::kInvalidArgument, "--ramp is for protocols with several servers");
  PIRX_TRY(check_version(a, version_of(plan), geometry_of(plan)));
  const SingleDeployment deployment{std::move(plan), server};
  PIRX_TRY(check_keys(deployment, a.paper_reproduction));
  PIRX_TRY(save(a, deployment));
  if (const auto* params = std::get_if<cpir::spiral::Params>(&deployment.plan)) {
    std::printf(
        "wrote %s: spiral, one server; a client sends keys of %zu bytes once, then a query takes %zu bytes "
        "up and "
        "%zu\ndown\n",
        a.target.c_str(), params->keys_bytes(), params->request_bytes(), params->reply_bytes());
    return {};
  }
  std::visit(
      [&](const auto& params) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(params)>, cpir::spiral::Params>) {
          if (params.spec().policy != cpir::dj::KeyPolicy::kSecure)
            std::fprintf(stderr, "%s\n", kPaperWarning);
          std::printf(
              "wrote %s: %s, one server, keys of %u bits; a query takes %zu bytes up and %zu down, and "
              "seconds "
              "or\nminutes of the server's time: on a fast link, downloading all %llu bytes is faster\n",
              a.target.c_str(), protocol.c_str(), params.spec().modulus_bits, params.request_bytes(),
              params.reply_bytes(), static_cast<unsigned long long>(params.geometry().data_bytes()));
        }
      },
      deployment.plan);
  return {};
}

/// The digest of what was deployed.
Result<Digest> deploy(const Arguments& a) {
  PIRX_TRY(read_target(a));
  const auto folder = std::filesystem::path(a.target).parent_path();
  std::vector<http::Endpoint> stored, reached;
  for (const auto& url : a.urls) {
    stored.push_back({.url = url,
                      .ca_file = a.ca_file,
                      .allow_plaintext = a.allow_plaintext,
                      .allow_tls_1_2 = a.allow_tls_1_2});
    reached.push_back(stored.back());
    if (!a.ca_file.empty()) reached.back().ca_file = (folder / a.ca_file).string();
  }
  const auto anonymous = reached;
  PIRX_TRY(give_credentials(a.credentials, reached));
  PIRX_ASSIGN(auto transport, http::HttpTransport::create(reached));
  const auto outcomes = ask_parameters(a, transport);

  std::optional<itpir::ServerParameters> agreed;
  Digest digest{};
  std::vector<std::uint64_t> coordinates;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto& reply = outcomes[i].reply;
    if (!reply)
      return fail(reply.error().code(), a.urls[i] + " gave no parameters: " + reply.error().message());
    if (outcomes[i].same_as) {
      return fail(ErrorCode::kInvalidArgument,
                  a.urls[i] + " and " + a.urls[*outcomes[i].same_as] +
                      " name the same instance (Pirx-Instance): they are one server, which would get two "
                      "servers' shares, or one of them claims to be the other. Give each server once");
    }
    if (i == 0) {
      PIRX_ASSIGN(digest, check_digest(a, anonymous.front(), *reply));
    }
    PIRX_ASSIGN(auto plan, decode_plan(*reply));
    if (plan) {
      PIRX_TRY(deploy_single(a, std::move(*plan), stored[i]));
      return digest;
    }
    auto parameters = itpir::ServerParameters::decode(*reply);
    if (!parameters) return fail(parameters.error().code(), a.urls[i] + ": " + parameters.error().message());
    coordinates.push_back(parameters->coordinate);
    if (!agreed) {
      agreed = *parameters;
    } else if (parameters->field != agreed->field || parameters->geometry != agreed->geometry ||
               parameters->version != agreed->version || parameters->arity != agreed->arity ||
               parameters->independence != agreed->independence || parameters->modulus != agreed->modulus ||
               parameters->protocol != agreed->protocol || parameters->code != agreed->code) {
      return fail(ErrorCode::kStaleEpoch,
                  a.urls[i] + " (" + describe(*parameters) + ") does not serve what " + a.urls[0] +
                      " does (" + describe(*agreed) +
                      "): bring all servers to one database file, or its buckets, first");
    }
  }
  if (!agreed) return fail(ErrorCode::kInvalidArgument, "give at least one server");
  PIRX_TRY(check_version(a, agreed->version, agreed->geometry));
  PIRX_ASSIGN(auto params, itpir::Params::create({.field = agreed->field,
                                                  .geometry = agreed->geometry,
                                                  .version = agreed->version,
                                                  .coordinates = coordinates,
                                                  .threshold = a.threshold,
                                                  .ramp = a.ramp,
                                                  .arity = agreed->arity,
                                                  .independence = agreed->independence,
                                                  .modulus = agreed->modulus,
                                                  .protocol = agreed->protocol}));
  if (!agreed->code.empty()) PIRX_TRY(itpir::VerticalClient::create(params, agreed->code));
  const unsigned l = params.servers(), t = params.threshold(), needed = params.needed();
  const bool packed = params.encoding().collision_free(params.geometry().rows());
  const unsigned tau = params.spec().independence;
  PIRX_TRY(save(a, Deployment{std::move(params), std::move(stored), agreed->code}));
  std::printf(
      "wrote %s: %u servers, t = %u (so many together learn nothing), %u replies needed,\n"
      "%u liars corrected when all answer\n",
      a.target.c_str(), l, t, needed, (l - needed) / 2);
  if (!agreed->code.empty()) std::printf("batch code %s\n", agreed->code.c_str());
  if (tau > 0) std::printf("tau = %u: so many together learn nothing of the database either\n", tau);
  if (a.ramp > 1 && !packed) {
    std::printf(
        "q = %u saves nothing: rows with the same number modulo M = %llu cannot share a query vector, so "
        "each "
        "record takes one of its own; encode with M = u * rows / u, or leave --ramp away\n",
        a.ramp, static_cast<unsigned long long>(params.spec().modulus));
  }
  return digest;
}

}  // namespace

void add_deploy_command(CLI::App& app) {
  auto& command = *app.add_subcommand("deploy", "Write the deployment file that clients need");
  auto a = std::make_shared<Arguments>();
  command.add_option("target", a->target, "The file to write")->required();
  command
      .add_option("--server", a->urls,
                  "URL of a server, repeatable: https://host:port, or https://host:port/v1/db/NAME")
      ->required()
      ->allow_extra_args(false);
  command
      .add_option("-t,--threshold", a->threshold,
                  "So many servers together must learn nothing; of no meaning where there is one")
      ->capture_default_str();
  command
      .add_option(
          "-q,--ramp", a->ramp,
          "Rows that one query vector fetches: several records cost as much as one, and q - 1 servers "
          "more must answer")
      ->capture_default_str()
      ->check(whole_number(1, itpir::Params::kMaxServers));
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
  command.add_flag("--force", a->force, "Replace FILE even if it is no deployment file");
  command.add_option("--ca-file", a->ca_file,
                     "PEM trust anchors of https servers, relative to the file written");
  command.add_flag("--allow-plaintext", a->allow_plaintext, "Allow http:// beyond loopback");
  command.add_flag("--tls-1.2", a->allow_tls_1_2, "Take TLS 1.2, too, from servers that do not know 1.3");
  add_credentials(command, a->credentials);
  command.add_flag("--paper-reproduction", a->paper_reproduction,
                   "Accept keys of 1024 bits, which can be broken, from a server on this machine");
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
