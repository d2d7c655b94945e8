// SPDX-License-Identifier: Apache-2.0
// Asks servers for their parameters and checks that they agree with each other and with what was before.
#include "pirx/client/refresh.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "pirx/client/work.h"

namespace pirx::client {
namespace {

using Steady = std::chrono::steady_clock;

/// Asks until all can be reached, or the time for that is over.
Result<std::vector<http::CallOutcome>> ask_until_reached(std::span<const http::Endpoint> servers,
                                                         const AskOptions& options) {
  PIRX_ASSIGN(auto transport, http::HttpTransport::create({servers.begin(), servers.end()}));
  const auto end = Steady::now() + options.wait;
  constexpr std::chrono::milliseconds kPause(100);
  for (bool told = false;; told = true) {
    auto outcomes = transport.parameters_all({.deadline = options.deadline,
                                              .connect_timeout = options.deadline,
                                              .max_reply_bytes = std::size_t{64} << 10});
    const auto missing = std::find_if(outcomes.begin(), outcomes.end(), [](const auto& one) {
      return !one.reply && one.reply.error().code() == ErrorCode::kUnavailable;
    });
    if (missing == outcomes.end() || Steady::now() + kPause > end) return outcomes;
    if (!told && options.waiting) {
      options.waiting(servers[static_cast<std::size_t>(missing - outcomes.begin())].url + ": " +
                      missing->reply.error().message());
    }
    std::this_thread::sleep_for(kPause);
  }
}

std::string describe(const Protocol& protocol, const Told& told) {
  std::string text(protocol.name);
  for (const auto& [name, value] : told.members) text += ", " + name + " " + value.substr(0, 40);
  const auto& shape = told.geometry;
  text += ", " + std::to_string(shape.records()) + " records of " + std::to_string(shape.record_bytes()) +
          " bytes in " + std::to_string(shape.rows()) + " rows";
  return text + ", epoch " + std::to_string(told.version.epoch) + ", identity " +
         to_hex(told.version.identity).substr(0, 16) + "...";
}

tl::unexpected<Error> another_kind(const std::string& url, const std::string& what) {
  return fail(ErrorCode::kStaleEpoch,
              url + " " + what +
                  ": that is another deployment, so ask the operator, and write a new file (pirx deploy FILE "
                  "--server ...)");
}

/// Whether a plan of the same protocol is of the same kind. Epochs are check_follows' concern.
Result<void> check_kind(const Deployment& before, const Plan& next) {
  const auto refuse = [&](const std::string& what) { return another_kind(before.servers[0].url, what); };
  const auto& was = *before.plan;
  const auto& protocol = was.protocol();
  const auto old_members = was.members(), new_members = next.members();
  for (const auto& option : protocol.members) {
    const auto varying = protocol.from_database;
    if (std::find(varying.begin(), varying.end(), option.name) != varying.end()) continue;
    const auto text = [&option](const Texts& members) {
      const auto found = members.find(option.name);
      return found == members.end() ? "nothing" : "'" + found->second.substr(0, 40) + "'";
    };
    if (text(old_members) != text(new_members)) {
      return refuse("says " + std::string(option.name) + " " + text(new_members) + " now, not " +
                    text(old_members));
    }
  }
  const auto &old_shape = was.geometry(), &new_shape = next.geometry();
  if (old_shape.keyed() != new_shape.keyed()) {
    return refuse(new_shape.keyed() ? "has records by key now, not by position"
                                    : "has records by position now, not by key");
  }
  if (old_shape.spec().digests && !new_shape.spec().digests)
    return refuse("has no digests of records any more");
  // Nobody vouches for what a few servers say now. A database grows, but a look-up does not become huge.
  const auto mebibytes = [](const Work& work) {
    return std::ceil((work.up + work.down + work.once_up + work.once_down) / (1 << 20));
  };
  const auto few = mebibytes(was.work()), many = mebibytes(next.work());
  if (many > 4 * few && many * (1 << 20) > static_cast<double>(WorkLimits().bytes)) {
    return refuse("asks for " + std::to_string(std::llround(many)) + " MiB of messages a query now, not " +
                  std::to_string(std::llround(few)) + " MiB");
  }
  return {};
}

/// What a server gave as its manifest, if the publisher signed it for what the server says of itself.
Result<std::shared_ptr<const Manifest>> read_manifest(const std::string& url, const Result<Bytes>& reply,
                                                      const Pin& pin, const Protocol& protocol,
                                                      const Told& told) {
  if (!reply) {
    // A server that cannot be reached is no server that has none.
    const bool refused = reply.error().code() != ErrorCode::kUnavailable;
    return fail(refused ? ErrorCode::kUnauthenticated : ErrorCode::kUnavailable,
                url + " gave no manifest of the publisher who is pinned: " + reply.error().message());
  }
  auto manifest = Manifest::parse(*reply);
  if (!manifest) return fail(ErrorCode::kUnauthenticated, url + ": " + manifest.error().message());
  if (const auto pinned = manifest->check(pin); !pinned) {
    return fail(pinned.error().code(), url + ": " + pinned.error().message());
  }
  if (const auto fits = manifest->check(protocol, told); !fits) {
    return fail(fits.error().code(),
                url + ": " + fits.error().message() + ": an epoch began meanwhile, or the server lies");
  }
  return std::make_shared<const Manifest>(std::move(*manifest));
}

/// What one server says.
struct Said {
  std::string url;
  const Protocol* protocol;
  Told told;
  std::shared_ptr<const Manifest> manifest = {};
};

Result<Said> read_parameters(std::span<const http::Endpoint> servers, std::size_t i,
                             const http::CallOutcome& outcome, bool first_time) {
  const auto& url = servers[i].url;
  if (!outcome.reply) {
    const auto& error = outcome.reply.error();
    const bool asked = outcome.bytes_up > 0;  // if not, it is a mistake of the caller
    return fail(asked ? code_of_server(error) : error.code(),
                url + " gave no parameters: " + error.message());
  }
  // Later this server, which may be honest, is not to lose its voice: another one may claim its number.
  if (first_time && outcome.same_as) {
    return invalid(url + " and " + servers[*outcome.same_as].url +
                   " name the same instance (Pirx-Instance): they are one server, which would get two "
                   "servers' shares, or one of them claims to be the other. Give each server once");
  }
  auto told = tell(*outcome.reply);
  if (!told) return fail(code_of_server(told.error()), url + ": " + told.error().message());
  const auto* protocol = find_protocol_of(*outcome.reply).value();
  if (!protocol->several && servers.size() != 1) {
    const auto name = std::string(protocol->name);
    if (!first_time) return another_kind(url, "serves by " + name + " now, which needs one server");
    return invalid(url + " serves by " + name +
                   ", which needs one server and cannot use more: give it alone");
  }
  return Said{url, protocol, std::move(*told)};
}

/// What every server says, or why nothing can be made of it.
Result<std::vector<Result<Said>>> ask_each(std::span<const http::Endpoint> servers, const AskOptions& options,
                                           bool first_time) {
  PIRX_CHECK(!servers.empty());
  PIRX_ASSIGN(const auto outcomes, ask_until_reached(servers, options));
  std::vector<Result<Said>> all;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    all.push_back(read_parameters(servers, i, outcomes[i], first_time));
  }
  if (!options.pin) return all;
  PIRX_ASSIGN(auto transport, http::HttpTransport::create({servers.begin(), servers.end()}));
  const auto manifests = transport.manifests_all({.deadline = options.deadline,
                                                  .connect_timeout = options.deadline,
                                                  .max_reply_bytes = Manifest::kMaxBytes});
  for (std::size_t i = 0; i < servers.size(); ++i) {
    if (!all[i]) continue;
    auto manifest =
        read_manifest(all[i]->url, manifests[i].reply, *options.pin, *all[i]->protocol, all[i]->told);
    if (manifest) {
      all[i]->manifest = std::move(*manifest);
    } else {
      all[i] = tl::unexpected(manifest.error());
    }
  }
  return all;
}

Result<void> check_same(const Said& one, const Said& first) {
  if (one.protocol == first.protocol && one.told.members == first.told.members &&
      one.told.geometry == first.told.geometry && one.told.version == first.told.version) {
    return {};
  }
  return fail(ErrorCode::kStaleEpoch, one.url + " (" + describe(*one.protocol, one.told) +
                                          ") does not serve what " + first.url + " does (" +
                                          describe(*first.protocol, first.told) +
                                          "): bring all servers to one database file, or its buckets, first");
}

Result<Parameters> all_of(const std::vector<Result<Said>>& said) {
  Parameters all;
  for (const auto& one : said) {
    if (!one) return tl::unexpected(one.error());
    PIRX_TRY(check_same(*one, *said[0]));
    all.told.push_back(one->told);
  }
  all.protocol = said[0]->protocol;
  all.manifest = said[0]->manifest;
  return all;
}

/// How many of the servers may be down, late or lie where all others agree: fewer than half, and no more than
/// t. If more lied about the shape of the database only, answers would have a bound that they do not exceed.
std::size_t most_others(const Plan& plan) {
  const auto half = (std::max<std::size_t>(plan.coordinates().size(), 1) - 1) / 2;
  const auto members = plan.members();
  const auto threshold = members.find("threshold");
  if (threshold == members.end()) return half;
  return std::min<std::size_t>(half, std::strtoull(threshold->second.c_str(), nullptr, 10));
}

/// What all servers but most_others() say, as if the others said it, too: no single one shall decide whether
/// clients find the next epoch.
Result<Parameters> ask_most(const Deployment& before, const RefreshOptions& options, const AskOptions& ask) {
  PIRX_ASSIGN(auto said, ask_each(before.servers, ask, false));
  const auto coordinates = before.plan->coordinates();
  const auto check_server = [&](const Result<Said>& one, std::size_t i, const Said& first) -> Result<void> {
    if (!one) return tl::unexpected(one.error());
    PIRX_TRY(check_same(*one, first));
    if (i >= coordinates.size() || one->told.coordinate == coordinates[i]) return {};
    return another_kind(one->url, "has another coordinate than before");
  };
  for (const auto& first : said) {
    if (!first) continue;
    auto most = said;
    std::vector<std::string> others;
    for (std::size_t i = 0; i < said.size(); ++i) {
      const auto same = check_server(said[i], i, *first);
      if (same) continue;
      others.push_back(same.error().message());
      most[i] = *first;
      if (i < coordinates.size()) most[i]->told.coordinate = coordinates[i];
    }
    if (others.size() > most_others(*before.plan)) continue;
    if (options.warn) {
      for (const auto& why : others) options.warn(why + "; the other servers agree, so it is left as it was");
    }
    return all_of(most);
  }
  if (!said[0]) return tl::unexpected(said[0].error());
  for (std::size_t i = 0; i < said.size(); ++i) PIRX_TRY(check_server(said[i], i, *said[0]));
  return fail(ErrorCode::kStaleEpoch, "the servers do not agree");
}

}  // namespace

