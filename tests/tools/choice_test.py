#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A deployment file that names several protocols of one database: pirx deploy --add writes it, and pirx get chooses the
fastest over the link that it is told of, or takes the protocol that it is told.

    choice_test.py PIRX
"""
import json
import sys
import unittest

import command_line_test as cl


class Choice(cl.Servers):
    def serve(self, database, protocol, *more):
        server = self.start(cl.PIRX, "serve", database, "--protocol", protocol, "--listen", "127.0.0.1:0", *more)
        return ["--server", server.url]

    def deployed(self, database):
        """Three protocols in a file."""
        target = self.path / "deployment.json"
        several = [word for x in (1, 2, 3) for word in self.serve(database, "goldberg", "--coordinate", x)]
        cl.run("deploy", target, *several)
        cl.run("deploy", target, "--add", *self.serve(database, "spiral"))
        cl.run("deploy", target, "--add", *self.serve(database, "download"))
        return target

    def test_the_fastest_over_the_link_is_used(self):
        target = self.deployed(self.build())
        content = json.loads(target.read_text())
        self.assertEqual([one["protocol"] for one in content["deployments"]], ["goldberg", "spiral", "download"])
        for link, chosen, servers in ((["--down", "10k"], "goldberg", 3), (["--down", "10G", "--up", "1k"], "download", 1)):
            done = cl.run("get", target, 3, 499, *link)
            self.assertEqual(done.stdout, f"{cl.RECORDS[3]}\n{cl.RECORDS[499]}\n")
            self.assertRegex(done.stderr, f"using the first of these, by a rough model of this link: {chosen} [0-9.e+-]+ s, ")
            self.assertEqual(len(json.loads(cl.run("get", target, 3, *link, "--json").stdout)["servers"]), servers)
        self.assertNotIn("using", cl.run("get", target, 3, "-q").stderr)

    def test_a_protocol_can_be_named(self):
        target = self.deployed(self.build())
        done = cl.run("get", target, 3, "--protocol", "spiral")
        self.assertEqual(done.stdout, cl.RECORDS[3] + "\n")
        self.assertNotIn("using", done.stderr)
        refused = cl.run("get", target, 3, "--protocol", "chor", code=2)
        self.assertIn("goldberg, spiral, download, not chor", refused.stderr)

    def test_what_cannot_be_done_is_left_out(self):
        target = self.deployed(self.build())
        fast = ["--down", "10G", "--up", "1k"]  # for the download
        for words, why in ((["--liars", 0], "download: --liars"), (["--seeded"], "download has no option 'seeded'"),
                           (["--max-bytes", "4KiB"], "spiral: this plan asks")):
            done = cl.run("get", target, 3, *fast, *words)
            self.assertRegex(done.stderr, "this link: goldberg ")
            self.assertIn(why, done.stderr)
        report = json.loads(cl.run("get", target, 3, *fast, "--json").stdout)
        self.assertEqual(report["protocol"], "download")
        done = cl.run("get", target, *([3] * 257), code=2)
        self.assertIn("no protocol of the deployment file can do this", done.stderr)
        self.assertIn("1 to 256 records", done.stderr)

    def test_the_next_epoch(self):
        database = self.build()
        target = self.deployed(database)
        new = self.path / "new"
        new.write_text("new")
        cl.run("db", "update", database, "--set", f"3={new}")
        done = cl.run("deploy", target, "--add", *self.serve(database, "download"))
        self.assertIn("no longer names: goldberg, spiral, which it named for an older epoch: add them again", done.stderr)
        cl.run("deploy", target, "--add", *self.serve(database, "spiral"))
        self.assertEqual(cl.run("get", target, 3, "--protocol", "spiral", "-q").stdout, "new\n")
        self.assertEqual(cl.run("get", target, 3, "--protocol", "download", "-q").stdout, "new\n")

    def test_a_server_by_a_config_file(self):
        database = self.build()
        target = self.deployed(database)
        config = self.path / "serve.json"
        entry = {"name": "db", "file": str(database), "deployment": str(target), "server": 0}
        for protocol, code in ((None, 2), ("chor", 2)):
            config.write_text(json.dumps({"listen": "127.0.0.1:0", "databases": [{**entry, **({"protocol": protocol} if protocol else {})}]}))
            done = cl.subprocess.run([cl.PIRX, "serve", "--config", config], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("goldberg, spiral, download", done.stderr)
        config.write_text(json.dumps({"listen": "127.0.0.1:0", "databases": [{**entry, "protocol": "download"}]}))
        server = self.start(cl.PIRX, "serve", "--config", config)
        self.assertIn("download", cl.run("deploy", self.path / "other.json", "--server", server.url).stdout)

    def test_a_protocol_is_replaced_by_itself(self):
        database = self.build()
        target = self.deployed(database)
        cl.run("deploy", target, "--add", *self.serve(database, "download"))
        names = [one["protocol"] for one in json.loads(target.read_text())["deployments"]]
        self.assertEqual(names, ["goldberg", "spiral", "download"])
        done = cl.run("deploy", target, *self.serve(database, "download"))  # without --add it is alone
        self.assertIn("no longer names: goldberg, spiral (--add keeps other protocols)", done.stderr)
        self.assertEqual(json.loads(target.read_text())["protocol"], "download")

    def test_another_database_is_refused(self):
        target = self.deployed(self.build())
        before = target.read_text()
        source = self.path / "others"
        source.write_bytes(b"x" * 40 * 600)
        other = self.path / "other.pirx"
        cl.run("db", "build", other, source, "--from", "fixed", "--record-bytes", 40)
        done = cl.run("deploy", target, "--add", "--allow-rollback", *self.serve(other, "chor", "--coordinate", 1),
                      *self.serve(other, "chor", "--coordinate", 2), code=2)
        self.assertIn("one database", done.stderr)
        self.assertEqual(target.read_text(), before)

    def test_hostile_lists(self):
        target = self.deployed(self.build())
        content = json.loads(target.read_text())
        one = content["deployments"][0]
        shorter = {**content["deployments"][2], "database": {**one["database"], "records": 10}}
        for deployments, part in (([one, shorter], "shape differ"), ([], "deployments"), ({}, "deployments"), ([7], "deployments[0]"), ([one, one], "twice"),
                                  ([{**one, "pirx_deployment": 1}], "not known"), ([{**one, "deployments": []}], "not known"),
                                  ([one, {**one, "protocol": "other"}], "'other' is not known; there are: goldberg")):
            target.write_text(json.dumps({"pirx_deployment": 1, "deployments": deployments}))
            done = cl.subprocess.run([cl.PIRX, "get", target, "3"], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(part, done.stderr)
        target.write_text(json.dumps({"pirx_deployment": 1, "deployments": [one], "servers": []}))
        self.assertIn("not known", cl.run("get", target, 3, code=4).stderr)


if __name__ == "__main__":
    cl.PIRX = sys.argv.pop(1)
    unittest.main()
