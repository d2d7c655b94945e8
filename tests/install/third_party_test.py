#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""THIRD_PARTY.md names every library that a program or shared library given as argument links."""
import pathlib
import re
import subprocess
import sys

page = pathlib.Path("THIRD_PARTY.md").read_text()
missing = []
for binary in sys.argv[1:]:
    dump = subprocess.run(["objdump", "-p", binary], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"^\s*NEEDED\s+(\S+)$", dump, re.MULTILINE)
    if "libc.so.6" not in needed:
        sys.exit(f"FAILED: objdump shows no libraries of {binary}")
    missing += [f"{pathlib.Path(binary).name} links {library}" for library in needed
                if library not in page and not library.startswith("libpirx")]
for line in missing:
    print(f"{line}, which THIRD_PARTY.md does not name", file=sys.stderr)
sys.exit(1 if missing else 0)
