# SPDX-License-Identifier: Apache-2.0
"""Servers on this machine, for tests and notebooks."""
from __future__ import annotations

import atexit
import os
import re
import selectors
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, List, Optional, Sequence, Tuple, Type, Union

from ._client import Deployment
from ._database import Database
from ._errors import InvalidArgument, Unavailable
from ._program import failure, find_program

Source = Union[str, "os.PathLike[str]", Database]

_SEVERAL = {"goldberg": 3, "chor": 3, "dpf": 2}  # servers by default


class Servers:
    """Running servers. `with` or close() ends them, and so does the end of this process, unless it is killed."""

    deployment: Deployment
    """The deployment of these servers."""
    deployment_file: Path
    """Its file, which goes with the servers."""
    urls: Tuple[str, ...]

    def __init__(self) -> None:
        # No TemporaryDirectory: its finalizer would delete the folder in a child of fork, too.
        self._folder = tempfile.mkdtemp(prefix="pirx-")
        self._children: List[subprocess.Popen[bytes]] = []
        self._process = os.getpid()
        atexit.register(self.close)

    def log(self, number: int) -> str:
        """What a server has logged, JSON lines."""
        return self._log_file(number).read_text(errors="replace")

    def stop(self, number: int) -> None:
        """Ends one of the servers, to see what clients make of it."""
        _end([self._children[number]])

    def close(self) -> None:
        """Ends the servers and closes their deployment."""
        atexit.unregister(self.close)
        if self._process != os.getpid():
            return  # They are the parent's.
        _end(self._children)
        self._children.clear()
        if hasattr(self, "deployment"):
            self.deployment.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def _log_file(self, number: int) -> Path:
        return Path(self._folder) / f"server{number}.log"

    def _start(self, words: List[str]) -> None:
        with open(self._log_file(len(self._children)), "wb") as log:
            self._children.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log))

    def _port(self, number: int, end: float) -> int:
        child = self._children[number]
        assert child.stdout is not None
        line = _read_line(child.stdout, end)
        match = re.match(rb"listening on port (\d+)", line)
        if match:
            child.stdout.close()
            return int(match.group(1))
        if line.endswith(b"\n") or child.poll() is None and time.monotonic() >= end:
            raise Unavailable(f"server {number} did not say in time where it listens: {self.log(number)}")
        raise failure(child.wait(), self.log(number))


def serve(databases: Union[Source, Sequence[Source]], protocol: str = "goldberg", *, servers: Optional[int] = None,
          threshold: int = 1, serve_options: Sequence[str] = (), deploy_options: Sequence[str] = (),
          program: Optional[str] = None, timeout: float = 60.0) -> Servers:
    """Starts `pirx serve` on loopback and makes the deployment of the servers.

    databases   a database, or one for each server
    servers     how many; by default three, two for dpf, or one where the protocol has one server
    threshold   so many servers together learn nothing
    serve_options, deploy_options   more words for `pirx serve` and `pirx deploy`
    timeout     seconds until all servers must listen

    Raises what the program failed with, such as DataLoss for a damaged database."""
    several = protocol in _SEVERAL
    if isinstance(databases, (str, os.PathLike, Database)):
        count = servers if servers is not None else _SEVERAL.get(protocol, 1)
        sources = [databases] * count
    else:
        # Only these may be buckets, which know their coordinates.
        sources = [s if isinstance(s, Database) else Database(s, program=program) for s in databases]
        count = len(sources) if servers is None else servers
    if count < 1 or count != len(sources):
        raise InvalidArgument(f"{len(sources)} databases and {count} servers do not fit each other")
    found = find_program(program)
    running = Servers()
    try:
        end = time.monotonic() + timeout
        for number, source in enumerate(sources):
            bucket = isinstance(source, Database) and source.info["bucket"]
            coordinate = ["--coordinate", str(number + 1)] if several and not bucket else []
            running._start([found, "serve", os.fspath(source), "--protocol", protocol, "--listen", "127.0.0.1:0", *coordinate,
                            *serve_options])
        running.urls = tuple(f"http://127.0.0.1:{running._port(number, end)}" for number in range(count))
        running.deployment_file = Path(running._folder) / "deployment.json"
        threshold_words = ["--threshold", str(threshold)] if several else []
        done = subprocess.run([found, "deploy", str(running.deployment_file), *threshold_words,
                               *(word for url in running.urls for word in ("--server", url)), *deploy_options],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise failure(done.returncode, done.stderr.decode(errors="replace"))
        running.deployment = Deployment.load(running.deployment_file)
    except BaseException as error:
        running.close()
        if isinstance(error, FileNotFoundError):
            raise Unavailable(f"there is no program {found}") from None
        if isinstance(error, PermissionError):
            raise Unavailable(f"the program {found} may not be executed") from None
        raise
    return running


def _read_line(pipe: IO[bytes], end: float) -> bytes:
    """A line, or what was there of it at the end of the pipe or of the time."""
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while not line.endswith(b"\n") and selector.select(max(0.0, end - time.monotonic())):
            part = os.read(pipe.fileno(), 1)
            if not part:
                break
            line += part
    return line


def _end(children: Sequence[subprocess.Popen[bytes]]) -> None:
    for child in children:
        child.terminate()
    for child in children:
        try:
            child.wait(timeout=15)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdout is not None:
            child.stdout.close()
