#!/usr/bin/env python3
"""Known answers of Goldberg's protocol, from the formulas of docs/wire_format.md with the arithmetic of examples/python_client.

    make_itpir_kat.py            writes itpir_kat.json beside this script
    make_itpir_kat.py --check    fails unless itpir_kat.json is, byte for byte, what would be written

Everything is derived from the name of a case with SHAKE-256, so every run writes the same bytes. The file is an object:

    "about"   a string
    "cases"   a list of objects, each a database, a deployment and one round:

    "name"          a string
    "field"         gf2_8, gf2_16 or w160
    "threshold"     t
    "identity"      64 hexadecimal digits: invented, not the hash of any file
    "epoch"         a string of decimal digits (it may exceed 2^53)
    "geometry"      object: "records", "record_bytes", "records_per_row" (numbers), "variable_length", "digests" (true or false)
    "sizes"         object, what follows from it: "slot_bytes", "row_bytes", "rows", "words" (words of a row)
    "coordinates"   list of l strings of decimal digits: x_j; all lists by server are in this order
    "records"       list of n hexadecimal strings: the content of every record, without padding
    "database_rows" list of r hexadecimal strings of row_bytes bytes: every row as the database file holds it
    "parameters"    list of l: the parameters message of every server
    "positions"     list of q numbers: the records asked for; query i asks for the row of positions[i]
    "coins"         list of q lists of t hexadecimal strings: coins[i][a - 1] is G_a of query i, r elements as they would travel
                    (gf2_8 1 byte, gf2_16 2, w160 21), so the coins in order are: query i, then a = 1..t, then rows
    "queries"       list of l query messages, header included
    "replies"       list of l reply messages, header included
    "lagrange"      object: "servers": the indices (from 0) of the t + 1 servers decoded from, "at_zero": their L_j, each an element
                    as it would travel; "predictions": list of objects, one for each of the other servers: "server": its index,
                    "coefficients": the t + 1 L_j(x_server)
    "retrieved"     list of q hexadecimal strings: the records found, equal to records[positions[i]]
"""
import hashlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "examples" / "python_client"))
import pirx_client as pirx  # noqa: E402

TARGET = HERE / "itpir_kat.json"


