#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpirun as tests and benchmarks need it: several ranks on this one machine, whoever runs it, without ssh.

    mpirun.py [-n RANKS] PROGRAM ARGUMENT ...     becomes it

command() and environment() are for other scripts.
"""
import argparse
import os
import random


def environment():
    settings = dict(
        os.environ,
        # Containers run everything as root.
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        # This machine only: no ssh is looked for, no network interface is used.
        OMPI_MCA_plm="isolated",
        OMPI_MCA_btl="self,vader",
        # Containers may not read each other's memory; without this MPI complains at every message.
        OMPI_MCA_btl_vader_single_copy_mechanism="none",
        OMPI_MCA_hwloc_base_binding_policy="none",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        # Waiting threads sleep: ranks share the cores.
        OMP_WAIT_POLICY="passive",
    )
    # All ranks draw the same numbers.
    settings.setdefault("PIRX_TEST_SEED", str(random.getrandbits(48)))
    # MPI keeps what it allocated until the process ends; nothing else about memory is looked over.
    options = [o for o in settings.get("ASAN_OPTIONS", "").split(":") if o and not o.startswith("detect_leaks")]
    settings["ASAN_OPTIONS"] = ":".join(options + ["detect_leaks=0"])
    return settings


def command(ranks, *words):
    return ["mpirun", "-n", str(ranks), "--oversubscribe", *map(str, words)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=2, dest="ranks")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    words = command(args.ranks, *args.words)
    os.execvpe(words[0], words, environment())


if __name__ == "__main__":
    main()
