#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The build for clients only (PIRX_CLIENT_ONLY), in a scratch folder, with nothing to be found that a client does not need: it
links no other library than libcrypto and those of the compiler, and programs in C look records up with it from real servers.

    client_only_test.py SOURCE PIRX CMAKE GENERATOR COMPILER
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HIDDEN = ("GMP", "NTL", "OpenMP", "MPI", "Boost", "CURL", "CLI11", "GTest", "benchmark", "prometheus-cpp", "SQLite3")
NEEDED = {"libcrypto", "libstdc++", "libm", "libgcc_s", "libc", "libpthread", "ld-linux-x86-64"}


def run(*command):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True)


def main() -> int:
    source, pirx, cmake, generator, compiler = sys.argv[1:]
    tests = Path(source) / "tests/c"
    with tempfile.TemporaryDirectory(prefix="pirx-client-only-") as folder:
        # The time is the compiler's, and portable kernels at -O1 are enough to look records up.
        run(cmake, "-S", source, "-B", folder, "-G", generator, "-DPIRX_CLIENT_ONLY=ON", "-DPIRX_PORTABLE_ONLY=ON", "-DPIRX_UNITY=ON",
            f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
            *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON" for package in HIDDEN))
        run(cmake, "--build", folder, "--parallel", 2)
        library = Path(folder) / "service/c/libpirx.so"
        listed = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
        linked = {re.sub(r"\.so.*", "", name) for name in re.findall(r"\(NEEDED\).*\[(.*)\]", listed)}
        if not linked <= NEEDED:
            print(f"libpirx.so of a client links {sorted(linked - NEEDED)}")
            return 1
        run(sys.executable, tests / "exports_test.py", library, Path(source) / "include/pirx/pirx.h")
        programs = Path(folder) / "tests/c"
        run(sys.executable, tests / "c_interface_test.py", pirx, programs / "c_look_up", programs / "c_misuse", programs / "c_main", "--without",
            "gmp,http,ntl")
        # It can be installed, and a program in C needs nothing but what was.
        run(cmake, "--install", folder, "--prefix", f"{folder}/prefix")
        run(cmake, "-S", Path(source) / "examples/4_c", "-B", f"{folder}/example", "-G", generator,
            f"-DCMAKE_PREFIX_PATH={folder}/prefix")
        run(cmake, "--build", f"{folder}/example")
    print("client-only test passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
