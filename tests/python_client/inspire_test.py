#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second client of inspire, in the words of docs/wire_format.md (sections 5, 6, 12 and 15), against servers of the pirx program. The
transform, the streams and the messages to a server are those of spiral_test.py, which was written from section 12 alone.

    tests/python_client/inspire_test.py PIRX
"""

import math
import secrets
import struct
import sys
import unittest

import spiral_test
from spiral_test import PRIMES, Q, Ring, Spiral, Stream, call, pointwise, read_slot, sha, small_polynomial, values

QUERY, REPLY, PARAMETERS, MASKS_WANTED, MASKS = range(1, 6)
D = 2048
#      eta, log2 d, l, beta, delta, kappa, tm, most t
SETS = {8: (32, 11, 1, 24, 32, 46, 20, 32), 16: (32, 11, 2, 16, 24, 46, 28, 48)}


def prefix(kind):
    return b"PIRX" + struct.pack("<HBB", 1, kind, 7)


def run_of(numbers, bits):
    text = sum(x << bits * i for i, x in enumerate(numbers[:1024]))  # long numbers are slow to grow
    for at in range(1024, len(numbers), 1024):
        text |= sum(x << bits * i for i, x in enumerate(numbers[at : at + 1024])) << bits * at
    return text.to_bytes(-(-len(numbers) * bits // 8), "little")


def numbers_of(run, count, bits):
    assert len(run) == -(-count * bits // 8)
    text = format(int.from_bytes(run, "little"), f"0{8 * len(run)}b")[::-1]
    assert "1" not in text[count * bits :]
    return [int(text[i * bits : (i + 1) * bits][::-1], 2) for i in range(count)]


def from_slots(ring, slots):
    """Coefficients modulo q. The values at psi^(2i + 1) are transformed with the root's inverse."""
    halves = []
    for q, psi, half in zip(PRIMES, ring.psi, slots):
        natural = [half[i] for i in ring.reverse]
        back = pow(psi, -1, q)

        factor, out = pow(ring.d, -1, q), []
        for c in values(natural, back * back % q, q):
            out.append(c * factor % q)
            factor = factor * back % q
        halves.append(out)
    inverse = pow(PRIMES[0], -1, PRIMES[1])
    return [a + PRIMES[0] * ((b - a) * inverse % PRIMES[1]) for a, b in zip(*halves)]


