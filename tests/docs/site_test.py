#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/site makes a site with no dead link, and its check of links finds the dead ones."""
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def site(*arguments):
    done = subprocess.run([sys.executable, ROOT / "scripts/site", *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main() -> int:
    with tempfile.TemporaryDirectory() as temporary:
        small = Path(temporary) / "small"
        small.mkdir()
        (small / "index.html").write_text('<h1 id="here">a</h1><a href="#here">a</a><a href="b.html#there">b</a>')
        (small / "b.html").write_text('<p id="there">b</p><a href="https://example.org/x">out</a>')
        assert site("--check", small) == (0, "3 links, 0 wrong\n"), site("--check", small)
        for page, complaint in (('<a href="c.html">', "no c.html"), ('<a href="b.html#no">', "no anchor b.html#no"),
                                ('<a href="#no">', "no anchor #no"), ('<img src="p.png">', "no p.png"),
                                ('<script src="https://example.org/x.js">', "loads https://example.org/x.js from")):
            (small / "index.html").write_text(page)
            code, output = site("--check", small)
            assert code == 1 and complaint in output, (page, code, output)

        code, output = site(small)
        assert code == 1 and "is there already" in output, (code, output)
        assert (small / "b.html").is_file()

        code, output = site(Path(temporary) / "site")
        print(output, end="")
        assert code == 0
        for page in ("index.html", "docs/tutorial.html", "docs/decisions/index.html", "api/index.html", "LICENSE.html"):
            assert (Path(temporary) / "site" / page).is_file(), page
        # Comments of C are no comments of Doxygen's; docs/doxygen_c.sed makes them some.
        reference = (Path(temporary) / "site/api/pirx_8h.html").read_text()
        for words in ("There are four kinds of objects", "What became of a call", "memory, or a limit that the caller set"):
            assert words in reference, words
    return 0


if __name__ == "__main__":
    sys.exit(main())
