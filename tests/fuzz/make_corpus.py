#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the known answers of tests/vectors have for the fuzz targets to tests/fuzz/corpus. Valid messages are not
among them: the targets make these themselves (pirx_fuzz_replay --seeds)."""

import json
import pathlib

here = pathlib.Path(__file__).resolve().parent
targets = {1: "shares", 2: "shares", 3: "dj", 4: "qr", 5: "spiral", 6: "download", 7: "inspire", 8: "shares"}
for i, case in enumerate(json.loads((here.parent / "vectors/hostile_parameters.json").read_text())):
    message = bytes.fromhex(case["message"])
    folder = here / "corpus" / f"parameters_{targets[message[7]]}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"hostile_{i}").write_bytes(message)
