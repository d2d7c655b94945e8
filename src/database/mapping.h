// SPDX-License-Identifier: Apache-2.0
// Mapping: an opened database in memory, as it would be written anew. It comes from one file, or from a
// file and its delta.
#pragma once

#include "key_index.h"
#include "layout.h"
#include "map_guard.h"
#include "src/base/file.h"

namespace pirx::database {

struct Database::Mapping {
  std::filesystem::path path;
  Header header;
  OpenedFile on_disk = {};  ///< without the delta
  FileMap map = {};
  ByteSpan file = {};  ///< the whole file, changes laid over it: all of `map`
  KeyIndex keys = {};
  Version base_version = {};          ///< of the file on disk
  Digest base{};                      ///< checksum of the header page of the file on disk
  std::vector<Section> patched = {};  ///< where `file` may differ from the file on disk, its header aside
  std::uint64_t delta_bytes = 0;
  std::optional<MapGuard> guard = {};  ///< of `file`; behind `map`, so that it ends before that

  ByteSpan section(const Section& section) const { return file.subspan(section.offset, section.length); }
  Result<void> check_identity() const;
  Result<void> check_chunk(std::uint64_t chunk) const;
  /// The chunks that hold these bytes, but for those that `checked` names; then it names them, too. What is
  /// written anew from bytes that nobody has checked would have right checksums, damaged or not.
  Result<void> check(const Section& bytes, std::vector<bool>& checked) const;
  Result<void> check_row(std::uint64_t row) const;
  Result<void> verify(const Progress& progress) const;
};

}  // namespace pirx::database
