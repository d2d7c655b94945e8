// Writes and reads prepared files: a header page that is computed from the label, then the parts, then a
// checksum for every MiB.
#include "prepared_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <limits>
#include <new>
#include <optional>

#include "pirx/base/sha256.h"
#include "src/base/checksum.h"

namespace pirx::database {
namespace {

constexpr std::string_view kMagic = "PIRXPD\r\n";
constexpr std::uint32_t kFormatVersion = 2;
constexpr std::uint32_t kHeaderBytes = 4096;
constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 20;  // under one checksum, and read at once
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;
constexpr std::size_t kMostLayout = 3072;  // bytes of the text

constexpr std::uint64_t saturated_mul(std::uint64_t a, std::uint64_t b) {
  return checked_mul(a, b).value_or(std::numeric_limits<std::uint64_t>::max());
}
constexpr std::uint64_t saturated_add(std::uint64_t a, std::uint64_t b) {
  return checked_add(a, b).value_or(std::numeric_limits<std::uint64_t>::max());
}

std::uint64_t chunks_of_part(const PreparedLabel& label) {
  return label.part_bytes / kChunkBytes + (label.part_bytes % kChunkBytes != 0);
}
std::uint64_t parts_bytes(const PreparedLabel& label) { return saturated_mul(label.parts, label.part_bytes); }
std::uint64_t checksum_bytes(const PreparedLabel& label) {
  return saturated_mul(saturated_mul(label.parts, chunks_of_part(label)), sizeof(Checksum));
}

/// Everything but the header's own digest.
Bytes encode_header(const PreparedLabel& label, const Digest& checksums) {
  Writer writer(kHeaderBytes);
  writer.put_bytes(as_bytes(kMagic));
  writer.put(kFormatVersion);
  writer.put(kHeaderBytes);
  writer.put_bytes(label.version.identity);
  writer.put(label.version.epoch);
  writer.put(label.parts);
  writer.put(static_cast<std::uint32_t>(label.layout.size()));
  writer.put(label.part_bytes);
  writer.put(label.file_bytes());
  writer.put_bytes(checksums);
  writer.put_bytes(as_bytes(label.layout));
  Bytes page = std::move(writer).take();
  page.resize(kHeaderBytes - sizeof(Digest));
  const Digest digest = sha256(page);
  page.insert(page.end(), digest.begin(), digest.end());
  return page;
}

/// The digest of the checksums that a header holds, once the header is what the label asks for.
Result<Digest> check_header(ByteSpan page, const PreparedLabel& expected) {
  const auto damaged = [](const std::string& what) { return fail(ErrorCode::kDataLoss, what); };
  const auto other = [](const std::string& what) { return fail(ErrorCode::kInvalidArgument, what); };
  Reader reader(page.first(kHeaderBytes - sizeof(Digest)), "header of the prepared database");
  PIRX_TRY(reader.get_bytes(kMagic.size()));
  PIRX_ASSIGN(const auto format, reader.get<std::uint32_t>());
  if (format != kFormatVersion) {
    return damaged("format version " + std::to_string(format) +
                   " is not known to this pirx, which reads version " + std::to_string(kFormatVersion));
  }
  const Digest digest = sha256(page.first(kHeaderBytes - sizeof(Digest)));
  if (!std::equal(digest.begin(), digest.end(), page.end() - sizeof(Digest))) {
    return damaged("the header is damaged: its checksum does not match");
  }
  PIRX_TRY(reader.get<std::uint32_t>());  // its own length: compared with everything else below
  Version version;
  PIRX_ASSIGN(const ByteSpan identity, reader.get_bytes(version.identity.size()));
  std::copy(identity.begin(), identity.end(), version.identity.begin());
  PIRX_ASSIGN(version.epoch, reader.get<std::uint64_t>());
  if (version != expected.version) {
    return other("it was made from another database (epoch " + std::to_string(version.epoch) + ", identity " +
                 to_hex(identity.first(8)) + ")");
  }
  PIRX_TRY(reader.get<std::uint32_t>());  // parts
  PIRX_ASSIGN(const auto length, reader.get<std::uint32_t>());
  PIRX_TRY(reader.get_bytes(2 * sizeof(std::uint64_t)));
  Digest checksums;
  PIRX_ASSIGN(const ByteSpan bytes, reader.get_bytes(checksums.size()));
  std::copy(bytes.begin(), bytes.end(), checksums.begin());
  if (length > kMostLayout) return damaged("the header is impossible");
  PIRX_ASSIGN(const ByteSpan layout, reader.get_bytes(length));
  if (as_text(layout) != expected.layout) {
    return other("it holds " + printable(as_text(layout)) + "; wanted are " + expected.layout);
  }
  // Sizes and zeros, which have no message of their own.
  const Bytes whole = encode_header(expected, checksums);
  if (!std::equal(whole.begin(), whole.end(), page.begin())) return damaged("the header is impossible");
  return checksums;
}

/// Calls `work(part, offset, length, number of the chunk)` for every chunk, on so many threads, until one
/// fails.
template <class Work>
Result<void> for_each_chunk(const PreparedLabel& label, [[maybe_unused]] int threads, const Work& work) {
  const std::uint64_t each = chunks_of_part(label), chunks = label.parts * each;
  std::atomic<bool> failed = false;
  std::optional<Error> error;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1 && chunks > 1)
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    if (failed) continue;
    const std::uint64_t offset = chunk % each * kChunkBytes;
    try {
      Result<void> done = work(chunk / each, offset, std::min(kChunkBytes, label.part_bytes - offset), chunk);
      if (done) continue;
#pragma omp critical(pirx_prepared_file)
      if (!error) error = std::move(done.error());
    } catch (const std::bad_alloc&) {  // nobody said why: there was no memory for the words either
    }
    failed = true;
  }
  if (error) return tl::unexpected(*std::move(error));
  if (failed) return fail(ErrorCode::kResourceExhausted, "out of memory");
  return {};
}

