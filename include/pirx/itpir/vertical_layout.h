// What the two halves of a vertical batch code agree on: which code, and which databases its buckets are.
#pragma once

#include "pirx/batchcodes/vertical.h"
#include "pirx/itpir/common.h"

namespace pirx::itpir {

/// What client and servers agree on without asking: the code, and the database that each bucket is.
struct VerticalLayout {
  std::shared_ptr<const batchcodes::VerticalCode> code;
  database::Geometry plain;   ///< of the database
  database::Geometry bucket;  ///< its records are whole rows, without lengths and digests
  database::Version version;  ///< of all buckets: bound to the database's version and to the code

  /// InvalidArgument: no such code, more than kMaxQueriesPerRequest buckets, or a keyed database.
  static Result<VerticalLayout> create(const std::string& code, const database::Geometry& plain,
                                       const database::Version& version);
};

}  // namespace pirx::itpir
