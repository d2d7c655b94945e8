#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives `pirx try`: every kind of input, bad input, Ctrl-C, and the commands that it prints, run as printed.

    try_test.py PIRX
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

PIRX = ""
ROOT = Path(__file__).resolve().parents[2]
TABLE = "group,id,text\n" + "".join(f'{i % 2},user{i},"text, of {i}"\n' for i in range(50))


class Try(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.temporary = self.path / "temporary"
        self.work = self.path / "work"
        self.temporary.mkdir()
        self.work.mkdir()
        path = os.path.dirname(os.path.abspath(PIRX)) + os.pathsep + os.environ["PATH"]
        self.environment = {**os.environ, "TMPDIR": str(self.temporary), "PATH": path}

    def tearDown(self):
        left = os.listdir(self.temporary)
        self.folder.cleanup()
        self.assertEqual(left, [])

    def write(self, name, text):
        (self.work / name).write_text(text)
        return name

    def run_try(self, *words, code=0, **options):
        done = subprocess.run([PIRX, "try", *map(str, words)], capture_output=True, text=True, timeout=100,
                              cwd=self.work, env=self.environment, **options)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def start(self, *words):
        return subprocess.Popen([PIRX, "try", *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, cwd=self.work, env=self.environment, start_new_session=True)

    def report_of(self, child):
        lines = []
        for line in child.stderr:
            lines.append(line)
            if line.startswith("Type a "):
                return "".join(lines)
        self.fail("".join(lines))

    def end(self, child, kind):
        child.send_signal(kind)
        self.assertEqual(child.wait(timeout=60), -kind)
        for file in (child.stdin, child.stdout, child.stderr):
            file.close()
        with self.assertRaises(ProcessLookupError):  # no process of its session is left
            os.killpg(child.pid, 0)
        self.assertEqual(os.listdir(self.temporary), [])

    def test_by_key(self):
        done = self.run_try(self.write("users.csv", TABLE), "--lookup", "user7", "--lookup", "user8")
        self.assertEqual(done.stdout, '1,user7,"text, of 7"\n0,user8,"text, of 8"\n')
        self.assertIn("users.csv: 50 records, looked up by the column id (guessed by its name", done.stderr)
        self.assertRegex(done.stderr, r"\d+ bytes up, \d+ bytes down, [0-9.]+ ms; servers 1, 2 and 3 answered; "
                                      "proven: right unless more than 1 of them lied")
        done = self.run_try("users.csv", "--key", "2", "--value", "text", "--lookup", "user7", "-q")
        self.assertEqual((done.stdout, done.stderr), ("text, of 7\n", ""))

    def test_a_missing_key(self):
        done = self.run_try(self.write("users.csv", TABLE), "--lookup", "nobody", "--lookup", "user1", code=3)
        self.assertEqual(done.stdout, '1,user1,"text, of 1"\n')
        self.assertIn("no record with this key", done.stderr)
        self.assertEqual(done.stderr.count("answered"), 2)  # whatever there is, the servers are asked

    def test_the_prompt(self):
        self.write("users.csv", TABLE)
        done = self.run_try("users.csv", "--value", "text", input="user3\n\nnobody\r\nuser4\r\n:quit\nuser5\n")
        self.assertEqual(done.stdout, "text, of 3\ntext, of 4\n")
        self.assertIn("no record with this key", done.stderr)
        self.assertEqual(self.run_try("users.csv", "--value", "text", input="user9").stdout, "text, of 9\n")

    def test_json(self):
        done = self.run_try(self.write("users.csv", TABLE), "--lookup", "user3", "--lookup", "nobody", "--json", "-q", code=3)
        found, missing = map(json.loads, done.stdout.splitlines())
        self.assertEqual((found["key"], found["certainty"], len(found["servers"])), ("user3", "proven", 3))
        self.assertEqual(found["records"][0]["text"], '1,user3,"text, of 3"')
        self.assertEqual((missing["key"], missing["records"]), ("nobody", [{"missing": True}]))
        done = self.run_try("users.csv", "--by-position", "--lookup", "50", "--json", "-q", code=3)
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "OutOfRange")

    def test_by_position(self):
        done = self.run_try(self.write("lines.txt", "first\nsecond\n"), "--lookup", 1)
        self.assertEqual(done.stdout, "second\n")
        self.assertIn("by their positions, from 0", done.stderr)
        done = self.run_try("lines.txt", input="x\n-1\n2\n0\n")
        self.assertEqual(done.stdout, "first\n")
        self.assertEqual(done.stderr.count("positions are whole numbers from 0"), 2)
        self.assertIn("no such record: the database has 2 records", done.stderr)
        self.assertEqual(self.run_try(self.write("users.csv", TABLE), "--by-position", "--lookup", 2, "-q").stdout,
                         '0,user2,"text, of 2"\n')

    def test_no_key_column(self):
        done = self.run_try(self.write("t.tsv", "id\tname\n1\tx\n1\tx\n"), "--lookup", 1)
        self.assertEqual(done.stdout, "1\tx\n")
        self.assertIn("by their positions, from 0 (every column has empty, long or repeated values", done.stderr)

    def test_what_is_guessed(self):
        cases = [("a.csv", "x,Email,id\n1,a,1\n2,b,1\n", "Email", "a", "1,a,1"),  # ids are repeated
                 ("b.csv", "x,y\n1,2\n1,3\n", "y", "3", "1,3"),
                 ("c.csv", "z,user_id\n5,7\n6,8\n", "user_id", "8", "6,8"),
                 ("d.csv", ",v\n5,7\n6,7\n", "1", "6", "6,7"),
                 ("e.jsonl", '{"v":[1],"name":"n1"}\n{"v":[2],"name":"n2"}\n', "name", "n2", '{"v":[2],"name":"n2"}'),
                 ("f.json", '[{"v":1,"id":7},\n{"v":2,"id":8}]\n', "id", "7", '{"v":1,"id":7}'),
                 ("g.csv", f"id,k\n{'x' * 65},1\n{'y' * 65},2\n", "k", "2", f"{'y' * 65},2")]
        for name, text, column, key, record in cases:
            with self.subTest(name):
                done = self.run_try(self.write(name, text), "--lookup", key)
                self.assertIn(f"by the column {column} (guessed", done.stderr)
                self.assertEqual(done.stdout, record + "\n")
        done = self.run_try(self.write("h.csv", "1,one\n2,two\n"), "--no-header", "--lookup", "2")
        self.assertEqual(done.stdout, "2,two\n")

    def test_a_folder(self):
        (self.work / "site").mkdir()
        self.write("site/page", "hello")
        done = self.run_try("site/", "--lookup", "page")
        self.assertEqual(done.stdout, "hello\n")
        self.assertIn("pirx get site-deployment.json --key page\n", done.stderr)

    def test_one_server(self):
        done = self.run_try(self.write("users.csv", TABLE), "--one-server", "--lookup", "user7", "--value", "text")
        self.assertEqual(done.stdout, "text, of 7\n")
        self.assertIn("the server answered", done.stderr)
        self.assertEqual(done.stderr.count("pirx serve"), 1)
        done = self.run_try("users.csv", "--protocol", "download", "--by-position", "--lookup", "7", "--json", "-q")
        self.assertEqual(json.loads(done.stdout)["protocol"], "download")
        done = self.run_try("users.csv", "--protocol", "chor", "--lookup", "user7", "--value", "text")
        self.assertEqual(done.stdout, "text, of 7\n")
        self.assertIn("--protocol chor --coordinate 3", done.stderr)
        self.assertIn("several servers", self.run_try("users.csv", "--protocol", "chor", "--one-server", code=2).stderr)
        self.assertIn("goldberg", self.run_try("users.csv", "--protocol", "none", code=2).stderr)

    def test_bad_input(self):
        self.write("users.csv", TABLE)
        self.write("empty.csv", "")
        self.write("header.csv", "id,text\n")
        self.write("twice.csv", "id,text\na,1\na,2\n")
        self.write("quote.csv", 'id,text\na,"1\n')
        self.write("data.gz", "?")
        os.mkfifo(self.work / "fifo.csv")
        for words, code, part in ((["empty.csv"], 2, "empty"), (["header.csv"], 2, "no records"),
                                  (["users.csv", "--key", "nope"], 2, 'no column "nope" among the 3 columns: group, id, text'),
                                  (["users.csv", "--value", "nope"], 2, 'no column "nope"'),
                                  (["users.csv", "--key", "group"], 2, "repeats the key '0' of line 2"),
                                  (["twice.csv", "--key", "id"], 2, "line 3 repeats the key 'a'"),
                                  (["quote.csv"], 2, "never closed"), (["none.csv"], 5, "none.csv: No such file"),
                                  (["data.gz"], 2, "give --from"), (["fifo.csv"], 2, "neither a file nor a folder"),
                                  (["users.csv", "--key", "id", "--by-position"], 2, "exclude"),
                                  (["users.csv", "--keep", "."], 2, "exists already"),
                                  (["users.csv", "--keep", "no/folder"], 5, "cannot make a folder in no"),
                                  (["users.csv", "--from", "xml"], 1, "--from")):
            with self.subTest(words):
                self.assertIn(part, self.run_try(*words, "--lookup", "x", code=code).stderr)
        if os.geteuid() != 0:
            (self.work / "users.csv").chmod(0)
            self.assertIn("users.csv", self.run_try("users.csv", "--lookup", "x", code=5).stderr)
        joined = self.run_try("twice.csv", "--key", "id", "--value", "text", "--duplicates", "join", "--lookup", "a", "-q")
        self.assertEqual(joined.stdout, "1\n2\n")

    def test_a_guess_that_fails_is_named(self):
        text = "id,text\n" + "".join(f"{i},x\n" for i in range(100_001)) + "7,x\n"
        done = self.run_try(self.write("long.csv", text), "--lookup", "7", code=2)
        self.assertIn("repeats the key '7'", done.stderr)
        self.assertIn("the key column id was guessed", done.stderr)

    def test_ctrl_c_leaves_nothing(self):
        self.write("users.csv", TABLE)
        for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            child = self.start("users.csv")
            self.report_of(child)
            self.assertEqual(os.listdir(self.temporary), [])  # not even SIGKILL leaves anything now
            self.end(child, kind)

    def test_the_page(self):
        if not any((folder / "web/pirx.wasm.gz").exists() for folder in list(Path(PIRX).resolve().parents)[2:4]):  # this pirx has no page: it says so
            self.assertIn("scripts/web", self.run_try(self.write("users.csv", TABLE), "--web", code=2).stderr)
            return
        child = self.start(self.write("users.csv", TABLE), "--web")
        report = self.report_of(child)
        url = child.stdout.readline().strip()
        self.assertIn("Open this address", report)
        with urllib.request.urlopen(url, timeout=60) as reply:
            self.assertIn(b"pirx.js", reply.read() + urllib.request.urlopen(url + "page.js", timeout=60).read())
        with urllib.request.urlopen(url + "deployment.json", timeout=60) as reply:
            servers = [server["url"] for server in json.load(reply)["servers"]]
        self.assertEqual(len(servers), 3)
        for server in servers:
            asked = urllib.request.Request(server + "/v1/parameters", headers={"Origin": url.rstrip("/")})
            with urllib.request.urlopen(asked, timeout=60) as reply:
                self.assertEqual(reply.headers["Access-Control-Allow-Origin"], url.rstrip("/"))
        self.end(child, signal.SIGINT)
        child = self.start("users.csv", "--web", "--quiet")  # its input ends, and it goes on
        child.stdin.close()
        url = child.stdout.readline().strip()
        time.sleep(0.3)
        urllib.request.urlopen(url, timeout=60).close()
        self.end(child, signal.SIGTERM)

    def test_ctrl_c_while_it_builds(self):
        text = "id,text\n" + "".join(f"{i},{'x' * 80}\n" for i in range(200_000))
        child = self.start(self.write("long.csv", text))
        deadline = time.monotonic() + 60
        while not os.listdir(self.temporary) and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(0.1)
        self.end(child, signal.SIGINT)

    def run_printed(self, report):
        block = re.search(r"of their own:\n((?:  pirx .*\n)+)", report).group(1)
        self.assertEqual(len(re.findall("^  pirx (?!serve)", block, re.MULTILINE)), 3)
        script = "set -euo pipefail\nset -m\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n" + block
        return subprocess.run(["bash", "-c", script], cwd=self.work, env=self.environment, timeout=100, capture_output=True,
                              text=True)

    def check_printed(self, *words):
        # Another program may take the ports after they were printed, and a busy machine may start servers late.
        for attempt in range(3):
            child = self.start(*words)
            report = self.report_of(child)
            done = self.run_printed(report)
            self.end(child, signal.SIGINT)
            if done.returncode == 0:
                return done
        self.fail(f"{report}\n{done.stdout}\n{done.stderr}")

    def test_printed_commands(self):
        name = self.write("it's here.csv", 'the key,text\n"a \'b\'\\c",one\nd,two\n')
        self.assertIn('"a \'b\'\\c",one\n', self.check_printed(name).stdout)
        self.assertTrue((self.work / "it's here.pirx").exists())  # so the next ones have another name
        done = self.run_try(name, "--lookup", "d")
        self.assertIn("it'\\''s here-2.pirx", done.stderr)

    def test_printed_commands_for_one_server_and_positions(self):
        self.assertIn("\nfirst\n", self.check_printed(self.write("l.txt", "first\nsecond\n"), "--one-server").stdout)

    def test_keep(self):
        self.run_try(self.write("users.csv", TABLE), "--keep", "kept/", "--lookup", "user7", "-q")
        self.assertEqual(sorted(os.listdir(self.work)), ["kept", "users.csv"])
        self.assertEqual(sorted(os.listdir(self.work / "kept")), ["users-deployment.json", "users.pirx"])
        subprocess.run([PIRX, "db", "verify", self.work / "kept/users.pirx"], check=True, capture_output=True)
        self.assertIn("exists already", self.run_try("users.csv", "--keep", "kept", code=2).stderr)
        self.assertIn("--key user0", self.check_kept())

    def check_kept(self):
        report = self.run_try("users.csv", "--keep", "other", "--lookup", "user7").stderr
        for _ in range(3):
            done = self.run_printed(report)
            if done.returncode == 0:
                self.assertIn('0,user0,"text, of 0"', done.stdout)
                return report
        self.fail(f"{report}\n{done.stdout}\n{done.stderr}")

    def test_the_readme(self):
        block = next(b for b in re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL) if "pirx try" in b)
        done = subprocess.run(["bash", "-ec", block], cwd=self.work, env=self.environment, timeout=60, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (0, "warfarin,not with aspirin\n"), done.stderr)


if __name__ == "__main__":
    PIRX = os.path.abspath(sys.argv.pop(1))
    unittest.main()
