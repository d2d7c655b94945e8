#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pirx serve --web` and `--cors`: what they answer, to whom, and what they refuse.

    serve_test.py PIRX
"""
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from http.client import HTTPConnection

from support import Served

ORIGIN = "https://pages.example.org"
QUERY = {"Content-Type": "application/octet-stream"}


class Serve(Served):
    def setUp(self):
        self.page = self.path / f"page{self.id()}"
        self.page.mkdir()
        for name in ("index.html", "page.css", "page.js", "pirx.js"):
            (self.page / name).write_text(f"this is {name}")
        (self.page / "pirx.wasm.gz").write_bytes(gzip.compress(b"this is pirx.wasm"))

    def ask(self, url, method, path, headers={}, body=None):
        connection = HTTPConnection(url.partition("://")[2], timeout=30)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def refused(self, *words):
        done = subprocess.run([self.pirx, "serve", "keyed.pirx", "--coordinate", "1", "--listen", "127.0.0.1:0", *words],
                              cwd=self.path, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def serve_cors(self, *words):
        return self.serve("keyed.pirx", "--coordinate", "1", "--listen", "127.0.0.1:0", *words)

    def test_an_allowed_origin(self):
        url = self.serve_cors("--cors", f"http://127.0.0.1:8101,{ORIGIN}")
        for origin in (ORIGIN, "http://127.0.0.1:8101"):
            status, headers, body = self.ask(url, "OPTIONS", "/v1/query", {"Origin": origin, "Access-Control-Request-Method": "POST"})
            self.assertEqual((status, headers["Access-Control-Allow-Origin"], body), (200, origin, b""))
            self.assertIn("POST", headers["Access-Control-Allow-Methods"])
            self.assertIn("Content-Type", headers["Access-Control-Allow-Headers"])
            self.assertEqual(headers["Vary"], "Origin")
            # Also where it is refused, so that the page learns why.
            status, headers, _ = self.ask(url, "POST", "/v1/query", {"Origin": origin, **QUERY}, b"nonsense")
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (400, origin))
            self.assertIn("Pirx-Error", headers["Access-Control-Expose-Headers"])

    def test_other_origins(self):
        url = self.serve_cors("--cors", ORIGIN)
        for origin in ("https://other.example.org", "null", ORIGIN + ".evil.org", ORIGIN.upper(), "http://pages.example.org", "*"):
            status, headers, body = self.ask(url, "OPTIONS", "/v1/query", {"Origin": origin})
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (403, None), origin)
            self.assertIn("--cors", body.decode())
            status, headers, _ = self.ask(url, "GET", "/v1/parameters", {"Origin": origin})
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (200, None))
        # Programs that are no browsers send no Origin.
        self.assertEqual(self.ask(url, "GET", "/v1/parameters")[0], 200)
        self.assertEqual(self.ask(url, "OPTIONS", "/v1/query")[0], 403)

    def test_any_origin(self):
        status, headers, _ = self.ask(self.serve_cors("--cors", "*"), "OPTIONS", "/v1/query", {"Origin": ORIGIN})
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (200, "*"))

    def test_pages_learn_nothing_of_the_state(self):
        url = self.serve_cors("--cors", "*")
        for path in ("/status", "/metrics"):
            status, headers, _ = self.ask(url, "GET", path, {"Origin": ORIGIN})
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (200, None))

    def test_without_cors(self):
        url = self.serve_cors()
        status, headers, _ = self.ask(url, "OPTIONS", "/v1/query", {"Origin": ORIGIN})
        self.assertEqual((status, headers["Allow"], headers["Access-Control-Allow-Origin"]), (405, "POST", None))
        self.assertEqual(self.ask(url, "GET", "/pirx.js")[0], 404)

    def test_bad_origins(self):
        for origin in ("example.org", "https://", "https://example.org/", "https://Example.org", "https://a b", "null", "https://a,",
                       "https://a\r\nX: y"):
            message = self.refused("--cors", origin)
            self.assertIn("--cors wants origins", message, origin)

    def test_the_page(self):
        servers = self.servers("keyed.pirx", 3)
        urls = [server["url"] for server in json.loads(servers.read_text())["servers"]]
        url = self.serve_cors("--web", servers.name, "--web-folder", self.page)
        for path, name, kind in (("/", "index.html", "text/html"), ("/page.css", "page.css", "text/css"),
                                 ("/page.js", "page.js", "text/javascript"), ("/pirx.js", "pirx.js", "text/javascript"),
                                 ("/pirx.wasm", "pirx.wasm", "application/wasm")):
            status, headers, body = self.ask(url, "GET", path)
            if headers["Content-Encoding"] == "gzip":
                body = gzip.decompress(body)
            self.assertEqual((status, body.decode()), (200, f"this is {name}"))
            self.assertEqual(headers["Content-Type"].partition(";")[0], kind)
            self.assertEqual((headers["X-Content-Type-Options"], headers["Cache-Control"]), ("nosniff", "no-store"))
            policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
            self.assertEqual((policy["default-src"], policy["script-src"]), ("'none'", "'self' 'wasm-unsafe-eval'"))
            self.assertEqual(sorted(policy["connect-src"].split()), sorted(["'self'", *urls]))
            self.assertEqual(self.ask(url, "POST", path, {}, b"")[0], 405)
        status, headers, body = self.ask(url, "GET", "/deployment.json")
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        self.assertEqual(json.loads(body), json.loads(servers.read_text()))
        for path in ("/index.html", "//", "/../t.jsonl", "/page.js?x", "/%2e%2e/t.jsonl", "/etc/passwd"):
            self.assertEqual(self.ask(url, "GET", path)[0], 404, path)
        self.assertEqual(self.ask(url, "GET", "/healthz")[0], 200)

    def test_the_page_of_a_later_epoch(self):
        shutil.copy(self.path / "plain.pirx", self.path / "epochs.pirx")
        server = self.serve("epochs.pirx", "--protocol", "download", "--listen", "127.0.0.1:0", "--watch", "50ms")
        target = self.path / "epochs.json"
        self.run_pirx("deploy", target, "--server", server)
        watching = self.serve_cors("--web", target.name, "--web-folder", self.page, "--watch", "50ms")
        asked = self.serve_cors("--web", target.name, "--web-folder", self.page)
        child = self.child

        def shown(url):
            return json.loads(self.ask(url, "GET", "/deployment.json")[2])

        def wait_for(condition):
            end = time.monotonic() + 60
            while not condition():
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)

        before = json.loads(target.read_text())
        self.assertEqual([shown(watching), shown(asked)], [before] * 2)
        (self.path / "new").write_text("new")
        self.run_pirx("db", "update", "epochs.pirx", "--set", "0=new")
        wait_for(lambda: "up to date" not in self.run_pirx("deploy", "--refresh", target))
        after = json.loads(target.read_text())
        self.assertNotEqual(after, before)
        wait_for(lambda: shown(watching) == after)
        self.assertEqual(shown(asked), before)
        # On SIGHUP the other files are read again, too. A bad file changes nothing.
        (self.page / "page.js").write_text("new")
        child.send_signal(signal.SIGHUP)
        wait_for(lambda: shown(asked) == after)
        self.assertEqual(self.ask(asked, "GET", "/page.js")[2], b"new")
        target.write_text("{}")
        time.sleep(0.3)
        self.assertEqual(shown(watching), after)
        # Nor does a pipe, to which nobody writes.
        target.unlink()
        os.mkfifo(target)
        time.sleep(0.3)
        self.assertEqual(shown(watching), after)
        target.unlink()
        target.write_text(json.dumps(before))
        wait_for(lambda: shown(watching) == before)

    def test_a_config_file(self):
        deployment = self.servers("keyed.pirx", 3)
        config = {"listen": "127.0.0.1:0", "cors": ORIGIN, "web": deployment.name, "web_folder": self.page.name,
                  "databases": [{"name": "one", "file": "keyed.pirx", "coordinate": 1}]}
        (self.path / "config.json").write_text(json.dumps(config))
        url = self.serve("--config", "config.json")
        self.assertEqual(self.ask(url, "GET", "/page.js")[2], b"this is page.js")
        headers = self.ask(url, "OPTIONS", "/v1/db/one/query", {"Origin": ORIGIN})[1]
        self.assertEqual(headers["Access-Control-Allow-Origin"], ORIGIN)

    def test_bad_pages(self):
        name = self.servers("keyed.pirx", 3).name
        self.assertIn("--web DEPLOYMENT", self.refused("--web-folder", str(self.page)))
        (self.page / "page.js").unlink()
        self.assertIn("page.js", self.refused("--web", name, "--web-folder", str(self.page)))
        (self.path / "bad.json").write_text("{}")
        for file, code in (("bad.json", 2), ("none.json", 5)):
            done = subprocess.run([self.pirx, "serve", "keyed.pirx", "--coordinate", "1", "--web", file, "--web-folder", self.page],
                                  cwd=self.path, capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(file if code == 5 else "deployment file", done.stderr)


if __name__ == "__main__":
    Served.pirx = os.path.abspath(sys.argv.pop(1))
    unittest.main()
