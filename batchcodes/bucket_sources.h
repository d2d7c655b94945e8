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
  struct Source {
    database::Version plain;
    std::size_t count = 0;  ///< of the buckets
  };
  /// Empty where there is no such file, or none that can be read.
  static BucketSources read(const database::Database& plain);
  /// What the buckets of that identity were made from. Nothing: it is not known.
  std::optional<Source> of(const Digest& buckets) const;
  /// Whether any were made from that version.
  bool any_of(const database::Version& plain) const;
  /// Before the buckets, so many, are in place. InvalidArgument: there is another file of that name. Other
  /// errors are those of replace_file().
  static Result<void> add(const database::Database& plain, const Digest& buckets, std::size_t count);

 private:
  struct Line {
    Digest buckets;
    Source source;
  };
  std::vector<Line> lines_;
  bool foreign_ = false;  ///< there is such a file, but of another kind
};

}  // namespace pirx::batchcodes
