"""JSON lines: one object per line. Lines that are all alike are read by `json_template`, others by
polars; where it fails, line by line.

Knows nothing of other formats; an array comes as the lines that `json_array` makes of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from crowdstream.errors import InputError
from crowdstream.labels.choice_cells import write_list
from crowdstream.labels.coded_labels import CodedLabels, code_frame
from crowdstream.labels.column_hints import shown_columns, suggest_wide
from crowdstream.labels.columns import ALIASES, ROLES
from crowdstream.labels.label import as_text, shorten
from crowdstream.labels.meaning.shaping import Shaper
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.csv_files import BOM
from crowdstream.labels.readers.json_template import find_template, read_alike
from crowdstream.labels.readers.sources import Readable

if TYPE_CHECKING:
    import polars as pl


DEEPEST = 100
"""Arrays and objects that may be inside one another in a row: ten times what people nest, a tenth
of what parsers of JSON bear."""

LONGEST_LINE = 64 << 20
"""Bytes after which a line that has not ended is given up when a file is read in pieces."""

MORE = tuple(
    f'"{name}"'.encode()
    for role in ("question", "repeat")
    for name in ALIASES[role]
    if name not in ALIASES["task"]
)
"""Keys that tell questions or repeats: a later line may have one that the first has not."""

STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A string of JSON; one that is not closed goes on to the end."""


