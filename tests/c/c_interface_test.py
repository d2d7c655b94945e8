#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C interface against real servers: two programs in C99 that know pirx by <pirx/pirx.h> alone, for every protocol, by
position and by key, with a liar named and servers lost, over the programs' sockets and over the library's.

    c_interface_test.py PIRX LOOK_UP MISUSE EXAMPLE [--without gmp,http,ntl]
"""
import hashlib
import json
import os
import subprocess
import sys
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
import command_line_test as cl  # noqa: E402

LOOK_UP = MISUSE = EXAMPLE = ""
WITHOUT = []  # packages that the library was built without
WEAK = "--paper-reproduction"  # keys of 1024 bits: where their length is not what is tested
OK, INVALID, RANGE, LOSS, UNAVAILABLE, EXHAUSTED, UNAUTHENTICATED, STALE, UNDECODABLE = range(9)
OVER = [[], ["--fetch"]]  # the program's sockets, and the library's


def look_up(*words, code=OK):
    done = subprocess.run([LOOK_UP, *map(str, words)], capture_output=True, text=True, timeout=120)
    if done.returncode != code:
        raise AssertionError(f"{words}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}")
    return done


def records(done):
    return [line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith(("record ", "missing"))]


def lines(done, word):
    return [line.split()[1:] for line in done.stdout.splitlines() if line.split()[0] == word]


class CInterface(cl.Servers):
    def serve(self, database, protocol, *more):
        return self.start(cl.PIRX, "serve", database, "--protocol", protocol, "--listen", "127.0.0.1:0", *more)

    def serve_several(self, database, protocol, count):
        return [self.serve(database, protocol, "--coordinate", 1 + i) for i in range(count)]

    def keyed(self):
        return self.build("keyed.pirx", "--keyed")

    def through(self, deployment, proxies):
        """The deployment with proxies before some of its servers: {number: proxy}."""
        content = json.loads(deployment.read_text())
        for number, proxy in proxies.items():
            content["servers"][number]["url"] = proxy.url
        target = deployment.with_suffix(".proxied")
        target.write_text(json.dumps(content))
        return target

    def test_the_example_asks_the_same_whatever_there_is(self):
        if "http" in WITHOUT:
            return
        servers = self.serve_several(self.keyed(), "goldberg", 2)
        deployment = self.deploy(servers, 1)
        asked = []
        for keys in (["key1", "key2", "key3"], ["nobody", "key2", "key3"], ["key1", "nobody", "key3"]):
            done = subprocess.run([EXAMPLE, deployment, *keys], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.stdout.splitlines(), [cl.RECORDS[int(key[3:])] for key in keys if key != "nobody"])
            self.assertEqual(done.returncode, 3 if "nobody" in keys else 0, done.stderr)
            page = urllib.request.urlopen(f"{servers[0].url}/metrics", timeout=20).read().decode()
            asked.append([line.split()[1] for line in page.splitlines()
                          if line.startswith(("pirx_requests_total", "pirx_queries_total", "pirx_request_bytes_total"))])
        numbers = [[int(number) for number in line] for line in asked]
        steps = [[b - a for a, b in zip(before, after)] for before, after in zip(numbers, numbers[1:])]
        self.assertEqual(steps[0], steps[1])

    def test_a_pinned_publisher(self):
        database, key = self.build(), self.path / "publisher.key"
        cl.run("manifest", "key", key)
        cl.run("manifest", "sign", database, "--key", key, "--name", "lists")
        servers = [self.serve(database, "goldberg", "--coordinate", x, "--manifest", f"{database}.manifest") for x in (1, 2)]
        deployment = self.deploy(servers, 1, "--manifest", f"{key}.pub:lists")
        good = json.loads(deployment.read_text())
        del good["checksum"]  # the manifest is to find what is changed here
        flipped = good["manifest"][:-1] + ("0" if good["manifest"][-1] != "0" else "1")
        for over in OVER:
            for change, code in (({}, OK), ({"database": good["database"] | {"epoch": 2}}, STALE),
                                 ({"manifest": flipped}, UNAUTHENTICATED), ({"publisher": "66" * 32 + ":lists"}, UNAUTHENTICATED),
                                 ({"publisher": good["publisher"].replace("lists", "packages")}, UNAUTHENTICATED)):
                deployment.write_text(json.dumps(good | change))
                done = look_up(*over, deployment, 7, code=code)
                self.assertEqual(records(done), [cl.RECORDS[7]] if code == OK else [])

    def test_a_liar_is_named(self):
        for database, keys in ((self.build(), []), (self.keyed(), ["--keys"])):
            servers = self.serve_several(database, "goldberg", 4)
            deployment = self.through(self.deploy(servers, 1, name=f"{database.name}.json"), {2: self.proxy(servers[2], "lie")})
            wanted = [f"key{i}" if keys else i for i in (3, 499, 3)]
            for over in OVER:
                done = look_up(*over, "--wait-for-all", deployment, *keys, *wanted)
                self.assertEqual(records(done), [cl.RECORDS[i] for i in (3, 499, 3)])
                self.assertEqual(lines(done, "answer"), [["proven", "4", "1"]])
                self.assertEqual(lines(done, "server"), [["ok"], ["ok"], ["lied"], ["ok"]])
                self.assertEqual(lines(done, "liar"), [["2"]])
            # A server that is gone, and one that sends half a reply.
            servers[3].stop()
            lost = self.through(deployment, {2: self.proxy(servers[2], "honest")})
            for over in OVER:
                self.assertEqual(lines(look_up(*over, "--wait-for-all", lost, *keys, wanted[0]), "server")[3], ["silent"])
            truncated = self.through(deployment, {2: self.proxy(servers[2], "truncate")})
            done = look_up("--wait-for-all", truncated, *keys, wanted[0])
            self.assertEqual(records(done), [cl.RECORDS[3]])
            self.assertEqual(lines(done, "server"), [["ok"], ["ok"], ["malformed"], ["silent"]])

    def test_evidence_of_the_callers_own_decides(self):
        servers = self.serve_several(self.build(), "goldberg", 2)
        deployment = self.deploy(servers, 1)
        self.assertEqual(records(look_up("--prefix", "record", deployment, 7)), [cl.RECORDS[7]])

    def test_more_servers_than_the_program_has_room_for(self):
        deployment = self.deploy(self.serve_several(self.build(), "goldberg", 2), 1)
        told = json.loads(deployment.read_text())
        told["servers"] += [told["servers"][1] | {"url": f"http://127.0.0.1:{port}", "coordinate": port} for port in range(3, 18)]
        deployment.write_text(json.dumps(told))
        self.assertIn("17 servers", look_up(deployment, 7, code=98).stderr)

    def test_every_protocol(self):
        plain, keyed = self.build(), self.keyed()
        weak = ["--option", "paper_reproduction=on"]
        for protocol, serving, getting in (("chor", (), []), ("dj-tree", (WEAK,), weak), ("qr", (WEAK,), weak),
                                           ("spiral", (), []), ("download", (), [])):
            for database in (plain, keyed):
                if database == keyed and protocol == "qr":
                    continue
                several = protocol == "chor"
                servers = (self.serve_several(database, protocol, 3) if several
                           else [self.serve(database, protocol, *serving)])
                deployment = self.deploy(servers, None, *serving, name=f"{protocol}.{database.name}.json")
                if serving and "gmp" in WITHOUT:
                    self.assertRegex(look_up(deployment, 7, code=LOSS).stderr, f"{protocol}.*built without GMP, which dj-tree")
                    continue
                keys = ["--keys"] if database == keyed else []
                wanted = [f"key{i}" if keys else i for i in (7, 0)]
                for over in OVER:
                    done = look_up(*over, *getting, deployment, *keys, *wanted)
                    self.assertEqual(records(done), [cl.RECORDS[7], cl.RECORDS[0]], (protocol, keys))
                    self.assertEqual(lines(done, "server"), [["ok"]] * len(servers))
                    if keys:
                        done = look_up(*over, *getting, deployment, *keys, "nobody", "key1")
                        self.assertEqual(records(done), ["", cl.RECORDS[1]], protocol)
                        self.assertTrue(done.stdout.startswith("missing \n"))
                    else:
                        self.assertIn("500 records", look_up(*over, *getting, deployment, 500, code=RANGE).stderr)
                if not keys and not several:
                    self.assertIn("--max-bytes", look_up("--max-bytes", 10, *getting, deployment, 7, code=EXHAUSTED).stderr)
                    self.assertIn("several servers", look_up("--liars", 0, *getting, deployment, 7, code=INVALID).stderr)
                for server in servers:
                    self.processes.remove(server)
                    server.stop()
                gone = look_up(*getting, deployment, *keys, wanted[0], code=UNDECODABLE if several else UNAVAILABLE)
                self.assertIn("no answer", gone.stderr)

    def test_one_of_several_protocols_is_named(self):
        database = self.build()
        deployment = self.deploy(self.serve_several(database, "goldberg", 3), 1)
        cl.run("deploy", deployment, "--add", "--server", self.serve(database, "download").url)
        self.assertIn("goldberg, download", look_up(deployment, 3, code=INVALID).stderr)
        self.assertIn("not spiral", look_up("--protocol", "spiral", deployment, 3, code=INVALID).stderr)
        for protocol, servers in (("goldberg", 3), ("download", 1)):
            done = look_up("--protocol", protocol, deployment, 3)
            self.assertEqual((records(done), len(lines(done, "server"))), ([cl.RECORDS[3]], servers))

    def test_another_epoch(self):
        old = self.deploy(self.serve_several(self.build(), "goldberg", 3), 1)
        content = json.loads(old.read_text())
        for number, server in enumerate(self.serve_several(self.build(), "goldberg", 3)):
            content["servers"][number]["url"] = server.url
        old.write_text(json.dumps(content))
        for over in OVER:
            self.assertIn("127.0.0.1", look_up(*over, old, 3, code=STALE).stderr)

    def test_a_weak_plan_is_refused(self):
        if "gmp" in WITHOUT:
            self.skipTest("the plan cannot be read")
        deployment = self.deploy([self.serve(self.build(), "qr", WEAK)], None, WEAK)
        self.assertIn("paper", look_up(deployment, 3, code=INVALID).stderr)

    def test_without_an_http_client(self):
        if "http" in WITHOUT:
            deployment = self.deploy(self.serve_several(self.build(), "goldberg", 3), 1)
            self.assertIn("built without an HTTP client", look_up("--fetch", deployment, 3, code=UNAVAILABLE).stderr)

    def test_slow_fields_without_ntl(self):
        database = self.build()
        deployment = self.deploy([self.serve(database, "goldberg", "--coordinate", 1 + i, "--field", "prime64")
                                  for i in range(2)], 1)
        if "ntl" in WITHOUT:
            self.assertIn("built for clients only", look_up(deployment, 3, code=INVALID).stderr)
        else:
            self.assertEqual(records(look_up(deployment, 3)), [cl.RECORDS[3]])

    def test_tokens(self):
        database = self.build()
        tokens = [f"the-s3cret-of-server-{x}" for x in range(3)]
        for x, token in enumerate(tokens):
            (self.path / f"tokens{x}").write_text(f"alice {hashlib.sha256(token.encode()).hexdigest()}\n")
        servers = [self.serve(database, "goldberg", "--coordinate", 1 + x, "--tokens", self.path / f"tokens{x}")
                   for x in range(3)]
        mine, mixed = self.path / "mine", self.path / "mixed"
        for path, order in ((mine, tokens), (mixed, tokens[::-1])):
            path.write_text("".join(f"{server.url} {token}\n" for server, token in zip(servers, order)))
        deployment = self.deploy(servers, 1, "--token-file", mine)
        for over in OVER:
            self.assertEqual(records(look_up(*over, "--token-file", mine, deployment, 7)), [cl.RECORDS[7]])
            for words in ((), ("--token-file", mixed)):
                done = look_up(*over, *words, deployment, 7, code=UNAUTHENTICATED)
                self.assertIn("token", done.stderr)
                self.assertNotIn("s3cret", done.stdout + done.stderr)
        # Freed, they are wiped.
        dump = os.environ.get("PIRX_DUMP_AT_EXIT")
        if dump and "http" not in WITHOUT:
            done = subprocess.run([dump, self.path / "dump", LOOK_UP, "--fetch", "--token-file", mine, deployment, "7"],
                                  capture_output=True, timeout=120)
            if done.returncode != 77:  # The system forbids tracing.
                self.assertIn(cl.RECORDS[7].encode(), done.stdout)
                memory = (self.path / "dump").read_bytes()
                self.assertEqual([memory.count(b"PATH=") > 0, memory.count(b"s3cret")], [True, 0])

    def test_misuse(self):
        deployment = self.deploy(self.serve_several(self.build(), "goldberg", 3), 1)
        done = subprocess.run([MISUSE, deployment], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, "0 failures\n"), done.stderr)


if __name__ == "__main__":
    if sys.argv[5:6] == ["--without"]:
        WITHOUT = sys.argv.pop(6).split(",")
        sys.argv.pop(5)
    if "http" in WITHOUT:
        OVER.pop()
    EXAMPLE, MISUSE, LOOK_UP, cl.PIRX = sys.argv.pop(4), sys.argv.pop(3), sys.argv.pop(2), sys.argv.pop(1)
    unittest.main()
