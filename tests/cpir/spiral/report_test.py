#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/paper003/report with a tiny database: without peers, and with programs that speak as they do.

    tests/cpir/spiral/report_test.py BUILD_DIR
"""

import json
import pathlib
import subprocess
import sys
import tempfile

SPIRAL = """#!/bin/sh
echo 'Is correct?: RIGHT'
echo '         Total offline query size (b): 13991936'
echo '          Total online query size (b): 28672'
echo '                    Response size (b) : 20480'
echo '              Main expansion  (CPU·us): 336007'
echo '                   Conversion (CPU·us): 180184'
echo '     First dimension multiply (CPU·us): 403832'
echo '                      Folding (CPU·us): 400776'
"""
SPIRAL_RS = """#!/bin/sh
test "$RAYON_NUM_THREADS" = 1 || exit 1
for i in $(seq "$2"); do
echo '{"expansion": 0.5, "conversion": 0.1, "first_dimension": 0.3, "folding": 0.2, "packing": 0.01, "keys": 8126496, "query": 16416, "reply": 20480, "right": true}'
done
"""


def report(*words, code=0):
    done = subprocess.run(["bench/paper003/report", "--build-dir", sys.argv[1], "--tiny", "--samples", "1", *map(str, words)], capture_output=True,
                          timeout=200)
    if done.returncode != code:
        sys.exit(f"{words}: exit code {done.returncode} instead of {code}\n{done.stdout.decode()}{done.stderr.decode()}")
    return (done.stdout + done.stderr).decode()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def program(where, text):
            where.write_text(text)
            where.chmod(0o700)

        alone = report()
        assert "menonsamir/spiral: not installed | times | spiral-rs: not installed" in alone, alone
        assert alone.count("| total |") == 3 and "| 2 threads | 1.8 |" in alone, alone

        for peer in ("spiral_20_256", "spiral_14_100000", "spiral_18_30000"):
            program(folder / peer, SPIRAL.replace("RIGHT", "1"))
        program(folder / "stages", SPIRAL_RS)
        beside = report("--spiral", folder, "--spiral-rs", folder / "stages", "--json", folder / "report.json")
        assert "not installed" not in beside, beside
        cases = json.loads((folder / "report.json").read_text())["cases"]
        # The fake takes no time: some share of what it says.
        ratio = cases[1]["menonsamir/spiral"]["seconds"]["first_dimension"] / cases[1]["menonsamir/spiral"]["seconds"]["expansion"]
        assert 0 < cases[0]["menonsamir/spiral"]["seconds"]["total"] <= 1.320799 and abs(ratio - 11 * 403832 / 336007) < 1e-6, cases
        assert abs(cases[2]["spiral-rs"]["seconds"]["folding"] - 0.8) < 1e-6 and cases[2]["spiral-rs"]["bytes"]["reply"] == 81920, cases

        program(folder / "spiral_20_256", SPIRAL.replace("RIGHT", "0"))
        assert "its answer is wrong" in report("--spiral", folder, code=1)


if __name__ == "__main__":
    main()
