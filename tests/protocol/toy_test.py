#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A protocol that is one folder and one line of a table (tests/protocol/toy) is served, deployed, fetched from,
planned for and loaded by the command line; one without the line says which protocols it knows.

    toy_test.py PIRX-WITH-TOY PIRX
"""
import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
import command_line_test as cl  # noqa: E402

WITHOUT = ""


class Toy(cl.Servers):
    def serve(self, database):
        return self.start(cl.PIRX, "serve", database, "--protocol", "toy", "--listen", "127.0.0.1:0")

    def test_everything_comes_from_the_row(self):
        server = self.serve(self.build())
        deployment = self.path / "toy.json"
        self.assertIn("learns what is wanted", cl.run("deploy", deployment, "--server", server.url).stdout)
        self.assertEqual(json.loads(deployment.read_text())["protocol"], "toy")
        done = cl.run("get", deployment, 3, 499, "-q")
        self.assertEqual(done.stdout, f"{cl.RECORDS[3]}\n{cl.RECORDS[499]}\n")
        cl.run("get", deployment, 500, code=3)
        report = json.loads(cl.run("load", server.url, "--duration", "200ms", "--connections", 2, "--json").stdout)
        self.assertEqual((report["protocol"], report["failed"]), ("toy", {}))
        self.assertGreater(report["answered_ms"]["count"], 0)
        self.assertIn("toy (one server, no privacy)", " ".join(cl.run("serve", "--help").stdout.split()))

    def test_it_is_planned_for(self):
        rates = self.path / "rates.json"
        plan = json.loads(cl.run("plan", "--records", 1000, "--record-bytes", 100, "--rates", rates, "--json").stdout)
        self.assertEqual(plan["offers"][0]["scheme"], "toy")
        self.assertEqual(json.loads(rates.read_text())["rates"]["toy_row"], 1e-6)

    def test_by_key(self):
        server = self.serve(self.build("keyed.pirx", "--keyed"))
        deployment = self.path / "toy.json"
        cl.run("deploy", deployment, "--server", server.url)
        self.assertEqual(cl.run("get", deployment, "--key", "key7", "-q").stdout, cl.RECORDS[7] + "\n")
        cl.run("get", deployment, "--key", "nobody", code=9)

    def test_without_the_line(self):
        server = self.serve(self.build())
        deployment = self.path / "toy.json"
        cl.run("deploy", deployment, "--server", server.url)
        for words in (("deploy", self.path / "other.json", "--server", server.url), ("get", deployment, 1),
                      ("serve", self.path / "db.pirx", "--protocol", "toy")):
            done = subprocess.run([WITHOUT, *map(str, words)], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("goldberg, chor, dpf, dj-tree, qr, spiral, inspire, download", done.stderr)


if __name__ == "__main__":
    cl.PIRX, WITHOUT = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
