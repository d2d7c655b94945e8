// SPDX-License-Identifier: Apache-2.0
// The delta file beside a database. It holds what updates changed, and open() puts it over the file
// (docs/database_format.md).
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "layout.h"
#include "map_guard.h"
#include "replacement.h"

namespace pirx::database {

inline constexpr std::string_view kDeltaMagic = "PIRXDD\r\n";
inline constexpr std::uint32_t kDeltaVersion = 1;

/// A delta file, mapped and checked.
class Delta {
 public:
  /// Nothing when there is no such file. DataLoss: foreign, another version, truncated or damaged.
  /// Unavailable: it cannot be read, or whether there is one cannot be told.
  static Result<std::optional<Delta>> open(const std::filesystem::path& path);

  const Header& header() const noexcept { return header_; }  ///< of the database as it is now
  const Digest& base() const noexcept { return base_; }      ///< checksum of the base's header page
  const std::vector<Section>& extents() const noexcept { return extents_; }
  std::uint64_t bytes() const noexcept { return file().size(); }
  /// Writes the header page and all extents into `target`, which has header().layout.file_bytes() bytes.
  void apply(MutableByteSpan target) const;
  /// Whether the file was truncated meanwhile, so that what was read of it counts for nothing.
  bool lost() const noexcept { return guard_->lost(); }

 private:
  Delta(FileMap map, std::unique_ptr<MapGuard> guard, Header header)
      : map_(std::move(map)), guard_(std::move(guard)), header_(std::move(header)) {}
  ByteSpan file() const noexcept { return map_.bytes(); }
  Result<void> parse();

  FileMap map_;
  std::unique_ptr<MapGuard> guard_;  ///< of map_; behind it, so that it ends before that
  Header header_;
  Digest base_{};
  std::vector<Section> extents_;
  std::uint64_t data_ = 0;  ///< where the extents' bytes begin
};

/// What the next epoch of a database has that this one has not.
struct RowChanges {
  Geometry geometry;                    ///< differs in the number of records only
  Version version;                      ///< of the buckets; of a plain database only the epoch counts
  std::map<std::uint64_t, Bytes> rows;  ///< row_stride() bytes each; every row that is new is among them
  std::optional<Bytes> keys;            ///< the key section, when it changes
};

/// Writes the delta that turns the file on disk, of which `before` is the present state, into the next epoch:
/// TARGET.delta, written beside it, synced and renamed. Reads the chunks (1 MiB) that change, writes what has
/// changed since the file was built and 32 bytes for each MiB of it. `lock` is that of the file. Gives the
/// new content's version. Progress tells bytes written, and is called between all steps.
Result<Version> write_delta(const Database& before, const UpdateLock& lock, const RowChanges& changes,
                            const Progress& progress);

}  // namespace pirx::database
