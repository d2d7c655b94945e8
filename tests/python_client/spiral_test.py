#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second client of Spiral, written from docs/wire_format.md alone (sections 5, 6, 11 and 12), against servers of the pirx program; and
the sizes and fields of every message, those of `pirx get` included. Needs openssl for AES.

    tests/python_client/spiral_test.py PIRX
"""

import hashlib
import http.server
import json
import pathlib
import re
import secrets
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

PIRX = None
PRIMES = (268369921, 249561089)
Q = PRIMES[0] * PRIMES[1]
QUERY, REPLY, PARAMETERS, KEYS, KEYS_HELD, KEYS_UNKNOWN = range(1, 7)


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def prefix(kind):
    return b"PIRX" + struct.pack("<HBB", 1, kind, 5)


def ceil_log2(x):
    return (x - 1).bit_length()


class Stream:
    """What a seed stands for, of a length that is known beforehand."""

    def __init__(self, seed, length):
        done = subprocess.run(["openssl", "enc", "-aes-256-ctr", "-nopad", "-K", seed.hex(), "-iv", "0" * 32], input=bytes(length),
                              capture_output=True, check=True)
        self.text, self.at = done.stdout, 0

    def slots(self, d):
        out = []
        for prime in PRIMES:
            found = []
            while len(found) < d:
                x = int.from_bytes(self.text[self.at : self.at + 4], "little") & 0xFFFFFFF
                self.at += 4
                if x < prime:
                    found.append(x)
            out.append(found)
        assert self.at <= len(self.text)
        return out


def values(part, root, q):
    """A polynomial's values at the powers of a root of unity: it is split into even and odd coefficients until nothing is left to split."""
    if len(part) == 1:
        return part
    even, odd = values(part[::2], root * root % q, q), values(part[1::2], root * root % q, q)
    low, high, power = [], [], 1
    for x, y in zip(even, odd):
        y = y * power % q
        low.append((x + y) % q)
        high.append((x - y) % q)
        power = power * root % q
    return low + high


def small_polynomial(d):
    """Centred binomial coefficients."""
    words = struct.unpack(f"<{2 * d}I", secrets.token_bytes(8 * d))
    return [bin(a).count("1") - bin(b).count("1") for a, b in zip(words[::2], words[1::2])]


def read_slot(plan, slot, position):
    """A record, by section 6."""
    length = struct.unpack_from("<I", slot)[0] if plan.variable else plan.record_bytes
    digest, data = slot[4 * plan.variable :][:16], slot[4 * plan.variable + 16 :]
    assert digest == sha(b"pirx record v1", struct.pack("<QQ", position, length), data[:length])[:16] and not any(data[length:])
    return data[:length]


