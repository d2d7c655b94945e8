#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers that are frozen, slow, endless or speak something else, against `pirx get`: it ends with an error, soon after its
deadline, and never takes more memory than a look-up may.

    hostile_servers_test.py PIRX
"""
import gzip
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib
from pathlib import Path

PIRX = ""
DEADLINE = 2
# The machine may be busy; memory is no question of that.
GRACE = 15
MOST_MEMORY = 96 << 20

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"


def flood(connection, block, pause=0.0):
    """Sends for as long as somebody reads."""
    end = time.monotonic() + DEADLINE + GRACE
    while time.monotonic() < end:
        connection.sendall(block)
        if pause:
            time.sleep(pause)


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return
        data += part


def frozen(connection):
    time.sleep(DEADLINE + GRACE)


def after_request(words):
    def serve(connection):
        read_request(connection)
        connection.sendall(words)
        time.sleep(DEADLINE + GRACE)
    return serve


def endless(head, block, pause=0.0):
    def serve(connection):
        read_request(connection)
        connection.sendall(head)
        flood(connection, block, pause)
    return serve


def reset(connection):
    connection.recv(100)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def layers_of_nothing():
    """Three layers of gzip in 100 kB, of which the innermost has some 10 GB of blocks without any byte."""
    def squeezed(data):
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        return packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)

    head = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"
    heads, block = [head], b"\0\0\0\xff\xff" * 200_000
    for repeats in (20, 500):
        heads.append(head + squeezed(heads[-1]))
        block = squeezed(block * repeats)
    return heads[-1] + block


SERVERS = {
    "says nothing and reads nothing": frozen,
    "reads and says nothing": after_request(b""),
    "resets": reset,
    "drips a header": endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.2),
    "drips a body": endless(OK + b"Content-Length: 100000\r\n\r\n", b"x", 0.1),
    "has a header without end": endless(b"HTTP/1.1 200 OK\r\n", b"X-Filler: " + b"y" * 8000 + b"\r\n"),
    "has a line without end": endless(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 65536),
    "has a body without end": endless(OK + b"\r\n", b"y" * 65536),
    "announces 1 EiB": endless(OK + b"Content-Length: 1152921504606846976\r\n\r\n", b"y" * 65536),
    "has chunks without end": endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"y" * 65536 + b"\r\n"),
    "has a chunk of 2^64 - 1 bytes": endless(OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", b"y" * 65536),
    "says 100 Continue without end": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "redirects": after_request(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"),
    "redirects to a file": after_request(b"HTTP/1.1 301 Moved\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"),
    "is an SSH server": after_request(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "is an HTTP/2 server": after_request(b"\0\0\x12\4\0\0\0\0\0\0\3\0\0\0\x80\0\4\0\1\0\0\0\5\0\xff\xff\xff"),
    "sends a compressed bomb": after_request(
        OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(gzip.compress(bytes(1 << 26)))
        + gzip.compress(bytes(1 << 26))),
    "sends a transfer of many layers": after_request(OK + b"Transfer-Encoding: gzip, gzip, gzip\r\n\r\n" + layers_of_nothing()),
    "sends an empty reply": after_request(OK + b"Content-Length: 0\r\n\r\n"),
    "refuses with a long text": after_request(
        b"HTTP/1.1 500 No\r\nContent-Length: 3000000\r\n\r\n" + b'{"error":{"code":"Internal","message":"' + b"\x1b[31m" * 600000),
    "sends two lengths": after_request(OK + b"Content-Length: 5\r\nContent-Length: 9\r\n\r\nabcdefghi"),
}


class Hostile:
    """Serves every connection the same way, on loopback."""

    def __init__(self, serve):
        self.serve = serve
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.run, args=(connection,), daemon=True).start()

    def run(self, connection):
        with connection:
            try:
                self.serve(connection)
            except OSError:
                pass


class HostileServers(unittest.TestCase):
    def test_every_kind(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, serve in SERVERS.items():
                with self.subTest(server=name):
                    servers = [Hostile(serve) for _ in range(3)]
                    path = Path(folder) / "deployment.json"
                    path.write_text(json.dumps({
                        "pirx_deployment": 1, "protocol": "goldberg", "field": "gf2_8", "threshold": 1,
                        "database": {"identity": "00" * 32, "epoch": 1, "records": 1000, "record_bytes": 8,
                                     "records_per_row": 1, "variable_length": True, "digests": True},
                        "servers": [{"url": server.url, "coordinate": i} for i, server in enumerate(servers, 1)]}))
                    start = time.monotonic()
                    child = subprocess.Popen([PIRX, "get", path, "7", "--deadline", f"{DEADLINE}s"], stdin=subprocess.DEVNULL,
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
                    out, error = child.stdout.read(100_000), child.stderr.read(100_000)
                    _, status, usage = os.wait4(child.pid, 0)
                    child.returncode = os.waitstatus_to_exitcode(status)
                    child.stdout.close()
                    child.stderr.close()
                    seconds = time.monotonic() - start
                    for server in servers:
                        server.listener.close()
                    self.assertGreater(child.returncode, 0, error)
                    self.assertEqual(out, b"")
                    self.assertIn(b"pirx: ", error)
                    self.assertLess(len(error), 4000)
                    self.assertNotIn(b"\x1b", error)
                    self.assertLess(seconds, DEADLINE + GRACE, error)
                    self.assertLess(usage.ru_maxrss * 1024, MOST_MEMORY, error)


if __name__ == "__main__":
    PIRX = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
