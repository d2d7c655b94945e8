# SPDX-License-Identifier: Apache-2.0
"""Paper 000: Lueks and Goldberg, "Sublinear Scaling for Multi-Client Private Information Retrieval" (2015).

Times are processor times of one core, as the paper's. What the paper shows only as a curve has no number here: its text gives a
few, and these stand beside ours.
"""

import json
import math
import pathlib
import tempfile

import gbench
from peers import peers
from reproduction.item import Item, Result, Row, Table

TITLE = 'Lueks and Goldberg, "Sublinear Scaling for Multi-Client Private Information Retrieval" (2015)'
ENGINE = "bench/engine/engine_bench"
GIB = 1 << 30
AFFINE = "vgf2p8affineqb_512"
RE_CREATION = ("**Baseline.** The look-up is a re-creation of the authors' loops by their description: a table of all products, 8 bytes of the database at a "
               "time (`bench/engine/table.cc`). Percy++ itself is in the section after Figure 4.")


def point(found, q, mib):
    """Processor seconds for a query and GiB, with best and worst."""
    scale = 1024 / mib / q
    return {"q": q, "s": found["cpu_time"] * scale, "best": found["cpu_best"] * scale, "most": found["cpu_most"] * scale, "samples": found["samples"]}


def levels(number):
    return f"{number} level" + ("s" if number != 1 else "")


def spread(p):
    return f"best {p['best']:.3g}, worst {p['most']:.3g} of {p['samples']}" if p["samples"] > 1 else "one sample"


def errorbar(axes, x, points, label, **style):
    y = [p["s"] for p in points]
    bars = [[p["s"] - p["best"] for p in points], [p["most"] - p["s"] for p in points]]
    axes.errorbar([p[x] for p in points], y, yerr=bars, label=label, capsize=2, markersize=4, **style)


# --- Figure 2: levels of Strassen

DEPTHS = tuple(range(7))
LAYOUTS = {"portable": "portable byte kernel, rows", "rows": "best kernel, rows", "planes": "best kernel, planes, levels stored"}


def run_depths(context):
    mib, queries = (4, (16,)) if context.quick else (1024, (64, 128))
    if not context.quick:
        context.need_memory(6, "Figure 2 with 47/16 of 1 GiB stored")
    common = [f"--mib={mib}", "--q=" + ",".join(map(str, queries)), f"--benchmark_min_time={0 if context.quick else 0.3}"]
    depths = "--depths=" + ",".join(map(str, DEPTHS))
    repetitions = 1 if context.quick else 2
    name = "product/field:gf2_8/kernel:"
    runs = {"portable": context.bench(ENGINE, *common, depths, "--stored=rows", "--kernels=all", only=[name + "portable"], repetitions=repetitions),
            "rows": context.bench(ENGINE, *common, depths, "--stored=rows", only=[name + "[a-z0-9]+"], repetitions=repetitions),
            "planes": context.bench(ENGINE, *common, "--stored=0,1,2", only=[name + "[a-z0-9]+/q:[0-9]+/depth:auto"], repetitions=repetitions)}
    data = {"mib": mib, "points": []}
    for layout, found in runs.items():
        for title, one in found.items():
            part = gbench.parts(title)
            depth = int(part["stored"] if layout == "planes" else part["depth"])
            data["points"].append(point(one, int(part["q"]), mib) | {"layout": layout, "kernel": part["kernel"], "depth": depth})
    return data


def series(data, layout, q):
    return sorted((p for p in data["points"] if p["layout"] == layout and p["q"] == q), key=lambda p: p["depth"])


def queries_of(data):
    return sorted({p["q"] for p in data["points"]})


