#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each block of the README's C++ is that of one of the numbered examples, which are compiled and run: line for line, in the
same order, comments aside. Each block of C in docs/c_interface.md is that of its example or of a test."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def code_lines(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    lines = (re.sub(r"\s+", " ", re.sub(r"//.*", "", line)).strip() for line in text.splitlines())
    return [line for line in lines if line]


def first_strange(wanted, program):
    """The first line of `wanted` that `program` does not have after those before it; None: it has them all."""
    rest = iter(program)
    return next((line for line in wanted if line not in rest), None)


def main() -> int:
    programs = [code_lines(path.read_text()) for path in sorted((ROOT / "examples").glob("[0-9]_*/main.cc"))]
    program = programs[0]
    # That the comparison can fail.
    assert first_strange(["return 1;", "no such line"], program) == "no such line"
    assert first_strange([program[5], program[2]], program) == program[2]
    blocks = re.findall(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    lines = [line for block in blocks for line in code_lines(block)]
    if not lines:
        print("README.md has no C++ any more")
        return 1
    page = (ROOT / "docs/c_interface.md").read_text()
    blocks_in_c = re.findall(r"```c\n(.*?)```", page, flags=re.DOTALL)
    programs_in_c = [code_lines((ROOT / path).read_text()) for path in ("examples/4_c/main.c", "tests/c/look_up.c")]
    if not blocks_in_c:
        print("docs/c_interface.md has no C any more")
        return 1
    for name, some, where in (("README.md", blocks, programs), ("docs/c_interface.md", blocks_in_c, programs_in_c)):
        for block in some:
            strange = [first_strange(code_lines(block), program) for program in where]
            if None not in strange:
                print(f"{name}: in none of the programs, or not in this order: {strange}")
                return 1
    print(f"{len(lines)} lines of C++ are those of the numbered examples")
    return 0


if __name__ == "__main__":
    sys.exit(main())
