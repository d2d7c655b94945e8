#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns `apt-cache dumpavail` on standard input into JSON lines {"name": ..., "record": ...}, one a package.

A record is what a person asks a package index for: name, version, section, home page and description. Where an index lists a
package twice (a security update, say) the first wins. Standard library only.
"""
import json
import sys

FIELDS = ("Package", "Version", "Section", "Homepage", "Description")


def stanzas(lines):
    stanza, name = {}, None
    for line in lines:
        line = line.rstrip("\n")
        if not line:
            if stanza:
                yield stanza
            stanza, name = {}, None
        elif line[0] in " \t":
            if name == "Description":
                stanza[name] += "\n" + line
        else:
            name, _, value = line.partition(":")
            stanza[name] = value.strip()
    if stanza:
        yield stanza


def main() -> int:
    seen = set()
    for stanza in stanzas(sys.stdin):
        name = stanza.get("Package")
        if not name or name in seen:
            continue
        seen.add(name)
        description = stanza.get("Description") or stanza.get("Description-en", "")
        fields = dict(stanza, Description=description)
        record = "\n".join(f"{field}: {fields[field]}" for field in FIELDS if fields.get(field))
        print(json.dumps({"name": name, "record": record}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
