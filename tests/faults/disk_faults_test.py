#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds, updates, compactions, encodings and prepared files, each of whose calls to the disk is killed (SIGKILL), finds it
full (ENOSPC) or fails (EIO), one run a call. strace does that. Afterwards the old files are whole or the new ones; an
error has a message and leaves nothing behind; and the same command without the fault finishes the work.

    disk_faults_test.py PIRX [--all]

Without --all only some of the calls are tried.
"""
import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PIRX = ""
ALL = False
CALLS = ("write", "writev", "pwrite64", "pwritev", "fsync", "fdatasync", "rename", "renameat", "renameat2", "ftruncate",
         "fallocate", "link", "linkat", "unlink", "fchmod", "msync", "copy_file_range", "sendfile")
FAULTS = ("signal=KILL", "error=ENOSPC", "error=EIO")
# One thread: strace counts the calls of each thread.
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}
RECORDS = 300


def stopped(tracer):
    """The process that this one traces, once it has stopped."""
    seen = 0
    for _ in range(6000):
        time.sleep(0.01)
        traced = Path(f"/proc/{tracer}/task/{tracer}/children").read_text().split()
        state = ""
        with contextlib.suppress(FileNotFoundError, IndexError):  # strace has children of its own for a moment
            state = Path(f"/proc/{traced[0]}/stat").read_text().rpartition(")")[2].split()[0]
        seen = seen + 1 if state in ("t", "T") else 0  # for longer than at a call that is traced
        if seen == 50:
            return int(traced[0])
    raise TimeoutError("the traced process does not stop")


def lines_of(name):
    return "k,v\n" + "".join(f"key{i},{name} {i}\n" for i in range(RECORDS)) + f"only {name},{name}\n"


class DiskFaults(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.path = Path(self.kept.name) / "work"
        self.start = Path(self.kept.name) / "start"
        self.start.mkdir()
        for name in ("old", "new"):
            (self.start / f"{name}.csv").write_text(lines_of(name))
        (self.start / "record").write_text("new 7")
        self.runs = self.hits = 0

    def tearDown(self):
        print(f"{self._testMethodName}: {self.runs} runs, {self.hits} faults", flush=True)
        self.kept.cleanup()

    def run_it(self, *words, folder=None, before=()):
        return subprocess.run([*before, PIRX, *map(str, words)], cwd=folder or self.path, env=ENVIRONMENT, text=True,
                              capture_output=True, timeout=120, stdin=subprocess.DEVNULL)

    def succeed(self, *words, folder=None):
        done = self.run_it(*words, folder=folder)
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done.stdout

    def fresh(self):
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.copytree(self.start, self.path)

    def serve(self, before=()):
        """Starts a server that prepares, and stops it when it listens. As a finished process."""
        words = [*before, PIRX, "serve", "db", "--coordinate", "1", "--listen", "127.0.0.1:0", "--prepared", "planes"]
        with subprocess.Popen(words, cwd=self.path, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, start_new_session=True) as child:
            ready, _, _ = select.select([child.stdout], [], [], 60)
            line = child.stdout.readline() if ready else ""
            # strace passes no signals on: its tracee, the only other one of the session, gets it, too.
            try:
                os.killpg(child.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
            out, error = child.communicate(timeout=60)
            code = 0 if "listening" in line else child.returncode
            return subprocess.CompletedProcess(words, code, line + out, error)

    def calls_of(self, run):
        """How often each call is made."""
        trace = Path(self.kept.name) / "trace"
        # Not every kernel has every call.
        run(("strace", "-f", "-qq", "-o", trace, "-e", "trace=" + ",".join("?" + call for call in CALLS)))
        names = re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE)
        return {name: names.count(name) for name in dict.fromkeys(names)}

    def every_fault(self, name, run, is_whole, also=()):
        """`run(before)` is the command; `is_whole(done)` checks the files, done: they must be the new ones."""
        self.fresh()
        calls = self.calls_of(run)
        is_whole(True)
        expected = sorted(p.name for p in self.path.iterdir())
        self.assertGreater(sum(calls.values()), 2, name)
        points = [(call, n) for call, count in calls.items() for n in range(1, count + 1)]
        trace = Path(self.kept.name) / "trace"
        for fault in FAULTS:
            some = points if ALL else points[len(fault) % 3::max(1, len(points) // 3)]
            for call, n in some:
                with self.subTest(command=name, fault=fault, call=call, n=n):
                    self.fresh()
                    trace.write_text("")
                    inject = ("strace", "-f", "-qq", "-o", trace, "-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={n}")
                    done = run(inject)
                    self.runs += 1
                    killed = done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
                    if fault == "signal=KILL":
                        self.assertTrue(killed or done.returncode == 0, done)
                        self.hits += killed
                    else:
                        self.hits += "INJECTED" in trace.read_text()
                        self.assertGreaterEqual(done.returncode, 0, done.stderr)
                        self.assertLess(done.returncode, 128, done.stderr)
                        if done.returncode != 0:
                            self.assertIn(done.returncode, (5, 6), done.stderr)
                            self.assertIn("pirx: ", done.stderr)
                        if call not in ("unlink", "unlinkat"):
                            litter = [p.name for p in self.path.iterdir() if ".tmp-" in p.name]
                            self.assertEqual(litter, [], done.stderr)
                    is_whole(done.returncode == 0 and not killed)
                    again = run(())
                    self.assertEqual(again.returncode, 0, again.stderr)
                    is_whole(True)
                    # A delta of the file before belongs to none; the next change removes it.
                    found = sorted(p.name for p in self.path.iterdir() if p.name not in also)
                    self.assertEqual(found, [name for name in expected if name not in also])

    def check_database(self, done, position=7):
        """Either content as a whole, the new one if `done`."""
        self.succeed("db", "verify", "db")
        record = self.succeed("db", "get", "db", position)
        self.assertIn(record.split()[0], ("new",) if done else ("old", "new"))
        return record.split()[0]

    def test_build(self):
        self.succeed("db", "build", "db", "old.csv", "--key", "k", "--value", "v", folder=self.start)
        words = ("db", "build", "db", "new.csv", "--key", "k", "--value", "v")
        self.every_fault("build", lambda before: self.run_it(*words, before=before), self.check_database)

    def test_build_keyed(self):
        words = ("db", "build", "db", "new.csv", "--key", "k", "--value", "v", "--keyed")
        self.succeed("db", "build", "db", "old.csv", "--key", "k", "--value", "v", "--keyed", folder=self.start)

        def whole(done):
            self.succeed("db", "verify", "db")
            epoch = int(re.search(r"^epoch +(\d+)", self.succeed("db", "info", "db"), re.MULTILINE)[1])
            self.assertGreaterEqual(epoch, 2 if done else 1)
            # Whichever database it is, all of its keys are known.
            with tempfile.TemporaryDirectory() as copy:
                shutil.copytree(self.path, copy, dirs_exist_ok=True)
                self.succeed("db", "update", "db", "--key", "key7=record", folder=copy)
        self.every_fault("build --keyed", lambda before: self.run_it(*words, before=before), whole)
        # After a crash between database and list, .keys.new alone has all keys.
        (self.start / "db.keys").rename(self.start / "db.keys.new")
        (self.start / "db.keys").write_text("pirx key list 1\nkey7\n")
        self.every_fault("build --keyed again", lambda before: self.run_it(*words, before=before), whole)

    def test_update(self):
        self.succeed("db", "build", "db", "old.csv", "--key", "k", "--value", "v", folder=self.start)
        words = ("db", "update", "db", "--set", "7=record")
        self.every_fault("update", lambda before: self.run_it(*words, before=before), self.check_database)

    def test_compact(self):
        self.succeed("db", "build", "db", "old.csv", "--key", "k", "--value", "v", folder=self.start)
        self.succeed("db", "update", "db", "--set", "7=record", folder=self.start)

        def whole(_):
            self.assertEqual(self.check_database(True), "new")
        self.every_fault("compact", lambda before: self.run_it("db", "compact", "db", before=before), whole,
                         also=("db.delta",))

    def test_encode(self):
        self.succeed("db", "build", "db", "new.csv", "--key", "k", "--value", "v", folder=self.start)
        words = ("db", "encode", "db", "--servers", 3, "--arity", 2, "--out", "bucket")

        def whole(done):
            for i in (1, 2, 3):
                if done or (self.path / f"bucket.{i}").exists():
                    self.succeed("db", "verify", f"bucket.{i}")
        self.every_fault("encode", lambda before: self.run_it(*words, before=before), whole)

    def test_prepare(self):
        self.succeed("db", "build", "db", "new.csv", "--key", "k", "--value", "v", folder=self.start)

        def whole(done):
            self.succeed("db", "verify", "db")
        self.every_fault("serve --prepared", self.serve, whole)

    def test_a_delta_that_cannot_be_looked_for_is_not_forgotten(self):
        self.fresh()
        self.succeed("db", "build", "db", "old.csv", "--key", "k", "--value", "v")
        self.succeed("db", "update", "db", "--set", "7=record")
        kept = (self.path / "db.delta").read_bytes()
        inject = ("strace", "-f", "-qq", "-o", "/dev/null", "-P", "db.delta", "-e", "inject=?newfstatat,?lstat,?stat,?statx:error=EIO")
        for words in (("db", "get", "db", "7"), ("db", "update", "db", "--set", "8=record"), ("db", "compact", "db")):
            done = self.run_it(*words, before=inject)
            self.assertEqual(done.returncode, 5, (words, done.stderr))
            self.assertIn("db.delta: Input/output error", done.stderr)
        self.assertEqual((self.path / "db.delta").read_bytes(), kept)
        self.assertEqual(self.succeed("db", "get", "db", "7"), "new 7\n")

    def test_what_is_put_in_place_while_the_new_file_is_written_to_the_disk_stays(self):
        commands = (("db", "build", "db", "new.csv", "--key", "k", "--value", "v"), ("db", "update", "db", "--set", "8=record"),
                    ("db", "compact", "db"))
        # The second time it is the folder that is written, with the new file in place.
        for words, when in ((words, when) for words in commands for when in (1, 2)):
            self.fresh()
            self.succeed("db", "build", "db", "old.csv", "--key", "k", "--value", "v")
            self.succeed("db", "update", "db", "--set", "7=record")
            self.succeed("db", "build", "other", "old.csv", "--key", "k", "--value", "v", "--epoch", "9")
            stop = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", f"inject=fsync:signal=STOP:when={when}")
            with subprocess.Popen([*stop, PIRX, *words], cwd=self.path, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as child:
                try:
                    tracee = stopped(child.pid)
                    os.rename(self.path / "other", self.path / "db")
                    error = None
                    for _ in range(12):  # on a busy machine it may stop later than it seems
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(tracee, signal.SIGCONT)
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            error = child.communicate(timeout=5)[1]
                            break
                finally:
                    child.kill()  # else this would wait for it whatever went wrong
            self.assertEqual(child.returncode, 5 if when == 1 else 0, (words, error))
            if when == 1:
                self.assertIn("was replaced or changed meanwhile", error)
            self.assertIn('"epoch":9', self.succeed("db", "info", "db", "--json").replace(" ", ""))

    def test_a_file_system_without_locks_is_named(self):
        self.fresh()
        self.succeed("db", "build", "db", "old.csv", "--key", "k", "--value", "v")
        inject = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=flock:error=ENOLCK")
        done = self.run_it("db", "update", "db", "--set", "7=record", before=inject)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("cannot lock db: No locks available", done.stderr)

    def test_databases_are_updated_where_only_files_open_for_writing_are_locked(self):  # NFS
        self.fresh()
        self.succeed("db", "build", "db", "old.csv", "--key", "k", "--value", "v")
        inject = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=flock:error=EBADF:when=1")
        self.assertEqual(self.run_it("db", "update", "db", "--set", "7=record", before=inject).returncode, 0)
        self.assertIn('"epoch":2', self.succeed("db", "info", "db", "--json").replace(" ", ""))


if __name__ == "__main__":
    ALL = "--all" in sys.argv
    PIRX = os.path.abspath(sys.argv[1])
    if shutil.which("strace") is None:
        print("left out: there is no strace")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
