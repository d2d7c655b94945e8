#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pirx get says when servers refuse, each cause with its advice; failures as JSON; keys from a prompt and with NUL.

    get_failures_test.py PIRX
"""
import contextlib
import hashlib
import json
import os
import pty
import socket
import ssl
import subprocess
import sys
import threading
import unittest

import command_line_test as cl


def closed_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class GetFailures(cl.Servers):
    def file(self, name, text):
        path = self.path / name
        path.write_text(text)
        return path

    def keyed(self):
        """A keyed database on one server that gives it away."""
        source = self.file("keyed.jsonl", "".join(json.dumps({"k": k, "v": v}) + "\n" for k, v in
                                                  (("a", "one"), ("b\nc", "two\nlines"), ("d", "three"), ("C:\\new", "path"))))
        database = self.path / "keyed.pirx"
        cl.run("db", "build", database, source, "--key", "k", "--value", "v", "--keyed")
        server = self.start(cl.PIRX, "serve", database, "--protocol", "download", "--listen", "127.0.0.1:0")
        target = self.path / "keyed.json"
        cl.run("deploy", target, "--server", server.url)
        return target

    def openssl(self, *words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, cwd=self.path)

    def advised(self, target, part, code, *more):
        """The advice is the end of the message, and a member of the JSON."""
        done = cl.run("get", target, 5, *more, code=code)
        self.assertIn(part, done.stderr)
        document = json.loads(cl.run("get", target, 5, "--json", *more, code=code).stdout)
        self.assertIn(part, document["error"]["advice"])
        self.assertTrue(done.stderr.endswith(document["error"]["advice"] + "\n"))
        return document

    def test_each_cause_has_its_advice(self):
        database = self.build()
        servers = [self.serve(database, x) for x in (1, 2, 3)]
        plain = self.deploy(servers, 1)
        text = plain.read_text()

        def changed(name, change):
            deployment = json.loads(text)
            for i, server in enumerate(deployment["servers"]):
                change(i, server)
            return self.file(name, json.dumps(deployment))

        # Another epoch.
        cl.run("db", "update", database, "--set", f"0={self.file('new', 'new')}")
        newer = [self.serve(database, x) for x in (1, 2, 3)]
        stale = changed("stale.json", lambda i, s: s.update(url=newer[i].url))
        document = self.advised(stale, f"pirx deploy --refresh {stale}", 8)
        self.assertEqual(document["error"]["code"], "StaleEpoch")
        self.assertEqual([s["status"] for s in document["servers"]], ["stale epoch"] * 3)
        self.assertIn("holds epoch 2", document["servers"][0]["error"])
        # Nobody there, some or all.
        gone = changed("gone.json", lambda i, s: s.update(url=f"http://127.0.0.1:{closed_port()}"))
        self.advised(gone, "no server runs there: start it (pirx serve)", 9)
        first = closed_port()
        some = changed("some.json", lambda i, s: s.update(url=[f"http://127.0.0.1:{first}", newer[1].url, newer[2].url][i]))
        document = self.advised(some, "no server runs there", 8)
        self.assertIn(f"(http://127.0.0.1:{first})", document["error"]["advice"])
        self.assertIn(f"({newer[1].url}, {newer[2].url})", document["error"]["advice"])
        # No such host.
        lost = changed("lost.json", lambda i, s: s.update(url=f"http://h{i}.invalid:1", allow_plaintext=True))
        self.advised(lost, "there is no host of that name", 9)
        # Too slow.
        slow = [self.proxy(server, "slow") for server in servers]
        late = changed("late.json", lambda i, s: s.update(url=slow[i].url))
        self.advised(late, "give them longer with --deadline", 9, "--deadline", "200ms")
        # A token is wanted.
        tokens = self.file("tokens", f"alice {hashlib.sha256(b'secret').hexdigest()}\n")
        private = [self.serve(database, x, "--tokens", tokens) for x in (1, 2, 3)]
        unknown = changed("unknown.json", lambda i, s: s.update(url=private[i].url))
        self.advised(unknown, "give it with --token-file", 7)

    def test_too_much_to_do(self):
        database = self.build()

        class Busy(cl.http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(429)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        busy = [cl.http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy) for _ in range(2)]
        for one in busy:
            threading.Thread(target=one.serve_forever, daemon=True).start()
        servers = [self.serve(database, x) for x in (1, 2)]
        deployment = json.loads(self.deploy(servers, 1).read_text())
        for i, one in enumerate(busy):
            deployment["servers"][i]["url"] = f"http://127.0.0.1:{one.server_port}"
        self.advised(self.file("busy.json", json.dumps(deployment)), "have too much to do: try again later", 9)
        for one in busy:
            one.shutdown()
            one.server_close()

    def test_tls_causes(self):
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem",
                     "-out", "cert.pem", "-days", "2", "-subj", "/CN=elsewhere", "-addext", "subjectAltName=DNS:elsewhere")
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "here.key",
                     "-out", "here.pem", "-days", "2", "-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1")
        database = self.build()
        servers = [self.serve(database, x) for x in (1, 2)]
        text = self.deploy(servers, 1).read_text()

        def secured(name, ca, *more):
            tls = [self.serve(database, x, *more) for x in (1, 2)]
            deployment = json.loads(text)
            for server, one in zip(deployment["servers"], tls):
                server.update(url=one.url.replace("http:", "https:"))
                if ca:
                    server.update(ca_file=ca)
            return self.file(name, json.dumps(deployment))

        away = ("--tls-cert", self.path / "cert.pem", "--tls-key", self.path / "key.pem")
        here = ("--tls-cert", self.path / "here.pem", "--tls-key", self.path / "here.key")
        self.advised(secured("name.json", "cert.pem", *away), "the certificate is for another name", 7)
        self.advised(secured("ca.json", None, *here), "authority is not trusted here", 7)
        wanted = secured("wanted.json", "here.pem", *here, "--tls-client-ca", self.path / "here.pem")
        self.advised(wanted, "give --tls-cert and --tls-key", 7)
        # What is not about authorities.
        for name, begin, end, says in (("expired", "200101000000Z", "210101000000Z", "has a certificate that has expired"),
                                       ("future", "400101000000Z", "410101000000Z", "has a certificate that is not valid yet")):
            self.certificate(name, begin, end)
            tls = ("--tls-cert", self.path / f"{name}.pem", "--tls-key", self.path / f"{name}.key")
            document = self.advised(secured(f"{name}.json", f"{name}.pem", *tls), "check this machine's clock", 7)
            self.assertIn(says, document["servers"][0]["error"])
        trusted = secured("own.json", "here.pem", *here)
        self.openssl("ec", "-in", "here.key", "-aes256", "-passout", "pass:secret", "-out", "locked.key")
        self.file("rubbish", "rubbish")
        for certificate, key in (("here.pem", "locked.key"), ("here.pem", "key.pem"), ("here.pem", "rubbish"), ("rubbish", "here.key")):
            document = self.advised(trusted, "check the files of --tls-cert and --tls-key", 7,
                                    "--tls-cert", self.path / certificate, "--tls-key", self.path / key)
            self.assertIn("was not asked, as this client's certificate or its key cannot be used", document["servers"][0]["error"])

    def test_a_server_of_an_old_tls(self):
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem",
                     "-out", "cert.pem", "-days", "2", "-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1")
        server = self.serve(self.build(), 1)
        deployment = json.loads(self.deploy([server, self.serve(self.path / "db.pirx", 2)], 1).read_text())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.path / "cert.pem", self.path / "key.pem")
        with contextlib.ExitStack() as stack:
            for entry in deployment["servers"]:
                one = cl.http.server.ThreadingHTTPServer(("127.0.0.1", 0), cl.http.server.BaseHTTPRequestHandler)
                stack.enter_context(one)
                one.socket = context.wrap_socket(one.socket, server_side=True)
                threading.Thread(target=one.serve_forever, daemon=True).start()
                stack.callback(one.shutdown)
                entry.update(url=f"https://127.0.0.1:{one.server_port}", ca_file="cert.pem")
            document = self.advised(self.file("old.json", json.dumps(deployment)), "--tls-1.2 --server", 7)
            self.assertIn("speaks no TLS 1.3", document["servers"][0]["error"])

    def certificate(self, name, begin, end):
        """A certificate of its own authority for 127.0.0.1, valid from one time to another, and its key."""
        self.file("ca.conf", "[ca]\ndefault_ca=a\n[a]\ndatabase=index\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\n"
                  "policy=p\nx509_extensions=x\n[p]\ncommonName=supplied\n[x]\nsubjectAltName=IP:127.0.0.1\n"
                  "basicConstraints=critical,CA:TRUE\n")
        self.file("index", "")
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                     "-out", "request.pem", "-subj", f"/CN={name}")
        self.openssl("ca", "-batch", "-notext", "-selfsign", "-config", "ca.conf", "-keyfile", f"{name}.key", "-in", "request.pem",
                     "-out", f"{name}.pem", "-startdate", begin, "-enddate", end)

    def test_failures_as_json(self):
        target = self.keyed()
        for words, name, code in ((("--key", "nobody"), "OutOfRange", 3), (("17",), "InvalidArgument", 2),
                                  (("--key", "a", "--protocol", "chor"), "InvalidArgument", 2)):
            document = json.loads(cl.run("get", target, *words, "--json", code=code).stdout)
            self.assertEqual(document["error"]["code"], name)
            self.assertIn(document["error"]["message"], cl.run("get", target, *words, code=code).stderr)
        document = json.loads(cl.run("get", self.path / "none", "--key", "a", "--json", code=5).stdout)
        self.assertEqual((document["error"]["code"], document["servers"]), ("Unavailable", []))

    def test_each_record_has_its_key(self):
        target = self.keyed()
        document = json.loads(cl.run("get", target, "--key", "d", "--key", "a", "--json").stdout)
        self.assertEqual([(r["key"], r["text"]) for r in document["records"]], [("d", "three"), ("a", "one")])
        document = json.loads(cl.run("get", target, "--key", "d", "--key", "x", "--json", code=3).stdout)
        self.assertEqual((document["records"][0]["key"], document["records"][1]), ("d", {"key": "x", "missing": True}))
        self.assertIn("'x'", document["error"]["message"])
        database = self.build()
        server = self.start(cl.PIRX, "serve", database, "--protocol", "download", "--listen", "127.0.0.1:0")
        cl.run("deploy", self.path / "plain.json", "--server", server.url)
        listed = self.file("positions.tsv", cl.run("db", "list", database).stdout)
        document = json.loads(cl.run("get", self.path / "plain.json", 3, "--positions", listed, "--key", "key4", "--json").stdout)
        self.assertEqual([(r.get("position"), r.get("key")) for r in document["records"]], [(3, None), (None, "key4")])

    def test_nul_between_keys_and_records(self):
        target = self.keyed()
        for end in ("", "\0"):
            done = cl.run("get", target, "-q", "-0", "--keys-from", "-", input="b\nc\0a" + end)
            self.assertEqual(done.stdout, "two\nlines\0one\0")
        self.assertEqual(cl.run("get", target, "-q", "--null", "--key", "a").stdout, "one\0")

    def test_a_key_from_the_terminal(self):
        target = self.keyed()

        def typed(text, *words):
            mine, theirs = pty.openpty()
            child = subprocess.Popen([cl.PIRX, "get", *map(str, words), "-q"], stdin=theirs, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
            os.close(theirs)
            os.write(mine, text.encode())
            out, error = child.communicate(timeout=60)
            os.close(mine)
            return child.returncode, out, error

        self.assertEqual(typed("d\n", target), (0, "three\n", "key: "))
        self.assertEqual(typed("C:\\new\n", target)[:2], (0, "path\n"))  # as it is typed
        self.assertEqual(typed("nobody\n", target)[0], 3)
        code, _, error = typed("\x04", target)  # the end of input
        self.assertEqual(code, 2)
        self.assertIn("the input ended", error)
        database = self.build()
        server = self.start(cl.PIRX, "serve", database, "--protocol", "download", "--listen", "127.0.0.1:0")
        plain = self.path / "plain.json"
        cl.run("deploy", plain, "--server", server.url)
        self.assertEqual(typed("3\n", plain), (0, cl.RECORDS[3] + "\n", "position: "))
        self.assertEqual(typed("x\n", plain)[0], 2)
        # Where nobody can be asked, nothing is waited for.
        done = cl.run("get", target, stdin=subprocess.DEVNULL, code=2)
        self.assertIn("nothing to fetch: give --key", done.stderr)


if __name__ == "__main__":
    cl.PIRX = sys.argv.pop(1)
    unittest.main()
