#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pirx.Database.build from rows of every kind, and pirx.serve: what it starts, what it says where that fails."""
import ctypes
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from support import pirx

ODD = [b"", b"\0", b'"', b'""', b"a,b", b"line\nline\r\n", bytes(range(256)), b"\xef\xbb\xbfmark", b"caf\xe9"]


class Frame:
    """What the package uses of a pandas frame."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows

    def itertuples(self, index, name):
        assert index is False and name is None
        return iter(self.rows)


class Databases(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)

    def build(self, rows, **options):
        return pirx.Database.build(self.path / "db", rows, **options)

    def stored(self, database, wish):
        by = ["--key", wish] if isinstance(wish, str) else [str(wish)]
        return subprocess.run([os.environ["PIRX_PROGRAM"], "db", "get", str(database.path), *by, "--raw"],
                              check=True, capture_output=True).stdout

    def test_any_bytes(self):
        records = self.build(ODD)
        self.assertEqual(records.info["records"], len(ODD))
        self.assertEqual([self.stored(records, i) for i in range(len(ODD))], ODD)
        keyed = self.build([(b"key-" + odd, odd) for odd in ODD])
        with pirx.serve(keyed, "dpf") as servers:
            self.assertEqual(len(servers.urls), 2)
        with pirx.serve(keyed, "download") as servers:
            self.assertEqual(servers.deployment.get_many(b"key-" + odd for odd in ODD), ODD)

    def test_pairs_and_mappings(self):
        for rows in ({"a": "1", "b": b"2"}, [("a", "1"), (b"b", "2")], (pair for pair in (("a", 1), ("b", 2)))):
            database = self.build(rows)
            self.assertTrue(database.info["keyed"])
            self.assertEqual(self.stored(database, "b"), b"2")
        plain = self.build({"a": "1", "b": "2"}, keyed=False)
        self.assertEqual((plain.info["keyed"], self.stored(plain, 1)), (False, b"2"))
        self.assertEqual(plain.info["epoch"], 4)  # each build replaced the one before

    def test_dicts_and_frames(self):
        columns, rows = ["name", "age", "city"], [("ann", 31, "Köln"), ("bob", 47, "Oslo")]
        for source in ([dict(zip(columns, row)) for row in rows], Frame(columns, rows)):
            self.assertEqual(self.stored(self.build(source, key="name", value="age"), "bob"), b"47")
            both = self.build(source, key="name", value=["city", "age"])
            self.assertEqual(self.stored(both, "ann"), "Köln\t31".encode())
            whole = self.build(source, key="name")
            self.assertEqual(self.stored(whole, "ann"), '{"name": "ann", "age": 31, "city": "Köln"}'.encode())
            self.assertFalse(self.build(source).info["keyed"])
            with self.assertRaisesRegex(pirx.InvalidArgument, 'row 1 has no column "town", only name, age, city'):
                self.build(source, key="name", value="town")

    def test_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = pandas.DataFrame({"name": ["ann", "bob"], "age": [31, 47], "seen": pandas.Timestamp("2024-05-06")})
        self.assertEqual(self.stored(self.build(frame, key="name", value="age"), "bob"), b"47")
        self.assertIn(b'"2024-05-06T00:00:00"', self.stored(self.build(frame, key="name"), "ann"))
        # The index is no column, but can be the key.
        indexed = frame.set_index("name")
        self.assertEqual(self.stored(self.build(indexed, key="name", value="age"), "bob"), b"47")
        self.assertNotIn(b"bob", self.stored(self.build(indexed), 1))
        self.assertEqual(self.stored(self.build(frame["name"]), 1), b"bob")
        # What is missing is null, whatever pandas calls it, and is no record by itself.
        nothing = {"nan": [1.5, float("nan")], "nat": pandas.to_datetime(["2024-05-06", None]),
                   "na": pandas.array([1, None], dtype="Int64"), "text": pandas.array(["x", None], dtype="string")}
        holes = pandas.DataFrame({"name": ["ann", "bob"], **nothing})
        self.assertEqual(json.loads(self.stored(self.build(holes, key="name"), "bob")),
                         {"name": "bob", **dict.fromkeys(nothing)})
        self.assertEqual(json.loads(self.stored(self.build(holes, key="name"), "ann"))["na"], 1)
        for name in nothing:
            with self.assertRaisesRegex(pirx.InvalidArgument, "row 2 has None"):
                self.build(holes, key="name", value=name)
            with self.assertRaisesRegex(pirx.InvalidArgument, "row 2 has None"):
                self.build(holes, key=name, value="name")
        with self.assertRaisesRegex(pirx.InvalidArgument, "two columns"):
            self.build(pandas.concat([frame, frame], axis=1), key="name")

    def test_files(self):
        table = self.path / "table.csv"
        table.write_text("name,age\nann,31\nbob,47\n")
        for source in (table, str(table)):
            self.assertEqual(self.stored(self.build(source, key="name", value="age"), "bob"), b"47")
        self.assertFalse(self.build(table).info["keyed"])
        for name, text in (("TABLE.CSV.GZ", gzip.compress(table.read_bytes())), ("rows.tab", b"name\tage\nann\t31\nbob\t47\n"),
                           ("rows.json", b'[{"name": "ann", "age": 31},\n{"name": "bob", "age": 47}]\n')):
            (self.path / name).write_bytes(text)
            self.assertEqual(self.stored(self.build(self.path / name, key="name", value="age"), "bob"), b"47")
        self.assertEqual(self.build(self.path / "table.csv", format="lines").info["records"], 3)
        folder = self.path / "-site"
        folder.mkdir()
        (folder / "page").write_text("hello")
        self.assertEqual(self.stored(self.build(folder), 0), b"hello")
        with self.assertRaisesRegex(pirx.InvalidArgument, "format="):
            self.build(self.path / "table.xyz")
        with self.assertRaisesRegex(pirx.Unavailable, "none.csv"):
            self.build(self.path / "none.csv")

    def test_wrong_rows(self):
        def array(kind, char):  # of numpy
            return mock.Mock(["ndim", "dtype", "tobytes"], ndim=1, dtype=mock.Mock(kind=kind, char=char), tobytes=lambda: b"memory")

        class Item(bytes):  # of an array of numpy
            dtype = mock.Mock(kind="S")

        class NaT:  # of pandas
            isoformat = None

            def __ne__(self, other):
                return True

        def no_time(kind):  # of numpy
            return mock.Mock(["item", "dtype"], dtype=mock.Mock(kind=kind), item=lambda: None)

        objects = array("O", "O")
        for rows, kind, words in (([], pirx.InvalidArgument, "no rows"), (7, TypeError, "int"), (b"x", TypeError, "not one"),
                                  ([b"x", 7], TypeError, "row 2 is int"), ([("a", "b", "c")], TypeError, "3 members"),
                                  ([b"x", ("a", "b")], TypeError, "row 2"), ([("a", None)], pirx.InvalidArgument, "None"),
                                  ([("a", {1, 2})], TypeError, "row 1"),
                                  ([objects], TypeError, "row 1 is of an array of .* whose bytes are more"),
                                  ([("a", "1"), ("b", objects)], TypeError, "row 2 is of an array of"),
                                  ([memoryview((ctypes.py_object * 2)())], TypeError, "row 1 is memory of format"),
                                  ([array("V", "V")], TypeError, "row 1 is of an array of"),
                                  ([array("T", "T")], TypeError, "row 1 is of an array of"),
                                  ([array("f", "g")], TypeError, "row 1 is of an array of"),
                                  ([b"x", mock.Mock(["tobytes", "filled"])], TypeError, "row 2 is of a masked array"),
                                  ([{"a": float("nan")}], TypeError, "row 1: Out of range"),
                                  ([{"a": no_time("M")}], TypeError, "row 1: .* is no time"),
                                  ([{"a": no_time("m")}], TypeError, "row 1: .* is no time"),
                                  ([{"a": NaT()}], TypeError, "row 1: a value of type NaT"),
                                  ([b"ab", Item(b"c")], TypeError, "row 2 has an item of a numpy array of bytes"),
                                  ({"a": b"ab", "b": Item(b"c")}, TypeError, "row 2 has an item of a numpy array"),
                                  ({Item(b"c"): b"ab"}, TypeError, "row 1 has an item of a numpy array of bytes"),
                                  (array("S", "S"), TypeError, "the array has items of a numpy array of bytes"),
                                  ([("a", "1"), ("a", "2")], pirx.InvalidArgument, "^line 2 repeats the key")):
            with self.assertRaisesRegex(kind, words):
                self.build(rows)
            self.assertFalse((self.path / "db").exists())
        self.assertRaisesRegex(TypeError, "no columns", self.build, [b"x"], key="name")
        self.assertRaisesRegex(pirx.InvalidArgument, "needs keys", self.build, [b"x"], keyed=True)
        self.assertRaisesRegex(pirx.InvalidArgument, "for files", self.build, [b"x"], format="csv")

    def test_a_broken_pipe_of_the_rows_is_an_error(self):
        def rows():
            yield b"new"
            raise BrokenPipeError("the caller's")

        with self.assertRaisesRegex(BrokenPipeError, "the caller's"):
            self.build(rows())

    def test_rows_that_end_in_an_error_leave_the_old_database(self):
        self.build([b"old"])

        def rows():
            yield from [b"new"] * 3  # fewer than a pipe holds
            raise KeyError("mine")

        kill = subprocess.Popen.kill

        def kill_late(child):
            # Time for the program to replace the database, if it took the error for the end of the rows.
            time.sleep(2)
            kill(child)

        with mock.patch.object(subprocess.Popen, "kill", kill_late):
            self.assertRaisesRegex(KeyError, "mine", self.build, rows())
        old = pirx.Database(self.path / "db")
        self.assertEqual((self.stored(old, 0), old.info["epoch"]), (b"old", 1))

    def test_a_process_that_is_killed_leaves_the_old_database(self):
        self.build([b"old"])
        program, done = self.path / "program", self.path / "done"
        program.write_text(f'#!/bin/sh\n"$PIRX_PROGRAM" "$@"\ntouch "{done}"\n')
        program.chmod(0o755)
        for count in (0, 20000):  # nothing and much of what the program would read
            code = ("import os, signal, sys, support\n"
                    "def rows():\n"
                    f"    yield from [b'new'] * ({count} + 1)\n"
                    "    os.kill(os.getpid(), signal.SIGKILL)\n"
                    "support.pirx.Database.build(sys.argv[1], rows(), program=sys.argv[2])\n")
            killed = subprocess.run([sys.executable, "-c", code, str(self.path / "db"), str(program)],
                                    cwd=Path(__file__).parent)
            self.assertEqual(killed.returncode, -signal.SIGKILL)
            end = time.monotonic() + 60
            while not done.exists() and time.monotonic() < end:
                time.sleep(0.01)
            done.unlink()
            old = pirx.Database(self.path / "db")
            self.assertEqual((self.stored(old, 0), old.info["epoch"]), (b"old", 1))

    def test_not_a_database(self):
        self.assertRaises(pirx.Unavailable, pirx.Database, self.path / "none")
        (self.path / "wrong").write_text("no database at all")
        self.assertRaises(pirx.DataLoss, pirx.Database, self.path / "wrong")
        self.assertRaises(pirx.DataLoss, pirx.serve, self.path / "wrong")
        with self.assertRaisesRegex(pirx.Unavailable, "no program"):
            pirx.Database(self.path / "none", program=str(self.path / "no-program"))
        with self.assertRaisesRegex(pirx.Unavailable, "no program"):
            pirx.serve(self.path / "none", program=str(self.path / "no-program"))

    def test_a_program_that_may_not_be_executed(self):
        (self.path / "program").write_text("no program")
        for call in (lambda: pirx.Database(self.path / "db", program=str(self.path / "program")),
                     lambda: pirx.serve(self.path / "db", program=str(self.path / "program"))):
            self.assertRaisesRegex(pirx.Unavailable, "may not be executed", call)

    def test_a_child_of_fork_leaves_the_folder(self):
        code = ("import os, sys, support\n"
                "with support.pirx.serve(sys.argv[1], 'download') as servers:\n"
                "    child = os.fork()\n"
                "    if child == 0:\n"
                "        sys.exit(0)\n"
                "    os.waitpid(child, 0)\n"
                "    print(servers.deployment_file.exists(), servers.deployment.get(0))\n")
        done = subprocess.run([sys.executable, "-c", code, str(self.build([b"x"]).path)], capture_output=True, text=True,
                              cwd=Path(__file__).parent)
        self.assertEqual(done.stdout, "True b'x'\n", done.stderr)

    def test_servers(self):
        database = self.build([b"x%d" % i for i in range(50)])
        with pirx.serve(database, threshold=2, servers=4) as servers:
            children = list(servers._children)
            self.assertEqual(len(set(servers.urls)), 4)
            self.assertEqual(servers.deployment.get(7), b"x7")
            folder = servers.deployment_file.parent
        self.assertTrue(all(child.poll() is not None for child in children))
        self.assertFalse(folder.exists())
        servers.close()
        for wrong in (lambda: pirx.serve(database, servers=0), lambda: pirx.serve([database] * 2, servers=3),
                      lambda: pirx.serve(database, "telepathy"),
                      lambda: pirx.serve(database, serve_options=["--no-such-option"]),
                      lambda: pirx.serve(database, threshold=7)):
            self.assertRaises(pirx.InvalidArgument, wrong)

    def test_buckets(self):
        database = self.build([b"record %03d" % i for i in range(200)])
        subprocess.run([os.environ["PIRX_PROGRAM"], "db", "encode", str(database.path), "--servers", "5", "--arity", "2",
                        "--out", str(self.path / "bucket")], check=True, capture_output=True)
        with pirx.serve([self.path / f"bucket.{i}" for i in range(1, 6)]) as servers:
            self.assertEqual(servers.deployment.get(150), b"record 150")

    def test_the_end_of_the_program_ends_the_servers(self):
        database = self.build([b"x"])
        code = ("import sys, support; s = support.pirx.serve(sys.argv[1], 'download');"
                "print(s._children[0].pid); 1 / 0")
        done = subprocess.run([sys.executable, "-c", code, str(database.path)], capture_output=True, text=True,
                              cwd=Path(__file__).parent)
        self.assertIn("ZeroDivisionError", done.stderr)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(done.stdout), 0)


if __name__ == "__main__":
    unittest.main()
