#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes hostile_parameters.json: parameters messages of single servers that ask too much of a client, in hexadecimal digits.

    tests/vectors/make_hostile_parameters.py            writes the file
    tests/vectors/make_hostile_parameters.py --check    exits 1 if the file differs

Each is well formed (docs/wire_format.md, docs/protocols) and has some 150 bytes, that of inspire 4 KB. "refused" is the option of `pirx get` that raises the limit.
"""

import json
import pathlib
import struct
import sys

FILE = pathlib.Path(__file__).resolve().parent / "hostile_parameters.json"
VERSION = bytes(range(32)) + struct.pack("<Q", 1)  # identity, epoch
DJ, QR, SPIRAL, INSPIRE = 3, 4, 5, 7


def message(protocol, plan, records, record_bytes, per_row=1):
    """Fixed lengths, no digests, not keyed."""
    geometry = struct.pack("<QQQQ", records, record_bytes, per_row, 0) + bytes(56)
    return (b"PIRX" + struct.pack("<HBB", 1, 3, protocol) + VERSION + plan + geometry).hex()


def dj(modulus_bits, arities, records, record_bytes):
    plan = struct.pack("<IBBH", modulus_bits, 0, 0, len(arities)) + struct.pack(f"<{len(arities)}I", *arities)
    return message(DJ, plan, records, record_bytes)


def qr(modulus_bits, slots, records, record_bytes):
    return message(QR, struct.pack("<IIQ", modulus_bits, 0, slots), records, record_bytes)


def spiral(records, record_bytes):
    """The set s1c."""
    scheme = struct.pack("<7I", 0, 11, 32, 12, 1, 23, 9)
    fold = struct.pack("<5I", 512, 6, 3, 2, 0)
    exact = b"".join(struct.pack("<5I", z, digits, 0, 0, 0) for z, digits in ((64, 10), (32, 12), (4096, 5)))
    return message(SPIRAL, scheme + fold + exact, records, record_bytes)


def inspire(records, record_bytes):
    """The set s8, rows of 256 KiB, with a digest for each of 128 blocks of masks."""
    rows = records * (record_bytes // (1 << 18))
    plan = struct.pack("<10I2Q", 8, 32, 11, 28, 46, 20, 12, 1, 24, 32, rows, 1 << 18)
    return message(INSPIRE, plan, records, record_bytes) + bytes(32 + 128 * 32).hex()


def thin_inspire(record_bytes):
    """The set s8, one record, rows of a byte."""
    plan = struct.pack("<10I2Q", 8, 32, 11, 32, 46, 20, 12, 1, 24, 32, record_bytes, 1)
    return message(INSPIRE, plan, 1, record_bytes) + bytes(2 * 32).hex()


PLANS = (
    ("4,092 selectors of 4,096 bits: minutes to make a query", "--max-work", dj(4096, [1024] * 4, 1 << 40, 1)),
    ("313,000 chunks to open: half an hour for a reply of 229 MiB", "--max-work", dj(3072, [2], 2, 120_000_000)),
    ("a request of 977 MiB", "--max-bytes", qr(4096, 1, 2_000_895, 1)),
    ("a reply of 781 MiB", "--max-bytes", qr(2048, 400_000, 400_000, 1)),
    ("488,000 numbers to tell apart", "--max-work", qr(4096, 61_000, 61_000, 1)),
    ("a request of 219 MiB, in memory several times", "--max-memory", qr(4096, 1, 449_000, 1)),
    ("a reply of 588 MiB", "--max-bytes", spiral(2, 200_000_000)),
    ("2,048 queries for a record", "--max-bytes", inspire(2, 2048 << 18)),
    ("6,000 queries for a short record, each for a deadline's time", "--max-bytes", thin_inspire(6000)),
)


def main():
    text = json.dumps([{"asks": asks, "refused": refused, "message": plan} for asks, refused, plan in PLANS], indent=1) + "\n"
    if sys.argv[1:] == ["--check"]:
        sys.exit(FILE.read_text() != text)
    FILE.write_text(text)


if __name__ == "__main__":
    main()
