# SPDX-License-Identifier: Apache-2.0
"""What the tests of the browser's client share: real servers, and hostile ones before them."""
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import unittest
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDS = 3000
HTML = "<img src=x onerror=\"document.title='taken over'\">"


def record(i):
    return f"record {i} {HTML}"


class Before(ThreadingHTTPServer):
    """Stands before a server and does to its replies what `mode` says. Lets every page ask it."""
    daemon_threads = True

    def __init__(self, upstream, mode):
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream, self.mode = upstream, mode
        self.asked = []
        self.over = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def end(self):
        self.over.set()
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def start(self, status, kind, size):
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", size), ("Connection", "close"),
                            ("Access-Control-Allow-Origin", "*"), ("Access-Control-Allow-Headers", "Content-Type, Pirx-Timeout"),
                            ("Access-Control-Expose-Headers", "Pirx-Error")):
            self.send_header(name, str(value))
        self.end_headers()
        self.close_connection = True

    def do_OPTIONS(self):
        self.start(200, "text/plain", 0)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(len(body))
        mode = self.server.mode
        if mode == "silent":
            self.server.over.wait(60)
            return
        connection = HTTPConnection(self.server.upstream)
        connection.request("POST", self.path, body, {"Content-Type": "application/octet-stream"})
        response = connection.getresponse()
        reply, kind, status = response.read(), response.headers["Content-Type"], response.status
        connection.close()
        if mode == "lie":
            reply = reply[:80] + bytes(byte ^ 0x5A for byte in reply[80:])
        elif mode == "html":
            reply, kind = HTML.encode(), "text/html"
        elif mode == "refuse":
            reply, kind, status = json.dumps({"error": {"message": HTML}}).encode(), "application/json", 400
        elif mode == "huge":
            self.start(200, kind, 1 << 40)
            try:
                while not self.server.over.is_set():
                    self.wfile.write(reply)
            except OSError:
                pass  # the client has gone
            return
        self.start(status, kind, len(reply))
        self.wfile.write(reply)


class Served(unittest.TestCase):
    """A keyed database of RECORDS records, and what is needed to serve it."""
    pirx = ""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = Path(folder.name)
        (cls.path / "t.jsonl").write_text("".join(json.dumps({"id": f"key{i}", "text": record(i)}) + "\n" for i in range(RECORDS)))
        cls.run_pirx("db", "build", "keyed.pirx", "t.jsonl", "--from", "jsonl", "--key", "id", "--value", "text", "--keyed")
        cls.run_pirx("db", "build", "plain.pirx", "t.jsonl", "--from", "jsonl", "--value", "text")

    @classmethod
    def run_pirx(cls, *words):
        done = subprocess.run([cls.pirx, *map(str, words)], cwd=cls.path, capture_output=True, text=True, timeout=100)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stderr}")
        return done.stdout

    def serve(self, *words):
        """Starts a server, self.child; gives its URL."""
        child = self.child = subprocess.Popen([self.pirx, "serve", *map(str, words), "--quiet"], cwd=self.path, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.end, child)
        line = child.stdout.readline()
        self.assertRegex(line, "listening on port", words)
        return "http://127.0.0.1:" + re.search(r"port (\d+)", line).group(1)

    @staticmethod
    def end(child):
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=60)
        child.stdout.close()

    def servers(self, database, count, *words, modes={}):
        """Serves the database so often; gives the deployment with hostile servers before some: {number: mode}."""
        name = f"d{len(os.listdir(self.path))}.json"
        urls = [self.serve(database, *(["--coordinate", i + 1] if count > 1 else []), "--listen", "127.0.0.1:0", *words)
                for i in range(count)]
        self.run_pirx("deploy", name, *(word for url in urls for word in ("--server", url)))
        content = json.loads((self.path / name).read_text())
        self.before = {}
        for number, mode in modes.items():
            self.before[number] = Before(urls[number].partition("://")[2], mode)
            self.addCleanup(self.before[number].end)
            content["servers"][number]["url"] = self.before[number].url
        (self.path / name).write_text(json.dumps(content))
        return self.path / name
