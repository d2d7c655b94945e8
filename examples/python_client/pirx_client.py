#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second pirx client, to read and to check the first one by. Written from docs/wire_format.md alone, and for keyed databases
from docs/database_format.md, with the standard library only.

    pirx_client.py DEPLOYMENT.json POSITION...
    pirx_client.py DEPLOYMENT.json --key KEY [--key KEY...]

The bytes of the records go to standard output, one record after the other. A report on every server goes to standard error. The
arithmetic is plain Python, whose time depends on its operands: if somebody who watches your machine must not learn what you
fetch, use `pirx get`.
"""
import argparse
import hashlib
import http.client
import ipaddress
import itertools
import json
import os
import re
import secrets
import ssl
import struct
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Tuple

Vector = List[int]  # elements of a field, by label

QUERY, REPLY, PARAMETERS = 1, 2, 3  # types of messages
HEADER = struct.Struct("<4sHBB8s32sQQIIQ")
HEADER_FIELDS = "magic version type protocol field identity epoch coordinate queries reserved length".split()
MAX_MESSAGE = 1 << 30
MAX_QUERIES = 4096


class PirxError(Exception):
    """Something is refused. `code` is the exit code, as in docs/cli.md."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


INVALID_ARGUMENT, OUT_OF_RANGE, UNAVAILABLE, UNDECODABLE = 2, 3, 5, 9


# ---- Fields (section 3) -----------------------------------------------------------------------------------------------


class BinaryField:
    """GF(2^bits): polynomials over GF(2) modulo x^bits + low, multiplied with tables of logarithms."""

    def __init__(self, bits: int, low: int):
        self.order = 1 << bits
        self.tag = struct.pack("<BBHI", 1, 0, bits, low)
        self.word_bytes = self.element_bytes = bits // 8
        for generator in itertools.count(2):
            self.exp = [1]
            while True:
                power = self._slow_mul(self.exp[-1], generator, self.order | low)
                if power == 1:
                    break
                self.exp.append(power)
            if len(self.exp) == self.order - 1:  # its powers are all elements but 0
                break
        self.log = [0] * self.order
        for exponent, power in enumerate(self.exp):
            self.log[power] = exponent
        self.exp += self.exp  # spares a reduction of the exponent

    @staticmethod
    def _slow_mul(a: int, b: int, polynomial: int) -> int:
        product = 0
        while b:
            if b & 1:
                product ^= a
            a, b = a << 1, b >> 1
            if a ^ polynomial < a:  # a has reached the degree of the polynomial
                a ^= polynomial
        return product

    def add(self, a: int, b: int) -> int:
        return a ^ b

    sub = add

    def mul(self, a: int, b: int) -> int:
        return self.exp[self.log[a] + self.log[b]] if a and b else 0

    def inverse(self, a: int) -> int:
        return self.exp[self.order - 1 - self.log[a]]

    def random_vector(self, count: int) -> Vector:
        return decode_numbers(secrets.token_bytes(count * self.element_bytes), self.element_bytes)


class PrimeField:
    """The integers modulo the smallest prime above 2^word_bits."""

    def __init__(self, word_bits: int):
        c = next(c for c in itertools.count(1, 2) if is_prime((1 << word_bits) + c))
        self.order = (1 << word_bits) + c
        self.tag = struct.pack("<BBHI", 2, 0, word_bits + 1, c)
        self.word_bytes, self.element_bytes = word_bits // 8, word_bits // 8 + 1

    def add(self, a: int, b: int) -> int:
        return (a + b) % self.order

    def sub(self, a: int, b: int) -> int:
        return (a - b) % self.order

    def mul(self, a: int, b: int) -> int:
        return a * b % self.order

    def inverse(self, a: int) -> int:
        return pow(a, -1, self.order)

    def random_vector(self, count: int) -> Vector:
        return [secrets.randbelow(self.order) for _ in range(count)]


