# SPDX-License-Identifier: Apache-2.0
"""Makes one page, as Markdown and as HTML that needs no other file, of what bench/reproduce kept."""

import base64
import html
import re
import statistics
import textwrap

from reproduction.item import Item

WIDTH = 120
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
table { border-collapse: collapse; margin: 1rem 0; font-size: 14px }
th, td { border: 1px solid #ccc; padding: .25rem .6rem; text-align: left; vertical-align: top }
th { background: #f0f2f5 }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
blockquote { border-left: 4px solid #c80; margin: 1rem 0; padding: .3rem 1rem; background: #fff8e8 }
img { max-width: 100%; border: 1px solid #eee }
pre { background: #f6f8fa; padding: .6rem; overflow-x: auto; font-size: 13px }
h2 { border-bottom: 2px solid #345; margin-top: 3rem } h3 { margin-top: 2.5rem }
"""


def number(value):
    """Four digits, more where the integer has more."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def ratio(above, below):
    numbers = isinstance(above, (int, float)) and isinstance(below, (int, float)) and below
    if not numbers:
        return ""
    return f"{above / below:.3g}" if above < 1000 * below else f"{above / below:.0f}"


class Page:
    """Blocks in order; markdown() and html() write them out."""

    def __init__(self):
        self.blocks = []

    def add(self, kind, *content):
        self.blocks.append((kind, *content))

    def table(self, head, rows):
        """Without the columns that no row fills."""
        filled = [i for i in range(len(head)) if any(row[i] for row in rows)]
        self.add("table", [head[i] for i in filled], [[row[i] for i in filled] for row in rows])

    def markdown(self, figures):
        """`figures`: the folder of the pictures, from that of the Markdown."""
        def cells(row):
            return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"

        out = []
        for kind, *content in self.blocks:
            if kind in ("h1", "h2", "h3"):
                out.append(f"{'#' * int(kind[1])} {content[0]}")
            elif kind in ("text", "warning"):
                start = "> " if kind == "warning" else ""
                for paragraph in content[0].split("\n\n"):
                    out.append(textwrap.fill(" ".join(paragraph.split()), WIDTH, initial_indent=start, subsequent_indent=start,
                                             break_long_words=False, break_on_hyphens=False))
            elif kind == "code":
                out.append("```sh\n" + "\n".join(content[0]) + "\n```")
            elif kind == "table":
                head, rows = content
                out.append("\n".join([cells(head), "|" + "---|" * len(head), *map(cells, rows)]))
            elif kind == "picture":
                path, title = content
                out.append(f"![{title}]({figures}{path.name}.png)")
        return "\n\n".join(out) + "\n"

    def html(self):
        def words(text):
            text = html.escape(text, quote=False)
            text = re.sub(r"`([^`]*)`", r"<code>\1</code>", text)
            text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
            text = re.sub(r"(?<![\w*])\*([^* ][^*]*)\*(?![\w*])", r"<i>\1</i>", text)
            return re.sub(r"\[([^]]*)\]\((https?:[^)]*)\)", r'<a href="\2">\1</a>', text)

        def cell(text):
            kind = ' class="number"' if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", text) else ""
            return f"<td{kind}>{words(text)}</td>"

        out = []
        for kind, *content in self.blocks:
            if kind in ("h1", "h2", "h3"):
                out.append(f"<{kind}>{words(content[0])}</{kind}>")
            elif kind in ("text", "warning"):
                paragraphs = "".join(f"<p>{words(paragraph)}</p>" for paragraph in content[0].split("\n\n"))
                out.append(f"<blockquote>{paragraphs}</blockquote>" if kind == "warning" else paragraphs)
            elif kind == "code":
                out.append(f"<pre>{html.escape(chr(10).join(content[0]))}</pre>")
            elif kind == "table":
                head, rows = content
                lines = "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows)
                out.append("<table><tr>" + "".join(f"<th>{words(name)}</th>" for name in head) + f"</tr>{lines}</table>")
            elif kind == "picture":
                path, title = content
                data = base64.b64encode(path.with_suffix(".svg").read_bytes()).decode()
                out.append(f'<p><img alt="{html.escape(title)}" src="data:image/svg+xml;base64,{data}"></p>')
        title = html.escape(next((block[1] for block in self.blocks if block[0] == "h1"), ""))
        return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
                f"<title>{title}</title><style>{STYLE}</style></head><body>\n" + "\n".join(out) + "\n</body></html>\n")


def draw(plot, item: Item, data, folder):
    """Writes every plot of an item as PNG and SVG; {path without ending: title}."""
    drawn = {}
    for name, make in item.plots.items():
        path = folder / (item.key + (f"_{name}" if name else ""))
        figure = make(plot, data)
        figure.tight_layout()
        figure.savefig(path.with_suffix(".png"), dpi=90)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        plot.close(figure)
        drawn[path] = item.title + (f", {name}" if name else "")
    return drawn


def pyplot():
    """matplotlib's pyplot that writes files only, or None."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    matplotlib.rcParams |= {"svg.hashsalt": "pirx", "font.size": 9, "legend.fontsize": 8}
    import matplotlib.pyplot as plot
    return plot


def add_item(page, item, kept, plot, folder):
    page.add("h3", item.title)
    page.add("code", [f"bench/reproduce {item.paper} {item.name}" + (" --quick" if kept and kept["quick"] else "")])
    if kept is None:
        return page.add("warning", "Not run for this page. The command above does it.")
    if "why_not" in kept:
        return page.add("warning", kept["why_not"])
    for why in kept["left_out"]:
        page.add("warning", f"Left out: {why}.")
    result = item.show(kept["data"])
    for table in result.tables:
        if table.title:
            page.add("text", f"**{table.title}**")
        page.table(["", "unit", table.paper, table.plain, table.ours, "ours / paper", "plain / ours", "remarks"],
                   [[row.what, row.unit, number(row.paper), number(row.plain), number(row.ours), ratio(row.ours, row.paper),
                     ratio(row.plain, row.ours), row.note] for row in table.rows])
    if item.plots and plot is None:
        page.add("warning", "No figure: matplotlib is missing (Debian: python3-matplotlib). The data are in the JSON file.")
    elif item.plots:
        for path, title in draw(plot, item, kept["data"], folder).items():
            page.add("picture", path, title)
    if result.text:
        page.add("text", result.text)
    if spreads := kept.get("spreads"):
        half, most = (100 * statistics.quantiles(spreads * 2, n=10)[at] for at in (4, 8))
        page.add("text", f"Spread: by the clock on the wall, all repetitions of a time lay within {half:.2g} % of their median in half of the "
                         f"{len(spreads)} cases, within {most:.2g} % in nine of ten.")
    load = " to ".join(f"{kept[when][0]:.2f}" for when in ("load_before", "load_after"))
    page.add("text", f"Commit {kept['commit']}, {kept['started']}, {kept['seconds']:.0f} s, load {load}. Data: `{item.key}.json`. It ran:")
    page.add("code", kept["commands"] or ["(nothing: computed from formulas)"])
    return None


def make(papers, kept, folder):
    """Of every item what `kept` has under its key. Draws into the folder. The Page and, in words, what is missing on it."""
    plot, page = pyplot(), Page()
    done = [one for one in kept.values() if "data" in one]
    page.add("h1", "The papers, reproduced")
    if any(one["quick"] for one in kept.values()):
        page.add("warning", "**A quick run.** Sizes are small and repetitions few. It shows that every driver works; its figures say nothing about speed, "
                            "and do not compare with the papers'.")
    page.add("text", "Figures, tables and stated numbers of five papers, redone by `bench/reproduce` (after `scripts/build release`). "
                     "The column *paper* has the authors' own numbers, of their machine. Every other number was measured, counted or "
                     "computed here, in the run that is named under each table; *load* says how busy the machine was. *ours* is the column of "
                     "pirx, or of the re-creation if there is no other; *plain* the one before it. Of times, ours / paper compares machines as "
                     "well as programs; only plain / ours compares programs.")
    machine = {}
    for one in done:
        for name, value in one["machine"].items():
            machine.setdefault(name, {})[str(value)] = None
    commits = {one["commit"] for one in done}
    if len(commits) > 1:
        page.add("warning", f"The items are of {len(commits)} commits; each item names its own.")
    if machine:
        page.table(["machine", ""], [[name, "; ".join(values)] for name, values in machine.items()])
    for paper, (title, items) in papers.items():
        if not items:
            continue
        page.add("h2", f"Paper {paper}: {title}")
        for item in items:
            add_item(page, item, kept.get(item.key), plot, folder)
    return page
