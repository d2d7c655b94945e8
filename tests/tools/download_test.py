#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The trivial protocol over HTTP: every piece is asked for, all is checked, and a server that damages one byte is caught.

    download_test.py PIRX
"""
import json
import sys
import unittest

import command_line_test as cl


class Download(cl.Servers):
    def serve(self, database, *more):
        return self.start(cl.PIRX, "serve", database, "--protocol", "download", "--listen", "127.0.0.1:0", *more)

    def deploy(self, server, *more, code=0):
        target = self.path / "deployment.json"
        cl.run("deploy", target, "--server", server.url, *more, code=code)
        return target

    def test_by_position(self):
        database = self.build()  # with an index of keys, on whose length the identity depends
        deployment = self.deploy(self.serve(database), "--database", database)
        report = json.loads(cl.run("get", deployment, 3, 499, 3, "--json").stdout)
        self.assertEqual([r["text"] for r in report["records"]], [cl.RECORDS[i] for i in (3, 499, 3)])
        self.assertEqual((report["certainty"], report["proof_bound"]), ("proven", 1))
        # Proven is said of the identity in the file: a report says whether somebody else than the server vouches for that.
        self.assertFalse(report["pinned"])
        self.assertIn("which no publisher signed", cl.run("get", deployment, 3).stderr)
        cl.run("get", deployment, 500, code=3)
        cl.run("get", deployment, 1, "--liars", 1, code=2)
        cl.run("get", deployment, 1, "--seeded", code=2)
        self.assertIn("--max-bytes", cl.run("get", deployment, 1, "--max-bytes", "1KiB", code=6).stderr)

    def test_many_pieces_with_changes_laid_over(self):
        source = self.path / "records"
        size, count = 1000, 12_000  # three pieces of rows
        source.write_bytes(b"".join(i.to_bytes(4, "little") * (size // 4) for i in range(count)))
        database = self.path / "db.pirx"
        cl.run("db", "build", database, source, "--from", "fixed", "--record-bytes", size)
        new = self.path / "new"
        new.write_bytes(b"n" * size)
        cl.run("db", "update", database, "--set", f"9000={new}")
        deployment = self.deploy(self.serve(database))
        report = json.loads(cl.run("get", deployment, 0, 9000, count - 1, "--json").stdout)
        self.assertEqual([bytes.fromhex(r["hex"])[:4] for r in report["records"]],
                         [bytes(4), b"nnnn", (count - 1).to_bytes(4, "little")])
        self.assertGreater(report["servers"][0]["bytes_down"], size * count)

    def test_by_key(self):
        deployment = self.deploy(self.serve(self.build("keyed.pirx", "--keyed")))
        done = cl.run("get", deployment, "--key", "key7", "--key", "nobody", code=3)
        self.assertIn(cl.RECORDS[7], done.stdout)
        self.assertIn("'nobody'", done.stderr)
        # Nobody has to be believed: that a key is missing is proven.
        self.assertIn("proven", done.stderr)

    def test_a_server_that_lies(self):
        server = self.serve(self.build())
        deployment = self.deploy(server)
        content = json.loads(deployment.read_text())
        content["servers"][0]["url"] = self.proxy(server, "lie").url
        deployment.write_text(json.dumps(content))
        cl.run("get", deployment, 3, code=4)

    def test_another_epoch(self):
        database = self.build()
        old = self.deploy(self.serve(database))
        text = old.read_text()
        self.processes.pop().stop()
        server = self.serve(self.build())  # the next epoch
        content = json.loads(text)
        content["servers"][0]["url"] = server.url
        old.write_text(json.dumps(content))
        cl.run("get", old, 3, code=8)

    def test_load(self):
        source = self.path / "records"
        source.write_bytes(bytes(1000 * 5000))
        database = self.path / "db.pirx"
        cl.run("db", "build", database, source, "--from", "fixed", "--record-bytes", 1000)
        server = self.serve(database)
        report = json.loads(cl.run("load", server.url, "--duration", "500ms", "--connections", 2, "--json").stdout)
        self.assertEqual((report["protocol"], report["failed"]), ("download", {}))
        # The checksums and two pieces of rows in turn, not the checksums alone.
        self.assertEqual(report["requests_a_look_up"], 3)
        self.assertGreater(report["bytes_down"], report["sent"] // 3 * 1000 * 5000)
        self.assertIn("3 requests a look-up", cl.run("load", server.url, "--duration", "200ms").stdout)


if __name__ == "__main__":
    cl.PIRX = sys.argv.pop(1)
    unittest.main()
