# SPDX-License-Identifier: Apache-2.0
"""Runs a benchmark of a build folder and reads what Google Benchmark says. Every report finds its programs here."""

import json
import os
import pathlib
import platform
import re
import shlex
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
COMMIT = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip() or "unknown"
CPU = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())


class Failed(SystemExit):
    """Ends a report with a line of what is wrong. bench/reproduce catches it and goes on."""


class NotBuilt(Failed):
    def __init__(self, build_dir, path):
        super().__init__(f"{sys.argv[0]}: no program {build_dir / path}: build it (scripts/build release), or give its build folder with --build-dir")
        self.path = path


def available_gib():
    """Of memory, as the kernel estimates it."""
    return next(int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemAvailable")) / (1 << 20)


def add_build_dir(parser):
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build/release", help="what scripts/build made [build/release]")


def program(build_dir, path):
    if not (build_dir / path).is_file():
        raise NotBuilt(build_dir, path)
    return (build_dir / path).absolute()


def all_flags(flags, repetitions, only):
    wanted = [f"--benchmark_filter=^({'|'.join(only)})(/|$)"] if only else []
    return [f"--benchmark_repetitions={repetitions}", *map(str, flags), *wanted]


def command_line(path, *flags, repetitions=1, only=()):
    """What to type for a run, from the top of the tree."""
    return shlex.join([f"build/release/{path}", *all_flags(flags, repetitions, only)])


def run(build_dir, path, *flags, repetitions=1, only=(), fastest=False, before=(), environment={}, times=("real_time",)):
    """The context, and by the names of benchmarks the medians of what was measured: real_time, cpu_time, best and most (seconds,
    of the wall's clock), cpu_best and cpu_most, samples, counters, label; and spread: how far, over its median, a repetition of one
    of `times` lies from it.

    `only`: benchmarks by the beginnings of their names, up to a "/"; all without it. `fastest`: what the fastest repetition measured instead of
    medians. `before`: the words of a program that starts this one, such as mpirun.
    """
    flags = all_flags(flags, repetitions, only)
    command = [*before, program(build_dir, path), "--benchmark_format=json", "--benchmark_enable_random_interleaving=true",
               f"--benchmark_context=commit={COMMIT}", *flags]
    print(path, *flags, file=sys.stderr)
    # Threads that wait spend no processor time.
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_WAIT_POLICY": "passive", **environment})
    if done.returncode:
        wrong = re.findall(r'"error_message": "(.*)"', done.stdout)
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise Failed(f"{sys.argv[0]}: {path} ended with {done.returncode}: {'; '.join(wrong or said)}")
    out, runs = json.loads(done.stdout), {}
    for one in out["benchmarks"]:
        if one["run_type"] == "iteration":
            name = re.sub(r"/(iterations|repeats|process_time|real_time|manual_time)\b[:\d]*", "", one["run_name"])
            scale = SECONDS[one.get("time_unit", "s")]
            runs.setdefault(name, []).append({**one, **{time: one[time] * scale for time in ("real_time", "cpu_time") if time in one}})
    medians = {}
    for name, ones in runs.items():
        walls, cpu = ([one.get(clock, 0) for one in ones] for clock in ("real_time", "cpu_time"))
        chosen = [ones[walls.index(min(walls))]] if fastest else ones
        middles = {key: statistics.median(one[key] for one in ones) for key in times}
        medians[name] = {key: statistics.median(one[key] for one in chosen) if isinstance(value, (int, float)) else value
                         for key, value in ones[0].items()} | {
                             "best": min(walls), "most": max(walls), "cpu_best": min(cpu), "cpu_most": max(cpu), "samples": len(ones),
                             "spread": max((abs(one[key] / middle - 1) for key, middle in middles.items() if middle for one in ones), default=0)}
    return out["context"], medians


def parts(name):
    """{"kind": "product", "field": "gf2_8", "q": "256"} of product/field:gf2_8/q:256."""
    kind, *rest = name.split("/")
    return {"kind": kind, **dict(part.split(":", 1) for part in rest if ":" in part)}