def rounded(x, bits):
    return (((x << bits) + (Q - 1) // 2) // Q) % (1 << bits)


class Plan:
    """A parameters message and what follows from it."""

    def __init__(self, message):
        assert message[:8] == prefix(PARAMETERS)
        self.digest = sha(message)
        self.w, eta, log_d, self.t, kappa, tm, self.tr, l, beta, delta, self.R, self.C = struct.unpack_from("<10I2Q", message, 48)
        assert (eta, log_d, l, beta, delta, kappa, tm) == SETS[self.w][:-1]
        assert 1 <= self.t <= SETS[self.w][-1] and self.w < self.tr <= tm
        self.l, self.beta, self.delta, self.kappa, self.tm = l, beta, delta, kappa, tm
        self.row_bytes = self.C * self.w // 8
        assert 1 <= self.R <= 1 << 17 and 0 < self.row_bytes <= 1 << 18
        self.records, self.record_bytes, per_row, flags = struct.unpack_from("<4Q", message, 104)
        self.variable, self.digests, keyed = flags & 1, flags >> 1 & 1, flags >> 3 & 1
        slot_bytes = self.record_bytes + 4 * self.variable + 16 * self.digests
        segment_length, segments = struct.unpack_from("<2Q", message, 136)
        self.L = slot_bytes * per_row if keyed else slot_bytes
        N = (segments + 2) * segment_length if keyed else self.records
        if self.row_bytes >= self.L:
            self.f, self.a = 1, min(self.row_bytes // self.L, N)
            assert self.C == -(-8 * self.a * self.L // self.w) and self.R == -(-N // self.a)
        else:
            self.f, self.a = -(-self.L // self.row_bytes), 1
            assert self.C == -(-(-(-self.L // self.f)) // (self.w // 8)) and self.R == N * self.f
        self.salt = message[192:224]
        self.V, self.blocks = -(-self.R // D), -(-self.C // D)
        assert len(message) == 224 + 32 * self.blocks
        self.masks = [message[224 + 32 * i :][:32] for i in range(self.blocks)]
        assert self.log2_failure() <= -40

    def log2_failure(self):
        T, s2, top = 2.0 ** (-self.w - 1) - 2.0 ** (-self.tr - 1), 16, Q / 2 ** (self.delta + (self.l - 1) * self.beta)
        m = ((self.l - 1) * (2 ** (2 * self.beta) + 2) + top**2) / 12
        v = self.R * 2 ** (2 * self.w - 2) * (s2 / Q**2 + 2.0 ** (-2 * self.t) / 12)
        v += D * (D - 2) * m * (s2 / Q**2 + 2.0 ** (-2 * self.kappa) / 12)
        v += D * (D - 2) * 2 ** (2 * self.delta) / 12 * s2 / Q**2 + 2 * D * s2 * 2.0 ** (-2 * self.tm) / 12
        return math.log2(2 * self.C) - T**2 / (2.1 * v) / math.log(2)


class Client:
    def __init__(self, plan, ask):
        self.plan, self.ask, self.ring = plan, ask, Ring(D)
        self.A = [self.public(b"pirx inspire query mask", v) for v in range(plan.V)]
        self.w = [self.public(b"pirx inspire key mask", j) for j in range(plan.l)]
        request = prefix(MASKS_WANTED) + plan.digest + struct.pack("<II", 0, plan.blocks)
        reply, each = ask(request), 2 * D * plan.tm // 8
        assert reply[:48] == prefix(MASKS) + request[8:] and len(reply) == 48 + plan.blocks * each
        self.masks = []
        for block in range(plan.blocks):
            both = reply[48 + block * each :][:each]
            assert sha(b"pirx inspire masks", plan.salt, struct.pack("<Q", block), both) == plan.masks[block]
            self.masks.append([numbers_of(both[: each // 2], D, plan.tm), numbers_of(both[each // 2 :], D, plan.tm)])

    def public(self, use, number):
        return Stream(sha(use, self.plan.salt, struct.pack("<Q", number)), 9 * D).slots(D)

    def small(self):
        return small_polynomial(D)

    def query(self, row):
        """The message, and the secret."""
        plan, s = self.plan, self.small()
        slots = self.ring.to_slots(s)

        def product(public):
            return from_slots(self.ring, pointwise(lambda a, b: a * b, public, slots))

        key, numbers = [], []
        turned = self.ring.automorphism(s, 5)
        for j in range(plan.l):
            weight = 1 << plan.delta + j * plan.beta
            y = [(-x + weight * t + e) % Q for x, t, e in zip(product(self.w[j]), turned, self.small())]
            key += [rounded(x, plan.kappa) for x in y]
        for v in range(plan.V):
            b = [(-x + e) % Q for x, e in zip(product(self.A[v]), self.small())]
            if v == row // D:
                b[row % D] = (b[row % D] + (Q + 2 ** (plan.w - 1)) // 2**plan.w) % Q
            numbers += [rounded(x, plan.t) for x in b]
        return prefix(QUERY) + plan.digest + run_of(key, plan.kappa) + run_of(numbers[: plan.R], plan.t), s

    def row(self, row):
        plan = self.plan
        message, s = self.query(row)
        reply = self.ask(message)
        assert reply[:40] == prefix(REPLY) + plan.digest
        z, words = numbers_of(reply[40:], plan.C, plan.tr) + [0] * D, []
        mirrored = self.ring.automorphism(s, 2 * D - 1)
        for block, (plus, minus) in enumerate(self.masks):
            sums = zip(self.ring.multiply(plus, s), self.ring.multiply(minus, mirrored))
            for k, (x, y) in enumerate(sums):
                u = (z[block * D + k] << plan.tm - plan.tr) + x + y
                words.append((u + (1 << plan.tm - plan.w - 1) >> plan.tm - plan.w) % (1 << plan.w))
        return b"".join(x.to_bytes(plan.w // 8, "little") for x in words[: plan.C])

    def unit(self, x):
        plan = self.plan
        rows = b"".join(self.row(plan.f * (x // plan.a) + i) for i in range(plan.f))
        return rows[x % plan.a * plan.L :][: plan.L]

    def record(self, position):
        return read_slot(self.plan, self.unit(position), position)


class Inspire(Spiral):
    """Its servers and calls; none of its tests."""

    PROTOCOL = "inspire"

    def plan(self):
        return Plan(call(self.url + "/v1/parameters")[2])

    def check(self, lines, positions, *words):
        self.build(lines)
        self.start(*words)
        plan = self.plan()
        client = Client(plan, self.ask)
        for position in positions:
            self.assertEqual(client.record(position), lines[position]["text"].encode())
        return client

    def test_records_and_refusals(self):
        lines = [{"text": f"record {i} " + "x" * (i % 900)} for i in range(2500)]
        client = self.check(lines, (0, 1234, 2499), "--words", "8")
        plan = client.plan
        self.assertGreater(plan.a, 1)
        query, _ = client.query(1)
        wanted = prefix(MASKS_WANTED) + plan.digest

        def changed(message, at, value):
            return message[:at] + bytes([value]) + message[at + 1 :]

        self.refused(changed(query, 8, query[8] ^ 1), "StaleEpoch", 409)
        self.refused(query[:-1], "DataLoss", 400)
        # A request holds one query, so no option of the server allows longer ones.
        for longer in (query + b"\0", wanted + bytes(len(query))):
            text = self.refused(longer, "InvalidArgument", 413).decode()
            self.assertIn(f"no request of this database is longer than {len(query)} bytes", text)
            self.assertNotIn("--max-queries", text)
        self.refused(changed(query, 0, 0), "DataLoss", 400)
        self.refused(changed(query, 6, REPLY), "DataLoss", 400)
        self.refused(changed(query, 4, 2), "InvalidArgument", 400)
        self.refused(changed(query, 7, 4), "InvalidArgument", 400)
        if plan.R * plan.t % 8:
            self.refused(changed(query, len(query) - 1, query[-1] | 0x80), "InvalidArgument", 400)
        for first, count in ((0, 0), (0, plan.blocks + 1), (plan.blocks, 1), (2**32 - 1, 2)):
            self.refused(wanted + struct.pack("<II", first, count), "InvalidArgument", 400)
        self.assertIn(b"the masks request has 49 bytes, not 48", self.refused(wanted + bytes(9), "DataLoss", 400))

    def test_words_of_two_bytes(self):
        lines = [{"text": secrets.token_hex(1000 + i)} for i in range(60)]
        self.check(lines, (0, 31, 59), "--words", "16")

    def test_records_of_several_rows(self):
        lines = [{"text": secrets.token_hex(140_000 + i)} for i in range(3)]
        self.assertGreater(self.check(lines, (2,), "--words", "16").plan.f, 1)


for name in [name for name in dir(Spiral) if name.startswith("test_") and name not in vars(Inspire)]:
    setattr(Inspire, name, None)
del Spiral

if __name__ == "__main__":
    spiral_test.PIRX = sys.argv.pop(1)
    unittest.main()
