#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A dishonest log operator, for demonstrations and tests: a database of proofs in which the proof of one certificate is
forged, to be served in place of the honest one.

    forge.py PIRX CT_LOG LOG PROOFS FINGERPRINT FORGED

Takes the honest proof of the certificate with that SHA-256 (hexadecimal) out of PROOFS, changes a bit of its first hash, and
builds FORGED and FORGED.head.json, with the tree head that the log really signed. Standard library only.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

FIRST_HASH = 16  # behind timestamp and index, docs/certificate_transparency.md


def main() -> int:
    if len(sys.argv) != 7:
        print(__doc__, file=sys.stderr)
        return 2
    pirx, ct_log, log, proofs, fingerprint, forged = sys.argv[1:]
    honest = subprocess.run([pirx, "db", "get", proofs, "--key", fingerprint, "--raw"], check=True, capture_output=True)
    record = bytearray(honest.stdout)
    record[FIRST_HASH] ^= 1
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / fingerprint).write_bytes(record)
        for i in range(99):
            (Path(folder) / f"nobody's {i}").write_bytes(bytes(len(record)))
        build = [pirx, "db", "build", forged, folder, "--from", "folder", "--keyed"]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([ct_log, "publish", log, forged, "--unchecked"], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
