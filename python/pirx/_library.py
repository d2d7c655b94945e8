# SPDX-License-Identifier: Apache-2.0
"""Finds libpirx and declares the functions of <pirx/pirx.h>, in the header's order. ctypes releases the interpreter's lock
during every call."""
from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint8, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from ._errors import error_of

ABI = 1


class CDatabase(ctypes.Structure):
    _fields_ = [("identity", c_uint8 * 32), ("epoch", c_uint64), ("records", c_uint64), ("record_bytes", c_uint64),
                ("keyed", c_int)]


class COption(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class CCredentials(ctypes.Structure):
    _fields_ = [("tokens", c_char_p), ("tokens_size", c_size_t), ("token_file", c_char_p), ("certificate_file", c_char_p),
                ("key_file", c_char_p)]


class CServer(ctypes.Structure):
    _fields_ = [("origin", c_char_p), ("path", c_char_p), ("ca_file", c_char_p), ("allow_tls_1_2", c_int)]


class CRecord(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t), ("found", c_int), ("certainty", c_int)]


BELIEVE = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(CRecord), c_size_t)
STOP = ctypes.CFUNCTYPE(c_int, c_void_p)


class COptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("liars", c_int), ("rounds", c_uint), ("wait_for_all", c_int),
                ("believe", BELIEVE), ("believe_context", c_void_p), ("stop", STOP), ("stop_context", c_void_p),
                ("max_bytes", c_uint64), ("max_memory", c_uint64), ("max_work", c_uint64), ("deadline", c_uint64)]


class CBytes(ctypes.Structure):
    _fields_ = [("data", c_char_p), ("size", c_size_t)]


class CMessage(ctypes.Structure):
    _fields_ = [("action", c_int), ("id", c_uint64), ("server", c_size_t), ("origin", c_char_p), ("path", c_char_p),
                ("data", c_void_p), ("size", c_size_t), ("max_reply_size", c_uint64)]


class CSummary(ctypes.Structure):
    _fields_ = [("certainty", c_int), ("responders", c_uint), ("proof_bound", c_uint), ("rounds", c_uint)]


_HANDLE = c_void_p
_NEW = POINTER(c_void_p)
_SIZE = POINTER(c_size_t)
_STATUS: dict[str, list[Any]] = {
    "pirx_deployment_load": [c_char_p, _NEW],
    "pirx_deployment_parse": [c_char_p, c_size_t, c_char_p, _NEW],
    "pirx_deployment_protocols": [_HANDLE, _SIZE],
    "pirx_deployment_protocol": [_HANDLE, c_size_t, POINTER(c_char_p)],
    "pirx_deployment_database": [_HANDLE, POINTER(CDatabase)],
    "pirx_deployment_free": [_HANDLE],
    "pirx_client_create_with": [_HANDLE, c_char_p, POINTER(COption), c_size_t, POINTER(CCredentials), _NEW],
    "pirx_client_warning": [_HANDLE, POINTER(c_char_p)],
    "pirx_client_servers": [_HANDLE, _SIZE],
    "pirx_client_server": [_HANDLE, c_size_t, POINTER(CServer)],
    "pirx_client_free": [_HANDLE],
    "pirx_options_init": [POINTER(COptions), c_size_t],
    "pirx_retrieval_begin_positions": [_HANDLE, POINTER(c_uint64), c_size_t, POINTER(COptions), _NEW],
    "pirx_retrieval_begin_keys": [_HANDLE, POINTER(CBytes), c_size_t, POINTER(COptions), _NEW],
    "pirx_retrieval_next": [_HANDLE, POINTER(CMessage)],
    "pirx_retrieval_waiting": [_HANDLE, POINTER(c_int)],
    "pirx_retrieval_receive": [_HANDLE, c_uint64, c_char_p, c_size_t],
    "pirx_retrieval_lost": [_HANDLE, c_uint64, c_int, c_char_p],
    "pirx_retrieval_finish": [_HANDLE, _NEW],
    "pirx_retrieval_free": [_HANDLE],
    "pirx_answer_records": [_HANDLE, _SIZE],
    "pirx_answer_record": [_HANDLE, c_size_t, POINTER(CRecord)],
    "pirx_answer_summary": [_HANDLE, POINTER(CSummary)],
    "pirx_answer_server": [_HANDLE, c_size_t, POINTER(c_int)],
    "pirx_answer_free": [_HANDLE],
    "pirx_client_fetch_positions": [_HANDLE, POINTER(c_uint64), c_size_t, POINTER(COptions), _NEW],
    "pirx_client_fetch_keys": [_HANDLE, POINTER(CBytes), c_size_t, POINTER(COptions), _NEW],
}
_OTHERS: dict[str, tuple[Any, list[Any]]] = {
    "pirx_version": (c_char_p, []),
    "pirx_status_from_name": (c_int, [c_char_p]),
    "pirx_last_error": (c_int, [POINTER(c_char_p)]),
    "pirx_has_http": (c_int, []),
}

BUNDLED = Path(__file__).resolve().parent / "_bundled"
"""Where a wheel has libpirx and the program."""


def _load() -> ctypes.CDLL:
    bundled = BUNDLED / "libpirx.so.1"
    name = os.environ.get("PIRX_LIBRARY") or (str(bundled) if bundled.exists() else "libpirx.so.1")
    try:
        found = ctypes.CDLL(name)
        found.pirx_abi.restype = c_uint
        abi = int(found.pirx_abi())
        if abi != ABI:
            raise ImportError(f"{name} has the interface number {abi}, and this package needs {ABI}")
        for function, arguments in _STATUS.items():
            getattr(found, function).argtypes = arguments
            getattr(found, function).restype = c_int
        for function, (result, arguments) in _OTHERS.items():
            getattr(found, function).argtypes = arguments
            getattr(found, function).restype = result
    except (OSError, AttributeError) as error:
        raise ImportError(f"cannot load libpirx: {error}. Install the pirx wheel or libpirx with what it links, or name "
                          "the library by the environment variable PIRX_LIBRARY") from None
    return found


library = _load()


def check(status: int) -> None:
    """Raises what the last call in this thread failed with."""
    if status != 0:
        message = c_char_p()
        library.pirx_last_error(ctypes.byref(message))
        raise error_of(status, (message.value or b"").decode("utf-8", "replace"))


def text_of(value: bytes | None) -> str:
    """A text that the library gave: names of files may be any bytes."""
    return os.fsdecode(value or b"")