def show_depths(data):
    fastest, times = [], []
    for layout, title in LAYOUTS.items():
        for q in queries_of(data):
            points = series(data, layout, q)
            if not points:
                continue
            best = min(points, key=lambda p: p["s"])
            paper = {64: 5, 128: 6}.get(q) if layout == "portable" else None
            fastest.append(Row(f"{title} ({best['kernel']}), q = {q}", paper, best["depth"], unit="levels",
                               note="the paper: all possible levels but the last" if paper else ""))
            times += [Row(f"{title}, q = {q}, {levels(p['depth'])}", None, p["s"], points[0]["s"], "s",
                          spread(p)) for p in points]
    return Result([Table(fastest, "The fastest number of levels"),
                   Table(times, f"Seconds of processor time for a query and GiB, {data['mib']} MiB", plain="without levels, here")],
                  "The paper prints no times beside its curves. Its byte kernel gains by every level but the last. A level saves an eighth of the products and "
                  "adds sums, so it pays where products are slow beside sums. Planes hold the sums of the database ready, at 1.75 and 2.94 times its memory.")


def draw_depths(plot, data):
    layouts = [layout for layout in LAYOUTS if any(p["layout"] == layout for p in data["points"])]
    figure, panels = plot.subplots(1, len(layouts), figsize=(10, 3.6), squeeze=False)
    for axes, layout in zip(panels[0], layouts):
        for q, marker in zip(queries_of(data), "so"):
            errorbar(axes, "depth", series(data, layout, q), f"q = {q}", marker=marker)
        kernel = next(p["kernel"] for p in data["points"] if p["layout"] == layout)
        axes.set(title=f"{LAYOUTS[layout]}\n{kernel}, {data['mib']} MiB", xlabel="Strassen levels")
        axes.set_ylim(bottom=0)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend()
    panels[0][0].set_ylabel("CPU seconds per query and GiB")
    return figure


# --- Figures 3 and 4: against the number of queries

LONGEST = 600  # seconds of one product by look-up
TABLE_QUERIES = (1, 2, 3, 4, 8, 16, 32, 64, 128, 256)
ENGINE_QUERIES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512)


def authors_depth(q):
    """All levels but the last, and none for few queries (section 5.2)."""
    return int(math.log2(q)) - 1 if q >= 8 else 0


def table_case(q, depth):
    return f"table/q:{q}" + (f"/depth:{depth}" if depth else "")


def run_queries(context, mib, quick_mib, most_table):
    """`most_table`: queries of the look-ups that are repeated; more take minutes each and run once."""
    if context.quick:
        mib = quick_mib
    else:
        context.need_memory(2.3 * mib / 1024, f"a database of {mib} MiB with its planes")
    most = 16 if context.quick else 256
    queries = [q for q in TABLE_QUERIES if q <= most]
    common = [f"--mib={mib}", f"--benchmark_min_time={0 if context.quick else 0.3}"]
    data = {"mib": mib, "table": [], "strassen": [], "engine": [], "peak_mib": {}}

    def tables(cases, repetitions):
        flags = ["--peers=" + ",".join(str(q) for q in queries if any(q == one for one, _ in cases)),
                 "--peer_depths=" + ",".join(str(d) for d in sorted({depth for _, depth in cases}))]
        found = context.bench(ENGINE, *common, *flags, only=[table_case(q, depth) + "/real_time" for q, depth in cases], repetitions=repetitions)
        for q, depth in cases:
            one = found[table_case(q, depth)]
            data["strassen" if depth else "table"].append(point(one, q, mib) | {"depth": depth})
            data["peak_mib"]["strassen" if depth else "table"] = one["peak_mib"]

    alone = [q for q in queries if q > most_table or q == most]
    tables([(q, depth) for q in queries if q not in alone for depth in sorted({0, authors_depth(q)})], 1 if context.quick else 2)
    for q in alone:  # in processes of their own, for their memory
        seconds = data["table"][-1]["s"] * q * mib / 1024
        if seconds > LONGEST:
            most = data["table"][-1]["q"]
            context.note(f"the look-up for more than {most} queries: one product of {q} would take {seconds / 60:.0f} minutes")
            break
        for depth in (0, authors_depth(q)):
            tables([(q, depth)], 2 if q <= most_table and not context.quick else 1)
    data["most"] = most

    engine = [q for q in ENGINE_QUERIES if q <= 2 * most]
    name = "product/field:gf2_8"
    found = context.bench(ENGINE, *common, "--q=" + ",".join(map(str, engine)), only=[name, "memory", "rate/instruction:" + AFFINE],
                          repetitions=1 if context.quick else 3)
    for title, one in found.items():
        part = gbench.parts(title)
        if part["kind"] == "product":
            data["engine"].append(point(one, int(part["q"]), mib) | {"plan": one.get("label", "")})
            data["kernel"] = part["kernel"]
        elif part["kind"] == "memory":
            data["read_gb_per_s"] = one["gb_per_s"]
        elif part["kind"] == "rate":
            data["affine_per_s"] = one["per_second"]
    (alone,) = context.bench(ENGINE, *common, f"--q={most}", only=[name]).values()
    data["peak_mib"]["engine"] = alone["peak_mib"]
    return data


