#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Updates of databases and buckets under running servers, as an operator would do them.

    epochs_test.py PIRX
"""
import gzip
import json
import os
import signal
import sys
import time
import unittest
import urllib.error
import urllib.request

import command_line_test as cl


class Epochs(cl.Servers):
    def bucket_server(self, bucket, *more):
        return self.start(cl.PIRX, "serve", bucket, "--listen", "127.0.0.1:0", *more)

    def test_update_and_compact(self):
        database = self.build()
        changes = self.path / "changes.jsonl"
        changes.write_text("".join(json.dumps(c) + "\n" for c in (
            {"position": 3, "record": "three"}, {"key": "key4", "record": "four"}, {"key": "new", "record": "added"})))
        cl.run("db", "update", database, "--truncate", 400, "--set", f"0={self.record('zero')}",
               "--key", f"a=b={self.record('keyed')}", "--changes", changes)
        info = json.loads(cl.run("db", "info", database, "--json").stdout)
        self.assertEqual((info["epoch"], info["records"]), (2, 402))
        self.assertGreater(info["delta_bytes"], 0)

        def check():
            for words, text in (((0,), "zero"), ((3,), "three"), ((4,), "four"), (("--key", "a=b"), "keyed"),
                                (("--key", "new"), "added"), ((399,), cl.RECORDS[399])):
                self.assertEqual(cl.run("db", "get", database, *words, "--raw").stdout, text)
            cl.run("db", "get", database, "--key", "key450", code=3)
            self.assertIn("sound", cl.run("db", "verify", database).stdout)

        check()
        cl.run("db", "compact", database)
        cl.run("db", "compact", database)
        again = json.loads(cl.run("db", "info", database, "--json").stdout)
        self.assertEqual((again["delta_bytes"], again["epoch"], again["identity"]), (0, 2, info["identity"]))
        check()
        # What is wrong changes nothing.
        long = self.record("x" * 1000)
        (self.path / "no.1").symlink_to(database)
        for words, code in ((("--set", f"0={long}"), 2), (("--set", "0"), 2), (("--set", f"x={long}"), 2),
                            (("--set", f"402={self.record('x')}"), 3), (("--append", self.record("x")), 2),
                            (("--set", "0=/nowhere/file"), 5), (("--truncate", 500), 2), ((), 2),
                            (("--changes", long), 2), (("--changes", "/nowhere/file"), 5),
                            (("--buckets", self.path / "none"), 2),
                            (("--set", f"0={self.record('x')}", "--buckets", self.path / "no"), 2)):
            cl.run("db", "update", database, *words, code=code)
        self.assertEqual(json.loads(cl.run("db", "info", database, "--json").stdout), again)
        for line, part in (('{"record": 1}', "is not a string"), ('{"position": -1, "record": ""}', "whole number"),
                           ('{"key": "a"}', "missing"), ('{"truncate": 3, "record": ""}', "alone"),
                           ('{"colour": 1}', "'colour' is not known"), ("[]", "not a JSON object")):
            changes.write_text('{"position": 3, "record": "other"}\n' + line + "\n")
            done = cl.run("db", "update", database, "--changes", changes, code=2)
            self.assertIn("line 2", done.stderr)
            self.assertIn(part, done.stderr)
        # Parsed, a line takes many times its length.
        changes.write_text('{"record": [' + "0," * 70_000 + "0]}")
        self.assertIn("line 1: the JSON has more than 65536 values",
                      cl.run("db", "update", database, "--changes", changes, code=6).stderr)
        os.truncate(changes, 129 << 20)
        self.assertIn("longer than the limit", cl.run("db", "update", database, "--changes", changes, code=6).stderr)
        check()

    def test_packed_changes_do_not_fill_the_disk(self):
        lines, changes, database = self.path / "lines.txt", self.path / "changes.gz", self.path / "long.pirx"
        lines.write_text("x" * 100_000 + "\n")
        cl.run("db", "build", database, lines)
        changes.write_bytes(gzip.compress(b'{"record": ""}\n' * 1000))
        self.assertIn("of new rows", cl.run("db", "update", database, "--changes", changes, code=6).stderr)
        lines.write_bytes(gzip.decompress(changes.read_bytes()))
        cl.run("db", "update", database, "--changes", lines)
        # Keyed, too.
        lines.write_text(json.dumps({"key": "a", "record": "x" * 100_000}) + "\n")
        cl.run("db", "build", database, lines, "--from", "jsonl", "--key", "key", "--value", "record", "--keyed", "--max-record-bytes", "1MiB")
        changes.write_bytes(gzip.compress(b"".join(b'{"key": "%d", "record": ""}\n' % i for i in range(1000))))
        self.assertIn("would make 1001 records of", cl.run("db", "update", database, "--changes", changes, code=6).stderr)
        # One record that grows makes all as long.
        lines.write_bytes(gzip.decompress(changes.read_bytes()))
        cl.run("db", "build", database, lines, "--from", "jsonl", "--key", "key", "--value", "record", "--keyed")
        changes.write_bytes(gzip.compress(b'{"key": "5", "record": "%s"}\n' % (b"x" * 1_000_000)))
        self.assertIn("would make 1000 records of 1000000 bytes", cl.run("db", "update", database, "--changes", changes, code=6).stderr)

    def test_servers_take_new_epochs_and_laggards_are_erasures(self):
        database = self.build()
        copies = []
        for x in range(1, 6):
            copies.append(self.path / f"copy{x}.pirx")
            copies[-1].write_bytes(database.read_bytes())
        servers = [self.serve(copy, x + 1) for x, copy in enumerate(copies)]
        old = self.deploy(servers, 1)
        change = f"17={self.record('changed')}"
        # One server runs ahead: the others are enough for whoever has the old deployment.
        cl.run("db", "update", copies[0], "--set", change)
        servers[0].child.send_signal(signal.SIGHUP)
        self.assertEqual(self.event(servers[0], "epoch")["epoch"], 2)
        self.event(servers[0], "epoch_retired")
        report = json.loads(cl.run("get", old, 17, "--json", "--wait-for-all").stdout)
        self.assertEqual([s["status"] for s in report["servers"]], ["stale epoch"] + ["ok"] * 4)
        self.assertEqual(report["records"][0]["text"], cl.RECORDS[17])
        # One server lags: the others are enough for whoever has the new one.
        for copy, server in list(zip(copies, servers))[1:4]:
            cl.run("db", "update", copy, "--set", change)
            server.child.send_signal(signal.SIGHUP)
            self.event(server, "epoch")
        new = self.deploy(servers[:4], 1, name="four.json")
        deployment = json.loads(new.read_text())
        deployment["servers"].append(json.loads(old.read_text())["servers"][4])
        new.write_text(json.dumps(deployment))
        report = json.loads(cl.run("get", new, 17, "--json", "--wait-for-all").stdout)
        self.assertEqual([s["status"] for s in report["servers"]], ["ok"] * 4 + ["stale epoch"])
        self.assertIn("has epoch 1 now", report["servers"][4]["error"])
        self.assertEqual((report["records"][0]["text"], report["certainty"]), ("changed", "proven"))
        cl.run("get", old, 17, code=8)
        # Replicas that made the same changes are the same database.
        identities = {json.loads(cl.run("db", "info", copy, "--json").stdout)["identity"] for copy in copies[:4]}
        self.assertEqual(len(identities), 1)

    def test_a_bad_file_leaves_the_epoch_that_is_served(self):
        database = self.build()
        server = self.serve(database, 1, "--watch", "50ms")
        cl.run("db", "update", database, "--set", f"0={self.record('one')}")
        self.assertEqual(self.event(server, "epoch")["epoch_before"], 1)
        delta = self.path / "db.pirx.delta"
        good = delta.read_bytes()
        delta.write_bytes(good[:-1])
        self.assertEqual(self.event(server, "epoch_refused")["code"], "DataLoss")
        delta.write_bytes(good)
        server.child.send_signal(signal.SIGHUP)
        self.assertEqual(self.event(server, "epoch_unchanged")["epoch"], 2)
        # An older epoch, another content of the same epoch, and records of another kind.
        delta.unlink()
        self.assertIn("does not follow", self.event(server, "epoch_refused", 2)["reason"])
        source = self.record("a\nb\n")
        cl.run("db", "build", database, source, "--epoch", 2, "--from", "lines")
        self.assertIn("epoch 2 does not follow epoch 2", self.event(server, "epoch_refused", 3)["reason"])
        for count, kind in enumerate((("lines", "--no-digests"), ("fixed", "--record-bytes", 2)), 4):
            cl.run("db", "build", database, source, "--epoch", 6 + count, "--from", *kind)
            self.assertIn("other records", self.event(server, "epoch_refused", count)["reason"])
        cl.run("db", "build", self.path / "plain.pirx", source, "--epoch", 20, "--from", "lines")
        cl.run("db", "encode", self.path / "plain.pirx", "--servers", 6, "--arity", 2, "--out", self.path / "bucket")
        os.replace(self.path / "bucket.1", database)
        self.assertIn("encoded in another way", self.event(server, "epoch_refused", 6)["reason"])
        two = self.serve(self.build("two.pirx"), 2)
        self.assertEqual(server.child.poll(), None)
        cl.run("db", "update", self.path / "two.pirx", "--set", f"0={self.record('one')}")
        two.child.send_signal(signal.SIGHUP)
        self.event(two, "epoch")
        self.assertEqual(cl.run("get", self.deploy([server, two], 1), 0, "-q").stdout, "one\n")

    def sound(self, server):
        """The metric, once it is there."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with urllib.request.urlopen(f"{server.url}/metrics", timeout=20) as page:
                for line in page.read().decode().splitlines():
                    if line.startswith("pirx_database_sound "):
                        return line.split()[1]
            time.sleep(0.02)
        raise AssertionError("no pirx_database_sound")

    def ready(self, server):
        try:
            with urllib.request.urlopen(f"{server.url}/readyz", timeout=20) as page:
                return page.status
        except urllib.error.HTTPError as error:
            return error.code

    def served_copies(self):
        """Three servers with a file each, and a deployment of them."""
        database = self.build()
        self.good = database.read_bytes()
        copies = [self.path / f"copy{x}.pirx" for x in (1, 2, 3)]
        for copy in copies:
            copy.write_bytes(self.good)
        servers = [self.serve(copy, x + 1, "--layout", "rows") for x, copy in enumerate(copies)]
        for server in servers:
            self.assertEqual(self.sound(server), "1")
        return copies, servers, self.deploy(servers, 1)

    def expect_first_is_silent(self, servers, deployment):
        """The others are enough, and the server lives."""
        report = json.loads(cl.run("get", deployment, 17, "--json", "--wait-for-all").stdout)
        self.assertEqual(report["records"][0]["text"], cl.RECORDS[17])
        self.assertNotEqual(report["servers"][0]["status"], "ok")
        self.assertIn("damaged", report["servers"][0]["error"])
        self.assertEqual([s["status"] for s in report["servers"][1:]], ["ok", "ok"])
        self.assertEqual(self.sound(servers[0]), "0")
        self.assertEqual(self.ready(servers[0]), 503)
        self.assertIsNone(servers[0].child.poll())

    def mend(self, copy, server, deployment):
        new = copy.with_suffix(".new")
        new.write_bytes(self.good)
        new.replace(copy)
        server.child.send_signal(signal.SIGHUP)
        self.event(server, "epoch")
        self.assertEqual(self.sound(server), "1")
        self.assertEqual(self.ready(server), 200)
        report = json.loads(cl.run("get", deployment, 17, "--json", "--wait-for-all").stdout)
        self.assertEqual([s["status"] for s in report["servers"]], ["ok"] * 3)

    def test_a_file_that_rots_is_not_served(self):
        copies, servers, deployment = self.served_copies()
        bad = bytearray(self.good)
        bad[4096 + 100] ^= 1
        with copies[0].open("r+b") as file:
            file.write(bad)
        servers[0].child.send_signal(signal.SIGHUP)
        self.assertIn("written to", self.event(servers[0], "database_damaged")["reason"])
        self.expect_first_is_silent(servers, deployment)
        # Not taken as it is, and not served anew.
        servers[0].child.send_signal(signal.SIGHUP)
        self.assertIn("checksum", self.event(servers[0], "epoch_refused")["reason"])
        words = ("serve", copies[0], "--coordinate", 9, "--listen", "127.0.0.1:0")
        self.assertIn("checksum", cl.run(*words, code=4).stderr)
        self.mend(copies[0], servers[0], deployment)

    def test_all_of_a_file_that_was_written_to_is_checked(self):
        """A sample of its chunks, which is all that a new file gets at first, would miss it most of the time."""
        source, database = self.path / "big", self.path / "big.pirx"
        source.write_bytes(os.urandom(1 << 20) * 64)
        cl.run("db", "build", database, source, "--from", "fixed", "--record-bytes", 65536)
        server = self.serve(database, 1, "--layout", "rows")
        self.assertEqual(self.sound(server), "1")
        with database.open("r+b") as file:
            file.seek(40 << 20)
            file.write(b"wrong")
        for _ in range(3):
            server.child.send_signal(signal.SIGHUP)
            self.assertIn("checksum", self.event(server, "epoch_refused")["reason"])
        self.assertEqual(self.ready(server), 503)

    def test_a_file_truncated_in_place_ends_no_server(self):
        copies, servers, deployment = self.served_copies()
        os.truncate(copies[0], 5000)
        self.expect_first_is_silent(servers, deployment)
        self.assertIn("truncated", self.event(servers[0], "database_damaged")["reason"])
        servers[0].child.send_signal(signal.SIGHUP)
        self.assertIn("truncated", self.event(servers[0], "epoch_refused")["reason"])
        self.mend(copies[0], servers[0], deployment)

    def test_a_file_that_is_copied_over_is_not_served(self):
        copies, servers, deployment = self.served_copies()
        other = self.path / "other.pirx"
        cl.run("db", "build", other, self.path / "records.jsonl", "--key", "v", "--value", "k")
        with copies[0].open("r+b") as file:
            file.truncate(0)
            file.write(other.read_bytes())
        self.expect_first_is_silent(servers, deployment)
        self.assertIn("written to", self.event(servers[0], "database_damaged")["reason"])
        self.mend(copies[0], servers[0], deployment)

    def test_a_file_that_is_touched_is_served_again(self):
        copies, servers, deployment = self.served_copies()
        copies[0].touch()
        servers[0].child.send_signal(signal.SIGHUP)  # before any query has noticed
        self.event(servers[0], "epoch")
        report = json.loads(cl.run("get", deployment, 17, "--json", "--wait-for-all").stdout)
        self.assertEqual([s["status"] for s in report["servers"]], ["ok"] * 3)

    def test_buckets_from_encoding_to_a_new_epoch(self):
        database = self.build()
        prefix = self.path / "bucket"
        out = cl.run("db", "encode", database, "--servers", 6, "--arity", 2, "--independence", 1, "--out", prefix).stdout
        self.assertIn("u = 2, tau = 1, M = 2 over gf2_8", out)
        buckets = [self.path / f"bucket.{j}" for j in range(1, 7)]
        self.assertTrue(json.loads(cl.run("db", "info", buckets[0], "--json").stdout)["bucket"])
        self.assertIn("sound", cl.run("db", "verify", buckets[3]).stdout)
        cl.run("db", "get", buckets[0], 0, code=2)
        servers = [self.bucket_server(bucket, "--watch", "50ms") for bucket in buckets]
        deployment = self.deploy(servers, 1)
        self.assertEqual(cl.run("get", deployment, 17, "-q").stdout, cl.RECORDS[17] + "\n")
        positions = self.path / "positions.tsv"
        positions.write_text(cl.run("db", "list", database).stdout)
        by_key = ("get", deployment, "--positions", positions, "--key", "key17", "-q")
        cl.run(*by_key, code=8)
        positions.write_text(cl.run("db", "list", database, "--bucket", buckets[0]).stdout)
        self.assertEqual(cl.run(*by_key).stdout, cl.RECORDS[17] + "\n")
        self.assertIn("no bucket", cl.run("db", "list", database, "--bucket", database, code=2).stderr)
        cl.run("db", "update", database, "--set", f"17={self.record('changed')}")  # the buckets lag ...
        self.assertIn("epoch", cl.run("db", "list", database, "--bucket", buckets[0], code=2).stderr)
        cl.run("db", "update", database, "--buckets", prefix)  # ... and follow
        for server in servers:
            self.event(server, "epoch")
        self.assertEqual(cl.run("get", self.deploy(servers, 1), 17, "-q").stdout, "changed\n")
        # Buckets with noise are another thing than what they were made from.
        self.deploy(servers, 1, "--database", buckets[2])
        self.deploy(servers, 1, "--database", database, code=8)
        # As if it had been killed between two files: done once more, with other noise, and the servers take it.
        for bucket in buckets[3:]:
            bucket.with_name(bucket.name + ".delta").unlink()
        cl.run("db", "update", database, "--buckets", prefix)
        for server in servers:
            self.event(server, "epoch", 2)
        self.deploy(servers, 1, code=8)  # another content of the same epoch
        self.assertEqual(cl.run("get", self.deploy(servers, 1, "--allow-rollback"), 17, 18, "-q").stdout, f"changed\n{cl.RECORDS[18]}\n")
        for bucket in buckets:
            cl.run("db", "compact", bucket)
        self.assertEqual(list(self.path.glob("bucket.*.delta")), [])
        cl.run("db", "encode", database, "--servers", 6, "--out", prefix, code=2)
        cl.run("db", "encode", database, "--arity", 2, "--out", prefix, code=2)
        cl.run("serve", database, "--listen", "127.0.0.1:0", code=2)


if __name__ == "__main__":
    cl.PIRX = sys.argv.pop(1)
    unittest.main(verbosity=1)
