#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pirx with too few file descriptors, too little memory and too small files: every command ends by itself, with its result or with an error
that says what is wrong; never by a signal.

    limits_test.py PIRX
"""
import resource
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, "tests/tools")
import command_line_test as cl  # noqa: E402


class Limits(cl.Servers):
    def make(self):
        (self.path / "r.csv").write_text("k,v\n" + "".join(f"key{i},value {i}\n" for i in range(200)))
        cl.run("db", "build", "db", "r.csv", "--key", "k", "--value", "v", cwd=self.path)
        servers = [self.serve(self.path / "db", i) for i in (1, 2, 3)]
        words = [word for server in servers for word in ("--server", server.url)]
        cl.run("deploy", "d.json", *words, cwd=self.path)

    def end(self, words, kind, limit):
        done = subprocess.run([cl.PIRX, *words], cwd=self.path, capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)))
        if done.returncode == 127 and "shared libraries" in done.stderr:
            return None  # it did not begin
        self.assertIn(done.returncode, range(0, 11), (words, limit, done.stderr))
        if done.returncode != 0:
            self.assertIn("pirx", done.stderr, (words, limit))
        return done.returncode

    def test_few_descriptors(self):
        self.make()
        for words in (("get", "d.json", "7"), ("db", "build", "new", "r.csv", "--key", "k", "--value", "v"), ("db", "verify", "db"),
                      ("db", "update", "db", "--set", "7=r.csv")):
            codes = [self.end(words, resource.RLIMIT_NOFILE, limit) for limit in (*range(3, 16), 24, 64)]
            if words[1] != "update":
                self.assertEqual(codes[-1], 0, words)
            if words[0] == "get" or words[1] == "build":
                self.assertTrue(any(codes), words)

    def test_little_memory(self):
        self.make()
        for words in (("get", "d.json", "7"), ("db", "verify", "db")):
            codes = [self.end(words, resource.RLIMIT_AS, limit << 20) for limit in (24, 32, 40, 48, 64, 96, 128, 192, 1024)]
            self.assertEqual(codes[-1], 0, words)

    def test_large_files_are_not_allowed(self):
        self.make()
        self.assertEqual(self.end(("db", "build", "new", "r.csv", "--key", "k", "--value", "v"), resource.RLIMIT_FSIZE, 4096), 6)
        self.assertEqual(sorted(p.name for p in self.path.glob("new*")), [])

    def test_a_server_with_few_descriptors_goes_on(self):
        self.make()
        server = self.processes[0]
        resource.prlimit(server.child.pid, resource.RLIMIT_NOFILE, (24, 24))
        crowd = []
        for _ in range(60):
            try:
                crowd.append(socket.create_connection(("127.0.0.1", server.port), timeout=5))
            except OSError:
                pass
        self.assertIsNone(server.child.poll())
        for connection in crowd:
            connection.close()
        cl.run("get", "d.json", "7", cwd=self.path)
        self.assertIsNone(server.child.poll())


if __name__ == "__main__":
    cl.PIRX = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
