// SPDX-License-Identifier: Apache-2.0
// Reads and writes the log's folder. The tree head is written last, in one step. Entries beyond it are left
// over from an append that was cut short, and do not count.
#include "log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "files.h"
#include "pirx/database/builder.h"
#include "pirx/database/update.h"

namespace pirx::ct {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kContentBytes = 80, kCheckBytes = 8, kEntryBytes = kContentBytes + kCheckBytes;

fs::path entries_file(const fs::path& folder) { return folder / "entries"; }
fs::path head_file(const fs::path& folder) { return folder / "head.json"; }
/// While an append is under way: how many entries there were before. A crash may leave it.
fs::path appending_file(const fs::path& folder) { return folder / "appending"; }
fs::path key_file(const fs::path& folder) { return folder / "key.pem"; }
fs::path public_key_file(const fs::path& folder) { return folder / "public.pem"; }

Entry make_entry(ByteSpan der, std::uint64_t timestamp, std::uint64_t not_after) {
  return {sha256(der), leaf_hash(merkle_tree_leaf(timestamp, der)), timestamp, not_after};
}

tl::unexpected<Error> system_error(const char* what, const fs::path& path) {
  return fail(errno == ENOSPC ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
              std::string("cannot ") + what + " " + path.string() + ": " + std::strerror(errno));
}

/// Appends entries behind those that the last head covers. Its file is locked for as long as it lives.
class EntryWriter {
 public:
  static Result<EntryWriter> open(const fs::path& path) {
    File file(std::fopen(path.c_str(), "abe"), &std::fclose);
    if (!file) return system_error("write", path);
    if (::flock(fileno(file.get()), LOCK_EX | LOCK_NB) != 0) {
      return fail(ErrorCode::kUnavailable, "another ct-log appends to " + path.string());
    }
    return EntryWriter(path, std::move(file));
  }
  Result<void> begin_behind(std::uint64_t entries) {
    const bool cut = ::ftruncate(fileno(file_.get()), static_cast<off_t>(entries * kEntryBytes)) == 0;
    return cut ? Result<void>() : system_error("write", path_);
  }
  void add(const Entry& entry) {
    Writer writer(kEntryBytes);
    writer.put_bytes(entry.fingerprint);
    writer.put_bytes(entry.leaf);
    writer.put(entry.timestamp);
    writer.put(entry.not_after);
    auto bytes = std::move(writer).take();
    const auto digest = sha256(bytes);
    bytes.insert(bytes.end(), digest.begin(), digest.begin() + kCheckBytes);
    written_ = written_ && std::fwrite(bytes.data(), bytes.size(), 1, file_.get()) == 1;
  }
  Result<void> finish() {
    const bool synced = written_ && std::fflush(file_.get()) == 0 && ::fsync(fileno(file_.get())) == 0;
    return synced ? Result<void>() : system_error("write", path_);
  }

