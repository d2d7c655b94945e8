#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The WebAssembly client in Node.js, against real servers of every protocol and hostile ones.

    node_test.py PIRX FOLDER-OF-THE-PAGE
"""
import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path


from support import HTML, RECORDS, ROOT, Served, record

FOLDER = ""


class Node(Served):
    def ask(self, deployment, *wishes, trick="", **settings):
        """The answers, one for each wish."""
        lines = [json.dumps({"deployment": str(deployment), "wish": wish, **settings}) for wish in wishes]
        done = subprocess.run(["node", ROOT / "tests/web/look_up.mjs", FOLDER, *([trick] if trick else [])],
                              input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(wishes), done.stderr)
        return answers if len(answers) > 1 else answers[0]

    def test_every_protocol(self):
        native = self.run_pirx("get", self.servers("plain.pirx", 3), 17, "-q").rstrip("\n")
        self.assertEqual(native, record(17))
        for count, *words in ((3, "--field", "gf2_8"), (3, "--field", "gf2_16"), (3, "--field", "w160"), (3, "--field", "w48"),
                              (2, "--protocol", "chor"), (1, "--protocol", "spiral"), (1, "--protocol", "download")):
            with self.subTest(words):
                deployment = self.servers("plain.pirx", count, *words)
                for i, answer in zip((17, 0, RECORDS - 1), self.ask(deployment, 17, 0, RECORDS - 1)):
                    self.assertEqual(answer["record"], record(i), answer)
                    self.assertEqual([server["outcome"] for server in answer["servers"]], ["ok"] * count)
                for wish in (RECORDS, -1, 2**53, 2**70):
                    out_of_range = self.ask(deployment, wish)
                    self.assertEqual(out_of_range["code"], "OutOfRange", out_of_range)

    def test_keys(self):
        deployment = self.servers("keyed.pirx", 3)
        found, other, missing = self.ask(deployment, "key77", "key78", "nobody")
        self.assertEqual((found["record"], found["certainty"], found["proofBound"]), (record(77), "proven", 1))
        self.assertEqual(missing["record"], None)
        self.assertEqual(found["database"]["records"], RECORDS)
        # What is sent does not depend on the key, nor on whether there is a record.
        sent = [sorted(event for event in answer["events"] if event[0] == "sent") for answer in (found, other, missing)]
        self.assertEqual(sent[0], sent[1])
        self.assertEqual(sent[0], sent[2])
        self.assertEqual(self.ask(deployment, 3)["code"], "InvalidArgument")

    def test_a_pinned_publisher(self):
        """The module checks signatures by its own code."""
        key, manifest, pinned = (self.path / name for name in ("publisher.key", "manifest", "pinned.json"))
        self.run_pirx("manifest", "key", key)
        self.run_pirx("manifest", "sign", self.path / "keyed.pirx", "--key", key, "--name", "lists", "--out", manifest)
        good = json.loads(self.servers("keyed.pirx", 3).read_text())
        del good["checksum"]  # the manifest is to find what is changed here
        good |= {"publisher": Path(f"{key}.pub").read_text().strip() + ":lists", "manifest": manifest.read_bytes().hex()}
        pinned.write_text(json.dumps(good))
        self.assertEqual(self.ask(pinned, "key77")["record"], record(77))
        for change, code in (({"database": good["database"] | {"epoch": 2}}, "StaleEpoch"),
                             ({"manifest": good["manifest"][:-2] + "ff"}, "Unauthenticated"),
                             ({"publisher": "66" * 32 + ":lists"}, "Unauthenticated"),
                             ({"publisher": good["publisher"].replace("lists", "packages")}, "Unauthenticated")):
            pinned.write_text(json.dumps(good | change))
            self.assertEqual(self.ask(pinned, "key77")["code"], code)

    def test_several_in_one_look_up(self):
        for file, wishes in (("keyed.pirx", ["key5", "nobody", "", "key77", "key5"]), ("plain.pirx", [5, 77, 5])):
            deployment = self.servers(file, 3)
            answer = self.ask(deployment, wishes)
            expected = [None if wish in ("nobody", "") else record(int(str(wish).removeprefix("key"))) for wish in wishes]
            self.assertEqual((answer["records"], answer["certainty"]), (expected, "proven"))
            self.assertEqual(len([event for event in answer["events"] if event[0] == "sent"]), 3)
        self.assertEqual(self.ask(deployment, [5, "key5"])["code"], "InvalidArgument")
        self.assertEqual(self.ask(deployment, [])["code"], "InvalidArgument")

    def test_liars_are_named(self):
        deployment = self.servers("keyed.pirx", 4, modes={2: "lie"})
        answer = self.ask(deployment, "key5")
        self.assertEqual((answer["record"], answer["certainty"]), (record(5), "proven"))
        self.assertEqual([server["outcome"] for server in answer["servers"]], ["ok", "ok", "lied", "ok"])

    def test_hostile_servers(self):
        for mode, part in (("huge", "longer than the"), ("html", "not of type application/octet-stream"),
                           ("silent", "did not reply in time"), ("refuse", HTML)):
            with self.subTest(mode):
                deployment = self.servers("keyed.pirx", 3, modes={1: mode})
                answer = self.ask(deployment, "key5", timeout=3000)
                self.assertEqual(answer["record"], record(5), answer)
                bad = answer["servers"][1]
                self.assertIn(part, bad["message"])
                self.assertNotEqual(bad["outcome"], "ok")
                self.assertLess(bad["bytesDown"], 1 << 20)
                self.assertEqual(len(self.before[1].asked), 1)  # once, whatever it did

    def test_too_few_servers(self):
        answer = self.ask(self.servers("keyed.pirx", 3, modes={0: "html", 1: "html"}), "key5")
        self.assertEqual(answer["code"], "Undecodable", answer)
        self.assertEqual([server["url"].partition(":")[0] for server in answer["servers"]], ["http"] * 3)
        self.assertNotIn("key5", answer["message"])

    def test_nobody_there(self):
        deployment = self.servers("keyed.pirx", 3, modes={0: "lie"})
        content = json.loads(Path(deployment).read_text())
        content["servers"][0]["url"] = "http://127.0.0.1:1"
        Path(deployment).write_text(json.dumps(content))
        answer = self.ask(deployment, "key5")
        self.assertEqual(answer["record"], record(5))
        self.assertEqual(answer["servers"][0]["message"], "cannot be reached: ECONNREFUSED")

    def test_an_end_by_signal(self):
        deployment = self.servers("keyed.pirx", 3, modes={0: "silent"})
        start = time.monotonic()
        self.assertEqual(self.ask(deployment, "key5", timeout=90_000, abort=1500)["name"], "TimeoutError")
        self.assertLess(time.monotonic() - start, 60)

    def test_faults_of_the_caller(self):
        deployment = self.servers("keyed.pirx", 3)
        for type in ("sent", "received"):
            answer = self.ask(deployment, "key5", fault=type)
            self.assertEqual((answer.get("name"), answer.get("message")), ("RangeError", "of the caller"))

    def test_bad_input(self):
        bad = self.path / "bad.json"
        for text, code in (("", "DataLoss"), ("{", "DataLoss"), ("[" * 100_000, "DataLoss"), ('{"pirx_deployment":1}', "DataLoss"),
                           ('{"pirx_deployment":9}', "DataLoss"), ("{}" + " " * (1 << 19), "DataLoss")):
            bad.write_text(text)
            self.assertEqual(self.ask(bad, "key5")["code"], code, text[:40])
        deployment = self.servers("keyed.pirx", 3)
        self.assertIn("not chor", self.ask(deployment, "key5", protocol="chor")["message"])
        self.assertIn("nonsense", self.ask(deployment, "key5", options={"nonsense": 1})["message"])
        self.assertIn("2^30", self.ask(deployment, "key5", maxBytes=2**31)["message"])
        for wish in (-1, 0.5, 2**70):
            self.assertEqual(self.ask(deployment, wish)["code"], "InvalidArgument")

    def test_what_is_closed_is_freed(self):
        """Each of Spiral's clients holds keys of 0.8 MB."""
        deployment = self.servers("plain.pirx", 1, "--protocol", "spiral")
        line = json.dumps({"deployment": str(deployment), "wish": 5, "again": 20})
        done = subprocess.run(["node", ROOT / "tests/web/look_up.mjs", FOLDER], input=line + "\n", capture_output=True,
                              text=True, timeout=200)
        grown, closed = map(json.loads, done.stdout.splitlines())
        self.assertLess(grown["grown"], 25 << 20)  # 51 MB where nothing is freed
        self.assertEqual(closed["code"], "InvalidArgument", closed)

    def test_authorities_of_the_deployment(self):
        """The file is beside the deployment, and the program elsewhere."""
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"], cwd=self.path, check=True, capture_output=True)
        url = self.serve("plain.pirx", "--protocol", "download", "--listen", "127.0.0.1:0",
                         "--tls-cert", "cert.pem", "--tls-key", "key.pem").replace("http:", "https:")
        self.run_pirx("deploy", "tls.json", "--server", url, "--ca", "cert.pem")
        deployment = self.path / "tls.json"
        self.assertEqual(self.ask(deployment, 5)["record"], record(5))
        content = json.loads(deployment.read_text())
        del content["servers"][0]["ca_file"]
        (self.path / "untrusted.json").write_text(json.dumps(content))
        self.assertEqual(self.ask(self.path / "untrusted.json", 5)["servers"][0]["message"],
                         "its certificate is not trusted: DEPTH_ZERO_SELF_SIGNED_CERT")
        (self.path / "cert.pem").rename(self.path / "elsewhere.pem")
        answer = self.ask(deployment, 5)
        self.assertEqual((answer["code"], answer["message"]), ("Unavailable", "the ca_file of a server cannot be read: ENOENT"))

    def test_node_18_has_no_global_crypto(self):
        self.assertEqual(self.ask(self.servers("keyed.pirx", 3), "key5", trick="no-crypto")["record"], record(5))


if __name__ == "__main__":
    Served.pirx, FOLDER = map(os.path.abspath, sys.argv[1:3])
    del sys.argv[1:3]
    unittest.main()
