#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/demo over a small index of packages: five servers, a single one, and two with short requests. demo_test.py PIRX"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODES = {"": "Both answers equal the database's own records", "--spiral": "Done, and right", "--inspire": "Done, and right",
         "--dpf": "The answer equals the database's own records"}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "packages.jsonl"
        names = [f"package-{i}" for i in range(20000)]
        index.write_text("".join(json.dumps({"name": name, "record": f"{name} depends on {name[::-1]}\n"}) + "\n" for name in names))
        for mode, expected in MODES.items():
            # Names of files are relative to where the caller is.
            done = subprocess.run([ROOT / "scripts/demo", *([mode] if mode else []), "package-17", "package-19999"], cwd=folder, timeout=300,
                                  env={**os.environ, "PIRX": os.path.relpath(sys.argv[1], folder), "PACKAGES": index.name, "TMPDIR": folder},
                                  capture_output=True, text=True)
            said = done.stdout + done.stderr
            if done.returncode != 0 or expected not in said or "package-17 depends on 71-egakcap" not in said:
                print(f"scripts/demo {mode}: exit code {done.returncode}\n{said}")
                return 1
            print(f"scripts/demo {mode}: right")
        wrong = subprocess.run(["scripts/demo", "--sprial"], cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert (wrong.returncode, wrong.stdout) == (2, "") and "--spiral" in wrong.stderr, wrong
    return 0


if __name__ == "__main__":
    sys.exit(main())
