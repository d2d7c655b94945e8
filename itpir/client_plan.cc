// SPDX-License-Identifier: Apache-2.0
// Plans of the protocols of this folder, from servers and from deployment files.
#include "client_plan.h"

#include <utility>

#include "pirx/itpir/common.h"
#include "pirx/itpir/vertical.h"

namespace pirx::itpir {

SharesPlan::SharesPlan(Spec spec, unsigned needed, MessageSizes sizes, ClientEffort effort, std::size_t batch)
    : spec_(std::move(spec)), needed_(needed), sizes_(sizes), effort_(effort), batch_(batch) {}

Result<std::shared_ptr<const Plan>> SharesPlan::create(Spec spec) {
  PIRX_ASSIGN(const auto client, spec.client(spec.geometry, spec.version, {}));
  const auto kind = spec.geometry.keyed() ? QueryKind::kRowSums : QueryKind::kRecords;
  MessageSizes sizes{client->request_bytes(1, kind), client->reply_bytes(1, kind)};
  auto effort = client->effort(1, kind);
  // Rows of a database that is not free of collisions take a vector each.
  std::size_t batch = client->request_bytes(spec.ramp, kind) == sizes.request ? spec.ramp : 1;
  if (!spec.code.empty()) {
    PIRX_ASSIGN(const auto vertical,
                VerticalClient::create(spec.code, spec.geometry, spec.version, spec.client));
    const auto& code = *vertical.layout().code;
    sizes = {vertical.client().request_bytes(code.buckets()), vertical.client().reply_bytes(code.buckets())};
    effort = vertical.client().effort(code.buckets());
    batch = code.batch();
  }
  return std::shared_ptr<const Plan>(new SharesPlan(std::move(spec), client->needed(), sizes, effort, batch));
}

Texts SharesPlan::members() const {
  Texts members = spec_.members;
  members["threshold"] = std::to_string(spec_.threshold);
  if (!spec_.code.empty()) members["code"] = spec_.code;
  return members;
}

Texts SharesPlan::server_options(std::size_t server) const {
  Texts options = spec_.server_options;
  options["coordinate"] = std::to_string(spec_.coordinates.at(server));
  if (!spec_.code.empty()) options["code"] = spec_.code;
  return options;
}

Work SharesPlan::work() const {
  const auto servers = static_cast<double>(spec_.coordinates.size());
  const auto bytes = static_cast<double>(spec_.geometry.data_bytes());
  // A batch that is not full takes as much as one that is.
  const double up = servers * static_cast<double>(sizes_.request);
  const double down = servers * static_cast<double>(sizes_.reply);
  const double held = up + down + effort_.reply_bytes;
  const auto part = 1 / static_cast<double>(batch_);
  return {.up = up * part,
          .down = down * part,
          .once_up = up * (1 - part),
          .once_down = down * (1 - part),
          .once_messages = 1,
          .memory = effort_.query_bytes + held * (1 - part),
          .row_bytes = held * part,
          .seconds = effort_.seconds * part,
          .once_seconds = effort_.seconds * (1 - part),
          .least_seconds = effort_.seconds,
          .pair_seconds = spec_.pair_seconds,
          .server_seconds = bytes * spec_.server_seconds,
          .once_server_seconds = bytes * 1e-10};
}

std::string SharesPlan::summary() const {
  const auto l = spec_.coordinates.size();
  std::string text = std::to_string(l) + " servers, t = " + std::to_string(spec_.threshold) +
                     " (so many together learn nothing), " + std::to_string(needed_) + " replies needed,\n" +
                     std::to_string((l - needed_) / 2) + " liars corrected when all answer";
  if (!spec_.code.empty()) text += "\nbatch code " + spec_.code;
  return text + spec_.notes;
}

Result<std::unique_ptr<AnyClient>> SharesPlan::join(const ClientSpec& spec) const {
  return make_shares_client(spec_, {.seeded = spec.options.on("seeded")});
}

Result<void> check_given(const Options& members, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!members.on(name)) {
      return fail(ErrorCode::kDataLoss, "'" + std::string(name) + "' is missing");
    }
  }
  return {};
}

Result<Told> tell_shares(ByteSpan parameters) {
  PIRX_ASSIGN(auto server, ServerParameters::decode(parameters));
  PIRX_ASSIGN(const auto canonical, field_by_name(server.field.name()));
  if (canonical != server.field) return invalid("the server computes in a field that has no name here");
  Texts members{{"field", server.field.name()}, {"threshold", "1"}};
  if (server.arity != 1 || server.independence != 0 || server.modulus != 0) {
    members["encoding.arity"] = std::to_string(server.arity);
    members["encoding.independence"] = std::to_string(server.independence);
    members["encoding.modulus"] = std::to_string(server.modulus);
  }
  if (!server.code.empty()) members["code"] = server.code;
  const auto coordinate = std::exchange(server.coordinate, 0);
  const auto digest = sha256(server.encode());
  return Told{std::move(members), std::move(server.geometry), server.version, coordinate, digest};
}

Result<Told> tell_all_but_threshold(ByteSpan parameters) {
  PIRX_ASSIGN(auto told, tell_shares(parameters));
  told.members.erase("threshold");
  return told;
}

}  // namespace pirx::itpir
