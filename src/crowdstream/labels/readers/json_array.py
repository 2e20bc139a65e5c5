"""A JSON array of rows as JSON lines, a piece at a time: it is never in memory as a whole.

Knows where a JSON value ends; nothing of what is in it.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError
from crowdstream.labels.readers.sources import Readable

QUOTE, BACKSLASH, COMMA, NEWLINE, RETURN, SPACE = b'"\\,\n\r '
BLOCK = 1 << 17
"""Bytes looked at together: what is noted of each stays in the cache."""
OPENING, CLOSING = (b"[", b"{"), (b"]", b"}")


class ArrayLines:
    r"""The rows of an array, each on a line of its own.

    >>> import io
    >>> ArrayLines(io.BytesIO(b'[{"a": 1},\n {"a": [2,\n 3]}]'), "rows.json").read(100).split(b"\n")
    [b' {"a": 1}', b'  {"a": [2,  3]}', b'']
    """

    def __init__(self, file: Readable, name: str) -> None:
        self._file = file
        self._name = name
        self._depth = 0
        self._inside = False
        self._escaped = False
        self._ended = False

    def read(self, size: int = -1) -> bytes:
        """About so many bytes, none at the end."""
        blocks: list[bytes] = []
        left = size if size >= 0 else sys.maxsize
        while left > 0 and (data := self._file.read(min(BLOCK, left))):
            blocks.append(self._lines(data))
            left -= len(data)
        if not blocks and not self._ended:
            raise InputError(self._name, "a JSON array, whole", "one that does not end")
        return b"".join(blocks)

    def _lines(self, data: bytes) -> bytes:
        if self._ended:
            self._check_nothing(data)
            return b"\n"
        text = np.frombuffer(data, np.uint8).copy()
        inside = self._inside_strings(data, text)
        outside = ~inside
        step = np.zeros(text.size, np.int8)
        for opening, closing in zip(OPENING, CLOSING, strict=True):
            step[text == opening[0]] = 1
            step[text == closing[0]] = -1
        step[inside] = 0
        depth = np.cumsum(step, dtype=np.int32) + self._depth
        self._depth = int(depth[-1])
        ends = np.flatnonzero((depth == 0) & (step == -1))
        if ends.size:
            self._ended = True
            self._check_nothing(data[ends[0] + 1 :])
            stop = ends[0] + 1
            text, depth, step, outside = text[:stop], depth[:stop], step[:stop], outside[:stop]
            text[-1] = NEWLINE
        text[outside & ((text == NEWLINE) | (text == RETURN)) & (depth > 0)] = SPACE
        text[outside & (depth == 1) & (text == COMMA)] = NEWLINE
        text[(depth == 1) & (step == 1)] = SPACE  # the array's own bracket
        return text.tobytes()

    def _inside_strings(self, data: bytes, text: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which bytes are in strings: behind an odd number of unescaped quotes."""
        quotes = text == QUOTE
        if b"\\" in data or self._escaped:
            quotes &= ~self._after_backslash(text)
        count = np.cumsum(quotes, dtype=np.int32) + self._inside
        self._inside = bool(count[-1] % 2)
        return (count % 2).astype(np.bool_)

    def _after_backslash(self, text: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which bytes are escaped: behind a run of backslashes that is odd."""
        slashes = text == BACKSLASH
        places = np.arange(text.size)
        # Where the run of backslashes before a byte began; a piece may begin within an escape.
        latest = np.maximum.accumulate(np.where(slashes, -1, places))
        run = places - 1 - np.concatenate([[-1], latest[:-1]])
        if self._escaped:
            run[: int(np.argmin(slashes)) + 1 if not slashes.all() else None] += 1
        self._escaped = bool(slashes[-1] and run[-1] % 2 == 0)
        odd: NDArray[np.bool_] = run % 2 == 1
        return odd

    def _check_nothing(self, data: bytes) -> None:
        if data.strip():
            raise InputError(self._name, "nothing behind the JSON array", repr(data.strip()[:40]))