Result<Parameters> ask_parameters(std::span<const http::Endpoint> servers, const AskOptions& options) {
  PIRX_ASSIGN(const auto said, ask_each(servers, options, true));
  return all_of(said);
}

Result<std::shared_ptr<const Plan>> plan_for(const Parameters& parameters, const Texts& chosen) {
  const auto& protocol = *parameters.protocol;
  const auto& first = parameters.told.at(0);
  PlanSpec spec;
  for (const auto& one : parameters.told) {
    if (one.coordinate) spec.coordinates.push_back(*one.coordinate);
  }
  PIRX_TRY(Options::create(protocol.chosen, chosen, protocol.name));
  auto members = first.members;
  for (const auto& [name, text] : chosen) members[name] = text;
  PIRX_ASSIGN(spec.members, Options::create(protocol.members, members, protocol.name));
  spec.version = first.version;
  if (!protocol.describes_database) spec.geometry = first.geometry;
  return protocol.plan(spec);
}

Result<Deployment> refresh(const Deployment& deployment, const RefreshOptions& options) {
  auto ask = options.ask;
  if (deployment.manifest != nullptr) ask.pin = deployment.manifest->spec().pin;
  PIRX_ASSIGN(const auto now, ask_most(deployment, options, ask));
  const auto& protocol = deployment.plan->protocol();
  if (now.protocol != &protocol) {
    return another_kind(deployment.servers[0].url, "serves by " + std::string(now.protocol->name) +
                                                       " now, not by " + std::string(protocol.name));
  }
  if (options.accept) PIRX_TRY(options.accept(deployment, now));
  Texts chosen, used;
  const auto members = deployment.plan->members();
  for (const auto& option : protocol.chosen) {
    if (const auto found = members.find(option.name); found != members.end()) chosen.insert(*found);
  }
  auto plan = plan_for(now, chosen);
  if (!plan) {
    return fail(code_of_server(plan.error()), deployment.servers[0].url + ": " + plan.error().message());
  }
  PIRX_TRY(check_kind(deployment, **plan));
  if (!options.allow_rollback) PIRX_TRY(check_follows(*deployment.plan, **plan));
  Deployment next{std::move(*plan), deployment.servers, now.manifest};
  PIRX_TRY(check_manifest_follows(deployment, next));
  for (const auto& option : options.client_options) {
    if (find_option(protocol.client_options, option.first) != nullptr) used.insert(option);
  }
  ClientSpec client{.loopback = all_on_this_machine(next)};
  PIRX_ASSIGN(client.options, Options::create(protocol.client_options, used, protocol.name));
  PIRX_ASSIGN(const auto warning, next.plan->check(client));
  if (!warning.empty() && options.warn) options.warn(warning);
  return next;
}

}  // namespace pirx::client
