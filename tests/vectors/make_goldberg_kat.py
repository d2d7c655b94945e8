#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Known answers of Goldberg's protocol, with arithmetic of its own, written from docs/wire_format.md and shared with no other code.

    make_goldberg_kat.py > goldberg_kat.json       writes the file
    make_goldberg_kat.py --check                compares it with the one beside this script
"""
import hashlib
import json
import struct
import sys
from pathlib import Path


class Binary:
    """GF(2^bits), multiplied bit by bit."""

    def __init__(self, name, bits, low):
        self.name, self.bits, self.low = name, bits, low
        self.tag = struct.pack("<BBHI", 1, 0, bits, low)
        self.order = 1 << bits
        self.word_bytes = self.element_bytes = bits // 8

    def add(self, a, b):
        return a ^ b

    sub = add

    def mul(self, a, b):
        product = 0
        while b:
            if b & 1:
                product ^= a
            a <<= 1
            if a >> self.bits:
                a ^= self.order | self.low
            b >>= 1
        return product

    def inverse(self, a):
        """a^(2^bits - 2)."""
        product, exponent = 1, self.order - 2
        while exponent:
            if exponent & 1:
                product = self.mul(product, a)
            a = self.mul(a, a)
            exponent >>= 1
        return product


class Prime:
    """The integers modulo 2^bits + low; a word has `bits` bits."""

    def __init__(self, name, bits, low):
        self.name = name
        self.tag = struct.pack("<BBHI", 2, 0, bits + 1, low)
        self.order = (1 << bits) + low
        self.word_bytes, self.element_bytes = bits // 8, bits // 8 + 1

    def add(self, a, b):
        return (a + b) % self.order

    def sub(self, a, b):
        return (a - b) % self.order

    def mul(self, a, b):
        return a * b % self.order

    def inverse(self, a):
        return pow(a, -1, self.order)


GF2_8 = Binary("gf2_8", 8, 0x1B)
GF2_16 = Binary("gf2_16", 16, 0x50D7)
W160 = Prime("w160", 160, 7)


# ---- AES-256 in counter mode (FIPS 197, SP 800-38A): what a seed stands for (section 4) ----

AES_FIELD = Binary("", 8, 0x1B)


def make_sbox():
    box = []
    for a in range(256):
        b = AES_FIELD.inverse(a)
        box.append(b ^ 0x63)
        for turn in range(1, 5):
            box[a] ^= (b << turn | b >> (8 - turn)) & 0xFF
    return box


SBOX = make_sbox()


def expand_key(key):
    words, round_constant = [list(key[i:i + 4]) for i in range(0, 32, 4)], 1
    for i in range(8, 60):
        word = words[-1]
        if i % 8 == 0:
            word = [SBOX[b] for b in word[1:] + word[:1]]
            word[0] ^= round_constant
            round_constant = AES_FIELD.mul(round_constant, 2)
        elif i % 8 == 4:
            word = [SBOX[b] for b in word]
        words.append([a ^ b for a, b in zip(words[-8], word)])
    return [sum(words[i:i + 4], []) for i in range(0, 60, 4)]


# What the byte in row r of a column adds to the mixed column, as a number of 32 bits.
MIXED = [[sum(AES_FIELD.mul(x, factor) << (24 - 8 * row) for row, factor in enumerate(factors)) for x in SBOX]
         for factors in ((2, 1, 1, 3), (3, 2, 1, 1), (1, 3, 2, 1), (1, 1, 3, 2))]


def encrypt(round_keys, block):
    def xor_key(words, key):
        return [word ^ int.from_bytes(key[4 * i:4 * i + 4], "big") for i, word in enumerate(words)]

    first, second, third, fourth = MIXED
    w = xor_key([0] * 4, [a ^ b for a, b in zip(block, round_keys[0])])
    for round_key in round_keys[1:-1]:
        w = xor_key([first[w[i] >> 24] ^ second[w[i - 3] >> 16 & 255] ^ third[w[i - 2] >> 8 & 255] ^ fourth[w[i - 1] & 255] for i in range(4)],
                    round_key)
    # The last round mixes nothing.
    state = [SBOX[w[(i + row) % 4] >> (24 - 8 * row) & 255] for i in range(4) for row in range(4)]
    return bytes(a ^ b for a, b in zip(state, round_keys[-1]))


assert encrypt(expand_key(bytes(range(32))), bytes(17 * i for i in range(16))).hex() == "8ea2b7ca516745bfeafc49904b496089"


def expand_seed(f, seed, count):
    """The vector of `count` elements that a seed stands for."""
    round_keys, text, vector, at = expand_key(seed), b"", [], 0
    while len(vector) < count:
        while len(text) < at + f.element_bytes:
            text += encrypt(round_keys, (len(text) // 16).to_bytes(16, "big"))
        candidate = int.from_bytes(text[at:at + f.element_bytes], "little")
        at += f.element_bytes
        if isinstance(f, Prime):
            candidate %= 2 << 8 * f.word_bytes
        if candidate < f.order:
            vector.append(candidate)
    return vector


class Geometry:
    """How records lie in rows (sections 3 and 6)."""

    def __init__(self, records, record_bytes, per_row, variable, digests):
        self.records, self.record_bytes, self.per_row = records, record_bytes, per_row
        self.variable, self.digests = variable, digests
        self.slot_bytes = record_bytes + 4 * variable + 16 * digests
        self.rows = -(-records // per_row)
        self.row_bytes = per_row * self.slot_bytes

    def encode(self):
        return struct.pack("<QQQQ", self.records, self.record_bytes, self.per_row, self.variable | self.digests << 1) + bytes(56)

    def slot(self, index, data):
        out = struct.pack("<I", len(data)) if self.variable else b""
        if self.digests:
            out += hashlib.sha256(b"pirx record v1" + struct.pack("<QQ", index, len(data)) + data).digest()[:16]
        return (out + data).ljust(self.slot_bytes, b"\0")

    def read(self, index, row):
        at = index % self.per_row * self.slot_bytes
        slot = row[at:at + self.slot_bytes]
        start = 4 * self.variable + 16 * self.digests
        length = struct.unpack("<I", slot[:4])[0] if self.variable else self.record_bytes
        data = slot[start:start + length]
        assert slot == self.slot(index, data)
        return data


def stream(seed, count):
    """Bytes that only look random."""
    out = b""
    while len(out) < count:
        out += hashlib.sha256(f"{seed}/{len(out)}".encode()).digest()
    return out[:count]


def element(f, value):
    return value.to_bytes(f.element_bytes, "little")


def header(f, kind, identity, epoch, coordinate, queries, length):
    return struct.pack("<4sHBB8s32sQQIIQ", b"PIRX", 1, kind, 1, f.tag, identity, epoch, coordinate, queries, 0, length)


def bound_identity(identity, u, tau, modulus):
    """What queries and replies of an encoded database carry for its identity."""
    if u == 1 and tau == 0:
        return identity
    return hashlib.sha256(b"pirx encoded v1" + struct.pack("<IIQ", u, tau, modulus) + identity).digest()


def lagrange(f, xs, at):
    row = []
    for j, x in enumerate(xs):
        value = 1
        for m, other in enumerate(xs):
            if m != j:
                value = f.mul(value, f.mul(f.sub(at, other), f.inverse(f.sub(x, other))))
        row.append(value)
    return row


def make_shares(f, t, xs, points, coins, rows):
    """Of the polynomials that are the unit vector of `row` at s for the points (s, row); coins are G_1..G_t."""
    shares = []
    for x in xs:
        z = 1
        for s, _ in points:
            z = f.mul(z, f.sub(x, s))
        share = []
        for k in range(rows):
            value, power = 0, z
            for a in range(t):
                value = f.add(value, f.mul(power, coins[a][k]))
                power = f.mul(power, x)
            share.append(value)
        for weight, (_, row) in zip(lagrange(f, [s for s, _ in points], x), points):
            share[row] = f.add(share[row], weight)
        shares.append(share)
    return shares


def complete_shares(f, t, xs, points, given, rows):
    """The same, where the first t shares are given."""
    shares = list(given)
    for x in xs[t:]:
        weights = lagrange(f, xs[:t] + [s for s, _ in points], x)
        share = []
        for k in range(rows):
            value = 0
            for weight, vector in zip(weights, given):
                value = f.add(value, f.mul(weight, vector[k]))
            share.append(value)
        for weight, (_, row) in zip(weights[t:], points):
            share[row] = f.add(share[row], weight)
        shares.append(share)
    return shares


def make_case(name, f, t, coordinates, geometry, records, wanted, coins=None, seeded=False, q=1, u=1, tau=0, modulus=0):
    identity, epoch = stream(name + "/identity", 32), 3
    bound = bound_identity(identity, u, tau, modulus)
    padded = [geometry.slot(i, data) for i, data in enumerate(records)]
    rows = [b"".join(padded[k * geometry.per_row:(k + 1) * geometry.per_row]).ljust(geometry.row_bytes, b"\0")
            for k in range(geometry.rows)]
    width = -(-geometry.row_bytes // f.word_bytes)
    words = []
    for row in rows:
        row = row.ljust(width * f.word_bytes, b"\0")
        words.append([int.from_bytes(row[c * f.word_bytes:(c + 1) * f.word_bytes], "little") for c in range(width)])
    bucket_rows = -(-geometry.rows // u)
    # A server's bucket: row g is the value at x of the polynomial through rows ug .. ug+u-1 at their coordinates, and
    # through tau random ones at -1, -2, ... (any that are free).
    words += [[0] * width] * (u * bucket_rows - geometry.rows)
    noise = [[[int.from_bytes(stream(f"{name}/noise {g} {h} {c}", 40), "little") % f.order for c in range(width)]
              for h in range(tau)] for g in range(bucket_rows)]
    buckets = []
    for x in coordinates:
        bucket = []
        for g in range(bucket_rows):
            nodes = [(u * g + h) % modulus for h in range(u)] if u > 1 or tau > 0 else [0]
            nodes += [f.order - 1 - h for h in range(tau)]
            weights, values = lagrange(f, nodes, x), words[u * g:u * g + u] + noise[g]
            bucket.append([0] * width)
            for weight, value in zip(weights, values):
                bucket[g] = [f.add(a, f.mul(weight, b)) for a, b in zip(bucket[g], value)]
        buckets.append(bucket)
    # q wanted rows in each query vector, at their coordinates; in the plain database at the lowest free ones.
    free = [s for s in range(q + len(coordinates)) if s not in coordinates][:q]
    places = [(index // geometry.per_row, slot % q) for slot, index in enumerate(wanted)]
    points = [(row % modulus if modulus else free[slot], row // u) for row, slot in places]
    queries = [points[i:i + q] for i in range(0, len(points), q)]
    seeds = [[stream(f"{name}/seed {i} {a}", 32) for a in range(t)] for i in range(len(queries))] if seeded else []
    if coins is None:
        coins = [[[int.from_bytes(stream(f"{name}/coin {i} {a} {k}", 40), "little") % f.order for k in range(bucket_rows)]
                  for a in range(t)] for i in range(len(queries))]
    shares = [complete_shares(f, t, coordinates, points, [expand_seed(f, seed, bucket_rows) for seed in seeds[i]], bucket_rows)
              if seeded else make_shares(f, t, coordinates, points, coins[i], bucket_rows) for i, points in enumerate(queries)]
    requests, replies, sums = [], [], []
    for j, x in enumerate(coordinates):
        query, reply, answered = b"", b"", []
        for i in range(len(queries)):
            as_seed = seeded and j < t
            query += seeds[i][j] if as_seed else b"".join(element(f, value) for value in shares[i][j])
            answer = []
            for c in range(width):
                total = 0
                for k in range(bucket_rows):
                    total = f.add(total, f.mul(shares[i][j][k], buckets[j][k][c]))
                answer.append(total)
            reply += b"".join(element(f, value) for value in answer)
            answered.append(answer)
        requests.append(header(f, 4 if as_seed else 1, bound, epoch, x, len(queries), bucket_rows) + query)
        replies.append(header(f, 2, bound, epoch, x, len(queries), width) + reply)
        sums.append(answered)
    # Decode with the first d + 1 servers, as a client would.
    needed = t + tau + q + u - 1
    for i, index in enumerate(wanted):
        weights, row = lagrange(f, coordinates[:needed], points[i][0]), b""
        for c in range(width):
            total = 0
            for j, weight in enumerate(weights):
                total = f.add(total, f.mul(weight, sums[j][i // q][c]))
            row += total.to_bytes(f.word_bytes, "little")
        assert geometry.read(index, row) == records[index]
    result = {
        "name": name,
        "field": f.name,
        "threshold": t,
        "coordinates": coordinates,
        "identity": identity.hex(),
        "epoch": epoch,
        "geometry": {"records": geometry.records, "record_bytes": geometry.record_bytes, "records_per_row": geometry.per_row,
                     "variable_length": bool(geometry.variable), "digests": bool(geometry.digests)},
        "records": [data.hex() for data in records],
        "rows": [row.hex() for row in rows],
        "wanted": wanted,
        "parameters": [(header(f, 3, identity, epoch, x, 0, 0) + struct.pack("<IIQ", u, tau, modulus) + geometry.encode()).hex()
                       for x in coordinates],
        "requests": [message.hex() for message in requests],
        "replies": [message.hex() for message in replies],
        "lagrange_at_0": [element(f, value).hex() for value in lagrange(f, coordinates[:needed], 0)],
    }
    if seeded:
        result["seeds"] = [[seed.hex() for seed in query] for query in seeds]
    else:
        result["coins"] = [[[element(f, value).hex() for value in row] for row in query] for query in coins]
    if q > 1:
        result["ramp"] = q
    if modulus:
        result["encoding"] = {"arity": u, "independence": tau, "modulus": modulus}
        result["buckets"] = [[b"".join(value.to_bytes(f.word_bytes, "little") for value in row).hex() for row in bucket]
                             for bucket in buckets]
    return result


def varying(name, count, longest):
    return [stream(f"{name}/record {i}", longest if i == 1 else stream(f"{name}/length {i}", 1)[0] % (longest + 1))
            for i in range(count)]


def make_all():
    small = make_case("worked example", GF2_8, 1, [1, 2, 3], Geometry(4, 2, 1, 0, 0),
                      [bytes.fromhex(h) for h in ("1011", "2021", "3031", "4041")], [2], [[[0x05, 0xA7, 0x3C, 0xF0]]])
    # The figures in docs/wire_format.md section 8.
    assert [m[160:] for m in small["requests"]] == ["05a73df0", "0a5579fb", "0ff2450b"]
    assert [m[160:] for m in small["replies"]] == ["3956", "22ff", "2b98"]
    assert small["lagrange_at_0"] == ["f7", "f6"]
    cases = [small]
    for f, t, coordinates, geometry in (
            (GF2_8, 2, [1, 2, 3, 255], Geometry(7, 9, 2, 1, 1)),
            (GF2_16, 2, [1, 2, 300, 65535], Geometry(7, 8, 3, 1, 1)),
            (W160, 1, [1, 2, 2**64 - 2], Geometry(5, 11, 2, 1, 1)),
            (W160, 3, [5, 1, 4, 2, 3], Geometry(4, 40, 1, 0, 0))):
        name = f"{f.name} t={t}"
        records = (varying(name, geometry.records, geometry.record_bytes) if geometry.variable else
                   [stream(f"{name}/record {i}", geometry.record_bytes) for i in range(geometry.records)])
        cases.append(make_case(name, f, t, coordinates, geometry, records, [geometry.records - 1, 0]))
    for name, f, t, coordinates, setting in (
            ("seeded gf2_16", GF2_16, 2, [1, 2, 3, 4], {"seeded": True}),
            ("seeded w160", W160, 1, [1, 2, 3], {"seeded": True}),
            ("ramp gf2_8", GF2_8, 1, [1, 2, 3, 4], {"q": 2}),
            ("u-ary gf2_8", GF2_8, 1, [255, 254, 253, 252], {"u": 2, "modulus": 2}),
            ("tau-independent u-ary batch gf2_16, seeded", GF2_16, 1, [65535 - j for j in range(2, 7)],
             {"u": 2, "tau": 1, "modulus": 6, "seeded": True})):
        geometry = Geometry(9, 7, 2, 1, 1)
        records = varying(name, geometry.records, geometry.record_bytes)
        # In the order in which pirx deals wanted rows to vectors; any other is as good.
        cases.append(make_case(name, f, t, coordinates, geometry, records, [0, geometry.records - 1], **setting))
    return {"source": "make_goldberg_kat.py, from docs/wire_format.md", "cases": cases}


def main():
    text = json.dumps(make_all(), indent=1) + "\n"
    if sys.argv[1:] == ["--check"]:
        if (Path(__file__).parent / "goldberg_kat.json").read_text() != text:
            sys.exit("goldberg_kat.json is not what this script makes: run it and look at the difference")
    elif not sys.argv[1:]:
        sys.stdout.write(text)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
