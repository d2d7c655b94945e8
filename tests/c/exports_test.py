#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libpirx.so shows exactly the functions that <pirx/pirx.h> declares, and the header is C99 and C++20 for all compilers at hand.

    exports_test.py LIBRARY HEADER
"""
import re
import shutil
import subprocess
import sys


def main() -> int:
    library, header = sys.argv[1:]
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    declared = set(re.findall(r"^PIRX_API [^;(]*?(\w+)\(", text, flags=re.MULTILINE))
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    shown = {line.split()[-1].split("@")[0] for line in listed.splitlines()} - {"PIRX_1"}
    wrong = [f"declared, but not there: {name}" for name in sorted(declared - shown)]
    wrong += [f"there, but not declared: {name}" for name in sorted(shown - declared)]
    compilers = [name for name in ("gcc", "clang", "clang-19", "cc") if shutil.which(name)]
    for compiler in compilers:
        for flags in (["-std=c99", "-x", "c"], ["-std=c++20", "-x", "c++"]):
            done = subprocess.run([compiler, *flags, "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-"],
                                  input=f'#include "{header}"\n', capture_output=True, text=True)
            if done.returncode != 0:
                wrong.append(f"{compiler} {flags[0]}: {done.stderr}")
    print("\n".join(wrong) or f"{len(declared)} functions; compiled by {', '.join(compilers)}")
    return 1 if wrong or len(declared) < 20 or not compilers else 0


if __name__ == "__main__":
    sys.exit(main())
