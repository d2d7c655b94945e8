# SPDX-License-Identifier: Apache-2.0
"""Makes databases."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import IO, Any, Dict, Iterable, Iterator, Mapping, Optional, Sequence, Tuple, Union

from ._errors import InvalidArgument, Unavailable
from ._program import failure, find_program

_FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
            ".json": "jsonl", ".txt": "lines"}
_Row = Tuple[Optional[bytes], bytes]


class Database:
    """A database file, which `serve` takes."""

    path: Path
    info: Dict[str, Any]
    """What `pirx db info --json` says: records, record_bytes, keyed, epoch, identity and more."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], *, program: Optional[str] = None) -> None:
        """Opens a database file. Raises Unavailable: there is none. DataLoss: it is damaged or something else."""
        self.path = Path(path)
        self.info = json.loads(_run([find_program(program), "db", "info", _word(self.path), "--json"]))

    @classmethod
    def build(cls, path: Union[str, "os.PathLike[str]"], rows: Any, *, key: Optional[str] = None,
              value: Union[str, Sequence[str], None] = None, keyed: Optional[bool] = None, format: Optional[str] = None,
              options: Sequence[str] = (), program: Optional[str] = None) -> Database:
        """Builds a database file. An older database of that name is replaced once all is well, with the next epoch.

        `rows` is one of
          (key, record) pairs, or a mapping of keys to records
          records: bytes, str, or rows of a numpy array; look-ups are by position
          dicts, or a pandas frame: `key` names the column of the key, `value` the column of the record, or several, which
                     are joined by tabs. Without `value` a record is the row as JSON; without `key` look-ups are by position.
                     In a frame `key` may also name the index, and what is missing (NaN, NaT, NA) is null or None
          the name of a file or folder: `format` is what `pirx db build --from` takes, by default told by the suffix;
                     `key` and `value` as above

        Keys and records are bytes or str, which is taken as UTF-8; other values become JSON. `keyed=False` makes a database
        by position although there are keys. `options` are more words for `pirx db build`.

        Raises InvalidArgument: a row is wrong, or a key is there twice. TypeError: rows of no such kind."""
        words = [find_program(program), "db", "build", _word(Path(path))]
        values = [value] if isinstance(value, str) else list(value or ())
        if isinstance(rows, (str, os.PathLike)):
            source = Path(rows)
            name = source.stem if source.suffix.lower() in (".gz", ".zst") else source.name
            kind = format or ("folder" if source.is_dir() else _FORMATS.get(Path(name).suffix.lower()))
            if kind is None:
                raise InvalidArgument(f"no format is known by the suffix of '{source}': give format=, as in format=\"csv\"")
            words += [_word(source), "--from", kind]
            words += [f"--key={key}"] if key is not None else []
            words += [f"--value={name}" for name in values]
            words += ["--keyed"] if (key is not None if keyed is None else keyed) else []
            _run(words + list(options))
            return cls(path, program=program)
        if format is not None:
            raise InvalidArgument("format is for files: rows of Python need none")
        pairs = _pairs(rows, key, values)
        first = next(pairs, None)
        if first is None:
            raise InvalidArgument("there are no rows")
        has_keys = first[0] is not None
        if keyed and not has_keys:
            raise InvalidArgument("a keyed database needs keys: give (key, record) pairs, or name the column by key=")
        # Quoted fields of CSV hold any bytes.
        words += ["/dev/stdin", "--from", "csv", "--no-header"]
        words += ["--key=1", "--value=2"] if has_keys else ["--value=1"]
        words += ["--keyed"] if has_keys and keyed is not False else []
        _run(words + list(options), _packed(_lines(first, pairs)))
        return cls(path, program=program)

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<pirx.Database {self.path}: {self.info['records']} records, epoch {self.info['epoch']}>"


def _word(path: Path) -> str:
    """A name that is no option of the program."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def _run(words: Sequence[str], lines: Optional[Iterator[bytes]] = None) -> bytes:
    """Runs the program, fed with these lines. Gives its output."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as printed:
        try:
            child = subprocess.Popen(words, stdin=subprocess.DEVNULL if lines is None else subprocess.PIPE,
                                     stdout=printed, stderr=said)
        except FileNotFoundError:
            raise Unavailable(f"there is no program {words[0]}") from None
        except PermissionError:
            raise Unavailable(f"the program {words[0]} may not be executed") from None
        try:
            if lines is not None:
                assert child.stdin is not None
                _feed(child.stdin, lines)
            code = child.wait()
        except BaseException:
            child.kill()
            child.wait()
            raise
        finally:
            if child.stdin is not None:
                try:
                    child.stdin.close()
                except OSError:
                    pass  # Nobody reads it any more.
        said.seek(0)
        if code != 0:
            raise failure(code, said.read().decode(errors="replace"))
        printed.seek(0)
        return printed.read()


def _feed(pipe: IO[bytes], lines: Iterator[bytes]) -> None:
    """A program that reads no more has failed, and says why. A BrokenPipeError of the lines themselves is raised."""
    for line in lines:
        try:
            pipe.write(line)
        except BrokenPipeError:
            return
    with contextlib.suppress(BrokenPipeError):
        pipe.close()


