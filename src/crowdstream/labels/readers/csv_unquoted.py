"""CSV and TSV without quotes, large files: read in parts side by side.

Most files of labels are of this kind, and most of the time goes into reading them. At the first
quote or odd row the whole file is left to `csv_quoting`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from crowdstream.labels.coded_labels import CodedLabels
from crowdstream.labels.grouping import gather_rows
from crowdstream.labels.grouping_loops import recode
from crowdstream.labels.readers.csv_rows import PADDING, Layout, RowCodes
from crowdstream.labels.text_codes import QUICK, add_text
from crowdstream.labels.text_loops import ODD
from crowdstream.parallel import threads

PIECE = 1 << 20
"""Bytes read at a time: they stay in the cache while they are looked at."""
SMALL = 16 << 20
"""A file of fewer bytes is not worth a second thread."""
NEWLINE = 10
SPREAD = 0.75
"""Share of rows that are of another task than the row before, from which on tasks are coded while
rows are read: where several rows of a task stand together, that takes longer than it saves."""


def read_unquoted(
    path: str, layout: Layout, begin: int, *, any_order: bool = False
) -> CodedLabels | None:
    """The rows of a file from byte ``begin`` on; None if it is small, or not all simple.

    ``any_order``: whether the rows of a task may be brought together.
    """
    size = os.path.getsize(path)
    parts = threads()
    if not QUICK or layout.columns or size < SMALL:
        return None
    cuts = [begin + (size - begin) * k // parts for k in range(parts + 1)]
    rows = size // layout.shortest + parts
    codes = np.empty(rows, np.int32), np.empty(rows, np.int32)
    spread = any_order and _is_spread(path, begin, layout)

    def part(k: int) -> tuple[RowCodes, CodedLabels] | None:
        at = cuts[k] // layout.shortest + k
        length = max(cuts[k + 1] - cuts[k], 0) + PIECE
        here = RowCodes(layout, length, (codes[0][at:], codes[1][at:]), spread=spread)
        if not _read_part(path, cuts[k], cuts[k + 1], cuts[k] > begin, here):
            return None
        return here, here.one_run() if spread else here.finish()

    with ThreadPoolExecutor(parts) as pool:
        found = [read for read in pool.map(part, range(parts)) if read is not None]
    if len(found) < parts:
        return None
    coded = CodedLabels.concat([rows for _, rows in found], into=codes)
    return _bring_together([rows for rows, _ in found], coded) if spread else coded


def _is_spread(path: str, begin: int, layout: Layout) -> bool:
    """Return whether most rows of a file's first piece are of another task than the row before."""
    piece = RowCodes(layout, PIECE)
    with open(path, "rb") as file:
        file.seek(begin)
        head = bytearray(file.read(PIECE))
    stop = head.rfind(b"\n") + 1
    if b'"' in head or has_lone_returns(head, stop):
        return False
    text = np.frombuffer(head + bytes(PADDING), np.uint8)
    if not stop or piece.read(text, 0, stop, quoted=False) == ODD:
        return False
    return piece.reader.runs > SPREAD * piece.reader.rows


def _bring_together(parts: list[RowCodes], rows: CodedLabels) -> CodedLabels:
    """The rows of all parts, those of a task together, tasks as they first appear."""
    first, *others = parts
    tasks = [first.tasks[: first.reader.rows]]
    for part in others:
        names = part.task_names.column(0)
        firsts = np.empty(len(first.task_names) + len(names), np.int64)
        new = add_text(names, first.task_names, firsts)
        mine = part.tasks[: part.reader.rows]
        recode(mine, new)
        tasks.append(mine)
    batch = gather_rows(np.concatenate(tasks), rows.batch, first.task_names.column(0))
    return CodedLabels(batch, rows.workers, rows.classes)


def _read_part(path: str, begin: int, end: int, inside: bool, rows: RowCodes) -> bool:
    """Read the rows that begin in a part of a file; return whether all are simple."""
    with open(path, "rb") as file:
        if inside:  # a row that began before is another part's
            file.seek(begin - 1)
            begin += len(file.readline()) - 1
        file.seek(begin)
        piece = bytearray(PIECE + PADDING)
        rest = 0
        while begin < end:
            got = file.readinto(memoryview(piece)[rest : min(PIECE, rest + end - begin)])
            begin += got
            filled = rest + got
            if begin >= end and piece[filled - 1] != NEWLINE:  # the last row goes on beyond
                tail = file.readline().removesuffix(b"\n") + b"\n"
                if len(tail) > PIECE:
                    return False
                piece[filled:] = tail + bytes(PIECE + PADDING)
                filled += len(tail)
            elif not got:
                return False  # a row longer than a piece, or a file that shrank meanwhile
            stop = piece.rfind(b"\n", 0, filled) + 1
            if piece.find(b'"', 0, stop) >= 0 or has_lone_returns(piece, stop):
                return False
            # No name for the array: a piece cannot grow as long as an array looks at it.
            if stop and rows.read(np.frombuffer(piece, np.uint8), 0, stop, quoted=False) == ODD:
                return False
            rest = filled - stop
            piece[:rest] = piece[stop:filled]
    return True


def has_lone_returns(data: bytes | bytearray, stop: int) -> bool:
    """Return True if a carriage return is not followed by a newline: rows might end there."""
    if data.find(b"\r", 0, stop) < 0:  # quicker than counting, and mostly so
        return False
    return data.count(b"\r", 0, stop) != data.count(b"\r\n", 0, stop)