tl::unexpected<Error> with_file(const std::filesystem::path& file, const Error& error) {
  return fail(error.code(), printable(file.native()) + ": " + error.message() + "; it has to be made anew");
}

/// InvalidArgument when the name belongs to something that is no side file: it would be lost.
Result<void> check_target(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 && errno == ENOENT) return {};
  PIRX_ASSIGN(const Fd fd, open_for_reading(file, true));
  Bytes start(kMagic.size());
  PIRX_ASSIGN(const std::size_t count, read_full(fd.get(), start, file));
  if (as_text(start).substr(0, count) != kMagic.substr(0, count)) {
    return fail(ErrorCode::kInvalidArgument, printable(file.native()) +
                                                 " exists and is no prepared database: delete it or "
                                                 "choose another name");
  }
  return {};
}

}  // namespace

std::uint64_t PreparedLabel::file_bytes() const noexcept {
  return saturated_add(kHeaderBytes, saturated_add(parts_bytes(*this), checksum_bytes(*this)));
}

Result<void> write_prepared_file(const std::filesystem::path& file, const PreparedLabel& label,
                                 std::span<const ByteSpan> parts, int threads) try {
  PIRX_CHECK(parts.size() == label.parts && label.layout.size() <= kMostLayout);
  PIRX_TRY(check_target(file));
  remove_leftovers(file);
  // The database may be readable to few; the file that holds the same bytes is no way around that.
  PIRX_ASSIGN(TemporaryFile out, TemporaryFile::create(file, 0600));
  PIRX_TRY(out.reserve(label.file_bytes()));
  Bytes checksums(static_cast<std::size_t>(checksum_bytes(label)));
  PIRX_TRY(for_each_chunk(label, threads,
                          [&](std::uint64_t part, std::uint64_t offset, std::uint64_t length,
                              std::uint64_t chunk) -> Result<void> {
                            const ByteSpan bytes = parts[part].subspan(offset, length);
                            PIRX_ASSIGN(const Checksum sum, checksum(bytes));
                            std::copy(sum.begin(), sum.end(), checksums.data() + chunk * sizeof sum);
                            return write_at(out.fd(), kHeaderBytes + part * label.part_bytes + offset, bytes,
                                            out.path());
                          }));
  PIRX_TRY(write_at(out.fd(), kHeaderBytes + parts_bytes(label), checksums, out.path()));
  PIRX_TRY(write_at(out.fd(), 0, encode_header(label, sha256(checksums)), out.path()));
  return out.commit(file);
} catch (const std::bad_alloc&) {
  return fail(ErrorCode::kResourceExhausted, "there is no memory to write the prepared database");
}

