#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows docs/tutorial.md literally: runs its shell blocks in one shell, in an empty folder. tutorial_test.py PIRX"""
import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main() -> int:
    text = (ROOT / "docs/tutorial.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    if len(blocks) < 6:
        print(f"only {len(blocks)} shell blocks found")
        return 1
    script = "set -euo pipefail\nset -m\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n" + "\n".join(blocks)
    for port in sorted(set(re.findall(r"\b81\d\d\b", script))):  # other tests and other users may have the tutorial's ports
        script = script.replace(port, str(free_port()))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.dirname(os.path.abspath(sys.argv[1])) + os.pathsep + os.environ["PATH"]
        done = subprocess.run(["bash", "-c", script], cwd=folder, env={**os.environ, "PATH": path}, timeout=100,
                              capture_output=True, text=True)
    print(done.stdout, done.stderr)
    for expected in ("records         5", "every checksum right", "3 servers", "proven", "probable", "St John's wort",
                     "not with iodinated", "Undecodable", "2 servers", "not with clarithromycin, grapefruit"):
        if expected not in done.stdout + done.stderr:
            print(f"the tutorial did not print '{expected}'")
            return 1
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
