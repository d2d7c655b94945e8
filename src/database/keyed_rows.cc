// SPDX-License-Identifier: Apache-2.0
// Turns records into rows whose sums are records: resolves duplicates, hashes the keys, finds the filter,
// and then fills slots in the order that the filter gives. Each record goes into its own slot, to which
// the other two slots of its key are added.
#include "keyed_rows.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "pirx/database/key_filter.h"
#include "src/base/threads.h"

namespace pirx::database {
namespace {

constexpr std::uint64_t kDropped = ~std::uint64_t{0};
constexpr std::uint64_t kSpooledHeadBytes = 3 * sizeof(std::uint64_t);  ///< beside the key
/// A seed fails when two keys' hashes are equal, with probability 2^-64 a pair.
constexpr std::uint64_t kSeeds = 8;

/// What comes before a record's data.
Result<void> spool_head(Spool& spool, std::uint64_t line, std::string_view key, std::uint64_t data_bytes) {
  const std::uint64_t head[2] = {line, key.size()};
  PIRX_TRY(spool.append(std::as_bytes(std::span(head))));
  PIRX_TRY(spool.append(as_bytes(key)));
  return spool.append(std::as_bytes(std::span(&data_bytes, 1)));
}

/// Reads what spool_keyed wrote.
class KeyedReader {
 public:
  explicit KeyedReader(const Spool& spool, const Progress& progress = {})
      : reader_(spool, 0, spool.size()), progress_(progress), total_(spool.size()) {}
  /// Up to the data, which is read or skipped next.
  Result<void> next() {
    PIRX_ASSIGN(line, reader_.get<std::uint64_t>());
    PIRX_ASSIGN(const auto key_bytes, reader_.get<std::uint64_t>());
    key.resize(key_bytes);
    PIRX_TRY(reader_.read(std::as_writable_bytes(std::span(key))));
    PIRX_ASSIGN(data_bytes, reader_.get<std::uint64_t>());
    // The record before has been read by now.
    at_ += std::exchange(next_bytes_, kSpooledHeadBytes + key_bytes + data_bytes);
    if (progress_ && at_ - reported_ >= kChunkBytes) progress_(reported_ = at_, total_);
    return {};
  }
  Result<void> data(MutableByteSpan out) { return reader_.read(out); }
  SpoolReader& at_data() noexcept { return reader_; }  ///< whose next data_bytes are the data
  void skip() { reader_.skip(data_bytes); }

  std::uint64_t line = 0, data_bytes = 0;
  std::string key;

