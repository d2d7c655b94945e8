#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes spiral_kat.json: known answers of Spiral (docs/protocols/spiral.md), computed without pirx.

    tests/vectors/make_spiral_kat.py            writes the file
    tests/vectors/make_spiral_kat.py --check    exits 1 if the file differs

Polynomials are lists of integers modulo q, products one multiplication of long integers, transforms remainders. Randomness
comes from one seed: block i of the coins is SHA-256("pirx spiral kat" | i as 8 bytes, little-endian).
"""

import hashlib
import json
import pathlib
import struct
import sys

from make_goldberg_kat import encrypt, expand_key

PRIMES = (268369921, 249561089)
Q = PRIMES[0] * PRIMES[1]
FILE = pathlib.Path(__file__).resolve().parent / "spiral_kat.json"


class Coins:
    def __init__(self):
        self.text, self.block = b"", 0

    def take(self, count):
        while len(self.text) < count:
            self.text += hashlib.sha256(b"pirx spiral kat" + struct.pack("<Q", self.block)).digest()
            self.block += 1
        out, self.text = self.text[:count], self.text[count:]
        return out


class Stream:
    """A seed's stream: AES-256 in counter mode."""

    def __init__(self, seed):
        self.keys, self.block, self.text = expand_key(seed), 0, b""

    def take(self, count):
        while len(self.text) < count:
            self.text += encrypt(self.keys, self.block.to_bytes(16, "big"))
            self.block += 1
        out, self.text = self.text[:count], self.text[count:]
        return out

    def slots(self, d):
        out = []
        for prime in PRIMES:
            found = []
            while len(found) < d:
                x = struct.unpack("<I", self.take(4))[0] & 0xFFFFFFF
                if x < prime:
                    found.append(x)
            out.append(found)
        return out


def centred(x, modulus=Q):
    x %= modulus
    return x - modulus if x > modulus // 2 else x


