#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The version is in one place, CMakeLists.txt. The program and the library say that one, and what documents and files for
other tools repeat of it is the same.

    version_test.py PIRX LIBPIRX
"""
import ctypes
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(pirx VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
PIRX = LIBRARY = ""


class Version(unittest.TestCase):
    def test_the_binaries(self):
        said = subprocess.run([PIRX, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        self.assertEqual(said, VERSION)
        function = ctypes.CDLL(LIBRARY).pirx_version
        function.restype = ctypes.c_char_p
        self.assertEqual(function().decode(), VERSION)

    def test_no_file_has_another(self):
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
        # As in "pirx-0.1.0-py3", "version: 0.1.0", "find_package(pirx 0.1"; figures tell what made them, and releasing.md speaks of the next.
        named = re.compile(r"pirx-(\d+\.\d+\.\d+)-py3|^version: *\"?(\d+\.\d+\.\d+)|find_package\(pirx (\d+\.\d+) ", re.MULTILINE)
        code = {".cc", ".h", ".c", ".cmake", ".in", ".py", ".toml", ".txt", ".js", ".mjs", ".ts", ".html", ".service"}
        for name in filter(None, listed.split("\0")):
            path = ROOT / name
            if not path.is_file() or name.startswith("docs/figures/") or name == "docs/releasing.md":
                continue
            try:
                text = path.read_text()
            except UnicodeDecodeError:
                continue
            for groups in named.findall(text):
                found = next(filter(None, groups))
                self.assertTrue(VERSION == found or VERSION.startswith(found + "."), f"{name}: {found}, not {VERSION}")
            if path.suffix in code and name not in ("CMakeLists.txt", "tests/house/version_test.py"):
                self.assertFalse(f'"{VERSION}"' in text, f"{name}: take the version from CMakeLists.txt")


if __name__ == "__main__":
    LIBRARY = sys.argv.pop(2)
    PIRX = sys.argv.pop(1)
    unittest.main(verbosity=1)