 private:
  SpoolReader reader_;
  Progress progress_;
  std::uint64_t total_, at_ = 0, next_bytes_ = 0, reported_ = 0;
};

/// The distinct keys of the input.
struct Distinct {
  std::vector<bool> dropped;  ///< by position
  /// Positions to join to each record that has some, in order (Duplicates::kJoin).
  std::map<std::uint64_t, std::vector<std::uint64_t>> joined;
  std::uint64_t count = 0, repeated = 0;
};

tl::unexpected<Error> refuse_repeated(const Spool& records, std::uint64_t count, std::uint64_t repeated,
                                      std::uint64_t first, std::uint64_t second) {
  KeyedReader reader(records);
  std::uint64_t lines[2] = {0, 0};
  for (std::uint64_t i = 0; i <= second; ++i) {
    if (auto read = reader.next(); !read) return tl::unexpected(read.error());
    if (i == first) lines[0] = reader.line;
    if (i == second) lines[1] = reader.line;
    reader.skip();
  }
  const bool known = lines[0] != 0 && lines[1] != 0;
  const std::string what = known ? "line " : "record ";
  return invalid(what + std::to_string(known ? lines[1] : second + 1) + " repeats the key '" +
                 printable(reader.key) + "' of " + what + std::to_string(known ? lines[0] : first + 1) +
                 "; " + std::to_string(repeated) + " of " + std::to_string(count) +
                 " records repeat a key: a keyed database has one record a key, so take the repeated ones "
                 "out, keep the first or last of each, or join them (--duplicates first|last|join)");
}

Result<Distinct> find_distinct(KeySorter& keys, const Spool& records, const BuildOptions& options) {
  const auto policy = options.duplicates;
  Distinct distinct;
  distinct.dropped.assign(keys.count(), false);
  std::string previous;
  std::uint64_t kept = 0, first = kDropped, second = kDropped;
  PIRX_TRY(keys.for_each([&](std::string_view key, std::uint64_t position) -> Result<void> {
    if (distinct.count != 0 && key == previous) {
      ++distinct.repeated;
      if (position < second) {
        first = kept;
        second = position;
      }
      if (policy == Duplicates::kJoin) distinct.joined[kept].push_back(position);
      const bool keep_first = policy == Duplicates::kFirst || policy == Duplicates::kJoin;
      distinct.dropped[keep_first ? position : kept] = true;
      if (!keep_first) kept = position;
      return {};
    }
    previous = key;
    kept = position;
    ++distinct.count;
    if (options.each_key) {
      if (auto taken = options.each_key(key); !taken) return taken;
    }
    return {};
  }));
  if (distinct.repeated != 0 && policy == Duplicates::kRefuse) {
    return refuse_repeated(records, keys.count(), distinct.repeated, first, second);
  }
  return distinct;
}

/// The records of `records` in their places, but that repeated ones are joined to the first: the others have
/// no data left.
Result<Spool> join_repeated(const std::filesystem::path& target, const Spool& records,
                            const Distinct& distinct, std::uint64_t max_record_bytes) {
  const std::uint64_t count = distinct.dropped.size();
  std::vector<std::uint64_t> starts{0};  // of each record in the spool
  starts.reserve(count + 1);
  KeyedReader finder(records);
  while (starts.size() <= count) {
    PIRX_TRY(finder.next());
    finder.skip();
    starts.push_back(starts.back() + kSpooledHeadBytes + finder.key.size() + finder.data_bytes);
  }

  PIRX_ASSIGN(Spool result, Spool::create(target));
  const auto copy = [&](SpoolReader& from, std::uint64_t bytes) -> Result<void> {
    Bytes chunk(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, SpoolReader::kBufferBytes)));
    while (bytes != 0) {
      const auto some = MutableByteSpan(chunk).first(std::min<std::uint64_t>(bytes, chunk.size()));
      PIRX_TRY(from.read(some));
      PIRX_TRY(result.append(some));
      bytes -= some.size();
    }
    return {};
  };
  KeyedReader reader(records);
  for (std::uint64_t i = 0; i < count; ++i) {
    PIRX_TRY(reader.next());
    if (distinct.dropped[i]) {
      PIRX_TRY(spool_keyed(result, reader.line, reader.key, {}));
      reader.skip();
      continue;
    }
    const auto joined = distinct.joined.find(i);
    const std::uint64_t head = kSpooledHeadBytes + reader.key.size();  // of all records with this key
    std::uint64_t bytes = reader.data_bytes;
    if (joined != distinct.joined.end()) {
      for (const auto other : joined->second) bytes += 1 + starts[other + 1] - starts[other] - head;
    }
    if (bytes > max_record_bytes) {
      return fail(ErrorCode::kResourceExhausted,
                  "the records with the key '" + printable(reader.key) + "' have " + std::to_string(bytes) +
                      " bytes when they are joined, the limit is " + std::to_string(max_record_bytes));
    }
    PIRX_TRY(spool_head(result, reader.line, reader.key, bytes));
    PIRX_TRY(copy(reader.at_data(), reader.data_bytes));
    if (joined == distinct.joined.end()) continue;
    for (const auto other : joined->second) {
      const std::uint64_t begin = starts[other] + head, end = starts[other + 1];
      constexpr std::byte kNewline{'\n'};
      PIRX_TRY(result.append({&kNewline, 1}));
      SpoolReader from(records, begin, end);
      PIRX_TRY(copy(from, end - begin));
    }
  }
  PIRX_TRY(result.flush());
  return result;
}

Digest make_seed(const Digest& content, std::uint64_t number) {
  return sha256_of({as_bytes("pirx key filter seed v2"), content, std::as_bytes(std::span(&number, 1))});
}

Result<Digest> hash_content(const Spool& records, const Distinct& distinct) {
  KeyedContent content;
  Bytes data;
  KeyedReader reader(records);
  for (const bool dropped : distinct.dropped) {
    PIRX_TRY(reader.next());
    if (dropped) {
      reader.skip();
      continue;
    }
    data.resize(static_cast<std::size_t>(reader.data_bytes));
    PIRX_TRY(reader.data(data));
    content.add(reader.key, data);
  }
  return std::move(content).finish();
}

