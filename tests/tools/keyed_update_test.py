#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Updates of keyed databases under running servers, looked up by key before and after; load on them; what is said of
their sizes.

    keyed_update_test.py PIRX
"""
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import command_line_test as cl

COUNT = 3000


class KeyedUpdate(cl.Servers):
    def build(self, *more, name="keyed.pirx", count=COUNT):
        source = self.path / "keyed.jsonl"
        source.write_text("".join(json.dumps({"k": f"key {i}", "v": f"value {i}"}) + "\n" for i in range(count)))
        target = self.path / name
        cl.run("db", "build", target, source, "--key", "k", "--value", "v", "--keyed", *more)
        return target

    def get(self, target, key, code=0):
        return cl.run("get", target, "--key", key, "-q", code=code).stdout

    def test_updates_reach_clients(self):
        database = self.build()
        servers = [self.serve(database, x, "--watch", "50ms") for x in (1, 2, 3)]
        target = self.deploy(servers, 1)
        self.assertEqual(self.get(target, "key 7"), "value 7\n")
        # A record of a key that is there.
        done = cl.run("db", "update", database, "--key", f"key 7={self.record('seven')}")
        self.assertIn("epoch 2, 3000 records, ", done.stdout)
        self.assertIn("0 added, 1 changed, 0 removed", done.stdout)
        for server in servers:
            self.assertEqual(self.event(server, "epoch")["epoch"], 2)
        self.get(target, "key 7", code=8)
        cl.run("deploy", "--refresh", target)
        self.assertEqual(self.get(target, "key 7"), "seven\n")
        for i in (0, 6, 8, 2999):
            self.assertEqual(self.get(target, f"key {i}"), f"value {i}\n")
        self.assertIn("sound", cl.run("db", "verify", database).stdout)
        # New and removed keys.
        changes = self.path / "changes.jsonl"
        changes.write_text('{"key": "new\\n", "record": "added"}\n{"key": "key 1", "remove": true}\n')
        done = cl.run("db", "update", database, "--remove", "key 0", "--changes", changes,
                      "--key", f"key 7={self.record('seven again, and a longer record')}")
        self.assertRegex(done.stderr, r"rebuilding 2999 records, about [0-9.]+ s\nrebuilt in [0-9.]+ s\n")
        self.assertIn("1 added, 1 changed, 2 removed", done.stdout)
        for server in servers:
            self.assertEqual(self.event(server, "epoch", 2)["epoch"], 3)
        # Two keys fewer and one more are fewer records, which a client takes from nobody unasked.
        self.assertIn("fewer than 3000", cl.run("deploy", "--refresh", target, code=8).stderr)
        cl.run("deploy", "--refresh", target, "--allow-rollback")
        self.get(target, "key 0", code=3)
        self.get(target, "key 1", code=3)
        self.assertEqual(cl.run("get", target, "--key", "new\n", "--raw", "-q").stdout, "added")
        self.assertEqual(self.get(target, "key 7"), "seven again, and a longer record\n")
        self.assertEqual(self.get(target, "key 8"), "value 8\n")
        # The list of keys followed.
        cl.run("db", "update", database, "--key", f"new\n={self.record('again')}")
        self.assertEqual(cl.run("db", "get", database, "--key", "new\n").stdout, "again\n")

    def test_a_link_stays_one(self):
        database, link = self.build(count=50), self.path / "link.pirx"
        link.symlink_to(database)
        mine = self.record("".join(f"key {i}\n" for i in range(50)))
        for key in ("key 1", "new"):
            cl.run("db", "update", link, "--key", f"{key}={self.record('x')}", "--keys-from", mine)
            self.assertEqual(cl.run("db", "get", database, "--key", key).stdout, "x\n")
        cl.run("db", "update", link, "--key", f"key 2={self.record('y')}")  # the list is beside the database
        cl.run("db", "build", link, self.path / "keyed.jsonl", "--key", "k", "--value", "v", "--keyed")
        self.assertTrue(link.is_symlink())
        self.assertNotEqual(cl.run("db", "get", database, "--key", "key 2").stdout, "y\n")
        self.assertFalse(Path(f"{link}.keys").exists())

    def test_the_list_of_keys(self):
        database = self.build("--no-key-list", count=50)
        listed = database.with_name(database.name + ".keys")
        self.assertFalse(listed.exists())
        change = ("db", "update", database, "--key", f"key 1={self.record('x')}")
        self.assertIn("no " + str(listed), cl.run(*change, code=5).stderr)
        mine = self.record("".join(f"key {i}\n" for i in range(50)))
        cl.run(*change, "--keys-from", mine)
        self.assertEqual(cl.run("db", "get", database, "--key", "key 1").stdout, "x\n")
        mine.write_text("key 1\nkey 2\n")
        done = cl.run(*change, "--keys-from", mine, code=2)
        self.assertIn(f"{mine}: the list of keys has 2 of the 50 keys", done.stderr)
        mine.write_text("key 1\nkey\\q\n")
        self.assertIn(f"{mine}, line 2", cl.run(*change, "--keys-from", mine, code=2).stderr)
        # A file of that name that is somebody else's stays.
        listed.write_text("mine\n")
        source = self.path / "keyed.jsonl"
        build = ("db", "build", database, source, "--key", "k", "--value", "v", "--keyed")
        self.assertIn("no list of keys that pirx wrote", cl.run(*build, code=2).stderr)
        self.assertEqual(listed.read_text(), "mine\n")
        listed.unlink()
        cl.run(*build)
        self.assertEqual(len(listed.read_text().splitlines()), 52)
        # What a crash leaves between the database and its list: the keys are found in either.
        text = listed.read_text()
        listed.with_name(listed.name + ".new").write_text(text)
        listed.write_text(text[:100])
        cl.run(*change)

    def test_an_update_beside_another(self):
        database, pipe = self.build(count=50), self.path / "pipe"
        os.mkfifo(pipe)
        words = ("db", "update", database, "--key", f"key 1={self.record('x')}", "--keys-from", pipe)
        late = subprocess.Popen([cl.PIRX, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with pipe.open("w") as keys:  # once the update has begun
            cl.run("db", "update", database, "--key", f"new={self.record('n')}")
            keys.write("".join(f"key {i}\n" for i in range(50)))
        self.assertIn("has changed since this update began", late.communicate(timeout=60)[1])
        self.assertEqual(late.returncode, 5)

    def test_a_failing_build_keeps_what_a_crash_left(self):
        database = self.build(count=50)
        listed, left = Path(f"{database}.keys"), Path(f"{database}.keys.new")
        # As after a crash between the database and its list.
        left.write_text(listed.read_text())
        listed.write_text("pirx key list 2\nkey 3\n")
        before = [path.read_text() for path in (listed, left)]
        few, bad = self.path / "few.csv", self.path / "bad.csv"
        few.write_text("k,v\nother,x\n")
        bad.write_text("k,v\na,x\na,y\n")
        words = ("--key", "k", "--value", "v", "--keyed")
        cl.run("db", "build", database, "nosuchfile.csv", *words, code=5)
        cl.run("db", "build", database, bad, *words, code=2)
        held = database.open()
        fcntl.flock(held, fcntl.LOCK_EX)
        self.assertIn("another process is changing", cl.run("db", "build", database, few, *words, code=5).stderr)
        held.close()
        self.assertEqual([path.read_text() for path in (listed, left)], before)
        cl.run("db", "update", database, "--key", f"key 7={self.record('seven')}")
        # While another process writes its list, even of a database that is not there yet.
        left.write_text("pirx key list 2\n")
        with left.open() as locked:
            fcntl.flock(locked, fcntl.LOCK_EX)
            done = cl.run("db", "update", database, "--key", f"new={self.record('n')}", code=5)
            self.assertIn(f"another process is changing {database}", done.stderr)
        cl.run("db", "update", database, "--key", f"new={self.record('n')}")
        self.assertFalse(left.exists())
        cl.run("db", "update", database, "--key", f"new={self.record('m')}")

    def test_what_killed_builds_left_goes(self):
        database = self.build(count=50)
        whole, left = Path(f"{database}.keys").read_text(), Path(f"{database}.keys.new")
        for before, keys in (("pirx key list 2\n", 50), ("pirx key list 2\n" + "x" * 99999 + "\n", 50), (whole, 100), (whole + "\nkey 1\n\\end\n", 101)):
            left.write_text(before + "killed 1\nkilled 2\ncut \\x")
            self.build(count=50)
            listed = self.keys_of(database)
            self.assertNotIn("killed 1", listed)
            self.assertEqual(sum(key.startswith("key") for key in listed), keys)
        left.write_text("pirx key list 1\nold\n")  # of an earlier version, which wrote no ends
        self.build(count=50)
        self.assertIn("old", self.keys_of(database))
        mine = self.record(whole)  # is also a list for --keys-from
        cl.run("db", "update", database, "--key", f"key 1={self.record('x')}", "--keys-from", mine)

    def build_from_pipe(self, target):
        """A build that has begun and waits for its input."""
        child = subprocess.Popen([cl.PIRX, "db", "build", target, "-", "--from", "csv", "--key", "k", "--value", "v", "--keyed", "-q"],
                                 stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not any(f".tmp-{child.pid}-" in path.name for path in self.path.iterdir()):
            self.assertIsNone(child.poll())
            time.sleep(0.01)
        return child

    def keys_of(self, database):
        return Path(f"{database}.keys").read_text().splitlines()[1:-1]

    def test_a_refused_build_leaves_the_list_of_another(self):
        database = self.build(count=50)
        first = self.build_from_pipe(database)
        done = cl.run("db", "build", database, self.path / "keyed.jsonl", "--key", "k", "--value", "v", "--keyed", code=5)
        self.assertIn("another process is changing", done.stderr)
        self.assertEqual(first.communicate("k,v\na,1\nb,2\n", timeout=60), (None, ""))
        self.assertEqual(first.returncode, 0)
        self.assertEqual(self.keys_of(database), ["a", "b"])

    def test_two_builds_of_a_new_database(self):
        database = self.path / "new.pirx"
        first, second = self.build_from_pipe(database), self.build_from_pipe(database)
        first.communicate("k,v\na,1\nb,2\n", timeout=60)
        error = second.communicate("k,v\nc,3\n", timeout=60)[1]
        self.assertEqual([first.returncode, second.returncode], [0, 5], error)
        self.assertEqual(self.keys_of(database), ["a", "b"])
        self.assertEqual(sorted(os.listdir(self.path)), ["new.pirx", "new.pirx.keys"])

    def test_the_list_is_as_private_as_the_database(self):
        database = self.build(count=50)
        listed = Path(f"{database}.keys")
        self.assertEqual(listed.stat().st_mode, database.stat().st_mode)
        for mode in (0o640, 0o600):
            database.chmod(mode)
            cl.run("db", "build", database, self.path / "keyed.jsonl", "--key", "k", "--value", "v", "--keyed")
            self.assertEqual([path.stat().st_mode & 0o777 for path in (database, listed)], [mode] * 2)
            listed.chmod(0o644)
            cl.run("db", "update", database, "--key", f"new {mode}={self.record('x' * 5000)}")
            self.assertEqual([path.stat().st_mode & 0o777 for path in (database, listed)], [mode] * 2)
        database.chmod(0o644)  # all may read it, but its keys are whose they were
        cl.run("db", "update", database, "--key", f"another={self.record('x' * 5000)}")
        self.assertEqual([path.stat().st_mode & 0o777 for path in (database, listed)], [0o644, 0o600])

    def test_files_of_others_stay(self):
        database = self.build(count=50)
        victim = self.path / "victim"
        victim.write_text("mine")
        for name in (".keys.new", ".keys"):
            there = Path(f"{database}{name}")
            there.unlink(missing_ok=True)
            there.symlink_to(victim)
            source = self.path / "keyed.jsonl"
            done = cl.run("db", "build", database, source, "--key", "k", "--value", "v", "--keyed", code=2)
            self.assertIn(f"{there} exists and is no list of keys", done.stderr)
            self.assertEqual(victim.read_text(), "mine")
            there.unlink()

    def test_pipes_are_not_waited_for(self):
        database = self.build(count=50)
        listed = Path(f"{database}.keys")
        listed.unlink()
        os.mkfifo(listed)
        self.assertIn("list of keys", cl.run("db", "update", database, "--key", f"a={self.record('x')}", code=5).stderr)
        os.mkfifo(self.path / "pipe")
        cl.run("db", "build", self.path / "pipe", self.path / "keyed.jsonl", "--key", "k", "--value", "v", code=2)

    def test_what_is_refused(self):
        database = self.build(count=50)
        before = json.loads(cl.run("db", "info", database, "--json").stdout)
        one = self.record("x")
        bad = self.record('{"key": "a", "record": "x", "remove": true}\n')
        kept = self.record('{"key": "key 1", "remove": false}\n')
        for words, code, part in ((("--append", one), 2, "no order"), (("--set", f"3={one}"), 2, "no positions"), (("--truncate", 3), 2, "no order"),
                                  (("--remove", "nobody"), 3, "no record has the key 'nobody'"),
                                  (("--key", "key 1"), 2, "wants '='"),
                                  (("--key", f"long={self.record('x' * 101)}", "--max-record-bytes", 100), 2, "has 101 bytes, the limit is 100"), (("--changes", bad), 2, "exclude each other"),
                                  (("--changes", kept), 2, "is not true")):
            self.assertIn(part, cl.run("db", "update", database, *words, code=code).stderr)
        self.assertEqual(json.loads(cl.run("db", "info", database, "--json").stdout), before)
        plain = self.path / "plain.pirx"
        cl.run("db", "build", plain, self.path / "keyed.jsonl", "--key", "k", "--value", "v")
        for words in (("--remove", "key 1"), ("--key", f"key 1={one}", "--keys-from", one)):
            self.assertIn("not keyed", cl.run("db", "update", plain, *words, code=2).stderr)

    def test_buckets(self):
        database = self.build()
        prefix = self.path / "bucket"
        cl.run("db", "encode", database, "--servers", 6, "--arity", 2, "--out", prefix)
        servers = [self.start(cl.PIRX, "serve", f"{prefix}.{j}", "--listen", "127.0.0.1:0") for j in range(1, 7)]
        target = self.deploy(servers, 1)
        self.assertEqual(self.get(target, "key 7"), "value 7\n")
        change = ("db", "update", database, "--key", f"key 7={self.record('seven')}")
        done = cl.run(*change, "--buckets", prefix, code=2)
        self.assertIn(f"leave out --buckets, and run 'pirx db encode {database} ... --out {prefix}' afterwards", done.stderr)
        cl.run(*change)
        # Buckets of the epoch before do not follow.
        self.assertIn("is of another database", cl.run("db", "update", database, "--buckets", prefix, code=2).stderr)
        cl.run("db", "encode", database, "--servers", 6, "--arity", 2, "--out", prefix)
        for server in servers:
            server.child.send_signal(signal.SIGHUP)
            self.event(server, "epoch")
        cl.run("deploy", "--refresh", target)
        self.assertEqual([self.get(target, f"key {i}") for i in (7, 8)], ["seven\n", "value 8\n"])

    def test_sizes_in_the_documentation(self):
        page = (Path(__file__).resolve().parents[2] / "docs/protocols/keyword.md").read_text()
        for count in (1000, 10_000):
            told = re.search(rf"^\| {count:,} \|(.*)\|$", page, re.MULTILINE)[1].split(" | ")
            source = self.path / "records.jsonl"
            source.write_text("".join('{"k": "key %d", "v": "%0100d"}\n' % (i, i) for i in range(count)))
            cells = []
            for words in (("--value", "v"), ("--key", "k", "--value", "v", "--keyed"),
                          ("--key", "k", "--value", "v", "--keyed", "--records-per-row", 1)):
                cl.run("db", "build", self.path / "sized.pirx", source, "--from", "jsonl", *words)
                said = cl.run("db", "info", self.path / "sized.pirx").stdout
                rows, slots = map(int, re.search(r"^rows +(\d+) x .*, (\d+) ", said, re.MULTILINE).groups())
                cells.append(f"{rows:,} x {slots}")
                if len(cells) > 1:
                    cells.append(f"{rows * slots / count:.2f}")
            self.assertEqual([cell.strip() for cell in told], cells)

    def test_load(self):
        database = self.build()
        for words in (("--coordinate", 1), ("--coordinate", 1, "--protocol", "chor"), ("--protocol", "spiral"),
                      ("--protocol", "download")):
            server = self.start(cl.PIRX, "serve", database, "--listen", "127.0.0.1:0", *words)
            several = "--coordinate" in words
            report = json.loads(cl.run("load", server.url, "--connections", 2, "--duration", "300ms", "--json",
                                       *(("--queries", 3) if several else ())).stdout)
            self.assertGreater(report["answered_ms"]["count"], 0)
            self.assertEqual(report["failed"], {})
            server.stop()


if __name__ == "__main__":
    cl.PIRX = sys.argv.pop(1)
    unittest.main()