class Ring:
    def __init__(self, d):
        self.d, bits = d, d.bit_length() - 1
        self.reverse = [int(format(i, f"0{bits}b")[::-1], 2) for i in range(d)]
        self.psi = []
        for q in PRIMES:
            x = 2
            while pow(pow(x, (q - 1) // (2 * d), q), d, q) != q - 1:
                x += 1
            self.psi.append(pow(x, (q - 1) // (2 * d), q))

    def to_slots(self, a):
        out = []
        for q, psi in zip(PRIMES, self.psi):
            twisted, power = [], 1
            for c in a:  # the values at psi^(2i+1) are those of this at (psi^2)^i
                twisted.append(c * power % q)
                power = power * psi % q
            natural = values(twisted, psi * psi % q, q)
            out.append([natural[i] for i in self.reverse])
        return out

    def automorphism(self, a, exponent):
        out = [0] * self.d
        for i, c in enumerate(a):
            at = i * exponent % (2 * self.d)
            out[at % self.d] = c if at < self.d else -c
        return out

    def multiply(self, a, b):
        """In the integers modulo x^d + 1, for products below 2^63: as two long numbers."""
        pack = lambda x: sum_of(x, 8)  # noqa: E731
        product = pack(a) * pack(b)
        sign, text = (1, product) if product >= 0 else (-1, -product)
        text = text.to_bytes(16 * self.d + 8, "little")
        c, carry = [], 0
        for i in range(2 * self.d):  # numbers of 64 bits with a sign
            x = int.from_bytes(text[8 * i : 8 * i + 8], "little") + carry
            carry = x >> 63
            c.append(sign * (x - (carry << 64)))
        return [c[i] - c[i + self.d] for i in range(self.d)]


def sum_of(numbers, width):
    positive = b"".join(max(x, 0).to_bytes(width, "little") for x in numbers)
    negative = b"".join(max(-x, 0).to_bytes(width, "little") for x in numbers)
    return int.from_bytes(positive, "little") - int.from_bytes(negative, "little")


def pointwise(f, *polynomials):
    return [[f(*xs) % q for xs in zip(*halves)] for q, halves in zip(PRIMES, zip(*polynomials))]


class Gadget:
    def __init__(self, packed):
        self.packed = packed
        self.z, self.t, self.drop, self.bits, self.domain = struct.unpack("<5I", packed)
        assert self.domain in (0, 1)
        plain = [self.z**k << self.bits for k in range(self.drop, self.t)]
        # Of each digit the weights modulo q1 and q2.
        self.weights = [(w, w) for w in plain] if self.domain == 0 else [(w, 0) for w in plain] + [(0, w) for w in plain]
        self.digits = len(self.weights)


class Plan:
    """A parameters message and what follows from it."""

    def __init__(self, message):
        assert len(message) == 244 and message[:8] == prefix(PARAMETERS)
        self.digest, self.identity, self.epoch = sha(message), message[8:40], struct.unpack_from("<Q", message, 40)[0]
        self.policy, self.log_d, self.eta, self.log_p, self.n, self.log_q2, self.log_columns = struct.unpack_from("<7I", message, 48)
        self.fold, self.left, self.right, self.conversion = (Gadget(message[at : at + 20]) for at in (76, 96, 116, 136))
        assert (self.policy, self.log_d, self.eta) == (0, 11, 32)
        geometry = struct.unpack_from("<4Q", message, 156)
        self.records, self.record_bytes, self.per_row, flags = geometry
        self.variable, self.digests, self.keyed = flags & 1, flags >> 1 & 1, flags >> 3 & 1
        segment_length, segments = struct.unpack_from("<2Q", message, 188)
        slot_bytes = self.record_bytes + 4 * self.variable + 16 * self.digests
        self.slot_bytes = slot_bytes * self.per_row if self.keyed else slot_bytes
        count = (segments + 2) * segment_length if self.keyed else self.records
        self.d, n = 1 << self.log_d, self.n
        group = n * n * self.d * self.log_p
        self.slots = min(max(1, group // (8 * self.slot_bytes)), count)
        self.trials = -(-8 * self.slot_bytes // group)
        self.items = -(-count // self.slots)
        self.columns = 1 << self.log_columns
        self.rows = -(-self.items // self.columns)
        self.g1 = 1 + ceil_log2(self.rows)
        self.g2 = 1 + ceil_log2(max(1, self.fold.digits * self.log_columns))
        self.polynomials = (self.g2 * self.right.digits + (self.g1 - 1) * self.left.digits + 2 * self.conversion.digits
                            + (n * n * self.conversion.digits if n > 1 else 0))
        self.keys_bytes = 72 + 7 * self.d * self.polynomials
        self.query_bytes = 104 + 7 * self.d
        self.reply_bytes = 40 + self.trials * self.d * (n * n * (self.log_p + 2) + n * self.log_q2) // 8
        self.keys_digest = sha(b"pirx spiral keys", struct.pack("<9I", self.policy, self.log_d, self.eta, 0, n, 0, 0, self.g1, self.g2),
                               self.left.packed, self.right.packed, self.conversion.packed)


class Client:
    def __init__(self, plan):
        self.plan, self.ring = plan, Ring(plan.d)
        self.s = self.small()
        self.s_slots = self.ring.to_slots(self.s)
        self.packing = [self.small() for _ in range(plan.n)] if plan.n > 1 else [self.s]
        self.packing_slots = [self.ring.to_slots(s) for s in self.packing]

    def small(self):
        return small_polynomial(self.plan.d)

    def encrypt(self, c0, secret, message):
        error = self.ring.to_slots(self.small())
        return pointwise(lambda m, e, s, c: m + e - s * c, message, error, secret, c0)

    def wire(self, polynomial):
        return b"".join((a | b << 28).to_bytes(7, "little") for a, b in zip(*polynomial))

    def keys(self):
        plan, ring, seed = self.plan, self.ring, secrets.token_bytes(32)
        stream, body = Stream(seed, 9 * plan.d * (plan.polynomials + 2)), []
        zero = [[0] * plan.d] * 2

        def scaled(polynomial, weight):
            return [[c * w % q for c in half] for q, w, half in zip(PRIMES, weight, polynomial)]

        def columns(polynomial, gadget):
            for weight in gadget.weights:
                body.append(self.wire(self.encrypt(stream.slots(plan.d), self.s_slots, scaled(polynomial, weight))))

        tau = lambda r: ring.to_slots(ring.automorphism(self.s, plan.d // 2**r + 1))  # noqa: E731
        for r in range(plan.g2):
            columns(tau(r), plan.right)
        for r in range(1, plan.g1):
            columns(tau(r), plan.left)
        columns(pointwise(lambda s: s * s, self.s_slots), plan.conversion)
        columns(self.s_slots, plan.conversion)
        if plan.n > 1:
            for i in range(plan.n):
                for weight in plan.conversion.weights:
                    c0 = stream.slots(plan.d)
                    for j, secret in enumerate(self.packing_slots):
                        body.append(self.wire(self.encrypt(c0, secret, scaled(self.s_slots, weight) if i == j else zero)))
        message = prefix(KEYS) + plan.keys_digest + seed + b"".join(body)
        self.name = sha(message)
        return message

    def query(self, item):
        plan, seed = self.plan, secrets.token_bytes(32)
        row, column = divmod(item, plan.columns)
        # Weights differ modulo the two primes in domain 1, so a plaintext for each.
        plaintexts = []
        for k, q in enumerate(PRIMES):
            mu = [0] * plan.d
            mu[2 * row] = (Q >> plan.log_p) * pow(2, -plan.g1, q) % q
            for bit in range(plan.log_columns):
                for digit, weight in enumerate(plan.fold.weights):
                    mu[2 * (bit * plan.fold.digits + digit) + 1] = (column >> bit & 1) * weight[k] * pow(2, -plan.g2, q) % q
            plaintexts.append(self.ring.to_slots(mu)[k])
        c1 = self.encrypt(Stream(seed, 9 * plan.d).slots(plan.d), self.s_slots, plaintexts)
        return prefix(QUERY) + plan.digest + self.name + seed + self.wire(c1)

    def decode(self, item, reply):
        """The item's bytes."""
        plan, n = self.plan, self.plan.n
        assert len(reply) == plan.reply_bytes and reply[:40] == prefix(REPLY) + plan.digest
        bits, at = int.from_bytes(reply[40:], "little"), 0
        text = format(bits, f"0{8 * (len(reply) - 40)}b")[::-1]

        def signed(width):
            nonlocal at
            out = []
            for _ in range(plan.d):
                x = int(text[at : at + width][::-1], 2)
                out.append(x - (1 << width) if x >> (width - 1) else x)
                at += width
            return out

        p, q2, values = 1 << plan.log_p, 1 << plan.log_q2, [0] * (plan.trials * n * n * plan.d)
        for trial in range(plan.trials):
            for column in range(n):
                random = signed(plan.log_q2)
                for i in range(n):
                    b, y = signed(plan.log_p + 2), self.ring.multiply(random, self.packing[i])
                    start = ((trial * n + i) * n + column) * plan.d
                    for j in range(plan.d):
                        values[start + j] = (4 * p * y[j] + q2 * b[j] + 2 * q2) // (4 * q2) % p
        pad = Stream(sha(b"pirx spiral pad", plan.identity, struct.pack("<Q", item)), 2 * len(values)).text
        number = "".join(format((v - w) % p, f"0{plan.log_p}b")[::-1]
                         for v, w in zip(values, struct.unpack(f"<{len(values)}H", pad)))
        size = plan.slots * plan.slot_bytes
        return int(number[: 8 * size][::-1], 2).to_bytes(size, "little")

    def slot(self, x, ask):
        item, place = divmod(x, self.plan.slots)
        data = self.decode(item, ask(self.query(item)))
        return data[place * self.plan.slot_bytes :][: self.plan.slot_bytes]

    def record(self, position, ask):
        return read_slot(self.plan, self.slot(position, ask), position)


class Recorder(http.server.BaseHTTPRequestHandler):
    """Between `pirx get` and a server."""

    protocol_version = "HTTP/1.1"

    def pass_on(self):
        request = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, reply = call(self.server.upstream + self.path, request or None)
        self.server.seen.append((request, reply))
        self.send_response(status)
        for name in ("Content-Type", "Pirx-Error"):
            if headers[name]:
                self.send_header(name, headers[name])
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    do_GET = do_POST = pass_on

    def log_message(self, *_):
        pass


def call(url, message=None):
    request = urllib.request.Request(url, message, {"Content-Type": "application/octet-stream"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.headers, refused.read()


class Spiral(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def run_pirx(self, *words):
        return subprocess.run([PIRX, *map(str, words)], check=True, capture_output=True, timeout=120).stdout

    def build(self, lines, *words):
        (self.path / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.run_pirx("db", "build", self.path / "db.pirx", self.path / "records.jsonl", "--from", "jsonl", "--value", "text", *words)

    PROTOCOL = "spiral"

    def start(self, *words):
        words = (*words, "--protocol", self.PROTOCOL, "--listen", "127.0.0.1:0")
        process = subprocess.Popen([PIRX, "serve", str(self.path / "db.pirx"), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

        def stop():
            process.terminate()
            process.wait(timeout=60)
            process.stdout.close()

        self.addCleanup(stop)
        self.url = f"http://127.0.0.1:{re.search(r'port ([0-9]+)', process.stdout.readline().decode()).group(1)}"

    def serve(self, *words):
        self.start(*words)
        return Plan(call(self.url + "/v1/parameters")[2])

    def ask(self, message):
        status, _, reply = call(self.url + "/v1/query", message)
        self.assertEqual(status, 200, reply)
        return reply

    def refused(self, message, code, status):
        answer = call(self.url + "/v1/query", bytes(message))
        self.assertEqual((answer[0], answer[1]["Pirx-Error"]), (status, code))
        return answer[2]

    def upload(self, client):
        keys = client.keys()
        self.assertEqual(len(keys), client.plan.keys_bytes)
        self.assertEqual(self.ask(keys), prefix(KEYS_HELD) + client.plan.keys_digest + client.name)

    def test_the_transform(self):
        ring = Ring(2048)
        self.assertEqual(ring.psi, [228368554, 30909463])  # as the page says
        a, b = ([secrets.randbelow(1 << 20) - (1 << 19) for _ in range(2048)] for _ in range(2))
        for i in (0, 1, 2, 1000, 2047):
            for slots, psi, q in zip(ring.to_slots(a), ring.psi, PRIMES):
                x = pow(psi, 2 * ring.reverse[i] + 1, q)
                value = 0
                for c in reversed(a):
                    value = (value * x + c) % q
                self.assertEqual(slots[i], value)
        product = pointwise(lambda x, y: x * y, ring.to_slots(a), ring.to_slots(b))
        self.assertEqual(ring.to_slots(ring.multiply(a, b)), product)

    def test_the_tables_of_the_page_add_up(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/wire_format.md").read_text().split("## 12. Spiral")[1]

        def fields(table, columns):
            cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if re.match(r"\| \d+ \|", line)]
            return [(int(row[columns]), row[columns + 1]) for row in cells if row[columns]]

        def check(table, columns, size):
            at = 0
            for offset, width in fields(table, columns):
                self.assertEqual(offset, at)
                at += int(width) if width.isdigit() else 0
            self.assertEqual(at, size)

        parameters, keys, query = (page.split(f"**{name}**, type {kind},")[1] for name, kind in (("Parameters", 3), ("Keys", 4), ("Query", 1)))
        check(parameters.split("**Keys**")[0], 0, 244)
        check(keys.split("**Query**")[0], 0, 72)
        check(query.split("Two more")[0], 0, 104)
        check(query.split("Two more")[0], 4, 40)

    def test_records_and_refusals(self):
        lines = [{"text": f"record {i} " + "x" * (i % 900)} for i in range(2500)]
        self.build(lines)
        plan = self.serve("--set", "s1")
        self.assertGreater(plan.log_columns, 0)
        client = Client(plan)
        keys = client.keys()
        self.assertEqual(len(keys), plan.keys_bytes)
        query = client.query(plan.items - 1)
        self.assertEqual(len(query), plan.query_bytes)
        self.assertEqual(self.ask(query), prefix(KEYS_UNKNOWN) + plan.digest)
        self.assertEqual(self.ask(keys), prefix(KEYS_HELD) + plan.keys_digest + client.name)
        for position in (0, 1234, 2499):
            self.assertEqual(client.record(position, self.ask), lines[position]["text"].encode())

        def changed(message, at, value):
            return message[:at] + bytes([value]) + message[at + 1 :]

        body = json.loads(self.refused(changed(query, 8, query[8] ^ 1), "StaleEpoch", 409))
        self.assertEqual(body["error"]["epoch"], plan.epoch)
        self.assertEqual(Plan(bytes.fromhex(body["error"]["parameters"])).digest, plan.digest)
        self.refused(changed(keys, 8, keys[8] ^ 1), "StaleEpoch", 409)
        self.refused(query[:-1], "DataLoss", 400)
        self.refused(query + b"\0", "DataLoss", 400)
        self.refused(keys[:-1], "DataLoss", 400)
        self.refused(changed(query, 0, 0), "DataLoss", 400)
        self.refused(changed(query, 6, REPLY), "DataLoss", 400)
        self.refused(changed(query, 4, 2), "InvalidArgument", 400)
        self.refused(changed(query, 7, 4), "InvalidArgument", 400)
        for message, at in ((query, 104), (keys, 72)):
            for slot in (PRIMES[0], PRIMES[1] << 28):
                self.refused(message[:at] + slot.to_bytes(7, "little") + message[at + 7 :], "InvalidArgument", 400)

    def test_packed_results_in_several_trials(self):
        lines = [{"text": secrets.token_hex(9000 + i)} for i in range(12)]
        self.build(lines)
        plan = self.serve("--set", "s2s")
        self.assertGreater(min(plan.n, plan.trials), 1)
        client = Client(plan)
        self.upload(client)
        self.assertEqual(client.record(7, self.ask), lines[7]["text"].encode())

    def test_rows_of_a_keyed_database(self):
        lines = [{"name": f"name {i}", "text": f"record {i}"} for i in range(200)]
        self.build(lines, "--key", "name", "--keyed")
        plan = self.serve()
        client = Client(plan)
        self.upload(client)
        # docs/database_format.md, "Keyed databases".
        geometry = call(self.url + "/v1/parameters")[2][156:]
        segment_length, segments, tweak = struct.unpack_from("<3Q", geometry, 32)
        key = b"name 77"
        c, h = struct.unpack_from("<QQ", sha(b"pirx key v1", geometry[56:88], key))

        def stir(w):
            for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
                w = (w ^ w >> 33) * factor % 2**64
            return w ^ w >> 33

        a, b = stir((h + 2 * tweak + 1) % 2**64), stir((h + 2 * tweak + 2) % 2**64)
        s, low = (a % 2**32) * segments >> 32, 2**32
        rows = (s * segment_length + ((a >> 32) * segment_length >> 32), (s + 1) * segment_length + (b % low * segment_length >> 32),
                (s + 2) * segment_length + ((b >> 32) * segment_length >> 32))
        size, start = plan.slot_bytes // plan.per_row, c * plan.per_row // 2**64
        slot = 0
        for row in rows:
            slot ^= int.from_bytes(client.slot(row, self.ask)[start * size :][:size], "little")
        slot = slot.to_bytes(size, "little")
        content = slot[: 4 * plan.variable] + slot[4 * plan.variable + 16 :]
        self.assertEqual(slot[4 * plan.variable :][:16], sha(b"pirx keyed record v2", geometry[56:88], struct.pack("<Q", len(key)), key, content)[:16])
        self.assertTrue(content[4 * plan.variable :].startswith(b"record 77"))

    def test_messages_of_pirx_get(self):
        self.build([{"text": f"record {i}"} for i in range(50)])
        plan = self.serve()
        recorder = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
        recorder.upstream, recorder.seen = self.url, []
        thread = threading.Thread(target=recorder.serve_forever)
        thread.start()
        try:
            deployment = self.path / "deployment.json"
            self.run_pirx("deploy", deployment, "--database", self.path / "db.pirx", "--server", f"http://127.0.0.1:{recorder.server_port}")
            recorder.seen.clear()
            self.assertEqual(self.run_pirx("get", deployment, 3).strip(), b"record 3")
        finally:
            recorder.shutdown()
            thread.join()
            recorder.server_close()
        exchanges = [(request, reply) for request, reply in recorder.seen if request]
        kinds = [(request[6], reply[6]) for request, reply in exchanges]
        self.assertIn((KEYS, KEYS_HELD), kinds)
        self.assertEqual(kinds[-1], (QUERY, REPLY))
        names = {sha(request) for request, _ in exchanges if request[6] == KEYS}
        for request, reply in exchanges:
            self.assertEqual(request[:8], prefix(request[6]))
            if request[6] == KEYS:
                self.assertEqual((len(request), request[8:40]), (plan.keys_bytes, plan.keys_digest))
                self.assertEqual(reply, prefix(KEYS_HELD) + plan.keys_digest + sha(request))
            else:
                self.assertEqual((len(request), request[8:40]), (plan.query_bytes, plan.digest))
                self.assertIn(request[40:72], names)
                self.check_slots(request[104:])
                self.assertEqual((reply[:8], reply[8:40]), (prefix(reply[6]), plan.digest))
                self.assertEqual(len(reply), plan.reply_bytes if reply[6] == REPLY else 40)

    def check_slots(self, polynomial):
        for at in range(0, len(polynomial), 7):
            number = int.from_bytes(polynomial[at : at + 7], "little")
            self.assertLess(number & 0xFFFFFFF, PRIMES[0])
            self.assertLess(number >> 28, PRIMES[1])


if __name__ == "__main__":
    PIRX = sys.argv.pop(1)
    unittest.main(verbosity=1)
