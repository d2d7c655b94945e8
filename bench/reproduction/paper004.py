# SPDX-License-Identifier: Apache-2.0
"""Paper 004: Sion and Carbunar, "On the Computational Practicality of Private Information Retrieval" (2007)."""

import datetime
import math

from planner import paper_figures
from reproduction.item import Item, Result, Row, Table

TITLE = 'Sion and Carbunar, "On the Computational Practicality of Private Information Retrieval" (2007)'
PROGRAM = "bench/paper004/paper004_qr"
# Figure 1: bits of N by the first year in which they are recommended. The paper gives 1024 to 1536 from 2000 on.
KEY_SIZES = {1995: 768, 2000: 1024, 2011: 2048, 2030: 3072}
PRINTED_SIZES = {2000: "1024 to 1536"}
# Figure 2: MIPS; Mbit/s of home links, of Ethernet, and between sites.
MIPS = {1995: 200, 1997: 300, 1998: 400, 1999: 744, 2000: 1500, 2001: 2500, 2005: 15000, 2006: 25000}
LINKS = {"home": {1995: .028, 1997: .056, 1999: .768, 2001: 1.0, 2005: 4.0, 2006: 6.0},
         "Ethernet": {1995: 10, 1997: 100, 1999: 1000, 2005: 10000, 2006: 10000},
         "between sites": {1995: .256, 1997: .768, 1998: 1.0, 1999: 10, 2001: 100, 2005: 1000, 2006: 1500}}
PENTIUM_4 = 1 / .273e6  # seconds of a multiplication modulo 1024 bits, measured by the authors
NO_FORMULA = "computed from formulas"


def key_bits(year):
    """The paper plots 768 bits before 1997."""
    return 768 if year < 1997 else max(bits for first, bits in KEY_SIZES.items() if first <= max(year, 2000))


def t_mul(year):
    """Seconds: equation (2), with the MIPS of Figure 2 up to 2005 and then 100 times as many every ten years."""
    mips = MIPS[year] if year in MIPS and year <= 2005 else MIPS[2005] * 100 ** ((year - 2005) / 10)
    return paper_figures.multiplication_seconds(key_bits(year), 1e6 * mips)


def t_t(link, year):
    """Seconds a bit: Figure 2 up to 2005, then 57 times the bandwidth every ten years."""
    mbit = LINKS[link][year] if year in LINKS[link] and year <= 2005 else LINKS[link][2005] * 57 ** ((year - 2005) / 10)
    return 1e-6 / mbit


def bench(context, *flags, only, repetitions):
    """paper004_qr, once and shortly if the run is a quick one."""
    quick = ["--benchmark_min_time=0.01"] if context.quick else []
    return context.bench(PROGRAM, *flags, *quick, only=only, repetitions=1 if context.quick else repetitions)


def measure_t_mul(context):
    """Seconds of one multiplication on this machine, by bits of N and kind of reduction."""
    times = {}
    for bits in (1024,) if context.quick else (1024, 2048, 3072):
        found = bench(context, f"--modulus={bits}", "--bytes=2000", "--slice=8", "--two_levels=16", only=["t_mul"], repetitions=5)
        for name, one in found.items():
            times.setdefault(str(bits), {})[name.rsplit(":", 1)[1]] = one["cpu_time"]
    return {"year": datetime.date.today().year, "t_mul": times}


def today(data):
    """(Bits of N, seconds of a multiplication): the largest N measured that today's recommendation asks for."""
    bits = max((int(bits) for bits in data["t_mul"] if int(bits) <= key_bits(data["year"])), default=1024)
    return bits, min(data["t_mul"][str(bits)].values())


def run_formulas(context):
    """Nothing measured: figures 1 and 2 are tables of the paper."""
    return [figure._asdict() for figure in paper_figures.practicality()]


