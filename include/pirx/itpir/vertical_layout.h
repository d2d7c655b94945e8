// SPDX-License-Identifier: Apache-2.0
// What the client and the servers of a vertical batch code agree on: the code, and the databases that its
// buckets are.
#pragma once

#include "pirx/batchcodes/vertical.h"
#include "pirx/itpir/common.h"

namespace pirx::itpir {

/// What client and servers know without asking: the code, and the database that each bucket is.
struct VerticalLayout {
  std::shared_ptr<const batchcodes::VerticalCode> code;
  database::Geometry plain;  ///< of the database
  /// Of each bucket: its records are whole rows, without lengths and digests.
  database::Geometry bucket;
  /// Of all buckets: depends on the database's version and on the code.
  database::Version version;

  /// InvalidArgument: there is no such code, it has more than kMaxQueriesPerRequest buckets, or the database
  /// is keyed.
  static Result<VerticalLayout> create(const std::string& code, const database::Geometry& plain,
                                       const database::Version& version);
};

}  // namespace pirx::itpir
