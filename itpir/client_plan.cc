// Plans of Goldberg's and Chor's protocols, from servers and from deployment files.
#include "client_plan.h"

#include <algorithm>
#include <utility>

#include "pirx/itpir/vertical.h"

namespace pirx::itpir {
namespace {

constexpr const char* const kEncoding[] = {"encoding.arity", "encoding.independence", "encoding.modulus"};

void put_encoding(Texts& members, unsigned arity, unsigned independence, std::uint64_t modulus) {
  members["encoding.arity"] = std::to_string(arity);
  members["encoding.independence"] = std::to_string(independence);
  members["encoding.modulus"] = std::to_string(modulus);
}

}  // namespace

Result<std::shared_ptr<const Plan>> SharesPlan::create(Params params, std::string code) {
  if (!code.empty()) PIRX_TRY(VerticalClient::create(params, code));
  return std::shared_ptr<const Plan>(new SharesPlan(std::move(params), std::move(code)));
}

const Protocol& SharesPlan::protocol() const noexcept {
  return params_.protocol() == ProtocolId::kChor ? kChorProtocol : kGoldbergProtocol;
}

Texts SharesPlan::members() const {
  Texts members{{"field", params_.field().name()}, {"threshold", std::to_string(params_.threshold())}};
  const auto& spec = params_.spec();
  if (spec.ramp > 1) members["ramp"] = std::to_string(spec.ramp);
  if (params_.encoding().has_data_coordinates()) {
    put_encoding(members, spec.arity, spec.independence, spec.modulus);
  }
  if (!code_.empty()) members["code"] = code_;
  return members;
}

Texts SharesPlan::server_options(std::size_t server) const {
  Texts options{{"coordinate", std::to_string(params_.coordinates().at(server))}};
  if (find_option(protocol().options, "field") != nullptr) options["field"] = params_.field().name();
  if (!code_.empty()) options["code"] = code_;
  return options;
}

Work SharesPlan::work() const {
  const Client client(params_);
  const unsigned l = params_.servers();
  const auto kind = geometry().keyed() ? QueryKind::kRowSums : QueryKind::kRecords;
  const double rows = std::max(1u, params_.spec().ramp), bytes = static_cast<double>(geometry().data_bytes());
  const bool planes =
      params_.field() == kTagGf2 || params_.field() == kTagGf2_8 || params_.field() == kTagGf2_16;
  return {.up = static_cast<double>(l * client.request_bytes(1, kind)) / rows,
          .down = static_cast<double>(l * client.reply_bytes(1, kind)) / rows,
          .once_messages = 1,
          .server_seconds = bytes * (planes ? 3e-12 : 3e-11),
          .once_server_seconds = bytes * 1e-10};
}

std::string SharesPlan::summary() const {
  const unsigned l = params_.servers(), needed = params_.needed();
  const auto& spec = params_.spec();
  std::string text = std::to_string(l) + " servers, t = " + std::to_string(params_.threshold()) +
                     " (so many together learn nothing), " + std::to_string(needed) + " replies needed,\n" +
                     std::to_string((l - needed) / 2) + " liars corrected when all answer";
  if (!code_.empty()) text += "\nbatch code " + code_;
  if (spec.independence > 0) {
    text += "\ntau = " + std::to_string(spec.independence) +
            ": so many together learn nothing of the database either";
  }
  if (spec.ramp > 1 && !params_.encoding().collision_free(params_.geometry().rows())) {
    text +=
        "\nq = " + std::to_string(spec.ramp) +
        " saves nothing: rows with the same number modulo M = " + std::to_string(spec.modulus) +
        " cannot share a query vector, so each record takes one of its own; encode with M = u * rows / u, "
        "or leave --ramp away";
  }
  return text;
}

Result<std::unique_ptr<AnyClient>> SharesPlan::join(const ClientSpec& spec) const {
  return make_shares_client(params_, code_, {.seeded = spec.options.on("seeded")});
}

Result<Told> tell_shares(ByteSpan parameters) {
  PIRX_ASSIGN(auto server, ServerParameters::decode(parameters));
  PIRX_ASSIGN(const auto canonical, field_by_name(server.field.name()));
  if (canonical != server.field) return invalid("the server computes in a field that has no name here");
  Texts members{{"field", server.field.name()}, {"threshold", "1"}};
  if (server.arity != 1 || server.independence != 0 || server.modulus != 0) {
    put_encoding(members, server.arity, server.independence, server.modulus);
  }
  if (!server.code.empty()) members["code"] = server.code;
  const auto coordinate = std::exchange(server.coordinate, 0);
  const auto digest = sha256(server.encode());
  return Told{std::move(members), std::move(server.geometry), server.version, coordinate, digest};
}

Result<std::shared_ptr<const Plan>> plan_of_shares(const PlanSpec& spec, ProtocolId protocol) {
  const auto missing = [](const char* name) {
    return fail(ErrorCode::kDataLoss, "'" + std::string(name) + "' is missing");
  };
  const auto& given = spec.members;
  for (const char* name : {"field", "threshold"}) {
    if (!given.on(name)) return missing(name);
  }
  const bool encoded = std::any_of(std::begin(kEncoding), std::end(kEncoding),
                                   [&](const char* name) { return given.on(name); });
  for (const char* name : kEncoding) {
    if (encoded && !given.on(name)) return missing(name);
  }
  PIRX_ASSIGN(const auto field, field_by_name(given.text("field")));
  const auto count = [&](std::string_view name, unsigned usual) {
    return static_cast<unsigned>(given.number(name).value_or(usual));
  };
  PIRX_ASSIGN(auto params, Params::create({.field = field,
                                           .geometry = *spec.geometry,
                                           .version = spec.version,
                                           .coordinates = spec.coordinates,
                                           .threshold = count("threshold", 1),
                                           .ramp = count("ramp", 1),
                                           .arity = count("encoding.arity", 1),
                                           .independence = count("encoding.independence", 0),
                                           .modulus = given.number("encoding.modulus").value_or(0),
                                           .protocol = protocol}));
  return SharesPlan::create(std::move(params), given.text("code"));
}

}  // namespace pirx::itpir
