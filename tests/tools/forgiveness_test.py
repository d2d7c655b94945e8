#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the command line makes of slips: the nearest command or option, a key in place of a position, the wrong scheme.

    forgiveness_test.py PIRX
"""
import gzip
import json
import os
import pty
import shutil
import subprocess
import sys
import unittest

import command_line_test as cl


class Forgiveness(cl.Servers):
    def test_unknown_words(self):
        cases = [(["gte"], "no command 'gte': did you mean 'get'?"),
                 (["serv", "x"], "no command 'serv': did you mean 'serve'?"),
                 (["frobnicate"], "no command 'frobnicate': there are try, get, db, serve, deploy, manifest, bench, load, plan"),
                 (["db", "biuld", "x", "y"], "no command 'biuld' of 'pirx db': did you mean 'build'?"),
                 (["db", "build", "a", "b", "--form", "csv"], "no option '--form' of 'pirx db build': did you mean '--from'?"),
                 (["get", "x", "--kye", "a"], "no option '--kye' of 'pirx get': did you mean '--key'?"),
                 (["get", "x", "--jsn=secret"], "no option '--jsn' of 'pirx get': did you mean '--json'?"),
                 (["deploy", "x", "--thresh", "1"], "no option '--thresh' of 'pirx deploy': did you mean '--threshold'?"),
                 (["get", "x", "--zzzzzz"], "no option '--zzzzzz' of 'pirx get': see pirx get --help"),
                 (["get", "x", "-z"], "no option '-z' of 'pirx get'"),
                 (["--verison"], "no option '--verison' of 'pirx': did you mean '--version'?"),
                 (["\x1b[2J"], "no command '\\x1b[2J'"), (["-" * 50], "no option"), (["--" + "x" * 5000], "no option")]
        for words, text in cases:
            with self.subTest(words):
                self.assertIn(text, cl.run(*words, code=1).stderr)

    def test_other_mistakes_are_told_as_before(self):
        for words, text in (([], "A subcommand is required"), (["get"], "deployment is required"),
                            (["deploy", "x", "--server"], "--server"), (["bench", "--", "--x"], "--x"),
                            (["db", "build", "a", "b", "--from", "xml"], "xml"),
                            (["db", "build", "a", "b", "c"], "not expected: c")):
            with self.subTest(words):
                done = cl.run(*words, code=1)
                self.assertIn(text, done.stderr + done.stdout)
                self.assertNotIn("did you mean", done.stderr)
        cl.run("--help")
        cl.run("get", "--help")

    def test_a_key_in_place_of_a_position(self):
        done = cl.run("get", "x.json", "user000001", code=1)
        self.assertIn("positions are whole numbers: did you mean --key user000001?", done.stderr)

    def test_standard_input_and_separators(self):
        target = self.path / "db.pirx"
        cl.run("db", "build", target, "-", "--from", "jsonl", "--key", "k", "--value", "v", input='{"k":"a","v":"one"}\n')
        self.assertEqual(cl.run("db", "get", target, 0).stdout, "one\n")
        text = 'k;v\na;"one;\n""two"""\nb;x,y\n'
        cl.run("db", "build", target, "-", "--from", "csv", "--separator", ";", "--key", "k", "--value", "v", input=text)
        self.assertEqual(cl.run("db", "get", target, 0).stdout, 'one;\n"two"\n')
        self.assertEqual(cl.run("db", "get", target, 1).stdout, "x,y\n")
        cl.run("db", "build", target, "-", "--from", "csv", "--separator", "tab", "--key", "k", input="k\tv\na\tb\n")
        self.assertEqual(cl.run("db", "get", target, 0).stdout, "a\tb\n")
        self.assertIn("say by --from", cl.run("db", "build", target, "-", code=2).stderr)
        for words in (["--from", "csv", "--separator", ";;"], ["--from", "csv", "--separator", '"'],
                      ["--from", "tsv", "--separator", ";"], ["--from", "lines", "--separator", ";"]):
            with self.subTest(words):
                self.assertIn("separator", cl.run("db", "build", target, "-", *words, input="a;b\n", code=2).stderr)
        source = self.path / "semicolons.csv"
        source.write_text(text)
        done = cl.run("try", source, "--separator", ";", "--value", "v", "--lookup", "b")
        self.assertEqual(done.stdout, "x,y\n")
        self.assertIn("--separator ';'", done.stderr)

    def test_the_format_by_the_name(self):
        for name, text in (("a.csv", "k,v\nx,one\n"), ("a.TSV", "k\tv\nx\tone\n"), ("a.jsonl", '{"k":"x","v":"one"}\n')):
            source = self.path / name
            source.write_text(text)
            cl.run("db", "build", self.path / "db.pirx", source, "--key", "k", "--value", "v")
            self.assertEqual(cl.run("db", "get", self.path / "db.pirx", 0).stdout, "one\n")
        (self.path / "a.bin").write_text("x")
        self.assertIn("give --from folder, csv", cl.run("db", "build", self.path / "new", self.path / "a.bin", code=2).stderr)

    def test_packed_input(self):
        text = b"k,v\nx,one\ny,two\n"
        zstd = shutil.which("zstd")
        packed = [("a.csv.gz", gzip.compress(text)), ("a.CSV.GZ", gzip.compress(text))]
        if zstd:
            packed.append(("a.csv.zst", subprocess.run([zstd, "-c"], input=text, stdout=subprocess.PIPE, check=True).stdout))
        target = self.path / "db.pirx"
        for name, data in packed:
            (self.path / name).write_bytes(data)
            cl.run("db", "build", target, self.path / name, "--key", "k", "--value", "v")
            self.assertEqual(cl.run("db", "get", target, 1).stdout, "two\n")
            self.assertEqual(cl.run("try", self.path / name, "--value", "v", "--lookup", "x").stdout, "one\n")
            done = subprocess.run([cl.PIRX, "db", "build", target, "-", "--from", "csv", "--key", "k"], input=data)
            self.assertEqual(done.returncode, 0)
        broken = self.path / "broken.csv.gz"
        broken.write_bytes(gzip.compress(text)[:-3])
        done = cl.run("db", "build", target, broken, code=4)
        self.assertIn(f"{broken}, byte ", done.stderr)
        self.assertIn("ends too early: the file is cut off", done.stderr)
        broken.write_bytes(text)
        self.assertIn("this is no gzip data", cl.run("db", "build", target, broken, code=4).stderr)

    def test_bad_rows_are_left_out_aloud(self):
        source, target = self.path / "a.jsonl", self.path / "db.pirx"
        source.write_text('{"id":"x","v":"one"}\nrubbish\n' + ''.join(f'{{"id":"y{i}"}}\n' for i in range(7)) + '{"id":"z","v":"two"}\n')
        words = ["db", "build", target, source, "--key", "id", "--value", "v"]
        self.assertIn("line 2: not valid JSON", cl.run(*words, code=2).stderr)
        done = cl.run(*words, "--skip-bad-rows")
        self.assertIn("left out 8 rows that cannot be taken", done.stderr)
        self.assertIn("line 2: not valid JSON", done.stderr)
        self.assertIn('line 3: there is no member "v"', done.stderr)
        self.assertIn("and 3 more", done.stderr)
        self.assertIn("bad rows        8 left out", done.stdout)
        self.assertEqual(json.loads(cl.run(*words, "--skip-bad-rows", "--json").stdout)["skipped_rows"], 8)
        self.assertEqual(cl.run(*words, "--skip-bad-rows", "--quiet").stdout, "")
        self.assertEqual(cl.run("db", "get", target, 1).stdout, "two\n")
        done = cl.run("try", source, "--value", "v", "--skip-bad-rows", "--lookup", "z")
        self.assertEqual(done.stdout, "two\n")
        self.assertIn("left out 8 rows", done.stderr)
        self.assertIn("--skip-bad-rows", done.stderr.split("pirx db build")[1].split("\n")[0])
        self.assertIn("goes with --from", cl.run("db", "build", target, self.path, "--skip-bad-rows", code=2).stderr)

    def test_config_errors_name_file_and_line(self):
        config = self.path / "server.json"
        config.write_text('{\n "databases": [\n  {"name": "a", "file": "a.pirx",\n   "protcol": "dpf"}]}')
        self.assertIn(f"{config} line 4: 'databases[0].protcol' is not known: did you mean 'protocol'?",
                      cl.run("serve", "--config", config, code=4).stderr)
        config.write_text('{\n "databases": [}\n')
        self.assertIn(f"{config}: it is not a JSON object: line 2, column 16 cannot be read",
                      cl.run("serve", "--config", config, code=4).stderr)

    def test_the_format_of_the_log(self):
        source = self.path / "lines.txt"
        source.write_text("one\n")
        cl.run("db", "build", self.path / "db.pirx", source)
        for words, is_text in (([], False), (["--log-format", "json"], False), (["--log-format", "text"], True)):
            server = self.start(cl.PIRX, "serve", self.path / "db.pirx", "--coordinate", 1, "--listen", ":0", *words)
            server.stop()
            self.assertTrue(server.log)
            for line in server.log:
                self.assertRegex(line, r"^\d\d:\d\d:\d\d [a-z_]+" if is_text else r'^\{"time":')
        self.assertIn("text or json, not 'xml'",
                      cl.run("serve", self.path / "db.pirx", "--coordinate", 1, "--log-format", "xml", code=2).stderr)

    def on_terminal(self, *words, **variables):
        """What a command shows on a terminal."""
        environment = {**os.environ, "TERM": "xterm", **variables}
        if "NO_COLOR" not in variables:
            environment.pop("NO_COLOR", None)
        main, other = pty.openpty()
        child = subprocess.Popen([cl.PIRX, *map(str, words)], stdin=other, stdout=other, stderr=other, env=environment)
        os.close(other)
        shown = b""
        try:
            while piece := os.read(main, 4096):
                shown += piece
        except OSError:  # the other end is closed
            pass
        os.close(main)
        child.wait(timeout=60)
        return shown

    def test_colours_on_a_terminal_alone(self):
        for words in (["db", "info", self.path / "absent"], ["gte"]):
            red = b"\x1b[31mpirx:\x1b[0m "
            self.assertIn(red, self.on_terminal(*words))
            self.assertIn(b"pirx: ", self.on_terminal(*words, NO_COLOR="1"))
            self.assertNotIn(b"\x1b[", self.on_terminal(*words, NO_COLOR="1"))
            self.assertNotIn(b"\x1b[", self.on_terminal(*words, TERM="dumb"))
            self.assertNotIn("\x1b", subprocess.run([cl.PIRX, *map(str, words)], capture_output=True, text=True).stderr)

    def test_a_server_that_fails_is_red_on_a_terminal(self):
        source, target = self.path / "lines.txt", self.path / "db.pirx"
        source.write_text("one\ntwo\n")
        cl.run("db", "build", target, source)
        servers = [self.start(cl.PIRX, "serve", target, "--coordinate", x, "--listen", ":0") for x in (1, 2, 3)]
        deployment = self.path / "d.json"
        cl.run("deploy", deployment, "-t", 1, *[word for one in servers for word in ("--server", one.url)])
        shown = self.on_terminal("get", deployment, 1)
        self.assertIn(b"two", shown)
        self.assertNotIn(b"\x1b[31m", shown)
        servers[2].stop()
        shown = self.on_terminal("get", deployment, 1, "--wait-for-all")
        self.assertIn(b"two", shown)
        self.assertEqual(shown.count(b"\x1b[31m"), 1, shown)
        self.assertRegex(shown, rb"\x1b\[31m[a-z ]{14,}\x1b\[0m +[0-9.]+ ms")
        self.assertNotIn("\x1b", cl.run("get", deployment, 1, "--wait-for-all").stderr)

    def test_quiet_commands_say_nothing(self):
        source, target = self.path / "lines.txt", self.path / "db.pirx"
        source.write_text("one\ntwo\nthree\nfour\n")
        for words in (["db", "build", target, source], ["db", "verify", target],
                      ["db", "encode", target, "--servers", 5, "--arity", 2, "--out", self.path / "bucket"]):
            with self.subTest(words):
                self.assertNotEqual(cl.run(*words).stdout, "")
                done = cl.run(*words, "-q")
                self.assertEqual(done.stdout + done.stderr, "")

    def test_listen_on_a_port_alone(self):
        source = self.path / "lines.txt"
        source.write_text("one\n")
        cl.run("db", "build", self.path / "db.pirx", source)
        for listen in (":0", "localhost:0"):
            server = self.start(cl.PIRX, "serve", self.path / "db.pirx", "--coordinate", 1, "--listen", listen)
            cl.run("deploy", self.path / f"{len(self.processes)}.json", "--server", server.url, "--server", server.url,
                   code=2)  # one server given twice: it was reached at 127.0.0.1

    def test_the_wrong_scheme(self):
        source = self.path / "lines.txt"
        source.write_text("one\n")
        cl.run("db", "build", self.path / "db.pirx", source)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-keyout", self.path / "key.pem", "-out", self.path / "cert.pem"],
                       check=True, capture_output=True)
        serve = [cl.PIRX, "serve", self.path / "db.pirx", "--coordinate", 1, "--listen", ":0"]
        secure = self.start(*serve, "--tls-cert", self.path / "cert.pem", "--tls-key", self.path / "key.pem")
        plain = self.start(*serve)
        done = cl.run("deploy", self.path / "x.json", "--server", f"http://127.0.0.1:{secure.port}", code=5)
        self.assertIn("if it serves https, write https:// in place of http://", done.stderr)
        done = cl.run("deploy", self.path / "x.json", "--server", f"https://127.0.0.1:{plain.port}", code=7)
        self.assertIn("if it serves http, write http:// in place of https://", done.stderr)


if __name__ == "__main__":
    cl.PIRX = sys.argv.pop(1)
    unittest.main()
