#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Known answers of the Damgard-Jurik cryptosystem and its trees, by Python's integers, shared with no other code.

    make_damgard_jurik_kat.py > damgard_jurik_kat.json    writes the file
    make_damgard_jurik_kat.py --check                   compares it with the one beside this script
"""
import hashlib
import json
import sys
from pathlib import Path


def is_prime(n):
    """Miller-Rabin with fixed bases: n is one of few fixed numbers."""
    d, r = n - 1, 0
    while d % 2 == 0:
        d, r = d // 2, r + 1
    for a in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        if n == a:
            return True
        x = pow(a, d, n)
        if x in (1, n - 1):
            continue
        for _ in range(r - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def prime_from(seed, bits):
    """The first prime from a number of that length, top two bits set, spelt out by SHA-256."""
    text = b"".join(hashlib.sha256(b"%s %d" % (seed, i)).digest() for i in range(bits // 256))
    n = int.from_bytes(text, "big") | 3 << (bits - 2) | 1
    while not is_prime(n):
        n += 2
    return n


def encrypt(n, s, m, r):
    return pow(1 + n, m, n ** (s + 1)) * pow(r, n**s, n ** (s + 1)) % n ** (s + 1)


def one_hot_tree(n, arities, items, index, coins, leaf_layer):
    """Selectors c_1 .. c_{a-1} of every level, and the root: nodes (1+N)^f_0 c_1^((f_1 - f_0) mod N^s) c_2^(...) ..."""
    selectors, level = [], list(items)
    for s, arity in enumerate(arities, leaf_layer):
        modulus = n ** (s + 1)
        digit, index = index % arity, index // arity
        sent = []
        for i in range(1, arity):
            sent.append(encrypt(n, s, int(i == digit), next(coins)))
        nodes = []
        for at in range(0, len(level), arity):
            children = (level[at:at + arity] + [0] * arity)[:arity]
            value = pow(1 + n, children[0], modulus)
            for c, child in zip(sent, children[1:]):
                value = value * pow(c, (child - children[0]) % n**s, modulus) % modulus
            nodes.append(value)
        level = nodes
        selectors.append([str(c) for c in sent])
    assert len(level) == 1
    return selectors, level[0]


def main():
    keys = {"35": (5, 7), "128": (2**64 - 59, 2**64 - 83),
            "1024": (prime_from(b"pirx p", 512), prime_from(b"pirx q", 512))}
    encryptions = []
    for name, s, m, r in (("35", 1, 0, 2), ("35", 1, 1, 2), ("35", 1, 23, 3), ("35", 2, 0, 2), ("35", 2, 1, 2),
                          ("35", 2, 1000, 3), ("35", 3, 1, 2), ("35", 3, 40000, 4), ("128", 1, 2**100 + 7, 3),
                          ("128", 2, 2**100 + 7, 3), ("128", 3, 2**100 + 7, 3), ("1024", 1, 5**400, 7),
                          ("1024", 4, 3**2500, 2**900 + 1)):
        p, q = keys[name]
        c = encrypt(p * q, s, m, r)
        text = c.to_bytes((c.bit_length() + 7) // 8, "big")
        encryptions.append({"key": name, "s": s, "m": str(m), "r": str(r), "c": str(c),
                            "sha256": hashlib.sha256(text).hexdigest()})
    trees = []
    for name, arities, count, index, leaf_layer in (("35", (8,), 8, 5, 1), ("128", (8, 8), 64, 42, 1),
                                                    ("128", (3, 2, 4), 22, 20, 1), ("128", (2, 2, 2, 2), 16, 9, 1),
                                                    ("128", (4, 3), 11, 7, 2), ("128", (3,), 3, 2, 4)):
        n = keys[name][0] * keys[name][1]
        bound = n if name == "35" else 1 << 127 * leaf_layer // 8 * 8
        items = [1 + 4 * i if name == "35" else (i**5 + i + 1) * 10 ** (20 + 30 * (leaf_layer - 1)) % bound for i in range(count)]
        coins = (r for r in range(2, 99) if r % 5 and r % 7) if name == "35" else iter(range(3, 99))
        selectors, root = one_hot_tree(n, arities, items, index, coins, leaf_layer)
        trees.append({"key": name, "arities": arities, "leaf_layer": leaf_layer, "items": [str(f) for f in items], "index": index,
                      "selectors": selectors, "root": str(root)})
    p, q = 5, 7
    lifts = [{"prime": "5", "cofactor": "7", "u": "2", "s": 3, "lift": str(pow(2, p**3, p**4))},
             {"prime": "7", "cofactor": "5", "u": "3", "s": 3, "lift": str(pow(3, q**3, q**4))}]
    known = {"source": "make_damgard_jurik_kat.py",
             "keys": {name: {"p": str(p), "q": str(q)} for name, (p, q) in keys.items()},
             "encryptions": encryptions, "lifts": lifts, "trees": trees}
    text = json.dumps(known, indent=1) + "\n"
    if sys.argv[1:] == ["--check"]:
        same = Path(__file__).with_name("damgard_jurik_kat.json").read_text(encoding="utf-8") == text
        print("the known answers are these" if same else "damgard_jurik_kat.json is not what this program makes")
        return 0 if same else 1
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