/// Hashes of the records that are kept, and what the report says of them.
Result<std::vector<HashedKey>> hash_keys(const Spool& records, const Distinct& distinct, const Digest& seed,
                                         BuildReport& report, const Progress& progress) {
  std::vector<HashedKey> hashed;
  hashed.reserve(distinct.count);
  report.longest_record = report.longest_position = report.payload_bytes = 0;
  KeyedReader reader(records, progress);
  for (std::uint64_t i = 0; i < distinct.dropped.size(); ++i) {
    PIRX_TRY(reader.next());
    reader.skip();
    if (distinct.dropped[i]) continue;
    if (hashed.empty() || reader.data_bytes > report.longest_record) {
      report.longest_record = reader.data_bytes;
      report.longest_position = i;
    }
    report.payload_bytes += reader.data_bytes;
    hashed.push_back({hash_key(seed, reader.key), i});
  }
  return hashed;
}

Result<std::uint64_t> choose_columns(Geometry::Spec spec, const BuildOptions& options) {
  if (options.records_per_row != 0) return std::min(options.records_per_row, spec.records);
  PIRX_ASSIGN(const Geometry single, Geometry::create(spec));
  return balanced_columns(single);
}

void add_into(std::byte* to, const std::byte* from, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) to[i] ^= from[i];
}

}  // namespace

Result<void> spool_keyed(Spool& spool, std::uint64_t line, std::string_view key, ByteSpan data) {
  PIRX_TRY(spool_head(spool, line, key, data.size()));
  return spool.append(data);
}

void KeyedContent::add(std::string_view key, ByteSpan data) {
  const std::uint64_t length = key.size();
  records_.push_back(sha256_of(
      {as_bytes("pirx keyed content v1"), std::as_bytes(std::span(&length, 1)), as_bytes(key), data}));
}

Digest KeyedContent::finish() && {
  std::sort(records_.begin(), records_.end());
  return sha256_of({std::as_bytes(std::span(records_))});
}

std::uint64_t balanced_columns(const Geometry& geometry) {
  const std::uint64_t keys = geometry.records();
  return std::min(keys, Geometry::balanced_records_per_row(keys + keys / 4, geometry.slot_bytes()));
}

bool computes_seed(const Digest& content, const Digest& seed) {
  for (std::uint64_t number = 0; number < kSeeds; ++number) {
    if (make_seed(content, number) == seed) return true;
  }
  return false;
}

Result<void> check_size(const BuildOptions& options, const BuildReport& report, const Layout& layout,
                        std::uint64_t most_file_bytes) {
  constexpr std::uint64_t kAlways = std::uint64_t{1} << 30, kMostTimes = 20;
  if (options.long_records) return {};
  const std::uint64_t bytes = layout.geometry.data_bytes();
  if (bytes > kAlways && bytes / kMostTimes > report.payload_bytes) {
    return fail(ErrorCode::kResourceExhausted,
                "the rows would take " + std::to_string(bytes >> 20) + " MiB, more than " +
                    std::to_string(kMostTimes) +
                    " times the records, as every slot has room for the longest one (" +
                    std::to_string(report.longest_record) +
                    " bytes): leave it out, or build with --max-record-bytes, how long records may be");
  }
  if (layout.file_bytes() <= most_file_bytes) return {};
  return fail(ErrorCode::kResourceExhausted,
              "the packed input would become a database of " + std::to_string(layout.file_bytes() >> 20) +
                  " MiB, more than " + std::to_string(most_file_bytes >> 20) +
                  " MiB: unpack it yourself, or say with --max-record-bytes how long records may be");
}