def show_formulas(data):
    sizes = [Row(f"from {year} on", PRINTED_SIZES.get(year, bits), None, unit="bits", note="printed") for year, bits in KEY_SIZES.items()]
    averages = [Row(f"{year}: {what}", value, None, unit=unit, note="printed")
                for what, unit, values in (("MIPS", "MIPS", MIPS), *((link, "Mbit/s", mbit) for link, mbit in LINKS.items()))
                for year, value in values.items()]
    numbers = [Row(f"{one['table']}, {one['row']}: {one['column']}", one["printed"], one["computed"], unit=one["unit"], note=one["remark"]) for one in data]
    m, k = 1024 / 5, 1024
    n = 8e7
    digits = (m * m + 7 * m) / (m * m)
    transfer, queries = 1 / 1e7, 2 * math.sqrt(n) * k / 1e7
    equations = [
        Row("(1): digit multiplications m^2 + 7 m, over m^2 of (2)", None, digits, note="1024 bits in digits of 5 bits; additions and memory left out"),
        Row("(2): t_mul at 11000 MIPS", 1e9 / .275e6, 1e9 * paper_figures.multiplication_seconds(k, 11e9), unit="ns", note="printed as 0.275 million a second"),
        Row("(2): multiplications a second at 7500 MIPS, the most that a Pentium M is rated at", 189e3, 1 / paper_figures.multiplication_seconds(k, 7.5e9),
            note="the printed number needs 7930 MIPS; 0.197 million were measured by the authors"),
        Row("(3): T_pir of 10 MB at 10 Mbit/s, t_mul measured by the authors", None, n * PENTIUM_4 + queries, unit="s",
            note="without t_qrv, which the paper does not print"),
        Row("(3): of which communication", None, queries, unit="s"),
        Row("(3): T_trans of 10 MB at 10 Mbit/s", None, n * transfer, unit="s"),
        Row("(4): t_mul - 1 / B at 10 Mbit/s", 3600, 1e9 * (PENTIUM_4 - transfer), unit="ns", note="the paper: 3700 less 100. Above 0: a download is faster")]
    return Result([Table(sizes, title="Figure 1: bits of N"), Table(averages, title="Figure 2: what computers and links had"),
                   Table(equations, title="Equations (1) to (4)", ours=NO_FORMULA), Table(numbers, title="What the text says", ours=NO_FORMULA)])


def show_times(years, data):
    rows = [Row(f"{year}: t_mul / t_t, {link}", None, t_mul(year) / t_t(link, year), note=f"{key_bits(year)} bits") for year in years for link in LINKS
            if year > 2005 or year in LINKS[link]]
    bits, seconds = today(data)
    points = [Row(f"{data['year']}: t_mul, {name} bits, ours by Montgomery's reduction", 3700 if name == "1024" else None, 1e9 * one["montgomery"],
                  1e9 * one["division"], "ns", "the paper's is of 2006, section 3.2" if name == "1024" else "") for name, one in data["t_mul"].items()]
    points += [Row(f"{data['year']}: t_mul / t_t, {link} as predicted for this year", None, seconds / t_t(link, data["year"]), note=f"{bits} bits, measured t_mul")
               for link in LINKS]
    return rows, points


def show_past(data):
    rows, points = show_times([year for year in MIPS if year <= 2005], data)
    return Result([Table(rows, title="Up to 2005, by equation (2) and Figure 2", ours=NO_FORMULA),
                   Table(points, title="This machine, one core", plain="by division, here")],
                  "The paper prints no values: \"one order of magnitude\" on a home link and \"two orders\" on a fast one. Above 1, a download is faster than one "
                  "multiplication for every bit. Section 3.2 measures 3700 ns on a Pentium 4.")


def show_future(data):
    rows, points = show_times([2005, 2015, 2025, 2035], data)
    return Result([Table(rows, title="Predicted: MIPS grow by 100 and links by 57 in ten years", ours=NO_FORMULA),
                   Table(points, title="This machine, one core", plain="by division, here")],
                  "Figure 5 of the paper; N has the bits of Figure 1. The point of this machine is measured, not predicted.")


