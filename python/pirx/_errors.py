# SPDX-License-Identifier: Apache-2.0
"""The exceptions: one for each status of <pirx/pirx.h>."""
from __future__ import annotations

from typing import ClassVar


class Error(Exception):
    """What went wrong in pirx. `str(error)` says it, and what to do about it. No message holds a key or a record."""

    code: ClassVar[int] = 0
    """The number of the status (pirx_status)."""


class InvalidArgument(Error, ValueError):
    """The caller made a mistake. Nothing has changed."""

    code = 1


class OutOfRange(Error, LookupError):
    """There is no record at one of the positions. The servers were asked nevertheless."""

    code = 2


class DataLoss(Error):
    """Bytes that came from a file or a server are not what they should be."""

    code = 3


class Unavailable(Error):
    """A file or a server is not there, or time was up."""

    code = 4


class ResourceExhausted(Error):
    """Memory, or a limit that the caller set."""

    code = 5


class Unauthenticated(Error):
    """TLS, a certificate or a token was refused, or the pinned publisher did not sign what the deployment says."""

    code = 6


class StaleEpoch(Error):
    """The servers have another version of the database. Get a new deployment file."""

    code = 7


class Undecodable(Error):
    """Too many servers lied, or too few replied."""

    code = 8


class Internal(Error):
    """A defect of pirx, or one that a server reports of itself."""

    code = 9


_KINDS = {kind.code: kind for kind in Error.__subclasses__()}


def error_of(status: int, message: str) -> Error:
    """The exception for a status. One that this package does not know is an Internal."""
    return _KINDS.get(status, Internal)(message or f"status {status}")
