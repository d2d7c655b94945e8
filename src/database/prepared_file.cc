// SPDX-License-Identifier: Apache-2.0
// Writes and reads prepared files: a header page that is computed from the label, then the parts, then a
// checksum for every MiB.
#include "prepared_file.h"

#include <algorithm>

#include "layout.h"
#include "pirx/base/small_file.h"
#include "src/base/checksum.h"
#include "src/base/parallel_try.h"

namespace pirx::database {
namespace {

constexpr std::string_view kPreparedMagic = "PIRXPD\r\n";
constexpr std::uint32_t kPreparedVersion = 2;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;
constexpr std::size_t kMostLayout = 3072;  // bytes of the text

std::uint64_t chunks_of_part(const PreparedLabel& label) { return div_up(label.part_bytes, kChunkBytes); }
std::uint64_t parts_bytes(const PreparedLabel& label) { return saturated_mul(label.parts, label.part_bytes); }
std::uint64_t checksum_bytes(const PreparedLabel& label) {
  return saturated_mul(saturated_mul(label.parts, chunks_of_part(label)), sizeof(Checksum));
}

Bytes encode_header(const PreparedLabel& label, const Digest& checksums) {
  Writer writer(kPageBytes);
  writer.put_bytes(as_bytes(kPreparedMagic));
  writer.put(kPreparedVersion);
  writer.put(static_cast<std::uint32_t>(kPageBytes));
  label.version.encode(writer);
  writer.put(label.parts);
  writer.put(static_cast<std::uint32_t>(label.layout.size()));
  writer.put(label.part_bytes);
  writer.put(label.file_bytes());
  writer.put_bytes(checksums);
  writer.put_bytes(as_bytes(label.layout));
  return sealed_page(std::move(writer));
}

/// The digest of the checksums that a header holds, once the header is what the label asks for.
Result<Digest> check_header(ByteSpan page, const PreparedLabel& expected) {
  const auto damaged = [](const std::string& what) { return fail(ErrorCode::kDataLoss, what); };
  Reader reader(page.first(kPageBytes - sizeof(Digest)), "header of the prepared database");
  PIRX_TRY(reader.get_bytes(kPreparedMagic.size()));
  PIRX_ASSIGN(const auto format, reader.get<std::uint32_t>());
  if (format != kPreparedVersion) {
    return damaged("format version " + std::to_string(format) +
                   " is not known to this pirx, which reads version " + std::to_string(kPreparedVersion));
  }
  if (!is_sealed(page)) return damaged("the header is damaged: its checksum does not match");
  PIRX_TRY(reader.get<std::uint32_t>());  // its own length: compared with everything else below
  PIRX_ASSIGN(const Version version, Version::decode(reader));
  if (version != expected.version) {
    return invalid("it was made from another database (epoch " + std::to_string(version.epoch) +
                   ", identity " + to_hex(ByteSpan(version.identity).first(8)) + ")");
  }
  PIRX_TRY(reader.get<std::uint32_t>());  // parts
  PIRX_ASSIGN(const auto length, reader.get<std::uint32_t>());
  PIRX_TRY(reader.get_bytes(2 * sizeof(std::uint64_t)));
  Digest checksums;
  PIRX_TRY(reader.read(checksums));
  if (length > kMostLayout) return damaged("the header is impossible");
  PIRX_ASSIGN(const ByteSpan layout, reader.get_bytes(length));
  if (as_text(layout) != expected.layout) {
    return invalid("it holds " + printable(as_text(layout)) + "; wanted are " + expected.layout);
  }
  // Sizes and zeros, which have no message of their own.
  const Bytes whole = encode_header(expected, checksums);
  if (!std::equal(whole.begin(), whole.end(), page.begin())) return damaged("the header is impossible");
  return checksums;
}

/// Calls `work(part, offset, length, number of the chunk)` for every chunk, on so many threads, until one
/// fails.
template <class Work>
Result<void> for_each_chunk(const PreparedLabel& label, int threads, const Work& work) {
  const std::uint64_t each = chunks_of_part(label);
  return parallel_try(threads, label.parts * each, [&](std::uint64_t chunk, std::size_t) {
    const std::uint64_t offset = chunk % each * kChunkBytes;
    return work(chunk / each, offset, std::min(kChunkBytes, label.part_bytes - offset), chunk);
  });
}

tl::unexpected<Error> with_file(const std::filesystem::path& file, const Error& error) {
  return fail(error.code(), printable(file.native()) + ": " + error.message() + "; it has to be made anew");
}

/// InvalidArgument when the name belongs to something that is no side file: it would be lost.
Result<void> check_prepared_target(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error) && !error) return {};
  PIRX_ASSIGN(const OpenedFile opened, open_for_reading(file, true));
  Bytes start(kPreparedMagic.size());
  PIRX_ASSIGN(const std::size_t count, read_full(opened.fd.get(), start, file));
  if (as_text(start).substr(0, count) == kPreparedMagic.substr(0, count)) return {};
  return invalid(printable(file.native()) +
                 " exists, is no prepared database and stays as it is: choose another name");
}

}  // namespace

std::uint64_t PreparedLabel::file_bytes() const noexcept {
  return saturated_add(kPageBytes, saturated_add(parts_bytes(*this), checksum_bytes(*this)));
}

