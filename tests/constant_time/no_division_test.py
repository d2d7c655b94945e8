#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions whose time depends on their operands on some processors: divisions and square roots. memcheck does not report
them. Disassembles a program and looks for them in the functions that compute with secrets (no_division.txt).

    no_division_test.py PROGRAM [--list]

A line of no_division.txt is "NUMBER PATTERN": functions whose demangled name the pattern (a regular expression) finds. NUMBER is
how many such instructions they have in all at most: 0, or as many as are known to divide public numbers. A pattern that finds no
function is an error. Functions that are inlined are checked where they went, so the number of a caller covers them, too.
"""
import re
import subprocess
import sys
import unittest
from pathlib import Path

TABLE = Path(__file__).with_name("no_division.txt")
SLOW = re.compile(r"^\s+[0-9a-f]+:\s+(v?div|idiv|fi?div|v?sqrt|fsqrt)\w*\b")
PROGRAM = ""


def functions(program):
    """Of each function that the program defines: how many slow instructions it has."""
    found, name = {}, None
    with subprocess.Popen(["objdump", "-d", "-C", "--no-show-raw-insn", program], stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            if line.endswith(">:\n"):
                name = line[line.index("<") + 1:-3]
                found.setdefault(name, 0)
            elif name and SLOW.match(line):
                found[name] += 1
    if run.returncode != 0 or not found:
        raise RuntimeError(f"objdump says nothing of {program}")
    return found


def table():
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            number, pattern = line.split(maxsplit=1)
            yield int(number), pattern


class NoDivision(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.all = functions(PROGRAM)

    def matching(self, pattern):
        return {name: count for name, count in self.all.items() if re.search(pattern, name)}

    def test_listed_functions(self):
        for allowed, pattern in table():
            with self.subTest(pattern):
                names = self.matching(pattern)
                self.assertTrue(names, "no function of the program has such a name")
                self.assertLessEqual(sum(names.values()), allowed, {name: count for name, count in names.items() if count})

    def test_planted_divisions_are_found(self):
        for planted in ("planted_division", "planted_signed_division", "planted_square_root"):
            with self.subTest(planted):
                self.assertGreater(sum(self.matching(planted).values()), 0)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    if "--list" in sys.argv:
        for name, count in sorted(functions(PROGRAM).items()):
            print(count, name)
        sys.exit()
    unittest.main()
