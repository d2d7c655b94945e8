#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on what a server has a limit of: its memory, by crowds of connections that hold what they can get, and its
threads, where the system gives too few.

    serve_limits_test.py PIRX
"""
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time
import unittest
from pathlib import Path

import command_line_test as cl

MIB = 1 << 20
LIMIT = 48 * MIB  # --max-in-flight
HEAD = b"POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"
# As long as a header may be: in fields of one letter, which parsed take ten times their bytes, and in few long ones.
FIELDS = HEAD + b"a:b\r\n" * ((8192 - len(HEAD) - 100) // 5)
LONG = HEAD + (b"a: " + 130 * b"x" + b"\r\n") * 58


class ServeLimits(cl.Servers):
    tls, before = None, ()

    def serve(self, *more, each=10000):
        source = self.path / "records"
        source.write_bytes(bytes(2 * MIB))
        cl.run("db", "build", self.path / "db.pirx", source, "--from", "fixed", "--record-bytes", 16)
        return self.start(*self.before, cl.PIRX, "serve", self.path / "db.pirx", "--coordinate", 1, "--threads", 1, "--listen",
                          "127.0.0.1:0", "--max-in-flight", LIMIT, "--connections-per-client", each, "--header-timeout", "10m",
                          "--body-timeout", "10m", *more)

    def memory(self, server, which):
        status = Path(f"/proc/{server.child.pid}/status").read_text()
        return int(re.search(which + r":\s+(\d+) kB", status).group(1)) * 1024

    def connect(self, server):
        plain = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        return self.tls.wrap_socket(plain) if self.tls else plain

    def connections(self, server):
        """How many connections there are beside the one that asks; None where the server is full and cuts that one off."""
        page = b""
        try:
            with self.connect(server) as asking:
                asking.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                page = b"".join(iter(lambda: asking.recv(65536), b""))
        except OSError:
            pass
        found = re.search(rb"\npirx_connections (\d+)", page)
        return int(found.group(1)) - 1 if found else None

    def bound(self, held):
        """docs/operations.md: the database and its prepared form, what is held, what the heap keeps, and the program."""
        return 2 * (self.path / "db.pirx").stat().st_size + held + LIMIT // 16 + 32 * MIB

    def expect_bounded(self, server, attack):
        """`attack` on as many connections as the server takes: while they are held, at the highest, and after they are gone."""
        crowd = []
        for _ in range(600 if self.tls else 1500):
            try:
                crowd.append(self.connect(server))
                crowd[-1].sendall(attack)
            except OSError:  # refused, or cut off
                pass
        time.sleep(1)  # for what is on its way; less has come where this is too short
        held, highest = self.memory(server, "VmRSS"), self.memory(server, "VmHWM")
        for one in crowd:
            one.close()
        self.assertGreater(len(crowd), 20)
        self.assertLess(held, 1.1 * self.bound(LIMIT))
        self.assertLess(highest, 1.1 * self.bound(LIMIT))
        deadline = time.monotonic() + 60
        while (left := self.connections(server)) != 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(left, 0)
        self.assertLess(self.memory(server, "VmRSS"), 1.1 * self.bound(0))

    def attack_all(self, server):
        longest = self.event(server, "start")["max_request_bytes"]
        self.assertGreater(longest, 100_000)
        length = b"Content-Length: %d\r\n\r\n" % longest
        for name, attack in (
            ("one byte", HEAD + length + b"x"),
            ("half a body", HEAD + length + b"x" * (longest // 2)),
            ("many fields", FIELDS + length + b"x"),
            ("long fields", LONG + length + b"x"),
            ("half a header", FIELDS),
            ("half a long header", LONG),
            ("refused and kept", HEAD + b"Content-Length: 100000\r\n\r\n" + b"x" * 100_000),
            ("one byte again", HEAD + length + b"x"),
        ):
            with self.subTest(attack=name):
                self.expect_bounded(server, attack)
        self.assertEqual(server.stop(), 0)

    def test_memory(self):
        self.attack_all(self.serve())

    def test_memory_over_tls(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                        "key.pem", "-out", "cert.pem", "-subj", "/CN=x", "-days", "1"], check=True, capture_output=True, cwd=self.path)
        self.tls = ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        self.attack_all(self.serve("--tls-cert", self.path / "cert.pem", "--tls-key", self.path / "key.pem"))

    def test_one_address_leaves_descriptors_to_others(self):
        """Where the system gives fewer descriptors than the server may have connections."""
        self.before = "prlimit", "--nofile=200:200"
        server = self.serve(each=1)
        crowd = []
        for _ in range(250):
            crowd.append(socket.socket())
            crowd[-1].bind(("127.0.0.2", 0))
            crowd[-1].settimeout(10)
            try:
                crowd[-1].connect(("127.0.0.1", server.port))
                crowd[-1].sendall(b"GET")
            except OSError:  # refused, or cut off
                pass
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as other:
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertIn(b" 200 ", other.recv(4096))
        for one in crowd:
            one.close()
        self.assertEqual(server.stop(), 0)

    def test_a_database_that_does_not_fit_is_not_called_damaged(self):
        source, database = self.path / "records", self.path / "db.pirx"
        source.write_bytes(bytes(64 * MIB))
        cl.run("db", "build", database, source, "--from", "fixed", "--record-bytes", 1024)
        errors = [subprocess.run(["prlimit", f"--as={mib * MIB}", cl.PIRX, "db", "info", database], capture_output=True,
                                 text=True).stderr for mib in range(32, 128, 8)]
        self.assertIn("Cannot allocate memory", "".join(errors))
        self.assertNotIn("damaged", "".join(errors))

    def test_threads_that_cannot_be_made(self):
        """The stacks of threads are as large as the address space that is left, so that just so many can be made."""
        stack = 1 << 30
        if 0 <= resource.getrlimit(resource.RLIMIT_STACK)[1] < stack:
            self.skipTest("the system does not allow stacks of 1 GiB")
        source = self.path / "records"
        source.write_text("".join(f"record {i}\n" for i in range(100)))
        cl.run("db", "build", self.path / "db.pirx", source, "--from", "lines")

        def limited(threads):
            def limit():
                resource.setrlimit(resource.RLIMIT_STACK, (stack, resource.getrlimit(resource.RLIMIT_STACK)[1]))
                resource.setrlimit(resource.RLIMIT_AS, (stack * (threads + 1), stack * (threads + 1)))
            return limit

        for team in (1, 3):  # fewer than the machine has cores, and often more
            words = [cl.PIRX, "serve", self.path / "db.pirx", "--coordinate", 1, "--threads", team, "--io-threads", 2, "--listen",
                     "127.0.0.1:0"]
            refused = 0
            for threads in range(40):
                child = subprocess.Popen(list(map(str, words)), preexec_fn=limited(threads), stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)
                line = child.stdout.readline()
                child.send_signal(signal.SIGTERM)
                errors = child.communicate(timeout=60)[1]
                if line.startswith("listening"):
                    self.assertEqual(child.returncode, 0, errors)
                    break
                refused += 1
                self.assertEqual(child.returncode, 6, f"{threads} threads, --threads {team}: {errors}")
                self.assertIn("lower --threads", errors)
            self.assertGreater(refused, 3)
            self.assertLess(refused, 39)
        # Without one for its servers `pirx try` ends with an error, too, and is not aborted.
        for threads in range(1, 4):
            done = subprocess.run([cl.PIRX, "try", source, "--from", "lines", "--lookup", "7"], preexec_fn=limited(threads),
                                  env={**os.environ, "TMPDIR": str(self.path)}, capture_output=True, text=True, timeout=60)
            self.assertGreaterEqual(done.returncode, 0, f"{threads} threads: {done.stderr}")


if __name__ == "__main__":
    cl.PIRX = sys.argv.pop(1)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    unittest.main(verbosity=1)
