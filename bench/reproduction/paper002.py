# SPDX-License-Identifier: Apache-2.0
"""Paper 002: Henry, "Polynomial Batch Codes for Efficient IT-PIR" (2016)."""

import math
import os
import shutil

import gbench
from peers import peers
from reproduction.item import Item, Result, Row, Table

TITLE = 'Henry, "Polynomial Batch Codes for Efficient IT-PIR" (2016)'
FOLDER = "bench/paper002"
GB = 1e9
# What the paper's text says of its machines: seconds per GB of a server (Xeon X5570), seconds of a client (Core i7-4770).
PAPER_SERVER = {"gf2_8": 0.9, "w160": 0.9 * 1.36, "gf2_16": 0.9 * 1.36 * 1.5}
PAPER_QUERY = {"t": 16, "q": 8, "ms": 1300}
PAPER_RECONSTRUCTION = {"t": 16, "q": 8, "ms": 800}
PAPER_BEYOND = {"u": 8, "times": 13.5}
"""Experiment 2: the speed-up at 256 GB, where the plain database is larger than memory and the bucket is not."""
PAPER_RATES = {"257": ("gf2_8", 450), "65537": ("gf2_16", 120), str((1 << 1024) + 643): ("gf2_8", 120)}
"""How many times faster Percy++ is over a binary field than over the integers modulo this prime."""
GOAL = 20
"""How many times faster than the plain client a client should be."""
ROWS, SERVERS, BLOCK_BYTES = 16000, 32, 4_000_000


def encode(context, mib, field, arities, repetitions, *flags):
    """Once each in random order, so that every bucket comes from memory and not from the cache."""
    found = context.bench(f"{FOLDER}/paper002_encode", f"--mib={mib}", f"--u={arities}", "--q=1", "--benchmark_min_time=0", *flags,
                          only=[f"u-ary/field:{field}/stored_as:words"], repetitions=repetitions)
    return [{"kind": "u-ary", "field": field, "stored_as": "words", "u": int(gbench.parts(name)["u"]), "queries": 1, "rows": int(r["rows"]),
             "words": int(r["words"]), "bucket_bytes": int(r["bucket_bytes"]), "median_s": r["real_time"], "min_s": r["best"], "max_s": r["most"],
             "plain_gb_per_s": r["plain_gb_per_s"], "speedup_over_u": r["speedup_over_u"], "plan": r["label"]} for name, r in found.items()]


def sizes_that_fit(context, sizes, copies):
    """Of these sizes in MiB those of which so many copies fit into memory."""
    fit = [mib for mib in sizes if copies * mib / 1024 < gbench.available_gib()]
    if fit != list(sizes):
        context.note("databases of " + ", ".join(f"{mib} MiB" for mib in sizes if mib not in fit) + ": not enough memory")
    return fit


def measure_baseline(context):
    sizes = (2, 8) if context.quick else (64, 256, 1024, 4096)
    return [r for mib in sizes_that_fit(context, sizes, 2.5) for field in ("gf2_8", "gf2_16", "w160")
            for r in encode(context, mib, field, "1", 1 if context.quick else 9 if mib <= 1024 else 3)]


def measure_encoded(context):
    sizes = (2,) if context.quick else (128, 512, 1024, 4096)
    return [r for mib in sizes_that_fit(context, sizes, 3.5) for field in ("gf2_8", "w160")
            for r in encode(context, mib, field, "1,2,4,6,8", 1 if context.quick else 15 if mib <= 1024 else 3)]


def measure_beyond(context):
    """From what fits into memory to the first size that does not, as a mapped file on the disk of the build folder."""
    memory_mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    sizes = [4] if context.quick else [8192]
    while not context.quick and sizes[-1] < memory_mib:
        sizes.append(2 * sizes[-1])
    records = []
    for mib in sizes:
        if mib > 65536 or mib > shutil.disk_usage(context.build_dir).free >> 20:
            context.note(f"a database of {mib} MiB: it would take hours" if mib > 65536 else f"a database of {mib} MiB: the disk has no room")
        else:
            records += encode(context, mib, "w160", "1,8", 1, "--on_disk=1")
    return {"memory_mib": memory_mib, "records": records}


