#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that servers want to know: tokens and certificates, of the blocking client and of pirx.aio."""
import asyncio
import hashlib
import json
import subprocess
import time
import unittest

from support import RECORDS, Served, pirx


class Known(Served):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run = lambda *words: subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=cls.path)  # noqa: E731
        new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        for name in ("ca", "other"):
            run("req", "-x509", *new, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", "-days", "1")
        (cls.path / "san").write_text("subjectAltName=IP:127.0.0.1\n")
        for name, authority in (("server", "ca"), ("client", "ca"), ("stranger", "other")):
            run("req", *new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
            run("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                "-CAcreateserial", "-out", f"{name}.pem", "-days", "1", "-extfile", "san")
        run("ec", "-in", "client.key", "-aes256", "-passout", "pass:secret", "-out", "locked.key")
        cls.tokens = [f"the-s3cret-of-server-{number}" for number in range(3)]
        for number, token in enumerate(cls.tokens):
            digest = hashlib.sha256(token.encode()).hexdigest()
            (cls.path / f"tokens{number}").write_text(f"alice {digest}\n")
        running = pirx._serve.Servers()
        cls.addClassCleanup(running.close)
        cls.running = running
        cls.by_token = cls.deployment("http", lambda number: ["--tokens", str(cls.path / f"tokens{number}")])
        cls.by_certificate = cls.deployment("https", lambda number: [
            word for flag in ("cert", "key", "client-ca")
            for word in (f"--tls-{flag}", str(cls.path / {"cert": "server.pem", "key": "server.key"}.get(flag, "ca.pem")))])
        cls.urls = [server["url"] for server in json.loads(cls.by_token_text)["servers"]]

    @classmethod
    def deployment(cls, scheme, words):
        """Three servers of the keyed database with these words, and what their deployment file says."""
        content = json.loads(cls.by_key.deployment_file.read_text())
        first = len(cls.running._children)
        for number, server in enumerate(content["servers"]):
            cls.running._start([pirx._program.find_program(), "serve", str(cls.keyed.path), "--coordinate", str(number + 1),
                                "--listen", "127.0.0.1:0", *words(number)])
        for number, server in enumerate(content["servers"]):
            server["url"] = f"{scheme}://127.0.0.1:{cls.running._port(first + number, time.monotonic() + 60)}"
            if scheme == "https":
                server["ca_file"] = "ca.pem"
        text = json.dumps(content)
        if scheme == "http":
            cls.by_token_text = text
        return pirx.Deployment.parse(text, folder=cls.path)

    def both(self, deployment, **options):
        """Looks up with both kinds of client, and gives the record."""
        with pirx.Client(deployment, **options) as client:
            found = client.get("key7")

            async def again():
                async with pirx.aio.Client(client) as aio:
                    return await aio.get("key7")

            self.assertEqual(asyncio.run(again()), found)
            return found

    def refused(self, kind, pattern, deployment, **options):
        for aio in (False, True):
            with self.assertRaisesRegex(kind, pattern) as caught, pirx.Client(deployment, **options) as client:
                if aio:
                    asyncio.run(pirx.aio.Client(client).get("key7"))
                else:
                    client.get("key7")
            self.assertNotIn("s3cret", str(caught.exception))

    def test_tokens(self):
        mine = dict(zip(self.urls, self.tokens))
        file = self.path / "mine"
        file.write_text("".join(f"{url} {token}\n" for url, token in mine.items()))
        for options in ({"token": mine}, {"token_file": file}, {"token_file": str(file)}):
            self.assertEqual(self.both(self.by_token, **options), RECORDS[7])
        client = pirx.Client(self.by_token, token=mine)
        self.assertNotIn("s3cret", repr(client) + str(client.servers))
        # Each server gets its own token and no other's.
        self.refused(pirx.Unauthenticated, "token", self.by_token, token=dict(zip(self.urls, reversed(self.tokens))))
        self.refused(pirx.Unauthenticated, "token", self.by_token)
        self.refused(pirx.InvalidArgument, "several servers with one token", self.by_token, token=self.tokens[0])
        self.refused(pirx.InvalidArgument, "line 2: the token of another server", self.by_token,
                     token=dict.fromkeys(self.urls, self.tokens[0]))
        self.refused(pirx.Unavailable, "token file", self.by_token, token_file=self.path / "none")
        for number in range(3):
            self.assertNotIn("s3cret", self.running.log(number))

    def test_a_token_alone(self):
        one = pirx.serve(self.keyed, "download", serve_options=["--tokens", str(self.path / "tokens0")],
                         deploy_options=["--token-file", self.file("one", self.tokens[0])])
        with one:
            self.assertEqual(self.both(one.deployment, token=self.tokens[0]), RECORDS[7])
            self.assertEqual(self.both(one.deployment, token_file=self.path / "one"), RECORDS[7])
            self.refused(pirx.Unauthenticated, "token", one.deployment, token=self.tokens[1])
            self.refused(pirx.Unauthenticated, "token", one.deployment)

    def file(self, name, text):
        (self.path / name).write_text(text)
        return str(self.path / name)

    def test_certificates(self):
        mine = {"tls_cert": self.path / "client.pem", "tls_key": self.path / "client.key"}
        self.assertEqual(self.both(self.by_certificate, **mine), RECORDS[7])
        self.refused(pirx.Unauthenticated, "do not trust this client", self.by_certificate)
        self.refused(pirx.Unauthenticated, "do not trust this client", self.by_certificate,
                     tls_cert=self.path / "stranger.pem", tls_key=self.path / "stranger.key")
        self.refused(pirx.InvalidArgument, "none.pem", self.by_certificate, tls_cert=self.path / "none.pem",
                     tls_key=self.path / "client.key")
        # A key under a password is not asked for on the terminal.
        self.refused(pirx.Error, "locked.key|no trusted TLS", self.by_certificate, tls_cert=self.path / "client.pem",
                     tls_key=self.path / "locked.key")

    def test_an_authority_with_a_curve_of_its_own(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-pkeyopt",
                        "ec_param_enc:explicit", "-nodes", "-keyout", "own.key", "-out", "own.pem", "-subj", "/CN=own"],
                       check=True, capture_output=True, cwd=self.path)
        self.file("both.pem", (self.path / "ca.pem").read_text() + (self.path / "own.pem").read_text())
        content = json.loads(self.by_token_text)
        for server in content["servers"]:
            server.update(url=server["url"].replace("http:", "https:"), ca_file="both.pem")
        self.refused(pirx.InvalidArgument, "an elliptic curve of its own",
                     pirx.Deployment.parse(json.dumps(content), folder=self.path))

    def test_what_callers_do_wrong(self):
        for kind, pattern, options in (
                (pirx.InvalidArgument, "needs its key", {"tls_cert": "a.pem"}),
                (pirx.InvalidArgument, "needs its key", {"tls_key": "a.pem"}),
                (pirx.InvalidArgument, "not both", {"token": "s3cret", "token_file": "a"}),
                (pirx.InvalidArgument, "no spaces", {"token": "s3cret s3cret"}),
                (pirx.InvalidArgument, "no spaces", {"token": {"http://127.0.0.1:1": "s3cret\nhttp://127.0.0.1:2 s3cret"}}),
                (pirx.InvalidArgument, "no spaces", {"token": ""}),
                (pirx.InvalidArgument, "no spaces", {"token": {}}),
                (pirx.InvalidArgument, "name of a file", {"token_file": "a\0b"}),
                (pirx.InvalidArgument, "name of a file", {"token_file": ""}),
                (TypeError, "token is", {"token": b"s3cret"}),
                (TypeError, "token is", {"token": {"http://127.0.0.1:1": 7}}),
                (TypeError, "", {"tls_cert": 7, "tls_key": 7}),
                (pirx.InvalidArgument, "URL TOKEN", {"token": {"127.0.0.1:1": "s3cret"}})):
            with self.subTest(options=options):
                self.refused(kind, pattern, self.by_token, **options)


if __name__ == "__main__":
    unittest.main()
