// SPDX-License-Identifier: Apache-2.0
// Remembers which version of a plain database buckets with noise were made from. Their own identity is drawn
// at random, as a hash of the database would let a server confirm a guess of it. So this is kept beside the
// plain database, in DATABASE.buckets: one line for each set of buckets.
#pragma once

#include <optional>

#include "pirx/database/database.h"

namespace pirx::batchcodes {

class BucketSources {
 public:
  /// Empty where there is no such file, or none that can be read. Then the set is refused until the database
  /// changes, and all its rows are encoded again.
  static BucketSources read(const database::Database& plain);
  /// The version of the plain database that the buckets of that identity have. Nothing: it is not known.
  std::optional<database::Version> of(const Digest& buckets) const;
  /// Before the buckets are in place. InvalidArgument: there is another file of that name. Other errors are
  /// those of replace_file().
  static Result<void> add(const database::Database& plain, const Digest& buckets);

 private:
  struct Line {
    Digest buckets;
    database::Version plain;
  };
  std::vector<Line> lines_;
  bool foreign_ = false;  ///< there is such a file, but of another kind
};

}  // namespace pirx::batchcodes
