#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A proxy that stands before one pirx server and misbehaves on purpose: for demonstrations and tests, never in a server.

    faulty_proxy.py --listen 127.0.0.1:9001 --upstream 127.0.0.1:8101 --mode lie

Modes: honest, lie (adds a random value to every reply word), flip (one bit), zero, truncate, extend, close (in
mid-reply), slow (after --delay seconds), stale (another epoch), conspire (answers from the server --other of another
database of the same shape, under this one's name: several such proxies lie in concert, on one polynomial). --tap FILE appends every query body that
passes, headers of the message cut off: what this server could see. Standard library only.
"""
import argparse
import hashlib
import os
import socket
import sys
import threading
import time
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HEADER = 80  # bytes of a message header, docs/wire_format.md
PLAIN = b"\1" + bytes(15)  # of the encoding that follows the header of a parameters message
CODE_AT = HEADER + 16 + 88  # in a parameters message: the name of a batch code, if there is one
EPOCH_AT = 48
VERSION = slice(16, 56)  # identity and epoch of a database
MODES = ("honest", "lie", "flip", "zero", "truncate", "extend", "close", "slow", "stale", "conspire")


def misbehave(body: bytes, mode: str) -> bytes:
    head, words = body[:HEADER], bytearray(body[HEADER:])
    if mode == "lie":
        words = bytearray(a ^ b for a, b in zip(words, os.urandom(len(words))))
    elif mode == "flip":
        words[len(words) // 2] ^= 1
    elif mode == "zero":
        words = bytearray(len(words))
    elif mode == "truncate":
        words = words[:-1]
    elif mode == "extend":
        words += b"\0"
    elif mode == "stale":
        epoch = int.from_bytes(head[EPOCH_AT : EPOCH_AT + 8], "little") + 1
        head = head[:EPOCH_AT] + epoch.to_bytes(8, "little") + head[EPOCH_AT + 8 :]
    return head + bytes(words)


def ask(address, command, path, body):
    host, _, port = address.rpartition(":")
    connection = HTTPConnection(host, int(port), timeout=60)
    try:
        headers = {"Content-Type": "application/octet-stream"} if body is not None else {}
        connection.request(command, path, body, headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def with_version(message: bytes, version: bytes) -> bytes:
    return message[: VERSION.start] + version + message[VERSION.stop :]


def version_of_queries(parameters: bytes) -> bytes:
    """Those of encoded databases and of batch codes are bound to the encoding or code."""
    identity, epoch = parameters[VERSION][:32], parameters[VERSION][32:]
    encoding, code = parameters[HEADER : HEADER + 16], parameters[CODE_AT:]
    if encoding != PLAIN:
        identity = hashlib.sha256(b"pirx encoded v1" + encoding + identity).digest()
    if code:
        identity = hashlib.sha256(b"pirx vertical v1" + code + b"\n" + identity).digest()
    return identity + epoch


def make_handler(options):
    tap_lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self, body):
            if options.mode != "conspire" or body is None:
                return ask(options.upstream, self.command, self.path, body)
            version = version_of_queries(ask(options.other, "GET", "/v1/parameters", None)[2])
            status, headers, reply = ask(options.other, self.command, self.path, with_version(body, version))
            return status, headers, with_version(reply, body[VERSION]) if status == 200 else reply

        def answer(self, body):
            try:
                status, headers, reply = self.forward(body)
            except (OSError, HTTPException) as error:
                self.send_error(502, f"upstream: {error}")
                return
            mode = options.mode if self.command == "POST" and status == 200 else "honest"
            if mode == "slow":
                time.sleep(options.delay)
            claimed = len(reply)
            if mode != "close":
                reply = misbehave(reply, mode)
                claimed = len(reply)
            self.send_response(status)
            for name in ("Content-Type", "Pirx-Error", "Pirx-Instance", "Retry-After"):
                if headers.get(name):
                    self.send_header(name, headers[name])
            self.send_header("Content-Length", str(claimed))
            self.end_headers()
            if mode == "close":
                self.wfile.write(reply[: claimed // 2])
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            self.wfile.write(reply)

        def do_GET(self):
            self.answer(None)

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if options.tap:
                with tap_lock, open(options.tap, "ab") as file:
                    file.write(body[HEADER:])
            self.answer(body)

        def log_message(self, *_):
            pass

    return Handler


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", default="127.0.0.1:0", help="address:port; port 0 takes a free one")
    parser.add_argument("--upstream", required=True, help="address:port of the real server")
    parser.add_argument("--mode", choices=MODES, default="honest")
    parser.add_argument("--other", help="address:port of a server of another database, for --mode conspire")
    parser.add_argument("--delay", type=float, default=3.0, help="seconds, for --mode slow")
    parser.add_argument("--tap", help="file to append query bodies to")
    options = parser.parse_args()
    if (options.mode == "conspire") != (options.other is not None):
        parser.error("--mode conspire needs --other, and nothing else does")
    host, _, port = options.listen.rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), make_handler(options))
    server.daemon_threads = True
    print(f"listening on port {server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