def is_prime(n: int) -> bool:
    """Miller and Rabin's test with the first prime bases; for numbers that nobody chose to deceive it."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)
    if n < 2 or any(n % base == 0 for base in bases):
        return n in bases
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(pow(base, odd, n) == 1 or any(pow(base, odd << i, n) == n - 1 for i in range(twos)) for base in bases)


def field_by_name(name: str):
    if name == "gf2_8":
        return BinaryField(8, 0x1B)
    if name == "gf2_16":
        return BinaryField(16, 0x50D7)
    match = re.fullmatch(r"w(160|48)|prime([1-9][0-9]{0,2})", name)
    bits = int(match.group(1) or match.group(2)) if match else 0
    if not 8 <= bits <= 256 or bits % 8:
        raise PirxError(INVALID_ARGUMENT, f"unknown field {name!r}")
    return PrimeField(bits)


def combine(field, coefficients: Sequence[int], vectors: Sequence[Vector]) -> Vector:
    """The sum of coefficient * vector."""
    total = [0] * len(vectors[0])
    for coefficient, vector in zip(coefficients, vectors):
        total = [field.add(s, field.mul(coefficient, v)) for s, v in zip(total, vector)]
    return total


def decode_numbers(data: bytes, width: int) -> Vector:
    return [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)]


def encode_numbers(numbers: Sequence[int], width: int) -> bytes:
    return b"".join(number.to_bytes(width, "little") for number in numbers)


# ---- Sharing and decoding (section 4) ---------------------------------------------------------------------------------


def make_share(field, x: int, rows: Sequence[int], coins: Sequence[Vector]) -> Vector:
    """What the server at x is sent to fetch the sum of `rows`, which are one or three; coins are G_1..G_t."""
    share, power = [0] * len(coins[0]), 1
    for coin in coins:
        power = field.mul(power, x)
        share = [field.add(s, field.mul(power, g)) for s, g in zip(share, coin)]
    for row in rows:
        share[row] = field.add(share[row], 1)
    return share


def lagrange(field, xs: Sequence[int], at: int = 0) -> Vector:
    """Coefficients that turn a polynomial's values at xs into its value at `at`."""
    result = []
    for j, x in enumerate(xs):
        above = below = 1
        for m, other in enumerate(xs):
            if m != j:
                above = field.mul(above, field.sub(at, other))
                below = field.mul(below, field.sub(x, other))
        result.append(field.mul(above, field.inverse(below)))
    return result


def consistent(field, t: int, replies: Sequence[Tuple[int, Vector]]) -> bool:
    """Whether all replies (x, words) lie on polynomials of degree t: whether the first t + 1 predict the others."""
    xs, vectors = zip(*replies[: t + 1])
    return all(combine(field, lagrange(field, xs, x), vectors) == words for x, words in replies[t + 1 :])


def decode(field, t: int, replies: Dict[int, Vector]) -> Tuple[Vector, List[int]]:
    """(words, liars) from replies by coordinate; liars lie in any word, so whole replies are left out."""
    k = len(replies)
    if k < t + 1:
        raise PirxError(UNDECODABLE, f"only {k} usable replies, at least {t + 1} are needed")
    most = (k - t - 1) // 2
    for wrong in range(most + 1):
        for liars in itertools.combinations(replies, wrong):
            rest = [(x, words) for x, words in replies.items() if x not in liars]
            if consistent(field, t, rest):
                xs, vectors = zip(*rest[: t + 1])
                return combine(field, lagrange(field, xs), vectors), list(liars)
    raise PirxError(UNDECODABLE, f"the {k} replies contradict each other; at most {most} wrong ones could be corrected")


# ---- Messages (section 2), geometry and records (section 6) -----------------------------------------------------------


U64 = (1 << 64) - 1


