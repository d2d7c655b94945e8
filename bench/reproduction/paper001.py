# SPDX-License-Identifier: Apache-2.0
"""Paper 001: Unal and Savas, "Bandwidth-Optimized Parallel Private Information Retrieval" (2014).

Tables 1, 2 and 7 and the numbers of sections 4.4, 4.5 and 6 follow from formulas (bench/planner/paper_figures.py). Tables 3 to 6
are measured by paper001_tree: the paper's algorithm written plainly over GMP, and pirx's, on the same database and key.
"""

import pathlib
import sys

from reproduction.item import Item, Result, Row, Table

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "planner"))
import paper_figures  # noqa: E402

TITLE = 'Unal and Savas, "Bandwidth-Optimized Parallel Private Information Retrieval" (2014)'
BITS = {"binary": 1, "quadratic": 2, "octal": 3}  # of a digit
# Table 3, milliseconds: encryption on four threads, decryption on one.
ENCRYPTION = {"binary": {2: 3, 4: 14, 8: 27, 16: 51, 32: 87, 64: 134, 128: 191, 256: 275, 512: 384},
              "quadratic": {4: 8, 16: 40, 64: 120, 256: 268}, "octal": {8: 10, 64: 30, 512: 82}}
DECRYPTION = {"binary": {2: 2, 4: 8, 8: 17, 16: 30, 32: 48, 64: 71, 128: 100, 256: 135, 512: 177},
              "quadratic": {4: 2, 16: 8, 64: 17, 256: 30}, "octal": {8: 2, 64: 8, 512: 17}}
TIMES = {"ms": "real_time", "best": "best", "most": "most", "cpu_ms": "cpu_time", "cpu_best": "cpu_best", "cpu_most": "cpu_most"}
PLAIN = "plain GMP, {}, here"
BOTH = "pirx, {}, here"


# --- from formulas

def figures_of(name):
    return [figure._asdict() for figure in paper_figures.figures() if figure.table == name]


def formulas(name, text=""):
    def show(kept):
        rows = [Row(", ".join(filter(None, (f["row"], f["column"]))), f["printed"], f["computed"], unit=f["unit"], note=f["remark"]) for f in kept]
        return Result([Table(rows, ours="computed, here")], text)
    return {"run": lambda context: figures_of(name), "show": show, "seconds": 1, "quick_seconds": 0.1}


# --- measured

def measure(context, *only, trees=ENCRYPTION):
    """{"octal 512": {name: {"ms", "best", "most", "cpu_ms", "cpu_best", "cpu_most"}}} of every tree of the tables: milliseconds by the clock on the
    wall, and of processor time."""
    found = {}
    for tree, sizes in trees.items():
        bits = BITS[tree]
        for items in sizes:
            if context.quick and items > 8:
                continue
            plain = 1 if context.quick else 3
            made = context.bench("bench/paper001/paper001_tree", f"--digit_bits={bits}", f"--levels={(items.bit_length() - 1) // bits}", "--kernels=auto",
                                 "--threads=1,2", f"--plain_repetitions={plain}", "--benchmark_min_time=0.01", only=only,
                                 repetitions=1 if context.quick else 3)
            found[f"{tree} {items}"] = {name: {kept: 1e3 * one[time] for kept, time in TIMES.items()} for name, one in made.items()}
    return found


def clock(threads):
    """The keys of times and what they are called: other programs do not count in processor time, but two threads share the wall's clock."""
    return (("cpu_ms", "cpu_best", "cpu_most"), "processor time") if threads == 1 else (("ms", "best", "most"), "by the clock on the wall")


def trees(kept):
    for tree, sizes in ENCRYPTION.items():
        for items in sizes:
            if f"{tree} {items}" in kept:
                yield tree, items, f"{tree}, n = {items}", kept[f"{tree} {items}"]


def run_client(context):
    return measure(context, "client", "plain_client")


def show_client(kept):
    encryption, decryption = [], []
    for tree, items, what, found in trees(kept):
        ours = found["client/blind/threads:2"]["ms"] + found["client/query"]["ms"]
        encryption.append(Row(what, ENCRYPTION[tree][items], ours, found["plain_client/encrypt/threads:2"]["ms"], "ms"))
        decryption.append(Row(what, DECRYPTION[tree][items], found["client/decode/threads:1"]["cpu_ms"], found["plain_client/decrypt"]["cpu_ms"],
                              "ms"))
    return Result([Table(encryption, "Encryption of the selectors, by the clock on the wall", "paper, 4 threads", BOTH.format("2 threads"),
                         PLAIN.format("2 threads")),
                   Table(decryption, "Decryption, processor time", "paper, 1 thread", BOTH.format("1 thread"), PLAIN.format("1 thread"))],
                  "pirx's client has one-hot selectors, makes coins from tables of powers and decrypts modulo the two primes, in constant time. The plain client "
                  "has the paper's selectors, and decrypts modulo N^(s+1) by the whole d.")


def run_server(*only):
    return lambda context: measure(context, *only)


def show_server(name, paper, threads, plain):
    """`plain` and `threads`: the benchmark of the plain server, and how many threads it and ours have."""
    printed = {(f["column"], int(f["row"].removeprefix("n = "))): f for f in figures_of(name)}
    on = f"{threads} thread" + ("s" if threads > 1 else "")
    (time, best, most), by = clock(threads)

    def show(kept):
        rows = []
        for tree, items, what, found in trees(kept):
            figure, one = printed[tree, items], found[f"server/auto/threads:{threads}"]
            model = f"the number of powers times the authors' own time of one: {figure['computed']:.0f}" + (f"; {figure['remark']}" if figure["remark"] else "")
            rows.append(Row(what, figure["printed"], one[time], found[plain][time], "ms", f"pirx best {one[best]:.3g}, worst {one[most]:.3g}; {model}"))
        return Result([Table(rows, f"The server, {by}", paper, BOTH.format(on), PLAIN.format(on))],
                      "Both answer over the same records with the same key of 1024 bits. pirx multiplies powers in one pass with shared squarings, and encrypts "
                      "nothing in a node. It has one way to share work among threads, so its two parallel tables measure the same, and differ by chance. "
                      "*The number of powers times ...*: what the authors' own time of one power makes of the number of powers that a thread computes.")
    return show