def draw_times(years):
    def draw(plot, data):
        figure, axes = plot.subplots(figsize=(8, 4.6))
        axes.plot(years, [t_mul(year) for year in years], "ko-", markersize=3, label="t_mul, by equation (2)")
        for link in LINKS:
            known = [year for year in years if year > 2005 or year in LINKS[link]]
            axes.plot(known, [t_t(link, year) for year in known], "--", marker=".", label=f"a bit, {link}")
        bits, seconds = today(data)
        axes.plot([data["year"]], [seconds], "r*", markersize=11, label=f"this machine, {bits} bits")
        axes.plot([2006], [PENTIUM_4], "k^", label="Pentium 4, 1024 bits (section 3.2)")
        axes.set(yscale="log", xlabel="year", ylabel="seconds")
        axes.legend()
        return figure
    return draw


# --- Figure 4: thresholds

SIZES = {"1 MB": 8e6, "10 MB": 8e7}
PRINTED = {"1 MB": 70, "10 MB": 210}


def thresholds(multiplication):
    """kbit/s below which a query is faster than a download, without and with communication counted."""
    return {"": 1e-3 / multiplication, **{size: 1e-3 * paper_figures.break_even_bandwidth(n, 1024, multiplication) for size, n in SIZES.items()}}


def run_thresholds(context):
    data = measure_t_mul(context)
    # The whole server of the library, so that its time for a bit can stand in the place of t_mul.
    sizes = (("20 KB", 20_000),) if context.quick else (("1 MB", 1_000_000), ("10 MB", 10_000_000))
    data["server"] = {}
    for name, size in sizes:
        found = bench(context, f"--bytes={size}", "--two_levels=16", only=["server"], repetitions=3)
        data["server"][name] = {"bytes": size, "seconds": {kernel.split("/")[1]: one["cpu_time"] for kernel, one in found.items()}}
    return data


def show_thresholds(data):
    theirs, ours = thresholds(PENTIUM_4), thresholds(data["t_mul"]["1024"]["montgomery"])
    rows = [Row("no communication counted", 300, theirs[""], unit="kbit/s", note="rounded up")]
    rows += [Row(size, PRINTED[size], theirs[size], unit="kbit/s",
                 note="both directions counted; for 1 MB the paper's figure does not follow from its t_mul" if size == "1 MB" else "") for size in SIZES]
    here = [Row(size or "no communication counted", None, ours[size], unit="kbit/s") for size in ours]
    library = []
    for name, one in data["server"].items():
        n, (kernel, seconds) = 8 * one["bytes"], min(one["seconds"].items(), key=lambda pair: pair[1])
        share = 1 - 2 * 1024 / math.sqrt(n)
        library.append(Row(f"{name}, kernel {kernel}: server", None, seconds, unit="s"))
        library.append(Row(f"{name}, kernel {kernel}: threshold", None, 1e-3 * n * share / seconds if share > 0 else "none", unit="kbit/s",
                           note="" if share > 0 else "query and reply are longer than the database"))
    return Result([Table(rows, title="Figure 4: below these bandwidths a query is faster than a download, t_mul of the Pentium 4", ours=NO_FORMULA),
                   Table(here, title="The same by t_mul of this machine (GMP, Montgomery's reduction, one core)", ours="this machine"),
                   Table(library, title="By the library's server instead of one multiplication for every bit")],
                  "1024 bits, as in the paper: such keys can be broken today.")


def draw_thresholds(plot, data):
    figure, axes = plot.subplots(figsize=(8, 4.8))
    kbit = [10 ** (1 + i / 20) for i in range(61)]
    for color, (size, n) in zip(("C0", "C1"), SIZES.items()):
        axes.plot(kbit, [n / (1e3 * b) for b in kbit], color=color, label=f"{size}: download")
        for what, multiplication, style in (("Pentium 4", PENTIUM_4, "--"), ("this machine", data["t_mul"]["1024"]["montgomery"], ":")):
            axes.plot(kbit, [n * multiplication + 2 * math.sqrt(n) * 1024 / (1e3 * b) for b in kbit], style, color=color, label=f"{size}: query, {what}")
            axes.axvline(thresholds(multiplication)[size], color=color, linestyle=style, linewidth=0.6)
    axes.axvline(1e-3 / PENTIUM_4, color="0.6", linewidth=0.8, label="threshold without communication, Pentium 4")
    axes.set(xscale="log", yscale="log", xlabel="kbit/s", ylabel="seconds")
    axes.legend(fontsize=7)
    return figure