class Ring:
    def __init__(self, d):
        self.d, self.bits = d, d.bit_length() - 1
        self.roots = []
        for prime in PRIMES:
            x = 2
            while pow(pow(x, (prime - 1) // (2 * d), prime), d, prime) != prime - 1:
                x += 1
            self.roots.append(pow(x, (prime - 1) // (2 * d), prime))

    def multiply(self, a, b):
        pack = lambda x: int.from_bytes(b"".join((c % Q).to_bytes(16, "little") for c in x), "little")
        product = (pack(a) * pack(b)).to_bytes(32 * self.d, "little")
        c = [int.from_bytes(product[at:at + 16], "little") for at in range(0, 32 * self.d, 16)]
        return [(c[i] - c[i + self.d]) % Q for i in range(self.d)]

    def automorphism(self, a, exponent):
        out = [0] * self.d
        for i, c in enumerate(a):
            at = i * exponent % (2 * self.d)
            out[at % self.d] = (c if at < self.d else -c) % Q
        return out

    def times_monomial(self, a, exponent):
        """x^exponent a, exponent may be negative."""
        out = [0] * self.d
        for i, c in enumerate(a):
            at = (i + exponent) % (2 * self.d)
            out[at % self.d] = (c if at < self.d else -c) % Q
        return out

    def to_slots(self, a):
        """Values at the powers: remainders modulo x^n - psi^e, halved again and again from x^d - psi^d = x^d + 1."""
        def values(a, e, psi, prime):
            if len(a) == 1:
                return a
            half = len(a) // 2
            root = pow(psi, e // 2, prime)
            high = [c * root for c in a[half:]]
            return (values([(x + y) % prime for x, y in zip(a, high)], e // 2, psi, prime)
                    + values([(x - y) % prime for x, y in zip(a, high)], e // 2 + self.d, psi, prime))

        return [values(a, self.d, psi, prime) for psi, prime in zip(self.roots, PRIMES)]

    def from_slots(self, slots):
        def coefficients(values, e, psi, prime):
            if len(values) == 1:
                return values
            half, inverse = len(values) // 2, pow(2, -1, prime)
            u, v = coefficients(values[:half], e // 2, psi, prime), coefficients(values[half:], e // 2 + self.d, psi, prime)
            scale = inverse * pow(psi, -(e // 2), prime)
            return [(x + y) * inverse % prime for x, y in zip(u, v)] + [(x - y) * scale % prime for x, y in zip(u, v)]

        residues = [coefficients(values, self.d, psi, prime) for psi, prime, values in zip(self.roots, PRIMES, slots)]
        inverse = pow(PRIMES[0], -1, PRIMES[1])
        return [a + PRIMES[0] * ((b - a) * inverse % PRIMES[1]) for a, b in zip(*residues)]


def add(a, b):
    return [(x + y) % Q for x, y in zip(a, b)]


def subtract(a, b):
    return [(x - y) % Q for x, y in zip(a, b)]


class Gadget:
    def __init__(self, z, t=0, drop=0, bits=0, residues=False):
        self.z, self.drop, self.bits, self.residues = z, drop, bits, residues
        modulus = max(PRIMES) if residues else Q
        while not t or z**t << bits < modulus:
            t += 1
        self.t = t

    def spec(self):
        return {"z": self.z, "t": self.t, "drop": self.drop, "bits": self.bits, "residues": self.residues}

    def weights(self):
        plain = [self.z**k << self.bits for k in range(self.drop, self.t)]
        if not self.residues:
            return plain
        idempotents = [PRIMES[1] * pow(PRIMES[1], -1, PRIMES[0]), PRIMES[0] * pow(PRIMES[0], -1, PRIMES[1])]
        return [e * w % Q for e in idempotents for w in plain]

    def digits(self, c):
        """Of one number."""
        if self.residues:
            return self.write(centred(c, PRIMES[0])) + self.write(centred(c, PRIMES[1]))
        return self.write(centred(c))

    def write(self, c):
        delta, z, out = self.z**self.drop << self.bits, self.z, []
        if delta > 1:
            c = (c + delta // 2) // delta
        for _ in range(self.t - self.drop - 1):
            r = (c + z // 2) % z - z // 2
            out.append(r)
            c = (c - r) // z
        return out + [c]

    def decompose(self, a):
        return [list(column) for column in zip(*(self.digits(c) for c in a))]


def log2_ceil(x):
    return (x - 1).bit_length()


def sha(data):
    return hashlib.sha256(data).hexdigest()


def ciphertext_bytes(*polynomials):
    return b"".join(struct.pack("<Q", c % Q) for p in polynomials for c in p)


def put_bits(values):
    """(value, bits) pairs as bytes, the lowest bit first."""
    total = at = 0
    for value, bits in values:
        total |= value << at
        at += bits
    return total.to_bytes((at + 7) // 8, "little")


class Case:
    def __init__(self, name, log_d, eta, log_p, pack, log_q2, log_columns, fold, left, right, conversion, slots, slot_bytes, item):
        self.name, self.d, self.eta, self.log_p, self.n = name, 1 << log_d, eta, log_p, pack
        self.log_q2, self.nu2, self.item = log_q2, log_columns, item
        self.fold, self.left, self.right, self.conversion = fold, left, right, conversion
        self.records, self.slot_bytes = slots, slot_bytes
        self.ring, self.coins = Ring(self.d), Coins()
        group = pack * pack * self.d * log_p
        self.per_item = max(1, group // (8 * slot_bytes))
        self.trials = -(-8 * slot_bytes // group)
        self.items = -(-slots // self.per_item)
        self.columns = 1 << log_columns
        self.rows = -(-self.items // self.columns)
        self.g1 = 1 + log2_ceil(self.rows)
        self.g2 = 1 + log2_ceil(max(1, len(fold.weights()) * log_columns))
        self.identity = bytes(range(32))

    def small(self):
        text, out, mask = self.coins.take(8 * self.d), [], (1 << self.eta) - 1
        for i in range(self.d):
            low, high = struct.unpack_from("<II", text, 8 * i)
            out.append(bin(low & mask).count("1") - bin(high & mask).count("1"))
        return out

    def encrypt(self, c0, secret, message):
        error = self.small()
        return subtract(add(message, error), self.ring.multiply(c0, secret))

    def wire(self, polynomial):
        low, high = self.ring.to_slots(polynomial)
        return b"".join((a | b << 28).to_bytes(7, "little") for a, b in zip(low, high))

    def make_keys(self):
        ring = self.ring
        self.s = self.small()
        self.packing = [self.small() for _ in range(self.n)] if self.n > 1 else []
        seed = self.coins.take(32)
        stream, body = Stream(seed), [seed]

        def column(secrets_and_messages):
            c0 = ring.from_slots(stream.slots(self.d))
            out = [c0]
            for secret, message in secrets_and_messages:
                out.append(self.encrypt(c0, secret, message))
                body.append(self.wire(out[-1]))
            return out

        def columns(of, gadget):
            return [column([(self.s, [w * c % Q for c in of])]) for w in gadget.weights()]

        tau = lambda r: ring.automorphism(self.s, self.d // 2**r + 1)
        self.right_keys = [columns(tau(r), self.right) for r in range(self.g2)]
        self.left_keys = [None] + [columns(tau(r), self.left) for r in range(1, self.g1)]
        self.conversion_key = columns(ring.multiply(self.s, self.s), self.conversion) + columns(self.s, self.conversion)
        zero = [0] * self.d
        self.packing_key = [
            column([(secret, [w * c % Q for c in self.s] if row == i else zero) for row, secret in enumerate(self.packing)])
            for i in range(len(self.packing)) for w in self.conversion.weights()
        ]
        return b"".join(body)

    def make_query(self):
        mu = [0] * self.d
        mu[2 * (self.item >> self.nu2)] = (Q >> self.log_p) * pow(2, -self.g1, Q) % Q
        weights = self.fold.weights()
        for bit in range(self.nu2):
            for k, w in enumerate(weights):
                mu[2 * (bit * len(weights) + k) + 1] = (self.item >> bit & 1) * w * pow(2, -self.g2, Q) % Q
        seed = self.coins.take(32)
        c0 = self.ring.from_slots(Stream(seed).slots(self.d))
        c1 = self.encrypt(c0, self.s, mu)
        self.query = [c0, c1]
        return seed + self.wire(c1)

    def combine(self, digits, columns):
        out = [[0] * self.d for _ in columns[0]]
        for digit, column in zip(digits, columns):
            out = [add(o, self.ring.multiply(digit, c)) for o, c in zip(out, column)]
        return out

    def expand_node(self, r, gadget, key, v):
        ring, exponent = self.ring, self.d // 2**r + 1
        switched = self.combine(gadget.decompose(ring.automorphism(v[0], exponent)), key)
        switched[1] = add(switched[1], ring.automorphism(v[1], exponent))
        first = [add(a, b) for a, b in zip(v, switched)]
        second = [ring.times_monomial(subtract(a, b), -(2**r)) for a, b in zip(v, switched)]
        return first, second

    def expand_tree(self, root, rounds, count, gadget, keys):
        nodes = {0: root}
        for r in range(1, rounds):
            half = 2 ** (r - 1)
            for j in range(min(half, count)):
                nodes[j], second = self.expand_node(r, gadget, keys[r], nodes[j])
                if j + half < count:
                    nodes[j + half] = second
        return [nodes[i] for i in range(count)]

    def pad(self, item):
        seed = hashlib.sha256(b"pirx spiral pad" + self.identity + struct.pack("<Q", item)).digest()
        count = self.trials * self.n**2 * self.d
        words = struct.unpack(f"<{count}H", Stream(seed).take(2 * count))
        return [w & ((1 << self.log_p) - 1) for w in words]

    def item_bytes(self, item):
        """Made up: byte i of item k is 37 k + 11 i + 5."""
        return bytes((37 * item + 11 * i + 5) % 256 for i in range(self.per_item * self.slot_bytes))

    def coefficients(self, item):
        number, p = int.from_bytes(self.item_bytes(item), "little"), 1 << self.log_p
        return [((number >> (self.log_p * i)) + x) % p for i, x in enumerate(self.pad(item))]

    def run(self):
        stages, ring, p = {}, self.ring, 1 << self.log_p
        stages["keys"] = sha(self.make_keys())
        stages["query"] = sha(self.make_query())
        even, odd = self.expand_node(0, self.right, self.right_keys[0], self.query)
        digits = len(self.fold.weights())
        rows = self.expand_tree(even, self.g1, self.rows, self.left, self.left_keys)
        bits = self.expand_tree(odd, self.g2, digits * self.nu2, self.right, self.right_keys)
        stages["rows"] = sha(b"".join(ciphertext_bytes(*c) for c in rows))
        stages["bits"] = sha(b"".join(ciphertext_bytes(*c) for c in bits))
        converted = [
            self.combine(self.conversion.decompose(c[0]) + self.conversion.decompose(c[1]), self.conversion_key) for c in bits
        ]
        stages["converted"] = sha(b"".join(ciphertext_bytes(*c) for c in converted))
        content = [[centred(c, p) if 2 * c != p else -c for c in self.coefficients(i)] for i in range(self.items)]
        first, results = b"", []
        for k in range(self.trials * self.n**2):
            columns = []
            for j in range(self.columns):
                total = [[0] * self.d, [0] * self.d]
                for i in range(self.rows):
                    if i * self.columns + j < self.items:
                        polynomial = content[i * self.columns + j][k * self.d:(k + 1) * self.d]
                        total = [add(t, ring.multiply(polynomial, c)) for t, c in zip(total, rows[i])]
                columns.append(total)
                first += ciphertext_bytes(*total)
            for bit in reversed(range(self.nu2)):
                gsw = converted[bit * digits:(bit + 1) * digits] + bits[bit * digits:(bit + 1) * digits]
                half = len(columns) // 2
                folded = []
                for c0, c1 in zip(columns[:half], columns[half:]):
                    difference = [subtract(a, b) for a, b in zip(c1, c0)]
                    written = self.fold.decompose(difference[0]) + self.fold.decompose(difference[1])
                    folded.append([add(a, b) for a, b in zip(c0, self.combine(written, gsw))])
                columns = folded
            results.append(columns[0])
        stages["first_dimension"] = sha(first)
        stages["folded"] = sha(b"".join(ciphertext_bytes(*c) for c in results))
        reply, decoded = [], [0] * (self.trials * self.n**2 * self.d)
        for trial in range(self.trials):
            for column in range(self.n):
                part = [results[trial * self.n**2 + i * self.n + column] for i in range(self.n)]
                if self.n == 1:
                    packed = part[0]
                else:
                    packed = self.combine(sum((self.conversion.decompose(c[0]) for c in part), []), self.packing_key)
                    packed = [packed[0]] + [add(row, c[1]) for row, c in zip(packed[1:], part)]
                switched = []
                for row, polynomial in enumerate(packed):
                    width = self.log_q2 if row == 0 else self.log_p + 2
                    switched.append([((c << width) + Q // 2) // Q % (1 << width) for c in polynomial])
                    reply += [(c, width) for c in switched[-1]]
                for row in range(self.n):
                    secret = self.packing[row] if self.packing else self.s
                    y = [centred(c) for c in ring.multiply([centred(c, 1 << self.log_q2) for c in switched[0]], secret)]
                    for i in range(self.d):
                        z = centred(switched[row + 1][i], 4 * p)
                        numerator, q2 = y[i] * 4 * p + z * (1 << self.log_q2), 1 << self.log_q2
                        decoded[((trial * self.n + row) * self.n + column) * self.d + i] = (2 * numerator + 4 * q2) // (8 * q2) % p
        assert decoded == self.coefficients(self.item), "the reference does not decode its own answer"
        stages["reply"] = sha(put_bits(reply))
        return {
            "name": self.name, "log_d": ring.bits, "eta": self.eta, "log_p": self.log_p, "pack": self.n, "log_q2": self.log_q2,
            "log_columns": self.nu2, "fold": self.fold.spec(), "left": self.left.spec(), "right": self.right.spec(),
            "conversion": self.conversion.spec(), "records": self.records, "slot_bytes": self.slot_bytes, "item": self.item,
            "stages": stages,
        }


def gadget_answers():
    """Digits of edge numbers, by base."""
    out = []
    for gadget in (Gadget(2), Gadget(3), Gadget(4), Gadget(5), Gadget(7), Gadget(16), Gadget(128), Gadget(256), Gadget(2319),
                   Gadget(65536), Gadget(512, drop=3, bits=2), Gadget(4096, drop=2, bits=8), Gadget(9, drop=7)):
        z = gadget.z
        numbers = [0, 1, -1, Q // 2, -(Q // 2), (z - 1) // 2, (z**2 - 1) // 2, -(z**2 - 1) // 2, (z**3 + 1) // 2, 3**35,
                   (3**35 - 1) // 2, (3**35 + 1) // 2, 123456789012345678 % (Q // 2)]
        numbers = [centred(x) for x in numbers]
        out.append({"gadget": gadget.spec(), "numbers": numbers, "digits": [gadget.digits(x) for x in numbers]})
    return out


def ring_answers():
    ring, out = Ring(64), []
    for exponent in (0, 1, 5, 63):
        a = [0] * 64
        a[exponent] = 1
        out.append({"exponent": exponent, "slots": sha(b"".join(struct.pack("<I", x) for half in ring.to_slots(a) for x in half))})
    return {"roots": ring.roots, "monomials": out}


def main():
    cases = [
        Case("truncated", 6, 32, 6, 1, 22, 2, Gadget(512, drop=3, bits=2), Gadget(16), Gadget(16), Gadget(4096), 21, 20, 10),
        Case("truncated, full size", 11, 32, 11, 1, 24, 1, Gadget(512, drop=3, bits=2), Gadget(2319), Gadget(4096), Gadget(4096), 3, 2816, 2),
        Case("packed, base 3", 6, 32, 5, 2, 20, 1, Gadget(16), Gadget(3), Gadget(128, residues=True), Gadget(7), 5, 150, 1),
    ]
    answers = {"command": "tests/vectors/make_spiral_kat.py", "gadgets": gadget_answers(), "ring": ring_answers(),
               "transcripts": [case.run() for case in cases]}
    text = json.dumps(answers, indent=1) + "\n"
    if sys.argv[1:] == ["--check"]:
        return 0 if FILE.read_text() == text else 1
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
