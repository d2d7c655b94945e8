#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pirx-ranks as an operator runs it: beside servers of one process, stopped, and with ranks that are lost.

    serve_test.py PIRX PIRX_RANKS
"""
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/tools")]

import command_line_test as cl
import mpirun

RANKS = ""
MPIRUN = [sys.executable, str(ROOT / "tests/shards/mpirun.py")]


def refused(*words, ranks=2):
    """What a run that cannot start says: exit code and all output."""
    done = subprocess.run([*MPIRUN, "-n", str(ranks), *map(str, words)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


class Shards(cl.Servers):
    def sharded(self, database, coordinate, ranks, *more):
        return self.start(*MPIRUN, "-n", ranks, RANKS, "serve", database, "--coordinate", coordinate, "--listen",
                          "127.0.0.1:0", "--threads", 1, *more)

    def event(self, server, name, part="", count=1):
        """The count-th event of that name that holds `part`, waited for."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            lines = [json.loads(line) for line in list(server.log) if line.startswith("{")]
            found = [e for e in lines if e["event"] == name and part in json.dumps(e)]
            if len(found) >= count:
                return found[count - 1]
            time.sleep(0.02)
        raise AssertionError(f"no {name} with '{part}' in {server.log}")

    def process(self, server, rank):
        return int(re.search(r"process (\d+)", self.event(server, "shards", f"rank {rank} ")["note"]).group(1))

    def get(self, deployment, record):
        """The servers' states, after a look at the record."""
        report = json.loads(cl.run("get", deployment, record, "--json", "--wait-for-all").stdout)
        self.assertEqual(report["records"][0]["text"], cl.RECORDS[record])
        return [server["status"] for server in report["servers"]]

    def test_beside_servers_of_one_process(self):
        database = self.build()
        servers = [self.sharded(database, 1, 4, "--shards-split", "rows"),
                   self.sharded(database, 2, 2, "--shards-split", "columns"), self.serve(database, 3)]
        deployment = self.deploy(servers, 1)
        for record in (0, 17, 499):
            self.assertEqual(self.get(deployment, record), ["ok"] * 3)  # a word that differed would say so
        # What goes wrong reaches the client as ever; a new epoch takes a new start.
        cl.run("db", "update", database, "--truncate", 400)
        rank0 = self.process(servers[0], 0)
        os.kill(rank0, signal.SIGHUP)
        self.assertIn("start all of them again", self.event(servers[0], "epoch_refused")["reason"])
        self.assertEqual(self.get(deployment, 17), ["ok"] * 3)
        # Rank 0 sends the others home; none of them has printed anything.
        os.kill(rank0, signal.SIGTERM)
        self.assertEqual(servers[0].child.wait(timeout=60), 0)
        self.assertEqual(servers[0].child.stdout.read(), "")
        self.assertEqual(self.event(servers[0], "stop")["abandoned_requests"], 0)

    def test_a_rank_that_hangs_makes_the_server_unavailable(self):
        database = self.build()
        servers = [self.sharded(database, 1, 3, "--shards-timeout", "10s"), self.serve(database, 2), self.serve(database, 3)]
        deployment = self.deploy(servers, 1)
        self.assertEqual(self.get(deployment, 17), ["ok"] * 3)
        os.kill(self.process(servers[0], 2), signal.SIGSTOP)
        # Typed, or nobody there any more: never an answer.
        self.assertIn(self.get(deployment, 17)[0], ("refused", "silent"))
        self.assertIn("rank 2", self.event(servers[0], "shard_lost")["reason"])
        self.assertEqual(servers[0].child.wait(timeout=60), 5)
        self.assertTrue(any("does not answer: this server ends" in line for line in servers[0].log), servers[0].log)
        self.assertEqual(self.get(deployment, 499)[1:], ["ok"] * 2)

    def test_a_rank_that_dies_while_clients_ask(self):
        database = self.build()
        servers = [self.sharded(database, 1, 3), self.serve(database, 2), self.serve(database, 3)]
        deployment = self.deploy(servers, 1)
        victim = self.process(servers[0], 1)
        states, failures = [], []

        def ask():
            try:
                # Until the server is gone, and once more.
                for record in range(400):
                    states.append(self.get(deployment, record)[0])
                    if states[-1] != "ok" and servers[0].child.poll() is not None:
                        return
                raise AssertionError("the server outlives its rank")
            except Exception as error:
                failures.append(error)

        client = threading.Thread(target=ask)
        client.start()
        while len(states) < 3 and client.is_alive():
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)
        client.join(timeout=100)
        self.assertEqual(failures, [])
        self.assertFalse(client.is_alive())
        self.assertNotEqual(servers[0].child.wait(timeout=60), 0)
        self.assertEqual(set(states[:2]) | set(states[-1:]) - {"refused", "silent"}, {"ok"})

    def test_a_rank_whose_file_is_damaged_ends_the_server(self):
        database, copy = self.build(), self.path / "copy.pirx"
        copy.write_bytes(database.read_bytes())
        own = (RANKS, "serve", "--coordinate", 1, "--listen", "127.0.0.1:0")
        # mpirun's way to give each rank words of its own.
        servers = [self.start(*MPIRUN, "-n", 1, *own, database, ":", "-n", 1, *own, copy),
                   self.serve(database, 2), self.serve(database, 3)]
        deployment = self.deploy(servers, 1)
        self.assertEqual(self.get(deployment, 17), ["ok"] * 3)
        with open(copy, "r+b") as file:
            file.truncate(4096)
        self.assertIn(self.get(deployment, 17)[0], ("refused", "silent"))
        self.assertIn("damaged", self.event(servers[0], "shard_lost")["reason"])
        self.assertNotEqual(servers[0].child.wait(timeout=60), 0)

    def test_what_cannot_be_spread_is_refused(self):
        database, other = self.build(), self.build("other.pirx")  # of the same records in the next epoch
        cl.run("db", "update", other, "--truncate", 400)
        for words, part in (([RANKS, "serve", database, "--coordinate", "1"], "mpirun -n N"),
                            ([cl.PIRX, "serve", database, "--coordinate", "1", "--shards"], "mpirun -n N pirx-ranks serve")):
            alone = subprocess.run(words, capture_output=True, text=True, timeout=60, env=mpirun.environment())
            self.assertEqual(alone.returncode, 2)
            self.assertIn(part, alone.stderr)
        serve = (RANKS, "serve", database, "--listen", "127.0.0.1:0")
        one = ("--coordinate", 1)
        for words, part in (((*serve, "--protocol", "qr"), "the work of .* is not a product"),
                            ((*serve, *one, "--code", "subcube:2,1"), "cannot be spread"),
                            ((*serve, *one, "--watch", "1s"), "leave --watch away"),
                            ((*serve, *one, "--shards-split", "both"), "by 'rows', by 'columns'"),
                            # mpirun's way to give each rank words of its own.
                            ((*serve, *one, ":", "-n", 1, RANKS, "serve", other, *one),
                             "rank 1 .* would serve something else")):
            code, output = refused(*words, ranks=1 if ":" in words else 2)
            self.assertEqual(code, 2, output)
            self.assertRegex(output, part)
            self.assertNotIn("listening", output)


    def test_only_the_program_of_ranks_needs_mpi(self):
        libraries = [subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
                     for program in (cl.PIRX, RANKS)]
        self.assertNotIn("libmpi", libraries[0])
        self.assertIn("libmpi", libraries[1])


if __name__ == "__main__":
    RANKS = sys.argv.pop(2)
    cl.PIRX = sys.argv.pop(1)
    unittest.main(verbosity=1)
