#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Protocols with one server over real HTTP: serve, deploy, fetch; what is refused; and a server that lies.

    single_server_test.py PIRX
"""
import http.client
import json
import random
import signal
import struct
import sys
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import command_line_test  # noqa: E402
from command_line_test import run  # noqa: E402
from concert_test import ROOT, package_index  # noqa: E402

PIRX = None
RECORDS = [f"record {i} " + "x" * (i % 23) for i in range(60)]
PROTOCOLS = ("dj-tree", "qr")
WEAK = "--paper-reproduction"  # keys of 1024 bits: where their length is not what is tested


def ask(port, body, path="/v1/query", method="POST"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=100)
    try:
        connection.request(method, path, body, {"Content-Type": "application/octet-stream"} if body is not None else {})
        response = connection.getresponse()
        return response.status, response.headers.get("Pirx-Error"), response.read()
    finally:
        connection.close()


class Between:
    """A server before another one: say(path, body) returns the status, the Pirx-Error or None, and the bytes of a reply."""

    def __init__(self):
        between = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, body):
                status, error, reply = between.say(self.path, body)
                self.send_response(status)
                if error:
                    self.send_header("Pirx-Error", error)
                self.send_header("Content-Type", "application/octet-stream")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def do_GET(self):
                self.answer(None)

            def do_POST(self):
                self.answer(self.rfile.read(int(self.headers["Content-Length"])))

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self, _=None):
        self.server.shutdown()
        self.server.server_close()


class Liar(Between):
    """A server that passes queries on and replies through `change(reply, number of the query)`, and parameters through
    `parameters`; it keeps what it saw."""

    def __init__(self, upstream, change=lambda reply, _: reply, parameters=lambda message: message):
        self.upstream, self.change, self.parameters, self.queries = upstream, change, parameters, []
        super().__init__()

    def say(self, path, body):
        if body is None:
            return 200, None, self.parameters(ask(self.upstream, None, path, "GET")[2] if self.upstream else b"")
        self.queries.append(body)
        status, error, reply = ask(self.upstream, body)
        return status, error, self.change(reply, len(self.queries) - 1) if status == 200 else reply


class SingleServer(command_line_test.Servers):
    def serve(self, database, protocol, *more):
        return self.start(PIRX, "serve", database, "--protocol", protocol, "--listen", "127.0.0.1:0", *more)

    def build(self, *more, name="db.pirx", records=None):
        source = self.path / "records.jsonl"
        lines = [{"k": f"key{i}", "v": r} for i, r in enumerate(RECORDS if records is None else records)]
        source.write_text("".join(json.dumps(line) + "\n" for line in lines))
        target = self.path / name
        run("db", "build", target, source, "--from", "jsonl", "--key", "k", "--value", "v", *more)
        return target

    def deploy(self, server, *more):
        target = self.path / "deployment.json"
        target.unlink(missing_ok=True)
        run("deploy", target, "--server", server.url, *more)
        return target

    def at(self, deployment, url):
        """The same deployment at another address."""
        content = json.loads(deployment.read_text())
        content["servers"] = [{"url": url, "allow_plaintext": True}]
        target = self.path / "elsewhere.json"
        target.write_text(json.dumps(content))
        return target

    def test_records_by_position(self):
        database = self.build()
        cases = (
            ("dj-tree", ("--modulus", "2048", "--arity", "4", "--tables", "1MiB"), ()),
            ("dj-tree", (WEAK, "--kernel", "gmp"), (WEAK,)),
            ("dj-tree", (WEAK, "--selectors", "polynomial", "--rerandomise"), (WEAK,)),
            ("qr", ("--modulus", "2048", "--slots", "3"), ()),
            ("qr", (WEAK, "--kernel", "gmp"), (WEAK,)),
        )
        for protocol, options, weak in cases:
            server = self.serve(database, protocol, "--threads", "2", *options)
            deployment = self.deploy(server, "--database", database, *weak)
            wanted = [59, 0, 17, 17]
            done = run("get", deployment, *wanted, "--protocol", protocol, *weak)
            self.assertEqual(done.stdout, "".join(RECORDS[i] + "\n" for i in wanted))
            self.assertIn("message 4 of 4", done.stderr)
            self.assertIn("probable: one reply alone could not prove it; the records' digests fit", done.stderr)
            report = json.loads(run("get", deployment, 3, "--json", "--quiet", *weak).stdout)
            self.assertEqual(report["records"][0]["text"], RECORDS[3])
            self.assertEqual(report["servers"][0]["status"], "ok")
            self.assertNotIn("coordinate", report["servers"][0])
            run("get", deployment, 60, *weak, code=3)
            run("get", deployment, *range(257), *weak, code=2)
            run("get", deployment, 1, "--key", "key1", *weak, code=2)
            keys = self.path / "keys.tsv"
            keys.write_text(run("db", "list", database).stdout)
            done = run("get", deployment, "--positions", keys, "--key", "key7", "-q", *weak)
            self.assertEqual(done.stdout, RECORDS[7] + "\n")
            self.assertEqual(server.stop(), 0)
            batches = [event for event in map(json.loads, server.log) if event["event"] == "batch"]
            self.assertEqual([batch["queries"] for batch in batches], [1] * 7)
        plan = json.loads(self.deploy(self.serve(database, "dj-tree", "--arity", "4")).read_text())
        self.assertEqual((plan["modulus_bits"], plan["arities"]), (3072, [4, 4, 4]))

    def test_no_digests_nothing_checked(self):
        database = self.build("--no-digests")
        deployment = self.deploy(self.serve(database, "dj-tree", WEAK), WEAK)
        done = run("get", deployment, WEAK, 5)
        self.assertEqual(done.stdout, RECORDS[5] + "\n")
        self.assertIn("unverified: one reply is just enough", done.stderr)

    def test_keyed(self):
        database = self.build("--keyed")
        server = self.serve(database, "dj-tree", WEAK)
        deployment = self.deploy(server, WEAK)
        done = run("get", deployment, WEAK, "--key", "key11", "--key", "key4")
        self.assertEqual(done.stdout, RECORDS[11] + "\n" + RECORDS[4] + "\n")
        self.assertIn("message 6 of 6", done.stderr)
        done = run("get", deployment, WEAK, "--key", "nobody", "--key", "key4", code=9)
        self.assertEqual(done.stdout, RECORDS[4] + "\n")
        self.assertIn("unverified", done.stderr)
        run("get", deployment, WEAK, 4, code=2)
        refused = run("serve", database, "--protocol", "qr", code=2)
        self.assertIn("this database is keyed: build it without --keyed (pirx try: with --by-position)", refused.stderr)

    def test_weak_keys(self):
        database = self.build()
        for protocol in PROTOCOLS:
            self.assertIn("can be broken", run("serve", database, "--protocol", protocol, "--modulus", 1024, code=2).stderr)
            run("serve", database, "--protocol", protocol, "--paper-reproduction", "--modulus", 2048, code=2)
            beyond = ("--listen", "0.0.0.0:0", "--allow-plaintext")
            refused = run("serve", database, "--protocol", protocol, "--paper-reproduction", *beyond, code=2)
            self.assertIn("beyond loopback", refused.stderr)
            server = self.serve(database, protocol, "--paper-reproduction")
            target = self.path / "deployment.json"
            run("deploy", target, "--server", server.url, code=2)
            self.assertFalse(target.exists())
            deployment = self.deploy(server, "--paper-reproduction")
            self.assertIn("--paper-reproduction", run("get", deployment, 8, code=2).stderr)
            done = run("get", deployment, 8, "--paper-reproduction")
            self.assertEqual(done.stdout, RECORDS[8] + "\n")
            self.assertIn("warning", done.stderr)
            refused = run("get", self.at(deployment, "http://192.0.2.1:8100"), 8, "--paper-reproduction", code=2)
            self.assertIn("other machines", refused.stderr)
            server.stop()
            self.assertTrue(any("can be broken" in line for line in server.log))
            target.unlink()

    def test_wrong_options(self):
        database = self.build()
        for words in (
            ("--protocol", "dj-tree", "--coordinate", 1),
            ("--protocol", "dj-tree", "--slots", 2),
            ("--protocol", "dj-tree", "--arity", "1"),
            ("--protocol", "dj-tree", "--kernel", "gpu"),
            ("--protocol", "qr", "--arity", 8),
            ("--protocol", "qr", "--tables", "1MiB"),
            ("--protocol", "qr", "--slots", 61),
            ("--protocol", "qr", "--rerandomise"),
            ("--protocol", "dj-tree", "--selectors", "octal"),
            ("--protocol", "dj-tree", "--selectors", "polynomial", "--arity", 16),
            ("--protocol", "qr", "--modulus", 2049),
            ("--coordinate", 1, "--modulus", 2048),
            ("--coordinate", 1, "--paper-reproduction"),
        ):
            run("serve", database, *words, code=2)
        run("serve", database, "--protocol", "dj-tree", "--arity", "8,x", code=1)
        tree, residues = (self.serve(database, protocol, "--modulus", "2048") for protocol in PROTOCOLS)
        several = self.serve_several(database)
        deployment = self.deploy(tree)
        for words in (("--protocol", "qr"), ("--liars", 1), ("--rounds", 2), ("--seeded",), ("--wait-for-all",)):
            run("get", deployment, 1, *words, code=2)
        target = self.path / "two.json"
        run("deploy", target, "--server", tree.url, "--server", several.url, code=2)
        run("deploy", target, "--server", several.url, "--server", tree.url, code=2)
        run("deploy", target, "--server", tree.url, "--ramp", 2, code=2)
        self.assertFalse(target.exists())
        # A server of another protocol refuses the query, and says why.
        for server in (residues, several):
            refused = run("get", self.at(deployment, server.url), 1, code=4)
            self.assertRegex(refused.stderr, "protocol|no request of this database is longer")
        self.assertEqual(run("get", deployment, 1, "-q").stdout, RECORDS[1] + "\n")

    def serve_several(self, database):
        self.start(PIRX, "serve", database, "--coordinate", 1, "--listen", "127.0.0.1:0")
        return self.processes[-1]

    def test_wrong_requests(self):
        database = self.build()
        for protocol in PROTOCOLS:
            server = self.serve(database, protocol, WEAK)
            liar = Liar(server.port)
            run("get", WEAK, self.at(self.deploy(server, WEAK), liar.url), 2)
            liar.stop()
            query = liar.queries[0]
            self.assertEqual(ask(server.port, query)[0], 200)
            for wrong in (query[:-1], query[:40], query[:7], b"", query[:6] + b"\2" + query[7:], b"QIRX" + query[4:]):
                self.assertEqual(ask(server.port, wrong)[0], 400, wrong[:8])
            self.assertEqual(ask(server.port, query + b"\0")[0], 413)
            self.assertEqual(ask(server.port, query[:20] + bytes(8) + query[28:])[:2], (409, "StaleEpoch"))
            # An even modulus, and numbers of the query that are zero or as large as can be.
            for end, wrong in ((40 + 128, b"\0"), (len(query), bytes(512)), (len(query), b"\xff" * 512)):
                changed = query[: end - len(wrong)] + wrong + query[end:]
                self.assertEqual(ask(server.port, changed)[:2], (400, "InvalidArgument"))
            self.assertEqual(ask(server.port, query)[0], 200)

    def test_a_refusal_is_no_mistake_of_the_caller(self):
        server = self.serve(self.build(), "download")
        honest = self.deploy(server)
        refusing = Between()
        self.addCleanup(refusing.stop)
        said = json.dumps({"error": {"code": "InvalidArgument", "message": "give me another"}}).encode()
        refusing.say = lambda *_: (400, "InvalidArgument", said)
        for words in (("get", self.at(honest, refusing.url), 2), ("deploy", self.path / "other.json", "--server", refusing.url)):
            self.assertIn("give me another", run(*words, code=4).stderr)

    def test_false_replies(self):
        database = self.build()
        first = []

        def repeat(reply, number):
            first.append(reply)
            return first[0]

        def flip(reply, _):  # of qr's many numbers: one alone would decrypt to the right bit now and then
            return reply[:40] + bytes(byte ^ (1 << at % 3) for at, byte in enumerate(reply[40:]))

        for protocol in PROTOCOLS:
            server = self.serve(database, protocol, WEAK)
            honest = self.deploy(server, WEAK)
            cases = (
                ("truncated", lambda reply, _: reply[:-1], (4,), 1),
                ("extended", lambda reply, _: reply + b"\0", (4, 6), 1),
                ("empty", lambda reply, _: b"", (4,), 1),
                ("another plan's", lambda reply, _: reply[:8] + bytes(32) + reply[40:], (8,), 1),
                ("all ones", lambda reply, _: reply[:40] + b"\xff" * (len(reply) - 40), (9,), 2),
                ("zero", lambda reply, _: reply[:40] + bytes(len(reply) - 40), (9,), 2),
                ("bits", flip, (4, 9), 2),
                ("of another row", repeat, (4,), 2),
            )
            for name, change, codes, least in cases:
                first.clear()
                liar = Liar(server.port, change)
                try:
                    words = list(map(str, (PIRX, "get", WEAK, self.at(honest, liar.url), 2, 9)))
                    done = command_line_test.subprocess.run(words, capture_output=True, text=True, timeout=100)
                    self.assertIn(done.returncode, codes, (protocol, name, done.stderr))
                    self.assertEqual(done.stdout, "", name)
                    # Both queries are sent, whatever the first reply held: only what anybody sees may end it.
                    self.assertGreaterEqual(len(liar.queries), least, name)
                    self.assertEqual(len(set(liar.queries)), len(liar.queries))
                    self.assertEqual({len(query) for query in liar.queries}, {len(liar.queries[0])})
                finally:
                    liar.stop()

    def test_epochs(self):
        database = self.build()
        for epoch, protocol in enumerate(PROTOCOLS, 2):
            server = self.serve(database, protocol, WEAK)
            old = self.deploy(server, WEAK)
            change = self.path / "change"
            change.write_text("changed " + protocol)
            run("db", "update", database, "--set", f"5={change}")
            self.assertEqual(run("get", WEAK, old, 5, "-q", "--raw").stdout, RECORDS[5] if protocol == "dj-tree" else "changed dj-tree")
            server.child.send_signal(signal.SIGHUP)
            while not any('"epoch"' in line and '"epoch_before"' in line for line in server.log):
                self.assertIsNone(server.child.poll())
            self.assertIn(f"has epoch {epoch} now", run("get", WEAK, old, 5, code=8).stderr)
            self.assertEqual(run("get", WEAK, self.deploy(server, WEAK), 5, "-q", "--raw").stdout, "changed " + protocol)

    def test_fewer_records_claimed(self):
        """A server that takes records away must not see who wanted one of them: a binary search in 20 visits."""
        for protocol, weak in (("dj-tree", (WEAK,)), ("qr", (WEAK,)), ("spiral", ())):
            before = self.deploy(self.serve(self.build(name=f"{protocol}.60"), protocol, *weak), *weak)
            server = self.serve(self.build(name=f"{protocol}.59", records=RECORDS[:59]), protocol, *weak)
            pinned = before.read_bytes()
            refused = run("deploy", before, "--server", server.url, *weak, code=8).stderr
            self.assertIn("59 records are fewer than 60", refused)
            self.assertEqual(before.read_bytes(), pinned)
            run("deploy", before, "--server", server.url, "--allow-rollback", *weak)
            seen = []
            for position in (58, 59, 2**64 - 1):
                liar = Liar(server.port)
                done = run("get", self.at(before, liar.url), position, *weak, code=0 if position < 59 else 3)
                self.assertEqual(done.stdout, RECORDS[58] + "\n" if position < 59 else "")
                seen.append([len(query) for query in liar.queries])
                liar.stop()
            self.assertEqual(seen[1:], seen[:1] * 2, protocol)
            self.assertGreaterEqual(len(seen[0]), 1)
            liar = Liar(server.port)
            keys = self.path / "keys.tsv"
            keys.write_text(run("db", "list", self.path / f"{protocol}.59", "--limit", 1).stdout)
            words = ("get", self.at(before, liar.url), "--positions", keys, *weak, "--key")
            self.assertIn("has 1 of the database's 59 positions", run(*words, "key1", code=4).stderr)
            self.assertEqual([len(query) for query in liar.queries], seen[0])
            liar.stop()

    def test_parameters_are_the_same_for_everyone(self):
        """A server that gives a client an epoch of its own knows all its queries by the digest of the parameters."""
        database = self.build()
        target = self.path / "new.json"
        for protocol, weak in (("dj-tree", (WEAK,)), ("qr", (WEAK,)), ("spiral", ())):
            honest = self.serve(database, protocol, *weak)
            liar = Liar(honest.port, parameters=lambda message: message[:40] + struct.pack("<Q", 7) + message[48:])
            digest = run("deploy", target, "--server", honest.url, *weak).stdout.split()[-1]
            self.assertIn(f'"parameters_digest":"{digest}"', "".join(honest.log))
            again = ("deploy", target, "--server", honest.url, *weak)
            run(*again, "--expect", digest, "--compare", honest.url)
            run(*again, "--expect", digest[2:], code=2)
            run(*again, "--expect", "", code=1)
            kept = target.read_bytes()
            refused = run("deploy", target, "--server", liar.url, "--expect", digest, *weak, code=8).stderr
            self.assertIn("clients are told apart", refused)
            refused = run("deploy", target, "--server", liar.url, "--compare", honest.url, *weak, code=8).stderr
            self.assertIn(honest.url, refused)
            run(*again, "--compare", liar.url, code=8)
            self.assertEqual(target.read_bytes(), kept)
            # Whoever believes the liar once is told when the others' epoch comes back, and so is who sees two of one epoch.
            run("deploy", target, "--server", liar.url, *weak)
            self.assertIn("older", run(*again, code=8).stderr)
            fork = Liar(honest.port, parameters=lambda message: message[:8] + bytes(32) + message[40:])
            run(*again, "--allow-rollback")
            self.assertIn("other content", run("deploy", target, "--server", fork.url, *weak, code=8).stderr)
            for server in (liar, fork):
                server.stop()
            # The right name for a database of another shape.
            if protocol == "qr":
                short = Liar(honest.port, parameters=lambda message: message[:-88] + struct.pack("<Q", 59) + message[-80:])
                words = ("--server", short.url, "--allow-rollback", "--database", database, *weak)
                run("deploy", target, *words, code=8)
                short.stop()
            target.unlink()

    def test_plans_that_ask_too_much(self):
        """150 bytes of parameters: minutes of work and a request of 977 MiB. Nothing is made, nothing is sent."""
        target = self.path / "hostile.json"
        for plan in json.loads((ROOT / "tests/vectors/hostile_parameters.json").read_text()):
            server = Liar(None, parameters=lambda _: bytes.fromhex(plan["message"]))
            target.unlink(missing_ok=True)
            run("deploy", target, "--server", server.url)
            self.assertIn(plan["refused"], run("get", target, 0, "--deadline", "5s", code=6).stderr, plan)
            if plan["refused"] == "--max-work":
                more = ("--deadline", "1s", "--max-work", "600m")
                self.assertIn("--deadline", run("get", target, 0, *more, code=6).stderr, plan)
            self.assertEqual(server.queries, [])
            server.stop()
        for option in ("--max-bytes", "--max-memory", "--max-work"):
            self.assertIn(option, run("get", "--help").stdout)
        deployment = self.deploy(self.serve(self.build(), "dj-tree", WEAK), WEAK)
        self.assertIn("more than 1 KiB: use another server, or raise --max-bytes",
                      run("get", deployment, WEAK, 1, "--max-bytes", "1KiB", code=6).stderr)
        self.assertEqual(run("get", deployment, WEAK, 1, "--max-bytes", "64KiB", "-q").stdout, RECORDS[1] + "\n")

    def test_deploy_replaces_deployment_files_only(self):
        server = self.serve(self.build(), "qr", WEAK)
        words = ("--server", server.url, WEAK)
        for content in ("my diary\n", "", '{"pirx_deployment": 1}'):
            diary = self.path / "diary"
            diary.write_text(content)
            self.assertIn("is no deployment file", run("deploy", diary, *words, code=2).stderr)
            self.assertEqual(diary.read_text(), content)
        (self.path / "link").symlink_to(diary)
        run("deploy", self.path / "link", *words, code=2)
        run("deploy", self.path, *words, code=2)
        run("deploy", diary, *words, "--force")
        run("deploy", diary, *words)
        self.assertEqual(run("get", diary, WEAK, 1, "-q").stdout, RECORDS[1] + "\n")

    def test_real_packages(self):
        """What the demo serves, cut to 200 packages; keys of 3072 bits."""
        lines = command_line_test.subprocess.run(
            [sys.executable, ROOT / "examples/packages/packages.py"], input=package_index(), capture_output=True, check=True
        ).stdout.decode()
        packages = [json.loads(line) for line in lines.splitlines()[:200]]
        source = self.path / "packages.jsonl"
        source.write_text("".join(json.dumps(package) + "\n" for package in packages))
        database = self.path / "packages.pirx"
        words = ("db", "build", database, source, "--from", "jsonl", "--key", "name", "--value", "record")
        run(*words)
        at = random.SystemRandom().randrange(len(packages))
        for protocol in PROTOCOLS:
            server = self.serve(database, protocol, "--threads", "2", *(("--modulus", "2048") if protocol == "qr" else ()))
            done = run("get", self.deploy(server), at, "--raw")
            self.assertEqual(done.stdout, packages[at]["record"])
            server.stop()
        run(*words, "--keyed")
        server = self.serve(database, "dj-tree", "--modulus", "2048", "--max-queued", "1")
        deployment = self.deploy(server)
        liar = Liar(server.port)
        name = packages[at]["name"]
        self.assertEqual(run("get", self.at(deployment, liar.url), "--key", name, "--raw").stdout, packages[at]["record"])
        liar.stop()
        # One query computes, one waits, further ones are told to come again.
        statuses = []
        clients = [
            threading.Thread(target=lambda: statuses.append(ask(server.port, liar.queries[0])[0])) for _ in range(6)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.assertEqual(set(statuses), {200, 429})
        self.assertGreaterEqual(statuses.count(429), 3)


if __name__ == "__main__":
    PIRX = command_line_test.PIRX = Path(sys.argv.pop(1)).resolve()
    unittest.main()