STATED = ("plain", "plain_nodes/threads:2", "plain_powers/threads:2", "server/auto/threads:1", "server/auto/threads:2")


def run_stated(context):
    most = 8 if context.quick else 512
    return measure(context, *STATED, trees={"binary": [most], "octal": [most]})


def show_stated(kept):
    (_, items, _, binary), (_, _, _, octal) = trees(kept)

    def ms(found, name):
        return found[name]["ms"]

    def row(what, printed, over, under, note=""):
        ours = [f"server/auto/threads:{1 if one[1] == 'plain' else 2}" for one in (over, under)]
        same = (over[0] is under[0]) and ours[0] == ours[1]
        return Row(what, printed, None if same else ms(over[0], ours[0]) / ms(under[0], ours[1]), ms(*over) / ms(*under), "times", note)

    serial, nodes, powers = STATED[:3]
    each = Row("octal, powers in parallel: for each record (section 6)", 1.4, ms(octal, STATED[4]) / items, ms(octal, powers) / items, "ms")
    return Result([Table([row("serial: binary over octal (section 5.2.1)", 10.98, (binary, serial), (octal, serial)),
                          row("nodes in parallel: binary over octal (section 5.2.2)", 10.09, (binary, nodes), (octal, nodes)),
                          row("octal: nodes in parallel over powers in parallel (section 5.2.2)", 1.15, (octal, nodes), (octal, powers),
                              "pirx has one way to share work"),
                          row("powers in parallel: binary over octal (section 5.2.2)", 10.69, (binary, powers), (octal, powers)),
                          row("octal: serial over powers in parallel", 3.56, (octal, serial), (octal, powers), "the paper has 4 cores, we have 2"),
                          row("binary: serial over powers in parallel", 3.65, (binary, serial), (binary, powers), "likewise"),
                          row("binary and serial over octal and parallel (section 7)", 39.11, (binary, serial), (octal, powers), "likewise"), each],
                         f"{items} records of 1024 bits, by the clock on the wall", "paper, 4 threads", BOTH.format("2 threads"), PLAIN.format("2 threads"))])


def draw_server(name, threads, plain):
    printed = {(f["column"], int(f["row"].removeprefix("n = "))): f["printed"] for f in figures_of(name)}

    (time, *_), by = clock(threads)
    on = "1 thread" if threads == 1 else f"{threads} threads"

    def draw(plot, kept):
        figure, panels = plot.subplots(1, len(BITS), figsize=(10, 3.6), sharey=True)
        for axes, tree in zip(panels, BITS):
            sizes = [items for one, items, _, _ in trees(kept) if one == tree]
            found = [kept[f"{tree} {items}"] for items in sizes]
            axes.plot(sizes, [printed[tree, items] for items in sizes], "k*", label="paper")
            axes.plot(sizes, [one[plain][time] for one in found], "s-", label=f"plain GMP, {on}")
            axes.plot(sizes, [one[f"server/auto/threads:{threads}"][time] for one in found], "o-", label=f"pirx, {on}")
            axes.set(title=f"{tree} trees", xlabel="records", xscale="log", yscale="log")
            axes.set_xticks(sizes)
            axes.set_xticklabels(map(str, sizes))
            axes.minorticks_off()
            axes.legend()
        panels[0].set_ylabel(f"ms, {by}")
        return figure
    return draw


def server(number, threads, paper, plain, what, only):
    name = f"001 Table {number}"
    return Item("001", f"table{number}", f"Table {number}: {what}", run_server(*only), show_server(name, paper, threads, plain),
                {"": draw_server(name, threads, plain)}, seconds=150, quick_seconds=3)


ITEMS = [
    Item("001", "table1", "Table 1: bits of the query", **formulas("001 Table 1", "The paper prints formulas; these are their values in units of the modulus.")),
    Item("001", "table2", "Table 2: bits of query and reply", **formulas("001 Table 2")),
    Item("001", "table3", "Table 3: the client", run_client, show_client, seconds=120, quick_seconds=3),
    server(4, 1, "paper, 1 thread", "plain", "the server on one core", ("plain", "server/auto/threads:1")),
    server(5, 2, "paper, 4 threads", "plain_nodes/threads:2", "nodes in parallel", ("plain_nodes/threads:2", "server/auto/threads:2")),
    server(6, 2, "paper, 4 threads", "plain_powers/threads:2", "powers in parallel, within a node too", ("plain_powers/threads:2", "server/auto/threads:2")),
    Item("001", "stated", "Sections 5.2 and 6: what the tables come to", run_stated, show_stated, seconds=60, quick_seconds=1),
    Item("001", "table7", "Table 7: bits exchanged, of the database's",
         **formulas("001 Table 7", "The lattice and FHE schemes are printed, not computed: only the proposed method is this paper's.")),
    Item("001", "sec44", "Section 4.4: octal over binary trees", **formulas("001 section 4.4")),
    Item("001", "sec45", "Section 4.5: where octal trees overtake binary ones", **formulas("001 section 4.5")),
    Item("001", "sec6", "Section 6: a larger database", **formulas("001 section 6")),
]