Result<PreparedFile> PreparedFile::open(const std::filesystem::path& file,
                                        const PreparedLabel& expected) try {
  const auto damaged = [&file](std::string what) {
    return with_file(file, Error(ErrorCode::kDataLoss, std::move(what)));
  };
  if (expected.file_bytes() > kMostBytes) {
    return fail(ErrorCode::kInvalidArgument, "a prepared database of that shape fits no file");
  }
  PIRX_ASSIGN(Fd fd, open_for_reading(file, true));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return tl::unexpected(system_error("open", file, errno));
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  Bytes page(static_cast<std::size_t>(std::min<std::uint64_t>(file_bytes, kHeaderBytes)));
  PIRX_TRY(read_at(fd.get(), 0, page, file));
  if (page.empty() || !as_text(page).starts_with(kMagic.substr(0, page.size()))) {
    return damaged("it is no prepared database");
  }
  if (page.size() < kHeaderBytes) return damaged("truncated: it ends inside its header");
  const auto digest = check_header(page, expected);
  if (!digest) return with_file(file, digest.error());
  if (file_bytes != expected.file_bytes()) {
    return damaged((file_bytes < expected.file_bytes() ? "truncated: it has " : "it is too long: it has ") +
                   std::to_string(file_bytes) + " bytes, its header says " +
                   std::to_string(expected.file_bytes()));
  }
  Bytes checksums(static_cast<std::size_t>(checksum_bytes(expected)));
  PIRX_TRY(read_at(fd.get(), kHeaderBytes + parts_bytes(expected), checksums, file));
  if (sha256(checksums) != *digest)
    return damaged("it is damaged: its checksums are not those of its header");
  return PreparedFile(std::move(fd), file, expected, std::move(checksums));
} catch (const std::bad_alloc&) {
  return fail(ErrorCode::kResourceExhausted, "there is no memory to read the prepared database");
}

Result<void> PreparedFile::read(std::span<const MutableByteSpan> parts, int threads) const try {
  PIRX_CHECK(parts.size() == label_.parts);
  return for_each_chunk(
      label_, threads,
      [&](std::uint64_t part, std::uint64_t offset, std::uint64_t length,
          std::uint64_t chunk) -> Result<void> {
        const MutableByteSpan bytes = parts[part].subspan(offset, length);
        const std::uint64_t at = kHeaderBytes + part * label_.part_bytes + offset;
        PIRX_TRY(read_at(fd_.get(), at, bytes, file_));
        PIRX_ASSIGN(const Checksum sum, checksum(bytes));
        if (!std::equal(sum.begin(), sum.end(), checksums_.data() + chunk * sizeof sum)) {
          return with_file(file_, Error(ErrorCode::kDataLoss,
                                        "it is damaged between bytes " + std::to_string(at) + " and " +
                                            std::to_string(at + length) + ": a checksum does not match"));
        }
        return {};
      });
} catch (const std::bad_alloc&) {
  return fail(ErrorCode::kResourceExhausted, "there is no memory to read the prepared database");
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