def by_q(points):
    return {p["q"]: p for p in points}


def show_queries(paper_mib):
    """`paper_mib`: the paper's peaks of memory, plain and with Strassen."""
    def show(data):
        table, strassen, engine = by_q(data["table"]), by_q(data["strassen"]), by_q(data["engine"])
        most, fastest = data["most"], min(p["s"] for p in data["table"])
        full = most == 256
        authors = [
            Row(f"plain / Strassen, q = {most}", 4.4 if full and paper_mib[0] == 1060 else None, table[most]["s"] / strassen[most]["s"], unit="times",
                note=f"plain at q = {most} takes {table[most]['s'] / fastest:.2f} times the fastest plain query; the authors' slowed down considerably"),
            Row(f"Strassen at q = {most} / the fastest plain query", f"{0.875**math.log2(most):.3g} is the bound", strassen[most]["s"] / fastest,
                note="(7/8)^log2(q); the last level is skipped"),
            Row("queries from which Strassen has fewer additions", "about 165", (8 / 3) ** (1 / math.log2(8 / 7)), note="8/3 (7/8)^log2(q) = 1"),
            Row("peak memory, Strassen / plain", "at most 4/3", data["peak_mib"]["strassen"] / data["peak_mib"]["table"],
                note=f"the paper's figure: {paper_mib[1] / paper_mib[0]:.3f}"),
            Row(f"peak memory, plain, q = {most}", paper_mib[0] if full else None, data["peak_mib"]["table"], unit="MiB"),
            Row(f"peak memory, Strassen, q = {most}", paper_mib[1] if full else None, data["peak_mib"]["strassen"], unit="MiB"),
        ]
        times = []
        for q in sorted(table):
            times.append(Row(f"q = {q}, plain look-up", "about 1 (section 1)" if q == 1 else None, engine[q]["s"], table[q]["s"], "s",
                             f"look-up {spread(table[q])}; pirx {spread(engine[q])}"))
            if q in strassen:
                times.append(Row(f"q = {q}, look-up with {levels(strassen[q]['depth'])} of Strassen", None, engine[q]["s"], strassen[q]["s"], "s",
                                 spread(strassen[q])))
        times.append(Row(f"peak memory, q = {most}", None, data["peak_mib"]["engine"], data["peak_mib"]["table"], "MiB",
                         "pirx: the rows and their planes; a server that maps its file holds less"))
        return Result([Table(authors, "The authors' two ways", ours="re-creation, here"),
                       Table(times, f"Seconds of processor time for a query and GiB, {data['mib']} MiB", plain="look-up, here", ours=f"pirx, {data['kernel']}")],
                      RE_CREATION + " The paper says that its Strassen comes quite close to the bound of 0.344; with the last level skipped the bound is 0.393.")
    return show


