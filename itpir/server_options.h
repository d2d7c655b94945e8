// SPDX-License-Identifier: Apache-2.0
// The server options that the protocols of this folder share.
#pragma once

#include "pirx/itpir/server_options.h"

namespace pirx::itpir {

/// `spec` as options. InvalidArgument: a text that names nothing, or a coordinate that is missing.
Result<ServerOptions> read_server_options(const ServerSpec& spec);

/// InvalidArgument: max_queries_per_request is 0 or too large, or a code goes with a side file or a spread.
Result<void> check_server_options(const ServerOptions& options);

/// The options of a server that adds rows up by exclusive or, for a protocol of that name. InvalidArgument:
/// another field than gf2, coordinate 0, or as check_server_options.
Result<ServerOptions> check_xor_options(const ServerOptions& options, const char* name);

// Options of the rows.
inline constexpr Option kCoordinateOption{
    "coordinate", Option::Kind::kNumber, 0, ~std::uint64_t{0},
    "This server's public x-coordinate: 1, 2, ...; no two servers alike. A bucket knows its own"};
inline constexpr Option kCodeOption{
    "code", Option::Kind::kText, 0, 0,
    "Batch code: subcube:L,K or subset:L,w; several records then cost little more than one"};
inline constexpr Option kLayoutOption{
    "layout", Option::Kind::kText, 0, 0,
    "auto, rows (no copy), or what trades memory for speed of many queries: residues (prime fields, 2.5 "
    "times the database more), strassen1, strassen2 (GF(2^n), 1.75 and 2.9 times) [auto]"};
inline constexpr Option kMaxQueriesOption{"max_queries", Option::Kind::kNumber, 1, kMaxQueriesPerRequest,
                                          "Queries that one request may hold [256]"};

}  // namespace pirx::itpir
