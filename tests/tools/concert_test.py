#!/usr/bin/env python3
"""pirx on real data against liars in concert: this machine's Debian package index (a made-up one of the same form where there
is none), nine servers of which three answer from one forged database, so that their replies lie on one polynomial, and t = 2.
pirx get must fetch the right record, name exactly the three, and call it proven.

    concert_test.py PIRX
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
PIRX = None


def package_index() -> bytes:
    if shutil.which("apt-cache"):
        index = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=False, timeout=100).stdout
        if index.count(b"\nPackage:") > 1000:
            return index
    return "".join(
        f"Package: package-{i}\nVersion: {i % 7}.{i}\nSection: misc\nDescription: number {i}\n {'word ' * (i % 50)}\n\n"
        for i in range(20000)
    ).encode()


def run(*words, code=0, stdin=None):
    done = subprocess.run(list(map(str, words)), input=stdin, capture_output=True, timeout=100, check=False)
    if done.returncode != code:
        raise AssertionError(f"{words}: exit {done.returncode}, not {code}\n{done.stdout[-2000:]}\n{done.stderr}")
    return done.stdout


class Concert(unittest.TestCase):
    LIARS = (1, 4, 8)  # of servers 0 to 8

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.processes = []

    def tearDown(self):
        for process in self.processes:
            process.stop(signal.SIGKILL)
        self.folder.cleanup()

    def start(self, *words):
        self.processes.append(Process(*words))
        return self.processes[-1]

    def build(self, name, packages):
        source = self.path / f"{name}.jsonl"
        source.write_text("".join(json.dumps(package) + "\n" for package in packages))
        run(PIRX, "db", "build", self.path / name, source, "--from", "jsonl", "--key", "name", "--value", "record", "--keyed")
        return self.path / name

    def serve(self, database, coordinate):
        return self.start(PIRX, "serve", database, "--coordinate", coordinate, "--listen", "127.0.0.1:0")

    def test_three_of_nine(self):
        lines = run(sys.executable, ROOT / "examples/packages/packages.py", stdin=package_index()).decode()
        packages = [json.loads(line) for line in lines.splitlines()]
        self.assertGreater(len(packages), 1000)
        # Every letter another: the same keys and lengths, so the same shape, and no record as it was.
        change = str.maketrans("abcdefghijklmnopqrstuvwxyz", "bcdefghijklmnopqrstuvwxyza")
        forged = [dict(package, record=package["record"].translate(change)) for package in packages]
        truth, forgery = self.build("truth", packages), self.build("forgery", forged)

        servers = [self.serve(truth, x) for x in range(1, 10)]
        for j in self.LIARS:
            other = self.serve(forgery, j + 1)
            servers[j] = self.start(
                sys.executable, PROXY, "--upstream", f"127.0.0.1:{servers[j].port}",
                "--mode", "conspire", "--other", f"127.0.0.1:{other.port}",
            )  # fmt: skip
        deployment = self.path / "deployment.json"
        urls = [word for server in servers for word in ("--server", server.url)]
        run(PIRX, "deploy", deployment, "--threshold", 2, "--database", truth, *urls)

        for package in random.SystemRandom().sample(packages, 3):
            report = json.loads(run(PIRX, "get", deployment, "--key", package["name"], "--json", "--wait-for-all"))
            self.assertEqual(report["records"][0]["text"], package["record"], package["name"])
            self.assertEqual(report["certainty"], "proven")
            said = [server["status"] for server in report["servers"]]
            self.assertEqual(said, ["lied" if j in self.LIARS else "ok" for j in range(9)])

        # That the three are in concert: by themselves they are a deployment of their own, which answers with the forgery.
        urls = [word for j in self.LIARS for word in ("--server", servers[j].url)]
        run(PIRX, "deploy", deployment, "--threshold", 1, "--database", truth, *urls)
        report = json.loads(run(PIRX, "get", deployment, "--key", packages[0]["name"], "--json", "--wait-for-all"))
        self.assertEqual(report["records"][0]["text"], forged[0]["record"])
        self.assertEqual({server["status"] for server in report["servers"]}, {"ok"})


if __name__ == "__main__":
    PIRX = Path(sys.argv.pop(1)).resolve()
    unittest.main()
