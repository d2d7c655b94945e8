// SPDX-License-Identifier: Apache-2.0
// The n-th allocation of a query fails, for every n, in every protocol: in the client (its keys, queries and
// decoding) and in the server. What comes back is the right record or an error; no exception leaves. And of
// changes of a database: one that is refused has changed nothing, and comes again. The
// process goes on, but where there is no other way and it says so: GMP and OpenMP end it, and the hash and
// random bytes (which have no errors) end it by PIRX_CHECK.
//
//     allocation_faults [--all]
//
// Without --all only some n are tried. Every n has a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>

#include "pirx/database/builder.h"
#include "pirx/database/update.h"
#include "simulation/world.h"
#include "support/files.h"

namespace {
// The allocations until one fails; 0: none does.
long countdown = 0;
bool failed = false;

bool fails_now() {
  if (countdown == 0 || --countdown > 0) return false;
  failed = true;
  errno = ENOMEM;
  return true;
}
}  // namespace

// glibc's own, under the names that it has for this purpose.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void* malloc(std::size_t size) { return fails_now() ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) {
  return fails_now() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) { return fails_now() ? nullptr : __libc_realloc(memory, size); }
void* memalign(std::size_t alignment, std::size_t size) {
  return fails_now() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}

namespace pirx::simulation {
namespace {

/// What a child ends with.
enum Outcome : int { kRight = 0, kError = 1, kWrong = 2, kException = 3, kNotReached = 4 };

/// As a transport calls it: what a server has no memory for ends its pass, not the process.
std::vector<Result<Bytes>> answer(const AnyServer& server, ByteSpan request) {
  try {
    return server.answer({&request, 1});
  } catch (const std::bad_alloc&) {
    return {fail(ErrorCode::kResourceExhausted, "no memory")};
  }
}

constexpr std::uint64_t kPositions[] = {3, 5};

Result<Answer> look_up(const World& world, const AnyClient& client, std::span<const std::string> keys) {
  PIRX_ASSIGN(auto rng, Rng::from_os());
  PIRX_ASSIGN(auto retrieval, world.setting().keyed
                                  ? client.retrieve(keys, RetrieveOptions(), std::move(rng))
                                  : client.retrieve(kPositions, RetrieveOptions(), std::move(rng)));
  for (;;) {
    PIRX_ASSIGN(auto wave, retrieval->outgoing());
    if (wave.empty()) return std::move(*retrieval).finish();
    for (const auto& message : wave) {
      if (!retrieval->waiting()) break;
      const ByteSpan request = message.bytes;
      const auto replies = answer(world.server(message.server, kOld), request);
      if (replies.front()) {
        static_cast<void>(retrieval->receive(message.id, *replies.front()));
      } else {
        static_cast<void>(retrieval->lost(message.id, replies.front().error()));
      }
    }
  }
}

Outcome run_once(const World& world, const AnyClient* made, long n) {
  try {
    Result<Answer> answer = tl::unexpected(Error(ErrorCode::kInternal, ""));
    const std::vector<std::string> keys = {world.key(3), world.key(5)};
    const Texts options = world.client_options();
    countdown = n;
    if (made == nullptr) {
      const auto joined = join(*world.plan(kOld), {.loopback = true}, options);
      countdown = 0;
      return !failed ? kNotReached : joined ? kRight : kError;
    }
    answer = look_up(world, *made, keys);
    countdown = 0;
    if (!failed) return kNotReached;
    if (!answer) return kError;
    const bool right =
        answer->records[0] == world.record(kOld, 3) && answer->records[1] == world.record(kOld, 5);
    return right ? kRight : kWrong;
  } catch (...) {
    countdown = 0;
    return kException;
  }
}

std::string record_of(std::uint64_t i) { return "record " + std::to_string(i); }

/// Appends to a database of two records in a row, which has three and keys, and changes one.
Outcome update_once(const std::filesystem::path& path, long n) {
  constexpr std::uint64_t kBefore = 3, kAfter = 10;
  {
    auto builder = database::DatabaseBuilder::create(path, {.records_per_row = 2});
    require(builder.has_value(), "no builder");
    for (std::uint64_t i = 0; i < kBefore; ++i) {
      require(builder->add("key " + std::to_string(i), as_bytes(record_of(i))).has_value(), "not added");
    }
    require(builder->finish().has_value(), "not built");
  }
  try {
    auto update = database::DatabaseUpdate::begin(path);
    require(update.has_value(), "no update");
    countdown = n;
    for (std::uint64_t i = kBefore; i < kAfter;) {
      const auto done = update->append("key " + std::to_string(i), as_bytes(record_of(i)));
      if (done) {
        ++i;
      } else if (i + 1 == kAfter) {
        break;  // so that what is left of it shows
      }
    }
    const auto after = update->records();
    const bool set = update->set("key 0", as_bytes("new")).has_value();
    countdown = 0;
    if (!failed) return kNotReached;
    if (!update->commit()) return kWrong;
    const auto database = database::Database::open(path);
    if (!database || !(*database)->verify() || (*database)->geometry().records() != after) return kWrong;
    if (after + 1 < kAfter) return kWrong;
    for (std::uint64_t i = 0; i < after; ++i) {
      const auto found = (*database)->find("key " + std::to_string(i));
      if (!found || *found != i) return kWrong;
      const auto record = (*database)->record(i);
      if (!record || as_text(*record) != (i == 0 && set ? "new" : record_of(i))) return kWrong;
    }
    return kRight;
  } catch (...) {
    countdown = 0;
    return kException;
  }
}

/// Whether these last words say that a library had no memory and no way to say so to its caller.
bool is_stated(const std::string& words) {
  for (const char* known : {"GNU MP: Cannot", "libgomp: ", "(src/base/crypto_", "(src/base/rng.cc"}) {
    if (words.find(known) != std::string::npos) return true;
  }
  return false;
}

struct Tally {
  unsigned right = 0, error = 0, ended = 0, bad = 0;
};

/// Every n, or some of them, of what `what` says.
void try_all(const std::string& what, const std::function<Outcome(long)>& run_once, bool all, unsigned& bad) {
  Tally tally;
  for (long n = 1;; n += all || n < 40 ? 1 : n / 6) {
    int ends[2];
    require(::pipe(ends) == 0, "no pipe");
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      ::dup2(ends[1], 2);
      ::_exit(run_once(n));
    }
    ::close(ends[1]);
    std::string words(2000, '\0');
    const auto size = ::read(ends[0], words.data(), words.size());
    words.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    ::close(ends[0]);
    int status = 0;
    require(::waitpid(child, &status, 0) == child, "no child");
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNotReached) break;
    if (WIFEXITED(status) && WEXITSTATUS(status) == kRight) {
      ++tally.right;
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == kError && words.empty()) {
      ++tally.error;
    } else if (is_stated(words)) {
      ++tally.ended;
    } else {
      ++tally.bad;
      if (tally.bad <= 5) {
        std::printf("  %s, allocation %ld: %s %d: %s\n", what.c_str(), n,
                    WIFEXITED(status) ? "exit" : "signal",
                    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), words.c_str());
      }
    }
  }
  std::printf("%-45s %5u right, %5u errors, %5u ended by a library, %u bad\n", what.c_str(), tally.right,
              tally.error, tally.ended, tally.bad);
  bad += tally.bad;
}

int run(bool all) {
  unsigned bad = 0;
  const pirx::testing::TemporaryFolder folder;
  try_all(
      "changes of a database", [&](long n) { return update_once(folder / "db", n); }, true, bad);
  std::map<std::string, bool> seen;
  for (const auto& setting : settings()) {
    // One setting of each protocol, plain and keyed.
    if (!std::exchange(seen[std::string(setting.protocol->name) + (setting.keyed ? " keyed" : "")], true)) {
      const World world(setting);
      const auto client = world.join(kOld);
      require(client.has_value(), "no client");
      const auto try_client = [&](const char* what, const AnyClient* made) {
        try_all(
            setting.name() + what, [&](long n) { return run_once(world, made, n); }, all, bad);
      };
      try_client(", making a client", nullptr);
      try_client(", a look-up", client->get());
    }
  }
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace pirx::simulation

int main(int count, char** texts) {
  // A child of fork lacks the threads of its parent, which OpenMP would wait for.
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    ::setenv("OMP_NUM_THREADS", "1", 1);
    ::execv("/proc/self/exe", texts);
  }
  return pirx::simulation::run(count > 1 && std::strcmp(texts[1], "--all") == 0);
}
