#!/usr/bin/env python3
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


def lagrange_at_0(f, xs):
    row = []
    for j, x in enumerate(xs):
        value = 1
        for m, other in enumerate(xs):
            if m != j:
                value = f.mul(value, f.mul(other, f.inverse(f.sub(other, x))))
        row.append(value)
    return row


def make_case(name, f, t, coordinates, geometry, records, wanted, coins=None):
    identity, epoch = stream(name + "/identity", 32), 3
    padded = [geometry.slot(i, data) for i, data in enumerate(records)]
    rows = [b"".join(padded[k * geometry.per_row:(k + 1) * geometry.per_row]).ljust(geometry.row_bytes, b"\0")
            for k in range(geometry.rows)]
    width = -(-geometry.row_bytes // f.word_bytes)
    words = []
    for row in rows:
        row = row.ljust(width * f.word_bytes, b"\0")
        words.append([int.from_bytes(row[c * f.word_bytes:(c + 1) * f.word_bytes], "little") for c in range(width)])
    if coins is None:
        coins = [[[int.from_bytes(stream(f"{name}/coin {i} {a} {k}", 40), "little") % f.order for k in range(geometry.rows)]
                  for a in range(t)] for i in range(len(wanted))]
    requests, replies, sums = [], [], []
    for x in coordinates:
        query, reply, answered = b"", b"", []
        for i, index in enumerate(wanted):
            share = []
            for k in range(geometry.rows):
                value = int(k == index // geometry.per_row)
                power = 1
                for a in range(t):
                    power = f.mul(power, x)
                    value = f.add(value, f.mul(power, coins[i][a][k]))
                share.append(value)
            query += b"".join(element(f, value) for value in share)
            answer = []
            for c in range(width):
                total = 0
                for k in range(geometry.rows):
                    total = f.add(total, f.mul(share[k], words[k][c]))
                answer.append(total)
            reply += b"".join(element(f, value) for value in answer)
            answered.append(answer)
        requests.append(header(f, 1, identity, epoch, x, len(wanted), geometry.rows) + query)
        replies.append(header(f, 2, identity, epoch, x, len(wanted), width) + reply)
        sums.append(answered)
    # Decode with the first t + 1 servers, as a client would.
    weights = lagrange_at_0(f, coordinates[:t + 1])
    for i, index in enumerate(wanted):
        row = b""
        for c in range(width):
            total = 0
            for j, weight in enumerate(weights):
                total = f.add(total, f.mul(weight, sums[j][i][c]))
            row += total.to_bytes(f.word_bytes, "little")
        assert geometry.read(index, row) == records[index]
    return {
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
        "coins": [[[element(f, value).hex() for value in row] for row in query] for query in coins],
        "parameters": [(header(f, 3, identity, epoch, x, 0, 0) + struct.pack("<IIQ", 1, 0, 0) + geometry.encode()).hex() for x in coordinates],
        "requests": [message.hex() for message in requests],
        "replies": [message.hex() for message in replies],
        "lagrange_at_0": [element(f, value).hex() for value in weights],
    }


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
