#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a build into an empty prefix and uses it from outside: the numbered examples by find_package(pirx), that without a
network and that in C by pkg-config, too; every component by itself, a component that does not exist, the prefix moved to another place, and uninstall."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CONSUMER = """cmake_minimum_required(VERSION 3.25)
project(consumer CXX)
find_package(pirx 0.1 REQUIRED COMPONENTS {component})
add_executable(consumer main.cc)
target_link_libraries(consumer PRIVATE pirx::{component})
"""

WITHOUT_MPI = """cmake_minimum_required(VERSION 3.25)
project(consumer CXX)
set(CMAKE_DISABLE_FIND_PACKAGE_MPI TRUE)
find_package(pirx 0.1 COMPONENTS core OPTIONAL_COMPONENTS shards)
if(NOT pirx_FOUND OR NOT TARGET pirx::core)
  message(FATAL_ERROR "core is missing")
elseif(pirx_shards_FOUND OR TARGET pirx::shards)
  message(FATAL_ERROR "shards is there")
endif()
"""

WITHOUT_CURL = """cmake_minimum_required(VERSION 3.25)
project(consumer CXX)
set(CMAKE_DISABLE_FIND_PACKAGE_CURL TRUE)
find_package(pirx 0.1 COMPONENTS http)
if(pirx_FOUND OR pirx_http_FOUND OR TARGET pirx::http)
  message(FATAL_ERROR "http is there")
