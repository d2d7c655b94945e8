// Encoding, in parallel over items, and the file that keeps it: a page of header, then the words.
#include "encoded_database.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "item.h"
#include "parallel.h"
#include "src/base/file.h"

namespace pirx::cpir::spiral {
namespace {

constexpr std::uint64_t kHeaderPage = 4096;
constexpr std::string_view kFileMagic = "PIRXSPRL";
constexpr std::uint32_t kFileVersion = 1;

struct Unmap {
  std::span<std::byte> bytes;
  ~Unmap() {
    if (!bytes.empty()) munmap(bytes.data(), bytes.size());
  }
};

/// The bytes of an item: its slots, as far as there are any.
void read_item(const Params& params, const database::Database& database, std::uint64_t item,
               MutableByteSpan out) {
  const auto& geometry = params.geometry();
  const auto rows = database.rows();
  const auto bytes = static_cast<std::size_t>(params.slot_bytes());
  std::fill(out.begin(), out.end(), std::byte{0});
  for (std::uint64_t i = 0; i < params.slots(); ++i) {
    const std::uint64_t slot = item * params.slots() + i;
    database::Location at{slot, 0};
    if (geometry.keyed() ? slot >= geometry.rows() : slot >= geometry.records()) return;
    if (!geometry.keyed()) at = geometry.locate(slot).value();
    std::copy_n(rows.row(static_cast<std::size_t>(at.row)) + at.offset, bytes,
                out.begin() + static_cast<std::ptrdiff_t>(i * bytes));
  }
}

void encode_items(const Params& params, const EncodedDatabase::Items& items, int threads,
                  const EncodedDatabase::Progress& progress, std::uint64_t* words) {
  const Ring& ring = Ring::get(params.scheme().log_d);
  const std::size_t d = ring.d(), blocks = d / kBlockSlots, rows = params.rows(), columns = params.columns();
  const auto p = std::int32_t{1} << params.scheme().log_p;
  std::atomic<std::uint64_t> done = 0;
  std::mutex reporting;
  parallel_for(threads, static_cast<std::size_t>(params.items()), [&](std::size_t item, std::size_t) {
    Bytes bytes(params.item_bytes());
    items(item, bytes);
    std::vector<std::uint16_t> coefficients(params.polynomials() * d);
    item_to_coefficients(params, item, bytes, coefficients);
    const std::size_t row = item / columns, column = item % columns;
    std::vector<std::int32_t> small(d);
    std::vector<std::uint32_t> slots(2 * d);
    for (std::size_t polynomial = 0; polynomial < params.polynomials(); ++polynomial) {
      for (std::size_t i = 0; i < d; ++i) {
        const std::int32_t x = coefficients[polynomial * d + i];
        small[i] = x >= p / 2 ? x - p : x;
      }
      ring.forward_small(slots.data(), small.data());
      ring.to_montgomery(slots.data(), slots.data());
      for (std::size_t z = 0; z < blocks; ++z) {
        std::uint64_t* to =
            words + (((polynomial * blocks + z) * columns + column) * rows + row) * kBlockSlots;
        for (std::size_t s = 0; s < kBlockSlots; ++s) {
          to[s] = slots[z * kBlockSlots + s] | std::uint64_t{slots[d + z * kBlockSlots + s]} << 32;
        }
      }
    }
    const std::uint64_t now = done.fetch_add(1) + 1;
    if (progress && (now % 256 == 0 || now == params.items())) {
      const std::lock_guard lock(reporting);
      progress(now, params.items());
    }
  });
}

/// What a file must begin with: magic, version, the digest of the plan, the length of what follows.
Bytes header(const Params& params) {
  Writer writer(kHeaderPage);
  writer.put_bytes(as_bytes(kFileMagic));
  writer.put(kFileVersion);
  writer.put_bytes(params.digest());
  writer.put(params.encoded_bytes());
  Bytes out = std::move(writer).take();
  out.resize(kHeaderPage);
  return out;
}

Result<void> make_file(const Params& params, const EncodedDatabase::Items& items,
                       const std::filesystem::path& file, int threads,
                       const EncodedDatabase::Progress& progress) {
  const std::uint64_t size = kHeaderPage + params.encoded_bytes();
  PIRX_ASSIGN(auto temporary, TemporaryFile::create(file, 0600));
  PIRX_TRY(temporary.reserve(size));
  if (ftruncate(temporary.fd(), static_cast<off_t>(size)) != 0) {
    return tl::unexpected<Error>(system_error("write", temporary.path(), errno));
  }
  void* map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, temporary.fd(), 0);
  if (map == MAP_FAILED) return tl::unexpected<Error>(system_error("map", temporary.path(), errno));
  {
    const Unmap unmap{{static_cast<std::byte*>(map), size}};
    const Bytes first = header(params);
    std::copy(first.begin(), first.end(), unmap.bytes.begin());
    encode_items(params, items, threads, progress,
                 reinterpret_cast<std::uint64_t*>(unmap.bytes.data() + kHeaderPage));
  }
  return temporary.commit(file);
}

}  // namespace

