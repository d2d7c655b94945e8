#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Known answers of the papers' formulas (bench/planner/paper_figures.py)."""
import json
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "bench/planner/paper_figures.py"
sys.path.insert(0, str(PROGRAM.parent))
from paper_figures import break_even_bandwidth, figures, multiplication_seconds, tree_bits  # noqa: E402

ALL = figures()


def computed(*names):
    (figure,) = (figure for figure in ALL if figure[:3] == names)
    return figure.computed


class Paper(unittest.TestCase):
    def near(self, value, expected, error):
        self.assertAlmostEqual(value, expected, delta=error)

    def test_formulas_have_known_answers(self):
        self.assertEqual(tree_bits(8, 3, 1, 1024), 68608)
        self.assertEqual(tree_bits(2, 12, 1, 1024), 105472)
        self.assertEqual(tree_bits(8, 4, 1, 1024), 105472)
        self.near(1e-6 / multiplication_seconds(1024, 11000e6), .2623, 5e-5)
        self.near(1e-6 / multiplication_seconds(1024, 7500e6), .1788, 5e-5)
        self.near(break_even_bandwidth(8e7, 1024, 1 / .273e6), 210.5e3, 50)
        self.near(break_even_bandwidth(8e6, 1024, 1 / .273e6), 75.3e3, 50)

    def test_bandwidths_of_001(self):
        """The two misprints of Table 2, and no others."""
        table = [figure for figure in ALL if figure.table == "001 Table 2"]
        self.assertEqual(len(table), 16)
        self.assertEqual({(figure.column, figure.row) for figure in table if figure.printed != figure.computed},
                         {("quadratic", "n = 4"), ("quadratic", "n = 16")})
        for figure in table:
            self.assertEqual(figure.printed != figure.computed, figure.remark != "", figure)
        self.assertEqual(computed("001 Table 2", "n = 4", "quadratic"), 8192)
        self.assertEqual(computed("001 Table 2", "n = 16", "quadratic"), 18432)
        self.assertEqual(computed("001 Table 1", "n = 512", "octal"), 63)
        self.assertEqual(computed("001 Table 1", "n = 512", "binary"), 54)

    def test_times_of_001(self):
        """Nine times of one exponentiation explain the authors' tables of server times."""
        tables = [figure for figure in ALL if figure.table in ("001 Table 4", "001 Table 5", "001 Table 6")]
        self.assertEqual(len(tables), 48)
        for figure in tables:
            error = abs(figure.computed / figure.printed - 1)
            self.assertLess(error, .2, figure)
            self.assertEqual(error > .05, figure.remark != "", figure)
        self.assertGreaterEqual(sum(figure.remark == "" for figure in tables), 34)
        self.near(computed("001 Table 4", "n = 512", "octal"), 2563, 1)
        self.near(computed("001 Table 4", "n = 512", "binary"), 28022, 30)
        self.near(computed("001 Table 5", "n = 512", "octal"), 820, 1)
        self.near(computed("001 Table 6", "n = 512", "octal"), 714, 1)

    def test_ratios_of_001(self):
        self.near(computed("001 Table 7", "items of 1 K", "proposed"), 67 / 512, 1e-9)
        self.near(computed("001 Table 7", "items of 32 K", "proposed"), .0155, 5e-5)
        self.near(computed("001 Table 7", "items of 2 M", "proposed"), .0079, 5e-5)
        for scheme in ("lattice [1,2]", "FHE [8]"):  # not ours to compute
            self.assertIsNone(computed("001 Table 7", "items of 32 K", scheme))
        self.near(computed("001 section 6", "2^16 items of 1 K", "proposed"), .0030, 5e-5)
        self.near(computed("001 section 4.4", "n = 512", "binary / octal, modulus squared"), 5.32, .005)

    def test_thresholds_of_004(self):
        self.near(computed("004 section 3.2", "0.273 10^6/s measured", "t_mul"), 3663, 1)
        self.near(computed("004 section 3.2", "no communication counted", "threshold"), 273, .5)
        self.near(computed("004 section 3.2", "10 Mbit/s", "t_mul / t_t"), 36.6, .05)
        self.near(computed("004 section 3.2", "both directions", "break-even size"), 4.19, .005)
        self.near(computed("004 Figure 3", "1995, home", "t_mul / t_t"), 3.3, .05)
        self.near(computed("004 Figure 3", "2005, home", "t_mul / t_t"), 11.2, .05)
        self.near(computed("004 Figure 5", "2035, home", "t_mul / t_t"), 18.6, .05)

    def test_the_program_prints_them(self):
        printed = json.loads(subprocess.run([sys.executable, PROGRAM], capture_output=True, check=True).stdout)
        self.assertEqual([tuple(figure.values()) for figure in printed], [tuple(figure) for figure in ALL])


if __name__ == "__main__":
    unittest.main()
