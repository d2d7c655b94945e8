#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command with every kind of wrong file: the message names the file, and says what it is where that can be told.

    wrong_files_test.py PIRX
"""
import json
import os
import subprocess
import sys
import unittest

import command_line_test as cl

NAMES = {"missing": "", "folder": "a folder", "empty": "an empty file", "truncated": "a damaged or truncated database",
         "text": "", "deployment": "a deployment file ('pirx get' takes it)", "plain": "a database (", "keyed": "a keyed database (",
         "bucket.1": "a bucket of", "config": "a config file", "delta": "a file of changes", "plain.keys": "", "pem": "a PEM file",
         "rates": "a file of rates"}
# The words of each command, with the place of the file, what it wants, and the kinds that it takes or that fail otherwise.
DATABASES = {"plain", "keyed"}
ANY_TEXT = {"text", "empty"}
COMMANDS = [(("db", "info", "@"), "a database", DATABASES | {"bucket.1"}),
            (("db", "verify", "@"), "a database", DATABASES | {"bucket.1"}),
            (("db", "compact", "@"), "a database", DATABASES | {"bucket.1"}),
            (("db", "get", "@", 0), "a plain database", DATABASES),
            (("db", "list", "@"), "a plain database", DATABASES),
            (("db", "encode", "@", "--servers", 3, "--arity", 2, "--out", "out"), "a plain database", DATABASES),
            (("db", "update", "@", "--set", "0=text"), "a plain database", DATABASES),
            (("db", "update", "plain", "--changes", "@"), "a list of changes", ANY_TEXT),
            (("db", "update", "keyed", "--key", "a=text", "--keys-from", "@"), "a list of keys", {"plain.keys", "text"}),
            (("db", "build", "new", "@", "--from", "jsonl", "--key", "k"), "records to import", {"text", "empty", "folder"}),
            (("serve", "@", "--coordinate", 1, "--listen", "127.0.0.1:0"), "a database", DATABASES | {"bucket.1"}),
            (("serve", "--config", "@"), "a config file", {"config"}),
            (("serve", "plain", "--coordinate", 1, "--tokens", "@"), "a token file", {"text"}),
            (("plan", "@"), "a database", DATABASES | {"bucket.1"}),
            (("plan", "plain", "--rates", "@"), "a file of rates", {"missing", "rates"}),
            (("deploy", "--refresh", "@"), "a deployment file", {"deployment"}),
            (("deploy", "x.json", "--server", "http://127.0.0.1:1", "--token-file", "@"), "a token file", {"text"}),
            (("get", "@", 0), "a deployment file", {"deployment"}),
            (("get", "deployment", "--keys-from", "@"), "a list of keys", {"plain.keys", "text"}),
            (("get", "deployment", 0, "--token-file", "@"), "a token file", {"text"}),
            (("get", "deployment", "--key", "a", "--positions", "@"), "a list of positions", {"text"}),
            (("try", "@", "--from", "jsonl", "--key", "k", "--lookup", "a"), "records to import", {"text", "empty", "folder"})]


class WrongFiles(cl.Servers):
    def make_files(self):
        (self.path / "folder").mkdir()
        for name, text in (("empty", ""), ("text", "hello\n"), ("config", '{"databases": [{"file": "x"}]}'),
                           ("rates", '{"pirx_rates": 1}'), ("pem", "-----BEGIN CERTIFICATE-----\nx\n"),
                           ("r.jsonl", '{"k":"a","v":"one"}\n{"k":"b","v":"two"}\n')):
            (self.path / name).write_text(text)
        for target, more in (("plain", ()), ("keyed", ("--keyed",))):
            self.run_it("db", "build", target, "r.jsonl", "--key", "k", "--value", "v", *more)
        self.run_it("db", "update", "plain", "--set", "0=empty")
        (self.path / "delta").write_bytes((self.path / "plain.delta").read_bytes())
        self.run_it("db", "compact", "plain")
        self.run_it("db", "encode", "plain", "--servers", 4, "--arity", 2, "--out", "bucket")
        (self.path / "truncated").write_bytes((self.path / "plain").read_bytes()[:5000])
        (self.path / "plain.keys").write_text("pirx key list 1\na\nb\n")
        (self.path / "deployment").write_text(json.dumps({
            "pirx_deployment": 1, "protocol": "goldberg", "field": "gf2_8", "threshold": 1,
            "database": {"identity": "00" * 32, "epoch": 1, "records": 5, "record_bytes": 8, "records_per_row": 1,
                         "variable_length": True, "digests": True},
            "servers": [{"url": f"http://127.0.0.1:{i}", "coordinate": i} for i in (1, 2, 3)]}))

    def run_it(self, *words, fails=False):
        done = subprocess.run([cl.PIRX, *map(str, words)], cwd=self.path, capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode != 0, fails, (words, done.stdout, done.stderr))
        self.assertGreaterEqual(done.returncode, 0)
        return done.stderr

    def test_every_command_with_every_wrong_file(self):
        self.make_files()
        for words, wanted, takes in COMMANDS:
            for name, kind in NAMES.items():
                if name in takes:
                    continue
                with self.subTest(command=words, file=name):
                    error = self.run_it(*(name if word == "@" else word for word in words), fails=True)
                    self.assertIn(name, error)
                    if name not in ("missing", "text", "plain.keys") or kind:
                        self.assertRegex(error, f"(?m)^{name} is (.*, )?not {wanted}")
                        self.assertIn(f"{name} is {kind}", error)

    def test_the_right_file_is_not_blamed(self):
        self.make_files()
        for words in (("get", "deployment", 0), ("db", "get", "plain", 9), ("deploy", "--refresh", "deployment"),
                      ("db", "get", "keyed", "--key", "x"), ("serve", "plain", "--coordinate", 0)):
            self.assertNotRegex(self.run_it(*words, fails=True), "(?m)^(plain|keyed|deployment) is ")

    def test_a_file_that_may_not_be_read_is_not_called_another_one(self):
        self.make_files()
        own = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}  # nothing is forbidden to root
        self.path.chmod(0o777)
        try:
            subprocess.run([cl.PIRX, "--version"], check=True, capture_output=True, **own)
        except (PermissionError, subprocess.CalledProcessError):
            self.skipTest("another user cannot run this pirx")
        subprocess.run([cl.PIRX, "manifest", "key", "k"], cwd=self.path, check=True, capture_output=True, **own)
        self.run_it("db", "build", "keyed", "r.jsonl", "--key", "k", "--value", "v", "--keyed")
        (self.path / "manifest").write_text("x")
        pem = ("serve", "plain", "--coordinate", 1, "--listen", "127.0.0.1:0", "--tls-cert", "pem", "--tls-key", "pem")
        for name, words in (("plain", ("db", "info", "plain")), ("deployment", ("get", "deployment", 0)),
                            ("deployment", ("deploy", "deployment", "--server", "http://127.0.0.1:1", "--force")),
                            ("config", ("serve", "--config", "config")), ("pem", pem),
                            ("text", ("get", "deployment", "--key", "a", "--positions", "text")),
                            ("keyed", ("db", "build", "keyed", "r.jsonl", "--key", "k", "--epoch", 7)),
                            ("manifest", ("manifest", "sign", "plain", "--key", "k", "--name", "n", "--out", "manifest")),
                            ("keyed.keys", ("db", "build", "keyed", "r.jsonl", "--key", "k", "--keyed"))):
            with self.subTest(file=name):
                (self.path / name).chmod(0)
                error = subprocess.run([cl.PIRX, *map(str, words)], cwd=self.path, capture_output=True, text=True, timeout=60, **own).stderr
                self.assertIn("Permission denied", error)
                self.assertNotRegex(error, f"{name} (is|exists)")
                (self.path / name).chmod(0o644)

    def test_a_link_whose_disk_is_not_there_is_not_called_foreign(self):
        self.make_files()
        (self.path / "link").symlink_to("nowhere/db")
        error = self.run_it("db", "build", "link", "r.jsonl", "--key", "k", fails=True)
        self.assertIn("No such file", error)
        self.assertNotIn("remove", error)

    def test_names_are_shown_harmlessly(self):
        (self.path / "\x1b[2J").write_text("x")
        self.assertIn("\\x1b[2J is not a database", self.run_it("db", "info", "\x1b[2J", fails=True))


if __name__ == "__main__":
    from pathlib import Path

    cl.PIRX = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
