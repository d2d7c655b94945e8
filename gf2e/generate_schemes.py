#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes gf2e/kernels/schemes_generated.h: products of field elements as few products of bits.

    gf2e/generate_schemes.py              writes the file
    gf2e/generate_schemes.py --check      compares it with what would be written, and fails if they differ
    gf2e/generate_schemes.py --search 60  looks for cheaper parameters for a minute, and prints the best

A scheme for GF(2^n) is two matrices of bits, A (rank x n) and C (n x rank), with a * b = C ((A a) . (A b)) for all a and b, where
the dot multiplies bit by bit. For each scheme there are straight-line programs, lists of exclusive ors of two or three values, that
compute A x and C x with shared parts. Two kinds of scheme are written:

karatsuba   halves, down to single bits: 3^k products.
crt         The field is a polynomial ring over GF(4) modulo a polynomial: an element is n / 2 coefficients of GF(4) in powers of
            y. The product of two such polynomials follows from its values at the five points of the projective line over GF(4)
            and its remainders modulo irreducible quadratics. A value takes one product of GF(4), a remainder takes three, and a
            product of GF(4) takes three products of bits: 24 for a byte, 60 for 16 bits.
"""

import argparse
import itertools
import pathlib
import random
import sys
import time

OUT = pathlib.Path(__file__).resolve().parent / "kernels" / "schemes_generated.h"
FIELDS = {8: 0x11B, 16: 0x150D7}  # modulus
# Found by --search: the power of y's basis (an element of the field) and the numbers of the quadratics, in quadratics()' order.
CRT = {8: (145, (0,)), 16: (17211, (0, 1, 2, 4, 5))}
# A x is computed in so many parts, each with equally many rows of A.
PARTS = {("karatsuba", 8): 3, ("karatsuba", 16): 9, ("crt", 8): 2, ("crt", 16): 5}
TRIES = 12  # random orders of a program; the shortest is kept


# --- GF(4) and the field

GF4 = [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]]  # products of 0, 1, w, w + 1


def parity(x):
    return bin(x).count("1") & 1


def field_product(a, b, modulus, n):
    r = 0
    for i in range(n):
        if b >> i & 1:
            r ^= a << i
    for i in range(2 * n - 2, n - 1, -1):
        if r >> i & 1:
            r ^= modulus << (i - n)
    return r


def cube_root(modulus, n):
    """An element of order 3: w of GF(4) inside GF(2^n)."""
    for g in range(2, 100):
        r = 1
        for bit in bin(((1 << n) - 1) // 3)[2:]:
            r = field_product(r, r, modulus, n)
            if bit == "1":
                r = field_product(r, g, modulus, n)
        if r != 1:
            return r
    raise ValueError("no generator")


def quadratics():
    """The monic irreducible quadratics over GF(4), each as its two lower coefficients."""
    return [(c0, c1) for c0 in range(1, 4) for c1 in range(4) if all(c0 ^ GF4[c1][x] ^ GF4[x][x] for x in range(4))]


# --- matrices of bits: lists of rows, a row is a number, bit j is column j

def apply(rows, x):
    return sum(parity(row & x) << i for i, row in enumerate(rows))


def inverse(columns, n):
    """The rows of the inverse of the matrix with these columns; None if it is singular."""
    rows = [sum((columns[j] >> i & 1) << j for j in range(n)) | 1 << (n + i) for i in range(n)]
    for c in range(n):
        pivot = next((r for r in range(c, n) if rows[r] >> c & 1), None)
        if pivot is None:
            return None
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows = [row ^ rows[c] if r != c and row >> c & 1 else row for r, row in enumerate(rows)]
    return [row >> n for row in rows]


def solve(A, modulus, n):
    """C with C ((A a) . (A b)) = a * b for all basis elements a and b; None if there is no such C."""
    pivots = []  # (position, products, wanted)
    for i, j in itertools.combinations_with_replacement(range(n), 2):
        products = sum((row >> i & row >> j & 1) << k for k, row in enumerate(A))
        wanted = field_product(1 << i, 1 << j, modulus, n)
        for at, p, w in pivots:
            if products >> at & 1:
                products, wanted = products ^ p, wanted ^ w
        if products == 0:
            if wanted:
                return None
            continue
        at = products.bit_length() - 1
        pivots = [(a, p ^ products, w ^ wanted) if p >> at & 1 else (a, p, w) for a, p, w in pivots]
        pivots.append((at, products, wanted))
    # Products that no equation determines are not used.
    return [sum((w >> i & 1) << at for at, _, w in pivots) for i in range(n)]


# --- the schemes

def karatsuba_rows(n, elements):
    """The rows of A for the coefficients that these rows stand for: those of the low half, of the high half, of both added."""
    if n == 1:
        return elements
    low, high = elements[:n // 2], elements[n // 2:]
    return sum((karatsuba_rows(n // 2, part) for part in (low, high, [a ^ b for a, b in zip(low, high)])), [])


def functionals(k, chosen):
    """Maps from k coefficients of GF(4) to GF(4): values and remainders, and the sum of each remainder's coefficients."""
    rows = []
    for x in range(4):
        row = [1]
        while len(row) < k:
            row.append(GF4[row[-1]][x])
        rows.append(row)
    rows.append([0] * (k - 1) + [1])  # the point at infinity
    for c0, c1 in chosen:
        low, high = [1], [0]  # the remainders of the powers
        while len(low) < k:
            t = high[-1]
            low, high = low + [GF4[t][c0]], high + [low[-1] ^ GF4[t][c1]]
        rows += [low, high, [a ^ b for a, b in zip(low, high)]]
    return rows