def _packed(lines: Iterator[bytes]) -> Iterator[bytes]:
    """As gzip, whose end says that it is whole: if this process is killed, the program shall not take the end of the
    pipe for the end of the rows."""
    packer = zlib.compressobj(0, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for line in lines:
        yield packer.compress(line)
    yield packer.flush()


def _lines(first: _Row, rest: Iterator[_Row]) -> Iterator[bytes]:
    yield _line(first)
    for number, row in enumerate(rest, 2):
        if (row[0] is None) != (first[0] is None):
            raise TypeError(f"row {number} is of another kind than the first: all rows have keys, or none has")
        yield _line(row)


def _line(row: _Row) -> bytes:
    return b",".join(b'"' + field.replace(b'"', b'""') + b'"' for field in row if field is not None) + b"\n"


def _pairs(rows: Any, key: Optional[str], values: Sequence[str]) -> Iterator[_Row]:
    """Rows of any kind as (key or None, record)."""
    if isinstance(rows, (bytes, bytearray, memoryview)):
        raise TypeError("rows are several records, not one")
    if hasattr(rows, "itertuples") and hasattr(rows, "columns"):
        if key is not None and key not in rows.columns and key in getattr(getattr(rows, "index", None), "names", ()):
            rows = rows.reset_index()
        names = [str(name) for name in rows.columns]
        if len(set(names)) < len(names):
            raise InvalidArgument("the frame has two columns of one name: rename one")
        source: Iterable[Any] = ({name: None if _missing(value) else value for name, value in zip(names, row)}
                                 for row in rows.itertuples(index=False, name=None))
    elif isinstance(rows, Mapping):
        source = rows.items()
    else:
        if getattr(getattr(rows, "dtype", None), "kind", None) == "S" and getattr(rows, "ndim", 0) == 1:
            raise TypeError(_NO_ZEROS.format("the array has items"))  # those of a chararray have lost blanks, too
        try:
            source = iter(rows)
        except TypeError:
            raise TypeError(f"rows are pairs, records, dicts, a frame or a file, not {type(rows).__name__}") from None
    for number, row in enumerate(source, 1):
        if isinstance(row, Mapping):
            wanted = [_bytes(_member(row, name, number), number) for name in values]
            record = b"\t".join(wanted) if values else _bytes(dict(row), number)
            yield (None if key is None else _bytes(_member(row, key, number), number), record)
            continue
        if key is not None or values:
            raise TypeError(f"row {number} has no columns: key and value are for dicts, frames and files")
        if isinstance(row, tuple):
            if len(row) != 2:
                raise TypeError(f"row {number} has {len(row)} members: a pair is (key, record)")
            yield _bytes(row[0], number), _bytes(row[1], number)
        elif isinstance(row, (str, bytes, bytearray, memoryview)) or hasattr(row, "tobytes"):
            yield None, _bytes(row, number)
        else:
            raise TypeError(f"row {number} is {type(row).__name__}, not a record, a (key, record) pair or a dict")


_NO_ZEROS = ("{} of a numpy array of bytes, which have lost the zeros at their ends, as in its tolist() and in pandas: give "
             "rows of array.view('u1').reshape(len(array), -1)")


def _missing(value: Any) -> bool:
    """Whether a frame has no value here: NaN, NaT or NA."""
    try:
        return bool(value != value)
    except TypeError:  # NA is neither equal nor unequal to anything
        return type(value).__name__ == "NAType"
    except ValueError:
        return False  # an array


def _member(row: Mapping[Any, Any], name: str, number: int) -> Any:
    if name not in row:
        raise InvalidArgument(f"row {number} has no column \"{name}\", only {', '.join(map(str, row))}")
    return row[name]


def _bytes(value: Any, number: int) -> bytes:
    if isinstance(value, bytes):
        if hasattr(value, "dtype"):
            raise TypeError(_NO_ZEROS.format(f"row {number} has an item"))
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, memoryview) and value.format.lstrip("@=<>!") not in set("cbB?hHiIlLqQnNefd"):
        raise TypeError(f"row {number} is memory of format {value.format!r}, whose bytes are more than its values: give bytes")
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if value is None:
        raise InvalidArgument(f"row {number} has None where a key or record is needed")
    if hasattr(value, "filled"):
        raise TypeError(f"row {number} is of a masked array: give what its filled() gives")
    if getattr(value, "ndim", 0) and hasattr(value, "tobytes"):
        # Between fields, and in a longdouble, are bytes of whatever was in memory before; those of objects, and of texts of
        # any length, are addresses.
        if value.dtype.kind not in "biufcmMSU" or value.dtype.char in "gG":
            raise TypeError(f"row {number} is of an array of {value.dtype}, whose bytes are more than its values: give it "
                            "another dtype, or give dicts or the frame itself")
        return bytes(value.tobytes())
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"row {number}: {error}") from None


def _plain(value: Any) -> Any:
    """What JSON makes of numpy's numbers and of times."""
    if hasattr(value, "item"):
        plain = value.item()
        if getattr(getattr(value, "dtype", None), "kind", "") in ("M", "m") and not hasattr(plain, "isoformat"):
            raise TypeError(f"{value} is no time that Python's datetime has: give text")
        return plain
    if hasattr(value, "isoformat") and not _missing(value):
        return value.isoformat()
    raise TypeError(f"a value of type {type(value).__name__} is no JSON: give bytes or str")