Result<KeyedRows> KeyedRows::build(const std::filesystem::path& target, const BuildOptions& options,
                                   KeySorter& keys, const Spool& spooled, std::uint64_t most_file_bytes,
                                   BuildReport& report) {
  PIRX_ASSIGN(const Distinct distinct, find_distinct(keys, spooled, options));
  if (distinct.count > kMaxKeys) {
    return fail(ErrorCode::kResourceExhausted, "a keyed database has at most " + std::to_string(kMaxKeys) +
                                                   " keys, not " + std::to_string(distinct.count));
  }
  std::optional<Spool> joined;
  if (!distinct.joined.empty()) {
    PIRX_ASSIGN(joined, join_repeated(target, spooled, distinct, options.max_record_bytes));
  }
  const Spool& records = joined ? *joined : spooled;
  Digest content{};
  if (!options.random_seed) {
    PIRX_ASSIGN(content, hash_content(records, distinct));
  }
  std::optional<KeyPlan> plan;
  std::uint64_t columns = 0;
  Geometry::Spec spec;
  for (std::uint64_t number = 0; number < kSeeds && !plan; ++number) {
    Digest seed = make_seed(content, number);
    if (options.random_seed) {
      PIRX_ASSIGN(auto rng, Rng::from_os());
      rng.fill(seed);
    }
    if (options.seed) seed = *options.seed;
    PIRX_ASSIGN(auto hashed, hash_keys(records, distinct, seed, report, options.progress));
    spec.records = distinct.count;
    // A database of empty records still has slots.
    spec.record_bytes = std::max<std::uint64_t>(report.longest_record, 1);
    spec.variable_length = options.fixed_record_bytes == 0;
    PIRX_ASSIGN(columns, choose_columns(spec, options));
    plan = plan_keys(hashed, columns, seed);
  }
  if (!plan) return fail(ErrorCode::kInternal, "no key filter was found for these keys; please report this");
  spec.records_per_row = columns;
  spec.filter = plan->filter;
  report.records = report.keys = distinct.count;
  report.duplicate_keys = distinct.repeated;

  PIRX_ASSIGN(const Geometry geometry, Geometry::create(spec));
  PIRX_ASSIGN(const Layout layout, Layout::plan(geometry, 0));
  PIRX_TRY(check_size(options, report, layout, most_file_bytes));
  PIRX_ASSIGN(KeyedRows rows, create(target, geometry));
  PIRX_TRY(rows.place(*plan, records, distinct.dropped.size(), options.progress));
  rows.settle(*plan);
  return rows;
}

Result<KeyedRows> KeyedRows::create(const std::filesystem::path& target, const Geometry& geometry) {
  PIRX_ASSIGN(const Spool scratch, Spool::create(target));
  const std::uint64_t bytes = geometry.rows() * geometry.row_bytes();
  int error = 0;
  // All of it at once: where the disk is full, writing to a map would kill the process.
  do {
    error = ::posix_fallocate(scratch.fd(), 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error != 0) {
    const Error cause = system_error("reserve space for", scratch.path(), error);
    return fail(cause.code(), cause.message() + " (it needs " + std::to_string(bytes) + " bytes)");
  }
  PIRX_ASSIGN(FileMap slots,
              FileMap::create(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, scratch.fd(), scratch.path()));
  return KeyedRows(geometry, std::move(slots));
}

Result<void> KeyedRows::place(const KeyPlan& plan, const Spool& records, std::uint64_t count,
                              const Progress& progress) {
  std::vector<std::uint64_t> homes(count, kDropped);
  for (std::uint64_t column = 0; column + 1 < plan.column_begin.size(); ++column) {
    for (std::uint64_t i = plan.column_begin[column]; i < plan.column_begin[column + 1]; ++i) {
      const KeyPlan::Step& step = plan.steps[i];
      homes[step.position] = column * geometry_.rows() + rows_of(step.row_hash, plan.filter)[step.own];
    }
  }
  PIRX_ASSIGN(const KeyFilter filter, KeyFilter::create(geometry_));
  KeyedReader reader(records, progress);
  for (const std::uint64_t home : homes) {
    PIRX_TRY(reader.next());
    if (home == kDropped) {
      reader.skip();
      continue;
    }
    const MutableByteSpan slot =
        slots_.bytes().subspan(home * geometry_.slot_bytes(), geometry_.slot_bytes());
    // The data is read to where fill_slot puts it.
    const MutableByteSpan data =
        slot.subspan(geometry_.slot_bytes() - geometry_.record_bytes(), reader.data_bytes);
    PIRX_TRY(reader.data(data));
    filter.fill_slot(reader.key, data, slot);
  }
  return {};
}

void KeyedRows::settle(const KeyPlan& plan) {
  parallel_for(thread_count(), geometry_.spec().records_per_row, [&](std::size_t column, std::size_t) {
    for (std::uint64_t i = plan.column_begin[column]; i < plan.column_begin[column + 1]; ++i) {
      const KeyPlan::Step& step = plan.steps[i];
      const auto rows = rows_of(step.row_hash, plan.filter);
      std::byte* own = at(column, rows[step.own]);
      for (std::size_t j = 0; j < rows.size(); ++j) {
        if (j != step.own) add_into(own, at(column, rows[j]), geometry_.slot_bytes());
      }
    }
  });
}

}  // namespace pirx::database
