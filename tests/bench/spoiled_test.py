#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A benchmark whose answer is wrong reports an error instead of a time, and its program ends with 1.

    tests/bench/spoiled_test.py PROGRAM ARGUMENT ...

PIRX_BENCH_SPOIL changes every answer before it is checked (bench/measure.h).
"""

import json
import os
import subprocess
import sys

# These have no answer: they measure the machine, or a part of the work that comes before one.
WITHOUT_ANSWER = {"rate", "memory", "prepare", "copy", "gather", "expand"}


def main():
    command = [*sys.argv[1:], "--benchmark_format=json"]
    done = subprocess.run(command, env={**os.environ, "PIRX_BENCH_SPOIL": "1"}, capture_output=True, text=True)
    if done.returncode != 1:
        sys.exit(f"exit code {done.returncode} instead of 1\n{done.stderr}")
    found = json.loads(done.stdout)["benchmarks"]
    timed = [one["name"] for one in found if not one.get("error_occurred") and one["name"].split("/")[0] not in WITHOUT_ANSWER]
    wrong = [one for one in found if one.get("error_message") == "a wrong answer"]
    if timed or not wrong:
        sys.exit(f"{len(wrong)} answers were found to be wrong; these were not: {timed}")
    print(f"{len(wrong)} wrong answers found")


if __name__ == "__main__":
    main()
