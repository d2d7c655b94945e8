// SPDX-License-Identifier: Apache-2.0
// Shards in a program that was built without MPI: every function refuses with a clear error.
#include "pirx/shards/shards.h"

namespace pirx::shards {

class Shards::Impl {};

bool built_with_mpi() noexcept { return false; }

Result<std::unique_ptr<World>> World::create() {
  return invalid(
      "this program was built without MPI, so no database can be spread over several processes: install "
      "libopenmpi-dev and build with -DPIRX_MPI=ON");
}
void World::finish() noexcept {}
void World::abort(int exit_code) noexcept { std::_Exit(exit_code); }

namespace {
tl::unexpected<Error> absent() { return invalid("this program was built without MPI"); }
}  // namespace

Shards::Shards(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Shards::~Shards() = default;
Result<std::unique_ptr<Shards>> Shards::create(const World&, Options) { return absent(); }
Spread Shards::spread() {
  return [](const Product&, const auto&) -> Result<Product> { return absent(); };
}
Result<void> Shards::agree(const AnyServer&, ByteSpan) { return absent(); }
Result<void> Shards::work(const std::function<bool()>&) { return absent(); }
Result<void> Shards::leave() { return absent(); }
std::optional<Error> Shards::lost() const { return std::nullopt; }
std::uint64_t Shards::passes() const { return 0; }

}  // namespace pirx::shards
