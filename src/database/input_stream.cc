// SPDX-License-Identifier: Apache-2.0
// Unpacks by zlib and libzstd with bounded memory.
#include "input_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "pirx/base/printable.h"

namespace pirx::database {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{1} << 16;
/// Memory that zstd may take to look back: what its command line allows, too.
constexpr int kMaxWindowLog = 27;
/// What packed data may become: so many bytes for each of its own, and so many more. gzip reaches 1,032.
constexpr std::uint64_t kMostUnpacked = 1100, kAlwaysUnpacked = std::uint64_t{64} << 20;

class Gunzip final : public Unpacker {
 public:
  static constexpr std::string_view kName = "gzip", kSuffix = ".gz";
  static bool is_begin(std::string_view head) { return head.starts_with("\x1f\x8b"); }

  Gunzip() {
    constexpr int kLargestWindow = 15, kGzipOnly = 16;
    if (::inflateInit2(&stream_, kLargestWindow + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Gunzip() override { ::inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  Result<std::size_t> unpack(ByteSpan& in, MutableByteSpan out) override {
    if (in.empty() && whole_) return std::size_t{0};
    // Several files that were packed one by one may follow one another.
    if (whole_) ::inflateReset(&stream_);
    whole_ = false;
    // zlib never writes to its input.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    in = in.last(stream_.avail_in);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      return fail(ErrorCode::kDataLoss, "the gzip data is damaged: " +
                                            std::string(stream_.msg != nullptr ? stream_.msg : "no reason"));
    }
    whole_ = status == Z_STREAM_END;
    return out.size() - stream_.avail_out;
  }
  bool whole() const noexcept override { return whole_; }

 private:
  z_stream stream_{};
  bool whole_ = false;
};

class Unzstd final : public Unpacker {
 public:
  static constexpr std::string_view kName = "zstd", kSuffix = ".zst";
  /// A frame, or one that is skipped, of which there are 16 kinds; files of pzstd begin with one.
  static bool is_begin(std::string_view head) {
    return head.starts_with("\x28\xb5\x2f\xfd") ||
           (head.size() >= 4 && (head[0] & 0xf0) == 0x50 && head.substr(1, 3) == "\x2a\x4d\x18");
  }

  Unzstd() : stream_(::ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
    ::ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
  }

  Result<std::size_t> unpack(ByteSpan& in, MutableByteSpan out) override {
    if (in.empty() && whole_) return std::size_t{0};
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t left = ::ZSTD_decompressStream(stream_.get(), &to, &from);
    in = in.subspan(from.pos);
    if (::ZSTD_isError(left) != 0) {
      const auto code = ::ZSTD_getErrorCode(left);
      if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
      if (code == ZSTD_error_frameParameter_windowTooLarge) {
        return fail(ErrorCode::kResourceExhausted,
                    "the zstd data needs more than 128 MiB of memory to unpack: pack it without --long, or "
                    "pipe it through zstd -d --long=31");
      }
      return fail(ErrorCode::kDataLoss,
                  "the zstd data is damaged: " + std::string(::ZSTD_getErrorName(left)));
    }
    whole_ = left == 0;
    return to.pos;
  }
  bool whole() const noexcept override { return whole_; }

 private:
  std::unique_ptr<ZSTD_DStream, decltype([](ZSTD_DStream* stream) { ::ZSTD_freeDStream(stream); })> stream_;
  bool whole_ = false;
};

/// An unpacker where the data begins as its kind does. DataLoss: only the name says that it is packed.
template <class Kind>
Result<std::unique_ptr<Unpacker>> unpacker_for(const std::filesystem::path& file, ByteSpan head) {
  if (Kind::is_begin(as_text(head))) return std::make_unique<Kind>();
  if (file.extension() != Kind::kSuffix) return std::unique_ptr<Unpacker>();
  return fail(ErrorCode::kDataLoss, printable(file.native()) + ": the name ends with " +
                                        std::string(Kind::kSuffix) + ", but this is no " +
                                        std::string(Kind::kName) + " data");
}

}  // namespace

Result<OpenedFile> open_input(const std::filesystem::path& file) {
  if (file != "/dev/stdin") return open_for_reading(file, false);
  OpenedFile input{Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0))};
  if (!input.fd || ::fstat(input.fd.get(), &input.status) != 0) {
    return tl::unexpected(system_error("open", file, errno));
  }
  const off_t read = ::lseek(input.fd.get(), 0, SEEK_CUR);
  if (S_ISREG(input.status.st_mode)) input.status.st_size -= std::clamp<off_t>(read, 0, input.status.st_size);
  return input;
}

Result<InputStream> InputStream::open(const std::filesystem::path& file) {
  PIRX_ASSIGN(OpenedFile opened, open_input(file));
  InputStream stream(file, std::move(opened));
  PIRX_TRY(stream.fill());
  PIRX_ASSIGN(stream.unpacker_, unpacker_for<Gunzip>(file, stream.packed_));
  if (stream.unpacker_ == nullptr) {
    PIRX_ASSIGN(stream.unpacker_, unpacker_for<Unzstd>(file, stream.packed_));
  }
  return stream;
}

std::uint64_t InputStream::most() const noexcept {
  return unpacker_ == nullptr ? ~std::uint64_t{0} : kAlwaysUnpacked + kMostUnpacked * consumed_;
}

Result<void> InputStream::fill() {
  packed_.resize(kPackedBytes);
  used_ = 0;
  PIRX_ASSIGN(const std::size_t count, read_full(opened_.fd.get(), packed_, file_));
  packed_.resize(count);
  consumed_ += count;
  return {};
}

Result<std::size_t> InputStream::read(MutableByteSpan out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const MutableByteSpan rest = out.subspan(done);
    ByteSpan in = ByteSpan(packed_).subspan(used_);
    if (unpacker_ != nullptr) {
      const auto written = unpacker_->unpack(in, rest);
      used_ = packed_.size() - in.size();
      if (!written) return fail_here(written.error());
      done += *written;
      unpacked_ += *written;
      if (unpacked_ > most()) {
        return fail_here(Error(ErrorCode::kResourceExhausted,
                               "the packed data becomes more than " + std::to_string(kMostUnpacked) +
                                   " times as long: unpack it yourself if that is meant"));
      }
      if (*written != 0 || !in.empty()) continue;
      if (packed_.size() == kPackedBytes) {
        PIRX_TRY(fill());
      } else if (unpacker_->whole()) {
        break;
      } else {
        return fail_here(Error(ErrorCode::kDataLoss, "the packed data ends too early: the file is cut off"));
      }
    } else if (!in.empty()) {  // what was read to look at its first bytes
      const std::size_t count = std::min(in.size(), rest.size());
      std::memcpy(rest.data(), in.data(), count);
      used_ += count;
      done += count;
    } else {
      PIRX_ASSIGN(const std::size_t count, read_full(opened_.fd.get(), rest, file_));
      consumed_ += count;
      done += count;
      break;
    }
  }
  if (done < out.size()) PIRX_TRY(check_unchanged(opened_, consumed_, file_));
  return done;
}

tl::unexpected<Error> InputStream::fail_here(const Error& error) const {
  return fail(error.code(), printable(file_.native()) + ", byte " +
                                std::to_string(consumed_ - (packed_.size() - used_)) + ": " +
                                error.message());
}

}  // namespace pirx::database
