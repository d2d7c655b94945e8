# SPDX-License-Identifier: Apache-2.0
"""Paper 003: Litchev, "Improved Performance for Private Information Retrieval" (2024): 3-PIR."""

import math
import re

import gbench
from reproduction import security
from reproduction.item import Item, Result, Row, Table

TITLE = 'Litchev, "Improved Performance for Private Information Retrieval" (2024): 3-PIR'
# Figure 4: microseconds on one core of a Ryzen 5 5500U.
PAPER = {"2": {"inversion": 560, "other": 4580, "separate": 5140}, "3": {"inversion": 1280, "other": 2590, "separate": 3870, "fused": 2850}}
NAMES = {"2_unsigned": "2, digits 0 and 1 as Spiral has them", "512_cut": "512, the lowest 29 bits left out (set s1)",
         "4096_cut": "4096, the lowest 32 bits left out (set s3)"}


def run_products(context):
    flags = ["--samples=5", "--bases=2,3,256"] if context.quick else []
    found = context.bench("bench/paper003/paper003_products", *flags, repetitions=1 if context.quick else 5,
                          times=("inversion", "separate", "fused"))
    keys = ("digits", "inversion", "separate", "fused", "noise_bits", "noise_bits_by_model")
    by_base = {gbench.parts(name)["gadget"]: {key: one[key] for key in keys} for name, one in found.items()}
    return {base: one | {"other": one["separate"] - one["inversion"]} for base, one in by_base.items()}


def in_order(data):
    """From the smallest base; those that leave digits out last."""
    return sorted(data, key=lambda base: (base.endswith("_cut"), int(base.split("_")[0]), base))


def best(data):
    """The least time of a product, of either form."""
    return min(data, key=lambda base: min(data[base]["fused"], data[base]["separate"]))


def show_products(data):
    rows = []
    for base, what in (("2", "base 2"), ("3", "base 3")):
        for part, name in (("inversion", "gadget inversion"), ("other", "other costs"), ("separate", "total"), ("fused", "fused, total")):
            rows.append(Row(f"{what}: {name}", PAPER[base].get(part), data[base][part], unit="us",
                            note="" if part in PAPER[base] else "the paper did not fuse base 2: its 1.8 is of a fused product over one that is not"))
    two, three = data["2"], data["3"]
    gains = [Row("gadget inversion, base 2 / base 3", 0.5, two["inversion"] / three["inversion"], note="printed as 0.5; 560 / 1280 is 0.44"),
             Row("other costs, base 2 / base 3", 1.77, two["other"] / three["other"], note="by count: 56 / 36 digits is 1.56"),
             Row("total, neither fused", 1.33, two["separate"] / three["separate"], note="computed of the printed 5140 and 3870"),
             Row("total, base 3 fused and base 2 not", 1.8, two["separate"] / three["fused"]),
             Row("total, both fused", None, two["fused"] / three["fused"])]
    every = [Row(NAMES.get(base, base), None, min(one["fused"], one["separate"]), unit="us",
                 note=f"{one['digits']:.0f} digits; inversion {one['inversion']:.1f}, separate {one['separate']:.0f}, fused {one['fused']:.0f}; "
                      f"error {one['noise_bits']:.2f} bits, by the model {one['noise_bits_by_model']:.2f}")
             for base, one in ((base, data[base]) for base in in_order(data))]
    winner = best(data)
    text = (f"Base 3 is {two['fused'] / three['fused']:.2f} times as fast as base 2, with "
            f"{two['noise_bits'] - three['noise_bits']:.2f} bits less error. The fastest is {NAMES.get(winner, 'base ' + winner)}: "
            f"{two['fused'] / min(data[winner]['fused'], data[winner]['separate']):.1f} times as fast as base 2, with "
            f"{data[winner]['noise_bits'] - two['noise_bits']:.1f} bits more error. Published sets of Spiral fold with bases 2^5 to 2^10, not "
            "with base 2. Error: half the log2 of the sum of the squares of a coefficient's digits, which multiplies the deviation of a key's "
            "errors. *Other costs* are transforms and sums; *fused* has both in one kernel.\n\n"
            "Times are processor times of one thread. Base 2 has the digits -1 and 0 here unless it says otherwise. Their mean is not "
            "0, so that the error differs from key to key, by up to a bit; so it does a little for base 4. The model is the mean over keys.")
    return Result([Table(rows, title="Figure 4: one product of a query ciphertext and a ciphertext"),
                   Table(gains, title="Speed-ups"), Table(every, title="Every base, the faster of both forms")], text)


