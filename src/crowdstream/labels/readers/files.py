"""Paths, globs and standard input → `CodedLabels`, whole or in batches.

Knows which format is read where; nothing of what is in a file.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels.coded_labels import CodedLabels, code_frame
from crowdstream.labels.readers import columnar, csv_files, excel, jsonl
from crowdstream.labels.readers.archives import read_archive
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.header_rows import from_header, label_header, refuse_header_options
from crowdstream.labels.readers.input_options import InputOptions
from crowdstream.labels.readers.json_array import ArrayLines
from crowdstream.labels.readers.sniffing import SNIFFED, Dialect, sniff
from crowdstream.labels.readers.sources import (
    Readable,
    Source,
    check_size,
    clear_errors,
    open_bytes,
)
from crowdstream.labels.readers.text_stream import TextStream, decide_whole, decode_head
from crowdstream.labels.readers.tool_files import finish, read_tool
from crowdstream.labels.readers.tools import TOOL_NAMES, Found, describe_table, find_tool
from crowdstream.labels.tables import ColumnNames, count_roles
from crowdstream.plain_text import counted

if TYPE_CHECKING:
    import polars as pl

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
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".zip": "zip",
    ".eval": "zip",
}

COLUMNAR = ("parquet", "ipc")

BATCH_BYTES = 8 << 20
"""Text is parsed this much at a time when it is not read whole."""


def find_sources(
    patterns: Sequence[str],
    kind: str | None = None,
    options: InputOptions = InputOptions(),  # noqa: B008 a tuple
    *,
    option: str = "",
) -> list[Source]:
    """The files that paths, globs and ``-`` stand for, in order; each must exist.

    Parameters
    ----------
    patterns
        Paths, globs and ``-``.
    kind
        Their format, where their names do not tell, or the tool that wrote them.
    options
        What else is known of them.
    option
        The option that named them, for messages; none for the files of labels.
    """
    if kind in TOOL_NAMES:
        kind, options = None, options._replace(tool=kind)
    elif kind is not None and kind not in FORMATS.values():
        known = " ".join(dict.fromkeys([*FORMATS.values(), *TOOL_NAMES]))
        raise InputError("--format", known, repr(kind))
    found: list[Source] = []
    for pattern in patterns:
        if pattern == "-":
            found.append(Source("-", kind or "text", "", options, option))
            continue
        paths = [pattern] if _exists(pattern) else sorted(glob.glob(pattern, recursive=True))
        if not paths:
            raise InputError(option or "files", "a file that exists", repr(pattern))
        found += [_source(path, kind, options, option) for path in paths]
    return found


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError as error:  # a name too long, a folder that may not be entered
        raise InputError(path[:200], "a file that can be read", error.strerror or "none") from None


def _source(path: str, named: str | None, options: InputOptions, option: str) -> Source:
    if Path(path).is_dir():
        raise InputError(option or "files", "a file", f"a folder, {path!r}")
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in (".gz", ".zst") else ""
    kind = named or FORMATS.get(suffixes[-1] if suffixes else "")
    if kind is None and options.tool is not None:
        kind = "text"
    if kind is None:
        known = " ".join(FORMATS)
        raise InputError(path, f"a name that ends in {known} (.gz, .zst)", "another; use --format")
    return Source(path, kind, packed, options, option)


def read_all(sources: Sequence[Source], names: ColumnNames, bad: BadRows) -> CodedLabels:
    """All labels of the sources.

    Parameters
    ----------
    sources
        What `find_sources` found.
    names
        The columns.
    bad
        What to do with bad rows; takes what is to be said of the files, too.
    """
    pieces = [_read(source, names, bad) for source in sources]
    finish(bad)
    found = CodedLabels.concat(pieces)
    if bad.explain is not None:
        tasks, _ = found.task_order()
        shown = counted(int(tasks.max(initial=-1)) + 1, "task")
        shown += f", {counted(len(found.workers), 'worker')}, {counted(found.height, 'label')}"
        bad.explain(f"in all {shown}")
    return found


def read_tables(
    sources: Sequence[Source], names: ColumnNames, bad: BadRows
) -> Iterator[pl.DataFrame]:
    """The labels of each source as tables; those of tools say when (at), if they know."""
    for source in sources:
        with clear_errors(source):
            check_size(source)
            for _, found in _pieces(source, names, bad, BATCH_BYTES, whole=True):
                yield found.frame() if isinstance(found, CodedLabels) else found
    finish(bad)


def _read(source: Source, names: ColumnNames, bad: BadRows) -> CodedLabels:
    with clear_errors(source):
        check_size(source)
        if source.format in COLUMNAR:
            refuse_header_options(source.options, source.name, source.format)
            table = columnar.read(columnar_data(source), source.name, source.format, names, bad)
            return code_frame(table)
        if not source.piped and not source.packed and source.format not in ("xlsx", "zip"):
            dialect, tool, head = _sniff_file(source, names)
            if dialect.plain and dialect.kind != "array" and tool is None:
                _explain_table(head, dialect, source, names, bad)
                return _read_plain(source, dialect, names, bad)
        # What is packed or piped is never in memory as text.
        pieces = _pieces(source, names, bad, BATCH_BYTES, whole=True)
        return CodedLabels.concat([_coded(found) for _, found in pieces])


def _coded(found: CodedLabels | pl.DataFrame) -> CodedLabels:
    return found if isinstance(found, CodedLabels) else code_frame(found)


def columnar_data(source: Source) -> str | bytes:
    """A file of columns as polars takes it: its path, or its bytes if it is packed or piped."""
    if not source.packed and source.path != "-":
        return source.path
    with open_bytes(source) as file:
        return file.read()


def _sniff_file(source: Source, names: ColumnNames) -> tuple[Dialect, Found | None, str]:
    with open(source.path, "rb") as file:
        head = file.read(SNIFFED)
    dialect = sniff(head, source.format, source.options, partial(count_roles, names))
    text = decode_head(head, dialect)
    return dialect, _find_tool(text, dialect, source, names), text


def _find_tool(head: str, dialect: Dialect, source: Source, names: ColumnNames) -> Found | None:
    """Return the tool that a text is of, if any; one whose columns the user names is of none."""
    found, options = None, source.options
    if options.columns is None:
        found = find_tool(head, dialect, names, options.tool, source.name)
    if dialect.kind != "csv":
        refuse_header_options(options, source.name, "JSON")
    if found is not None:
        refuse_header_options(options, source.name, found.tool.title)
    return found


def _explain_table(
    head: str, dialect: Dialect, source: Source, names: ColumnNames, bad: BadRows
) -> None:
    if bad.explain is not None:
        if dialect.kind == "csv":
            head = from_header(head, dialect.separator, label_header(names), source.options)
        bad.explain(f"{source.name}: read as {describe_table(head, dialect, names)}")


def _read_plain(source: Source, dialect: Dialect, names: ColumnNames, bad: BadRows) -> CodedLabels:
    """A whole file of text that readers take as it is, from its path."""
    if dialect.kind == "jsonl":
        bad.note(dialect.note(source.name))
        return jsonl.read(source.path, source.name, names, bad)
    found = dialect

    def decode(data: bytes) -> bytes:
        nonlocal found
        data, found = decide_whole(data, dialect)
        return data

    coded = csv_files.read(
        source.path, source.name, dialect.separator, names, bad, decode, source.options
    )
    bad.note(found.note(source.name))
    return coded


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
            check_size(source)
            for read, found in _pieces(source, names, bad, size):
                yield read, _coded(found)
    finish(bad)


def _pieces(
    source: Source, names: ColumnNames, bad: BadRows, size: int, *, whole: bool = False
) -> Iterator[tuple[int, CodedLabels | pl.DataFrame]]:
    """The labels of a source a piece at a time; ``whole``: what a tool wrote as one piece."""
    name = source.name
    if source.format in COLUMNAR:
        refuse_header_options(source.options, name, source.format)
        data = columnar_data(source)
        pieces = columnar.read_pieces(data, name, source.format, names, bad)
        yield from ((read, code_frame(table)) for read, table in pieces)
    elif source.format == "xlsx":
        sheet = excel.read_sheet(source, label_header(names), bad.note)
        yield 0, code_frame(columnar.read_frame(sheet, names, bad))
    elif source.format == "zip":
        for entry, file in read_archive(source):
            kind = FORMATS[PurePath(entry).suffix.lower()]
            path = f"{source.path}/{entry}"
            inside = source._replace(path=path, format=kind, archive=name)
            yield from _text_pieces(file, inside, names, bad, size, whole=whole)
    else:
        with open_bytes(source) as file:
            yield from _text_pieces(file, source, names, bad, size, whole=whole)


def _text_pieces(
    file: Readable, source: Source, names: ColumnNames, bad: BadRows, size: int, *, whole: bool
) -> Iterator[tuple[int, CodedLabels | pl.DataFrame]]:
    name = source.name
    text = TextStream(file, source, partial(count_roles, names))
    tool = _find_tool(text.head, text.dialect, source, names)
    if tool is None:
        _explain_table(text.head, text.dialect, source, names, bad)
    if tool is not None:
        yield from read_tool(text, tool, source, bad, size, whole=whole)
    elif text.dialect.kind == "csv":
        separator = text.dialect.separator
        yield from csv_files.read_pieces(text, name, separator, names, bad, size, source.options)
    else:
        array = text.dialect.kind == "array"
        lines = ArrayLines(text, name) if array else text
        unit = "row" if array else "line"
        yield from jsonl.read_pieces(lines, name, names, bad, size, unit)
    bad.note(text.dialect.note(name))
