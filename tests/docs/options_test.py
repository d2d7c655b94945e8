#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of the protocols' options in docs/cli.md is what the rows of the table of protocols say.

    options_test.py PROGRAM [--write]     PROGRAM prints the table; --write puts it into the page
"""
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
BEGIN, END = "<!-- made by tests/docs/options_test.py PROGRAM --write -->\n", "<!-- end -->\n"


def main() -> int:
    table = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    found, after = rest.split(END)
    if sys.argv[2:] == ["--write"]:
        PAGE.write_text(before + BEGIN + table + END + after)
        return 0
    if found != table:
        print("docs/cli.md: its table of options is not that of the protocols: run this test with --write")
        return 1
    print(f"{table.count(chr(10)) - 2} options")
    return 0


if __name__ == "__main__":
    sys.exit(main())