EncodedDatabase::EncodedDatabase(EncodedDatabase&& other) noexcept
    : buffer_(std::move(other.buffer_)), map_(std::exchange(other.map_, {})), words_(other.words_) {}

EncodedDatabase::~EncodedDatabase() {
  if (!map_.empty()) munmap(const_cast<std::byte*>(map_.data()), map_.size());
}

Result<EncodedDatabase> EncodedDatabase::create(const Params& params, const Items& items, int threads,
                                                const Progress& progress) {
  EncodedDatabase out;
  PIRX_ASSIGN(out.buffer_, AlignedBuffer::create(params.encoded_bytes()));
  auto* words = reinterpret_cast<std::uint64_t*>(out.buffer_.data());
  encode_items(params, items, threads, progress, words);
  out.words_ = words;
  return out;
}

Result<EncodedDatabase> EncodedDatabase::open(const Params& params, const Items& items,
                                              const std::filesystem::path& file, int threads,
                                              const Progress& progress) {
  const std::uint64_t size = kHeaderPage + params.encoded_bytes();
  const Bytes expected = header(params);
  for (bool made = false;; made = true) {
    auto fd = open_for_reading(file, true);
    struct stat status {};
    bool right = false;
    if (fd) {
      if (fstat(fd->get(), &status) != 0) return tl::unexpected<Error>(system_error("read", file, errno));
      Bytes found(kHeaderPage);
      const bool whole =
          status.st_size >= static_cast<off_t>(kHeaderPage) && read_at(fd->get(), 0, found, file).has_value();
      const auto magic = as_bytes(kFileMagic);
      if (!whole || !std::equal(magic.begin(), magic.end(), found.begin())) {
        return fail(ErrorCode::kInvalidArgument, printable(file.string()) +
                                                     " is no encoded database of pirx: name "
                                                     "another file, or remove it");
      }
      right = found == expected && static_cast<std::uint64_t>(status.st_size) == size;
    } else if (made || std::filesystem::exists(file)) {
      return tl::unexpected<Error>(std::move(fd).error());
    }
    if (right) {
      void* map = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd->get(), 0);
      if (map == MAP_FAILED) return tl::unexpected<Error>(system_error("map", file, errno));
      EncodedDatabase out;
      out.map_ = {static_cast<const std::byte*>(map), size};
      out.words_ = reinterpret_cast<const std::uint64_t*>(out.map_.data() + kHeaderPage);
      return out;
    }
    if (made) return fail(ErrorCode::kDataLoss, printable(file.string()) + " changes while it is opened");
    PIRX_TRY(make_file(params, items, file, threads, progress));
  }
}

EncodedDatabase::Items EncodedDatabase::items_of(const Params& params, const database::Database& database) {
  return [&](std::uint64_t item, MutableByteSpan out) { read_item(params, database, item, out); };
}

}  // namespace pirx::cpir::spiral
