#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests whether the bytes that servers received are uniformly distributed: Pearson's chi-square over 256 byte values.

    uniformity.py FILE...

Prints a line a file and exits 1 when any of them is not uniform (probability by chance below one in a million). For comparison it
also tests a selection vector in the clear, 0...010...0, of the same length: what a server would see without PIR.
Standard library only.
"""
import math
import sys

LIMIT = 1e-6


def chi_square(data: bytes) -> float:
    expected = len(data) / 256
    counts = [0] * 256
    for byte in data:
        counts[byte] += 1
    return sum((count - expected) ** 2 for count in counts) / expected


def probability(statistic: float, freedom: int = 255) -> float:
    """P(chi-square >= statistic), by Wilson and Hilferty's normal approximation."""
    z = ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    return 0.5 * math.erfc(z / math.sqrt(2))


def report(name: str, data: bytes) -> bool:
    statistic = chi_square(data)
    p = probability(statistic)
    uniform = min(p, 1 - p) > LIMIT / 2
    verdict = "uniform" if uniform else "NOT uniform"
    print(f"  {name}: {len(data)} bytes, chi-square {statistic:.1f} (255 expected), p = {p:.3g}: {verdict}")
    return uniform


def main() -> int:
    good, longest = True, 0
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            data = file.read()
        if len(data) < 1280:
            print(f"  {path}: {len(data)} bytes are too few to test")
            good = False
            continue
        longest = max(longest, len(data))
        good = report(path.rsplit("/", 1)[-1], data) and good
    if longest:
        plain = bytearray(longest)
        plain[longest // 3] = 1
        if report("for comparison, a query in the clear", bytes(plain)):
            print("  the test has no teeth")
            good = False
    return 0 if good and longest else 1


if __name__ == "__main__":
    sys.exit(main())