class Stream:
    """Bytes that depend on a name only."""

    def __init__(self, name):
        self.name, self.count = name, 0

    def bytes(self, count):
        self.count += 1
        return hashlib.shake_256(f"pirx known answers/{self.name}/{self.count}".encode()).digest(count)

    def below(self, limit):
        """Uniform up to a bias of 2^-64: enough for a test."""
        return int.from_bytes(self.bytes(limit.bit_length() // 8 + 9), "little") % limit


def answer(field, share, rows):
    """What an honest server returns: the sum of share[k] * rows[k], rows of words."""
    return pirx.combine(field, share, rows)


def make_rows(database, records):
    """The rows of section 6, as bytes."""
    rows = bytearray(database.rows * database.row_bytes)
    for i, data in enumerate(records):
        slot = len(data).to_bytes(4, "little") if database.variable_length else b""
        slot += pirx.record_digest(i, data) if database.digests else b""
        slot += data
        row, place = divmod(i, database.records_per_row)
        start = row * database.row_bytes + place * database.slot_bytes
        rows[start : start + len(slot)] = slot
    return [bytes(rows[at : at + database.row_bytes]) for at in range(0, len(rows), database.row_bytes)]


def make_case(name, field_name, t, coordinates, geometry, positions, records=None, coins=None, epoch=None):
    field, stream = pirx.field_by_name(field_name), Stream(name)
    database = pirx.Database(stream.bytes(32), stream.below(1 << 64) if epoch is None else epoch, *geometry)
    if records is None:
        lengths = [stream.below(database.record_bytes + 1) if database.variable_length else database.record_bytes
                   for _ in range(database.records)]
        if database.variable_length:  # the extremes are among them, and among those asked for
            lengths[positions[0]], lengths[positions[-1]] = 0, database.record_bytes
        records = [stream.bytes(length) for length in lengths]
    rows = make_rows(database, records)
    words = [pirx.decode_numbers(row, field.word_bytes) for row in rows]
    if coins is None:
        coins = [[[stream.below(field.order) for _ in rows] for _ in range(t)] for _ in positions]
        if len(positions) > 1:
            coins[1][0][:2] = [0, field.order - 1]  # the extremes of the field

    q, width = len(positions), field.element_bytes
    queries, replies, values = [], [], []
    for x in coordinates:
        shares = [pirx.make_share(field, x, position // database.records_per_row, coins[i]) for i, position in enumerate(positions)]
        sums = [number for share in shares for number in answer(field, share, words)]
        values.append(sums)
        queries.append(pirx.encode_header(pirx.QUERY, field, database, x, q, database.rows)
                       + b"".join(pirx.encode_numbers(share, width) for share in shares))
        replies.append(pirx.encode_header(pirx.REPLY, field, database, x, q, database.words(field)) + pirx.encode_numbers(sums, width))

    # Decode from servers that are not the first ones, so that nobody gets away with assuming so.
    decoders = list(range(len(coordinates)))[-(t + 1):] if len(coordinates) > 3 else list(range(t + 1))
    xs = [coordinates[j] for j in decoders]
    at_zero = pirx.lagrange(field, xs)
    decoded = pirx.combine(field, at_zero, [values[j] for j in decoders])
    width_of_row = database.words(field)
    retrieved = [pirx.cut_record(field, database, position, decoded[i * width_of_row : (i + 1) * width_of_row])
                 for i, position in enumerate(positions)]
    assert retrieved == [records[position] for position in positions]
    predictions = []
    for j, x in enumerate(coordinates):
        if j not in decoders:
            coefficients = pirx.lagrange(field, xs, x)
            assert pirx.combine(field, coefficients, [values[i] for i in decoders]) == values[j]
            predictions.append({"server": j, "coefficients": [c.to_bytes(width, "little").hex() for c in coefficients]})

    return {
        "name": name,
        "field": field_name,
        "threshold": t,
        "identity": database.identity.hex(),
        "epoch": str(database.epoch),
        "geometry": {key: getattr(database, key)
                     for key in ("records", "record_bytes", "records_per_row", "variable_length", "digests")},
        "sizes": {"slot_bytes": database.slot_bytes, "row_bytes": database.row_bytes, "rows": database.rows, "words": width_of_row},
        "coordinates": [str(x) for x in coordinates],
        "records": [record.hex() for record in records],
        "database_rows": [row.hex() for row in rows],
        "parameters": [pirx.encode_parameters(field, database, x).hex() for x in coordinates],
        "positions": positions,
        "coins": [[pirx.encode_numbers(coin, width).hex() for coin in of_query] for of_query in coins],
        "queries": [message.hex() for message in queries],
        "replies": [message.hex() for message in replies],
        "lagrange": {"servers": decoders, "at_zero": [c.to_bytes(width, "little").hex() for c in at_zero], "predictions": predictions},
        "retrieved": [record.hex() for record in retrieved],
    }


def make_all():
    # geometry: records, record_bytes, records_per_row, variable_length, digests
    cases = [
        make_case("the example of docs/wire_format.md", "gf2_8", 1, [1, 2, 3], (4, 2, 1, False, False), [2], epoch=1,
                  records=[bytes.fromhex(row) for row in ("1011", "2021", "3031", "4041")], coins=[[[0x05, 0xA7, 0x3C, 0xF0]]]),
    ]
    far = {"gf2_8": [255, 128, 77], "gf2_16": [65535, 256, 4660], "w160": [2**64 - 1, 2**32, 2**40 + 1]}
    for field, (a, b, c) in far.items():
        cases += [
            make_case(f"{field}: t=1, fixed length, no digests", field, 1, [1, 2, 3], (11, 7, 3, False, False), [10, 0, 4]),
            make_case(f"{field}: t=2, variable length, digests", field, 2, [a, 2, b, 1, c], (14, 9, 3, True, True), [13, 5, 3]),
            make_case(f"{field}: t=3, fixed length, digests, one record a row", field, 3, [1, 2, 3, a, b, 6],
                      (9, 21, 1, False, True), [8, 8]),
            make_case(f"{field}: t=1, variable length, no digests, one row", field, 1, [c, 5], (4, 19, 4, True, False), [0, 3]),
        ]
    example = cases[0]
    assert [q[160:] for q in example["queries"]] == ["05a73df0", "0a5579fb", "0ff2450b"]
    assert [r[160:] for r in example["replies"]] == ["3956", "22ff", "2b98"]
    assert example["lagrange"]["at_zero"] == ["f7", "f6"]
    assert example["lagrange"]["predictions"][0]["coefficients"] == ["f6", "f7"]
    about = "Known answers of pirx wire format 1; made by make_itpir_kat.py, which describes the layout. Do not edit."
    return json.dumps({"about": about, "cases": cases}, indent=1) + "\n"


def main():
    text = make_all()
    if sys.argv[1:] == ["--check"]:
        if TARGET.read_bytes() != text.encode():
            print(f"{TARGET.name} is not what {Path(__file__).name} writes", file=sys.stderr)
            return 1
    elif sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    else:
        TARGET.write_bytes(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