def draw_queries(plot, data):
    figure, axes = plot.subplots(figsize=(8, 4.8))
    errorbar(axes, "q", data["table"], "table look-up, plain (re-creation)", marker="s")
    errorbar(axes, "q", data["strassen"], "table look-up with Strassen (re-creation)", marker="^")
    errorbar(axes, "q", sorted(data["engine"], key=lambda p: p["q"]), f"pirx, kernel {data['kernel']}", marker="o")
    queries = sorted({p["q"] for p in data["engine"]})
    fastest = min(p["s"] for p in data["table"])
    axes.plot(queries, [fastest * 0.875 ** math.log2(q) for q in queries], "--", color="gray", label="the paper's bound: (7/8)^log2(q) of the fastest plain query")
    if data["mib"] >= 1024 and data["most"] == 256:
        plain = by_q(data["table"])[256]["s"]
        axes.plot([256], [plain / 4.4], "*", color="black", markersize=10, label="the paper's 4.4 times, from the plain look-up here")
    if "affine_per_s" in data and data["kernel"] == "gfni512":
        read = data["read_gb_per_s"] * 1e9
        axes.plot(queries, [max(GIB * 24 / 4096 / data["affine_per_s"], GIB / read / q) for q in queries], ":", color="black",
                  label="roof: one pass over memory, or 24 affine products")
    axes.set(xscale="log", yscale="log", xlabel="queries at a time", ylabel="CPU seconds per query and GiB", title=f"{data['mib']} MiB, GF(2^8)")
    axes.set_xticks([q for q in queries if q & (q - 1) == 0])
    axes.set_xticklabels([str(q) for q in queries if q & (q - 1) == 0])
    axes.minorticks_off()
    axes.legend()
    return figure


# --- Tables 1 and 2

CORRECTIONS = {
    1: "The paper prints formulas; the column has their values for some parameters. **Correction.** The subset code serves q = 2^w blocks in different sets with its own recovery sets. Blocks that fall on the same set also need affine "
       "flats (characteristic two), and no fifth block fits w = 2, l = 4 or 5: \">=\" is no spare room.",
    2: "Counts are slopes in r: terms without r are not shown, and additions of query vectors are not counted. **Correction.** The paper's additions of the "
       "subcube code, (l^2-1)/l q^lg((l+1)/l), come out of no way to count: with the sums kept it is ((l+1)/l)^k, formed anew l ((l+1)/l)^k - (l-1).",
}


def run_table(number):
    def run(context):
        program = "bench/paper000/paper000_tables"
        context.need_programs(program)
        counted = context.script(context.build_dir / program, "--json")
        return [row for row in map(json.loads, counted.splitlines()) if row["table"] == number]
    return run


def show_table(rows):
    out = [Row(f"{row['scheme']}: {row['what']}", None if "planned" in row["what"] else row["paper"], row["counted"], note=row["note"]) for row in rows]
    return Result([Table(out, ours="counted, here")], CORRECTIONS[rows[0]["table"]])


# --- Section 4.3 and 5: Certificate Transparency

def run_ct(context):
    mib = 16 if context.quick else 4096
    if not context.quick:
        context.need_memory(9, "a database of 4 GiB with its planes")
    found = context.bench(ENGINE, f"--mib={mib}", "--q=1,256", "--benchmark_min_time=0", only=["product/field:gf2_8"], repetitions=1 if context.quick else 3)
    side = math.isqrt(mib << 20)
    return {"mib": mib, "block_bytes": side, "points": [point(one, int(gbench.parts(name)["q"]), mib) for name, one in found.items()]}


def show_ct(data):
    points, gib = by_q(data["points"]), data["mib"] / 1024
    proofs, hashes = 2**22, 22
    rows = [Row("valid certificates", "2^22", proofs), Row("a proof", "32 l = 704", 32 * hashes, unit="bytes"),
            Row("proofs together", "about 3", 32 * hashes * proofs / GIB, unit="GiB", note="0.7 * 2^32 bytes are 2.75 GiB"),
            Row("database of the cost below", 4, gib, unit="GiB", note="" if gib == 4 else "a quick size")]
    rows += [Row(f"a query, {q} at a time", None, p["s"] * gib, unit="CPU s", note=f"best {p['best'] * gib:.3g}, worst {p['most'] * gib:.3g} of {p['samples']}")
             for q, p in sorted(points.items())]
    rows += [Row("a pass of 256 queries", None, points[256]["s"] * gib * 256, unit="CPU s", note="the latency that batching adds, on one core"),
             Row("a query to one server", "one block", data["block_bytes"] / 1024, unit="KiB"),
             Row("its answer", "one block", data["block_bytes"] / 1024, unit="KiB", note="65536 blocks of 65536 bytes at 4 GiB")]
    return Result([Table(rows)], "The paper gives no times in its text for 4 GiB; Figure 4 has its curve.")