def rows_of_functional(row):
    """Three maps from bits to bits, for coefficients in the basis 1, w: the value's 1, its w, and both added."""
    one = sum((GF4[c][1 << b] & 1) << (2 * i + b) for i, c in enumerate(row) for b in (0, 1))
    w = sum((GF4[c][1 << b] >> 1) << (2 * i + b) for i, c in enumerate(row) for b in (0, 1))
    return [one, w, one ^ w]


def crt_rows(n, y, chosen):
    """The rows of A in the field's own basis; None if y does not generate the field over GF(4)."""
    modulus, images, power = FIELDS[n], [], 1
    w = cube_root(modulus, n)
    for _ in range(n // 2):
        images += [power, field_product(w, power, modulus, n)]
        power = field_product(power, y, modulus, n)
    to_tower = inverse(images, n)
    if to_tower is None:
        return None
    rows = [r for f in functionals(n // 2, [quadratics()[q] for q in chosen]) for r in rows_of_functional(f)]
    # The tower's coefficient i is bit i of to_tower x.
    columns = [apply(to_tower, 1 << i) for i in range(n)]
    return [sum(parity(row & column) << i for i, column in enumerate(columns)) for row in rows]


# --- straight-line programs

def shared_pairs(rows, n, rng):
    """Steps (a, b) that make new values, and each row as a list of values. Again and again, the pair that most rows contain becomes
    a value (Paar's algorithm)."""
    columns = [sum((row >> j & 1) << i for i, row in enumerate(rows)) for j in range(n)]
    pairs = {(i, j): (columns[i] & columns[j]).bit_count() for i, j in itertools.combinations(range(n), 2)}
    steps = []
    while True:
        most = max(pairs.values())
        if most < 2:
            break
        i, j = rng.choice([pair for pair, count in pairs.items() if count == most])
        both = columns[i] & columns[j]
        columns[i] ^= both
        columns[j] ^= both
        steps.append((i, j))
        columns.append(both)
        for k in range(len(columns)):
            for m in (i, j, len(columns) - 1):
                if k != m:
                    pairs[min(k, m), max(k, m)] = (columns[k] & columns[m]).bit_count()
        pairs = {pair: count for pair, count in pairs.items() if count > 1} or {(0, 1): 0}
    return steps, [[j for j, column in enumerate(columns) if column >> i & 1] for i in range(len(rows))]


def program(rows, n, rng):
    """Steps of two or three operands, and the value of each row. Values 0 to n - 1 are the inputs, value n + i is made by step i.
    Steps come in the order in which rows need them."""
    steps, values = shared_pairs(rows, n, rng)
    made = {n + i: list(step) for i, step in enumerate(steps)}
    uses = {}
    for operands in list(made.values()) + values:
        for v in operands:
            uses[v] = uses.get(v, 0) + 1
    whole = {v[0] for v in values if len(v) == 1}

    def flat(v):
        """The operands of v, with those that are used nowhere else taken apart."""
        out = []
        for operand in made[v]:
            out += flat(operand) if operand in made and uses[operand] == 1 and operand not in whole else [operand]
        return out

    out, outputs, number = [], [], {}

    def emit(operands):
        operands = [value(v) for v in operands]
        while len(operands) > 1:
            out.append(tuple(sorted(operands[:3])))
            operands = operands[3:] + [n + len(out) - 1]
        return operands[0]

    def value(v):
        if v < n:
            return v
        if v not in number:
            number[v] = emit(flat(v))
        return number[v]

    for operands in values:
        parts = []
        for v in operands:
            parts += flat(v) if v in made and uses[v] == 1 and len(operands) > 1 else [v]
        outputs.append(emit(parts))
    return out, outputs


def best_program(rows, n):
    rng = random.Random(1)
    tries = (program(rows, n, rng) for _ in range(TRIES))
    return min(tries, key=lambda p: (sum(len(step) - 1 for step in p[0]), len(p[0])))


def additions(steps):
    return sum(len(step) - 1 for step in steps)


def one_by_one(rows):
    return sum(bin(row).count("1") - 1 for row in rows)


# --- the file

HEADER = """// SPDX-License-Identifier: Apache-2.0
// Schemes that multiply in GF(2^n) by products of bits, with their programs of exclusive ors. Written by
// gf2e/generate_schemes.py; schemes.h proves every one at compile time.
#pragma once

#include "gf2e/kernels/bilinear_scheme.h"

namespace pirx::gf2e {

// clang-format off
"""


def lines(items, width=100):
    """The items, comma-separated, in lines."""
    out, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > width:
            out.append(line)
            line = "   "
        line += " " + item + ","
    return "\n".join(out + [line])


def mask(row):
    return f"{{0x{row & (1 << 64) - 1:x}, 0x{row >> 64:x}}}" if row >> 64 else f"{{0x{row:x}}}"


def straight_line(name, rows, n, parts):
    """A program as C++, and what it costs: additions, and steps of two or three operands."""
    each = len(rows) // parts
    first, steps, outputs = [0], [], []
    for part in range(parts):
        some, values = best_program(rows[part * each:(part + 1) * each], n)
        steps, outputs = steps + some, outputs + values
        first.append(len(steps))
    shown = lines("{" + ", ".join(map(str, step)) + "}" for step in steps or [(0, 0)])
    text = (f"  static constexpr StraightLine<{n}, {len(rows)}, {parts}, {max(len(steps), 1)}> {name} = {{\n"
            f"    {{{', '.join(map(str, first))}}},\n    {{\n{shown}\n    }},\n    {{\n{lines(map(str, outputs))}\n    }}}};\n")
    return text, additions(steps), len(steps)


def scheme(kind, n):
    A = {"karatsuba": lambda: karatsuba_rows(n, [1 << i for i in range(n)]), "crt": lambda: crt_rows(n, *CRT[n])}[kind]()
    if A is None:
        raise ValueError(f"{CRT[n][0]}, of CRT[{n}], does not generate the field over GF(4): take another one")
    C = solve(A, FIELDS[n], n)
    if C is None:
        raise ValueError(f"{kind} is no scheme for GF(2^{n})")
    name = f"{kind.capitalize()}{n}"
    sums, sum_additions, sum_steps = straight_line("kSums", A, n, PARTS[kind, n])
    results, result_additions, result_steps = straight_line("kResults", C, len(A), 1)
    note = (f"GF(2^{n}), {kind}: {len(A)} products; A takes {sum_additions} additions in {sum_steps} steps, in {PARTS[kind, n]} parts "
            f"(one by one {one_by_one(A)}); C {result_additions} in {result_steps} ({one_by_one(C)})")
    text = (f"\n// {note}\nstruct {name} {{\n  static constexpr const char* kName = \"{kind}\";\n"
            f"  static constexpr BilinearScheme<{n}, {len(A)}> kScheme = {{\n    {{\n{lines(map(mask, A))}\n    }},\n"
            f"    {{\n{lines(map(mask, C))}\n    }}}};\n{sums}{results}}};\n")
    return text, note


def search(seconds):
    """Random parameters; prints those whose A takes the fewest additions as one program."""
    rng = random.Random(time.time())
    for n, needed in ((8, 1), (16, 5)):
        best, end = None, time.time() + seconds / 2
        while time.time() < end:
            y, chosen = rng.randrange(2, 1 << n), tuple(sorted(rng.sample(range(6), needed)))
            rows = crt_rows(n, y, chosen)
            if rows is None:
                continue
            found = (additions(program(rows, n, rng)[0]), one_by_one(rows), y, chosen)
            best = min(best or found, found)
        print(f"GF(2^{n}): {best[0]} additions, one by one {best[1]}: y = {best[2]}, quadratics {best[3]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="writes nothing")
    parser.add_argument("--search", type=float, metavar="SECONDS", help="writes nothing")
    arguments = parser.parse_args()
    if arguments.search:
        return search(arguments.search)
    text = HEADER
    for kind, n in itertools.product(("karatsuba", "crt"), (8, 16)):
        one, note = scheme(kind, n)
        text += one
        print(note)
    text += "\n// clang-format on\n\n}  // namespace pirx::gf2e\n"
    if not arguments.check:
        OUT.write_text(text)
    elif text != OUT.read_text():
        return f"{OUT} is not what {sys.argv[0]} writes"
    return None


if __name__ == "__main__":
    sys.exit(main())
