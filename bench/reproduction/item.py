# SPDX-License-Identifier: Apache-2.0
"""What an item of the reproduction is: one figure, table or stated number of a paper.

Each paper has a file here, paper000.py to paper004.py, with a list ITEMS. An item has three functions. `run` measures and returns
what is kept as JSON. `show` makes tables of what is kept, with the paper's own numbers in them. Each of `plots` draws what is
kept. So the page can be made again without measuring.
"""

import dataclasses
import pathlib
import shlex
import subprocess
from typing import Any, Callable

import gbench
from peers import peers

NOT_BUILT = "{} was not built: run scripts/build release"
Value = float | int | str | None


class LeftOut(Exception):
    """Why an item, or a part of it, was not run. The page says so in its place."""


@dataclasses.dataclass
class Row:
    """One number of the paper beside ours. None where there is none; text is shown as it is and has no ratio."""
    what: str
    paper: Value = None
    ours: Value = None
    plain: Value = None
    """The same work here by a plain baseline or a peer; Table.plain says by which."""
    unit: str = ""
    note: str = ""
    """What differs, and why."""


@dataclasses.dataclass
class Table:
    """Heads of the columns. The page adds the ratios ours / paper, and plain / ours if there is a plain column."""
    rows: list[Row]
    title: str = ""
    paper: str = "paper"
    ours: str = "pirx, here"
    plain: str = ""


@dataclasses.dataclass
class Result:
    tables: list[Table]
    text: str = ""
    """Markdown: what differs from the paper, and why."""


@dataclasses.dataclass(frozen=True)
class Item:
    paper: str
    """"000" to "004"."""
    name: str
    """Of letters and digits: "fig3"."""
    title: str
    run: Callable[["Context"], Any]
    show: Callable[[Any], Result]
    plots: dict[str, Callable] = dataclasses.field(default_factory=dict)
    """plot(pyplot, kept) returns a figure of matplotlib. The names become file names; "" if there is one plot."""
    seconds: float = 60
    """Of a full run on 2 cores, for the ETA."""
    quick_seconds: float = 2

    @property
    def key(self):
        return f"{self.paper}_{self.name}"


class Context:
    """What an item's `run` may use. It keeps the commands that ran, how far their repetitions lay apart, and the notes on what was
    left out."""

    def __init__(self, build_dir, quick):
        self.build_dir, self.quick = build_dir, quick
        self.commands, self.left_out, self.machine, self.spreads = [], [], {}, []

    def bench(self, path, *flags, **options):
        """{name: medians} of a program made with Google Benchmark; options are those of gbench.run. LeftOut if it was not built."""
        command = gbench.command_line(path, *flags, repetitions=options.get("repetitions", 1), only=options.get("only", ()))
        try:
            context, found = gbench.run(self.build_dir, path, *flags, **options)
        except gbench.NotBuilt as why:
            raise LeftOut(NOT_BUILT.format(why.path)) from None
        self.commands.append(command)
        self.spreads += [one["spread"] for one in found.values() if one["samples"] > 1]
        self.machine |= {name: context[key] for key, name in (("cpu", "instruction sets used"), ("compiler", "compiler")) if key in context}
        return found

    def need_programs(self, *paths):
        """LeftOut if one was not built."""
        try:
            for path in paths:
                gbench.program(self.build_dir, path)
        except gbench.NotBuilt as why:
            raise LeftOut(NOT_BUILT.format(why.path)) from None

    def script(self, path, *words):
        """The standard output of a program of this tree or its build folder, such as bench/service/figure4. An error fails the item."""
        command = [str(path), *map(str, words)]

        def shown(word):
            """Without this machine's folders."""
            if not isinstance(word, pathlib.Path):
                return str(word)
            return str(word.relative_to(gbench.ROOT)) if word.is_relative_to(gbench.ROOT) else word.name

        self.commands.append(shlex.join(shown(word) for word in (path, *words)))
        done = subprocess.run(command, cwd=gbench.ROOT, capture_output=True, text=True)
        if done.returncode:
            raise gbench.Failed(f"{path} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def note(self, why):
        """Says on the page what a part of this item left out, and why."""
        self.left_out.append(why)

    def need_memory(self, gib, what):
        """LeftOut if the machine has less memory available than that."""
        have = gbench.available_gib()
        if have < gib:
            raise LeftOut(f"{what} needs {gib:g} GiB of memory; {have:.1f} GiB are available")

    def peer(self, name):
        """LeftOut if the peer of that name is not installed (bench/peers/README.md)."""
        if not peers.installed(name):
            raise LeftOut(f"{name} is not installed: {peers.PEERS[name][1]} names no program (bench/peers/README.md)")