def run_log(context):
    """A log's own database of proofs, of 4 GiB, asked through the service: bench/service/figure4."""
    context.need_programs("tools/pirx/pirx", "examples/ct/ct-log", "examples/ct/ct-audit")
    if not context.quick:
        context.need_memory(9, "a log of 4 GiB with its planes")
    leaves, clients, seconds = (1 << 10, (1, 4), 0.2) if context.quick else (5592405, (1, 16, 256), 4)
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        context.script("bench/service/figure4", "--build-dir", context.build_dir, "--leaves", leaves, "--clients", *clients, "--seconds", seconds,
                       "--json", report)
        return json.loads(report.read_text())


def show_log(kept):
    gib = kept["database_bytes"] / GIB
    rows = [Row("leaves of the log", "2^22", kept["leaves"], note="more, so that the database has the 4 GiB of Figure 4" if gib > 1 else "a quick size"),
            Row("its database of proofs", 4 if gib > 1 else None, gib, unit="GiB")]
    rows += [Row(f"an audit, {p['batch_of_an_audit']:.0f} in a pass", None, p["engine_core_ms"] / 1e3, unit="CPU s",
                 note=f"{p['server_cpu_ms'] / 1e3:.3g} of the whole server; {p['audits_a_second']:.3g} audits a second") for p in kept["points"]]
    return Result([Table(rows)], "One certificate of the log was audited through two servers, with a proof that verified, before anything was timed.")


# --- Percy++ itself, where it is

def run_percy(context):
    context.peer("Percy++")
    kept = []
    for field, queries in (("gf2_8", 256), ("gf2_16", 64)):
        mib, queries = (4, 16) if context.quick else (1024, queries)
        context.commands.append(f"bench/peers/report --mib {mib} --queries {queries} --field {field}")
        ways = peers.in_turns(context.build_dir, "Percy++", mib, queries, 1 if context.quick else 3, field)
        kept.append({"field": field, "mib": mib, "queries": queries, "ways": ways})
        context.spreads += [] if context.quick else [apart for _, _, apart in ways]
    return kept


def show_percy(kept):
    tables = []
    for case in kept:
        *theirs, (ours, seconds, _) = case["ways"]
        scale = 1024 / case["mib"] / case["queries"]
        rows = [Row(f"{way}, q = {case['queries']}", None, seconds * scale, took * scale, "s") for way, took, _ in theirs]
        tables.append(Table(rows, f"{case['field']}: seconds of processor time for a query and GiB, {case['mib']} MiB", plain="Percy++, here", ours=ours))
    return Result(tables, "On one core. How Percy++ was built is in `bench/peers/README.md`.")


ITEMS = [
    Item("000", "table1", "Table 1: batch codes", run_table(1), show_table, seconds=1, quick_seconds=1),
    Item("000", "table2", "Table 2: multi-query schemes, counted", run_table(2), show_table, seconds=1, quick_seconds=1),
    Item("000", "fig2", "Figure 2: levels of Strassen", run_depths, show_depths, {"": draw_depths}, seconds=900, quick_seconds=2),
    Item("000", "fig3", "Figure 3: time per query at 1 GiB", lambda context: run_queries(context, 1024, 4, 256), show_queries((1060, 1422)),
         {"": draw_queries}, seconds=600, quick_seconds=2),
    Item("000", "fig4", "Figure 4: time per query at 4 GiB", lambda context: run_queries(context, 4096, 16, 64), show_queries((4148, 5556)),
         {"": draw_queries}, seconds=1800, quick_seconds=4),
    Item("000", "percy", "Percy++ beside pirx", run_percy, show_percy, seconds=900, quick_seconds=1),
    Item("000", "ct", "Sections 4.3 and 5.2: proofs of Certificate Transparency at 4 GiB", run_ct, show_ct, seconds=60, quick_seconds=2),
    Item("000", "ctlog", "The same end to end, by the service", run_log, show_log, seconds=600, quick_seconds=4),
]
