// SPDX-License-Identifier: Apache-2.0
// Children of all kinds, and what they answer.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <optional>

#include "pirx/base/bytes.h"

namespace pirx::testing {

inline pid_t raw_clone(unsigned long flags) {
  return static_cast<pid_t>(syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

/// How a child ends (waitpid) that exits with 0 if `work` is true there, else with 1.
inline int status_of_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

/// What `answer` returns in a child that `fork_now` makes: at most a pipe full. Nothing where it cannot be
/// made.
inline std::optional<Bytes> in_child(const std::function<pid_t()>& fork_now,
                                     const std::function<Bytes()>& answer) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork_now();
  if (child == 0) {
    const Bytes bytes = answer();
    _exit(write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) ? 0 : 1);
  }
  close(ends[1]);
  Bytes bytes(4096);
  const auto size = child > 0 ? read(ends[0], bytes.data(), bytes.size()) : -1;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  if (size < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}
inline std::optional<Bytes> in_child(const std::function<Bytes()>& answer) { return in_child(fork, answer); }

/// The answers of a parent and its child that have the same process id, one behind the other: both are number
/// 1 of a pid namespace. Nothing where the system allows no namespaces.
inline std::optional<Bytes> with_equal_pids(const std::function<void()>& prepare,
                                            const std::function<Bytes()>& answer) {
  const auto fork_first = [] {
    const pid_t child = raw_clone(CLONE_NEWPID);
    return child >= 0 ? child : raw_clone(CLONE_NEWPID | CLONE_NEWUSER);
  };
  const auto both = in_child(fork_first, [&]() -> Bytes {
    prepare();
    auto child =
        in_child([] { return raw_clone(CLONE_NEWPID); }, [&] { return getpid() == 1 ? answer() : Bytes(); });
    const Bytes own = answer();
    if (!child || child->size() != own.size() || getpid() != 1) return {};
    child->insert(child->end(), own.begin(), own.end());
    return *child;
  });
  return both && !both->empty() ? both : std::nullopt;
}

}  // namespace pirx::testing