def draw_products(plot, data):
    figure, (times, errors) = plot.subplots(2, 1, figsize=(9, 6.5), sharex=True, gridspec_kw={"height_ratios": [2, 1]})
    names, at = in_order(data), range(len(data))
    inversion, other = ([data[base][part] for base in names] for part in ("inversion", "other"))
    times.bar(at, inversion, color="C1", label="gadget inversion")
    times.bar(at, other, bottom=inversion, color="C0", label="other costs")
    times.plot(at, [data[base]["fused"] for base in names], "k_", markersize=14, markeredgewidth=2, label="fused")
    for base, printed in PAPER.items():
        for part, mark in (("separate", "r*"), ("fused", "r^")):
            if part in printed:
                times.plot([names.index(base)], [printed[part]], mark, label=f"the paper, base {base}{', fused' if part == 'fused' else ''}")
    times.set(yscale="log", ylim=(10, 9000), ylabel="microseconds of one core")
    times.legend()
    errors.plot(at, [data[base]["noise_bits"] for base in names], "o", label="measured")
    errors.plot(at, [data[base]["noise_bits_by_model"] for base in names], "k_", markersize=12, label="by the model")
    errors.set(ylabel="bits of error", xlabel="base of the gadget", xticks=list(at))
    errors.set_xticklabels([base.replace("_", "\n") for base in names], fontsize=7)
    errors.legend()
    return figure


def run_study(context):
    flags = ["--records=300", "--log_columns=3", "--samples=1"] if context.quick else ["--samples=3"]
    if not context.quick:
        context.need_memory(4, "the study of 2^20 records of 256 bytes")
    found = context.bench("bench/paper003/paper003_spiral", *flags, "--study=1", only=["folding", "expansion"])
    # A plan that is refused has no time.
    return {name: one for name, one in found.items() if one.get("label") or one.get("error_message")}


def of_kind(data, kind, form):
    """(The gadget in words, what was measured) of these plans, from the smallest base."""
    found = []
    for name, one in data.items():
        plan_kind, gadget, plan_form = name.split("/", 2)
        if (plan_kind, plan_form) == (kind, form):
            base, digits, delta = re.fullmatch(r"(\d+)\^(\d+)(?: of (\d+))?", gadget).groups()
            words = f"{base}, {digits} digits" + (f", the lowest {math.log2(int(delta)):.4g} bits left out" if delta else "")
            found.append((bool(delta), int(base), words, one))
    return [(words, one) for _, _, words, one in sorted(found, key=lambda plan: plan[:2])]


def show_study(data):
    tables = []
    for kind, form, title in (("folding", "frozen", "Folding by this gadget, all else as in set s1"),
                              ("folding", "frozen, two products", "The same with two products a fold, as the paper and Spiral have it"),
                              ("folding", "chosen", "Folding by this gadget, all else chosen anew"),
                              ("expansion", "frozen", "Expansion keys of this gadget, all else as in set s1"),
                              ("expansion", "chosen", "Expansion keys of this gadget, all else chosen anew")):
        rows = []
        for gadget, one in of_kind(data, kind, form):
            if one.get("error_message"):
                rows.append(Row(gadget, None, "refused", note=one["error_message"]))
                continue
            noise = ("expanded" if kind == "expansion" else "folded") + "_bits"
            rows.append(Row(gadget, None, 1e3 * one["real_time"], unit="ms",
                            note=f"external product {1e3 * one['external_product']:.0f} us, expansion {one['expansion']:.0f} ms, conversion "
                                 f"{one['conversion']:.1f} ms, first dimension {one['first_dimension']:.0f} ms, folding {one['folding']:.0f} ms; "
                                 f"keys {one['keys_bytes'] / 1e6:.2f} MB; error {one[noise]:.2f} bits, by the model "
                                 f"{one[noise + '_by_model']:.2f}"))
        if rows:
            tables.append(Table(rows, title=title, ours="server, whole answer"))
    return Result(tables, "The paper measures no whole answer, no error and no sizes. Every answer was compared with the database. A plan whose answers would "
                          "be wrong with a probability above 2^-40 is refused. The error is the deviation after folding (of an expanded ciphertext for "
                          "expansion keys). Digits are left out for bits that are 1 only, and the model takes all for 1. It is of one product a fold: two make half a bit more.")


def draw_study(plot, data):
    figure, axes = plot.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    for one, form in zip(axes, ("frozen", "chosen")):
        found = {gadget: value for gadget, value in of_kind(data, "folding", form) if not value.get("error_message")}
        bottom = [0.0] * len(found)
        for stage in ("expansion", "conversion", "first_dimension", "folding", "packing"):
            heights = [value[stage] for value in found.values()]
            one.bar(range(len(found)), heights, bottom=bottom, label=stage.replace("_", " "))
            bottom = [a + b for a, b in zip(bottom, heights)]
        one.set(title=f"folding gadget, all else {'as in set s1' if form == 'frozen' else 'chosen anew'}", xticks=range(len(found)))
        one.set_xticklabels(found, rotation=70, fontsize=7)
        one.legend()
    axes[0].set_ylabel("milliseconds of one core")
    return figure


ITEMS = [
    Item("003", "fig4", "Figure 4: one product, by the base of the gadget", run_products, show_products, {"": draw_products}, seconds=60, quick_seconds=3),
    Item("003", "study", "The base of the gadget in whole answers: time, error, sizes", run_study, show_study, {"": draw_study}, seconds=600, quick_seconds=5),
    security.ITEM,
]
