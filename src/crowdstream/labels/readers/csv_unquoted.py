"""CSV and TSV without quotes, large files: read in parts side by side.

Most files of labels are of this kind, and most of the time goes into reading them. At the first
quote or odd row the whole file is left to `csv_quoting`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from crowdstream.labels.batch import Codes
from crowdstream.labels.coded_labels import CodedLabels
from crowdstream.labels.readers.csv_rows import PADDING, Layout, RowCodes
from crowdstream.labels.text_codes import QUICK
from crowdstream.labels.text_loops import ODD
from crowdstream.parallel import threads

PIECE = 1 << 20
"""Bytes read at a time: they stay in the cache while they are looked at."""
SMALL = 16 << 20
"""A file of fewer bytes is not worth a second thread."""
NEWLINE = 10


def read_unquoted(path: str, layout: Layout, begin: int) -> CodedLabels | None:
    """The rows of a file from byte ``begin`` on; None if it is small, or not all simple."""
    size = os.path.getsize(path)
    parts = threads()
    if not QUICK or layout.columns or size < SMALL:
        return None
    cuts = [begin + (size - begin) * k // parts for k in range(parts + 1)]
    rows = size // layout.shortest + parts
    codes = np.empty(rows, np.int32), np.empty(rows, np.int32)

    def part(k: int) -> CodedLabels | None:
        at = cuts[k] // layout.shortest + k
        here = codes[0][at:], codes[1][at:]
        return _read_part(path, cuts[k], cuts[k + 1], cuts[k] > begin, layout, here)

    with ThreadPoolExecutor(parts) as pool:
        found = [coded for coded in pool.map(part, range(parts)) if coded is not None]
    return CodedLabels.concat(found, into=codes) if len(found) == parts else None


def _read_part(
    path: str, begin: int, end: int, inside: bool, layout: Layout, codes: tuple[Codes, Codes]
) -> CodedLabels | None:
    """The rows that begin in a part of a file."""
    with open(path, "rb") as file:
        if inside:  # a row that began before is another part's
            file.seek(begin - 1)
            begin += len(file.readline()) - 1
        file.seek(begin)
        rows = RowCodes(layout, max(end - begin, 0) + PIECE, codes)
        piece = bytearray(PIECE + PADDING)
        rest = 0
        while begin < end:
            got = file.readinto(memoryview(piece)[rest : min(PIECE, rest + end - begin)])
            begin += got
            filled = rest + got
            if begin >= end and piece[filled - 1] != NEWLINE:  # the last row goes on beyond
                tail = file.readline().removesuffix(b"\n") + b"\n"
                if len(tail) > PIECE:
                    return None
                piece[filled:] = tail + bytes(PIECE + PADDING)
                filled += len(tail)
            elif not got:
                return None  # a row longer than a piece, or a file that shrank meanwhile
            stop = piece.rfind(b"\n", 0, filled) + 1
            if piece.find(b'"', 0, stop) >= 0 or has_lone_returns(piece, stop):
                return None
            # No name for the array: a piece cannot grow as long as an array looks at it.
            if stop and rows.read(np.frombuffer(piece, np.uint8), 0, stop, quoted=False) == ODD:
                return None
            rest = filled - stop
            piece[:rest] = piece[stop:filled]
    return rows.finish()


def has_lone_returns(data: bytes | bytearray, stop: int) -> bool:
    """Whether a carriage return is not followed by a newline: rows might end there."""
    if data.find(b"\r", 0, stop) < 0:  # quicker than counting, and mostly so
        return False
    return data.count(b"\r", 0, stop) != data.count(b"\r\n", 0, stop)
