# SPDX-License-Identifier: Apache-2.0
"""The security of every lattice parameter set, by bench/security/estimate."""

import json
import os
import subprocess
import sys
import tempfile

import gbench
from reproduction.item import Item, LeftOut, Result, Row, Table

PEER = "PIRX_PEER_LATTICE_ESTIMATOR"


def run(context):
    folder = os.environ.get(PEER)
    if not folder:
        raise LeftOut(f"{PEER} names no clone of lattice-estimator. bench/security/estimates.json has what it estimated before")
    flags = ["--quick"] if context.quick else []
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run([sys.executable, str(gbench.ROOT / "bench/security/estimate"), folder, "--json", file.name, *flags],
                              capture_output=True, text=True)
        if "mpmath is missing" in done.stderr:
            raise LeftOut("mpmath is missing (Debian: python3-mpmath)")
        if done.returncode:
            raise gbench.Failed(done.stderr.strip())
        context.commands.append(" ".join(["bench/security/estimate lattice-estimator", *flags]))
        return json.load(file)


def show(found):
    ours = f"lattice-estimator {found['commit']}"
    check = [Row(f"{one['scheme']}, {one['attack']}, {one['model']}", one["published"], one["bits"], unit="bits") for one in found["kyber"]]
    tables = [Table(check, title="Check: Kyber, as the estimator's documentation prints it", paper="published", ours=ours)]
    for name, instance in found["instances"].items():
        what = f"{name}: n = {instance['n']}, q = {instance['q']}, eta = {instance['eta']}"
        rows = [Row(f"{one['attack']}, {one['model']}", None, one["bits"], unit="bits", note=f"block size {one['block_size']}")
                for one in instance["estimates"]]
        tables.append(Table(rows, title=f"{what}: {', '.join(instance['sets'])}", ours=ours))
    return Result(tables, "The paper names the estimator and gives no figure. Spiral's authors claim 128 bits for eta = 13. bkw, Arora-Ge and "
                          "bdd_hybrid are not run: the stand-in for Sage lacks what they need.")


ITEM = Item("003", "security", "Security of every parameter set, by the lattice estimator", run, show, seconds=240, quick_seconds=3)
