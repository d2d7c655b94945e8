#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pirx on real data against liars in concert: this machine's Debian package index (a made-up one of the same form where there
is none), nine servers of which three answer from one forged database, so that their replies lie on one polynomial, and t = 2.
pirx get must fetch the right record, name exactly the three, and call it proven: by key and by position, from the plain
database and from buckets of it, several rows to a query, from seeds, and with a batch code.

    concert_test.py PIRX FORGE_KEYED
"""
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from command_line_test import Process  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PROXY = ROOT / "examples/faulty_proxy/faulty_proxy.py"
PACKAGES = 5000
PIRX = FORGE_KEYED = None


def package_index() -> bytes:
    if shutil.which("apt-cache"):
        index = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=False, timeout=100).stdout
        if index.count(b"\nPackage:") > 1000:
            return b"\n\n".join(index.split(b"\n\n")[:PACKAGES]) + b"\n\n"
    return "".join(
        f"Package: package-{i}\nVersion: {i % 7}.{i}\nSection: misc\nDescription: number {i}\n {'word ' * (i % 50)}\n\n"
        for i in range(PACKAGES)
    ).encode()


def run(*words, code=0, stdin=None):
    done = subprocess.run(list(map(str, words)), input=stdin, capture_output=True, timeout=100, check=False)
    if done.returncode != code:
        raise AssertionError(f"{words}: exit {done.returncode}, not {code}\n{done.stdout[-2000:]}\n{done.stderr}")
    return done.stdout


class Concert(unittest.TestCase):
    LIARS = (1, 4, 8)  # of servers 0 to 8

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = Path(cls.folder.name)
        lines = run(sys.executable, ROOT / "examples/packages/packages.py", stdin=package_index()).decode()
        cls.packages = [json.loads(line) for line in lines.splitlines()]
        # Every letter another: the same keys and lengths, so the same shape, and no record as it was.
        change = str.maketrans("abcdefghijklmnopqrstuvwxyz", "bcdefghijklmnopqrstuvwxyza")
        cls.forged = [dict(package, record=package["record"].translate(change)) for package in cls.packages]
        for name, packages in (("truth", cls.packages), ("forgery", cls.forged)):
            source = cls.path / f"{name}.jsonl"
            source.write_text("".join(json.dumps(package) + "\n" for package in packages))
            words = (source, "--from", "jsonl", "--key", "name", "--value", "record")
            if name == "truth":
                run(PIRX, "db", "build", cls.path / "truth.keyed", *words, "--keyed")
            else:
                run(FORGE_KEYED, cls.path / "truth.keyed", source, cls.path / f"{name}.keyed")
            run(PIRX, "db", "build", cls.path / f"{name}.plain", *words)

    def setUp(self):
        self.assertGreater(len(self.packages), 1000)
        self.processes = []

    def tearDown(self):
        for process in self.processes:
            process.stop(signal.SIGKILL)

    def start(self, *words):
        self.processes.append(Process(*words))
        return self.processes[-1]

    def serve(self, kind, encode, options):
        """Nine servers of the one database, three of which answer from the other one."""
        commands = {}
        for name in ("truth", "forgery"):
            database = self.path / f"{name}.{kind}"
            if encode:
                run(PIRX, "db", "encode", database, "--servers", 9, "--out", self.path / name, *encode)
                commands[name] = [[self.path / f"{name}.{j}"] for j in range(1, 10)]
            else:
                commands[name] = [[database, "--coordinate", j] for j in range(1, 10)]
        start = lambda words: self.start(PIRX, "serve", *words, "--listen", "127.0.0.1:0", *options)  # noqa: E731
        servers = [start(words) for words in commands["truth"]]
        for j in self.LIARS:
            other = start(commands["forgery"][j])
            servers[j] = self.start(
                sys.executable, PROXY, "--upstream", f"127.0.0.1:{servers[j].port}",
                "--mode", "conspire", "--other", f"127.0.0.1:{other.port}",
            )  # fmt: skip
        return servers

    def deploy(self, servers, threshold, *options):
        deployment = self.path / "deployment.json"
        deployment.unlink(missing_ok=True)  # of another database
        urls = [word for server in servers for word in ("--server", server.url)]
        run(PIRX, "deploy", deployment, "--threshold", threshold, *options, *urls)
        return deployment

    def expect_truth(self, deployment, keyed, count, *options):
        """Records at random, by key or by position: right, proven, and exactly the three named."""
        wanted = random.SystemRandom().sample(range(len(self.packages)), count)
        words = [word for i in wanted for word in (("--key", self.packages[i]["name"]) if keyed else (i,))]
        report = json.loads(run(PIRX, "get", deployment, *words, "--json", "--wait-for-all", *options))
        self.assertEqual([r["text"] for r in report["records"]], [self.packages[i]["record"] for i in wanted])
        self.assertEqual(report["certainty"], "proven")
        said = [server["status"] for server in report["servers"]]
        self.assertEqual(said, ["lied" if j in self.LIARS else "ok" for j in range(9)])

    def test_keyed(self):
        servers = self.serve("keyed", (), ())
        deployment = self.deploy(servers, 2, "--database", self.path / "truth.keyed")
        for _ in range(3):
            self.expect_truth(deployment, True, 1)
        self.expect_truth(deployment, True, 5, "--seeded")
        missing = ["--key", "no such package", "--json", "--wait-for-all"]
        report = json.loads(run(PIRX, "get", deployment, *missing, code=3))
        self.assertEqual((report["records"], report["certainty"]), ([{"key": "no such package", "missing": True}], "proven"))
        # Two keys to a query vector.
        self.expect_truth(self.deploy(servers, 1, "--ramp", 2), True, 4)

        # That the three are in concert: by themselves they are a deployment of their own, which answers with the forgery.
        alone = self.deploy([servers[j] for j in self.LIARS], 1, "--database", self.path / "truth.keyed")
        report = json.loads(run(PIRX, "get", alone, "--key", self.packages[0]["name"], "--json", "--wait-for-all"))
        self.assertEqual(report["records"][0]["text"], self.forged[0]["record"])
        self.assertEqual({server["status"] for server in report["servers"]}, {"ok"})

    def test_keyed_in_buckets(self):
        """Degree 3, so that three of nine are more than a word alone corrects."""
        deployment = self.deploy(self.serve("keyed", ("--arity", 2), ()), 2)
        self.expect_truth(deployment, True, 1)
        self.expect_truth(deployment, True, 2, "--seeded")

    def test_keyed_in_buckets_that_servers_cannot_read(self):
        self.expect_truth(self.deploy(self.serve("keyed", ("--independence", 1), ()), 2), True, 2)

    def test_two_rows_of_buckets_in_a_query(self):
        encode = ("--arity", 2, "--modulus", "batch", "--field", "gf2_16")
        deployment = self.deploy(self.serve("plain", encode, ()), 1, "--ramp", 2)
        self.expect_truth(deployment, False, 4)
        self.expect_truth(deployment, False, 3, "--seeded")

    def test_batch_code(self):
        deployment = self.deploy(self.serve("plain", (), ("--code", "subcube:2,1")), 2)
        self.expect_truth(deployment, False, 4)
        self.expect_truth(deployment, False, 1, "--seeded")


if __name__ == "__main__":
    PIRX, FORGE_KEYED = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
    unittest.main()
