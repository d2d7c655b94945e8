#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""<pirx/pirx.h> still has every function, constant and member of tests/c/abi_1.txt, as programs were compiled with them.

    abi_test.py [--write]

--write adds what is new to the list, and refuses to take anything away: for that, PIRX_ABI and the library's name change.
A struct may only grow if the library is told its size (pirx_options).
"""
import pathlib
import re
import sys

HEADER, LIST = pathlib.Path("include/pirx/pirx.h"), pathlib.Path("tests/c/abi_1.txt")


def lines_of(header):
    """The declarations, one a line: functions, callbacks, constants with their values, members with
    their places."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", re.sub(r"^ *#.*$", "", text, flags=re.MULTILINE))
    found = [f"function {prototype}" for prototype in re.findall(r"PIRX_API ([^;]+);", text)]
    found += [f"callback {name}" for name in re.findall(r"typedef ([^;{}]*\(\*\w+\)\([^;]*\));", text)]
    for body, name in re.findall(r"typedef enum \w+ \{([^}]*)\} (\w+);", text):
        value = -1
        for constant in filter(None, map(str.strip, body.split(","))):
            label, _, given = constant.partition("=")
            value = int(given, 0) if given else value + 1
            found.append(f"enum {name}: {label.strip()} = {value}")
    for body, name in re.findall(r"typedef struct \w+ \{([^}]*)\} (\w+);", text):
        members = filter(None, map(str.strip, body.split(";")))
        found += [f"struct {name}, member {place}: {member}" for place, member in enumerate(members)]
    return found


def wrong(kept, found):
    return [f"gone: {line}" for line in kept if line not in found] + \
           [f"not listed (abi_test.py --write): {line}" for line in found if line not in kept]


def main():
    found = lines_of(HEADER.read_text())
    kept = [line for line in LIST.read_text().splitlines() if line] if LIST.exists() else []
    if "--write" in sys.argv and not any(line.startswith("gone") for line in wrong(kept, found)):
        LIST.write_text("\n".join(found) + "\n")
        return 0
    # That the check sees: an argument of another type, a constant with another value, a member before the others.
    for old, new in (("unsigned pirx_abi(void)", "int pirx_abi(void)"), ("PIRX_OK = 0", "PIRX_OK = 1"),
                     ("typedef struct pirx_options {", "typedef struct pirx_options { int first;")):
        if not wrong(found, lines_of(HEADER.read_text().replace(old, new, 1))):
            sys.exit(f"the check does not notice: {new}")
    print("\n".join(wrong(kept, found)) or f"{len(found)} lines")
    return 1 if wrong(kept, found) or len(found) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