 private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  EntryWriter(fs::path path, File file) : path_(std::move(path)), file_(std::move(file)) {}
  fs::path path_;
  File file_;
  bool written_ = true;
};

/// Entries behind the last head are those of an append that did not end. Where none is known, it is the head
/// that is too old, or lost.
Result<void> check_remains(const fs::path& folder, std::uint64_t entries) {
  std::error_code error;
  const auto bytes = fs::file_size(entries_file(folder), error);
  if (!error && bytes <= entries * kEntryBytes) return {};
  const auto begun = read_file(appending_file(folder), 20);
  if (begun && *begun == std::to_string(entries)) return {};
  return fail(ErrorCode::kDataLoss, entries_file(folder).string() + " holds more than " +
                                        head_file(folder).string() + " says: put the newest tree head back");
}

/// As far as it can: some file systems do not.
void sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

/// Forgets, as far as it can, an append that has ended.
void forget_append(const fs::path& folder) {
  std::error_code none;
  fs::remove(appending_file(folder), none);
  sync_folder(folder);
}

/// An append from fewer entries than the head has came to its end, and a crash left its mark. With an older
/// head put back, the mark would have entries cut that were acknowledged.
void forget_ended_append(const fs::path& folder, std::uint64_t entries) {
  std::error_code none;
  if (!fs::exists(appending_file(folder), none)) return;
  const auto lock = EntryWriter::open(entries_file(folder));
  const auto begun = read_file(appending_file(folder), 20);
  if (lock && begun && std::strtoull(begun->c_str(), nullptr, 10) < entries) forget_append(folder);
}

/// Checks every time that the entries are as they were written and make the root of the head: they may have
/// changed since the last time. The root covers their leaves alone.
Result<void> visit_entries(const fs::path& path, const TreeHead& head,
                           const std::function<Result<void>(std::uint64_t, const Entry&)>& visit) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return system_error("open", path);
  std::array<std::byte, kEntryBytes> bytes;
  TreeRoot root;
  for (std::uint64_t index = 0; index < head.tree_size; ++index) {
    if (!file.read(reinterpret_cast<char*>(bytes.data()), bytes.size())) {
      return fail(ErrorCode::kDataLoss, path.string() + " is shorter than the tree head says");
    }
    const auto content = ByteSpan(bytes).first(kContentBytes);
    if (!std::equal(bytes.begin() + kContentBytes, bytes.end(), sha256(content).begin())) {
      return fail(ErrorCode::kDataLoss, path.string() + ": entry " + std::to_string(index) +
                                            " is damaged, or of an earlier pirx, whose logs are made anew");
    }
    Reader reader(content, "entry of the log");
    Entry entry;
    PIRX_TRY(reader.read(entry.fingerprint));
    PIRX_TRY(reader.read(entry.leaf));
    PIRX_ASSIGN(entry.timestamp, reader.get<std::uint64_t>());
    PIRX_ASSIGN(entry.not_after, reader.get<std::uint64_t>());
    root.add(entry.leaf);
    PIRX_TRY(visit(index, entry));
  }
  if (head.tree_size == 0 || root.root() == head.root) return {};
  return fail(ErrorCode::kDataLoss, path.string() + " is damaged: it does not make the signed root");
}

/// Takes every entry in order and gives (index, entry, record) of each subtree of 2^levels leaves once it is
/// complete.
class ProofStream {
 public:
  using Sink = std::function<Result<void>(std::uint64_t index, const Entry& entry, const Bytes& record)>;
  ProofStream(unsigned levels, Sink sink) : levels_(levels), sink_(std::move(sink)) {}
  Result<void> add(const Entry& entry) {
    subtree_.push_back(entry);
    return subtree_.size() < std::uint64_t{1} << levels_ ? Result<void>() : flush();
  }
  Result<void> finish() { return subtree_.empty() ? Result<void>() : flush(); }
  std::vector<Digest> roots() && { return std::move(roots_); }
  /// Of subtrees that end before `index` only the first two records are made, which hold the hashes of all
  /// leaves but their own, and given to `check`.
  void skip_before(std::uint64_t index, Sink check) {
    wanted_from_ = index;
    check_ = std::move(check);
  }

 private:
  Result<void> flush() {
    std::vector<Digest> leaves;
    leaves.reserve(subtree_.size());
    for (const auto& entry : subtree_) leaves.push_back(entry.leaf);
    const MerkleTree tree(std::move(leaves));
    roots_.push_back(tree.root());
    const bool wanted = first_ + subtree_.size() > wanted_from_;
    for (std::uint64_t i = 0; i < (wanted ? subtree_.size() : std::min<std::size_t>(2, subtree_.size()));
         ++i) {
      const auto record =
          encode_proof_record({subtree_[i].timestamp, first_ + i, tree.inclusion_proof(i)}, levels_);
      PIRX_TRY((wanted ? sink_ : check_)(first_ + i, subtree_[i], record));
    }
    first_ += subtree_.size();
    subtree_.clear();
    return {};
  }
  unsigned levels_;
  Sink sink_, check_;
  std::vector<Entry> subtree_;
  std::vector<Digest> roots_;
  std::uint64_t first_ = 0, wanted_from_ = 0;
};

