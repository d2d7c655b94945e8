#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Certificate Transparency from end to end: a log of real certificates, served by pirx, audited by ct-audit; then everybody
who can lie does.

    command_line_test.py PIRX CT_LOG CT_AUDIT
"""
import base64
import hashlib
import json
import re
import resource
import signal
import ssl
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROXY = ROOT / "examples/faulty_proxy/faulty_proxy.py"
FORGE = ROOT / "examples/ct/forge.py"
BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
PIRX = CT_LOG = CT_AUDIT = ""


def run(*words, code=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120)
    if done.returncode != code:
        raise AssertionError(f"{words}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


class EndToEnd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        cls.children = []
        pems = re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", BUNDLE.read_text(), re.DOTALL)
        cls.count = len(pems) - 1
        (cls.path / "logged.pem").write_text("".join(pems[1:]))
        (cls.path / "absent.pem").write_text(pems[0])
        cls.index = cls.count // 2
        cls.cert = cls.path / "present.pem"
        cls.cert.write_text(pems[1 + cls.index])
        cls.fingerprint = hashlib.sha256(ssl.PEM_cert_to_DER_cert(cls.cert.read_text())).hexdigest()
        cls.log = cls.path / "log"
        cls.key = cls.log / "public.pem"
        cls.proofs = cls.path / "proofs.pirx"
        run(CT_LOG, "create", cls.log)
        run(CT_LOG, "append", cls.log, cls.path / "logged.pem")
        run(CT_LOG, "database", cls.log, cls.proofs)
        cls.servers = [cls.serve(cls.proofs, x) for x in (1, 2, 3, 4)]

    @classmethod
    def tearDownClass(cls):
        for child in cls.children:
            child.send_signal(signal.SIGKILL)
            child.wait()
            child.stdout.close()
        cls.folder.cleanup()

    @classmethod
    def start(cls, *words):
        """The port of a server in the background."""
        child = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.children.append(child)
        return int(re.match(r"listening on port (\d+)", child.stdout.readline()).group(1))

    @classmethod
    def serve(cls, database, x):
        return cls.start(PIRX, "serve", database, "--coordinate", x, "--listen", "127.0.0.1:0", "--threads", 1)

    def proxy(self, port, *mode):
        return self.start(sys.executable, PROXY, "--upstream", f"127.0.0.1:{port}", *mode)

    def audit(self, certificate, ports, *more, code=0, head=None, key=None):
        words = [word for port in ports for word in ("--server", f"http://127.0.0.1:{port}")]
        head = head or f"{self.proofs}.head.json"
        return run(CT_AUDIT, "--head", head, "--key", key or self.key, *words, certificate, *more, code=code)

    def test_a_real_certificate(self):
        said = self.audit(self.cert, self.servers, "--wait-for-all")
        self.assertIn(f"VERIFIED: leaf {self.index} of {self.count}", said)
        self.assertIn(self.fingerprint, said)
        self.assertEqual(len(re.findall(r"x=\d +ok ", said)), 4)
        self.assertIn("any 1 of the 4 together", said)
        # By a deployment file, DER, a threshold of two, and seeds.
        deployment = self.path / "deployment.json"
        urls = [word for port in self.servers for word in ("--server", f"http://127.0.0.1:{port}")]
        run(PIRX, "deploy", deployment, "-t", 2, "--database", self.proofs, *urls)
        der = self.path / "present.der"
        der.write_bytes(ssl.PEM_cert_to_DER_cert(self.cert.read_text()))
        head = f"{self.proofs}.head.json"
        said = run(CT_AUDIT, der, "--head", head, "--key", self.key, "--deployment", deployment, "--seeded")
        self.assertIn("VERIFIED", said)
        self.assertIn("any 2 of the 4 together", said)
        # What pirx itself fetches under the fingerprint is the same record.
        record = subprocess.check_output([PIRX, "db", "get", self.proofs, "--key", self.fingerprint, "--raw"])
        self.assertEqual(int.from_bytes(record[8:16], "little"), self.index)

    def test_absent_and_the_same_traffic(self):
        taps = [self.path / f"tap-{x}" for x in range(4)]
        ports = [self.proxy(port, "--tap", tap) for port, tap in zip(self.servers, taps)]
        sizes = []
        for certificate, code in ((self.cert, 0), (self.path / "absent.pem", 3)):
            before = [tap.stat().st_size if tap.exists() else 0 for tap in taps]
            said = self.audit(certificate, ports, "--wait-for-all", code=code)
            up = re.findall(r"(\d+) bytes up ", said)
            self.assertEqual(len(up), 4)
            sizes.append(([tap.stat().st_size - b for tap, b in zip(taps, before)], up))
        self.assertIn("NOT IN THE LOG", said)
        self.assertIn("unless more than", said)
        self.assertEqual(sizes[0], sizes[1])

    def test_a_lying_server_is_caught(self):
        liar = self.proxy(self.servers[1], "--mode", "lie")
        ports = [self.servers[0], liar, *self.servers[2:]]
        said = self.audit(self.cert, ports, "--wait-for-all")
        self.assertIn("VERIFIED", said)
        self.assertRegex(said, r"x=2 +lied")
        said = self.audit(self.path / "absent.pem", ports, "--wait-for-all", code=3)
        self.assertRegex(said, r"x=2 +lied")
        # Two servers, of which one lies or is away: no verdict.
        said = self.audit(self.cert, [self.servers[0], liar], code=9)
        self.assertIn("UNDECIDED", said)
        self.audit(self.path / "absent.pem", self.servers[:2], code=9)
        gone = self.proxy(self.servers[1], "--mode", "close")
        self.audit(self.cert, [self.servers[0], gone], code=9)
        # One server under both names, or coordinates in another order, is no deployment.
        self.audit(self.cert, [self.servers[0]] * 2, code=2)
        self.audit(self.cert, self.servers[1::-1], code=9)

    def test_a_forged_proof_is_caught(self):
        forged = self.path / "forged.pirx"
        run(sys.executable, FORGE, PIRX, CT_LOG, self.log, self.proofs, self.fingerprint, forged)
        ports = [self.serve(forged, x) for x in (1, 2, 3)]
        head = f"{forged}.head.json"
        said = self.audit(self.cert, ports, head=head, code=11)
        self.assertIn("FORGED", said)
        self.assertIn("does not lead from the certificate to the signed root", said)
        # The honest head is about another database, which these servers say that they do not have.
        self.audit(self.cert, ports, code=8)
        # Another root in the forger's head is not signed, and signed subtree roots are those of the tree.
        honest = json.loads(Path(f"{self.proofs}.head.json").read_text())
        for member, code in (("sha256_root_hash", 4), ("timestamp", 7), ("tree_head_signature", 7)):
            changed = dict(honest)
            if member == "timestamp":
                changed[member] += 1
            else:
                wrong = bytearray(base64.b64decode(changed[member]))
                wrong[20] ^= 1
                changed[member] = base64.b64encode(wrong).decode()
            target = self.path / "changed.head.json"
            target.write_text(json.dumps(changed))
            self.audit(self.cert, self.servers, head=target, code=code)

    def test_wrong_key_and_wrong_input(self):
        other = self.path / "other"
        run(CT_LOG, "create", other)
        self.assertIn("not signed by this log", self.audit(self.cert, self.servers, key=other / "public.pem", code=7))
        self.assertIn("tree head", self.audit(self.cert, self.servers, head=self.log / "head.json", code=4))
        self.audit(self.path / "none.pem", self.servers, code=5)
        self.audit(self.key, self.servers, code=4)
        self.audit(self.cert, [], code=2)
        self.audit(self.cert, self.servers, "--index", 3, code=2)
        self.audit(self.cert, self.servers, "-t", 9, code=2)
        run(CT_AUDIT, code=1)
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([CT_LOG, "find", self.log, self.cert], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 5)
        self.assertIn("cannot write to standard output", done.stderr)
        run(CT_LOG, "append", other, self.key, code=4)
        run(CT_LOG, "append", other, code=2)
        run(CT_LOG, "database", other, self.path / "x.pirx", code=2)
        run(CT_LOG, "database", self.log, self.cert, code=2)
        run(CT_LOG, "create", other, code=2)
        run(CT_LOG, "database", self.path / "nowhere", self.path / "x.pirx", code=5)

    def test_an_empty_option_is_refused(self):
        """A check that is asked for with a variable that is not set is not left out in silence."""
        self.assertIn("--since: is empty", self.audit(self.cert, self.servers, "--since", "", code=1))

    def test_what_is_no_tree_head_is_not_replaced(self):
        precious = self.path / "other.pirx.head.json"
        precious.write_text("precious")
        said = run(CT_LOG, "database", self.log, self.path / "other.pirx", code=2)
        self.assertIn("is no tree head of a log", said)
        self.assertEqual(precious.read_text(), "precious")
        self.assertFalse((self.path / "other.pirx").exists())

    def test_a_time_far_ahead_does_not_end_a_log(self):
        log, day = self.path / "ahead", 24 * 60 * 60 * 1000
        run(CT_LOG, "create", log)
        now = int(time.time() * 1000)
        for far in (now + day + 60_000, 2**64 - 1):
            said = run(CT_LOG, "append", log, "--fill", 5, "--time", far, code=2)
            self.assertIn(f"--time {far} is more than a day ahead", said)
        run(CT_LOG, "append", log, "--fill", 5)
        run(CT_LOG, "append", log, "--fill", 8, "--time", now + day - 60_000)

    def test_numbers(self):
        log = self.path / "numbers"
        run(CT_LOG, "create", log)
        for bad in ("-1", "1.5", "x", "18446744073709551616", ""):
            run(CT_LOG, "append", log, f"--fill={bad}", code=1)
            run(CT_LOG, "append", log, "--fill", 5, f"--time={bad}", code=1)
            run(CT_LOG, "database", log, self.path / "numbers.pirx", f"--levels={bad}", code=1)
            run(CT_LOG, "generate", "--", bad, code=1)
            self.audit(self.cert, self.servers, f"--index={bad}", code=1)
        self.assertEqual(log.joinpath("entries").stat().st_size, 0)
        self.assertIn("appended 10 entries", run(CT_LOG, "append", log, "--fill=010"))

    def test_limits_of_files(self):
        log = self.path / "limits"
        run(CT_LOG, "create", log)
        done = subprocess.run([CT_LOG, "append", log, "--fill", "50000"], capture_output=True, text=True, cwd=self.path,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("File too large", done.stderr)
        run(CT_LOG, "append", log, "--fill", 50)

    def test_limits_of_memory(self):
        log, big = self.path / "small", self.path / "big.pem"
        run(CT_LOG, "create", log)
        with open(big, "w") as file:
            file.truncate(200 << 20)
        done = subprocess.run([CT_LOG, "append", log, big], capture_output=True, text=True, cwd=self.path,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (128 << 20, 128 << 20)))
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("ct-log: ResourceExhausted: out of memory", done.stderr)
        run(CT_LOG, "append", log, "--fill", 50)

    def test_growth_by_index_and_consistency(self):
        log, proofs = self.path / "growing", self.path / "growing.pirx"
        head = Path(f"{proofs}.head.json")
        run(CT_LOG, "create", log)
        run(CT_LOG, "append", log, self.path / "logged.pem", "--fill", 600)
        run(CT_LOG, "database", log, proofs, "--levels", 6, "--by-index")
        old = self.path / "old.head.json"
        old.write_text(head.read_text())
        index = int(run(CT_LOG, "find", log, self.cert))
        self.assertEqual(index, self.index)
        run(CT_LOG, "find", log, self.path / "absent.pem", code=3)
        fork = self.path / "fork"
        shutil.copytree(log, fork)
        run(CT_LOG, "append", fork, "--fill", 601)
        run(CT_LOG, "append", log, self.path / "absent.pem")
        said = run(CT_LOG, "database", log, proofs, "--levels", 6, "--by-index")
        self.assertIn("601 proofs", said)
        self.assertIn(f"{601 - 600 // 64 * 64} written now", said)
        self.assertIn("epoch 2", said)
        consistency = self.path / "consistency.json"
        consistency.write_text(run(CT_LOG, "consistency", log, old))
        ports = [self.serve(proofs, x) for x in (1, 2, 3)]
        since = ("--since", old, "--consistency", consistency)
        key = log / "public.pem"
        for certificate, at in ((self.cert, index), (self.path / "absent.pem", 600)):
            said = self.audit(certificate, ports, "--index", at, *since, head=head, key=key)
            self.assertIn(f"VERIFIED: leaf {at} of 601", said)
        self.assertIn("FORGED", self.audit(self.cert, ports, "--index", 5, head=head, key=key, code=11))
        self.audit(self.cert, ports, "--index", 601, head=head, key=key, code=3)
        # A generated certificate is like any other.
        generated = self.path / "generated.pem"
        generated.write_text(run(CT_LOG, "generate", 599))
        self.audit(generated, ports, "--index", 599, head=head, key=key)
        self.assertIn("FORKED", self.audit(self.cert, ports, "--since", fork / "head.json", head=head, key=key, code=12))
        # The old head is the newer one; and a wrong proof: neither says anything of the log.
        self.audit(self.cert, ports, "--index", index, "--since", head, "--consistency", consistency, head=old, key=key, code=2)
        consistency.write_text('{"consistency": []}')
        self.audit(self.cert, ports, "--index", index, *since, head=head, key=key, code=4)
        consistency.write_text('{"consistency": [7]}')
        self.audit(self.cert, ports, "--index", index, *since, head=head, key=key, code=4)


if __name__ == "__main__":
    PIRX, CT_LOG, CT_AUDIT = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
