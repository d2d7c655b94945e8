#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python client, written from docs/wire_format.md alone, against servers of the pirx program: they must agree.

    python_client_test.py PIRX
"""
import http.client
import json
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

PIRX = ""
ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "examples/python_client/pirx_client.py"
sys.path[:0] = [str(CLIENT.parent), str(ROOT / "tests/tools")]
import command_line_test as cl  # noqa: E402
import pirx_client  # noqa: E402

RECORDS = [b"" if i == 7 else b"record %d " % i + b"x" * (i % 37) for i in range(200)]


class Fields(unittest.TestCase):
    def test_constants(self):
        self.assertEqual(pirx_client.field_by_name("w160").order, 2**160 + 7)
        self.assertEqual(pirx_client.field_by_name("w48").order, 2**48 + 21)
        self.assertEqual(pirx_client.field_by_name("prime8").order, 257)
        self.assertEqual(pirx_client.field_by_name("gf2_8").mul(0x57, 0x83), 0xC1)  # FIPS 197
        for name in ("gf2", "prime", "prime0", "prime12", "prime264", "w64", "prime064", "W160", ""):
            with self.subTest(name=name), self.assertRaises(pirx_client.PirxError):
                pirx_client.field_by_name(name)

    def test_arithmetic(self):
        for name in ("gf2_8", "gf2_16", "w160", "w48", "prime64", "prime256"):
            field = pirx_client.field_by_name(name)
            with self.subTest(field=name):
                for a, b, c in zip(*(field.random_vector(200) for _ in range(3))):
                    self.assertEqual(field.mul(a, field.add(b, c)), field.add(field.mul(a, b), field.mul(a, c)))
                    self.assertEqual(field.sub(field.add(a, b), b), a)
                    if a:
                        self.assertEqual(field.mul(a, field.inverse(a)), 1)

    def test_multiplication_without_tables(self):
        field = pirx_client.field_by_name("gf2_16")
        for a, b in zip(field.random_vector(500), field.random_vector(500)):
            product = 0
            for i in range(16):
                product ^= (a << i) if b >> i & 1 else 0
            for i in reversed(range(16, 31)):
                product ^= (0x150D7 << (i - 16)) if product >> i & 1 else 0
            self.assertEqual(field.mul(a, b), product)

    def test_liars_are_found_up_to_the_bound_and_never_beyond(self):
        for name, t, k in (("gf2_8", 1, 6), ("w160", 2, 7), ("prime64", 3, 6)):
            field = pirx_client.field_by_name(name)
            secret, coins = field.random_vector(5), [field.random_vector(5) for _ in range(t)]
            replies = {}
            for x in range(1, k + 1):
                powers = [1]
                for _ in range(t):
                    powers.append(field.mul(powers[-1], x))
                replies[x] = pirx_client.combine(field, powers, [secret, *coins])
            most = (k - t - 1) // 2
            for wrong in range(most + 2):
                bad = {x: list(words) for x, words in replies.items()}
                for x in list(bad)[:wrong]:
                    bad[x][x % 5] = field.add(bad[x][x % 5], x)
                with self.subTest(field=name, wrong=wrong):
                    if wrong <= most:
                        self.assertEqual(pirx_client.decode(field, t, bad), (secret, list(bad)[:wrong]))
                    else:
                        with self.assertRaises(pirx_client.PirxError):
                            pirx_client.decode(field, t, bad)


class Messages(unittest.TestCase):
    def setUp(self):
        self.field = pirx_client.field_by_name("w160")
        self.database = pirx_client.Database(bytes(range(32)), 3, 10, 6, 2, True, True)
        words = [1, 2, 2**160 + 6] * self.database.words(self.field)
        header = pirx_client.encode_header(pirx_client.REPLY, self.field, self.database, 4, 3, self.database.words(self.field))
        self.reply = header + pirx_client.encode_numbers(words, 21)

    def parse(self, message):
        return pirx_client.parse_reply(bytes(message), self.field, self.database, 4, 3)

    def test_every_bit_of_the_header_counts(self):
        self.assertEqual(len(self.parse(self.reply)), 9)
        for bit in range(8 * 80):
            damaged = bytearray(self.reply)
            damaged[bit // 8] ^= 1 << bit % 8
            with self.subTest(bit=bit), self.assertRaises(ValueError):
                self.parse(damaged)

    def test_lengths_and_elements(self):
        for message in (b"", self.reply[:79], self.reply[:-1], self.reply + b"\0", self.reply[:-1] + b"\x02",
                        self.reply[:-21] + (2**160 + 7).to_bytes(21, "little")):
            with self.assertRaises(ValueError):
                self.parse(message)

    def test_records_are_checked(self):
        data = b"four"
        slot = (4).to_bytes(4, "little") + pirx_client.record_digest(5, data) + data + b"\0\0"
        row = bytes(26) + slot
        cut = lambda bytes_, at=5: pirx_client.cut_record(  # noqa: E731
            self.field, self.database, at, pirx_client.decode_numbers(bytes_, 20))
        self.assertEqual(cut(row), data)
        self.assertEqual(cut(row + bytes(8)), data)  # 52 bytes in 3 words
        for index in range(26, 52):
            damaged = bytearray(row)
            damaged[index] ^= 1
            with self.subTest(index=index), self.assertRaises(ValueError):
                cut(damaged)
        with self.assertRaises(ValueError):
            cut(row + b"\x01")
        with self.assertRaises(ValueError):
            cut(row, 3)  # another position, another digest
        with self.assertRaises(ValueError):
            pirx_client.cut_record(self.field, self.database, 5, [2**160, 0, 0])


class Deployments(unittest.TestCase):
    GOOD = {
        "pirx_deployment": 1, "protocol": "goldberg", "field": "gf2_8", "threshold": 1,
        "database": {"identity": "ab" * 32, "epoch": 1, "records": 9, "record_bytes": 4, "records_per_row": 3,
                     "variable_length": True, "digests": True},
        "servers": [{"url": f"http://127.0.0.1:{8100 + x}", "coordinate": x} for x in (1, 2, 3)],
    }  # fmt: skip

    def load(self, deployment):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "deployment.json"
            path.write_text(json.dumps(deployment))
            return pirx_client.load_deployment(path)

    def test_plain_goldberg_is_read(self):
        self.assertEqual(len(self.load(self.GOOD).servers), 3)

    def test_what_pirx_get_alone_can_do_is_refused_by_name(self):
        for change, part in (
            ({"ramp": 2}, "ramp, which"),
            ({"encoding": {"arity": 2, "independence": 0, "modulus": 2}, "ramp": 2}, "encoding, ramp, which"),
            ({"code": "subcube:2,1"}, "code, which"),
            ({"protocol": "chor", "field": "gf2", "threshold": 2}, "Chor's"),
        ):
            with self.subTest(change=change), self.assertRaises(pirx_client.PirxError) as refused:
                self.load({**self.GOOD, **change})
            self.assertEqual(refused.exception.code, 2)
            self.assertIn(part, str(refused.exception))
            self.assertIn("use pirx get", str(refused.exception))

    def test_mistakes_are_refused(self):
        for change in ({"thresold": 1}, {"field": None}, {"servers": self.GOOD["servers"][:1] * 2}, {"threshold": 3}):
            with self.subTest(change=change), self.assertRaises(pirx_client.PirxError) as refused:
                self.load({**self.GOOD, **change})
            self.assertEqual(refused.exception.code, 2)
        for name in self.GOOD:
            with self.subTest(without=name), self.assertRaises(pirx_client.PirxError) as refused:
                self.load({n: v for n, v in self.GOOD.items() if n != name})
            self.assertIn(f"has no {name}", str(refused.exception))

    def test_key_filters(self):
        usual = {"segment_length": 4, "segments": 1, "tweak": 0, "seed": "00" * 32}

        def load(field="gf2_8", digests=True, **change):
            database = {**self.GOOD["database"], "digests": digests, "filter": {**usual, **change}}
            return self.load({**self.GOOD, "field": field, "database": database})

        self.assertEqual(load().database.rows, 12)
        for change, part in (({"seed": "00"}, "seed"), ({"segments": 0}, "impossible"), ({"segment_length": 1 << 32}, "impossible"),
                             ({"tweak": -1}, "impossible"), ({"tweak": 0.5}, "no int"), ({"colour": 1}, "unknown members"),
                             ({"segment_length": 1, "segments": 0}, "impossible"), ({"field": "w160"}, "gf2_8"),
                             ({"digests": False}, "digests"), ({"segment_length": 1, "segments": 0 + 1}, None)):
            with self.subTest(change=change):
                if part is None:
                    self.assertEqual(load(**change).database.rows, 3)
                    continue
                with self.assertRaises(pirx_client.PirxError) as refused:
                    load(**change)
                self.assertEqual(refused.exception.code, 2)
                self.assertIn(part, str(refused.exception))
        few = {**self.GOOD["database"], "records": 10, "filter": {**usual, "segment_length": 1}}
        with self.assertRaisesRegex(pirx_client.PirxError, "no room"):
            self.load({**self.GOOD, "database": few})


class AgainstServers(cl.Servers):
    def setUp(self):
        super().setUp()
        (self.path / "input").mkdir()
        for i, record in enumerate(RECORDS):
            (self.path / f"input/{i:03}").write_bytes(record)
        self.database = self.path / "db.pirx"
        cl.run("db", "build", self.database, self.path / "input", "--from", "folder")

    def serve(self, coordinate, field="gf2_8", database=None, more=()):
        return self.start(PIRX, "serve", database or self.database, "--coordinate", coordinate, "--field", field,
                          "--listen", "127.0.0.1:0", *more)

    def get(self, deployment, *positions, code=0):
        done = subprocess.run([sys.executable, str(CLIENT), str(deployment), *map(str, positions)], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stdout, done.stderr.decode()

    def test_fields(self):
        for field, coordinates in (("gf2_8", (1, 2, 255)), ("gf2_16", (1, 65535, 256)), ("w160", (3, 2**63, 1)),
                                   ("prime64", (3, 2, 2**63)), ("w48", (1, 2, 3))):
            with self.subTest(field=field):
                servers = [self.serve(x, field) for x in coordinates]
                output, report = self.get(self.deploy(servers, 1), 42, 7, 199, 42)
                self.assertEqual(output, RECORDS[42] + RECORDS[7] + RECORDS[199] + RECORDS[42])
                self.assertEqual(report.count(": ok\n"), 3)
                deployment = pirx_client.load_deployment(self.path / "deployment.json")
                for server in deployment.servers:  # section 6, byte for byte
                    connection = http.client.HTTPConnection(server.host, server.port, timeout=10)
                    self.addCleanup(connection.close)
                    connection.request("GET", "/v1/parameters")
                    expected = pirx_client.encode_parameters(deployment.field, deployment.database, server.x)
                    self.assertEqual(connection.getresponse().read(), expected)

    def keyed(self, rows, *words):
        source = self.path / "rows.jsonl"
        source.write_text("".join(json.dumps({"k": key, "v": value}) + "\n" for key, value in rows.items()))
        target = self.path / "keyed.pirx"
        cl.run("db", "build", target, source, "--from", "jsonl", "--key", "k", "--value", "v", "--keyed", *words)
        return target

    def test_keys(self):
        varied = {f"key {i}": f"record {i}" * (i % 5) for i in range(300)}
        varied.update({"": "of the empty key", "\u00e4\u6f22": "of a key beyond ASCII"})
        for rows, words, field in ((varied, (), "gf2_8"), (varied, ("--records-per-row", 1), "gf2_16"),
                                   ({str(i): f"{i:08}" for i in range(40)}, (), "gf2_16"), ({"only": "one"}, (), "gf2_8")):
            database = self.keyed(rows, *words)
            servers = [self.serve(x, field, database) for x in (1, 2, 3)]
            (self.path / "deployment.json").unlink(missing_ok=True)
            target = self.deploy(servers, 1)
            deployment = pirx_client.load_deployment(target)
            # The parameters are those of the server, bit by bit.
            with urllib.request.urlopen(servers[1].url + "/v1/parameters") as answer:
                self.assertEqual(answer.read(), pirx_client.encode_parameters(deployment.field, deployment.database, 2))
            keys = [*rows][:60] + [*rows][-2:] + ["nobody", "key 3 ", "key 3\n"]
            found = pirx_client.fetch_keys(deployment, [key.encode() for key in keys])
            self.assertEqual(found, [rows[key].encode() if key in rows else None for key in keys])
            self.assertEqual([server.status for server in deployment.servers], ["ok"] * 3)
            # And to `pirx get` each of them is the same.
            told = subprocess.run([PIRX, "get", target, "--json", *(word for key in keys for word in ("--key", key))],
                                  capture_output=True, timeout=60, check=False)
            self.assertEqual(told.returncode, 3, told.stderr)
            told = [record.get("text") for record in json.loads(told.stdout)["records"]]
            self.assertEqual([record.decode() if record is not None else None for record in found], told)
            for wrong in (lambda: pirx_client.fetch(deployment, [0]), lambda: pirx_client.fetch_keys(deployment, [])):
                self.assertRaises(pirx_client.PirxError, wrong)

    def test_keys_of_the_command_line(self):
        database = self.keyed({"ann": "Oslo", "bob": "Rome"})
        servers = [self.serve(x, database=database) for x in (1, 2, 3, 4)]
        deployment = self.deploy([*servers[:3], self.proxy(servers[3], "lie")], 1)
        output, report = self.get(deployment, "--key", "bob", "--key", "ann", "--key", "bob")
        self.assertEqual(output, b"RomeOsloRome")
        self.assertIn("lied", report)
        output, report = self.get(deployment, "--key", "bob", "--key", "nobody", code=3)
        self.assertEqual(output, b"Rome")
        self.assertIn("1 of the keys", report)
        self.assertNotIn("nobody", report)
        self.get(deployment, 1, code=2)
        self.get(deployment, 1, "--key", "bob", code=2)
        deployment.unlink()
        plain = self.deploy([self.serve(x) for x in (1, 2)], 1)
        self.get(plain, "--key", "bob", code=2)

    def test_fixed_length_without_digests(self):
        source, target = self.path / "fixed.bin", self.path / "fixed.pirx"
        source.write_bytes(bytes(range(250)) * 13)
        cl.run("db", "build", target, source, "--from", "fixed", "--record-bytes", 13, "--no-digests")
        for field in ("gf2_16", "w160"):
            deployment = self.deploy([self.serve(x, field, target) for x in (1, 2, 3, 4)], 3)
            self.assertEqual(self.get(deployment, 249, 0)[0], source.read_bytes()[249 * 13 :] + bytes(range(13)))

    def test_one_liar_of_five_is_corrected_and_named(self):
        honest = [self.serve(x) for x in (1, 2, 3, 4)]
        fifth = self.serve(5)
        for mode, status in (("lie", "lied"), ("flip", "lied"), ("zero", "lied"), ("truncate", "malformed"), ("close", "malformed"),
                             ("extend", "malformed"), ("stale", "stale epoch"), ("honest", "ok")):
            for place in (0, 4):
                with self.subTest(mode=mode, place=place):
                    liar = self.proxy(fifth, mode)
                    deployment = self.deploy([*honest[:place], liar, *honest[place:]], 2)
                    output, report = self.get(deployment, 9, 100)
                    self.assertEqual(output, RECORDS[9] + RECORDS[100])
                    self.assertRegex(report, rf"  5 {liar.url}: {status}")
                    self.assertEqual(report.count(": ok\n"), 5 if status == "ok" else 4)

    def test_a_slow_server_is_not_waited_for_longer_than_the_deadline(self):
        servers = [self.serve(1), self.serve(2), self.proxy(self.serve(3), "slow", "--delay", 20)]
        deployment = pirx_client.load_deployment(self.deploy(servers, 1))
        start = time.monotonic()
        self.assertEqual(pirx_client.fetch(deployment, [5], deadline=2), [RECORDS[5]])
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual([server.status for server in deployment.servers][:2], ["ok", "ok"])
        self.assertNotEqual(deployment.servers[2].status, "ok")

    def test_too_many_liars_and_too_few_servers(self):
        servers = [self.serve(x) for x in (1, 2, 3)]
        deployment = self.deploy([*servers[:2], self.proxy(servers[2], "lie")], 1)
        output, report = self.get(deployment, 1, code=9)  # two replies suffice, but the third cannot be told to be the wrong one
        self.assertEqual(output, b"")
        self.assertIn("contradict", report)
        deployment = self.deploy(servers, 1)
        servers[1].stop()
        output, report = self.get(deployment, 3)
        self.assertEqual(output, RECORDS[3])
        self.assertEqual(report.count(": ok\n"), 2)
        servers[0].stop()
        output, report = self.get(deployment, 3, code=9)
        self.assertEqual(output, b"")
        self.assertIn("only 1 usable replies, at least 2 are needed", report)

    def test_two_replies_of_which_one_lies_are_caught_by_the_digest(self):
        servers = [self.serve(1), self.proxy(self.serve(2), "lie")]
        output, report = self.get(self.deploy(servers, 1), 3, code=9)
        self.assertEqual(output, b"")
        self.assertIn("too many servers lied", report)

    def test_wrong_epoch_identity_and_coordinate(self):
        servers = [self.serve(x) for x in (1, 2, 3)]
        good = json.loads(self.deploy(servers, 1).read_text())
        target = self.path / "changed.json"
        target.write_text(json.dumps({**good, "database": {**good["database"], "record_bytes": 1}}))
        self.assertIn("its checksum is wrong", self.get(target, 1, code=2)[1])
        database = {**good["database"], "identity": good["database"]["identity"].upper()}
        target.write_text(json.dumps({**good, "database": database}, sort_keys=True))
        self.assertEqual(self.get(target, 1)[0], self.get(self.deploy(servers, 1), 1)[0])
        del good["checksum"]

        def changed(change):
            text = json.loads(json.dumps(good))
            change(text)
            target.write_text(json.dumps(text))
            return target

        _, report = self.get(changed(lambda text: text["database"].update(epoch=2)), 1, code=9)
        self.assertEqual(report.count("409 'StaleEpoch'"), 3)
        _, report = self.get(changed(lambda text: text["database"].update(identity="00" * 32)), 1, code=9)
        self.assertEqual(report.count("409 'StaleEpoch'"), 3)
        output, report = self.get(changed(lambda text: text["servers"][0].update(coordinate=9)), 1)
        self.assertEqual(output, RECORDS[1])
        self.assertIn("400 'InvalidArgument'", report)
        _, report = self.get(changed(lambda text: text.update(field="w160")), 1, code=9)
        self.assertEqual(report.count("400 'InvalidArgument'"), 3)
        # What a deployment file must not say.
        for change in (lambda text: text.update(surprise=1), lambda text: text.update(threshold=3), lambda text: text.update(threshold=0),
                       lambda text: text.update(pirx_deployment=2), lambda text: text.pop("database"),
                       lambda text: text["database"].update(records=True), lambda text: text["database"].update(records_per_row=0),
                       lambda text: text["database"].update(identity="00"), lambda text: text["servers"][0].update(coordinate=0),
                       lambda text: text["servers"][0].update(coordinate=2), lambda text: text["servers"][0].update(coordinate=256),
                       lambda text: text["servers"][0].update(url=servers[1].url), lambda text: text["servers"][0].update(url="ftp://a"),
                       lambda text: text["servers"][0].update(url="http://192.0.2.1:80"), lambda text: text.update(field="gf9")):
            self.get(changed(change), 1, code=2)
        target.write_text("{")
        self.get(target, 1, code=2)
        self.get(self.path / "none.json", 1, code=5)
        self.get(self.path / "deployment.json", len(RECORDS), code=3)

    def test_a_server_may_take_fewer_queries(self):
        servers = [self.serve(x, more=("--max-queries", 4)) for x in (1, 2)]
        deployment = self.deploy(servers, 1)
        self.assertEqual(self.get(deployment, *range(4))[0], b"".join(RECORDS[:4]))
        self.get(deployment, *range(5), code=9)

    def test_tls(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem",
                        "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, capture_output=True, cwd=self.path)
        tls = ("--tls-cert", self.path / "cert.pem", "--tls-key", self.path / "key.pem")
        servers = [self.serve(x, more=tls) for x in (1, 2, 3)]
        for server in servers:
            server.url = server.url.replace("http:", "https:")
        deployment = self.deploy(servers, 1, "--ca-file", "cert.pem")
        self.assertEqual(self.get(deployment, 8)[0], RECORDS[8])
        text = json.loads(deployment.read_text())
        for entry in text["servers"]:
            del entry["ca_file"]  # the system's trust anchors do not know this certificate
        deployment.write_text(json.dumps(text))
        _, report = self.get(deployment, 8, code=9)
        self.assertIn("CERTIFICATE_VERIFY_FAILED", report)


if __name__ == "__main__":
    PIRX = cl.PIRX = sys.argv.pop(1)
    unittest.main(verbosity=1)