Result<void> write_prepared_file(const std::filesystem::path& name, const PreparedLabel& label,
                                 std::span<const ByteSpan> parts, int threads) {
  PIRX_CHECK(parts.size() == label.parts && label.layout.size() <= kMostLayout);
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto file, behind_links(name));
    PIRX_TRY(check_prepared_target(file));
    remove_leftovers(file);
    // The database may be readable to few; the file that holds the same bytes is no way around that.
    PIRX_ASSIGN(TemporaryFile out, TemporaryFile::create(file, 0600));
    PIRX_TRY(out.reserve(label.file_bytes()));
    Bytes checksums(static_cast<std::size_t>(checksum_bytes(label)));
    const auto write_chunk = [&](std::uint64_t part, std::uint64_t offset, std::uint64_t length,
                                 std::uint64_t chunk) -> Result<void> {
      const ByteSpan bytes = parts[part].subspan(offset, length);
      PIRX_ASSIGN(const Checksum sum, checksum(bytes));
      std::copy(sum.begin(), sum.end(), checksums.data() + chunk * sizeof sum);
      return write_at(out.fd(), kPageBytes + part * label.part_bytes + offset, bytes, out.path());
    };
    PIRX_TRY(for_each_chunk(label, threads, write_chunk));
    PIRX_TRY(write_at(out.fd(), kPageBytes + parts_bytes(label), checksums, out.path()));
    PIRX_TRY(write_at(out.fd(), 0, encode_header(label, sha256(checksums)), out.path()));
    return out.commit(file);
  });
}

Result<PreparedFile> PreparedFile::open(const std::filesystem::path& file, const PreparedLabel& expected) {
  const auto damaged = [&file](std::string what) {
    return with_file(file, Error(ErrorCode::kDataLoss, std::move(what)));
  };
  if (expected.file_bytes() > kMostBytes) return invalid("a prepared database of that shape fits no file");
  return guarded([&]() -> Result<PreparedFile> {
    PIRX_ASSIGN(OpenedFile opened, open_for_reading(file, true));
    Bytes page(static_cast<std::size_t>(std::min(opened.bytes(), kPageBytes)));
    PIRX_TRY(read_at(opened.fd.get(), 0, page, file));
    if (!as_text(page).starts_with(kPreparedMagic.substr(0, page.size()))) {
      return fail(ErrorCode::kDataLoss, printable(file.native()) + " is no prepared database");
    }
    if (page.size() < kPageBytes) return damaged("truncated: it ends inside its header");
    const auto digest = check_header(page, expected);
    if (!digest) return with_file(file, digest.error());
    if (opened.bytes() != expected.file_bytes()) {
      return damaged(
          (opened.bytes() < expected.file_bytes() ? "truncated: it has " : "it is too long: it has ") +
          std::to_string(opened.bytes()) + " bytes, its header says " +
          std::to_string(expected.file_bytes()));
    }
    Bytes checksums(static_cast<std::size_t>(checksum_bytes(expected)));
    PIRX_TRY(read_at(opened.fd.get(), kPageBytes + parts_bytes(expected), checksums, file));
    if (sha256(checksums) != *digest) {
      return damaged("it is damaged: its checksums are not those of its header");
    }
    return PreparedFile(std::move(opened.fd), file, expected, std::move(checksums));
  });
}

Result<void> PreparedFile::read(std::span<const MutableByteSpan> parts, int threads) const {
  PIRX_CHECK(parts.size() == label_.parts);
  const auto read_chunk = [&](std::uint64_t part, std::uint64_t offset, std::uint64_t length,
                              std::uint64_t chunk) -> Result<void> {
    const MutableByteSpan bytes = parts[part].subspan(offset, length);
    const std::uint64_t at = kPageBytes + part * label_.part_bytes + offset;
    PIRX_TRY(read_at(fd_.get(), at, bytes, file_));
    PIRX_ASSIGN(const Checksum sum, checksum(bytes));
    if (std::equal(sum.begin(), sum.end(), checksums_.data() + chunk * sizeof sum)) return {};
    return with_file(
        file_, Error(ErrorCode::kDataLoss, "it is damaged between bytes " + std::to_string(at) + " and " +
                                               std::to_string(at + length) + ": a checksum does not match"));
  };
  return guarded([&] { return for_each_chunk(label_, threads, read_chunk); });
}

Result<void> read_or_prepare(const std::filesystem::path& file, const PreparedLabel& label,
                             std::span<const MutableByteSpan> parts, int threads,
                             const std::function<Result<void>()>& make,
                             const std::function<void(const std::string&)>& note) {
  const auto tell = [&note](const std::string& text) {
    if (note) note(text);
  };
  const auto opened = PreparedFile::open(file, label);
  const auto read = opened ? opened->read(parts, threads) : tl::unexpected(opened.error());
  if (read) {
    tell("the prepared database was read");
    return {};
  }
  PIRX_TRY(make());
  const auto kept =
      write_prepared_file(file, label, std::vector<ByteSpan>(parts.begin(), parts.end()), threads);
  tell("the database was prepared (" + read.error().message() + ") and " +
       (kept ? "kept for the next start" : "not kept: " + kept.error().message()));
  return {};
}

}  // namespace pirx::database
