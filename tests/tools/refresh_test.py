#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pirx deploy --refresh and --wait, and pirx get --refresh: new epochs are taken, and nothing that weakens the file.

    refresh_test.py PIRX
"""
import contextlib
import http.server
import json
import signal
import ssl
import struct
import subprocess
import sys
import threading
import time
import unittest
import urllib.request
from pathlib import Path

import command_line_test as cl


# Any certificate: servers here speak http, and the file must only be one.
CA = ssl.DER_cert_to_PEM_cert(ssl.create_default_context().get_ca_certs(binary_form=True)[0])


@contextlib.contextmanager
def answering(answer, port=0):
    """A server whose answers to GET have the instance and body that answer(path) gives."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            instance, body = answer(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Pirx-Instance", instance)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        server.url = f"http://127.0.0.1:{server.server_port}"
        yield server
        server.shutdown()


class Refresh(cl.Servers):
    def served(self, more=(), count=3):
        database = self.build()
        return database, [self.serve(database, x + 1, *more) for x in range(count)]

    def update(self, database, servers, *words):
        cl.run("db", "update", database, *words)
        self.switch(servers)

    def switch(self, servers):
        for server in servers:
            count = sum('"epoch"' in line and '"event":"epoch"' in line for line in server.log) + 1
            server.child.send_signal(signal.SIGHUP)
            self.event(server, "epoch", count)

    @contextlib.contextmanager
    def stopped(self, server):
        """It takes connections and does not answer."""
        server.child.send_signal(signal.SIGSTOP)
        yield
        server.child.send_signal(signal.SIGCONT)

    def test_what_hides_less_is_not_written_in_silence(self):
        database, servers = self.served(count=6)
        target = self.deploy(servers, 2)
        for words, kept, lost in ((("-t", 2), "--threshold 2", "--threshold 1"), (("-t", 2, "--ramp", 3), "--ramp 3", "--ramp 1")):
            self.deploy(servers, None, *words)
            before = target.read_bytes()
            with self.assertRaises(AssertionError) as refused:
                self.deploy(servers, None, *words[2:4])
            self.assertIn(f"{target} has --threshold 2, which would become 1: give --threshold 2 to keep it, or --threshold 1 if "
                          "that is meant", str(refused.exception))
            with self.assertRaises(AssertionError) as refused:
                self.deploy(servers, None, *(words[:2] if len(words) > 2 else ()))
            self.assertIn(f"has {kept}, which would become 1: give {kept} to keep it, or {lost} if", str(refused.exception))
            self.assertEqual(target.read_bytes(), before)
        self.deploy(servers, None, "-t", 3, "--ramp", 1)  # more than FILE has, and what is said
        self.deploy(servers, 1)
        self.assertEqual(json.loads(target.read_text())["threshold"], 1)

    def test_a_new_epoch_is_taken_and_all_else_stays(self):
        database, servers = self.served(count=4)
        target = self.deploy(servers, 2, "--ramp", 2)
        self.assertIn("up to date: epoch 1", cl.run("deploy", "--refresh", target).stdout)
        before = json.loads(target.read_text())
        self.update(database, servers, "--set", f"17={self.record('changed')}")
        stale = cl.run("get", target, 17, code=8)
        self.assertIn(f"pirx deploy --refresh {target}", stale.stderr)
        done = cl.run("deploy", target, "--refresh")
        self.assertIn("epoch 2, was 1", done.stdout)
        after = json.loads(target.read_text())
        self.assertEqual(after["database"].pop("epoch"), 2)
        self.assertNotEqual(after["database"].pop("identity"), before["database"].pop("identity"))
        before["database"].pop("epoch")
        self.assertNotEqual(after.pop("checksum"), before.pop("checksum"))
        self.assertEqual(after, before)
        self.assertEqual((after["threshold"], after["ramp"]), (2, 2))
        self.assertEqual(cl.run("get", target, 17, "-q").stdout, "changed\n")
        # The digest that is printed is the one to expect, and others are asked, too.
        digest = done.stdout.split()[-1]
        cl.run("deploy", "--refresh", target, "--expect", digest, "--compare", servers[1].url, "--database", database)
        self.assertIn("the digest", cl.run("deploy", "--refresh", target, "--expect", "00" * 32, code=8).stderr)

    def test_get_does_both(self):
        database, servers = self.served()
        target = self.deploy(servers, 1)
        self.update(database, servers, "--set", f"3={self.record('new')}")
        target.chmod(0o600)
        behind = target.rename(target.with_name("behind.json"))
        target.symlink_to("behind.json")
        done = cl.run("get", target, 3, "--refresh")
        self.assertTrue(target.is_symlink())
        target = behind.rename(target)
        self.assertEqual(done.stdout, "new\n")
        self.assertEqual(target.stat().st_mode & 0o777, 0o600)
        self.assertIn(f"{target}: epoch 2 now, was 1; asking again", done.stderr)
        self.assertEqual(cl.run("get", target, 3, "-q").stdout, "new\n")
        done = cl.run("get", target, "--refresh", "--positions", "x", "--key", "a", code=1)
        self.assertIn("excludes", done.stdout + done.stderr)

    def test_what_the_file_vouches_for_is_not_weakened(self):
        database, servers = self.served()
        target = self.deploy(servers, 1)
        self.update(database, servers, "--set", f"3={self.record('new')}")
        text = target.read_text()

        def refused(part, *words, code=8):
            error = cl.run("deploy", "--refresh", target, *words, code=code).stderr
            self.assertIn(part, error)
            self.assertEqual(json.loads(target.read_text()), json.loads(changed))

        def change(function):
            nonlocal changed
            deployment = json.loads(text)
            deployment.pop("checksum")
            function(deployment, deployment["database"])
            changed = json.dumps(deployment)
            target.write_text(changed)

        changed = text
        change(lambda d, db: db.update(epoch=3))
        refused("epoch 2 is older than epoch 3")
        refused("then give --allow-rollback")
        cl.run("deploy", "--refresh", target, "--allow-rollback")
        change(lambda d, db: db.update(epoch=2))  # with the identity of epoch 1
        refused("had other content")
        change(lambda d, db: db.update(records=501))
        refused("fewer than 501")
        change(lambda d, db: d.update(field="gf2_16"))
        refused("says field 'gf2_8' now, not 'gf2_16'", "--allow-rollback")
        refused("pirx deploy FILE --server")

        def swap(d, _):
            d["servers"][0]["coordinate"], d["servers"][1]["coordinate"] = 2, 1

        change(swap)
        refused("coordinate", "--allow-rollback")
        change(lambda d, _: d["servers"].pop())
        cl.run("deploy", "--refresh", target)  # two of the three, as the file says
        self.assertEqual(len(json.loads(target.read_text())["servers"]), 2)
        change(lambda d, _: [d["servers"][i].update(url=f"http://127.0.0.1:{i + 1}") for i in (0, 2)])
        refused("http://127.0.0.1:1 gave no parameters", code=5)  # and one of three is not most of them

    def test_most_servers_decide(self):
        """With t = 2, one that is down, and one that is late or lies, of five stop nobody: but a half is not most."""
        database, servers = self.served(count=5)
        target = self.deploy(servers, 2)
        before = json.loads(target.read_text())
        self.update(database, servers[1:4], "--set", f"3={self.record('new')}")
        servers[4].stop()
        done = cl.run("get", target, 3, "-q", "--refresh")
        self.assertEqual(done.stdout, "new\n")
        for late, why in ((servers[0], "does not serve what"), (servers[4], "gave no parameters")):
            self.assertRegex(done.stderr, f"{late.url}[^\n]* {why}[^\n]*left as it was")
        after = json.loads(target.read_text())
        self.assertEqual(after["servers"], before["servers"])
        self.assertEqual(after["database"]["epoch"], 2)
        # The whole file of each, one of them with the coordinate of another.
        servers[0].stop()
        servers[0] = self.start(cl.PIRX, "serve", database, "--coordinate", 2, "--listen", f"127.0.0.1:{servers[0].port}")
        done = cl.run("deploy", "--refresh", target)
        self.assertIn(f"{servers[0].url} has another coordinate than before", done.stderr)
        self.assertIn("up to date: epoch 2", done.stdout)
        # Two at epoch 2, two at epoch 3, one down.
        servers[0].stop()
        servers[0] = self.start(cl.PIRX, "serve", database, "--coordinate", 1, "--listen", f"127.0.0.1:{servers[0].port}")
        self.update(database, servers[2:4], "--set", f"3={self.record('newer')}")
        self.assertIn("does not serve what", cl.run("deploy", "--refresh", target, code=8).stderr)
        self.assertEqual(json.loads(target.read_text()), after)

    def test_a_liar_does_not_take_another_servers_voice(self):
        """It claims to be another one, which answers later, and says nonsense."""
        database, servers = self.served()

        def ask(path):
            with urllib.request.urlopen(servers[1].url + path) as reply:
                return reply.headers["Pirx-Instance"], reply.read()

        def late(path):
            time.sleep(0.3)
            return ask(path)

        instance, _ = ask("/healthz")
        with answering(late) as far:
            target = self.deploy([servers[0], far, servers[2]], 1)
            servers[0].stop()
            with answering(lambda path: (instance, b"xyz"), servers[0].port):
                done = cl.run("deploy", "--refresh", target)
        self.assertIn("up to date", done.stdout)
        self.assertRegex(done.stderr, f"{servers[0].url}: [^\n]*left as it was")
        self.assertNotIn(far.url, done.stderr)

    def test_most_servers_cannot_make_a_lookup_huge(self):
        _, servers = self.served()
        target = self.deploy(servers, 1)
        text, said = target.read_text(), []
        for server in servers[:2]:
            with urllib.request.urlopen(server.url + "/v1/parameters") as reply:
                told = bytearray(reply.read())
            told[48:56] = struct.pack("<Q", 2)  # the epoch
            told[96:104] = struct.pack("<Q", 1 << 29)  # records, one in a row
            told[112:120] = struct.pack("<Q", 1)
            said.append(bytes(told))
            server.stop()
        with answering(lambda path: ("one", said[0]), servers[0].port), answering(lambda path: ("two", said[1]), servers[1].port):
            self.assertIn("MiB of messages a query now, not 1 MiB", cl.run("deploy", "--refresh", target, code=8).stderr)
        self.assertEqual(target.read_text(), text)

    def test_most_servers_do_not_decide_about_the_shape(self):
        """Three of five lie about nothing else, and answer honestly: or all would be proven unless more than three lied."""
        _, servers = self.served(count=5)
        for t, epoch, why in ((1, 2, "does not serve what"), (2, 1, "epoch 1 had other content or parameters before")):
            target = self.deploy(servers, t)
            content = json.loads(target.read_text())
            with contextlib.ExitStack() as stack:
                for server, said in zip(servers[:3], content["servers"]):
                    with urllib.request.urlopen(server.url + "/v1/parameters") as reply:
                        told = bytearray(reply.read())
                    told[48:56] = struct.pack("<Q", epoch)
                    told[96:104] = struct.pack("<Q", 2 * struct.unpack_from("<Q", told, 96)[0])  # records
                    told[112:120] = struct.pack("<Q", 2 * struct.unpack_from("<Q", told, 112)[0])  # in each row
                    liar = stack.enter_context(answering(lambda path, told=bytes(told), url=server.url: (url, told)))
                    said["url"] = liar.url
                target.write_text(json.dumps(content))
                self.assertIn(why, cl.run("deploy", "--refresh", target, code=8).stderr)
            self.assertEqual(json.loads(target.read_text()), content)

    def test_what_a_server_says_is_no_mistake_of_the_caller(self):
        """Parameters that this pirx cannot use, from one of two servers. Both must agree."""
        database, servers = self.served(count=2)
        target = self.deploy(servers, 1)
        text = target.read_text()
        with urllib.request.urlopen(servers[0].url + "/v1/parameters") as reply:
            told = reply.read()
        alone = self.start(cl.PIRX, "serve", database, "--protocol", "download", "--listen", "127.0.0.1:0")
        with urllib.request.urlopen(alone.url + "/v1/parameters") as reply:
            of_one = reply.read()
        servers[0].stop()

        def changed(at, value):
            return told[:at] + bytes([value]) + told[at + 1:]

        for said, code, why in ((changed(4, 99), 4, "message format 99 is unknown"),
                                (changed(7, 99), 4, "none of the protocols known here"),
                                (changed(12, told[12] ^ 6), 4, "field"),
                                (of_one, 8, "serves by download now, which needs one server")):
            with answering(lambda path, said=said: ("one", said), servers[0].port):
                self.assertIn(why, cl.run("deploy", "--refresh", target, code=code).stderr)
            self.assertEqual(target.read_text(), text)

    def test_another_kind_of_database(self):
        database, servers = self.served()
        target = self.deploy(servers, 1)
        for server in servers:
            server.stop()
        source = self.path / "records.jsonl"
        for words, part in ((("--keyed",), "by key now, not by position"), (("--no-digests",), "no digests")):
            other = self.path / f"other{len(words[0])}.pirx"
            cl.run("db", "build", other, source, "--key", "k", "--value", "v", *words, "--epoch", 2)
            there = [self.start(cl.PIRX, "serve", other, "--coordinate", x + 1, "--listen", f"127.0.0.1:{s.port}")
                     for x, s in enumerate(servers)]
            text = target.read_text()
            self.assertIn(part, cl.run("deploy", "--refresh", target, "--allow-rollback", code=8).stderr)
            self.assertEqual(target.read_text(), text)
            for server in there:
                server.stop()

    def test_several_protocols_and_a_folder_of_its_own(self):
        database, servers = self.served()
        whole = self.start(cl.PIRX, "serve", database, "--protocol", "download", "--listen", "127.0.0.1:0")
        (self.path / "sub").mkdir()
        target = self.deploy(servers, 1, name="sub/two.json")
        cl.run("deploy", target, "--add", "--server", whole.url)
        # A name relative to the file stays so.
        (self.path / "sub" / "ca.pem").write_text(CA)
        deployment = json.loads(target.read_text())
        deployment["deployments"][0]["servers"][0]["ca_file"] = "ca.pem"
        target.write_text(json.dumps(deployment))
        self.update(database, servers, "--set", f"3={self.record('new')}")
        behind = cl.run("deploy", "--refresh", "sub/two.json", code=8, cwd=self.path).stderr
        self.assertIn("not at one epoch", behind)
        # Servers of another protocol that are late or gone keep nobody from a record; the file stays.
        before = target.read_text()
        late = cl.run("get", target, 3, "-q", "--protocol", "goldberg", "--refresh")
        self.assertEqual(late.stdout, "new\n")
        self.assertRegex(late.stderr, "two.json stays as it is: .* not at one epoch")
        with self.stopped(whole):
            gone = cl.run("get", target, 3, "-q", "--protocol", "goldberg", "--refresh", "--deadline", "2s")
            self.assertEqual(gone.stdout, "new\n")
            self.assertIn("two.json stays as it is: ", gone.stderr)
        self.switch([whole])
        cl.run("deploy", "--refresh", "sub/two.json", cwd=self.path)
        after = json.loads(target.read_text())["deployments"]
        self.assertEqual([d["protocol"] for d in after], ["goldberg", "download"])
        self.assertEqual(after[0]["servers"][0]["ca_file"], "ca.pem")
        for protocol in ("goldberg", "download"):
            self.assertEqual(cl.run("get", target, 3, "-q", "--protocol", protocol).stdout, "new\n")
        digest = cl.run("deploy", "--refresh", target).stdout.split()[-4]  # of the first
        self.assertIn("several protocols", cl.run("deploy", "--refresh", target, "--expect", digest, code=2).stderr)
        # A single server that the others contradict is not believed.
        before = target.read_text()
        cl.run("db", "update", database, "--set", f"3={self.record('newer')}")
        self.switch([whole])
        alone = cl.run("get", target, 3, "--protocol", "download", "--refresh", code=8)
        self.assertIn("not at one epoch", alone.stderr)
        self.assertEqual(target.read_text(), before)

    def test_words_that_do_not_go_together(self):
        target = self.path / "none.json"
        self.assertIn("none.json", cl.run("deploy", "--refresh", target, code=5).stderr)
        self.assertIn("--server (or --refresh)", cl.run("deploy", target, code=1).stderr)
        for words in (("--server", "http://127.0.0.1:1"), ("--add",), ("--force",), ("-t", 1), ("--ramp", 2),
                      ("--ca", "x"), ("--ca-file", "x"), ("--allow-plaintext",), ("--tls-1.2",)):
            self.assertIn("excludes", cl.run("deploy", "--refresh", target, *words, code=1).stderr)

    def test_wait_for_servers_that_start(self):
        database, servers = self.served()
        late = servers[2]
        late.stop()
        words = ("deploy", self.path / "x.json", *(w for s in servers for w in ("--server", s.url)))
        self.assertIn("gave no parameters", cl.run(*words, "--wait", "150ms", code=5).stderr)
        child = subprocess.Popen([cl.PIRX, *map(str, words), "--wait", "60s"], stderr=subprocess.PIPE, text=True)
        self.assertIn(f"waiting for {late.url}", child.stderr.readline())
        self.start(cl.PIRX, "serve", database, "--coordinate", 3, "--listen", f"127.0.0.1:{late.port}")
        self.assertEqual(child.wait(timeout=60), 0)
        child.stderr.close()


if __name__ == "__main__":
    cl.PIRX = str(Path(sys.argv.pop(1)).resolve())  # which is run in other folders, too
    unittest.main()
