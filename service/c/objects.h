// SPDX-License-Identifier: Apache-2.0
// The objects behind the handles of <pirx/pirx.h>, and how its functions report errors.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pirx/client/deployment.h"
#include "pirx/client/work.h"
#include "pirx/pirx.h"
#include "pirx/protocol.h"
#include "src/base/process.h"
#include "src/base/wanted_keys.h"

namespace pirx::c {

/// What a handle stands for.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};

struct DeploymentObject : Object {
  std::vector<client::Deployment> deployments;  ///< never empty
  std::vector<std::string> protocols;           ///< their names
};

struct ClientObject : Object {
  client::Deployment deployment;
  std::vector<http::Address> addresses;
  std::vector<std::string> query_paths;
  Texts options;
  std::string warning;
  /// The client half, made at the first look-up, which `stop` may end.
  Result<std::shared_ptr<const AnyClient>> join(const Stop& stop) const;
  mutable std::mutex join_mutex;  ///< of `joined`
  mutable std::shared_ptr<const AnyClient> joined;
  /// Drives look-ups over HTTP. Null in a library without an HTTP client.
  class Http;
  static std::shared_ptr<Http> make_http();
  const std::shared_ptr<Http> http = make_http();
  const std::uint64_t process = process_token();  ///< that made it
  /// InvalidArgument: this is a child of fork, and the connections and keys are its parent's.
  Result<void> check_process() const;
};

struct RetrievalObject : Object {
  std::mutex busy;  ///< held by every call
  std::shared_ptr<const ClientObject> client;
  std::shared_ptr<const AnyClient> joined;  ///< outlives the retrieval
  std::unique_ptr<Retrieval> retrieval;     ///< null once it has failed or is finished
  bool done = false;                        ///< nothing is left to ask
  /// All messages, which their readers may look at until the object is freed. The last vector is the round.
  std::vector<std::vector<Message>> rounds;
  std::uint64_t first_id = 0;      ///< of the round's first message
  std::size_t handed_out = 0;      ///< messages of the round
  std::vector<bool> settled;       ///< those of the round whose reply came or was lost
  std::vector<std::string> blame;  ///< what was wrong with each server's latest bad reply
  // When decoding the replies of several servers has to end (in_time() in retrieval.cc).
  using Clock = std::chrono::steady_clock;
  std::chrono::milliseconds deadline{0};  ///< for each round; 0: none
  Clock::duration decoded{0};             ///< the time that it has taken so far
  std::shared_ptr<std::atomic<Clock::time_point>> end =
      std::make_shared<std::atomic<Clock::time_point>>(Clock::time_point::max());
};

struct AnswerObject : Object {
  explicit AnswerObject(Answer found);
  const Answer answer;
  std::vector<bool> found;  ///< for each wish
};

/// The object of each handle that C programs hold. A handle is a number that looks like a pointer: it is
/// never followed and never given out again, so that whatever a program passes is only looked up.
/// Thread-safe.
std::uintptr_t add_object(std::shared_ptr<Object> object);
std::shared_ptr<Object> find_object(std::uintptr_t handle) noexcept;
std::shared_ptr<Object> take_object(std::uintptr_t handle) noexcept;

/// Remembers an error as the last one of this thread.
pirx_status report(pirx_status status, std::string_view message) noexcept;
inline pirx_status report(const Error& error) noexcept {
  return report(static_cast<pirx_status>(error.code()), error.message());
}

/// Calls `work`, which gives a Result<void>, and reports its error. No exception leaves.
template <class Work>
pirx_status guarded(const Work& work) noexcept {
  try {
    const Result<void> done = work();
    return done ? PIRX_OK : report(done.error());
  } catch (const std::bad_alloc&) {
    return report(PIRX_RESOURCE_EXHAUSTED, "out of memory");
  } catch (const std::exception& error) {
    return report(PIRX_INTERNAL, error.what());
  } catch (...) {
    return report(PIRX_INTERNAL, "an exception of unknown kind, perhaps of the caller's function");
  }
}

/// InvalidArgument if one of these pointers of the caller's is null.
template <class... Pointers>
Result<void> check_not_null(const Pointers*... pointers) {
  if ((... || !pointers)) return invalid("a pointer that is needed is NULL");
  return {};
}

/// The object of a handle. InvalidArgument: there is none, or it is of another kind.
template <class T, class Handle>
Result<std::shared_ptr<T>> object_of(Handle* handle) {
  if (handle == nullptr) return invalid("the object is NULL");
  auto object = std::dynamic_pointer_cast<T>(find_object(reinterpret_cast<std::uintptr_t>(handle)));
  if (object == nullptr) return invalid("there is no such object: it was freed, or is of another kind");
  return object;
}

/// Writes what `read` gives for the object of a handle, a value or a Result of one, to `out`.
template <class T, class Handle, class Out, class Read>
pirx_status tell(const Handle* handle, Out* out, const Read& read) noexcept {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto object, object_of<const T>(handle));
    PIRX_TRY(check_not_null(out));
    PIRX_ASSIGN(*out, Result<Out>(read(*object)));
    return {};
  });
}

template <class Handle>
void give(std::shared_ptr<Object> object, Handle** handle) {
  *handle = reinterpret_cast<Handle*>(add_object(std::move(object)));
}

template <class T, class Handle>
pirx_status free_object(Handle* handle) noexcept {
  if (handle == nullptr) return PIRX_OK;
  return guarded([&]() -> Result<void> {
    PIRX_TRY(object_of<T>(handle));
    // Another thread may have been faster.
    if (take_object(reinterpret_cast<std::uintptr_t>(handle)) == nullptr) return invalid("freed twice");
    return {};
  });
}

/// Checked options of a look-up.
struct LookUp {
  RetrieveOptions retrieve = {};
  client::WorkLimits limits = {};
  std::optional<std::chrono::milliseconds> deadline = {};
};
Result<LookUp> read_options(const pirx_options* options);

/// The caller's wishes. InvalidArgument: a null pointer, or a wrong count.
Result<std::span<const std::uint64_t>> read_positions(const std::uint64_t* positions, std::size_t count);
Result<WantedKeys> read_keys(const pirx_bytes* keys, std::size_t count);

}  // namespace pirx::c