def decode_row(raw: bytes, where: str = "line") -> dict[str, object]:
    """The object on a line of JSON; anything else is refused, and so is what is nested too deep.

    Parameters
    ----------
    raw
        The line.
    where
        What messages call it.

    Examples
    --------
    >>> decode_row(b'{"task": "t1", "worker": "ann", "label": "spam"}')
    {'task': 't1', 'worker': 'ann', 'label': 'spam'}
    >>> decode_row(b'{"task": ' + b"[" * 1000 + b"]" * 1000 + b"}", "line 3")
    Traceback (most recent call last):
    crowdstream.errors.InputError: line 3: expected JSON nested at most 100 deep, found deeper
    """
    if is_too_deep(raw):
        raise InputError(where, f"JSON nested at most {DEEPEST} deep", "deeper")
    try:
        return msgspec.json.decode(raw, type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(where, "a JSON object", str(error)) from None


def is_too_deep(raw: bytes) -> bool:
    """Return True if JSON is nested deeper than `DEEPEST`; brackets in strings do not count."""
    if raw.count(b"[") + raw.count(b"{") <= DEEPEST:
        return False
    rest = np.frombuffer(STRING.sub(b"", raw), np.uint8)
    opening, closing = np.isin(rest, list(b"[{")), np.isin(rest, list(b"]}"))
    depth = np.cumsum(opening.astype(np.int64) - closing)
    return bool(depth.max(initial=0) > DEEPEST)


def _may_be_deep(data: bytes) -> bool:
    """Return True if some line of many has more brackets than may be nested; a quick look."""
    brackets = data.count(b"[") + data.count(b"{")
    if brackets - data.count(b"\n{") <= DEEPEST:
        return False
    text = np.frombuffer(data, np.uint8)
    so_far = np.cumsum((text == ord("[")) | (text == ord("{")), dtype=np.int64)
    ends = np.append(so_far[text == ord("\n")], brackets)
    return bool(np.diff(ends, prepend=0).max() > DEEPEST)


def read(data: str | bytes, name: str, shaper: Shaper, bad: BadRows) -> CodedLabels | pl.DataFrame:
    """A whole file, by its path or its bytes.

    Where a row is more than a label, what comes back is a table that `Shaper.shape` has made.
    """
    raw = data if isinstance(data, bytes) else Path(data).read_bytes()
    raw = raw.removeprefix(BOM)
    if not raw.strip():
        raise InputError(name, "one JSON object per line", "nothing")
    return _labels(raw, name, 1, shaper, bad)


def read_pieces(
    file: Readable, name: str, shaper: Shaper, bad: BadRows, size: int, unit: str = "line"
) -> Iterator[tuple[int, CodedLabels | pl.DataFrame]]:
    """A stream a piece at a time, cut between lines, each with its number of bytes.

    ``unit`` is what messages call a line.
    """
    line, rest, blank = 1, b"", True
    while True:
        more = file.read(size)
        data = rest + more
        cut = data.rfind(b"\n") + 1 if more else len(data)
        piece, rest = data[:cut], data[cut:]
        if len(rest) > LONGEST_LINE:
            raise InputError(name, f"{unit}s of at most {LONGEST_LINE:,} bytes", "a longer one")
        if line == 1:
            piece = piece.removeprefix(BOM)
        if piece.strip():
            blank = False
            yield len(piece), _labels(piece, name, line, shaper, bad, unit)
        line += piece.count(b"\n")
        if not more:
            if blank:
                found = "nothing" if unit == "line" else "an empty array"
                raise InputError(name, f"one JSON object per {unit}", found)
            return


def _labels(
    data: bytes, name: str, line: int, shaper: Shaper, bad: BadRows, unit: str = "line"
) -> CodedLabels | pl.DataFrame:
    start = data.lstrip()
    first = start[: start.find(b"\n")] if b"\n" in start else start
    try:
        header = list(msgspec.json.decode(first, type=dict[str, object]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        header = []
    more = any(alias in data for alias in MORE)
    if shaper.names.wide or more or not header:
        return _columns(data, name, line, shaper, bad, unit)
    roles = shaper.look_at(header, f"{name}, {unit} {line}")
    if not roles.plain:
        return _columns(data, name, line, shaper, bad, unit)
    names = roles.task, str(roles.worker), roles.labels[0]
    template = find_template(first.strip())
    if template is not None and unit == "line":
        found = read_alike(data, template, names)
        if found is not None:
            return found
    table = _by_polars(data, names)
    if table is None:
        return _columns(data, name, line, shaper, bad, unit)
    return code_frame(table)


def _by_polars(data: bytes, names: tuple[str, str, str]) -> pl.DataFrame | None:
    """Task, worker and label of lines that are in order; None if any may not be."""
    import polars as pl

    if _may_be_deep(data) or b"\\ud" in data or b"\\uD" in data:  # half characters
        return None
    try:
        table = pl.read_ndjson(data, schema=dict.fromkeys(names, pl.String)).select(names)
    except pl.exceptions.PolarsError:
        return None
    table.columns = list(ROLES)
    gaps = table.null_count().row(0)
    # A list or an object became its text.
    odd = table.select((pl.all().str.contains(r"^[\[{]") | (pl.all() == "")).any()).row(0)
    return None if any(gaps) or any(odd) else table


def _columns(
    data: bytes, name: str, line: int, shaper: Shaper, bad: BadRows, unit: str
) -> pl.DataFrame:
    """The labels of lines that are read one by one, of any keys."""
    import polars as pl

    records = list(_records(data, name, line, bad, unit))
    header = list(dict.fromkeys(key for _, record, _ in records for key in record))
    if not records:
        return pl.DataFrame(schema=dict.fromkeys(ROLES, pl.String))
    where = f"{name}, {unit} {records[0][0]}"
    try:
        roles = shaper.look_at(header, where)
    except InputError as error:
        if not shaper.names.wide:
            rows = [[_shown(record.get(key)) for key in header] for _, record, _ in records[:60]]
            suggest_wide(error, header, rows)
        raise
    columns = shaper.needed(header)
    ids = {column for column in (roles.task, roles.worker) if column is not None}
    kept: list[list[str | None]] = []
    for number, record, shown in records:
        where = f"{name}, {unit} {number}"
        if any(column not in record for column in (columns if roles.plain else ids)):
            bad.add(where, "task, worker and label", shown_columns(list(record)), shown)
            continue
        cells = _cells(record, columns, ids, shaper, where, shown, bad)
        if cells is not None:
            kept.append(cells)
    return shaper.shape(pl.DataFrame(kept, dict.fromkeys(columns, pl.String), orient="row"))


def _cells(
    record: dict[str, object],
    columns: Sequence[str],
    ids: set[str],
    shaper: Shaper,
    where: str,
    shown: str,
    bad: BadRows,
) -> list[str | None] | None:
    """The values of a record as text, or None if it is bad. Lists of values are sets of labels."""
    cells: list[str | None] = []
    chosen = shaper.roles is not None and bool(shaper.roles.labels)
    for column in columns:
        value = record.get(column)
        found = as_text(value)
        if found is NotImplemented and column not in ids:
            found = list_as_text(value)
            if found is NotImplemented and not chosen:
                found = None  # a column that may turn out to hold no labels
        if found is NotImplemented:
            what = f"{type(value).__name__} {shorten(value)}"
            bad.add(f"{where}, column {column!r}", "text or a number", what, shown)
            return None
        if not found and column in ids:
            bad.add(f"{where}, column {column!r}", "a value", "nothing", shown)
            return None
        cells.append(str(found) if found else None)
    return cells


def _shown(value: object) -> str | None:
    found = as_text(value)
    return found if isinstance(found, str) else None


def list_as_text(value: object) -> object:
    """A list of single values as JSON text; NotImplemented for anything else.

    >>> list_as_text(["cat", 3]), list_as_text({"a": 1})
    ('["cat", "3"]', NotImplemented)
    """
    if not isinstance(value, list):
        return NotImplemented
    texts = [as_text(each) for each in value]
    if not all(isinstance(text, str) for text in texts):
        return NotImplemented
    return write_list([str(text) for text in texts])


def _records(
    data: bytes, name: str, line: int, bad: BadRows, unit: str
) -> Iterator[tuple[int, dict[str, object], str]]:
    """Number, object and text of the lines that hold an object."""
    for number, raw in enumerate(data.split(b"\n"), start=line):
        if not raw.strip():
            continue
        where = f"{name}, {unit} {number}"
        shown = raw.decode("utf-8", errors="backslashreplace")
        if is_too_deep(raw):
            bad.add(where, f"JSON nested at most {DEEPEST} deep", "deeper", shown)
            continue
        try:
            record = json.loads(raw, object_pairs_hook=_first_of_each, parse_constant=_refuse)
        except ValueError as error:
            bad.add(where, "a JSON object", str(error), shown)
            continue
        if not isinstance(record, dict):
            bad.add(where, "a JSON object", type(record).__name__, shown)
        elif not _writable(record):
            bad.add(where, "text that can be written", "half a character", shown)
        else:
            yield number, record, shown


def _first_of_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Keep the first of a key that comes twice, as polars does."""
    return dict(reversed(pairs))


def _writable(record: dict[str, object]) -> bool:
    """JSON can spell text that UTF-8 cannot: lone surrogates."""
    try:
        for value in (*record, *record.values()):
            if isinstance(value, str):
                value.encode()
            elif isinstance(value, list):
                "".join(each for each in value if isinstance(each, str)).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")
