// SPDX-License-Identifier: Apache-2.0
// Runs the table under valgrind, or as a program that MemorySanitizer instruments.
//   constant_time [--only TEXT]   the cases (whose name has TEXT in it); fails if one is reported
//   constant_time --controls      the planted leaks; fails if one is not reported
//   constant_time --list          the names of the cases and what is secret in them
#include <cstdio>
#include <string_view>

#include "cases.h"

namespace {

using namespace pirx;
using constant_time::Case;

bool memcheck() { return std::string_view(checkmem::tool()) == "memcheck"; }

/// MemorySanitizer does not follow marks into the upper half of a product, nor through GMP, which is not
/// compiled for it: there a quarter of the cases may lose them.
int run_cases(const std::vector<Case>& cases, std::string_view only) {
  std::size_t leaking = 0, lost = 0, run = 0;
  for (const auto& one : cases) {
    if (one.name.find(only) == std::string::npos) continue;
    ++run;
    bool marked = false, leaks = false;
    const auto work = [&] { marked = one.run(); };
    if (memcheck()) {
      leaks = checkmem::reported(work);
    } else {
      work();  // MemorySanitizer prints its reports, and they fail the process when it ends
    }
    const char* verdict = leaks ? "LEAKS" : marked ? "ok" : "MARKS LOST, OR A WRONG RESULT";
    std::printf("%-58s %s\n", one.name.c_str(), verdict);
    std::fflush(stdout);
    leaking += leaks ? 1 : 0;
    lost += marked ? 0 : 1;
  }
  std::printf("%zu cases, %zu leak, %zu lose their marks\n", run, leaking, lost);
  return leaking == 0 && lost <= (memcheck() ? 0 : run / 4) && run != 0 ? 0 : 1;
}

int run_controls() {
  std::size_t missed = 0;
  const auto controls = constant_time::controls();
  for (const auto& one : controls) {
    // MemorySanitizer looks neither at lengths nor at addresses that memcpy gets.
    if (!memcheck() &&
        (one.name == "memcpy of a secret length" || one.name == "a record cut out at its offset")) {
      std::printf("%-58s LEFT OUT\n", one.name.c_str());
      continue;
    }
    const bool caught = checkmem::reported([&] { static_cast<void>(one.run()); });
    std::printf("%-58s %s\n", one.name.c_str(), caught ? "caught" : "MISSED");
    missed += caught ? 0 : 1;
  }
  // A case whose result does not depend on its secret is wrong, too.
  const std::vector<Case> lost{{"a case that loses its marks", "a byte", [] {
                                  unsigned char secret = 1;
                                  checkmem::hide(secret);
                                  secret &= 0;
                                  return checkmem::hidden(secret);
                                }}};
  std::printf("the next line must say that marks are lost:\n");
  missed += run_cases(lost, "") == 0 ? 1 : 0;
  std::printf("%zu controls, %zu missed\n", controls.size() + lost.size(), missed);
  return missed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Case> cases;
  constant_time::add_base_cases(cases);
  constant_time::add_database_cases(cases);
  constant_time::add_field_cases(cases);
  constant_time::add_itpir_cases(cases);
  constant_time::add_lattice_cases(cases);
  constant_time::add_number_cases(cases);
  constant_time::add_server_cases(cases);
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word == "--list") {
    for (const auto& one : cases) std::printf("%s | %s\n", one.name.c_str(), one.secret.c_str());
    return 0;
  }
  if (std::string_view(checkmem::tool()).empty()) {
    std::puts("no tool follows the marks: run it under valgrind");
    return 2;
  }
  if (word == "--controls") return run_controls();
  return run_cases(cases, word == "--only" && argc > 2 ? argv[2] : "");
}
