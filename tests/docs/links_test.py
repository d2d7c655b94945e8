#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every relative link of the documents leads to something in the repository, and their lines have at most 120 characters."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True)
    pages = [ROOT / name for name in listed.stdout.split()] or sorted(
        page for page in ROOT.rglob("*.md") if "build" not in page.parts
    )
    broken = 0
    for page in pages:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for number, line in enumerate(page.read_text().split("\n"), 1):
            if len(line) > 120 and line in text and not line.startswith("|"):
                print(f"{page.relative_to(ROOT)}:{number}: {len(line)} characters")
                broken += 1
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                print(f"{page.relative_to(ROOT)}: no {target}")
                broken += 1
    print(f"{len(pages)} pages, {broken} broken links and long lines")
    return 1 if broken or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