def stir(w: int) -> int:
    """A number of 64 bits that depends on all bits of another."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        w = (w ^ w >> 33) * factor & U64
    return w ^ w >> 33


@dataclass
class KeyFilter:
    """Where a keyed database has a key (docs/database_format.md)."""

    segment_length: int
    segments: int
    tweak: int
    seed: bytes

    def place(self, key: bytes, columns: int) -> Tuple[int, Tuple[int, int, int]]:
        """The column of a key, and its three rows."""
        c, h = struct.unpack_from("<QQ", hashlib.sha256(b"pirx key v1" + self.seed + key).digest())
        a, b = (stir(h + 2 * self.tweak + i & U64) for i in (1, 2))
        s = (a & 0xFFFFFFFF) * self.segments >> 32
        numbers = (a >> 32, b & 0xFFFFFFFF, b >> 32)
        return c * columns >> 64, tuple((s + i) * self.segment_length + (number * self.segment_length >> 32)
                                        for i, number in enumerate(numbers))


@dataclass
class Database:
    identity: bytes
    epoch: int
    records: int
    record_bytes: int
    records_per_row: int
    variable_length: bool
    digests: bool
    filter: Optional[KeyFilter] = None  # of a keyed database

    @property
    def slot_bytes(self) -> int:
        return 4 * self.variable_length + 16 * self.digests + self.record_bytes

    @property
    def row_bytes(self) -> int:
        return self.records_per_row * self.slot_bytes

    @property
    def rows(self) -> int:
        if self.filter:
            return (self.filter.segments + 2) * self.filter.segment_length
        return -(-self.records // self.records_per_row)

    def words(self, field) -> int:
        return -(-self.row_bytes // field.word_bytes)


def encode_header(kind: int, field, database: Database, x: int, queries: int, length: int) -> bytes:
    return HEADER.pack(b"PIRX", 1, kind, 1, field.tag, database.identity, database.epoch, x, queries, 0, length)


def encode_parameters(field, database: Database, x: int) -> bytes:
    """What the server at x answers to GET /v1/parameters."""
    keyed = database.filter
    flags = database.variable_length | database.digests << 1 | (keyed is not None) << 3
    filter_ = struct.pack("<3Q32s", keyed.segment_length, keyed.segments, keyed.tweak, keyed.seed) if keyed else bytes(56)
    geometry = struct.pack("<4Q", database.records, database.record_bytes, database.records_per_row, flags) + filter_
    return encode_header(PARAMETERS, field, database, x, 0, 0) + struct.pack("<IIQ", 1, 0, 0) + geometry


def parse_reply(message: bytes, field, database: Database, x: int, queries: int) -> Vector:
    """The words of all queries; ValueError unless the message is exactly what was asked for."""
    words = database.words(field)
    expected = encode_header(REPLY, field, database, x, queries, words)
    if len(message) < HEADER.size:
        raise ValueError("malformed: shorter than a header")
    for name, got, wanted in zip(HEADER_FIELDS, HEADER.unpack_from(message), HEADER.unpack(expected)):
        if got != wanted:
            raise ValueError("stale epoch" if name == "epoch" else f"malformed: another {name} than asked for")
    if len(message) != HEADER.size + queries * words * field.element_bytes:
        raise ValueError("malformed: not as long as its header says")
    vector = decode_numbers(message[HEADER.size :], field.element_bytes)
    if max(vector) >= field.order:
        raise ValueError("malformed: a value is no element of the field")
    return vector


def record_digest(position: int, data: bytes) -> bytes:
    return hashlib.sha256(b"pirx record v1" + struct.pack("<QQ", position, len(data)) + data).digest()[:16]


def cut_slot(field, database: Database, column: int, words: Vector) -> bytes:
    """A slot out of the decoded words of its row; ValueError if these cannot be what the database holds."""
    if any(word >> (8 * field.word_bytes) for word in words):
        raise ValueError("an element that is no word")
    row = encode_numbers(words, field.word_bytes)
    if any(row[database.row_bytes :]):
        raise ValueError("bytes behind the end of the row")
    start = column * database.slot_bytes
    return row[start : start + database.slot_bytes]


def take_apart(database: Database, slot: bytes) -> Tuple[int, bytes, bytes]:
    """Length, digest and data, zeros included, of a slot."""
    length = database.record_bytes
    if database.variable_length:
        length, slot = int.from_bytes(slot[:4], "little"), slot[4:]
    digest, data = (slot[:16], slot[16:]) if database.digests else (b"", slot)
    return length, digest, data


def cut_record(field, database: Database, position: int, words: Vector) -> bytes:
    """The record at a position; ValueError as cut_slot(), or if the slot is damaged."""
    length, digest, data = take_apart(database, cut_slot(field, database, position % database.records_per_row, words))
    if length > database.record_bytes or any(data[length:]):
        raise ValueError("wrong length or padding")
    if database.digests and record_digest(position, data[:length]) != digest:
        raise ValueError("wrong digest")
    return data[:length]


def cut_keyed(field, database: Database, key: bytes, words: Vector) -> Optional[bytes]:
    """The record of a key out of the sum of its three rows; None if the database has none. ValueError as cut_slot()."""
    column, _ = database.filter.place(key, database.records_per_row)
    slot = cut_slot(field, database, column, words)
    length, digest, data = take_apart(database, slot)
    # The digest covers all of the slot but itself.
    rest = slot[:4] * database.variable_length + data
    text = b"pirx keyed record v2" + database.filter.seed + struct.pack("<Q", len(key)) + key + rest
    if hashlib.sha256(text).digest()[:16] != digest:
        return None
    if length > database.record_bytes or any(data[length:]):
        raise ValueError("wrong length or padding")
    return data[:length]


# ---- The deployment file (docs/deployment_file.md) --------------------------------------------------------------------


@dataclass
class Server:
    url: str
    x: int
    ca_file: Optional[str] = None
    status: str = "not asked"

    def __post_init__(self):
        match = re.fullmatch(r"(https?)://(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?/?", self.url, re.ASCII)
        if not match or int(match.group(4) or 0) > 65535:
            raise ValueError(f"wrong url {self.url!r}: give https://host:port or http://host:port")
        self.tls, self.host = match.group(1) == "https", match.group(2) or match.group(3)
        self.port = int(match.group(4)) if match.group(4) else (443 if self.tls else 80)

    def is_loopback(self) -> bool:
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


@dataclass
class Deployment:
    field: object
    threshold: int
    database: Database
    servers: List[Server]


def plan_checksum(text: dict) -> str:
    """Of the members that a file of any other order has, too, as compact JSON."""
    order = ("protocol", "field", "threshold", "database", "identity", "epoch", "records", "record_bytes", "records_per_row",
             "variable_length", "digests", "filter", "segment_length", "segments", "tweak", "seed")

    def ordered(group: dict) -> dict:
        return {name: ordered(group[name]) if isinstance(group[name], dict) else
                group[name].lower() if name in ("identity", "seed") else group[name] for name in order if name in group}

    return hashlib.sha256(json.dumps(ordered(text), separators=(",", ":")).encode()).hexdigest()


def load_deployment(path) -> Deployment:
    def require(condition, what):
        if not condition:
            raise PirxError(INVALID_ARGUMENT, f"deployment file {path}: {what}")

    def members(value, where, needed, optional={}):
        require(isinstance(value, dict), f"{where} is no object")
        missing, unknown = set(needed) - set(value), set(value) - {*needed, *optional}
        require(not missing, f"{where} has no {', '.join(sorted(missing))}")
        more = unknown & {"ramp", "encoding", "code"}  # settings of the protocol that this client leaves out
        require(not more, f"{where} has {', '.join(sorted(more))}, which this client does not know: use pirx get")
        require(not unknown, f"{where} has unknown members: {ascii(sorted(unknown))[:200]}")
        for name, kind in {**needed, **optional}.items():
            require(name not in value or type(value[name]) is kind, f"{where}: {name} is no {kind.__name__}")

    try:
        text = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise PirxError(UNAVAILABLE, f"cannot read the deployment file: {error}") from None
    except ValueError as error:
        raise PirxError(INVALID_ARGUMENT, f"deployment file {path} is no JSON: {error}") from None
    if isinstance(text, dict) and text.get("protocol") == "chor":
        require(False, "its protocol is Chor's, which this client does not know: use pirx get")
    members(text, "it", {"pirx_deployment": int, "protocol": str, "field": str, "threshold": int, "database": dict,
                         "servers": list}, {"checksum": str})
    require(text["pirx_deployment"] == 1 and text["protocol"] == "goldberg", "another version or protocol")
    members(text["database"], "database", {"identity": str, "epoch": int, "records": int, "record_bytes": int,
                                           "records_per_row": int, "variable_length": bool, "digests": bool},
            {"filter": dict})
    require(re.fullmatch("[0-9a-fA-F]{64}", text["database"]["identity"]), "the identity is not 64 hexadecimal digits")
    database = Database(**{**text["database"], "identity": bytes.fromhex(text["database"]["identity"])})
    if database.filter is not None:
        kinds = {"segment_length": int, "segments": int, "tweak": int, "seed": str}
        members(database.filter, "filter", kinds)
        given = KeyFilter(**database.filter)
        require(re.fullmatch("[0-9a-fA-F]{64}", given.seed), "the seed of filter is not 64 hexadecimal digits")
        given.seed = bytes.fromhex(given.seed)
        require(0 < given.segment_length < 1 << 32 and 0 < given.segments < 1 << 32 and 0 <= given.tweak <= U64,
                "impossible numbers in filter")
        database.filter = given
        require(database.digests, "a keyed database has digests")
        require(database.rows * database.records_per_row >= database.records, "filter has no room for all keys")
    require(0 <= database.epoch < 1 << 64 and 1 <= database.records_per_row <= database.records < 1 << 64
            and 1 <= database.record_bytes < 1 << 64, "impossible epoch or geometry")
    require(text.get("checksum", plan_checksum(text)) == plan_checksum(text), "it is damaged: its checksum is wrong")
    field, servers = field_by_name(text["field"]), []
    require(database.filter is None or isinstance(field, BinaryField), "a keyed database needs gf2_8 or gf2_16")
    for entry in text["servers"]:
        members(entry, "a server", {"url": str, "coordinate": int}, {"ca_file": str, "allow_plaintext": bool})
        require(0 < entry["coordinate"] < min(field.order, 1 << 64), "a coordinate is no non-zero element")
        ca_file = str(Path(path).resolve().parent / entry["ca_file"]) if "ca_file" in entry else None
        try:
            server = Server(entry["url"], entry["coordinate"], ca_file)
        except ValueError as error:
            require(False, error)
        require(server.tls or entry.get("allow_plaintext") or server.is_loopback(), "http:// beyond loopback")
        servers.append(server)
    require(len({s.x for s in servers}) == len({(s.host, s.port) for s in servers}) == len(servers), "a url or coordinate twice")
    require(1 <= text["threshold"] < len(servers), "the threshold must be 1 to the number of servers - 1")
    return Deployment(field, text["threshold"], database, servers)


# ---- A round (section 5) ----------------------------------------------------------------------------------------------


def post(server: Server, query: bytes, longest: int, timeout: float) -> bytes:
    """One request, once: not repeated, not redirected. ValueError if the answer is no reply message."""
    if server.tls:
        context = ssl.create_default_context(cafile=server.ca_file)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        connection = http.client.HTTPSConnection(server.host, server.port, timeout=timeout, context=context)
    else:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=timeout)
    try:
        connection.request("POST", "/v1/query", query, {"Content-Type": "application/octet-stream"})
        response = connection.getresponse()
        if response.status != 200:
            code = ascii(response.getheader("Pirx-Error", "no pirx server"))
            raise ValueError(f"refused: {response.status} {code} {ascii(response.read(300))}")
        if response.getheader("Content-Type") != "application/octet-stream" or not response.getheader("Content-Length"):
            raise ValueError("malformed: no application/octet-stream with a Content-Length")
        return response.read(longest + 1)
    finally:
        connection.close()


def fetch(deployment: Deployment, positions: Sequence[int], deadline: float = 10.0) -> List[bytes]:
    """The records at these positions in one round. Sets the status of every server."""
    field, database = deployment.field, deployment.database
    if database.filter:
        raise PirxError(INVALID_ARGUMENT, "the database is keyed: ask for keys, by --key")
    if not positions:
        raise PirxError(OUT_OF_RANGE, "there is no position to ask for")
    # Servers must not see that there is no such record (section 7): another one is asked for, and it fails at the end.
    there = [0 <= position < database.records for position in positions]
    positions = [position if known else 0 for position, known in zip(positions, there)]
    results = ask_all(deployment, [[position // database.records_per_row] for position in positions], deadline,
                      [lambda words, position=position: cut_record(field, database, position, words) for position in positions])
    if not all(there):
        raise PirxError(OUT_OF_RANGE, f"positions are 0 to {database.records - 1}")
    return results


def fetch_keys(deployment: Deployment, keys: Sequence[bytes], deadline: float = 10.0) -> List[Optional[bytes]]:
    """The records of these keys in one round, None for each that the database has no record of. Sets the status of every
    server. What is sent does not depend on whether there is such a key."""
    field, database = deployment.field, deployment.database
    if not database.filter:
        raise PirxError(INVALID_ARGUMENT, "the database has no keys: ask for positions")
    if not keys:
        raise PirxError(OUT_OF_RANGE, "there is no key to ask for")
    places = [database.filter.place(key, database.records_per_row) for key in keys]
    return ask_all(deployment, [rows for _, rows in places], deadline,
                   [lambda words, key=key: cut_keyed(field, database, key, words) for key in keys])


def ask_all(deployment: Deployment, wanted: Sequence[Sequence[int]], deadline: float, cut: Sequence[Callable]) -> List:
    """Asks for the sum of rows that each of `wanted` names, and gives what `cut` makes of its words."""
    field, t, database = deployment.field, deployment.threshold, deployment.database
    q, words = len(wanted), database.words(field)
    reply_bytes = HEADER.size + q * words * field.element_bytes
    query_bytes = HEADER.size + q * database.rows * field.element_bytes
    if q > MAX_QUERIES or max(query_bytes, reply_bytes) > MAX_MESSAGE:
        raise PirxError(INVALID_ARGUMENT, "too many records for one round")

    # One query a record, even if two lie in the same rows: q must not tell. Coins are fresh for each.
    queries = {server.x: encode_header(QUERY, field, database, server.x, q, database.rows) for server in deployment.servers}
    for rows in wanted:
        coins = [field.random_vector(database.rows) for _ in range(t)]
        for x in queries:
            share = make_share(field, x, rows, coins)
            queries[x] += encode_numbers(share, field.element_bytes)

    arrived: Dict[int, object] = {}  # words, or why not

    def ask(server):
        try:
            message = post(server, queries[server.x], reply_bytes, deadline)
            arrived[server.x] = parse_reply(message, field, database, server.x, q)
        except ValueError as error:
            arrived[server.x] = str(error)
        except (OSError, http.client.HTTPException) as error:
            arrived[server.x] = ascii(error)[:300]  # it may quote what the server said

    threads = [threading.Thread(target=ask, args=(server,), daemon=True) for server in deployment.servers]
    end = time.monotonic() + deadline
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    results = dict(arrived)
    replies = {server.x: results[server.x] for server in deployment.servers if isinstance(results.get(server.x), list)}
    for server in deployment.servers:
        server.status = "replied" if server.x in replies else str(results.get(server.x, "silent"))

    row_words, liars = decode(field, t, replies)
    try:
        records = [one(row_words[i * words : (i + 1) * words]) for i, one in enumerate(cut)]
    except ValueError as error:
        raise PirxError(UNDECODABLE, f"the decoded row is damaged ({error}): too many servers lied") from None
    for server in deployment.servers:
        if server.x in replies:
            server.status = "lied" if server.x in liars else "ok"
    return records


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("deployment", help="deployment file")
    parser.add_argument("position", type=int, nargs="*", help="position of a record, from 0")
    parser.add_argument("--key", action="append", default=[], help="key of a record, in a keyed database")
    parser.add_argument("--deadline", type=float, default=10.0, help="seconds to wait for the servers")
    options = parser.parse_args()
    deployment = None
    try:
        deployment = load_deployment(options.deployment)
        if options.key and options.position:
            raise PirxError(INVALID_ARGUMENT, "give positions or keys, not both")
        if options.key:
            found = fetch_keys(deployment, [os.fsencode(key) for key in options.key], options.deadline)
        else:
            found = fetch(deployment, options.position, options.deadline)
        records = [record for record in found if record is not None]
        spare = sum(server.status == "ok" for server in deployment.servers) - deployment.threshold - 1
        print(f"{len(records)} records, agreed on by {spare} more servers than needed to decode", file=sys.stderr)
        sys.stdout.buffer.write(b"".join(records))
        if len(records) < len(found):
            raise PirxError(OUT_OF_RANGE, f"{len(found) - len(records)} of the keys are not in the database")
        return 0
    except PirxError as error:
        print(f"pirx_client: {error}", file=sys.stderr)
        return error.code
    finally:
        for server in deployment.servers if deployment else []:
            print(f"  {server.x} {server.url}: {server.status}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
