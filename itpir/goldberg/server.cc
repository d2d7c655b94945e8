// SPDX-License-Identifier: Apache-2.0
// The server half behind AnyServer: chooses the field, and reads the options of a ServerSpec.
#include "pirx/itpir/goldberg/server.h"

#include "itpir/server_vertical.h"
#include "pirx/itpir/goldberg/common.h"
#include "server_elements.h"

namespace pirx::itpir::goldberg {
namespace {

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

}  // namespace

Result<std::unique_ptr<AnyServer>> make_server(std::shared_ptr<const database::Database> database,
                                               const ServerOptions& options) {
  PIRX_CHECK(database != nullptr);
  PIRX_TRY(check_server_options(options));
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
  if (!options.code.empty()) {
    const auto open = [&](ServedRows rows) { return serve_rows(std::move(rows), chosen); };
    return make_vertical_server(std::move(database), options.code, options.threads, open);
  }
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

}  // namespace pirx::itpir::goldberg

namespace pirx::itpir {

template class VectorServer<gf2e::Gf2_8, goldberg::ElementVectors>;
template class VectorServer<gf2e::Gf2_16, goldberg::ElementVectors>;
template class VectorServer<fp::W160, goldberg::ElementVectors>;
template class VectorServer<fp::W48, goldberg::ElementVectors>;
template class VectorServer<fp::PrimeField, goldberg::ElementVectors>;

}  // namespace pirx::itpir
