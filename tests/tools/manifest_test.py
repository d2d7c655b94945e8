#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manifests by real programs: a publisher signs, servers serve, clients pin the publisher; and servers that lie about the
database, its parameters or its epoch.

    manifest_test.py PIRX
"""
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import command_line_test as cl
from single_server_test import Between, ask

STALE, UNAUTHENTICATED, LOSS, WRONG = 8, 7, 4, 2


class Front(Between):
    """A server that answers as another one does, but for the paths in `lies`: bytes, or None for what is not there. A reply
    for a path in `holds` comes late."""

    def __init__(self, upstream):
        self.port, self.lies = upstream.port, {}
        self.holds = {}  # path: an event that the next reply waits for, once it has been made
        self.held = threading.Event()
        super().__init__()

    def say(self, path, body):
        status, error, reply = ask(self.port, body, path, "GET" if body is None else "POST")
        if path in self.lies:
            status, error, reply = 200, None, self.lies[path]
        if hold := self.holds.pop(path, None):
            self.held.set()
            hold.wait(60)
        return (404, "OutOfRange", b"") if reply is None else (status, error, reply)


def flipped(message, bit):
    changed = bytearray(message)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


class Manifests(cl.Servers):
    def setUp(self):
        super().setUp()
        self.key = self.path / "publisher.key"
        self.publisher = cl.run("manifest", "key", self.key).stdout.split()[-1]
        self.pin = f"{self.publisher}:lists"
        self.target = self.path / "deployment.json"

    def sign(self, database, *more, out="manifest", key=None, name="lists"):
        manifest = self.path / out
        cl.run("manifest", "sign", database, "--key", key or self.key, "--name", name, "--out", manifest, *more)
        return manifest

    def serve(self, database, *more):
        return self.start(cl.PIRX, "serve", database, "--listen", "127.0.0.1:0", *more)

    def front(self, server):
        front = Front(server)
        self.processes.append(front)
        return front

    def deploy(self, servers, *more, code=0):
        urls = [word for server in servers for word in ("--server", server.url)]
        return cl.run("deploy", self.target, *urls, "--manifest", self.pin, *more, code=code)

    def ask(self, server, what):
        status, _, reply = ask(int(server.url.rsplit(":", 1)[1]), None, f"/v1/{what}", "GET")
        self.assertEqual(status, 200)
        return reply

    def other_database(self, name, records):
        return self.build(f"{name}.pirx", records=records)

    def refused(self, part, *words, code=STALE):
        before = self.target.read_text() if self.target.exists() else None
        done = cl.run(*words, code=code)
        self.assertIn(part, done.stderr)
        self.assertEqual(self.target.read_text() if self.target.exists() else None, before)

    def test_keys_and_files(self):
        self.assertEqual(self.key.stat().st_mode & 0o777, 0o600)
        public = self.path / "publisher.key.pub"
        self.assertEqual(public.read_text(), self.publisher + "\n")
        self.assertIn("exists", cl.run("manifest", "key", self.key, code=WRONG).stderr)
        # A run that was cut short wrote the key alone; no key is written over.
        secret = self.key.read_text()
        public.unlink()
        self.assertIn("there was a key", cl.run("manifest", "key", self.key).stdout)
        self.assertEqual((self.key.read_text(), public.read_text()), (secret, self.publisher + "\n"))
        (self.path / "mine").write_text("mine")
        (self.path / "mine").chmod(0o600)
        cl.run("manifest", "key", self.path / "mine", code=WRONG)
        self.assertEqual((self.path / "mine").read_text(), "mine")
        database = self.build()
        manifest = self.sign(database)
        shown = cl.run("manifest", "show", manifest, "--publisher", public, "--database", database).stdout
        self.assertIn("the signature is right", shown)
        self.assertIn("goldberg", shown)
        once = manifest.read_bytes()
        self.assertEqual(self.sign(database).read_bytes(), once)
        (self.path / "link").symlink_to("manifest")
        self.assertTrue(self.sign(database, out="link").is_symlink())
        # Other servers of the same epoch.
        self.sign(database, "--protocol", "download", "--add")
        self.sign(database, "--protocol", "download", "--add")
        self.assertEqual(cl.run("manifest", "show", manifest).stdout.count("parameters "), 2)
        cl.run("db", "update", database, "--set", f"3={self.record('three')}")
        sign = ("manifest", "sign", database, "--name", "lists", "--out", manifest)
        wrong = cl.run(*sign, "--key", self.key, "--add", code=WRONG)
        self.assertIn("sign without --add", wrong.stderr)
        for precious in (database, self.key):
            before = Path(precious).read_bytes()
            lost = cl.run("manifest", "sign", database, "--name", "lists", "--key", self.key, "--out", precious, code=WRONG)
            self.assertIn("is no manifest", lost.stderr)
            self.assertEqual(Path(precious).read_bytes(), before)
        self.assertIn("for epoch 1, not for epoch 2",
                      cl.run("manifest", "show", manifest, "--database", database, code=STALE).stderr)
        other = self.path / "other.key"
        cl.run("manifest", "key", other)
        cl.run("manifest", "show", manifest, "--publisher", f"{other}.pub", code=UNAUTHENTICATED)
        cl.run("manifest", "show", manifest, "--publisher", "00" * 32, code=WRONG)
        # Digits are the key, whoever puts a file of that name there.
        (self.path / self.publisher).write_text(Path(f"{other}.pub").read_text())
        cl.run("manifest", "show", manifest, "--publisher", self.publisher, cwd=self.path)
        cl.run("manifest", "show", manifest, "--publisher", f"./{self.publisher}", cwd=self.path, code=UNAUTHENTICATED)
        cl.run("manifest", "show", database, code=LOSS)
        os.mkfifo(self.path / "pipe")  # reading it would never end
        self.assertIn("no", cl.run("manifest", "show", self.path / "pipe", code=5).stderr)
        # A slip of the publisher is found before a manifest is lost by it.
        before = manifest.read_bytes()
        for key, name, out, part in ((other, "lists", manifest, f"is the manifest of {self.pin}"),
                                     (self.key, "packages", manifest, f"is the manifest of {self.pin}"),
                                     (self.key, "a:b", self.path / "new", "no name of a database")):
            wrong = cl.run("manifest", "sign", database, "--out", out, "--key", key, "--name", name, code=WRONG)
            self.assertIn(part, wrong.stderr)
        self.assertEqual(manifest.read_bytes(), before)
        # So is a second content of an epoch, or an epoch that goes back: it can be written to another file.
        before = self.sign(database).read_bytes()
        for epoch, part in ((2, "another content of epoch 2"), (1, "the later epoch 2"), (3, None)):
            other_content = self.path / f"epoch{epoch}.pirx"
            cl.run("db", "build", other_content, self.record("a\nb\n"), "--from", "lines", "--epoch", epoch)
            for more in ((), ("--add",)) if part else ():
                wrong = cl.run("manifest", "sign", other_content, "--out", manifest, "--key", self.key, "--name", "lists",
                               *more, code=WRONG)
                self.assertIn(part, wrong.stderr)
                self.assertIn("a later epoch than 2 (pirx db build --epoch)", wrong.stderr)
                self.assertEqual(manifest.read_bytes(), before)
            self.sign(other_content, out=f"epoch{epoch}.manifest" if part else "manifest")
        for mode in (0o644, 0o640):
            self.key.chmod(mode)
            self.assertIn("chmod 600", cl.run(*sign, "--key", self.key, code=WRONG).stderr)
        # Nobody signs what is damaged.
        content = bytearray(database.read_bytes())
        content[5000] ^= 1
        database.write_bytes(content)
        cl.run("manifest", "sign", database, "--key", other, "--name", "lists", code=LOSS)

    def test_another_database_of_the_publisher(self):
        """One key signs two databases, and the server of one gives the other, whose epoch is later."""
        lists, packages = (self.other_database(name, [f"{name} {i}" for i in range(40)]) for name in ("lists", "packages"))
        cl.run("db", "update", packages, "--set", f"3={self.record('three')}")
        asked = self.serve(lists, "--protocol", "download",
                           "--manifest", self.sign(lists, "--protocol", "download", out="of_lists"))
        other = self.serve(packages, "--protocol", "download", "--manifest",
                           self.sign(packages, "--protocol", "download", out="of_packages", name="packages"))
        liar = self.front(asked)
        self.deploy([liar])
        for what in ("manifest", "parameters"):
            liar.lies[f"/v1/{what}"] = self.ask(other, what)
        swapped = "for the database 'packages', not for 'lists'"
        self.refused(swapped, "deploy", "--refresh", self.target, "--allow-rollback", code=UNAUTHENTICATED)
        again = ("deploy", self.target, "--server", liar.url, "--manifest")
        self.refused(swapped, *again, self.pin, code=UNAUTHENTICATED)
        # Nor does the file change which database it pins.
        self.refused("pins a publisher", *again, f"{self.publisher}:packages", code=UNAUTHENTICATED)
        self.target.unlink()
        self.refused(swapped, *again, self.pin, code=UNAUTHENTICATED)  # a new client
        self.refused("write KEY:NAME", *again, self.publisher, code=WRONG)
        self.refused("write KEY:NAME", *again, f"{self.key}.pub", code=WRONG)
        self.refused("64 hexadecimal digits", *again, "no-such-file:lists", code=WRONG)
        cl.run(*again, f"{self.publisher}:packages")
        self.target.unlink()
        cl.run(*again, f"{self.key}.pub:packages")
        self.assertEqual(json.loads(self.target.read_text())["publisher"], f"{self.publisher}:packages")

    def test_two_at_a_time(self):
        """Who comes back late does not undo what another one wrote to the file meanwhile."""
        database = self.build()
        manifest = self.sign(database, "--protocol", "download")
        upstream = self.serve(database, "--protocol", "download", "--manifest", manifest)
        front = self.front(upstream)
        said = {}
        for epoch in (1, 2, 3):
            if epoch > 1:
                cl.run("db", "update", database, "--set", f"3={self.record(str(epoch))}")
                self.sign(database, "--protocol", "download")
                upstream.child.send_signal(signal.SIGHUP)
                self.event(upstream, "epoch", epoch - 1)
            said[epoch] = {f"/v1/{what}": self.ask(upstream, what) for what in ("parameters", "manifest")}

        def late(page, epoch, meanwhile, code):
            """`deploy --refresh` is told of an epoch, and waits for this page while another program runs."""
            front.lies.update(said[epoch])
            go_on = front.holds[page] = threading.Event()
            front.held.clear()
            with subprocess.Popen([cl.PIRX, "deploy", "--refresh", str(self.target)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as child:
                self.assertTrue(front.held.wait(60))
                meanwhile()
                before = self.target.read_text()
                go_on.set()
                _, errors = child.communicate(timeout=60)
            self.assertEqual((child.returncode, "changed by another program meanwhile" in errors), (code, code != 0), errors)
            self.assertEqual(self.target.read_text(), before)

        def refreshed(epoch):
            front.lies.update(said[epoch])
            self.assertIn(f"epoch {epoch}, was", cl.run("deploy", "--refresh", self.target).stdout)

        front.lies.update(said[1])
        self.deploy([front])
        late("/v1/manifest", 2, lambda: refreshed(3), STALE)
        self.assertEqual(json.loads(self.target.read_text())["database"]["epoch"], 3)
        # The same epoch was found by both.
        front.lies.update(said[1])
        self.target.unlink()
        self.deploy([front])
        late("/v1/manifest", 2, lambda: refreshed(2), 0)
        # Nobody was pinned when it began.
        self.target.unlink()
        front.lies.update(said[1])
        cl.run("deploy", self.target, "--server", front.url)
        late("/v1/parameters", 2, lambda: self.deploy([front]), STALE)
        self.assertEqual(json.loads(self.target.read_text())["publisher"], self.pin)
        # Who has the folder's lock is waited for.
        front.lies.update(said[3])
        folder = os.open(self.path, os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        with subprocess.Popen([cl.PIRX, "deploy", "--refresh", str(self.target)], stdout=subprocess.PIPE) as child:
            with self.assertRaises(subprocess.TimeoutExpired):
                child.wait(1)
            self.assertEqual(json.loads(self.target.read_text())["database"]["epoch"], 2)
            os.close(folder)
            child.communicate(timeout=60)
            self.assertEqual(child.returncode, 0)
        self.assertEqual(json.loads(self.target.read_text())["database"]["epoch"], 3)

    def test_what_is_signed_or_made_meanwhile_stays(self):
        database = self.build()
        next_epoch = self.path / "next.pirx"
        cl.run("db", "build", next_epoch, self.record("a\nb\n"), "--from", "lines", "--epoch", 2)
        manifest = self.sign(database)

        def meanwhile(make, code, *words):
            """Runs the command; once it waits for the folder's lock, somebody else is done."""
            folder = os.open(self.path, os.O_RDONLY)
            fcntl.flock(folder, fcntl.LOCK_EX)
            with subprocess.Popen([cl.PIRX, "manifest", *map(str, words)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as child:
                with self.assertRaises(subprocess.TimeoutExpired):
                    child.wait(2)
                make()
                os.close(folder)
                _, error = child.communicate(timeout=60)
                self.assertEqual(child.returncode, code, error)
                return error

        sign = ("sign", database, "--key", self.key, "--name", "lists", "--out", manifest)
        both = self.sign(database, "--protocol", "chor", out="both")
        self.sign(database, "--protocol", "goldberg", "--add", out="both")
        meanwhile(lambda: manifest.write_bytes(both.read_bytes()), 0, *sign, "--protocol", "download", "--add")
        self.assertEqual(cl.run("manifest", "show", manifest).stdout.count("parameters "), 3)
        newer = self.sign(next_epoch, out="newer").read_bytes()
        self.assertIn("for the later epoch 2", meanwhile(lambda: manifest.write_bytes(newer), WRONG, *sign))
        self.assertEqual(manifest.read_bytes(), newer)
        fresh = self.path / "fresh.key"
        self.assertIn("exists", meanwhile(lambda: fresh.write_text("another's"), WRONG, "key", fresh))
        self.assertEqual(fresh.read_text(), "another's")

    def test_every_kind_of_protocol(self):
        keyed = self.build("keyed.pirx", "--keyed", records=cl.RECORDS[:60])
        plain = self.other_database("plain", cl.RECORDS[:60])
        for protocol, count, database in (("goldberg", 3, plain), ("chor", 2, plain), ("dpf", 2, keyed),
                                          ("spiral", 1, plain), ("download", 1, keyed)):
            with self.subTest(protocol=protocol):
                manifest = self.sign(database, "--protocol", protocol, out=f"{protocol}.manifest")
                servers = [self.serve(database, "--protocol", protocol, "--manifest", manifest,
                                      *(("--coordinate", i + 1) if count > 1 else ())) for i in range(count)]
                self.target.unlink(missing_ok=True)
                self.deploy(servers, *(("-t", 1) if protocol == "goldberg" else ()))
                deployment = json.loads(self.target.read_text())
                self.assertEqual(deployment["publisher"], self.pin)
                self.assertEqual(bytes.fromhex(deployment["manifest"]), manifest.read_bytes())
                wanted = ("--key", "key3", "--key", "key50") if database == keyed else (3, 50)
                found = json.loads(cl.run("get", self.target, *wanted, "--json").stdout)
                self.assertTrue(found["pinned"])
                if protocol == "download":
                    self.assertIn("which its publisher signed", cl.run("get", self.target, *wanted).stderr)
                self.assertEqual([r["text"] for r in found["records"]], [cl.RECORDS[3], cl.RECORDS[50]])
                self.assertIn("up to date", cl.run("deploy", "--refresh", self.target).stdout)
                # A file that says something else than its manifest is no deployment.
                if "database" in deployment:
                    deployment["database"]["epoch"] = 2
                    deployment.pop("checksum", None)
                    self.target.write_text(json.dumps(deployment))
                    self.refused("for epoch 1, not for epoch 2", "get", self.target, *wanted)
                for server in servers:
                    server.stop()

    def test_servers_that_lie(self):
        database = self.build()
        manifest = self.sign(database)
        honest = [self.serve(database, "--coordinate", x, "--manifest", manifest) for x in (1, 2)]
        upstream = self.serve(database, "--coordinate", 3, "--manifest", manifest)
        liar = self.front(upstream)
        servers = [*honest, liar]
        words = ["deploy", self.target, "--manifest", self.pin, "-t", 1]
        for server in servers:
            words += ["--server", server.url]
        signed = manifest.read_bytes()

        def both(part, code):
            """All servers of a first deployment must be honest. At the next epoch one of three is left as it was."""
            self.target.unlink(missing_ok=True)
            self.refused(part, *words, code=code)
            self.target.write_text(good)
            done = cl.run("deploy", "--refresh", self.target)
            self.assertIn(part, done.stderr)
            self.assertIn("up to date", done.stdout)
            self.assertEqual(self.target.read_text(), good)

        cl.run(*words)
        good = self.target.read_text()
        liar.lies["/v1/manifest"] = None
        both("gave no manifest of the publisher", UNAUTHENTICATED)
        liar.lies["/v1/manifest"] = b""
        both("manifest", UNAUTHENTICATED)
        for bit in range(5, 8 * len(signed), 401):
            liar.lies["/v1/manifest"] = flipped(signed, bit)
            both("manifest", UNAUTHENTICATED)
        liar.lies["/v1/manifest"] = signed + b"\0"
        both("manifest", UNAUTHENTICATED)
        other = self.path / "other.key"
        cl.run("manifest", "key", other)
        liar.lies["/v1/manifest"] = self.sign(database, out="theirs", key=other).read_bytes()
        both(f"not by the publisher {self.publisher}", UNAUTHENTICATED)
        del liar.lies["/v1/manifest"]
        cl.run(*words)

    def test_one_server_alone(self):
        """It cannot fork, shrink or tag: it has what the publisher signed, or is found out."""
        database = self.build()
        manifest = self.sign(database, "--protocol", "download")
        upstream = self.serve(database, "--protocol", "download", "--manifest", manifest)
        liar = self.front(upstream)
        self.deploy([liar])
        good = self.target.read_text()

        def parameters_of(name, records, *more):
            theirs = self.other_database(name, records)
            server = self.serve(theirs, "--protocol", "download", *more)
            liar.lies["/v1/parameters"] = self.ask(server, "parameters")
            server.stop()

        def found_out(part):
            self.target.write_text(good)
            self.refused(part, "deploy", "--refresh", self.target, "--allow-rollback")
            self.target.unlink()
            urls = ("--server", liar.url, "--manifest", self.pin)
            self.refused(part, "deploy", self.target, *urls)
            self.target.write_text(good)

        parameters_of("forked", [*cl.RECORDS[:17], "forged", *cl.RECORDS[18:]])
        found_out("another content of epoch 1")
        parameters_of("shrunk", cl.RECORDS[:400])
        found_out("another content of epoch 1")
        # A tag: an epoch of this client's own.
        tagged = bytearray(self.ask(upstream, "parameters"))
        at = tagged.index(bytes.fromhex(json.loads(good)["database"]["identity"])) + 32
        self.assertEqual(tagged[at], 1)
        tagged[at] = 2
        liar.lies["/v1/parameters"] = bytes(tagged)
        found_out("for epoch 1, not for epoch 2")
        del liar.lies["/v1/parameters"]
        cl.run("deploy", "--refresh", self.target)

        # An epoch that was signed once does not come back.
        old = manifest.read_bytes(), self.ask(upstream, "parameters")
        cl.run("db", "update", database, "--set", f"3={self.record('three')}")
        self.sign(database, "--protocol", "download")
        upstream.child.send_signal(signal.SIGHUP)
        self.event(upstream, "epoch")
        self.assertEqual(cl.run("get", self.target, 3, "-q", "--refresh").stdout, "three\n")
        liar.lies["/v1/manifest"], liar.lies["/v1/parameters"] = old
        self.refused("epochs never go back", "deploy", "--refresh", self.target, "--allow-rollback")
        self.refused("epochs never go back", "deploy", self.target, "--server", liar.url, "--manifest", self.pin,
                     "--allow-rollback")

    def test_parameters_that_nobody_signed(self):
        """The same database, but a plan of this client's own."""
        database = self.other_database("small", cl.RECORDS[:60])
        manifest = self.sign(database, "--protocol", "qr", "--modulus", 2048)
        upstream = self.serve(database, "--protocol", "qr", "--modulus", 2048, "--manifest", manifest)
        liar = self.front(upstream)
        self.deploy([liar])
        other = self.serve(database, "--protocol", "qr", "--modulus", 3072)
        liar.lies["/v1/parameters"] = self.ask(other, "parameters")
        self.refused("other parameters of protocol qr", "deploy", "--refresh", self.target, "--allow-rollback")
        deployment = json.loads(self.target.read_text())
        deployment["modulus_bits"] = 3072
        self.target.write_text(json.dumps(deployment))
        self.refused("other parameters of protocol qr", "get", self.target, 3)
        # Such a server does not even start with that manifest.
        done = cl.run("serve", database, "--protocol", "qr", "--modulus", 3072, "--manifest", manifest, code=STALE)
        self.assertIn("other parameters of protocol qr", done.stderr)

    def test_a_pin_stays(self):
        database = self.build()
        manifest = self.sign(database)
        servers = [self.serve(database, "--coordinate", x, "--manifest", manifest) for x in (1, 2)]
        self.deploy(servers)
        urls = [word for server in servers for word in ("--server", server.url)]
        self.refused("pins a publisher", "deploy", self.target, *urls, code=UNAUTHENTICATED)
        self.refused("pins a publisher", "deploy", self.target, *urls, "--allow-rollback", code=UNAUTHENTICATED)
        whole = self.serve(database, "--protocol", "download")
        self.refused("pins a publisher", "deploy", self.target, "--add", "--server", whole.url, code=UNAUTHENTICATED)
        text = self.target.read_text()
        deployment = json.loads(text)
        for member, part in (("manifest", "is missing, but a publisher is pinned"),
                             ("publisher", "without a 'publisher'")):
            less = {name: value for name, value in deployment.items() if name != member}
            self.target.write_text(json.dumps(less))
            self.refused(part, "get", self.target, 3, code=LOSS)
        # A file that cannot be read pins nothing any more, and nobody loses that by an advice.
        for word in ("epoch", "publisher"):
            self.target.write_text(text.replace(f'"{word}"', f'"{word[1:]}"', 1))
            self.refused("restore it from a copy", "deploy", self.target, *urls, code=WRONG)
            self.assertIn("are lost (--manifest", cl.run("deploy", self.target, *urls, "--force").stderr)
            self.assertNotIn("publisher", json.loads(self.target.read_text()))
        self.target.write_text(text)
        # Both protocols of one publisher.
        self.sign(database, "--protocol", "download", "--add")
        for server in servers:  # which take the new manifest of the same epoch
            server.child.send_signal(signal.SIGHUP)
            self.event(server, "manifest")
        whole.stop()
        whole = self.serve(database, "--protocol", "download", "--manifest", manifest)
        cl.run("deploy", self.target, "--add", "--server", whole.url, "--manifest", f"{self.key}.pub:lists")
        for protocol in ("goldberg", "download"):
            self.assertEqual(cl.run("get", self.target, 3, "-q", "--protocol", protocol).stdout, cl.RECORDS[3] + "\n")

    def test_a_server_waits_for_the_manifest_of_its_epoch(self):
        database = self.build()
        manifest = self.sign(database)
        config = self.path / "servers.json"
        config.write_text(json.dumps({"listen": "127.0.0.1:0", "databases": [
            {"name": "a", "file": database.name, "coordinate": 1, "manifest": manifest.name},
            {"name": "b", "file": database.name, "coordinate": 2}]}))
        server = self.start(cl.PIRX, "serve", "--config", config)
        watching = self.start(cl.PIRX, "serve", "--config", config, "--watch", "50ms")
        self.assertEqual(self.ask(server, "db/a/manifest"), manifest.read_bytes())
        status, error, _ = ask(server.port, None, "/v1/db/b/manifest", "GET")
        self.assertEqual((status, error), (404, "OutOfRange"))
        cl.run("db", "update", database, "--set", f"3={self.record('three')}")
        server.child.send_signal(signal.SIGHUP)
        refused = self.event(server, "epoch_refused")
        self.assertIn("for epoch 1, not for epoch 2", refused["reason"])
        self.assertEqual(self.ask(server, "db/a/manifest"), manifest.read_bytes())
        self.event(watching, "epoch_refused")
        self.sign(database)
        self.event(watching, "epoch", 2)
        server.child.send_signal(signal.SIGHUP)
        self.event(server, "epoch", 2)  # that of b was the first
        self.assertEqual(self.ask(server, "db/a/manifest"), manifest.read_bytes())
        self.assertIn("with --config",
                      cl.run("serve", "--config", config, "--manifest", manifest, code=WRONG).stderr)


if __name__ == "__main__":
    cl.PIRX = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
