#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chor's protocol and the batch codes by docs/wire_format.md alone (sections 2, 6, 9 and 10): the buckets of a small database, computed
here, are compared byte for byte with what servers hold, and records are fetched through them.

    tests/python_client/batch_codes_test.py PIRX
"""

import hashlib
import itertools
import json
import pathlib
import re
import secrets
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

PIRX = None
HEADER = struct.Struct("<4sHBB8s32sQQIIQ")
QUERY, REPLY, PARAMETERS, CHOR = 1, 2, 3, 2
GF2 = struct.pack("<BBHI", 1, 0, 1, 1)
LINES = [{"text": f"record {i} " + "x" * (i % 7)} for i in range(29)]


def xor(*blocks):
    out = 0
    for block in blocks:
        out ^= int.from_bytes(block, "little")
    return out.to_bytes(len(blocks[0]), "little")


class Database:
    """Its rows, made of the records as section 6 says."""

    def __init__(self, records, record_bytes, records_per_row):
        slots = []
        for i, data in enumerate(records):
            digest = hashlib.sha256(b"pirx record v1" + struct.pack("<QQ", i, len(data)) + data).digest()[:16]
            slots.append(struct.pack("<I", len(data)) + digest + data.ljust(record_bytes, b"\0"))
        self.records, self.slot_bytes, self.per_row = records, len(slots[0]), records_per_row
        self.row_bytes = records_per_row * self.slot_bytes
        text = b"".join(slots)
        self.rows = [text[at : at + self.row_bytes].ljust(self.row_bytes, b"\0") for at in range(0, len(text), self.row_bytes)]
        self.geometry = struct.pack("<QQQQ56x", len(records), record_bytes, records_per_row, 3)

    def row(self, i):
        return self.rows[i] if i < len(self.rows) else bytes(self.row_bytes)

    def record(self, position, row):
        slot = row[position % self.per_row * self.slot_bytes :][: self.slot_bytes]
        length = struct.unpack_from("<I", slot)[0]
        data = slot[20 : 20 + length]
        assert slot[4:20] == hashlib.sha256(b"pirx record v1" + struct.pack("<QQ", position, length) + data).digest()[:16]
        return data


class Subcube:
    def __init__(self, L, K, rows):
        self.name, self.L, self.K = f"subcube:{L},{K}", L, K
        self.m, self.batch, self.R = (L + 1) ** K, 2**K, -(-rows // L**K)

    def addends(self, bucket, k):
        """The rows of the database whose sum row k of a bucket is."""
        digits = []
        for _ in range(self.K):
            bucket, digit = divmod(bucket, self.L + 1)
            digits.insert(0, range(self.L) if digit == self.L else (digit,))
        for choice in itertools.product(*digits):
            v = 0
            for digit in choice:
                v = v * self.L + digit
            yield v * self.R + k

    def plan(self, wanted):
        """The row to ask of each bucket, and for each wanted row the buckets whose answers add up to it."""
        asked, uses = [0] * self.m, [[] for _ in wanted]

        def assign(K, first, requests):  # (row, which wanted) or None
            if K == 0:
                if requests[0]:
                    asked[first], which = requests[0]
                    uses[which].append(first)
                return
            height = self.L ** (K - 1) * self.R
            parts = [[] for _ in range(self.L + 1)]
            for a, b in zip(requests[::2], requests[1::2]):
                pair = [None] * (self.L + 1)
                if a:
                    pair[a[0] // height] = (a[0] % height, a[1])
                if b:
                    part, inner = b[0] // height, (b[0] % height, b[1])
                    if pair[part] is None:
                        pair[part] = inner
                    else:
                        pair = [pair[other] if other == part else inner for other in range(self.L + 1)]
                for part, request in zip(parts, pair):
                    part.append(request)
            for number, part in enumerate(parts):
                assign(K - 1, first + number * (self.L + 1) ** (K - 1), part)

        places = [(row, which) for which, row in enumerate(wanted)]
        assign(self.K, 0, places + [None] * (self.batch - len(places)))
        return asked, uses


class Subset:
    def __init__(self, L, w, rows):
        self.name, self.w = f"subset:{L},{w}", w
        self.sets = [frozenset(s) for size in range(w + 1) for s in itertools.combinations(range(L), size)]
        self.full = [s for s in self.sets if len(s) == w]
        self.m, self.batch, self.R = len(self.sets), 2**w, -(-rows // len(self.full))

    def addends(self, bucket, k):
        for j, S in enumerate(self.full):
            if S >= self.sets[bucket]:
                yield k * len(self.full) + j

    def ways(self, S):
        """Sets of buckets, each of which adds up to a row of S: by what they have in common with S, smallest first."""
        by_meet = {}
        for bucket, T in enumerate(self.sets):
            by_meet.setdefault(T & S, []).append(bucket)
        return sorted(by_meet.values(), key=len)

    def flats(self, S):
        for chosen in itertools.combinations([s for s in self.sets if 1 <= len(s) <= 2], self.w - 1):
            yield [b for b, T in enumerate(self.sets) if T != S and all(len(A & T) % 2 == len(A & S) % 2 for A in chosen)]

    def plan(self, wanted):
        asked, uses = [0] * self.m, []

        def search(which, used):
            if which == len(wanted):
                return True
            S = self.full[wanted[which] % len(self.full)]
            for way in self.ways(S):
                if used.isdisjoint(way):
                    uses.append(way)
                    if search(which + 1, used | set(way)):
                        return True
                    uses.pop()
            return False

        assert search(0, set()), "no way found"
        for row, way in zip(wanted, uses):
            for bucket in way:
                asked[bucket] = row // len(self.full)
        return asked, uses


class Server:
    def __init__(self, *words):
        self.process = subprocess.Popen([PIRX, "serve", *map(str, words), "--protocol", "chor", "--listen", "127.0.0.1:0"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        line = self.process.stdout.readline().decode()
        self.url = f"http://127.0.0.1:{re.search(r'listening on port ([0-9]+)', line).group(1)}"

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def parameters(self):
        with urllib.request.urlopen(self.url + "/v1/parameters", timeout=30) as answer:
            return answer.read()

    def ask(self, message):
        request = urllib.request.Request(self.url + "/v1/query", message, {"Content-Type": "application/octet-stream"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()


class BatchCodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        (cls.path / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))
        subprocess.run([PIRX, "db", "build", cls.path / "db.pirx", cls.path / "records.jsonl", "--from", "jsonl", "--value", "text",
                        "--records-per-row", "3"], check=True, capture_output=True, timeout=60)
        records = [line["text"].encode() for line in LINES]
        cls.database = Database(records, max(map(len, records)), 3)

    def serve(self, code, coordinate):
        server = Server(self.path / "db.pirx", "--coordinate", coordinate, "--code", code.name)
        self.addCleanup(server.stop)
        return server

    def start(self, server, code):
        """Takes the parameters message apart; the identity of queries."""
        message = server.parameters()
        magic, version, kind, protocol, tag, identity, epoch, x, queries, reserved, length = HEADER.unpack_from(message)
        self.assertEqual((magic, version, kind, protocol, tag, queries, reserved, length), (b"PIRX", 1, PARAMETERS, CHOR, GF2, 0, 0, 0))
        encoding, geometry, name = message[80:96], message[96:184], message[184:]
        self.assertEqual(encoding, struct.pack("<IIQ", 1, 0, 0))
        self.assertEqual(geometry, self.database.geometry)
        self.assertEqual(name.decode(), code.name)
        bound = hashlib.sha256(b"pirx vertical v1" + name + b"\n" + identity).digest()
        return bound, epoch, x

    def ask(self, server, code, vectors):
        """The rows that bits in `vectors`, one number each, add up to: vector i goes to bucket i mod m."""
        identity, epoch, x = self.start(server, code)
        header = lambda kind, length: HEADER.pack(b"PIRX", 1, kind, CHOR, GF2, identity, epoch, x, len(vectors), 0, length)  # noqa: E731
        body = b"".join(vector.to_bytes(-(-code.R // 8), "little") for vector in vectors)
        reply = server.ask(header(QUERY, code.R) + body)
        size = self.database.row_bytes
        self.assertEqual(reply[:80], header(REPLY, size))
        self.assertEqual(len(reply), 80 + len(vectors) * size)
        return [reply[80 + i * size : 80 + (i + 1) * size] for i in range(len(vectors))]

    def codes(self):
        rows = len(self.database.rows)
        return [Subcube(2, 1, rows), Subcube(2, 2, rows), Subcube(3, 2, rows), Subcube(2, 3, rows), Subcube(12, 1, rows),
                Subset(3, 1, rows), Subset(3, 2, rows), Subset(4, 2, rows), Subset(5, 3, rows), Subset(24, 1, rows)]

    def test_every_row_of_every_bucket(self):
        for code in self.codes():
            with self.subTest(code=code.name):
                server = self.serve(code, 1)
                got = self.ask(server, code, [1 << k for k in range(code.R) for _ in range(code.m)])
                expected = [xor(bytes(self.database.row_bytes), *(self.database.row(i) for i in code.addends(bucket, k)))
                            for k in range(code.R) for bucket in range(code.m)]
                self.assertEqual(got, expected)

    def test_records_are_fetched_through_the_buckets(self):
        for code in self.codes():
            with self.subTest(code=code.name):
                servers = [self.serve(code, x) for x in (1, 2)]
                for positions in ([28], [0, 1], [5, 5], [3 * k for k in range(code.batch)][:10]):
                    asked, uses = code.plan([position // 3 for position in positions])
                    first = [secrets.randbits(code.R) for _ in asked]
                    answers = [xor(*pair) for pair in zip(self.ask(servers[0], code, first),
                                                          self.ask(servers[1], code, [f ^ 1 << k for f, k in zip(first, asked)]))]
                    self.assertTrue(all(not set(a) & set(b) for a, b in itertools.combinations(uses, 2)))
                    for position, use in zip(positions, uses):
                        row = xor(*(answers[bucket] for bucket in use))
                        self.assertEqual(self.database.record(position, row), self.database.records[position])

    def test_every_way_gives_the_row(self):
        """Of subset codes, on the buckets as the test above finds them."""
        rows = len(self.database.rows)
        for code in (Subset(3, 2, rows), Subset(4, 2, rows), Subset(5, 3, rows)):
            buckets = [[xor(bytes(self.database.row_bytes), *(self.database.row(i) for i in code.addends(b, k)))
                        for k in range(code.R)] for b in range(code.m)]
            for i, row in enumerate(self.database.rows):
                S, k = code.full[i % len(code.full)], i // len(code.full)
                ways = code.ways(S)
                self.assertEqual((len(ways), sorted(sum(ways, []))), (2**code.w, list(range(code.m))))
                for way in ways + list(code.flats(S)):
                    self.assertEqual(xor(*(buckets[b][k] for b in way)), row)

    def test_the_tables_of_the_page(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/wire_format.md").read_text()
        lines = re.findall(r"^\| \d+ \| [012]{2} \| D_.*$", page, re.MULTILINE)
        self.assertEqual(len(lines), 9)

        def said(text):
            return [int(i) for i in re.findall(r"D_(\d+)", text)]

        cube, subset = Subcube(2, 2, 7), Subset(3, 2, 7)
        for line in lines:
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            bucket = int(cells[0])
            for k in range(2):
                self.assertEqual(said(cells[2 + k]), [i for i in cube.addends(bucket, k) if i < 7])
            if not cells[5]:
                continue
            self.assertEqual({int(x) for x in re.findall(r"\d", cells[6])}, subset.sets[int(cells[5])])
            for k in range(3):
                self.assertEqual(said(cells[7 + k]), [i for i in subset.addends(int(cells[5]), k) if i < 7])

    def test_a_query_under_the_plain_identity_is_stale(self):
        code = self.codes()[1]
        server = self.serve(code, 1)
        message = server.parameters()
        query = message[:6] + bytes([QUERY]) + message[7:64] + struct.pack("<IIQ", code.m, 0, code.R) + bytes(code.m)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            server.ask(query)
        self.assertEqual((refused.exception.code, refused.exception.headers["Pirx-Error"]), (409, "StaleEpoch"))
        refused.exception.close()


if __name__ == "__main__":
    PIRX = sys.argv.pop(1)
    unittest.main(verbosity=1)
