#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the command line makes of slips: the nearest command or option, a key in place of a position, the wrong scheme.

    forgiveness_test.py PIRX
"""
import subprocess
import sys
import unittest

import command_line_test as cl


class Forgiveness(unittest.TestCase):
    setUp, tearDown, start = cl.CommandLine.setUp, cl.CommandLine.tearDown, cl.CommandLine.start

    def test_unknown_words(self):
        cases = [(["gte"], "no command 'gte': did you mean 'get'?"),
                 (["serv", "x"], "no command 'serv': did you mean 'serve'?"),
                 (["frobnicate"], "no command 'frobnicate': there are db, serve, deploy, get, bench, load, plan, try"),
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
