#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives the pirx program as a user would: builds, serves, deploys, fetches; then everything that can go wrong.

    command_line_test.py PIRX
"""
import contextlib
import fcntl
import http.client
import http.server
import json
import os
import pty
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

PIRX = ""
ROOT = Path(__file__).resolve().parents[2]
PROXY = ROOT / "examples/faulty_proxy/faulty_proxy.py"
RECORDS = [f"record {i} " + "x" * (i % 37) for i in range(500)]


def run(*words, code=0, **options):
    done = subprocess.run([PIRX, *map(str, words)], capture_output=True, text=True, timeout=120, **options)
    if done.returncode != code:
        raise AssertionError(f"{words}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}")
    return done


def key_positions(database):
    """The lines of `pirx db list` but the first and the last."""
    return "".join(run("db", "list", database).stdout.splitlines(True)[1:-1])


class Process:
    """A server or proxy in the background; .port is where it listens."""

    def __init__(self, *words):
        self.log = []
        self.child = subprocess.Popen(
            list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.child.stdout.readline()
        match = re.match(r"listening on port (\d+)", line)
        if not match:
            raise AssertionError(f"{words} did not start: {line} {self.child.stderr.read()}")
        self.port = int(match.group(1))
        self.url = f"http://127.0.0.1:{self.port}"
        self.reader = threading.Thread(target=lambda: self.log.extend(self.child.stderr), daemon=True)
        self.reader.start()

    def stop(self, kind=signal.SIGTERM):
        if self.child.poll() is None:
            self.child.send_signal(kind)
        code = self.child.wait(timeout=20)
        self.reader.join(timeout=5)
        self.child.stdout.close()
        self.child.stderr.close()
        return code


class Servers(unittest.TestCase):
    """A folder, and servers of databases in it, which end with the test."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.processes = []

    def tearDown(self):
        for process in self.processes:
            process.stop(signal.SIGKILL)
        self.folder.cleanup()

    def start(self, *words):
        process = Process(*words)
        self.processes.append(process)
        return process

    def serve(self, database, coordinate, *more):
        return self.start(PIRX, "serve", database, "--coordinate", coordinate, "--listen", "127.0.0.1:0", *more)

    def proxy(self, server, mode, *more):
        return self.start(sys.executable, PROXY, "--upstream", f"127.0.0.1:{server.port}", "--mode", mode, *more)

    def build(self, name="db.pirx", *more, records=RECORDS):
        source = self.path / "records.jsonl"
        source.write_text("".join(json.dumps({"k": f"key{i}", "v": r}) + "\n" for i, r in enumerate(records)))
        target = self.path / name
        run("db", "build", target, source, "--from", "jsonl", "--key", "k", "--value", "v", *more)
        return target

    def deploy(self, servers, threshold, *more, code=0, name="deployment.json"):
        target = self.path / name
        words = [word for server in servers for word in ("--server", server.url)]
        run("deploy", target, *(() if threshold is None else ("-t", threshold)), *words, *more, code=code)
        return target

    def event(self, server, name, count=1):
        """The count-th event of that name, waited for."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = [e for e in map(json.loads, list(server.log)) if e["event"] == name]
            if len(found) >= count:
                return found[count - 1]
            time.sleep(0.02)
        raise AssertionError(f"no {name} in {server.log}")

    def record(self, text):
        path = self.path / f"record{len(list(self.path.iterdir()))}"
        path.write_text(text)
        return path


class CommandLine(Servers):
    def test_what_a_folder_import_leaves_out(self):
        folder = self.path / "site"
        (folder / ".git").mkdir(parents=True)
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main")
        (folder / "page").write_text("hello")
        (folder / "link").symlink_to("page")
        target = self.path / "site.pirx"
        done = run("db", "build", target, folder, "--from", "folder")
        self.assertIn("1 hidden files or folders (--hidden takes them), 1 links, 0 pipes", done.stderr)
        self.assertEqual(key_positions(target), "0\tpage\n")
        run("db", "build", target, folder, "--from", "folder", "--hidden")
        self.assertEqual(key_positions(target), "0\t.git/HEAD\n1\tpage\n")
        run("db", "build", target, folder / "page", "--from", "lines", "--hidden", code=2)

    def test_no_key_reaches_the_terminal_raw(self):
        source, target = self.path / "keys.jsonl", self.path / "keys.pirx"
        key = "\x1b]0;evil\x07\x9b2J"
        source.write_text(json.dumps({"k": key, "v": "x"}) + "\n")
        run("db", "build", target, source, "--from", "jsonl", "--key", "k", "--value", "v")
        self.assertEqual(key_positions(target), "0\t\\x1b]0;evil\\x07\\xc2\\x9b2J\n")
        source.write_text(json.dumps({"k": None, "v": "x"}) + "\n")
        wrong = run("db", "build", target, source, "--from", "jsonl", "--key", "k", "--value", "v", code=2)
        self.assertIn("line 1: member \"k\" is null", wrong.stderr)
        self.assertIn("shell: ?[31m not in", run("completion", "\x1b[31m", code=1).stderr)
        source.write_text(json.dumps({"databases": [{"name": "a", "file": str(target), "coordinate": 1}], "log_format": "\x1b[31m"}))
        self.assertIn("not '?[31m'", run("serve", "--config", source, code=2).stderr)

    def test_a_server_that_waits_for_a_pipe_can_be_stopped(self):
        pipe = self.path / "tokens"
        os.mkfifo(pipe)
        server = subprocess.Popen([PIRX, "serve", str(self.build()), "--tokens", str(pipe)])
        with self.assertRaises(subprocess.TimeoutExpired):
            server.wait(1)
        server.terminate()
        self.assertEqual(server.wait(10), -signal.SIGTERM)

    def test_database_commands(self):
        database = self.build()
        info = json.loads(run("db", "info", database, "--json").stdout)
        self.assertEqual((info["records"], info["epoch"], info["keys"]), (500, 1, True))
        self.assertIn("sound", run("db", "verify", database).stdout)
        self.assertEqual(run("db", "get", database, 17).stdout, RECORDS[17] + "\n")
        self.assertEqual(run("db", "get", database, "--key", "key499", "--raw").stdout, RECORDS[499])
        header = run("db", "list", database).stdout.splitlines()[0]
        self.assertEqual(header, f"# positions of pirx database {info['identity']}, epoch 1")
        listed = dict(line.split("\t")[::-1] for line in key_positions(database).splitlines())
        self.assertEqual(listed, {f"key{i}": str(i) for i in range(500)})
        self.assertEqual(len(run("db", "list", database, "--limit", 3).stdout.splitlines()), 5)
        for words in (["db", "info"], ["db", "verify"], ["db", "get", 17], ["db", "list"], ["--help"], ["--version"]):
            with open("/dev/full", "w", encoding="ascii") as full:
                arguments = [PIRX, *words[:2], *([str(database)] if words[0] == "db" else []), *map(str, words[2:])]
                done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 5, words)
            self.assertIn("cannot write to standard output", done.stderr)
            self.assertEqual("files that the command makes are written" in done.stderr, words[0] == "db")
        # A rebuild takes the next epoch and keeps the identity.
        self.build()
        again = json.loads(run("db", "info", database, "--json").stdout)
        self.assertEqual((again["epoch"], again["identity"]), (2, info["identity"]))
        run("db", "get", database, 500, code=3)
        run("db", "get", database, "--key", "nobody", code=3)
        run("db", "get", database, code=2)
        run("db", "info", self.path / "none", code=5)
        damaged = self.path / "damaged"
        data = bytearray(database.read_bytes())
        data[len(data) // 2] ^= 1
        damaged.write_bytes(data)
        run("db", "verify", damaged, code=4)
        damaged.write_bytes(data[:-1])
        run("db", "info", damaged, code=4)

    def test_every_input_format(self):
        tree = self.path / "tree"
        (tree / "sub").mkdir(parents=True)
        (tree / "a").write_text("A")
        (tree / "sub/b").write_text("BB")
        (self.path / "c.csv").write_text('k,v\nx,"one, ""two"""\ny,three\n')
        (self.path / "t.tsv").write_text("x\tone\ny\ttwo\n")
        (self.path / "l.txt").write_text("first\nsecond\n")
        (self.path / "f.bin").write_bytes(b"abcdef")
        (self.path / "s.json").write_text('[{"k":"x","v":"one"},\n{"k":"y","v":"two"}]\n')  # as sqlite3 -json
        cases = [
            ("tree", ["--from", "folder"], "sub/b", 1, "BB"),
            ("c.csv", ["--from", "csv", "--key", "k", "--value", "v"], "x", 0, 'one, "two"'),
            ("t.tsv", ["--from", "tsv", "--no-header", "--key", "1", "--value", "2"], "y", 1, "two"),
            ("l.txt", ["--from", "lines"], None, 1, "second"),
            ("f.bin", ["--from", "fixed", "--record-bytes", "3"], None, 1, "def"),
            ("s.json", ["--from", "jsonl", "--key", "k", "--value", "v"], "y", 1, "two"),
        ]
        for source, words, key, position, record in cases:
            with self.subTest(source=source):
                target = self.path / "x.pirx"
                run("db", "build", target, self.path / source, *words)
                self.assertEqual(run("db", "get", target, position, "--raw").stdout, record)
                if key:
                    self.assertEqual(run("db", "get", target, "--key", key, "--raw").stdout, record)

    def test_keyed_database_by_name(self):
        database, source = self.build("keyed.pirx", "--keyed"), self.path / "records.jsonl"
        info = json.loads(run("db", "info", database, "--json").stdout)
        self.assertEqual((info["records"], info["keyed"], info["keys"]), (500, True, False))
        self.assertIn("sound", run("db", "verify", database).stdout)
        self.assertEqual(run("db", "get", database, "--key", "key17").stdout, RECORDS[17] + "\n")
        # An option that may be repeated takes one value each time, wherever it stands.
        run("db", "build", "--from", "jsonl", "--key", "k", "--value", "v", self.path / "again.pirx", source, "--keyed")
        self.assertEqual(run("db", "get", self.path / "again.pirx", "--key", "key17").stdout, RECORDS[17] + "\n")
        run("db", "get", database, "--key", "nobody", code=3)
        self.assertIn("by key", run("db", "get", database, 17, code=2).stderr)
        self.assertIn("no list", run("db", "list", database, code=2).stderr)

        servers = [self.serve(database, x) for x in (1, 2, 3, 4, 5)]
        liar = self.proxy(servers[4], "lie")
        deployment = self.deploy([*servers[:4], liar], 1)
        asked = {}
        for name, code in (("key499", 0), ("nobody", 3)):
            done = run("get", deployment, "--key", name, "--json", "--wait-for-all", code=code)
            report = json.loads(done.stdout)
            self.assertEqual(report["certainty"], "proven")
            self.assertEqual([s["status"] for s in report["servers"]], ["ok"] * 4 + ["lied"])
            asked[name] = [(s["bytes_up"], s["bytes_down"]) for s in report["servers"]], report["rounds"]
            self.assertEqual([r.get("text") for r in report["records"]], [RECORDS[499]] if code == 0 else [None])
            self.assertEqual("'nobody'" in done.stderr, code == 3)
        # Present or absent: as many messages of the same sizes.
        self.assertEqual(asked["key499"], asked["nobody"])
        done = run("get", deployment, "--key", "key0", "--key", "nobody", "--key", "key1", "--raw", code=3)
        self.assertEqual(done.stdout, RECORDS[0] + RECORDS[1])
        self.assertRegex(done.stderr, "a missing key is missing unless more than [1-3] of these [3-5] servers lied")
        run("get", deployment, 17, code=2)
        run("get", deployment, "--key", "key0", "--positions", source, code=2)

        # Three servers, one of them a liar, and t = 1: a fingerprint that fits is all that tells who is right.
        three = self.deploy([servers[0], servers[1], liar], 1, name="three.json")
        report = json.loads(run("get", three, "--key", "key7", "--json", "--wait-for-all").stdout)
        self.assertEqual((report["certainty"], report["records"][0]["text"]), ("probable", RECORDS[7]))
        self.assertEqual(report["servers"][2]["status"], "suspected")
        run("get", three, "--key", "nobody", "--wait-for-all", code=9)
        # Two servers that agree on nothing being there: an answer, but nothing to check it by.
        two = self.deploy(servers[:2], 1, name="two.json")
        report = json.loads(run("get", two, "--key", "nobody", "--json", code=9).stdout)
        self.assertEqual((report["certainty"], [r.get("text") for r in report["records"]]), ("unverified", [None]))

        # Encoded, the three rows lie at different coordinates of the same query.
        run("db", "encode", database, "--servers", 5, "--arity", 2, "--out", self.path / "bucket")
        buckets = [self.start(PIRX, "serve", self.path / f"bucket.{i}", "--listen", "127.0.0.1:0") for i in range(1, 6)]
        encoded = self.deploy(buckets, 1, name="encoded.json")
        report = json.loads(run("get", encoded, "--key", "key3", "--json").stdout)
        self.assertEqual((report["certainty"], report["records"][0]["text"]), ("proven", RECORDS[3]))
        run("get", encoded, "--key", "nobody", "-q", code=3)

        # Over a prime field sums of rows are no records: refused before anything is served.
        done = run("db", "encode", database, "--servers", 5, "--arity", 2, "--field", "w160", "--out", self.path / "w", code=2)
        self.assertIn("keyed", done.stderr)
        done = run("serve", database, "--coordinate", 1, "--field", "w160", "--listen", "127.0.0.1:0", code=2)
        self.assertIn("keyed", done.stderr)

    def test_keyed_build_and_repeated_keys(self):
        source = self.path / "records.csv"
        source.write_text("k,v\na,one\nb,two\n\"a\",three\n")
        target = self.path / "keyed.pirx"
        words = ["db", "build", target, source, "--from", "csv", "--key", "k", "--value", "v", "--keyed"]
        done = run(*words, code=2)
        self.assertIn("line 4 repeats the key 'a' of line 2; 1 of 3 records", done.stderr)
        self.assertFalse(target.exists())
        for policy, record in (("first", "one"), ("last", "three")):
            report = json.loads(run(*words, "--duplicates", policy, "--json").stdout)
            self.assertEqual((report["records"], report["keys"], report["duplicate_keys"]), (2, 2, 1))
            self.assertEqual(run("db", "get", target, "--key", "a", "--raw").stdout, record)
        self.assertIn("2; 1 records were joined", run(*words, "--duplicates", "join").stdout)
        self.assertEqual(run("db", "get", target, "--key", "a", "--raw").stdout, "one\nthree")
        run(*words, "--duplicates", "some", code=1)
        run(*words[:-1], "--duplicates", "first", code=2)
        run(*words, "--no-digests", code=2)
        done = run("db", "build", target, source, "--from", "lines", "--keyed", code=2)
        self.assertIn("key", done.stderr)

    def test_bad_input_leaves_the_old_file(self):
        database = self.build()
        before = database.read_bytes()
        (self.path / "bad.csv").write_text('k,v\nx,"unclosed\n')
        done = run("db", "build", database, self.path / "bad.csv", "--from", "csv", "--key", "k", code=2)
        self.assertIn("bad.csv", done.stderr)
        done = run("db", "build", database, self.path / "bad.csv", "--from", "csv", "--key", "nokey", code=2)
        self.assertIn("nokey", done.stderr)
        run("db", "build", database, self.path / "bad.csv", "--from", "fixed", code=2)
        run("db", "build", database, self.path / "bad.csv", "--from", "xml", code=1)
        run("db", "build", database, self.path / "nothing", "--from", "lines", code=5)
        self.assertEqual(database.read_bytes(), before)
        self.assertEqual([p.name for p in self.path.iterdir() if "tmp" in p.name or "spool" in p.name], [])

    def test_build_replaces_nothing_but_databases(self):
        text = self.path / "precious.txt"
        text.write_text("one\ntwo\n")
        run("db", "build", text, text, "--from", "lines", code=2)
        self.assertEqual(text.read_text(), "one\ntwo\n")
        database = self.build()
        run("db", "build", database, text, "--from", "lines", "--epoch", "1", code=2)
        run("db", "build", database, text, "--from", "lines", "--epoch", "7")
        data = bytearray(database.read_bytes())
        data[20] ^= 1
        database.write_bytes(data)
        done = run("db", "build", database, text, "--from", "lines", code=2)
        self.assertIn("--epoch", done.stderr)
        self.assertEqual(database.read_bytes(), data)
        run("db", "build", database, text, "--from", "lines", "--epoch", "8")
        self.assertEqual(json.loads(run("db", "info", database, "--json").stdout)["epoch"], 8)

    def test_keys_of_any_bytes(self):
        source = self.path / "odd.jsonl"
        keys = ["a\nb", "a\\nb", "c\r", "\\", "tab\tin", "", "plain"]
        source.write_text("".join(json.dumps({"k": k, "v": f"value of {i}"}) + "\n" for i, k in enumerate(keys)))
        database = self.path / "odd.pirx"
        run("db", "build", database, source, "--from", "jsonl", "--key", "k", "--value", "v")
        positions = self.path / "positions.tsv"
        positions.write_bytes(subprocess.run([PIRX, "db", "list", database], capture_output=True, check=True).stdout)
        self.assertEqual(positions.read_bytes().count(b"\n"), 2 + len(keys))
        deployment = self.deploy([self.serve(database, x) for x in (1, 2, 3)], 1)
        for i, key in enumerate(keys):
            fetched = run("get", deployment, "--positions", positions, "--key", key, "-q").stdout
            self.assertEqual(fetched, f"value of {i}\n")
        header = positions.read_bytes().splitlines()[0].decode()
        for text in (f"{header}\n0\tbad\\x\n", "0\tplain\n", ""):
            positions.write_text(text)
            run("get", deployment, "--positions", positions, "--key", "plain", code=4)
        # Cut within a line, it would have another key's position; cut between two, it says nothing of those behind.
        whole = run("db", "list", database).stdout.encode()
        self.assertIn(b"\tplain\n", whole)
        cut = whole[:whole.index(b"\tplain\n") + 4]
        for text, key in ((cut, "pla"), (cut[:cut.rindex(b"\n") + 1], "plain"), (cut[:cut.rindex(b"\n") + 1], "")):
            positions.write_bytes(text)
            self.assertIn("the checksum, is missing", run("get", deployment, "--positions", positions, "--key", key, code=4).stderr)
        # One bit: the position of another key, or another key at this position.
        for text, key in ((whole.replace(b"6\tplain", b"4\tplain"), "plain"), (whole.replace(b"6\tplain", b"6\tplaio"), "plaio")):
            positions.write_bytes(text)
            self.assertIn("its checksum is wrong", run("get", deployment, "--positions", positions, "--key", key, code=4).stderr)
        positions.write_bytes(whole)
        cut = "".join(line.split("\t", 1)[-1] for line in whole.decode().splitlines(True))
        self.assertEqual(run("get", deployment, "--positions", positions, "--keys-from", "-", "-q", input=cut).stdout,
                         "".join(f"value of {i}\n" for i in sorted(range(7), key=lambda i: keys[i])))
        begun = cut.splitlines(True)[0] + "# sha256 of x\nplain\n"  # a key like the beginning of the last line is one
        self.assertIn("1 of 2 is not in", run("get", deployment, "--positions", positions, "--keys-from", "-", input=begun, code=3).stderr)
        # What editors put around lines is no damage. A list of fewer lines says so of a key that it lacks.
        positions.write_bytes(b"\xef\xbb\xbf" + whole.replace(b"\n", b"\r\n").rstrip())
        self.assertEqual(run("get", deployment, "--positions", positions, "--key", "plain", "-q").stdout, "value of 6\n")
        positions.write_text(run("db", "list", database, "--limit", 1).stdout)
        done = run("get", deployment, "--positions", positions, "--key", "plain", code=4)
        self.assertIn("which has 1 of the database's 7 positions", done.stderr)
        self.assertEqual(run("get", deployment, "--positions", positions, "--key", "", "-q").stdout, "value of 5\n")
        # Of another epoch, positions may be those of other records.
        positions.write_text(header.replace("epoch 1", "epoch 2") + "\n0\tplain\n")
        stale = run("get", deployment, "--positions", positions, "--key", "plain", code=8)
        self.assertIn("get the list of epoch 1", stale.stderr)

    def test_clients_in_parallel_share_passes(self):
        database = self.build()
        servers = [self.serve(database, x, "--batch-window", "300ms") for x in (1, 2, 3)]
        deployment = self.deploy(servers, 1)
        clients = [subprocess.Popen([PIRX, "get", deployment, str(i), "-q"], stdout=subprocess.PIPE, text=True)
                   for i in range(8)]
        for i, client in enumerate(clients):
            self.assertEqual(client.communicate(timeout=60)[0], RECORDS[i] + "\n")
        self.assertEqual(servers[0].stop(), 0)
        batches = [event["requests"] for event in map(json.loads, servers[0].log) if event["event"] == "batch"]
        self.assertEqual(sum(batches), 8)
        self.assertGreater(max(batches), 1)

    def test_load_of_one_server(self):
        server = self.serve(self.build(), 1)
        report = json.loads(run("load", server.url, "--connections", 4, "--duration", "500ms", "--json").stdout)
        self.assertEqual((report["protocol"], report["loop"], report["failed"]), ("goldberg", "closed", {}))
        self.assertGreater(report["sent"], 0)
        self.assertEqual(report["answered_ms"]["count"], report["sent"])
        report = json.loads(run("load", server.url, "--rate", 40, "--queries", 3, "--duration", "500ms", "--seed", 1,
                                "--slo-p99", "60s", "--slo-refused", "0", "--json").stdout)
        self.assertEqual((report["loop"], report["queries_a_request"], report["failed"]), ("open", 3, {}))
        run("load", server.url, "--duration", "200ms", "--slo-p50", "1us", code=5)
        run("load", server.url, "--rate", "-1", code=2)
        run("load", server.url, "--max-bytes", "10", code=6)
        server.stop()
        run("load", server.url, code=5)

    def test_load_of_buckets(self):
        database = self.build()
        for prefix, words in (("a", ("--servers", 5, "--arity", 2)),
                              ("b", ("--servers", 5, "--independence", 1, "--modulus", "batch", "--field", "gf2_16")),
                              # No coordinates are left beside these four.
                              ("c", ("--servers", 4, "--arity", 3, "--modulus", 252))):
            run("db", "encode", database, *words, "--out", self.path / prefix)
            for i in (1, 3):
                with self.subTest(prefix=prefix, server=i):
                    server = self.start(PIRX, "serve", self.path / f"{prefix}.{i}", "--listen", "127.0.0.1:0")
                    report = json.loads(run("load", server.url, "--connections", 2, "--duration", "100ms", "--json").stdout)
                    self.assertGreater(report["answered_ms"]["count"], 0)
                    self.assertEqual((report["protocol"], report["failed"]), ("goldberg", {}))

    def test_load_of_spiral_uploads_keys_first(self):
        server = self.start(PIRX, "serve", self.build(), "--protocol", "spiral", "--listen", "127.0.0.1:0")
        report = json.loads(run("load", server.url, "--connections", 3, "--duration", "300ms", "--deadline", "100s", "--json").stdout)
        self.assertEqual((report["protocol"], report["failed"]), ("spiral", {}))
        self.assertGreater(report["answered_ms"]["count"], 0)
        self.assertEqual(report["answered_ms"]["count"], report["sent"])

    def test_fetch_from_three_servers(self):
        database = self.build()
        servers = [self.serve(database, x) for x in (1, 2, 3)]
        deployment = self.deploy(servers, 1, "--database", database)
        self.assertEqual(run("get", deployment, 3, 499, 3, "-q").stdout, f"{RECORDS[3]}\n{RECORDS[499]}\n{RECORDS[3]}\n")
        for text in ("010", "0010"):  # ten, and no octal number
            self.assertEqual(run("get", deployment, text, "--rounds", "08", "-q").stdout, RECORDS[10] + "\n")
            self.assertEqual(run("db", "get", database, text).stdout, RECORDS[10] + "\n")
        report = json.loads(run("get", deployment, 42, "--json", "--wait-for-all").stdout)
        self.assertEqual(report["records"][0]["text"], RECORDS[42])
        self.assertEqual(report["certainty"], "proven")
        self.assertEqual([s["status"] for s in report["servers"]], ["ok"] * 3)
        positions = self.path / "positions.tsv"
        positions.write_text(run("db", "list", database).stdout)
        self.assertEqual(run("get", deployment, "--positions", positions, "--key", "key77", "-q").stdout, RECORDS[77] + "\n")
        done = run("get", deployment, "--positions", "/proc/self/mem", "--key", "key77", code=5)
        self.assertIn("cannot read /proc/self/mem", done.stderr)
        run("get", deployment, 1, 2, "-o", self.path / "out", "-q")
        self.assertEqual((self.path / "out/1").read_text(), RECORDS[2])
        done = run("get", deployment, 3, "-o", self.path / "out", "-q")
        self.assertIn("out/1 is no record of this look-up", done.stderr)
        # What is wrong with the request, without saying what was wanted.
        done = run("get", deployment, 500, code=3)
        self.assertNotIn("500 ", done.stderr.replace("500 records", ""))
        run("get", deployment, code=2)
        run("get", deployment, *range(257), code=2)
        self.assertEqual(len(run("get", deployment, *range(256), "-q").stdout.splitlines()), 256)
        run("get", deployment, 1, "--liars", 2, code=2)
        for bad in ("-1", "1.5", "x", "99999999999999999999999"):
            run("get", deployment, "--", bad, code=1)
        run("get", deployment, "--positions", positions, "--key", "nobody", code=3)
        run("get", deployment, "--key", "key1", code=2)
        run("get", self.path / "none.json", 1, code=5)
        # Logs are JSON and hold no query content.
        for server in servers:
            self.assertEqual(server.stop(), 0)
            events = [json.loads(line) for line in server.log]
            self.assertIn("batch", [event["event"] for event in events])

    def test_connections_close_before_anything_is_written(self):
        """A reader that takes nothing holds the client up, but no server may see for how long."""
        source, database = self.path / "records.jsonl", self.path / "keyed.pirx"
        source.write_text(json.dumps({"k": "key", "v": "x" * 200_000}) + "\n")  # more than a pipe holds
        run("db", "build", database, source, "--from", "jsonl", "--key", "k", "--value", "v", "--keyed")
        several = [self.serve(database, x) for x in (1, 2, 3)]
        spiral = self.start(PIRX, "serve", database, "--protocol", "spiral", "--listen", "127.0.0.1:0")
        for servers in (several, [spiral]):
            deployment = self.deploy(servers, None if servers == [spiral] else 1)
            client = subprocess.Popen([PIRX, "get", deployment, "--key", "key", "-q"], stdout=subprocess.PIPE)
            try:
                client.stdout.read(1)  # the record is being written
                for server in servers:
                    self.assertEqual(self.connections(server), 1)  # that of the question
                self.assertIsNone(client.poll())
                self.assertEqual(client.stdout.read(), b"x" * 199_999 + b"\n")
                self.assertEqual(client.wait(timeout=20), 0)
            finally:
                client.kill()
                client.stdout.close()

    def connections(self, server):
        """How many are open, once those that were closed have been noticed: a moment, or patience ends."""
        deadline = time.monotonic() + 20
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
            connection.request("GET", "/metrics")
            page = connection.getresponse().read().decode()
            connection.close()
            count = float(re.search(r"^pirx_connections (\S+)$", page, re.M)[1])
            if count == 1 or time.monotonic() > deadline:
                return count
            time.sleep(0.01)

    def test_a_record_is_written_in_few_calls(self):
        record = "x" * 10_000 + "\x1b[2J\x9b\t\x7f\n\xe9"
        database = self.build(records=[record])
        words = [PIRX, "get", self.deploy([self.serve(database, x) for x in (1, 2, 3)], 1), "0", "-q"]
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # a message for each call
        with mine:
            with theirs:
                subprocess.run(words, stdout=theirs, check=True, timeout=60)
            written = list(iter(lambda: mine.recv(1 << 20), b""))
        self.assertEqual(b"".join(written).decode(), record + "\n")
        self.assertLessEqual(len(written), 2)
        mine, theirs = pty.openpty()
        with open(mine, "rb") as terminal, subprocess.Popen(words, stdout=theirs):
            os.close(theirs)
            shown = record.replace("\x1b", "\\x1b").replace("\x9b", "\\xc2\\x9b").replace("\x7f", "\\x7f") + "\n"
            self.assertEqual(terminal.read(len(shown.encode()) + 2).decode(), shown.replace("\n", "\r\n"))

    def test_liar_and_silent_server(self):
        database = self.build()
        servers = [self.serve(database, x) for x in range(1, 6)]
        servers[3] = self.proxy(servers[3], "lie")
        deployment = self.deploy(servers, 2)
        report = json.loads(run("get", deployment, 9, "--json", "--wait-for-all").stdout)
        self.assertEqual(report["records"][0]["text"], RECORDS[9])
        self.assertEqual(report["certainty"], "proven")
        self.assertEqual([s["status"] for s in report["servers"]], ["ok", "ok", "ok", "lied", "ok"])
        servers[4].stop()
        report = json.loads(run("get", deployment, 9, "--json", "--wait-for-all").stdout)
        self.assertEqual(report["records"][0]["text"], RECORDS[9])
        self.assertEqual(report["certainty"], "probable")
        self.assertEqual([s["status"] for s in report["servers"]], ["ok", "ok", "ok", "suspected", "silent"])

    def test_every_kind_of_fault_of_one_server(self):
        database = self.build()
        honest = [self.serve(database, x) for x in (1, 2, 3)]
        fourth = self.serve(database, 4)
        expected = {"honest": "ok", "lie": "lied", "flip": "lied", "zero": "lied", "truncate": "malformed",
                    "extend": "malformed", "close": "silent", "stale": "stale epoch"}
        for mode, status in expected.items():
            with self.subTest(mode=mode):
                deployment = self.deploy([*honest, self.proxy(fourth, mode)], 1)
                report = json.loads(run("get", deployment, 123, "--json", "--wait-for-all").stdout)
                self.assertEqual(report["records"][0]["text"], RECORDS[123])
                self.assertEqual(report["servers"][3]["status"], status)
        slow = self.proxy(fourth, "slow", "--delay", "40")
        deployment = self.deploy([*honest, slow], 1)
        start = time.monotonic()
        report = json.loads(run("get", deployment, 5, "--json").stdout)
        self.assertLess(time.monotonic() - start, 30)
        self.assertTrue(report["servers"][3]["abandoned"])
        self.assertEqual(report["records"][0]["text"], RECORDS[5])

    def test_too_few_servers_and_stale_deployment(self):
        database = self.build()
        servers = [self.serve(database, x) for x in (1, 2, 3)]
        deployment = self.deploy(servers, 2)
        servers[2].stop()
        done = run("get", deployment, 1, code=9)
        self.assertIn(servers[2].url, done.stderr)
        # The servers move to a new epoch: the old deployment file is told so.
        servers[0].stop()
        servers[1].stop()
        self.build()
        self.processes.clear()
        newer = [self.serve(database, x) for x in (1, 2, 3)]
        text = json.loads(deployment.read_text())
        for entry, server in zip(text["servers"], newer):
            entry["url"] = server.url
        deployment.write_text(json.dumps(text))
        done = run("get", deployment, 1, code=8)
        self.assertIn("StaleEpoch", done.stderr)
        self.assertIn("pirx deploy", done.stderr)
        deployment = self.deploy(newer, 2)
        self.assertEqual(run("get", deployment, 1, "-q").stdout, RECORDS[1] + "\n")

    def test_a_stale_request_that_is_too_long_now_is_stale(self):
        """Servers come back with fewer rows, so an old request is longer than any that they take now."""
        database, source = self.path / "db.pirx", self.path / "lines.txt"
        build = ["db", "build", database, source, "--from", "lines", "--records-per-row", 1]
        for protocol in ("goldberg", "chor"):
            with self.subTest(protocol=protocol):
                more = ["--protocol", protocol, "--max-queries", 1]
                source.write_text("".join(f"record {i:06}\n" for i in range(100_000)))
                run(*build)
                servers = [self.serve(database, x, *more) for x in (1, 2, 3)]
                deployment = self.deploy(servers, 2)
                for server in servers:
                    server.stop()
                source.write_text("".join(f"record {i:06}\n" for i in range(40)))
                run(*build)
                text = json.loads(deployment.read_text())
                for x, entry in enumerate(text["servers"], 1):
                    entry["url"] = self.serve(database, x, *more).url
                deployment.write_text(json.dumps(text))
                done = run("get", deployment, 30_000, code=8)
                self.assertIn("pirx deploy", done.stderr)
                self.assertIn("has epoch", done.stderr)

    def test_options_without_a_value_are_refused(self):
        target = self.path / "new.json"
        for option in ("--manifest", "--ca", "--database", "--token-file"):
            done = run("deploy", target, "--server", "http://127.0.0.1:1", option, "", code=1)
            self.assertIn(f"{option}: is empty", done.stderr)
        self.assertIn("--manifest: is empty", run("serve", self.build(), "--manifest", "", code=1).stderr)

    def test_an_update_names_the_file_behind_a_link(self):
        database, link = self.build(), self.path / "link.pirx"
        link.symlink_to(database.name)
        update = run("db", "update", link, "--set", f"3={self.record('new')}").stdout
        for text in (update, run("db", "info", link).stdout):
            self.assertIn(f" in {database}.delta", text)

    def test_buckets_that_cannot_be_looked_for(self):
        done = run("db", "update", self.build(), "--buckets", self.path / ("p" * 254), code=5)
        self.assertIn("too long", done.stderr)
        run("db", "encode", self.build(), "--servers", 4, "--arity", 2, "--out", self.path / "b")
        # The database changes before its buckets, which are looked at first. Here another program holds one.
        with open(self.path / "b.2", "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            run("db", "update", self.path / "db.pirx", "--set", f"3={self.record('new')}", "--buckets", self.path / "b", code=5)
        self.assertNotIn("changes", run("db", "info", self.path / "db.pirx").stdout)
        # The changes fit what a file may have, the changes of the buckets do not, where all of their rows are new.
        update = ("db", "update", self.path / "db.pirx", "--set", f"3={self.record('new')}")
        run(*update)
        run("db", "encode", self.path / "db.pirx", "--servers", 4, "--arity", 2, "--independence", 1, "--out", self.path / "n")
        run(*update)
        done = run(*update, "--buckets", self.path / "n", code=6,
                   restore_signals=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384)))
        self.assertIn("has changed already: run 'pirx db update", done.stderr)
        self.assertIn("epoch           5", run("db", "info", self.path / "db.pirx").stdout)
        run("db", "update", self.path / "db.pirx", "--buckets", self.path / "n")
        (self.path / "b.3").unlink()
        done = run("db", "update", self.build(), "--buckets", self.path / "b", code=2)
        self.assertIn(f"there is {self.path / 'b.4'}, but no {self.path / 'b.3'}", done.stderr)

    def test_deploy_refusals(self):
        database = self.build()
        other = self.path / "other.txt"
        other.write_text("other\n")
        run("db", "build", self.path / "other.pirx", other, "--from", "lines")
        a, b = self.serve(database, 1), self.serve(database, 1)
        c, d = self.serve(self.path / "other.pirx", 2), self.serve(database, 3)
        self.deploy([a, b], 1, code=2)  # the same coordinate
        self.deploy([a, c], 1, code=8)  # another database
        self.deploy([a, d], 2, code=2)  # t >= l
        self.deploy([a, d], 0, code=2)
        self.deploy([a, d], 1, "--database", self.path / "other.pirx", code=8)
        self.assertFalse((self.path / "deployment.json").exists())

    def test_one_server_under_two_addresses(self):
        database = self.build()
        a = self.start(PIRX, "serve", database, "--coordinate", 1, "--listen", "[::]:0", "--allow-plaintext")
        b = self.serve(database, 2)
        target = self.path / "deployment.json"
        for host in ("localhost", "127.0.0.2", "[::1]", "127.0.0.1"):
            words = [word for url in (a.url, f"http://{host}:{a.port}", b.url) for word in ("--server", url)]
            self.assertIn("two servers' shares", run("deploy", target, *words, code=2).stderr, host)
        # Through a forwarder the address is another, and the instance still the same.
        behind = self.proxy(a, "honest")
        words = [word for server in (a, b, behind) for word in ("--server", server.url)]
        self.assertIn("same instance", run("deploy", target, *words, code=2).stderr)
        self.assertFalse(target.exists())
        # A deployment file written by hand: nothing is sent to the second address.
        self.deploy([a, b], 1)
        text = json.loads(target.read_text())
        text["servers"].append({"url": f"http://127.0.0.2:{a.port}", "coordinate": 3})
        target.write_text(json.dumps(text))
        report = json.loads(run("get", target, 5, "--json", "--wait-for-all").stdout)
        sent = [server["bytes_up"] for server in report["servers"]]
        self.assertEqual((sorted(sent)[0], sent.count(0)), (0, 1), report)
        self.assertEqual([s["status"] for s in report["servers"]].count("refused"), 1)

    def test_output_folder_follows_no_link(self):
        database = self.build()
        deployment = self.deploy([self.serve(database, x) for x in (1, 2, 3)], 1)
        precious, folder = self.path / "precious", self.path / "out"
        precious.write_text("mine")
        folder.mkdir()
        (folder / "0").symlink_to(precious)
        (folder / "1").hardlink_to(precious)
        run("get", deployment, 17, 18, "-q", "-o", folder)
        self.assertEqual(precious.read_text(), "mine")
        self.assertEqual([(folder / name).read_text() for name in "01"], RECORDS[17:19])
        self.assertFalse((folder / "0").is_symlink())
        self.assertEqual(sorted(p.name for p in folder.iterdir()), ["0", "1"])

    def test_keys_from_standard_input(self):
        source, database = self.path / "records.jsonl", self.path / "keyed.pirx"
        keys = ["a b", "back\\slash", "two\nlines", "-"]
        source.write_text("".join(json.dumps({"k": k, "v": f"of {i}"}) + "\n" for i, k in enumerate(keys)))
        run("db", "build", database, source, "--from", "jsonl", "--key", "k", "--value", "v", "--keyed")
        deployment = self.deploy([self.serve(database, x) for x in (1, 2, 3)], 1)
        lines = "two\\nlines\nback\\\\slash\na b\n"
        done = run("get", deployment, "--keys-from", "-", "-q", input=lines)
        self.assertEqual(done.stdout, "of 2\nof 1\nof 0\n")
        done = run("get", deployment, "--keys-from", "-", "-q", input="\ufeff" + lines.replace("\n", "\r\n"))
        self.assertEqual(done.stdout, "of 2\nof 1\nof 0\n")
        # What an earlier look-up wrote is no answer to a later one.
        for wanted, code, names in (("a b", 0, ["0"]), ("nosuch", 3, [])):
            run("get", deployment, "--key", wanted, "-q", "-o", self.path / "out", code=code)
            self.assertEqual([path.name for path in (self.path / "out").iterdir()], names)
        (self.path / "keys").write_text(lines.rstrip("\n"))
        done = run("get", deployment, "--key", "-", "--keys-from", self.path / "keys", "-q")
        self.assertEqual(done.stdout, "of 3\nof 2\nof 1\nof 0\n")
        self.assertIn("line 2", run("get", deployment, "--keys-from", "-", input="a b\n\\x\n", code=2).stderr)
        # Keys of a file are in no message. Those of the command line everybody has seen.
        hidden = run("get", deployment, "--keys-from", "-", input="a b\nnosuch\n", code=3).stderr
        self.assertIn("number 2 of 2", hidden)
        self.assertNotIn("nosuch", hidden)
        self.assertIn("nosuch", run("get", deployment, "--key", "nosuch", code=3).stderr)
        run("get", deployment, "--keys-from", self.path / "none", code=5)
        self.assertIn("cannot read /proc/self/mem", run("get", deployment, "--keys-from", "/proc/self/mem", code=5).stderr)
        self.assertIn("longer than any key", run("get", deployment, "--keys-from", "/dev/zero", code=2).stderr)
        text = run("get", "--help").stdout
        self.assertIn("list of processes", text)
        self.assertIn("--keys-from", text)

    def test_standard_input_is_read_from_where_it_stands(self):
        source, target = self.path / "off.txt", self.path / "off.pirx"
        source.write_text("HEADER\nr0\nr1\nr2\n")
        for words in (("lines",), ("fixed", "--record-bytes", 3)):
            with source.open("rb") as file:
                os.lseek(file.fileno(), len("HEADER\n"), os.SEEK_SET)
                done = run("db", "build", target, "-", "--from", *words, "--json", stdin=file)
            self.assertEqual(json.loads(done.stdout)["records"], 3)
            self.assertEqual(run("db", "get", target, "0").stdout.strip(), "r0")
        mine, theirs = socket.socketpair()  # which cannot be opened anew
        with mine, theirs:
            mine.sendall(b"a\nb\n")
            mine.shutdown(socket.SHUT_WR)
            run("db", "build", target, "-", "--from", "lines", stdin=theirs)
        run("db", "update", target, "--changes", "-", input='{"position":1,"record":"c"}\n')
        self.assertEqual([run("db", "get", target, i).stdout for i in (0, 1)], ["a\n", "c\n"])

    def test_keys_go_into_no_file_of_another_user(self):
        source, target = self.path / "keys.csv", self.path / "new.pirx"
        source.write_text("k,v\nprivate,x\n")
        left = Path(f"{target}.keys.new")
        build = ("db", "build", target, source, "--key", "k", "--value", "v", "--keyed")
        if os.geteuid() == 0:  # only root may give files away
            left.touch(0o666)
            os.chown(left, 65534, 65534)
            self.assertIn(f"{left} belongs to another user", run(*build, code=2).stderr)
            self.assertEqual((left.read_text(), target.exists()), ("", False))
            left.unlink()
        # What a crash left may be open to more than the umask allows now.
        left.write_text("pirx key list 2\n")
        left.chmod(0o666)
        run(*build)
        self.assertEqual(Path(f"{target}.keys").stat().st_mode & 0o777, 0o600)

    def test_a_damaged_index_is_neither_listed_nor_used(self):
        source, target = self.path / "keys.csv", self.path / "damaged.pirx"
        source.write_text("k,v\n" + "".join(f"key{i},{str(i) * 300_000}\n" for i in range(10)))
        run("db", "build", target, source, "--key", "k", "--value", "v")
        data = bytearray(target.read_bytes())
        keys = data.index(b"key0key1")
        data[keys - 8] ^= 8  # the position of the last key; that record's checksum is another one
        target.write_bytes(data)
        for words in (("list", target), ("get", target, "--key", "key9"), ("verify", target)):
            self.assertIn("a checksum does not match", run("db", *words, code=4).stderr)

    def test_a_file_that_changes_while_it_is_listed(self):
        source, target = self.path / "keys.csv", self.path / "changes.pirx"
        source.write_text("k,v\n" + "".join(f"key{i:05},{i}\n" for i in range(30_000)))
        run("db", "build", target, source, "--key", "k", "--value", "v")
        sound = target.read_bytes()
        keys = sound.index(b"key00000key00001")
        for changed in (sound[:keys - 8] + b"\1" + sound[keys - 7:], sound[:8192]):
            target.write_bytes(sound)
            # The pipe is full long before the end.
            listing = subprocess.Popen([PIRX, "db", "list", target], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            listing.stdout.readline()
            target.write_bytes(changed) if len(changed) == len(sound) else os.truncate(target, len(changed))
            self.assertIn("DataLoss", listing.communicate(timeout=60)[1])
            self.assertEqual(listing.returncode, 4)

    def test_a_wrong_bit_of_a_record_without_a_digest(self):
        target, source = self.path / "bare.pirx", self.path / "lines"
        source.write_text("".join(f"record-{i:04}\n" for i in range(500)))
        run("db", "build", target, source, "--from", "lines", "--no-digests")
        self.assertEqual(run("db", "get", target, 499).stdout, "record-0499\n")
        target.write_bytes(target.read_bytes().replace(b"record-0499", b"record-0498"))
        self.assertIn("DataLoss", run("db", "get", target, 499, code=4).stderr)

    def test_changes_without_their_database_are_not_removed(self):
        target, source, record = self.path / "mine.pirx", self.path / "lines", self.path / "record"
        source.write_text("a\nb\n")
        record.write_text("c")
        run("db", "build", target, source, "--from", "lines")
        run("db", "update", target, "--set", f"0={record}")
        target.rename(self.path / "old.pirx")
        build = ("db", "build", target, source, "--from", "lines")
        self.assertIn("put that back, or move this file away", run(*build, code=2).stderr)
        Path(f"{target}.delta").rename(self.path / "old.pirx.delta")
        run(*build)
        self.assertEqual(run("db", "get", self.path / "old.pirx", 0).stdout, "c\n")

    def test_serve_refusals(self):
        database = self.build()
        serve = ["serve", database, "--listen", "127.0.0.1:0"]
        run(*serve, "--coordinate", 0, code=2)
        run(*serve, "--coordinate", 256, code=2)
        run(*serve, "--coordinate", 1, "--field", "gf2", code=2)
        run(*serve, "--coordinate", 1, "--field", "gf9", code=2)
        run(*serve, "--coordinate", 1, "--protocol", "telepathy", code=2)
        self.assertIn("--coordinate", run(*serve, code=2).stderr)
        for option in ("--batch-max", "--max-connections", "--threads", "--io-threads", "--max-queries"):
            for value in ("-1", "99999999999", "x"):
                run(*serve, "--coordinate", 1, option, value, code=1)
        run("serve", database, "--coordinate", 1, "--listen", "nowhere", code=2)
        run("serve", database, "--coordinate", 1, "--listen", "127.0.0.1:99999", code=2)
        run("serve", database, "--coordinate", 1, "--listen", "0.0.0.0:0", code=2)  # plaintext beyond loopback
        run("serve", self.path / "none", "--coordinate", 1, code=5)
        run("serve", database, "--coordinate", 1, "--listen", f"127.0.0.1:{self.serve(database, 1).port}", code=5)
        run(*serve, "--coordinate", 1, code=2, env={**os.environ, "PIRX_FORCE_ISA": "sse9"})

    def test_prepared_database_is_kept(self):
        source, database, kept = self.path / "lines.jsonl", self.path / "large.pirx", self.path / "large.planes"

        def build(salt):
            records = [f"{salt} {i} " + "y" * 600 for i in range(400)]
            source.write_text("".join(json.dumps({"v": r}) + "\n" for r in records))
            run("db", "build", database, source, "--from", "jsonl", "--value", "v")
            return records

        def start(*more):
            """Two servers that share the file; what each says of it."""
            servers, notes = [], []
            for x in (1, 2):
                servers.append(self.serve(database, x, "--prepared", kept, *more))
                wait_until = time.monotonic() + 20
                while not any('"note"' in line for line in servers[-1].log) and time.monotonic() < wait_until:
                    time.sleep(0.01)
                events = [json.loads(line) for line in servers[-1].log]
                notes += [event["note"] for event in events if event["event"] == "note"]
            self.assertEqual(len(notes), 2)
            got = run("get", self.deploy(servers, 1), 7, 399, "-q").stdout
            self.assertEqual(got, f"{records[7]}\n{records[399]}\n")
            for server in servers:
                self.assertEqual(server.stop(), 0)
            return notes

        records = build("old")
        notes = start()
        if "nothing to keep" in notes[0]:
            self.skipTest("no kernel of this CPU computes in planes")
        read = "the prepared database was read"
        self.assertRegex(notes[0], "No such file.*kept for the next start")
        self.assertEqual(notes[1], read)
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        # Damage costs a new file and no answer.
        damaged = bytearray(kept.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        kept.write_bytes(damaged)
        notes = start()
        self.assertRegex(notes[0], "a checksum does not match.*kept for the next start")
        self.assertEqual(notes[1], read)
        # A new content, another field: never the old planes.
        records = build("new")
        notes = start()
        self.assertRegex(notes[0], "another database.*kept for the next start")
        self.assertEqual(notes[1], read)
        notes = start("--field", "gf2_16")
        self.assertRegex(notes[0], "wanted are planes of gf2_16.*kept for the next start")
        # What is no such file is left alone.
        kept = database
        content = database.read_bytes()
        self.assertRegex(start()[0], "not kept.*choose another name")
        self.assertEqual(database.read_bytes(), content)

    def test_a_log_reader_who_leaves_or_stalls_stops_no_server(self):
        database = self.build()
        for leaves in (True, False):
            read_end, write_end = os.pipe()
            server = subprocess.Popen([PIRX, "serve", database, "--coordinate", "1", "--listen", "127.0.0.1:0"],
                                      stdout=subprocess.PIPE, stderr=write_end, text=True)
            os.close(write_end)
            port = int(server.stdout.readline().split()[-1])
            if leaves:
                os.close(read_end)
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            for _ in range(1500):  # more than a pipe holds
                connection.request("GET", "/nowhere")
                self.assertEqual(connection.getresponse().read()[:8], b'{"error"')
            connection.request("GET", "/healthz")
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()
            server.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(timeout=15), 0)
            server.stdout.close()
            if not leaves:
                os.close(read_end)

    def test_a_server_that_fails_while_its_log_stalls_says_so_by_its_exit_code(self):
        database = self.build()
        taken = self.serve(database, 1)
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(write_end, b"x")
        os.set_blocking(write_end, True)
        junk = self.record("no prepared database, which the log notes")
        done = subprocess.run([PIRX, "serve", database, "--coordinate", "1", "--prepared", junk, "--listen",
                               f"127.0.0.1:{taken.port}"], stdout=subprocess.DEVNULL, stderr=write_end, timeout=60)
        for end in (read_end, write_end):
            os.close(end)
        self.assertEqual(done.returncode, 5)

    def test_no_file_or_connection_gets_the_number_of_a_closed_descriptor(self):
        database = self.build()
        closed = ["sh", "-c", 'exec "$@" <&- 2>&-', "sh", PIRX]
        server = self.start(*closed, "serve", database, "--coordinate", 1, "--listen", "127.0.0.1:0")
        run("db", "update", database, "--set", f"0={self.record('new')}")
        server.child.send_signal(signal.SIGHUP)  # the old epoch's descriptors become free
        for _ in range(5):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
            self.addCleanup(connection.close)
            for _ in range(3):  # replies without lines of the log between them
                connection.request("GET", "/nowhere")
                self.assertEqual(connection.getresponse().read()[:8], b'{"error"')
        for number in (0, 2):
            self.assertEqual(os.readlink(f"/proc/{server.child.pid}/fd/{number}"), "/dev/null")
        self.assertEqual(server.stop(), 0)
        lost = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", PIRX, "db", "info", database], capture_output=True, text=True)
        self.assertEqual((lost.returncode, "standard output" in lost.stderr), (5, True), lost.stderr)

    def test_a_sighup_while_the_command_line_is_read_waits(self):
        server = subprocess.Popen([PIRX, "serve", *["--cors=x"] * 60_000, "--wrong"], stderr=subprocess.DEVNULL)
        blocked = 0
        while server.poll() is None and not blocked & 1 << (signal.SIGHUP - 1):
            blocked = int(re.search(r"SigBlk:\s+(\w+)", Path(f"/proc/{server.pid}/status").read_text())[1], 16)
        server.send_signal(signal.SIGHUP)
        self.assertEqual(server.wait(timeout=60), 1)
        self.assertTrue(blocked & 1 << (signal.SIGHUP - 1))

    def test_other_fields(self):
        database = self.build()
        for field in ("gf2_16", "w160", "w48", "prime64"):
            with self.subTest(field=field):
                servers = [self.serve(database, x, "--field", field) for x in (1, 2, 3)]
                deployment = self.deploy(servers, 1)
                self.assertEqual(run("get", deployment, 250, 251, "-q").stdout, f"{RECORDS[250]}\n{RECORDS[251]}\n")

    def test_encoded_databases(self):
        """Buckets, several rows in a query vector, seeds, a liar."""
        database = self.build()
        run("db", "encode", database, "--servers", 7, "--arity", 2, "--modulus", "batch", "--field", "gf2_16", "--out", self.path / "b")
        done = run("db", "encode", database, "--servers", 7, "--only", 3, "--only", 3, "--out", self.path / "q", code=2)
        self.assertIn("twice", done.stderr)
        servers = [self.start(PIRX, "serve", self.path / f"b.{i}", "--listen", "127.0.0.1:0") for i in range(1, 8)]
        servers[3] = self.proxy(servers[3], "flip")
        deployment = self.deploy(servers, 1, "--ramp", 2)
        self.assertEqual(json.loads(deployment.read_text())["ramp"], 2)
        expected = [RECORDS[i] for i in (250, 0, 250)]
        sizes = {}
        for seeded in ([], ["--seeded"]):
            report = json.loads(run("get", deployment, 250, 0, 250, "--json", "--wait-for-all", *seeded).stdout)
            self.assertEqual([record["text"] for record in report["records"]], expected)
            self.assertEqual((report["certainty"], report["servers"][3]["status"]), ("proven", "lied"))
            sizes[bool(seeded)] = [server["bytes_up"] for server in report["servers"]]
        self.assertLess(sizes[True][0], sizes[False][0] - 200)  # without the headers, 176 against 448
        self.assertEqual(sizes[True][1:3], sizes[False][1:3])

        # d + 1 = t + q + u - 1.
        self.assertIn("d + 1 = 8 servers are needed", self.deploy_error(servers, 4, "--ramp", 3))
        # Plain and encoded servers are not one deployment.
        plain = self.serve(database, 9, "--field", "gf2_16")
        self.assertIn("does not serve what", self.deploy_error(servers[:4] + [plain], 1, code=8))
        done = run("serve", self.path / "b.1", "--coordinate", 5, "--listen", "127.0.0.1:0", code=2)
        self.assertIn("the bucket is for the server with coordinate", done.stderr)

    def deploy_error(self, servers, threshold, *more, code=2):
        words = [word for server in servers for word in ("--server", server.url)]
        return run("deploy", self.path / "refused.json", "-t", threshold, *words, *more, code=code).stderr

    def test_plans_of_several_servers_are_bounded(self):
        database = self.build()
        deployment = self.deploy([self.serve(database, x) for x in (1, 2)], 1)
        for option in ("--max-bytes", "--max-memory"):
            self.assertIn(f"raise {option}", run("get", deployment, 17, option, "64", code=6).stderr)

    def test_dpf_asks_any_two_of_three_servers(self):
        database = self.build()
        servers = [self.serve(database, x, "--protocol", "dpf") for x in (1, 2, 3)]
        deployment = self.deploy(servers, 1)
        for down, statuses in ((None, ["ok", "ok", "silent"]), (0, ["silent", "ok", "ok"])):
            if down is not None:
                servers[down].stop()
            report = json.loads(run("get", deployment, 123, "--json").stdout)
            self.assertEqual(report["records"][0]["text"], RECORDS[123])
            self.assertEqual([s["status"] for s in report["servers"]], statuses)
            self.assertEqual(report["servers"][2]["abandoned"], down is None)  # it was not asked
            self.assertEqual(report["servers"][2]["bytes_up"] == 0, down is None)
        servers[1].stop()
        self.assertIn("dpf needs two of them", run("get", deployment, 123, code=9).stderr)
        # Nobody says who lied, and nobody else is asked.
        honest = [self.serve(database, x, "--protocol", "dpf") for x in (1, 2, 3)]
        lying = self.deploy([self.proxy(honest[0], "zero"), *honest[1:]], 1)
        report = json.loads(run("get", lying, 123, "--json", code=4).stdout)
        self.assertIn("dpf cannot tell which one", report["error"]["message"])
        self.assertEqual(report["servers"][2]["bytes_up"], 0)

    def test_chor(self):
        database = self.build()
        servers = [self.serve(database, x, "--protocol", "chor") for x in (1, 2, 300)]
        self.deploy(servers, 1, code=2)  # t = l - 1
        deployment = self.deploy(servers, 2)
        self.assertEqual(json.loads(deployment.read_text())["protocol"], "chor")
        self.assertEqual(run("get", deployment, 3, 499, 3, "-q").stdout, f"{RECORDS[3]}\n{RECORDS[499]}\n{RECORDS[3]}\n")
        report = json.loads(run("get", deployment, 42, "--json", "--seeded").stdout)
        self.assertEqual(report["records"][0]["text"], RECORDS[42])
        self.assertEqual(report["certainty"], "probable")
        self.assertEqual([s["status"] for s in report["servers"]], ["ok"] * 3)
        # A liar loses the answer and is not named; so does a server that is away.
        liar = self.proxy(servers[1], "zero")
        done = run("get", self.deploy([servers[0], liar, servers[2]], 2), 17, code=4)
        self.assertIn("cannot tell which one", done.stderr)
        servers[2].stop()
        self.assertIn("needs all of them", run("get", deployment, 1, code=9).stderr)
        run("serve", database, "--protocol", "chor", "--coordinate", 0, "--listen", "127.0.0.1:0", code=2)
        run("serve", database, "--protocol", "chor", "--coordinate", 1, "--field", "gf2_8", "--listen", "127.0.0.1:0", code=2)
        self.deploy([self.serve(database, 1, "--protocol", "chor"), self.serve(database, 2)], 1, code=8)

    def test_an_absence_that_nothing_proves(self):
        database = self.build("keyed.pirx", "--keyed")
        for protocol, stopped, code in (("goldberg", 0, 3), ("goldberg", 1, 9), ("chor", 0, 9), ("dpf", 1, 9)):
            with self.subTest(protocol=protocol, stopped=stopped):
                servers = [self.serve(database, x, "--protocol", protocol) for x in (1, 2, 3)]
                deployment = self.deploy(servers, 2 if protocol == "chor" else 1)
                if stopped:
                    servers[2].stop()
                done = run("get", deployment, "--key", "key3", "--key", "nobody", code=code)
                self.assertEqual(done.stdout, RECORDS[3] + "\n")
                self.assertIn("'nobody'" + ("" if code == 3 else " was found, but nothing proves"), done.stderr)
                error = json.loads(run("get", deployment, "--key", "nobody", "--json", code=code).stdout)["error"]
                self.assertEqual((error["code"], error["advice"]), ("OutOfRange" if code == 3 else "Undecodable", ""))

    def test_batch_codes(self):
        database = self.build()
        for code, protocol, count in (("subcube:2,2", "goldberg", 4), ("subset:4,2", "chor", 2)):
            with self.subTest(code=code, protocol=protocol):
                servers = [self.serve(database, x, "--code", code, "--protocol", protocol) for x in range(1, count + 1)]
                deployment = self.deploy(servers, 1)
                self.assertEqual(json.loads(deployment.read_text())["code"], code)
                wanted = [3, 499, 120, 3, 77, 0]
                expected = "".join(RECORDS[i] + "\n" for i in wanted)
                self.assertEqual(run("get", deployment, *wanted, "-q").stdout, expected)
                self.assertEqual(run("get", deployment, *wanted, "-q", "--seeded").stdout, expected)
                if protocol == "goldberg":
                    servers[2] = self.proxy(servers[2], "lie")
                    report = json.loads(run("get", self.deploy(servers, 1), 5, 6, "--json", "--wait-for-all").stdout)
                    self.assertEqual([r["text"] for r in report["records"]], [RECORDS[5], RECORDS[6]])
                    self.assertEqual(report["certainty"], "proven")
                    self.assertEqual([s["status"] for s in report["servers"]], ["ok", "ok", "lied", "ok"])
                run("get", deployment, 500, code=3)
                plain = self.serve(database, 9, "--protocol", protocol)
                self.deploy([servers[0], plain], 1, code=8, name="mixed.json")
        serve = ["serve", database, "--coordinate", 1, "--listen", "127.0.0.1:0", "--code"]
        for bad in ("cube:2,1", "subcube:1,1", "subcube:15,4", "subset:4,4"):
            run(*serve, bad, code=2)
        run(*serve, "subcube:2,1", "--prepared", self.path / "kept", code=2)

    def test_tls(self):
        def openssl(*words):
            subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.path)

        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem",
                "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
        database = self.build()
        servers = [self.serve(database, x, "--tls-cert", self.path / "cert.pem", "--tls-key", self.path / "key.pem")
                   for x in (1, 2, 3)]
        for server in servers:
            server.url = server.url.replace("http:", "https:")
        deployment = self.deploy(servers, 1, "--ca-file", "cert.pem")
        self.assertEqual(run("get", deployment, 8, "-q").stdout, RECORDS[8] + "\n")
        # A ca_file is relative to the file behind a link, whichever of the two is read or written.
        (self.path / "links").mkdir()
        link = self.path / "links" / "link.json"
        link.symlink_to("../deployment.json")
        for words in (("--refresh",), [w for s in servers for w in ("--server", s.url)] + ["--ca", "cert.pem"]):
            run("deploy", link, *words)
            self.assertTrue(link.is_symlink())
            self.assertEqual(json.loads(deployment.read_text())["servers"][0]["ca_file"], "cert.pem")
            for name in (link, deployment):
                self.assertEqual(run("get", name, 8, "-q").stdout, RECORDS[8] + "\n")
        self.deploy(servers, 1, code=7)  # the system's trust anchors do not know this certificate
        # TLS 1.2 is spoken where the deployment says so only.
        self.assertNotIn("tls_1.2", deployment.read_text())
        with self.tls_1_2_server("cert.pem", "key.pem") as old:
            words = ["deploy", self.path / "old.json", "--server", old, "--ca-file", "cert.pem"]
            self.assertIn("speaks no TLS 1.3", run(*words, code=7).stderr)
            self.assertIn("pirx server?", run(*words, "--tls-1.2", code=4).stderr)
        self.deploy(servers, 1, "--ca-file", "cert.pem", "--tls-1.2")
        self.assertEqual([s["tls_1.2"] for s in json.loads(deployment.read_text())["servers"]], [True] * 3)
        self.assertEqual(run("get", deployment, 8, "-q").stdout, RECORDS[8] + "\n")
        # Another authority does not know it either, and one server that is trusted is too few.
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "other.key",
                "-out", "other.pem", "-days", "2", "-subj", "/CN=other")
        text = json.loads(deployment.read_text())
        for entry in text["servers"][1:]:
            entry["ca_file"] = "other.pem"
        deployment.write_text(json.dumps(text))
        done = run("get", deployment, 8, code=7)
        self.assertIn("trust anchors", done.stderr)
        self.assertNotIn("ask again", done.stderr)
        run("serve", database, "--coordinate", 1, "--tls-cert", self.path / "cert.pem", code=2)

    @contextlib.contextmanager
    def tls_1_2_server(self, certificate, key):
        """The URL of a server that knows no more than TLS 1.2, and serves files."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.path / certificate, self.path / key)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def test_help_everywhere(self):
        for words in ([], ["db"], ["db", "build"], ["db", "info"], ["db", "verify"], ["db", "get"], ["db", "list"],
                      ["serve"], ["deploy"], ["get"], ["bench"]):
            text = run(*words, "--help").stdout
            if words and words != ["db"]:
                self.assertIn("xample", text)
        self.assertRegex(run("--version").stdout, r"\d+\.\d+\.\d+")
        run(code=1)
        run("fly", code=1)

    def test_bench(self):
        done = run("bench", "--size", "4MiB", "--row-bytes", "4000", "--queries", 1, 3, "--runs", 1, "--json",
                   "--field", "gf2_8", "gf2_16", "w160", "w48")
        self.assertEqual(len(json.loads(done.stdout)["results"]), 8)
        run("bench", "--size", "1", code=2)
        self.assertIn("20 bytes of a word of w160", run("bench", "--size", "1KiB", "--row-bytes", 1, "--field", "w160", code=2).stderr)
        run("bench", "--size", "1MiB", "--threads", 65535, code=1)


if __name__ == "__main__":
    PIRX = sys.argv.pop(1)
    unittest.main(verbosity=1)
