#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table "What it says when something is wrong" of docs/cli.md, row by row.

    frictions_test.py PIRX
"""
import gzip
import json
import re
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

import command_line_test as cl

PAGE = Path(__file__).resolve().parents[2] / "docs/cli.md"


class Frictions(cl.Servers):
    def prepare(self):
        rows = "id,name\n" + "".join(f"user{i:06d},Name {i}\n" for i in range(1000))
        (self.path / "users.csv").write_text(rows)
        (self.path / "users.csv.gz").write_bytes(gzip.compress(rows.encode()))
        (self.path / "semicolons.csv").write_text(rows.replace(",", ";"))
        (self.path / "bad.csv").write_text("id,name\na,1\nb\nc,3\n")
        (self.path / "new.txt").write_text("New")
        (self.path / "typo.json").write_text('{\n "databases": [{"file": "users.pirx", "coordnate": 1}]\n}\n')
        cl.run("db", "build", self.path / "users.pirx", self.path / "users.csv", "--key", "id", "--value", "name", "--keyed")
        urls = [self.start(cl.PIRX, "serve", self.path / "users.pirx", "--coordinate", x, "--listen", ":0").url for x in (1, 2)]
        cl.run("deploy", self.path / "users.json", "-t", 1, *(word for url in urls for word in ("--server", url)))
        away = json.loads((self.path / "users.json").read_text())
        for server in away["servers"]:
            server["url"] = "http://127.0.0.1:" + ("1" if server is away["servers"][0] else "2")
        (self.path / "away.json").write_text(json.dumps(away))
        return {"8101": urls[0].rsplit(":", 1)[1], "8102": urls[1].rsplit(":", 1)[1], "8199": "1"}

    def test_every_row(self):
        ports = self.prepare()
        section = PAGE.read_text().split("## What it says when something is wrong")[1].split("\n## ")[0]
        rows = re.findall(r"^\| `pirx (.*?)` \| `(.*)` \|$", section, flags=re.MULTILINE)
        self.assertGreater(len(rows), 15)
        self.assertEqual(len(rows), section.count("\n|") - 2)
        for command, says in rows:
            with self.subTest(command):
                for shown, real in ports.items():
                    command, says = command.replace(f":{shown}", f":{real}"), says.replace(f":{shown}", f":{real}")
                words = [word.replace("\\", "") for word in shlex.split(command.replace(";", "\\;"))]
                done = subprocess.run([cl.PIRX, *words], cwd=self.path, capture_output=True, text=True, timeout=60)
                pattern = ".*".join(map(re.escape, says.split("...")))
                self.assertIsNotNone(re.search(pattern, done.stdout + done.stderr, flags=re.DOTALL), done.stdout + done.stderr)


if __name__ == "__main__":
    cl.PIRX = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
