#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/reproduce keeps what it measured, goes on when something is missing, and says so on its page."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Stands for a program made with Google Benchmark, and notes that it ran.
PROGRAM = """#!/bin/sh
echo run >> "$(dirname "$0")/runs"
cat << 'END'
{rows}
END
exit {code}
"""
ROW = {"scheme": "subcube", "what": "N", "counted": 9, "expected": 9, "paper": 9, "note": ""}
TABLES = "\n".join(json.dumps({"table": table, **ROW}) for table in (1, 2))


class Reproduce(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build, self.out = pathlib.Path(folder.name) / "build", pathlib.Path(folder.name) / "out"
        self.build.mkdir()

    def program(self, path, rows, code=0):
        made = self.build / path
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(PROGRAM.format(rows=rows, code=code))
        made.chmod(0o755)
        return made

    def reproduce(self, *words, environment=None):
        return subprocess.run([sys.executable, ROOT / "bench/reproduce", "--quick", "--build-dir", self.build, "--out", self.out, *words],
                              capture_output=True, text=True, env=os.environ | (environment or {}))

    def pages(self):
        return [(self.out / name).read_text() for name in ("index.html", "reproduction.md")]

    def runs(self, program):
        return len((program.parent / "runs").read_text().splitlines())

    def test_what_was_not_built_is_left_out(self):
        done = self.reproduce("000", "table1", "fig3")
        self.assertEqual(done.returncode, 0, done.stderr)
        for page in self.pages():
            self.assertEqual(page.count("Left out:"), 2)
            self.assertIn("was not built", page)
            self.assertNotIn(str(self.build.parent), page)

    def test_what_fails_is_on_the_page_and_in_the_exit_code(self):
        self.program("bench/paper000/paper000_tables", TABLES, code=1)
        done = self.reproduce("000", "table1")
        self.assertEqual(done.returncode, 1)
        for page in self.pages():
            self.assertIn("Failed:", page)

    def test_an_item_is_not_run_again_unless_it_is_named(self):
        program = self.program("bench/paper000/paper000_tables", TABLES)
        for expected, words in ((1, ["000", "table1"]), (2, ["000"]), (2, ["000"]), (3, ["000", "table1"]), (3, ["--page-only"])):
            done = self.reproduce(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.runs(program), expected, words)

    def test_a_peer_with_a_wrong_answer_fails_its_item(self):
        found = {"run_type": "iteration", "run_name": "product/field:gf2_8/kernel:best/q:16", "cpu_time": 2, "real_time": 2, "time_unit": "ms"}
        self.program("bench/engine/engine_bench", json.dumps({"context": {}, "benchmarks": [found]}))
        for right, code, said in ((True, 0, "1000"), (False, 1, "an answer is wrong")):
            peer = self.program("peer", json.dumps({"way": "plain", "seconds": 2.0, "right": right}))
            done = self.reproduce("000", "percy", environment={"PIRX_PEER_PERCY": str(peer)})
            self.assertEqual(done.returncode, code, done.stderr)
            for page in self.pages():
                self.assertIn(said, page)

    def test_an_unknown_item_names_those_that_there_are(self):
        done = self.reproduce("000", "fig9")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no fig9", done.stderr)
        self.assertIn("000 fig3", done.stderr)

    def test_the_page_needs_no_other_file(self):
        self.program("bench/paper000/paper000_tables", TABLES)
        self.reproduce("000", "table1")
        page = self.pages()[0]
        self.assertNotRegex(page, r'(src|href)="(?!data:|https://)')
        self.assertNotIn("<script", page)


if __name__ == "__main__":
    unittest.main()