/// That records are those of a database by index.
ProofStream::Sink equals_record_of(const database::Database& database, const fs::path& file) {
  return [&](std::uint64_t index, const Entry&, const Bytes& record) -> Result<void> {
    PIRX_ASSIGN(const auto there, database.record(index));
    if (std::equal(there.begin(), there.end(), record.begin(), record.end())) return {};
    return invalid(file.string() + " is of another log: choose another name, or remove it");
  };
}

/// Whether a create() that was cut short may have left it: it writes the key last, and nothing was signed
/// without.
bool is_left_over(const fs::directory_entry& file) {
  const auto name = file.path().filename().string();
  std::error_code error;
  if (name.starts_with("public.pem") || name.starts_with("appending")) return true;
  return (name == "key.pem" || name.starts_with("entries")) && fs::is_empty(file.path(), error) && !error;
}

/// The database at the target; null when there is no such file.
Result<std::shared_ptr<const database::Database>> old_database(const fs::path& target) {
  auto old = database::Database::open_if_there(target);
  if (!old) {
    if (old.error().code() == ErrorCode::kUnavailable) return tl::unexpected(old.error());
    return invalid(target.string() + " exists and cannot be replaced (" + old.error().message() +
                   "): restore it, or choose another name, for a new database has epoch 1 again");
  }
  return old;
}

}  // namespace

Result<void> Log::create(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail(ErrorCode::kUnavailable, "cannot create " + folder.string() + ": " + error.message());
  sync_folder(folder / "..");  // or a power failure takes the folder with all that is in it
  PIRX_ASSIGN(const auto lock, lock_folder(key_file(folder)));
  std::vector<fs::directory_entry> files;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    files.push_back(*at);
  }
  // The entries come first: a public key alone is somebody's.
  const bool begun = std::any_of(files.begin(), files.end(), [](const auto& file) {
    return file.path().filename().string().starts_with("entries");
  });
  if (error || (!files.empty() && !begun) || !std::all_of(files.begin(), files.end(), is_left_over)) {
    return invalid(folder.string() + " is not empty: a new log takes an empty folder");
  }
  PIRX_ASSIGN(const auto key, SigningKey::generate());
  PIRX_TRY(replace_file(entries_file(folder), ""));
  PIRX_TRY(replace_file(public_key_file(folder), key.public_pem()));
  fs::remove(key_file(folder), error);
  return key.save(key_file(folder));
}

Result<Log> Log::open(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(head_file(folder), error)) {
    if (!fs::exists(entries_file(folder), error)) {
      return fail(ErrorCode::kUnavailable, folder.string() + " holds no log; 'ct-log create' makes one");
    }
    return Log(folder, TreeHead{});
  }
  PIRX_ASSIGN(const auto text, read_file(head_file(folder), kMaxHeadBytes));
  PIRX_ASSIGN(auto head, parse_tree_head(text));
  PIRX_ASSIGN(const auto key, LogKey::load(public_key_file(folder)));
  PIRX_TRY(key.verify(head));
  PIRX_TRY(
      visit_entries(entries_file(folder), head, [](std::uint64_t, const Entry&) { return Result<void>(); }));
  forget_ended_append(folder, head.tree_size);
  return Log(folder, std::move(head));
}