endif()
"""


def run(*command, cwd=None, env=None, fails=False):
    command = [str(part) for part in command]
    print("+", " ".join(command), flush=True)
    result = subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(result.stdout, flush=True)
    if (result.returncode != 0) != fails:
        sys.exit(f"FAILED ({result.returncode}): {' '.join(command)}")
    return result.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", action="store_true", help="libpirx.so links the other libraries instead of holding them")
    for option in ("source", "build", "compiler", "generator", "cmake"):
        parser.add_argument("--" + option, required=True)
    args = parser.parse_args()
    examples = pathlib.Path(args.source) / "examples"
    in_memory = examples / "3_in_memory"

    with tempfile.TemporaryDirectory(prefix="pirx-install-") as temp:
        temp = pathlib.Path(temp)
        run(args.cmake, "--install", args.build, "--prefix", temp / "first")
        prefix = temp / "moved"
        (temp / "first").rename(prefix)
        # The build leaves no trace of its folder (scripts/reproduce compares two whole builds).
        folders = [os.path.realpath(folder).encode() for folder in (args.source, args.build)]
        for file in filter(pathlib.Path.is_file, prefix.rglob("*")):
            if any(folder in file.read_bytes() for folder in folders):
                sys.exit(f"FAILED: {file.relative_to(prefix)} names the folder of its build")

        def configure(source, build, fails=False):
            return run(args.cmake, "-S", source, "-B", build, "-G", args.generator, "-DCMAKE_BUILD_TYPE=Release",
                       f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={args.compiler}", fails=fails)

        # The examples, by CMake.
        configure(in_memory, temp / "in_memory")
        run(args.cmake, "--build", temp / "in_memory")
        for protocol in ("goldberg", "spiral", "download"):
            if "record number 417" not in run(temp / "in_memory" / "in_memory", protocol, cwd=temp):
                sys.exit(f"FAILED: examples/3_in_memory did not find its record by {protocol}")
        if list(prefix.rglob("pirx-client-targets.cmake")):
            for folder, program in (("1_fetch", "fetch"), ("2_evidence", "evidence")):
                configure(examples / folder, temp / program)
                run(args.cmake, "--build", temp / program)
                words = ("/nonexistent", "key", "prefix")[:2 if program == "fetch" else 3]
                if "deployment file" not in run(temp / program / program, *words, fails=True):
                    sys.exit(f"FAILED: examples/{folder} does not say what is wrong")

        # The example, by pkg-config.
        pc_files = list(prefix.rglob("pirx.pc"))
        env = dict(os.environ, PKG_CONFIG_PATH=str(pc_files[0].parent))
        flags = run("pkg-config", "--cflags", "--libs", "pirx", env=env).split()
        sources = sorted(in_memory.glob("*.cc"))
        if "-std=c++20" not in flags:
            sys.exit(f"FAILED: pirx.pc does not say which C++ its headers need: {flags}")
        run(args.compiler, "-O1", *sources, "-o", temp / "by_pkg_config", *flags)
        if "ok" not in run(temp / "by_pkg_config", cwd=temp, env=dict(env, LD_LIBRARY_PATH=str(pc_files[0].parent.parent))).split():
            sys.exit("FAILED: examples/3_in_memory built with pkg-config did not print ok")
        for name in ("pirx-http", "pirx-client"):
            if (pc_files[0].parent / f"{name}.pc").exists():
                run("pkg-config", "--cflags", "--libs", name, env=env)

        # The C interface, by CMake and by pkg-config: no C++ compiler, and none of the packages that libpirx.so needs.
        in_c = examples / "4_c"
        if list(prefix.rglob("pirx-c-targets.cmake")):
            def says_what_is_wrong(program, **options):
                if "deployment file" not in run(program, "/nonexistent", "key", fails=True, **options):
                    sys.exit(f"FAILED: {program} does not say what is wrong")
            if not args.shared:
                run(args.cmake, "-S", in_c, "-B", temp / "in_c", "-G", args.generator, f"-DCMAKE_PREFIX_PATH={prefix}")
                run(args.cmake, "--build", temp / "in_c")
                says_what_is_wrong(temp / "in_c" / "look_up")
            flags = run("pkg-config", "--cflags", "--libs", "pirx-c", env=env).split()
            if any(flag.startswith("-std=") for flag in flags):
                sys.exit(f"FAILED: pirx-c.pc tells a program in C which language it is in: {flags}")
            run("cc", "-std=c99", "-pedantic", "-Werror", in_c / "main.c", "-o", temp / "c_by_pkg_config", *flags)
            says_what_is_wrong(temp / "c_by_pkg_config", env=dict(env, LD_LIBRARY_PATH=str(pc_files[0].parent.parent)))

        # Each component alone.
        targets = sorted(prefix.rglob("pirx-*-targets.cmake"))
        components = [path.name[len("pirx-"):-len("-targets.cmake")] for path in targets]
        if "core" not in components or "table" not in components:
            sys.exit(f"FAILED: components core and table are not both installed: {components}")
        for component in components + ["nonexistent"]:
            source = temp / ("use_" + component)
            source.mkdir()
            (source / "CMakeLists.txt").write_text(CONSUMER.format(component=component))
            (source / "main.cc").write_text("int main() {}\n")
            configure(source, source / "build", fails=component == "nonexistent")
            if component != "nonexistent":
                run(args.cmake, "--build", source / "build")

        # One that may be missing takes nothing else with it.
        if list(prefix.rglob("pirx-shards-targets.cmake")):
            source = temp / "without_mpi"
            source.mkdir()
            (source / "CMakeLists.txt").write_text(WITHOUT_MPI)
            configure(source, source / "build")

        # One that lacks what it needs is not found.
        if list(prefix.rglob("pirx-http-targets.cmake")):
            source = temp / "without_curl"
            source.mkdir()
            (source / "CMakeLists.txt").write_text(WITHOUT_CURL)
            configure(source, source / "build")

        # Nothing private was installed.
        for path in prefix.rglob("*"):
            if path.name.endswith(("_impl.h", ".cc")):
                sys.exit(f"FAILED: {path} is private and was installed")

        # The target uninstall, which runs this script: what others have put there stays.
        uninstall = [args.cmake, "-P", pathlib.Path(args.source) / "cmake/PirxUninstall.cmake"]
        second = temp / "[é] second"  # no pattern
        run(args.cmake, "--install", args.build, "--prefix", second)
        (second / "lib").mkdir(exist_ok=True)
        (second / "lib" / "other").write_text("of another program")
        manifest = temp / "installed"
        manifest.mkdir()
        (pathlib.Path(args.build) / "install_manifest.txt").rename(manifest / "install_manifest.txt")
        run(*uninstall, cwd=manifest)
        left = [path for path in second.rglob("*") if not path.is_dir()]
        if left != [second / "lib" / "other"] or len(list(second.rglob("*"))) != 2:
            sys.exit(f"FAILED: uninstall has left {list(second.rglob('*'))}")
        if "nothing to uninstall" not in run(*uninstall, cwd=manifest, fails=True):
            sys.exit("FAILED: a second uninstall does not say that there is nothing")

        # An install below DESTDIR is undone there: an older one stays.
        run(args.cmake, "--install", args.build, "--prefix", second)
        there = len(list(second.rglob("*")))
        staged = temp / "staged"
        run(args.cmake, "--install", args.build, "--prefix", second, cwd=temp, env={**os.environ, "DESTDIR": "staged"})
        for name in ("install_manifest.txt", "install_destdir.txt"):
            (pathlib.Path(args.build) / name).rename(manifest / name)
        elsewhere = {**os.environ, "DESTDIR": str(temp / "elsewhere")}
        if str(staged) not in run(*uninstall, cwd=manifest, env=elsewhere, fails=True) or not staged.exists():
            sys.exit("FAILED: uninstall below another DESTDIR than that of the install")
        run(*uninstall, cwd=manifest)
        if staged.exists() or len(list(second.rglob("*"))) != there:
            sys.exit("FAILED: uninstall has not removed what was installed below DESTDIR, or something else")

        odd = temp / "source[s]"
        odd.mkdir()
        shutil.copy(pathlib.Path(args.source) / "CMakeLists.txt", odd)
        if "rename the folder" not in run(args.cmake, "-S", odd, "-B", odd / "build", fails=True):
            sys.exit("FAILED: CMake takes the path of the sources for a pattern")
    print("install test passed")


if __name__ == "__main__":
    main()