def measure_rates(context):
    context.peer("Percy++")
    program, mib, prime_mib, repetitions = (peers.installed("Percy++"), 1, 1, 1) if context.quick else (peers.installed("Percy++"), 1024, 64, 3)
    context.commands += [f"$PIRX_PEER_PERCY {mib} 1 {peers.PERCY_FIELDS['gf2_8']}", f"$PIRX_PEER_PERCY {prime_mib} 1 257"]
    percy = {}
    for field, size in [*((field, mib) for field in peers.PERCY_FIELDS), *((prime, prime_mib) for prime in PAPER_RATES)]:
        runs = [peers.theirs(program, size, 1, peers.PERCY_FIELDS.get(field, field))["plain"] for _ in range(repetitions)]
        middle = sorted(runs)[repetitions // 2]
        percy[field] = middle / (size << 20)
        context.spreads += [max(abs(one / middle - 1) for one in runs)] if repetitions > 1 else []
    found = context.bench("bench/engine/engine_bench", f"--mib={mib}", "--q=1", "--benchmark_min_time=0",
                          only=[f"product/field:{field}" for field in (*peers.PERCY_FIELDS, "w160")], repetitions=repetitions)
    return {"percy": percy, "pirx": {gbench.parts(name)["field"]: one["cpu_time"] / (mib << 20) for name, one in found.items()}}


def show_rates(kept):
    percy, pirx = kept["percy"], kept["pirx"]
    rows = [Row(f"{field}, one query and GB", PAPER_SERVER[field], GB * pirx[field], GB * percy[field] if field in percy else None, "s") for field in pirx]
    ratios = [Row("integers modulo " + (prime if len(prime) < 9 else f"a prime of {int(prime).bit_length()} bits") + f", over {field}", printed, None,
                  percy[prime] / percy[field], "times") for prime, (field, printed) in PAPER_RATES.items()]
    return Result([Table(rows, "Seconds of processor time", "by the paper's text", plain="Percy++, here"),
                   Table(ratios, "How many times slower Percy++ is over a prime field", "by the paper's text", plain="Percy++, here")],
                  "The paper's numbers of section 5 are of Percy++, by NTL for prime fields; so are these, by version 1.0, whose code for w160 does not compile. "
                  "The prime of 1025 bits is the first above 2^1024, so that words have the 1024 bits of the paper's. "
                  "pirx has no fields modulo 257 and 65537, nor of 1024 bits: nothing needs them.")


def show_beyond(kept):
    rows = []
    for plain, bucket in zip(*([r for r in kept["records"] if r["u"] == u] for u in (1, PAPER_BEYOND["u"]))):
        size = plain_bytes(plain)
        beyond = size > kept["memory_mib"] << 20
        rows += [Row(f"{size / GB:.3g} GB, plain", PAPER_SERVER["w160"] * size / GB if not beyond else None, plain["median_s"], unit="s",
                     note=f"{size / GB / plain['median_s']:.3g} GB/s" + ("; larger than memory" if beyond else "")),
                 Row(f"{size / GB:.3g} GB, u = {bucket['u']}: speed-up", PAPER_BEYOND["times"] if beyond else bucket["u"],
                     plain["median_s"] / bucket["median_s"], unit="times", note=f"{bucket['median_s']:.3g} s a query, bucket in memory")]
    return Result([Table(rows, f"One query over w160, each once, database in a file, {kept['memory_mib'] / 1024:.1f} GiB of memory", "by the paper's text")],
                  "By the wall's clock, as a processor waits for the disk: the paper's kink, where a database leaves memory. The paper's speed-up in memory is its "
                  "prediction, u; its 13.5 are at 256 GB, on its disk. The first database was written just before, and the system may still have been writing.")


def clients(context, kind, *names, fields=("w160", "gf2_8")):
    """A record for each field, t and q: milliseconds of pirx and of the same written plainly, for each name."""
    flags = ["--block_bytes=20000", "--rows=200", "--plain_rows=100", "--plain_words=50", "--t=1,16", "--q=1,8"] if context.quick else [
        "--t=1,2,4,8,16", "--q=1,4,8"]
    records = []
    for field in fields:
        only = [f"{name}{plain}/field:{field}" for name in names for plain in ("", "_plain")] + [f"copy/field:{field}/t:1/q:1"]
        found = context.bench(f"{FOLDER}/paper002_clients", "--benchmark_min_time=0", *flags, only=only, repetitions=1 if context.quick else 3)
        word, element = {"w160": (20, 21), "gf2_8": (1, 1)}[field]
        block_bytes, rows = (20_000, 200) if context.quick else (BLOCK_BYTES, ROWS)
        replies = SERVERS * block_bytes // word * element
        copy_ms = next(1e3 * r["real_time"] for name, r in found.items() if name.startswith("copy/"))
        by_case = {}
        for name, r in found.items():
            part = gbench.parts(name)
            if part["kind"] != "copy":
                by_case.setdefault((int(part["t"]), int(part["q"])), {})[part["kind"]] = 1e3 * r["real_time"]
        for (t, q), ms in by_case.items():
            main, *others = names
            # The least that memory allows: the bytes of all messages, at the speed of memcpy in this run.
            roof = copy_ms * (SERVERS * rows * element / replies if main == "query" else 1)
            record = {"kind": kind, "field": field, "servers": SERVERS, "rows": rows, "block_bytes": block_bytes, "t": t, "q": q, "pirx_ms": ms[main], "plain_ms": ms[main + "_plain"],
                      "plain_to_pirx": ms[main + "_plain"] / ms[main], "copy_ms": roof}
            for name in others:
                record |= {f"pirx_{name}_ms": ms[name], f"plain_{name}_ms": ms[name + "_plain"]}
            records.append(record)
    return records


def measure_query(context):
    return clients(context, "query preparation", "query")


def measure_both(context):
    return [clients(context, kind, name, fields=("w160",)) for kind, name in (("query preparation", "query"), ("reconstruction", "blocks"))]


def show_both(kept):
    queries, blocks = ({(r["t"], r["q"]): r for r in records} for records in kept)
    rows = []
    for who, printed in (("pirx_ms", None), ("plain_ms", 2750)):
        t, q = max(queries, key=lambda cell: queries[cell][who] + blocks[cell][who])
        ours, plain = (queries[t, q][of] + blocks[t, q][of] for of in ("pirx_ms", "plain_ms"))
        rows.append(Row(f"t = {t}, q = {q}, the slowest for {'the plain client' if printed else 'pirx'}", printed, ours, plain, "ms"))
    return Result([Table(rows, f"A query and its blocks over w160, {queries[t, q]['rows']} rows, {SERVERS} servers, blocks of {blocks[t, q]['block_bytes']} bytes",
                         "paper, at most", plain="plainly (NTL), here")],
                  f"Of the t and q of Experiments 3 and 4: {sorted({t for t, _ in queries})} and {sorted({q for _, q in queries})}. The paper's bound is that "
                  "of Percy++; the plain client is not Percy++.")


def measure_reconstruction(context):
    bars = {"copy_ms": "copy", "gather_ms": "gather", "decode_ms": "decode", "records_ms": "blocks", "one_liar_ms": "blocks_liar",
            "berlekamp_welch_ms": "blocks_liar_plain"}
    block_bytes = 20_000 if context.quick else 4 << 20
    found = context.bench(f"{FOLDER}/paper002_clients", "--servers=8", "--t=2", "--q=1", f"--block_bytes={block_bytes}", "--benchmark_min_time=0",
                          *(["--plain_words=50"] if context.quick else []), only=[f"{name}/field:gf2_8" for name in bars.values()],
                          repetitions=1 if context.quick else 15)
    decode = {"kind": "decode", "field": "gf2_8", "servers": 8, "threshold": 2, "block_bytes": block_bytes}
    decode |= {key: 1e3 * found[f"{name}/field:gf2_8/t:2/q:1"]["real_time"] for key, name in bars.items()}
    return clients(context, "reconstruction", "blocks", "gather") + [decode]


def show_baseline(records):
    rows = [Row(f"{r['field']}, {plain_bytes(r) / GB:.3g} GB", PAPER_SERVER[r["field"]] * plain_bytes(r) / GB, r["median_s"], unit="s",
                note=f"best {r['min_s']:.3g}, worst {r['max_s']:.3g}") for r in records]
    return Result([Table(rows, "One query to a plain database", paper="by the paper's text")],
                  "The text gives 0.9 s per GB over GF(2^8), 1.36 times that over w160, and over GF(2^16) 1.5 times as long as over w160; the paper's curves have no numbers. Its "
                  "databases go to 256 GB and leave its memory of 48 GB between 32 and 64 GB; that kink has an item of its own, below. That t, q and the number "
                  "of servers do not matter to a server (R^2 = 0.9999997 in the paper) is not measured again: its work does not know them.")


def show_encoded(records):
    rows = [Row(f"{r['field']}, {r['rows'] * r['words'] * {'w160': 20, 'gf2_8': 1}[r['field']] / GB:.3g} GB, u = {r['u']}", r["u"],
                r["speedup_over_u"] * r["u"], unit="times", note=f"{1e3 * r['median_s']:.3g} ms a query; speed-up / u: {r['speedup_over_u']:.2f}")
            for r in sorted(records, key=lambda r: (r["field"], r["rows"], r["u"])) if r["u"] > 1]
    plain, bucket = (max((r for r in records if (r["field"], r["u"]) == ("w160", u)), key=lambda r: r["rows"])
                     for u in (1, max(r["u"] for r in records)))
    u, n, s, t = bucket["u"], plain["rows"], plain["words"], PAPER_QUERY["t"]
    sent = math.ceil(n / u)
    costs = [Row("query: elements to each server", sent, bucket["bucket_bytes"] / s / 20, note="the rows of the bucket here"),
             Row("query: multiplications of the client for each server", (t + 1) * sent, note=f"t = {t}"),
             Row("query: additions of the client for each server", (t - 1) * sent + 1, note=f"t = {t}"),
             Row("server: multiplications", sent * s), Row("server: additions", (sent - 1) * s),
             Row("reply: elements", s, s), Row("reconstruction: multiplications for each reply", 2 * s), Row("reconstruction: additions for each reply", s - 1),
             Row("stored: a bucket, bytes", n * s * 20 / u, bucket["bucket_bytes"], note="a factor u less than the database")]
    return Result([Table(rows, "Speed-up of a u-ary bucket over the plain database", paper="predicted: u"),
                   Table(costs, f"Observation 3 for u = {u}: {n} rows of {s} words of w160", paper="by the paper's formulas", ours="pirx, counted")],
                  "For databases in memory the paper sees its prediction \"almost perfectly\". Its 13.5 times with u = 8 at 256 GB came from a bucket that fits "
                  "into memory where the plain database does not: the next item.")


def client_rows(records, paper, other=""):
    rows = []
    for r in sorted(records, key=lambda r: (r["field"] != "w160", r["t"], r["q"])):
        same = (r["field"], r["t"], r["q"], r["rows"]) == ("w160", paper["t"], paper["q"], ROWS)
        printed = paper["ms"] if same else None
        note = ""
        if r["plain_to_pirx"] < GOAL:
            note = (f"below {GOAL} times. Copying as many bytes as all messages have takes {r['copy_ms']:.3g} ms, "
                    f"so that memory alone allows {r['plain_ms'] / r['copy_ms']:.0f} times; the products' share is not counted")
        if other:
            note = f"taking replies in: {r['pirx_gather_ms']:.3g} ms, plainly {r['plain_gather_ms']:.3g}" + ("; " + note if note else "")
        rows.append(Row(f"{r['field']}, t = {r['t']}, q = {r['q']}", printed, r["pirx_ms"], r["plain_ms"], "ms", note))
    return rows


def show_query(records):
    few = sum(r["plain_to_pirx"] < GOAL for r in records)
    return Result([Table(client_rows(records, PAPER_QUERY), f"{records[0]['rows']} rows, {SERVERS} servers", plain="plainly (NTL; a table of GF(2^8)), here")],
                  f"Our aim was {GOAL} times the plain client; {few} of {len(records)} cells are below it. The paper's curves have no numbers; its text has one for w160, and none for "
                  f"GF(2^8), where only q blocks and {SERVERS} servers need elements of their own. The plain client works value by value on fewer rows, "
                  "and its time is scaled to the rows of the table.")


def show_reconstruction(records):
    cells = [r for r in records if r["kind"] == "reconstruction"]
    decode = next(r for r in records if r["kind"] == "decode")
    few = sum(r["plain_to_pirx"] < GOAL for r in cells)
    bars = [Row(what, None, decode[key], unit="ms") for what, key in (
        ("copying the replies", "copy_ms"), ("taking them in", "gather_ms"), ("decoding", "decode_ms"), ("with the records cut out", "records_ms"),
        ("the same with one liar", "one_liar_ms"), ("Berlekamp-Welch for every word", "berlekamp_welch_ms"))]
    return Result([Table(client_rows(cells, PAPER_RECONSTRUCTION, "gather"), f"q blocks of {cells[0]['block_bytes']} bytes from {SERVERS} replies, all compared",
                         plain="plainly (NTL; a table of GF(2^8)), here"),
                   Table(bars, f"gf2_8, a block of {decode['block_bytes']} bytes, 8 replies, degree 2")],
                  f"{few} of {len(cells)} cells are below {GOAL} times the plain client. The paper's 0.8 s is for t = 16, u = q = 8, without saying for how many of "
                  "the blocks. There the plain client takes longer than the paper's, on a newer machine: compare with both.")


def plain_bytes(record):
    return record["median_s"] * record["plain_gb_per_s"] * GB


def band(axes, records, x, key="median_s", low="min_s", high="max_s", scale=1.0, **style):
    records = sorted(records, key=x)
    middle = [r[key] * scale for r in records]
    errors = [[m - r[low] * scale for m, r in zip(middle, records)], [r[high] * scale - m for m, r in zip(middle, records)]]
    axes.errorbar([x(r) for r in records], middle, yerr=errors, capsize=2, markersize=4, **style)


def mark_sizes(axes, sizes):
    sizes = sorted({round(size, 2) for size in sizes})
    axes.set_xticks(sizes)
    axes.set_xticklabels([str(size) for size in sizes])
    axes.minorticks_off()


def draw_baseline(plot, records):
    figure, axes = plot.subplots(figsize=(7, 4.2))
    for color, field in zip(("C0", "C1", "C2"), ("gf2_8", "gf2_16", "w160")):
        found = [r for r in records if r["field"] == field]
        band(axes, found, lambda r: plain_bytes(r) / GB, color=color, marker="o", label=f"{field}, pirx")
        sizes = sorted(plain_bytes(r) / GB for r in found)
        axes.plot(sizes, [PAPER_SERVER[field] * size for size in sizes], "--", color=color, label=f"{field}, the paper's text")
    axes.set(xscale="log", yscale="log", xlabel="GB of database", ylabel="seconds of one core per query")
    mark_sizes(axes, [plain_bytes(r) / GB for r in records])
    axes.legend(fontsize=8)
    return figure


def draw_encoded(plot, records):
    figure, (times, gains) = plot.subplots(1, 2, figsize=(9, 4))
    w160 = [r for r in records if r["field"] == "w160"]
    for u in (1, 2, 4, 6, 8):
        band(times, [r for r in w160 if r["u"] == u], lambda r: r["rows"] * r["words"] * 20 / GB, marker="o", label=f"u = {u}")
    times.set(xscale="log", yscale="log", xlabel="GB of plain database", ylabel="seconds of one core per query", title="w160")
    mark_sizes(times, [plain_bytes(r) / GB for r in w160 if r["u"] == 1])
    times.legend(fontsize=8)
    gains.axhspan(0.95, 1.05, color="0.9", label="5 %")
    for field, marker in (("w160", "o"), ("gf2_8", "s")):
        for color, rows in enumerate(sorted({r["rows"] for r in records if r["field"] == field})):
            found = [r for r in records if r["field"] == field and r["rows"] == rows]
            gains.plot([r["u"] for r in found], [r["speedup_over_u"] for r in found], marker=marker, color=f"C{color}", markersize=4,
                       linewidth=0.8, label=f"{field}, {found[0]['rows'] * found[0]['words'] * {'w160': 20, 'gf2_8': 1}[field] / GB:.2f} GB")
    gains.set(xlabel="u", ylabel="speed-up / u", ylim=(0.7, 1.3))
    gains.legend(fontsize=7)
    return figure


def draw_clients(axes, records, field, scale_note):
    for color, q in zip(("C0", "C1", "C2"), (1, 4, 8)):
        found = sorted((r for r in records if r.get("field") == field and r.get("q") == q), key=lambda r: r["t"])
        t = [r["t"] for r in found]
        axes.plot(t, [r["pirx_ms"] for r in found], "o-", color=color, markersize=4, label=f"pirx, q = {q}")
        axes.plot(t, [r["plain_ms"] for r in found], "s--", color=color, markersize=4, label=f"{scale_note}, q = {q}")
    axes.set(xscale="log", yscale="log", xlabel="t", ylabel="milliseconds of one core", title=field)
    axes.set_xticks([1, 2, 4, 8, 16])
    axes.set_xticklabels(["1", "2", "4", "8", "16"])
    axes.minorticks_off()


def draw_query(plot, records):
    figure, (left, right) = plot.subplots(1, 2, figsize=(9, 4.2))
    draw_clients(left, records, "w160", "plainly, NTL")
    left.plot([PAPER_QUERY["t"]], [PAPER_QUERY["ms"]], "k*", label="the paper's text, q = 8")
    draw_clients(right, records, "gf2_8", "plainly, table")
    for axes in (left, right):
        axes.legend(fontsize=7)
    return figure


def draw_reconstruction(plot, records):
    figure, (left, middle, right) = plot.subplots(1, 3, figsize=(12, 4.2))
    clients = [r for r in records if r["kind"] == "reconstruction"]
    draw_clients(left, clients, "w160", "plainly, NTL")
    left.plot([PAPER_RECONSTRUCTION["t"]], [PAPER_RECONSTRUCTION["ms"]], "k*", label="the paper's text")
    draw_clients(middle, clients, "gf2_8", "plainly, table")
    for axes in (left, middle):
        axes.legend(fontsize=7)
    decode = next(r for r in records if r["kind"] == "decode")
    bars = {"copy the\nreplies": decode["copy_ms"], "decode": decode["decode_ms"], "with\nrecords": decode["records_ms"],
            "one liar,\nwith records": decode["one_liar_ms"], "Berlekamp-\nWelch": decode["berlekamp_welch_ms"]}
    right.bar(list(bars), list(bars.values()), color="C0")
    for at, value in enumerate(bars.values()):
        right.text(at, value, f"{value:.3g}", ha="center", va="bottom", fontsize=8)
    right.set(yscale="log", ylabel="milliseconds", title=f"gf2_8, block of {decode['block_bytes'] / (1 << 20):.0f} MiB, k = {decode['servers']}, d = {decode['threshold']}")
    right.tick_params(axis="x", labelsize=7)
    return figure


ITEMS = [
    Item("002", "rates", "Section 5: the size of the field in Percy++", measure_rates, show_rates, seconds=60, quick_seconds=3),
    Item("002", "exp1", "Experiment 1: a server and a plain database", measure_baseline, show_baseline, {"": draw_baseline}, seconds=300, quick_seconds=3),
    Item("002", "exp2", "Experiment 2: a server and a u-ary bucket", measure_encoded, show_encoded, {"": draw_encoded}, seconds=500, quick_seconds=3),
    Item("002", "beyond", "Experiments 1 and 2 beyond memory", measure_beyond, show_beyond, seconds=600, quick_seconds=1),
    Item("002", "exp3", "Experiment 3: a client makes a query", measure_query, show_query, {"": draw_query}, seconds=60, quick_seconds=3),
    Item("002", "exp4", "Experiment 4: a client reconstructs blocks", measure_reconstruction, show_reconstruction, {"": draw_reconstruction}, seconds=200,
         quick_seconds=4),
    Item("002", "meta", "Meta-analysis: all that a client computes", measure_both, show_both, seconds=120, quick_seconds=2),
]
