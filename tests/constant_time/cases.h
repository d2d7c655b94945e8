// SPDX-License-Identifier: Apache-2.0
// The table of what is run with secrets marked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkmem.h"
#include "pirx/base/rng.h"

namespace pirx::constant_time {

struct Case {
  std::string name;    ///< the function, or what of it is meant
  std::string secret;  ///< what is marked
  /// Runs it. False: the marks got lost on the way, so nothing was checked, or the result is wrong.
  std::function<bool()> run;
};

// Functions of the library, which must not be reported.
void add_base_cases(std::vector<Case>& cases);
void add_database_cases(std::vector<Case>& cases);
void add_field_cases(std::vector<Case>& cases);
void add_itpir_cases(std::vector<Case>& cases);
void add_lattice_cases(std::vector<Case>& cases);
void add_number_cases(std::vector<Case>& cases);  ///< Damgard-Jurik, quadratic residuosity
void add_server_cases(std::vector<Case>& cases);  ///< tokens

/// Functions with a leak of one kind each, which must be reported.
std::vector<Case> controls();

/// Random bytes that are secret from the start.
struct HiddenRng {
  Rng rng = Rng::from_os().value();
  void fill(MutableByteSpan out) {
    rng.fill(out);
    checkmem::hide(out);
  }
};

}  // namespace pirx::constant_time
