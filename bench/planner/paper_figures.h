// The figures of papers 001 (Unal and Savas 2014) and 004 (Sion and Carbunar 2007) that follow from formulas,
// recomputed, beside what is printed there and why the two differ where they do.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pirx::planner {

struct PaperFigure {
  std::string table;  ///< "001 Table 2"
  std::string row, column;
  std::string unit;
  double computed = 0;
  std::optional<double> printed = {};
  std::string remark = {};  ///< why it differs, where it does
};

/// Tables 1, 2, 4 to 7 and the figures of the text, of 001; equations (2) and (4), Figures 2 to 4 and the
/// thresholds of the text, of 004.
std::vector<PaperFigure> paper_figures();

/// The tables' own ingredients, for tests. Bits that client and server exchange for a tree of `levels` levels
/// of `arity` children, `chunks` ciphertexts in the reply, k-bit N: section 4.5 of 001.
double tree_bits(unsigned arity, unsigned levels, double chunks, double k);
/// Seconds of a k-bit modular multiplication on so many instructions a second: equation (2) of 004, with
/// 5-bit digits.
double multiplication_seconds(double k, double instructions);
/// Bits a second below which one query to n bits is faster than their download: equation (4) of 004 with
/// both directions counted.
double break_even_bandwidth(double n, double k, double multiplication);

}  // namespace pirx::planner
