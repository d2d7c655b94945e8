// SPDX-License-Identifier: Apache-2.0
// Runs a command and writes its writable private memory to a file at the moment when it exits, as a core dump
// then would, pages that dumps leave out included.
//
//     dump_at_exit FILE COMMAND...
//
// Exits as the command does; 77 where the system forbids tracing.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr int kNotPermitted = 77;

void dump(pid_t pid, const char* path) {
  const auto folder = "/proc/" + std::to_string(pid);
  std::ifstream maps(folder + "/maps");
  std::ofstream out(path, std::ios::binary);
  const int memory = open((folder + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<char> piece(std::size_t{1} << 20);
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    char flags[5] = {};
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, flags) != 3) continue;
    if (std::string(flags) != "rw-p") continue;
    while (begin < end) {
      const auto got = pread(memory, piece.data(), std::min<unsigned long long>(end - begin, piece.size()),
                             static_cast<off_t>(begin));
      if (got <= 0) break;
      out.write(piece.data(), got);
      begin += static_cast<unsigned long long>(got);
    }
  }
  close(memory);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  const pid_t pid = fork();
  if (pid == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kNotPermitted);
    raise(SIGSTOP);
    execv(argv[2], argv + 2);
    _exit(1);
  }
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) return kNotPermitted;
  if (ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL) != 0) {
    return kNotPermitted;
  }
  for (long signal = 0; ptrace(PTRACE_CONT, pid, nullptr, signal) == 0;) {
    if (waitpid(pid, &status, 0) != pid) return 1;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (!WIFSTOPPED(status)) return 1;
    const bool exiting = status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8);
    if (exiting) dump(pid, argv[1]);
    signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
  }
  return 1;
}
