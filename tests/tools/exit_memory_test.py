#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a core dump of `pirx get`, taken when it exits, tells of its query: nothing. Its memory at that moment is searched
for the key, the record and every server's query vectors.

    exit_memory_test.py PIRX DUMP_AT_EXIT
"""
import json
import random
import ssl
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import command_line_test  # noqa: E402
from command_line_test import run  # noqa: E402
import single_server_test  # noqa: E402

DUMP = None
NOT_PERMITTED = 77  # of the program that dumps
HEADER_BYTES = 128  # and more than that: public


def parts(secret: bytes):
    """Sixteen bytes here and there: enough not to be there by chance."""
    return [secret[at : at + 16] for at in range(0, len(secret) - 15, 48)]


class ExitMemory(command_line_test.Servers):
    def record(self, i):
        return "".join(random.Random(f"record {i}").choices("abcdefghijklmnop0123456789", k=200))

    def database(self, *words):
        source = self.path / "records.jsonl"
        lines = [json.dumps({"k": f"the long key number {i}", "v": self.record(i)}) + "\n" for i in range(3000)]
        source.write_text("".join(lines))
        run("db", "build", self.path / "db", source, "--from", "jsonl", "--key", "k", "--value", "v", *words)
        return self.path / "db"

    def check(self, deployment, recorders, *words, key=None, record=1234):
        done = subprocess.run([DUMP, self.path / "dump", command_line_test.PIRX, "get", deployment, *words],
                              capture_output=True, timeout=120)
        if done.returncode == NOT_PERMITTED:
            self.skipTest("the system forbids tracing")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(self.record(record).encode(), done.stdout)
        memory = (self.path / "dump").read_bytes()
        self.assertIn(b"PATH=", memory)
        secrets = {"record": parts(self.record(record).encode())}
        if key:
            secrets["key"] = [key.encode()]
        for i, recorder in enumerate(recorders):
            self.assertEqual(len(recorder.queries), 1)
            secrets[f"query of server {i}"] = parts(recorder.queries[0][HEADER_BYTES:])
            self.assertTrue(secrets[f"query of server {i}"])
        found = {name: sum(memory.count(part) for part in all_parts) for name, all_parts in secrets.items()}
        self.assertEqual(found, {name: 0 for name in secrets})

    def several(self, *words, scheme="http", protocol="goldberg"):
        database = self.database(*words)
        servers = [self.serve(database, x, "--protocol", protocol) for x in (1, 2, 3)]
        path = self.deploy(servers, 1 if protocol == "goldberg" else 2)
        deployment = json.loads(path.read_text())
        recorders = []
        for server, entry in zip(servers, deployment["servers"]):
            recorder = single_server_test.Liar(server.port)
            self.addCleanup(recorder.stop)
            recorders.append(recorder)
            entry["url"] = recorder.url.replace("http:", f"{scheme}:")
            if scheme == "https":
                entry["ca_file"] = str(self.path / "cert.pem")
                recorder.server.socket = self.tls().wrap_socket(recorder.server.socket, server_side=True)
        path.write_text(json.dumps(deployment))
        return path, recorders

    def tls(self):
        if not (self.path / "cert.pem").exists():
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost",
                            "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True, cwd=self.path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path / "cert.pem", self.path / "key.pem")
        return context

    def test_by_key(self):
        key = "the long key number 1234"
        self.check(*self.several("--keyed"), "--key", key, key=key)

    def test_by_key_over_tls(self):
        key = "the long key number 1234"
        self.check(*self.several("--keyed", scheme="https"), "--key", key, "--json", key=key)

    def test_by_position(self):
        self.check(*self.several(), "1234", "--wait-for-all")

    def test_by_position_with_chor(self):
        self.check(*self.several(protocol="chor"), "1234")

    def test_one_server(self):
        database = self.database()
        for protocol, weak in (("spiral", ()), ("dj-tree", ("--paper-reproduction",))):
            with self.subTest(protocol=protocol):
                words = ("serve", database, "--protocol", protocol, "--listen", "127.0.0.1:0", *weak)
                server = self.start(command_line_test.PIRX, *words)
                target = self.path / f"{protocol}.json"
                run("deploy", target, "--server", server.url, *weak)
                self.check(target, [], "1234", *weak)


if __name__ == "__main__":
    command_line_test.PIRX, DUMP = (str(Path(sys.argv.pop(1)).resolve()) for _ in range(2))
    unittest.main()