Result<Log::Appended> Log::append(std::span<const Certificate> certificates, std::uint64_t fill,
                                  std::uint64_t now) {
  if (now < head_.timestamp) {
    return invalid("the last tree head is of " + format_time(head_.timestamp) +
                   ", and time does not go back: see to the clock");
  }
  PIRX_ASSIGN(auto writer, EntryWriter::open(entries_file(folder_)));
  std::error_code none;
  const auto latest =
      fs::exists(head_file(folder_), none) ? read_file(head_file(folder_), kMaxHeadBytes) : std::string();
  if (!latest) return tl::unexpected(latest.error());
  if (*latest != (head_.tree_size == 0 ? std::string() : format_tree_head(head_))) {
    return fail(ErrorCode::kUnavailable, "the log has grown meanwhile: try again");
  }
  PIRX_TRY(check_remains(folder_, head_.tree_size));
  PIRX_TRY(replace_file(appending_file(folder_), std::to_string(head_.tree_size)));
  PIRX_TRY(writer.begin_behind(head_.tree_size));
  PIRX_ASSIGN(const auto key, SigningKey::load(key_file(folder_)));
  PIRX_ASSIGN(const auto generator, CertificateGenerator::create());
  TreeRoot root;
  std::vector<Digest> known;
  PIRX_TRY(for_each([&](std::uint64_t, const Entry& entry) {
    root.add(entry.leaf);
    if (!certificates.empty()) known.push_back(entry.fingerprint);
    return Result<void>();
  }));
  std::sort(known.begin(), known.end());

  Appended report;
  std::vector<Digest> added;
  for (const auto& certificate : certificates) {
    const Entry entry = make_entry(certificate.der, now, certificate.not_after);
    const auto at = std::lower_bound(added.begin(), added.end(), entry.fingerprint);
    if (std::binary_search(known.begin(), known.end(), entry.fingerprint) ||
        (at != added.end() && *at == entry.fingerprint)) {
      ++report.known;
      continue;
    }
    added.insert(at, entry.fingerprint);
    writer.add(entry);
    root.add(entry.leaf);
    ++report.added;
  }
  // Numbered by their leaves: different from one another, and from those of earlier calls.
  for (; root.size() < fill; ++report.added) {
    const Entry entry = make_entry(generator.make(root.size()), now, generator.not_after());
    writer.add(entry);
    root.add(entry.leaf);
  }
  if (root.size() == 0) return invalid("nothing to append: give certificates, or --fill");
  PIRX_TRY(writer.finish());
  TreeHead head{.timestamp = now, .tree_size = root.size(), .root = root.root()};
  PIRX_TRY(key.sign(head));
  PIRX_TRY(replace_file(head_file(folder_), format_tree_head(head)));
  forget_append(folder_);
  head_ = std::move(head);
  return report;
}

Result<void> Log::for_each(const std::function<Result<void>(std::uint64_t, const Entry&)>& visit) const {
  return visit_entries(entries_file(folder_), head_, visit);
}

Result<MerkleTree> Log::tree() const {
  std::vector<Digest> leaves;
  PIRX_TRY(for_each([&leaves](std::uint64_t, const Entry& entry) {
    leaves.push_back(entry.leaf);
    return Result<void>();
  }));
  if (leaves.empty()) return invalid("the log is empty: 'ct-log append' comes first");
  return MerkleTree(std::move(leaves));
}

Result<std::optional<std::uint64_t>> Log::find(const Digest& fingerprint) const {
  std::optional<std::uint64_t> found;
  PIRX_TRY(for_each([&](std::uint64_t index, const Entry& entry) {
    if (!found && entry.fingerprint == fingerprint) found = index;
    return Result<void>();
  }));
  return found;
}

