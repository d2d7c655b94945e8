// SPDX-License-Identifier: Apache-2.0
// The row of the trivial protocol in the table of protocols.
#include "pirx/protocol.h"

#include "client.h"
#include "cost.h"
#include "server.h"

namespace pirx {
namespace {

constexpr Option kMembers[] = {
    {"key_index_bytes", Option::Kind::kNumber, 0, ~std::uint64_t{0},
     "Length of the key index in the database file: the identity depends on it"},
};
constexpr std::string_view kFromDatabase[] = {"key_index_bytes"};

}  // namespace

extern const Protocol kDownloadProtocol;

constinit const Protocol kDownloadProtocol{
    .id = ProtocolId::kDownload,
    .name = "download",
    .summary = "one server, which gives everybody the whole database: perfectly private, and often cheapest",
    .members = kMembers,
    .from_database = kFromDatabase,
    .tell = download::tell,
    .plan = download::make_plan,
#ifndef PIRX_CLIENT_ONLY
    .serve = [](const ServerSpec& spec) { return download::make_server(spec.database); },
    .schemes = download::kSchemes
#endif
};

}  // namespace pirx
