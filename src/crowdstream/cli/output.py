"""Tables and states → files, whole or not at all; talk → standard error."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from crowdstream.errors import InputError

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

DIGITS = 6
"""Of numbers in text files: more than they are good for, and quicker written than all of them."""

SPILL = 1_000_000
"""Rows of a Parquet file that are kept in memory."""

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")


def check_output(path: str | None, option: str) -> None:
    """Refuse, before any work, a file that could not be written."""
    if path is None or path == "-":
        return
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(option, f"a name that ends in {' '.join(SUFFIXES)}", repr(path))
    if not Path(path).resolve().parent.is_dir():
        raise InputError(option, "a folder that exists", repr(str(Path(path).parent)))


def check_apart(inputs: list[str], outputs: dict[str, str | None]) -> None:
    """Refuse to write two things to one file, or over what is read."""
    taken = {os.path.realpath(path): "the labels" for path in inputs if path != "-"}
    for option, path in outputs.items():
        if path is None:
            continue
        place = path if path == "-" else os.path.realpath(path)
        if place in taken:
            raise InputError(option, "a place of its own", f"{path!r}, as for {taken[place]}")
        taken[place] = option


@contextlib.contextmanager
def aside(path: str) -> Iterator[str]:
    """A name to write under; the file takes its own name when all went well, or vanishes."""
    import tempfile

    target = Path(path).resolve()
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    try:
        yield name
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def save_bytes(path: str, data: bytes) -> None:
    """Bytes to a file, at once or not at all, and on the disk when this returns."""
    with aside(path) as name, open(name, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


class TableWriter:
    """Writes a table, in one piece or several, to a file by its extension or to standard output."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.kind = ".csv" if path in (None, "-") else Path(str(path)).suffix.lower()
        self._first = True

    @contextlib.contextmanager
    def open(self) -> Iterator[Callable[[pl.DataFrame], None]]:
        """A function that writes a piece."""
        if self.path in (None, "-"):
            yield lambda piece: self._write(piece, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        with aside(str(self.path)) as name:
            if self.kind == ".parquet":
                with _parquet(name) as add:
                    yield add
            else:
                with open(name, "wb") as file:
                    yield lambda piece: self._write(piece, file)

    def _write(self, piece: pl.DataFrame, file: IO[bytes]) -> None:
        if self.kind in (".jsonl", ".ndjson"):
            piece.write_ndjson(file)
        else:
            import polars.selectors as cs

            separator = "\t" if self.kind == ".tsv" else ","
            piece = piece.with_columns(cs.float().round(DIGITS))
            piece.write_csv(file, include_header=self._first, separator=separator)
        self._first = False


@contextlib.contextmanager
def _parquet(path: str) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Parquet cannot be written a piece at a time: pieces lie beside it until the end."""
    import tempfile

    import polars as pl

    with tempfile.TemporaryDirectory(prefix=".pieces.", dir=Path(path).parent) as folder:
        pieces: list[pl.DataFrame] = []
        files: list[Path] = []

        def spill() -> None:
            files.append(Path(folder) / f"{len(files)}.arrow")
            pl.concat(pieces).write_ipc(files[-1])
            pieces.clear()

        def add(piece: pl.DataFrame) -> None:
            pieces.append(piece)
            if sum(each.height for each in pieces) >= SPILL:
                spill()

        yield add
        if not files:
            pl.concat(pieces).write_parquet(path)
            return
        if pieces:
            spill()
        pl.scan_ipc(files).sink_parquet(path)


def write_table(table: pl.DataFrame, path: str | None) -> None:
    """A whole table."""
    with TableWriter(path).open() as write:
        write(table)


def talk() -> Console:
    """Where people are spoken to: standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False)
