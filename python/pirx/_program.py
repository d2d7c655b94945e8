# SPDX-License-Identifier: Apache-2.0
"""Finds the program `pirx` and tells its failures as exceptions."""
from __future__ import annotations

import os
import re
import shutil
from typing import Optional

from ._errors import Error, InvalidArgument, Unavailable, error_of
from ._library import BUNDLED


def find_program(program: Optional[str] = None) -> str:
    """The one that was named, that of the environment variable PIRX_PROGRAM, of the wheel, or on the PATH."""
    named = program or os.environ.get("PIRX_PROGRAM")
    if named:
        return named
    bundled = BUNDLED / "pirx"
    found = str(bundled) if bundled.exists() else shutil.which("pirx")
    if found is None:
        raise Unavailable("there is no program 'pirx' on the PATH: install it, or name it by PIRX_PROGRAM")
    return found


def failure(code: int, said: str) -> Error:
    """The exception for an exit code of the program (docs/cli.md lists them)."""
    message = re.sub(r"^pirx: [A-Za-z]+: ", "", said.strip()) or f"the program ended with exit code {code}"
    if code == 1:
        return InvalidArgument(message)
    return error_of(code - 1 if code >= 2 else 9, message)
