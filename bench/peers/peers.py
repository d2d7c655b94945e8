# SPDX-License-Identifier: Apache-2.0
"""Runs other programs on the same work as ours. README.md says what such a program is called with and prints."""

import json
import os
import pathlib
import statistics
import subprocess

import gbench

# By name: where it comes from, the environment variable that names the program, and what it is measured beside.
PEERS = {
    "Percy++": ("https://percy.sourceforge.net", "PIRX_PEER_PERCY", "goldberg"),
    "SimplePIR": ("https://github.com/ahenzinger/simplepir", "PIRX_PEER_SIMPLEPIR", "inspire"),
    "YPIR": ("https://github.com/menonsamir/ypir", "PIRX_PEER_YPIR", "inspire"),
    "distributed_point_functions": ("https://github.com/google/distributed_point_functions", "PIRX_PEER_DPF", "dpf"),
}
PERCY_FIELDS = {"gf2_8": "8", "gf2_16": "16"}


def installed(name):
    """The program that the peer's environment variable names, or None."""
    path = os.environ.get(PEERS[name][1])
    return pathlib.Path(path).resolve() if path and pathlib.Path(path).exists() else None


def theirs(program, mib, queries, *field):
    """{way: seconds} of one pass of the peer. Failed: it ends with an error, or an answer is wrong."""
    done = subprocess.run([program, str(mib), str(queries), *field], capture_output=True, text=True)
    if done.returncode:
        raise gbench.Failed(f"{program} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    ways = [json.loads(line) for line in done.stdout.splitlines()]
    if not ways or not all(way["right"] for way in ways):
        raise gbench.Failed(f"{program}: an answer is wrong, or there is none")
    return {way["way"]: way["seconds"] for way in ways}


def ours(build_dir, protocol, mib, queries, field):
    """{way: seconds} of one pass of ours, processor time of one core."""
    if protocol == "goldberg":
        _, found = gbench.run(build_dir, "bench/engine/engine_bench", f"--mib={mib}", f"--q={queries}", "--benchmark_min_time=0",
                              only=[f"product/field:{field}"])
        (one,) = found.values()
        return {"pirx, " + gbench.parts(next(iter(found)))["kernel"]: one["cpu_time"]}
    if protocol == "dpf":
        _, found = gbench.run(build_dir, "bench/dpf/dpf_bench", f"--mib={mib}", f"--q={queries}", only=["server"])
        return {"pirx, dpf": found[f"server/q:{queries}"]["cpu_time"]}
    _, found = gbench.run(build_dir, "bench/inspire/inspire_server", f"--mib={mib}", f"--q={queries}", only=["answer"])
    return {"pirx, inspire": found[f"answer/q:{queries}"]["ms_per_query"] * queries / 1e3}


def in_turns(build_dir, name, mib, queries, rounds, field="gf2_8"):
    """[(way, seconds, spread)]: medians of so many rounds, one of each in every round, and how far, over it, a round lies from it;
    ours last. `field` is for Percy++."""
    runs = {}
    which = [PERCY_FIELDS[field]] if name == "Percy++" else []
    for _ in range(rounds):
        for way, seconds in (theirs(installed(name), mib, queries, *which) | ours(build_dir, PEERS[name][2], mib, queries, field)).items():
            runs.setdefault(way, []).append(seconds)
    middles = {way: statistics.median(seconds) for way, seconds in runs.items()}
    return [(way, middles[way], max(abs(one / middles[way] - 1) for one in seconds)) for way, seconds in runs.items()]
