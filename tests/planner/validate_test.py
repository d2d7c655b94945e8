#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/planner/validate at toy sizes: every scheme is carried out, records come back, messages have the predicted lengths. Times are not judged.

    validate_test.py BUILD_DIR
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD_DIR = ""
REPORT = Path(__file__).resolve().parents[2] / "bench/planner/validate"
TOY = ["--repetitions=1", "--benchmark_min_time=0.001", "--record_bytes=40", "--one_server_bytes=1000", "--several_servers_bytes=50000",
       "--modulus=1024"]


def run(*words, code=0):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, REPORT, "--build-dir", BUILD_DIR, *words], capture_output=True, text=True, timeout=300,
                              env={**os.environ, "TMPDIR": folder})
        assert not os.listdir(folder), "a database is left"
    if done.returncode != code:
        raise AssertionError(f"{words}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}")
    return done


class Validate(unittest.TestCase):
    def test_every_scheme_is_carried_out(self):
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in run(*TOY).stdout.splitlines()[4:]]
        self.assertEqual({row[0].split(" (")[0] + (" seeded" if "seeded" in row[0] else "") for row in rows},
                         {"chor", "chor seeded", "dj-tree", "dpf", "goldberg", "goldberg seeded", "inspire", "qr", "spiral"})
        self.assertEqual(len(rows), 10)
        for row in rows:
            self.assertEqual(len(row), 12)
            self.assertGreater(int(row[1]), 0, row)
            self.assertGreater(int(row[2]), 0, row)
            for took in (row[3], row[6]):
                self.assertGreater(float(took.split()[0]), 0, row)

    def test_nonsense_is_refused(self):
        self.assertIn("--record_bytes: '0' is no whole number from 1", run("--record_bytes=0", code=1).stderr)
        self.assertIn("all", run(*TOY, "--servers=3", "--collusion=3", code=1).stderr)
        self.assertIn("unrecognized command-line flag: --runs=0", run("--runs=0", code=1).stderr)

    def test_a_program_that_was_not_built_is_one_line(self):
        said = run("--build-dir", "/nowhere", code=1).stderr.splitlines()
        self.assertEqual(len(said), 1, said)
        self.assertIn("no program /nowhere/bench/planner/planner_validate: build it", said[0])


if __name__ == "__main__":
    BUILD_DIR = sys.argv.pop(1)
    unittest.main()
