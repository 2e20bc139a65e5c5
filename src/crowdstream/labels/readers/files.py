"""Paths, globs and standard input → `CodedLabels`, whole or in batches.

Knows which format is read where; nothing of what is in a file.
"""

from __future__ import annotations

import glob
import gzip
import io
import os
import select
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple, cast

from crowdstream.errors import InputError
from crowdstream.labels.coded_labels import CodedLabels, code_frame
from crowdstream.labels.readers import columnar, csv_files, jsonl
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.csv_files import BOM
from crowdstream.labels.tables import ColumnNames

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}

BATCH_BYTES = 8 << 20
"""Text is parsed this much at a time when it is not read whole."""


class Source(NamedTuple):
    """Where labels come from: a path or ``-``, its format, and how it is packed."""

    path: str
    format: str
    packed: str = ""

    @property
    def name(self) -> str:
        """As messages name it."""
        return "standard input" if self.path == "-" else self.path

    @property
    def piped(self) -> bool:
        """Whether it can be read only once."""
        return self.path == "-" or not Path(self.path).is_file()


def find_sources(patterns: Sequence[str], kind: str | None = None) -> list[Source]:
    """The files that paths, globs and ``-`` stand for, in order; each must exist."""
    if kind is not None and kind not in FORMATS.values():
        raise InputError("--format", " ".join(dict.fromkeys(FORMATS.values())), repr(kind))
    found: list[Source] = []
    for pattern in patterns:
        if pattern == "-":
            found.append(Source("-", kind or "text"))
            continue
        paths = [pattern] if Path(pattern).exists() else sorted(glob.glob(pattern, recursive=True))
        if not paths:
            raise InputError("files", "a file that exists", repr(pattern))
        found += [_source(path, kind) for path in paths]
    return found


def _source(path: str, named: str | None) -> Source:
    if Path(path).is_dir():
        raise InputError("files", "a file", f"a folder, {path!r}")
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in (".gz", ".zst") else ""
    kind = named or FORMATS.get(suffixes[-1] if suffixes else "")
    if kind is None:
        known = " ".join(FORMATS)
        raise InputError(path, f"a name that ends in {known} (.gz, .zst)", "another; use --format")
    return Source(path, kind, packed)


def open_bytes(source: Source) -> IO[bytes]:
    """The unpacked bytes of a source."""
    try:
        if source.path == "-":
            return io.BufferedReader(_Interruptible(sys.stdin.fileno()))
        if source.packed == ".gz":
            return cast("IO[bytes]", gzip.open(source.path))
        if source.packed == ".zst":
            return _open_zstd(source.path)
        return open(source.path, "rb")
    except OSError as error:
        raise InputError(source.name, "a file that can be read", str(error)) from None


class _Interruptible(io.RawIOBase):
    """Standard input, waited for a moment at a time, so that Ctrl-C works in between.

    A read that waits is not interrupted when another thread gets the signal.
    """

    def __init__(self, number: int) -> None:
        self.number = number

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, into: bytearray | memoryview) -> int:  # type: ignore[override]
        """What there is, once there is any."""
        while not select.select([self.number], [], [], 0.2)[0]:
            pass
        data = os.read(self.number, len(into))
        into[: len(data)] = data
        return len(data)


def _open_zstd(path: str) -> IO[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return cast("IO[bytes]", zstd.open(path))


def read_all(sources: Sequence[Source], names: ColumnNames, bad: BadRows) -> CodedLabels:
    """All labels of the sources.

    Parameters
    ----------
    sources
        What `find_sources` found.
    names
        The columns.
    bad
        What to do with bad rows.
    """
    return CodedLabels.concat([_read(source, names, bad) for source in sources])


def _read(source: Source, names: ColumnNames, bad: BadRows) -> CodedLabels:
    with clear_errors(source):
        if source.format in ("parquet", "ipc"):
            return code_frame(columnar.read(source.path, source.name, source.format, names, bad))
        whole = not source.piped and not source.packed
        data: str | bytes = source.path
        if not whole:
            with open_bytes(source) as file:
                data = file.read()
        if source.format == "jsonl" or (source.format == "text" and _is_json(data)):
            return code_frame(jsonl.read(data, source.name, names, bad))
        return csv_files.read(data, source.name, _separator(source), names, bad)


def read_batches(
    sources: Sequence[Source], names: ColumnNames, bad: BadRows, size: int = BATCH_BYTES
) -> Iterator[tuple[int, CodedLabels]]:
    """The labels of the sources a batch at a time, each with the bytes it was read from.

    Parameters
    ----------
    sources, names, bad
        As for `read_all`.
    size
        Bytes of text read at a time.
    """
    for source in sources:
        with clear_errors(source):
            yield from _pieces(source, names, bad, size)


def _pieces(
    source: Source, names: ColumnNames, bad: BadRows, size: int
) -> Iterator[tuple[int, CodedLabels]]:
    name = source.name
    if source.format in ("parquet", "ipc"):
        pieces = columnar.read_pieces(source.path, name, source.format, names, bad)
        yield from ((read, code_frame(table)) for read, table in pieces)
        return
    with open_bytes(source) as file:
        first = b"" if source.format != "text" else file.peek(1)[:64]  # type: ignore[attr-defined]
        if source.format == "jsonl" or _is_json(first):
            pieces = jsonl.read_pieces(file, name, names, bad, size)
            yield from ((read, code_frame(table)) for read, table in pieces)
        else:
            yield from csv_files.read_pieces(file, name, _separator(source), names, bad, size)


def _is_json(data: str | bytes) -> bool:
    """Whether text whose format is not given begins as JSON lines do."""
    start = data.encode() if isinstance(data, str) else data[:64]
    return start.removeprefix(BOM).lstrip().startswith(b"{")


def _separator(source: Source) -> str:
    return "\t" if source.format == "tsv" else ","


class clear_errors:  # noqa: N801 used as a verb
    """Errors of the operating system and of unpacking as `InputError`."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        unpacking = type(error).__name__ in ("ZstdError", "error")  # zlib's is called error
        if (isinstance(error, (OSError, EOFError)) or unpacking) and not isinstance(
            error, BrokenPipeError
        ):
            what = f"a {self.source.packed or 'readable'} file, whole".replace("a .", "a whole .")
            raise InputError(self.source.name, what, str(error) or type(error).__name__) from None