# --- Quadratic residuosity, one and two levels

def run_protocol(context):
    cases = (("20 KB", 20_000, 1024),) if context.quick else (("10 MB", 10_000_000, 1024), ("1 MB", 1_000_000, 2048), ("1 MB", 1_000_000, 3072))
    out = []
    for name, size, bits in cases:
        side = 16 if context.quick else 1024
        only = ["server", "plain", "client", *(["two_levels"] if bits == 1024 else [])]
        found = bench(context, f"--bytes={size}", f"--modulus={bits}", f"--two_levels={side}", *(["--slice=16"] if context.quick else []), only=only,
                      repetitions=3)
        out.append({"database": name, "bits": bits, "side": side,
                    "found": {key: {"seconds": one["cpu_time"], **{c: one[c] for c in ("share", "up", "down", "bytes", "multiplications_1", "multiplications_2")
                                                                   if c in one}} for key, one in found.items()}})
    return out


def show_protocol(data):
    rows, levels = [], []
    for case in data:
        found = case["found"]
        plain = {name.split("/", 1)[1]: one["seconds"] / one["share"] for name, one in found.items() if name.startswith("plain/")}
        for name, one in found.items():
            if name.startswith("server/"):
                rows.append(Row(f"{case['database']}, {case['bits']} bits, kernel {name.split('/')[1]}", None, one["seconds"],
                                plain["one_per_bit/by:montgomery"], "s",
                                f"beside division {plain['one_per_bit/by:division'] / one['seconds']:.1f} times; beside a multiplication for ones only "
                                f"{plain['ones_only/by:montgomery'] / one['seconds']:.1f} times"))
        for name, one in found.items():
            if name.startswith("two_levels"):
                n = case["side"] ** 2
                levels += [Row(f"{n} bits: server, two levels", None, one["seconds"], unit="s"),
                           Row("multiplications, one level", None, one["multiplications_1"]),
                           Row("multiplications, both levels", None, one["multiplications_1"] + one["multiplications_2"]),
                           Row("up, one level", None, (case["side"] + 1) * case["bits"] / 8, unit="B"),
                           Row("up, both levels", None, one["up"], unit="B"),
                           Row("down, one level", None, case["side"] * case["bits"] / 8, unit="B"),
                           Row("down, both levels", None, one["down"], unit="B", note="every number of a row of the second matrix comes bit by bit")]
    return Result([Table(rows, title="Server, one level", plain="one multiplication a bit, GMP, Montgomery"),
                   Table(levels, title="Kushilevitz and Ostrovsky's second level, written plainly", ours="here")],
                  "Montgomery's reduction is what the authors' GMP used. The plain server is measured on a slice of the columns and scaled. Two levels give one "
                  "bit of a square matrix; the answer is decoded and checked. The paper leaves recursion out, as it only adds computation.")


ITEMS = [
    Item("004", "formulas", "Figures 1 and 2, equations (1) to (4), what the text says", run_formulas, show_formulas, seconds=1, quick_seconds=1),
    Item("004", "fig3", "Figure 3: a multiplication and a bit of transfer, 1995 to 2005, and today", measure_t_mul, show_past,
         {"": draw_times(sorted(year for year in MIPS if year <= 2005))}, seconds=30, quick_seconds=1),
    Item("004", "fig4", "Figure 4: bandwidths below which a query is faster than a download", run_thresholds, show_thresholds, {"": draw_thresholds},
         seconds=60, quick_seconds=2),
    Item("004", "fig5", "Figure 5: predictions for 2005 to 2035, and today", measure_t_mul, show_future, {"": draw_times(list(range(2005, 2036, 5)))},
         seconds=30, quick_seconds=1),
    Item("004", "qr", "Quadratic residuosity in one and two levels", run_protocol, show_protocol, seconds=240, quick_seconds=4),
]
