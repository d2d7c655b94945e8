#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several databases and protocols behind one port, new epochs under queries, tokens and client certificates, as an
operator and clients would use them.

    databases_test.py PIRX
"""
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

import command_line_test as cl


class Databases(cl.Servers):
    def config(self, name="config.json", **members):
        path = self.path / name
        path.write_text(json.dumps({"listen": "127.0.0.1:0", **members}))
        return path

    def serve(self, *more, **members):
        return self.start(cl.PIRX, "serve", "--config", self.config(**members), *more)

    def record(self, name, text):
        path = self.path / name
        path.write_text(text)
        return path

    def deploy(self, target, database, *servers):
        words = [word for server in servers for word in ("--server", f"{server.url}/v1/db/{database}")]
        cl.run("deploy", self.path / target, *words)
        return self.path / target

    def test_protocols_side_by_side(self):
        self.build("first.pirx")
        (self.path / "lines").write_text("\n".join(f"line {i}" for i in range(64)))
        cl.run("db", "build", self.path / "second.pirx", self.path / "lines", "--from", "lines")
        databases = [{"name": "names", "file": "first.pirx"}, {"name": "chor", "file": "second.pirx", "protocol": "chor"},
                     {"name": "tree", "file": "second.pirx", "protocol": "dj-tree", "modulus": 2048, "arity": "8"}]
        servers = [self.serve(databases=[{**d, **({"coordinate": x} if i < 2 else {})} for i, d in enumerate(databases)])
                   for x in (1, 2)]
        for name, record, at in (("names", cl.RECORDS[17], 17), ("chor", "line 9", 9)):
            self.assertEqual(cl.run("get", self.deploy(name, name, *servers), at, "-q").stdout, record + "\n")
        self.assertEqual(cl.run("get", self.deploy("tree", "tree", servers[0]), 63, "-q").stdout, "line 63\n")
        # The first needs no name, and one server's databases are one server.
        cl.run("deploy", self.path / "plain", "--server", servers[0].url, "--server", servers[1].url)
        self.assertEqual(cl.run("get", self.path / "plain", 0, "-q").stdout, cl.RECORDS[0] + "\n")
        url = servers[0].url
        cl.run("deploy", self.path / "no", "--server", f"{url}/v1/db/names", "--server", f"{url}/v1/db/chor", code=2)
        self.assertIn("no database", cl.run("deploy", self.path / "no", "--server", f"{url}/v1/db/none", code=5).stderr)
        self.assertIn("goldberg", cl.run("load", f"{url}/v1/db/names", "--duration", "200ms", "--connections", 2).stdout)
        # A deployment says who a server is.
        spec = [{"name": "names", "file": "first.pirx", "deployment": "names", "server": 1}]
        again = self.serve(name="again.json", databases=spec)
        self.assertEqual(self.event(again, "database")["coordinate"], "2")
        self.assertEqual([self.event(servers[0], "database", i)["database"] for i in (1, 2, 3)], ["names", "chor", "tree"])
        for wrong in ({**spec[0], "server": 2}, {**spec[0], "coordinate": 2}):
            cl.run("serve", "--config", self.config("wrong.json", databases=[wrong]), code=4)

    def test_rows_too_long_for_a_server(self):
        lines, keyed = self.record("lines.txt", "a\n" + "x" * 1_100_000 + "\n"), self.path / "keyed.pirx"
        warned = cl.run("db", "build", self.path / "long.pirx", lines).stderr
        takes = re.search(r"servers refuse it by default \(pirx serve --max-in-flight (\d+MiB)", warned).group(1)
        self.assertEqual(cl.run("db", "build", keyed, self.record("a.csv", "k,v\na,b\n"), "--key", "k", "--keyed").stderr, "")
        self.assertIn("refuse it by default", cl.run("db", "update", keyed, "--key", f"b={lines}").stderr)
        self.build("good.pirx")
        databases = [{"name": name, "file": f"{name}.pirx", "coordinate": 1} for name in ("good", "long")]
        done = cl.run("serve", "--config", self.config(databases=databases), code=2)
        self.assertIn("database long: max_in_flight_bytes must hold", done.stderr)
        self.serve("--max-in-flight", takes, databases=databases)

    def test_epochs_change_under_queries(self):
        a, b = self.build("a.pirx"), self.build("b.pirx")
        servers = [self.serve(databases=[{"name": n, "file": f"{n}.pirx", "coordinate": x} for n in ("a", "b")])
                   for x in (1, 2)]
        old = {n: self.deploy(f"{n}1", n, *servers) for n in ("a", "b")}
        answers, done = [], threading.Event()

        def ask(name):
            while not done.is_set():
                run = subprocess.run([cl.PIRX, "get", old[name], "3", "-q"], capture_output=True, text=True, timeout=120)
                answers.append((name, run.returncode, run.stdout, run.stderr))

        clients = [threading.Thread(target=ask, args=(name,)) for name in ("a", "b", "b")]
        for client in clients:
            self.addCleanup(client.join)
            client.start()
        self.addCleanup(done.set)  # before the joins
        cl.run("db", "update", a, "--set", f"3={self.record('new', 'changed')}")
        damaged = self.path / "damaged"
        damaged.write_bytes(b.read_bytes()[:-1])  # fails its check: what is served stays
        damaged.replace(b)
        for server in servers:
            server.child.send_signal(signal.SIGHUP)
        for server in servers:
            self.assertEqual(self.event(server, "epoch")["database"], "a")
            self.assertEqual(self.event(server, "epoch_refused")["database"], "b")
        new = self.deploy("a2", "a", *servers)
        self.assertEqual(cl.run("get", new, 3, "-q").stdout, "changed\n")
        count = len(answers)
        deadline = time.monotonic() + 60
        while len(answers) < count + 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        done.set()
        for client in clients:
            client.join()
        for name, code, out, err in answers:
            # Those of the old epoch are answered from it, or told of the new one.
            self.assertIn((code, out), [(0, cl.RECORDS[3] + "\n")] + [(8, "")] * (name == "a"), err)
            if code == 8:
                self.assertIn("has epoch 2 now", err)
        self.assertTrue(any(code == 8 for _, code, _, _ in answers))
        self.assertEqual({code for name, code, _, _ in answers if name == "b"}, {0})

    def test_limits_from_everywhere(self):
        self.build("a.pirx")
        config = self.config(databases=[{"name": "a", "file": "a.pirx", "coordinate": 1}],
                             limits={"max_connections": 11, "max_body": 12345678, "max_queued": 13})
        os.environ["PIRX_MAX_BODY"], os.environ["PIRX_MAX_QUEUED"] = "1MiB", "14"
        try:
            start = self.event(self.start(cl.PIRX, "serve", "--config", config, "--max-queued", "15"), "start")
        finally:
            del os.environ["PIRX_MAX_BODY"], os.environ["PIRX_MAX_QUEUED"]
        self.assertEqual([start[key] for key in ("max_connections", "max_body_bytes", "max_queued", "batch_max")],
                         [11, 1 << 20, 15, 256])
        environment = {**os.environ, "PIRX_IDLE_TIMEOUT": "soon"}
        self.assertIn("PIRX_IDLE_TIMEOUT", cl.run("serve", "--config", config, code=2, env=environment).stderr)
        # The databases are in the file, and nowhere else.
        for more in ((self.path / "a.pirx",), ("--coordinate", 1), ("--protocol", "chor")):
            cl.run("serve", "--config", config, *more, code=2)
        cl.run("serve", code=2)
        cl.run("serve", "--config", self.path / "none", code=5)
        missing = self.config(databases=[{"name": "gone", "file": "gone.pirx", "coordinate": 1}])
        self.assertIn("database gone", cl.run("serve", "--config", missing, code=5).stderr)

    def test_tokens(self):
        self.build("a.pirx")
        tokens = {x: f"token-of-server-{x}" for x in (1, 2)}
        servers = []
        for x, token in tokens.items():
            self.record(f"tokens{x}", f"alice-of-the-file {hashlib.sha256(token.encode()).hexdigest()}\n")
            servers.append(self.serve("--tokens", self.path / f"tokens{x}",
                                      databases=[{"name": "a", "file": "a.pirx", "coordinate": x}]))
        words = [word for server in servers for word in ("--server", server.url)]
        target = self.path / "deployment.json"
        cl.run("deploy", target, *words, code=7)
        mine = self.record("mine", "".join(f"{s.url} {t}\n" for s, t in zip(servers, tokens.values())))
        cl.run("deploy", target, *words, "--token-file", mine)
        self.assertEqual(cl.run("get", target, 5, "-q", "--token-file", mine).stdout, cl.RECORDS[5] + "\n")
        self.assertIn("token", cl.run("get", target, 5, code=7).stderr)
        self.assertIn("up to date", cl.run("deploy", "--refresh", target, "--token-file", mine).stdout)
        cl.run("deploy", "--refresh", target, code=7)
        # One word for several servers would let each of them ask the others in the client's name.
        cl.run("get", target, 5, "--token-file", self.record("one", tokens[1]), code=2)
        cl.run("get", target, 5, "--token-file", self.record("other", f"http://127.0.0.1:1 {tokens[1]}\n"), code=7)
        cl.run("get", target, 5, "--token-file", self.path / "none", code=5)
        # Nor do two operators of one server each, in one file. One of several databases may have it for all of them.
        singles = [{"name": name, "file": "a.pirx", "protocol": name} for name in ("download", "qr")]
        both = self.serve("--tokens", self.path / "tokens1", databases=singles)
        other = self.serve("--tokens", self.path / "tokens2", databases=singles)
        one = self.record("one", tokens[1])
        parts = []
        # Who is compared with gets no token.
        url = f"{both.url}/v1/db/download"
        cl.run("deploy", self.path / "compared.json", "--server", url, "--token-file", one, "--compare", url, code=7)
        for server, name, token in ((both, "download", tokens[1]), (both, "qr", tokens[1]), (other, "qr", tokens[2])):
            alone = self.path / f"part{len(parts)}.json"
            cl.run("deploy", alone, "--server", f"{server.url}/v1/db/{name}", "--token-file", self.record("t", token))
            parts.append({k: v for k, v in json.loads(alone.read_text()).items() if k != "pirx_deployment"})
        for chosen, code in ((parts[:2], 0), (parts[::2], 2)):
            target.write_text(json.dumps({"pirx_deployment": 1, "deployments": chosen}))
            cl.run("get", target, 5, "-q", "--protocol", "download", "--token-file", one, code=code)
            cl.run("deploy", "--refresh", target, "--token-file", one, code=code)
        for server in (*servers, both, other):
            self.assertEqual(server.stop(), 0)
            self.assertNotIn("token-of", "".join(server.log))
            self.assertNotIn("alice", "".join(server.log))

    def test_client_certificates(self):
        def openssl(*words):
            subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, cwd=self.path)

        self.build("a.pirx")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key",
                "-out", "ca.pem", "-subj", "/CN=authority", "-days", 1)
        (self.path / "san").write_text("subjectAltName=IP:127.0.0.1\n")
        for name in ("server", "client"):
            openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                    "-out", f"{name}.csr", "-subj", f"/CN={name}")
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                    "-out", f"{name}.pem", "-days", 1, "-extfile", "san")
        servers = [self.serve(tls_cert="server.pem", tls_key="server.key", tls_client_ca="ca.pem",
                              databases=[{"name": "a", "file": "a.pirx", "coordinate": x}]) for x in (1, 2)]
        words = ["--ca-file", "ca.pem"]
        for server in servers:
            words += ["--server", server.url.replace("http:", "https:") + "/v1/db/a"]
        target = self.path / "deployment.json"
        mine = ("--tls-cert", self.path / "client.pem", "--tls-key", self.path / "client.key")
        cl.run("deploy", target, *words, code=7)
        cl.run("deploy", target, *words, *mine)
        self.assertEqual(cl.run("get", target, 5, "-q", *mine).stdout, cl.RECORDS[5] + "\n")
        cl.run("get", target, 5, code=7)
        cl.run("get", target, 5, *mine[:2], code=2)


if __name__ == "__main__":
    cl.PIRX = sys.argv.pop(1)
    unittest.main(verbosity=1)