Result<DatabaseReport> Log::build_database(const fs::path& target, const DatabaseOptions& options) const {
  if (head_.tree_size == 0) {
    return invalid("the log is empty: 'ct-log append' comes first");
  }
  if (options.levels == 0 || options.levels > kMaxLevels) {
    return invalid("levels is 1 to " + std::to_string(kMaxLevels));
  }
  if (options.by_index && options.unexpired_at) {
    return invalid("by index, every leaf keeps its position: expired certificates cannot be left out");
  }
  PIRX_ASSIGN(const auto old, old_database(target));
  if (old != nullptr && old->geometry().keyed() == options.by_index) {
    return invalid(target.string() + " is a database " + (options.by_index ? "by key" : "by index") +
                   ": choose another name, or remove it");
  }
  std::uint64_t left_out = 0, changed = 0;
  std::optional<database::DatabaseBuilder> builder;
  std::optional<database::DatabaseUpdate> update;
  const auto sink = [&](std::uint64_t index, const Entry& entry, const Bytes& record) -> Result<void> {
    if (options.unexpired_at && entry.not_after < *options.unexpired_at) {
      ++left_out;
      return {};
    }
    ++changed;
    if (update)
      return index < update->before().geometry().records() ? update->set(index, record)
                                                           : update->append(record);
    return options.by_index ? builder->add(record) : builder->add(certificate_key(entry.fingerprint), record);
  };
  ProofStream proofs(options.levels, sink);
  if (options.by_index && old != nullptr) {
    const auto& geometry = old->geometry();
    if (geometry.record_bytes() != proof_record_bytes(options.levels) ||
        geometry.records() > head_.tree_size) {
      return invalid(target.string() + " has other levels, or more records than the log");
    }
    // Complete subtrees stay as they are; the one that the old tree ended in has grown, if it was not
    // complete.
    proofs.skip_before(geometry.records(), equals_record_of(*old, target));
    PIRX_ASSIGN(update, database::DatabaseUpdate::begin(target));
    if (update->before().version() != old->version()) {
      return fail(ErrorCode::kUnavailable, target.string() + " has changed meanwhile: try again");
    }
  } else {
    if (old != nullptr && old->version().epoch == ~std::uint64_t{0}) {
      return invalid(target.string() + " has the last epoch that there can be: choose another name");
    }
    PIRX_ASSIGN(builder, database::DatabaseBuilder::create(
                             target, {.epoch = old == nullptr ? 1 : old->version().epoch + 1,
                                      .replaces = old == nullptr ? database::Version() : old->version(),
                                      .fixed_record_bytes = proof_record_bytes(options.levels),
                                      .keyed = !options.by_index,
                                      .duplicates = database::Duplicates::kFirst}));
  }
  PIRX_TRY(for_each([&](std::uint64_t, const Entry& entry) { return proofs.add(entry); }));
  PIRX_TRY(proofs.finish());
  if (update && changed > 0) PIRX_TRY(update->commit());
  if (builder) PIRX_TRY(builder->finish());
  PIRX_ASSIGN(const auto built, database::Database::open(target));
  return DatabaseReport{
      built->geometry().records(),
      left_out,
      changed,
      built->file_bytes(),
      {head_, options.levels, std::move(proofs).roots(), built->geometry(), built->version()}};
}

Result<Publication> Log::publish(const fs::path& path, bool unchecked) const {
  PIRX_ASSIGN(const auto db, database::Database::open(path));
  const auto& geometry = db->geometry();
  const std::uint64_t hashes = geometry.record_bytes() / sizeof(Digest);
  if (hashes == 0 || hashes > kMaxLevels ||
      geometry.record_bytes() != proof_record_bytes(static_cast<unsigned>(hashes))) {
    return invalid(path.string() + " is no database of proofs");
  }
  if (geometry.keyed() && !unchecked) {
    return invalid(path.string() +
                   " is keyed and does not say which tree it is of: 'ct-log database' makes it and its head "
                   "anew, --unchecked takes it for the latest one's");
  }
  if (!geometry.keyed() && geometry.records() != head_.tree_size) {
    return fail(ErrorCode::kStaleEpoch,
                path.string() + " is not of the latest tree head: 'ct-log database' updates it");
  }
  const auto levels = static_cast<unsigned>(hashes);
  const auto ignore = [](std::uint64_t, const Entry&, const Bytes&) { return Result<void>(); };
  ProofStream proofs(levels, ignore);
  proofs.skip_before(~std::uint64_t{0},
                     geometry.keyed() ? ProofStream::Sink(ignore) : equals_record_of(*db, path));
  PIRX_TRY(for_each([&](std::uint64_t, const Entry& entry) { return proofs.add(entry); }));
  PIRX_TRY(proofs.finish());
  return Publication{head_, levels, std::move(proofs).roots(), geometry, db->version()};
}

}  // namespace pirx::ct
