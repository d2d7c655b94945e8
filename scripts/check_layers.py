#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the include rules of docs/ARCHITECTURE.md over every C++ file of the tree. Prints file:line: [rule] reason for each
violation and exits 1 if there is one.

Rules:
  rank            a file includes only files of a strictly lower rank or of its own module, within what its module may touch
  public-private  a header under include/pirx/ includes only headers under include/pirx/
  private         tools, examples and bench use the public headers of other modules only (bench: and those that it times)
  client-server   in a protocol folder no client file reaches a server file, no server file a client file, common neither
  room            a protocol in a sub-folder includes none of its neighbours, and what neighbours share none of them
  intrinsics      intrinsics headers only in a folder kernels/
  test-only       gtest and gmock only in tests/
  bench-only      benchmark only in bench/
  mpi             mpi.h only in service/shards/
  sockets         socket, Asio, Beast and curl headers only in service/http/ (and in tests/)
  names           nothing in service/, src/ and tools/, code or list of CMake, names a protocol; rows of the table do
  unresolved      a quoted include names a file of this tree
  unknown         every C++ file lies in a folder that the architecture knows
"""

import argparse
import pathlib
import re
import sys

# module: (rank, folders, modules it may touch beyond itself)
BELOW_3 = {"base", "gf2e", "fp"}
BELOW_6 = BELOW_3 | {"strassen", "database", "batchcodes", "protocol"}
EVERYTHING = BELOW_6 | {"itpir", "cpir", "download", "table", "planner", "http", "shards", "client", "c"}
MODULES = {
    "base": (0, ["src/base"], set()),
    "gf2e": (1, ["gf2e"], {"base"}),
    "fp": (1, ["src/fp"], {"base"}),
    "database": (3, ["src/database"], BELOW_3),
    "strassen": (4, ["strassen"], BELOW_3 | {"database"}),
    "batchcodes": (5, ["batchcodes"], BELOW_3 | {"strassen", "database", "protocol"}),
    "protocol": (4, ["src/protocol"], {"base", "database"}),
    "itpir": (6, ["itpir"], BELOW_6),
    "cpir": (6, ["cpir"], BELOW_6),
    "download": (6, ["download"], {"base", "database", "protocol"}),
    "table": (7, ["service/table"], {"base", "protocol"}),
    "planner": (7, ["service/planner"], {"base", "database", "protocol"}),
    "shards": (7, ["service/shards"], {"base", "protocol", "itpir"}),
    "http": (7, ["service/http"], {"base", "protocol"}),
    "client": (8, ["service/client"], {"base", "database", "protocol", "table", "http"}),
    "c": (9, ["service/c"], {"base", "database", "protocol", "http", "client"}),
    "tools": (10, ["tools"], EVERYTHING),
    "examples": (10, ["examples"], EVERYTHING),
    "web": (10, ["web"], EVERYTHING),
    "bench": (10, ["bench"], EVERYTHING),
    "tests": (10, ["tests"], EVERYTHING | {"tools", "bench", "examples"}),
}
PROTOCOL_MODULES = {"itpir", "cpir", "download"}
PUBLIC_ONLY = {"tools", "examples", "bench"}
TIMED = {"strassen/integers.h", "cpir/inspire/block_builder.h", "cpir/spiral/gadget.h"}  # private, but benchmarks time it
ROOMS = {"itpir": {"goldberg", "chor", "dpf"}, "cpir": {"qr", "spiral", "inspire"}}  # qr uses dj; ring/ is of the two lattice protocols

INTRINSICS = re.compile(r"^((\w*mmintrin|x86intrin|x86gprintrin|\w+intrin)\.h|arm_(neon|sve|acle)\.h)$")
TEST_ONLY = re.compile(r"^(gtest|gmock)(/|\.h$)")
BENCH_ONLY = re.compile(r"^benchmark/")
SOCKETS = re.compile(
    r"^(sys/(socket|un|epoll|select)\.h|netinet/.*|arpa/inet\.h|netdb\.h|net/if\.h|poll\.h|sys/poll\.h"
    r"|boost/(asio|beast)(/.*|\.hpp)|curl/.*)$")

# What names a protocol, and who may: the numbers are given out in one file, and messages of the first two begin in another
# way.
NAMES = re.compile(r'"(goldberg|chor|dj-tree|qr|spiral|inspire|download|dpf)[" ]|ProtocolId::k[A-Z]|\bpirx/(itpir|cpir|download)/'
                   r"|\bpirx::(itpir|cpir|download)\b|\b(itpir|cpir|download)::")
NAMELESS = re.compile(r"^(src|service|tools|include/pirx)/")
MAY_NAME = re.compile(r"^(include/pirx/(itpir|cpir)/|include/pirx/protocol\.h$|src/protocol/protocol\.cc$|service/table/)")

SUFFIXES = {".h", ".c", ".cc", ".inc"}
SKIPPED_FOLDERS = re.compile(r"^(\..*|build|build-.*|out|__pycache__)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def module_of(path):
    """Module name of a path relative to the root, or None."""
    parts = path.parts
    if parts[:2] == ("include", "pirx") and len(parts) > 2:
        name = pathlib.PurePath(parts[2]).stem if len(parts) == 3 else parts[2]
        if name == "pirx":
            return "c"
        return name if name in MODULES and MODULES[name][0] < 10 else None
    for name, (_, folders, _) in MODULES.items():
        for folder in folders:
            folder_parts = tuple(folder.split("/"))
            if parts[: len(folder_parts)] == folder_parts and len(parts) > len(folder_parts):
                return name
    return None


def is_public(path):
    return path.parts[:2] == ("include", "pirx")


def room_of(path):
    """Sub-folder of the protocol that a file belongs to, or None."""
    parts = path.parts[2:] if is_public(path) else path.parts
    return parts[1] if len(parts) > 2 and parts[1] in ROOMS.get(parts[0], ()) else None


def side_of(path):
    """client, server, common or None: the half of a protocol that a file belongs to."""
    if module_of(path) not in PROTOCOL_MODULES:
        return None
    match = re.match(r"^(client|server|common)(_.*)?$", path.stem)
    return match.group(1) if match else None


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = sorted(self._walk(root))
        self.known = set(self.files)
        self.includes = {path: self._read(path) for path in self.files}
        self.violations = []

    def _walk(self, folder):
        for entry in folder.iterdir():
            if entry.is_symlink():
                continue
            if entry.is_dir():
                if not SKIPPED_FOLDERS.match(entry.name):
                    yield from self._walk(entry)
            elif entry.suffix in SUFFIXES:
                yield entry.relative_to(self.root)

    def check_names(self):
        lists = sorted(path.relative_to(self.root) for top in ("src", "service", "tools")
                       for path in (self.root / top).rglob("CMakeLists.txt"))
        for path in self.files + lists:
            name = path.as_posix()
            if not NAMELESS.match(name) or MAY_NAME.match(name):
                continue
            for number, line in enumerate((self.root / path).read_text(encoding="utf-8").splitlines(), 1):
                if INCLUDE.match(line) and not name.startswith("tools/"):
                    continue  # a matter of rank
                found = NAMES.search(re.sub(r"(//|#(?!include)).*", "", line))
                if found:
                    self.report(path, number, "names", f"{found.group(0).strip()} is a protocol's own: take it from the table")

    def _read(self, path):
        """[(line, quoted, name)] of the includes of a file."""
        found = []
        text = (self.root / path).read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                found.append((number, match.group(1) == '"', match.group(2)))
        return found

    def resolve(self, path, name):
        """The file of the tree that an include names, or None."""
        bases = [path.parent, pathlib.PurePath("include"), pathlib.PurePath("")]
        module = module_of(path)
        if module:
            bases += [pathlib.PurePath(folder) for folder in MODULES[module][1]]
        for base in bases:
            parts = []
            for part in (base / name).parts:
                if part == ".." and parts:
                    parts.pop()
                elif part != ".":
                    parts.append(part)
            candidate = pathlib.PurePath(*parts)
            if pathlib.Path(candidate) in self.known:
                return pathlib.Path(candidate)
        return None

    def report(self, path, line, rule, reason):
        self.violations.append(f"{path}:{line}: [{rule}] {reason}")

    def check(self):
        for path in self.files:
            module = module_of(path)
            if module is None:
                self.report(path, 1, "unknown", "this folder has no rank in docs/ARCHITECTURE.md")
                continue
            for line, quoted, name in self.includes[path]:
                target = self.resolve(path, name) if quoted or name.startswith("pirx/") else None
                if target is not None:
                    self.check_own(path, module, line, target)
                elif quoted or name.startswith("pirx/"):
                    self.report(path, line, "unresolved", f'"{name}" is no file of this tree')
                self.check_foreign(path, module, line, name)
            self.check_sides(path)
        self.check_names()
        return self.violations

    def check_own(self, path, module, line, target):
        other = module_of(target)
        if is_public(path) and not is_public(target):
            self.report(path, line, "public-private", f"an installed header includes {target}, which is not installed")
        if other == module and room_of(target) not in (None, room_of(path)):
            self.report(path, line, "room", f"{target} is of {other}/{room_of(target)}/ alone")
        if other is None or other == module:
            return
        rank, _, may_touch = MODULES[module]
        if other not in may_touch:
            self.report(path, line, "rank",
                        f"{module} (rank {rank}) may not include {target} of {other} (rank {MODULES[other][0]})")
        elif module in PUBLIC_ONLY and not is_public(target) and not (module == "bench" and target.as_posix() in TIMED):
            self.report(path, line, "private", f"{module} uses public headers only, {target} is private to {other}")

    def check_foreign(self, path, module, line, name):
        if INTRINSICS.match(name) and "kernels" not in path.parts[:-1]:
            self.report(path, line, "intrinsics", f"<{name}> belongs in a folder kernels/")
        if TEST_ONLY.match(name) and module != "tests":
            self.report(path, line, "test-only", f"<{name}> belongs in tests/")
        if BENCH_ONLY.match(name) and module != "bench":
            self.report(path, line, "bench-only", f"<{name}> belongs in bench/")
        if name == "mpi.h" and path.parts[:2] != ("service", "shards"):
            self.report(path, line, "mpi", f"<{name}> belongs in service/shards/")
        if SOCKETS.match(name) and path.parts[:2] != ("service", "http") and module != "tests":
            self.report(path, line, "sockets", f"<{name}> belongs in service/http/")

    def check_sides(self, path):
        side = side_of(path)
        if side is None:
            return
        forbidden = {"client": {"server"}, "server": {"client"}, "common": {"client", "server"}}[side]
        for line, _, name in self.includes[path]:
            target = self.resolve(path, name)
            if target is None:
                continue
            chain = self.chain_to(target, forbidden)
            if chain:
                via = " -> ".join(str(step) for step in chain)
                self.report(path, line, "client-server", f"a {side} file reaches {via}")

    def chain_to(self, start, forbidden):
        """Shortest path of includes from start to a file of a forbidden side, or None."""
        seen, queue = {start}, [[start]]
        while queue:
            chain = queue.pop(0)
            if side_of(chain[-1]) in forbidden:
                return chain
            for _, _, name in self.includes[chain[-1]]:
                target = self.resolve(chain[-1], name)
                if target is not None and target not in seen:
                    seen.add(target)
                    queue.append(chain + [target])
        return None


def main():
    parser = argparse.ArgumentParser(description="Checks the include rules of docs/ARCHITECTURE.md.")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    tree = Tree(parser.parse_args().root.resolve())
    violations = tree.check()
    for violation in violations:
        print(violation)
    print(f"{len(tree.files)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
