// SPDX-License-Identifier: Apache-2.0
// Plans of inspire, and the client that joins one: it fetches masks that it does not have before it asks.
#include "client_plan.h"

#include "cpir/rows_client.h"
#include "pirx/base/small_file.h"
#include "pirx/cpir/inspire/client.h"
#include "src/base/guarded.h"

namespace pirx {
extern const Protocol kInspireProtocol;
}

namespace pirx::cpir::inspire {
namespace {

/// Rough rates of one core of a client: seconds for a polynomial of a query or of a reply.
constexpr double kPolynomialSeconds = 30e-6;
/// Bytes of data and of H that one core of a server reads in a second.
constexpr double kServerRate = 10e9;

/// A folder that keeps the masks message of each version of a database, in a file that is named by the
/// parameters' digest. It is the whole message or nothing, so that a client asks for all masks or for none: a
/// request for some of them would tell the server which it has, and so which versions it saw. Of a browser's
/// client, which has no files, nothing is read or written unless the option is given.
class MaskFolder {
 public:
  explicit MaskFolder(std::string path) : path_(std::move(path)) {}
  /// Takes what is there. A file that is missing, damaged or something else is as if it were not there.
  void load(const Client& client) const {
    if (path_.empty()) return;
    const auto& params = client.params();
    const auto text = read_file(file_of(params), params.masks_reply_bytes(params.blocks()), "masks", true);
    if (text) static_cast<void>(client.take_masks(as_bytes(*text)));
  }
  Result<void> store(const Params& params, ByteSpan reply) const {
    if (path_.empty()) return {};
    make_folders(path_);
    return replace_file(file_of(params), {reinterpret_cast<const char*>(reply.data()), reply.size()});
  }

 private:
  std::string file_of(const Params& params) const { return path_ + '/' + to_hex(params.digest()); }
  std::string path_;
};

struct KeptSecret final : QuerySecret {
  explicit KeptSecret(RowSecret of) : secret(std::move(of)) {}
  RowSecret secret;
};

class RecordClient final : public RowsClient {
 public:
  RecordClient(Client client, MaskFolder folder) : client_(std::move(client)), folder_(std::move(folder)) {}

 private:
  const Params& params() const { return client_.params(); }
  const database::Geometry& geometry() const override { return params().geometry(); }
  Result<database::Location> locate(std::uint64_t unit) const override { return params().locate(unit); }
  std::uint64_t rows_each() const override { return params().spec().layout.rows_each; }
  std::uint64_t reply_bytes() const override { return params().reply_bytes(); }
  Result<Asked> query(std::uint64_t row, Rng& rng, const Stop&) const override {
    PIRX_ASSIGN(auto query, client_.query(row, rng));
    return Asked(std::move(query.message), std::make_unique<KeptSecret>(std::move(query.secret)));
  }
  Result<SecretVector<std::byte>> decode(std::uint64_t, std::unique_ptr<QuerySecret> secret, ByteSpan reply,
                                         const Stop&) const override {
    return client_.decode(std::move(static_cast<KeptSecret&>(*secret).secret), reply);
  }
  std::optional<Fetch> fetch() const override {
    if (client_.has_masks()) return std::nullopt;
    return Fetch{client_.masks_request(), params().masks_reply_bytes(params().blocks()),
                 [this](ByteSpan reply) -> Result<void> {
                   PIRX_TRY(client_.take_masks(reply));
                   return folder_.store(params(), reply);
                 }};
  }
  const Client client_;
  const MaskFolder folder_;
};

class RecordPlan final : public MessagePlan<Params> {
 public:
  using MessagePlan::MessagePlan;
  const Protocol& protocol() const noexcept override { return kInspireProtocol; }
  Work work() const override {
    const auto each = static_cast<double>(params().spec().layout.rows_each),
               up = each * static_cast<double>(params().request_bytes()),
               down = each * static_cast<double>(params().reply_bytes()),
               row = each * static_cast<double>(params().row_bytes()),
               blocks = static_cast<double>(params().blocks()),
               rows = static_cast<double>(params().row_blocks()),
               secret = 8 * static_cast<double>(params().d()),
               packing = static_cast<double>(params().set().l * params().d() * params().set().packing_bytes),
               scanned = static_cast<double>(params().rows()) * static_cast<double>(params().row_bytes()) +
                         packing * static_cast<double>(params().columns());
    return {.up = up,
            .down = down,
            .once_up = Params::kMasksRequestBytes,
            .once_down = static_cast<double>(params().masks_reply_bytes(params().blocks())),
            .query_messages = each,
            .once_messages = 1,
            .memory = 2 * (up + down + row) + secret * (rows + 4 * blocks),
            .row_bytes = static_cast<double>(params().unit_bytes()) + down + each * secret,
            .seconds = each * kPolynomialSeconds * (rows + blocks),
            .once_seconds = kPolynomialSeconds * (rows + 2 * blocks),
            .server_seconds = each * scanned / kServerRate,
            .key_queries = kRowsOfAKey};
  }
  std::string summary() const override {
    return "one server; a client fetches masks of " +
           std::to_string(params().masks_reply_bytes(params().blocks())) + " bytes once, then\n" + traffic();
  }
  Result<std::unique_ptr<AnyClient>> join(const ClientSpec& spec) const override {
    PIRX_ASSIGN(auto client, Client::create(params()));
    MaskFolder folder(spec.options.text("masks"));
    const auto make = [&]() -> Result<std::unique_ptr<AnyClient>> {
      folder.load(client);
      return std::make_unique<RecordClient>(std::move(client), std::move(folder));
    };
    return guarded(make, "no memory for masks");
  }
};

}  // namespace

Result<Told> tell(ByteSpan parameters) { return tell_message<Params, RecordPlan>(parameters); }

Result<std::shared_ptr<const Plan>> make_plan(const PlanSpec& spec) {
  return plan_of_message<Params, RecordPlan>(spec);
}

}  // namespace pirx::cpir::inspire
