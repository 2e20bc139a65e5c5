"""JSON lines that are all written alike, bytes → codes: the quick way for what programs write.

Lines of the same three keys in the same order, with texts as values and nothing escaped, differ in
their values only. What is around the values is taken away, and the rest is read as CSV is. At the
first line that is otherwise the text is left to `jsonl`. Knows nothing of files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from crowdstream.labels.coded_labels import CodedLabels
from crowdstream.labels.readers.csv_rows import PADDING, Bytes, Layout, RowCodes
from crowdstream.labels.template_loops import keep_values
from crowdstream.labels.text_codes import QUICK
from crowdstream.labels.text_loops import ODD
from crowdstream.parallel import threads

SEPARATOR = "\x1f"
"""Separator of the values that are left: no text of JSON has it."""

PIECE = 4 << 20
"""Bytes looked at together, one piece per core at a time."""

TEXT = rb'([^"\\]*)'
LINE = re.compile(
    rb'(\{\s*"' + TEXT + rb'"\s*:\s*")' + (TEXT + rb'("\s*,\s*"' + TEXT + rb'"\s*:\s*")') * 2
    + TEXT + rb'("\s*\})'
)  # fmt: skip
"""A line of three keys and texts: what is around the values, the keys, and the values."""


class Template(NamedTuple):
    """Text around the values of a line, and the keys in the order they have there."""

    before: bytes
    first: bytes
    second: bytes
    after: bytes
    keys: tuple[str, str, str]


def find_template(line: bytes) -> Template | None:
    """Find how a line is written; None if it is not of three keys and texts.

    >>> find_template(b'{"task": "t1", "worker": "ann", "label": "spam"}').keys
    ('task', 'worker', 'label')
    """
    found = LINE.fullmatch(line)
    if found is None or not line.isascii():
        return None
    before, key, _, first, second_key, _, second, third_key, _, after = found.groups()
    keys = (key.decode(), second_key.decode(), third_key.decode())
    return Template(before, first, second, after, keys) if len(set(keys)) == 3 else None


def read_alike(data: bytes, template: Template, roles: Sequence[str]) -> CodedLabels | None:
    """The labels of lines that are all written like the template; None if one is not."""
    if not QUICK:
        return None
    places = [template.keys.index(role) for role in roles]
    layout = Layout(SEPARATOR, list(template.keys), tuple(places))
    if not data.endswith(b"\n"):
        data += b"\n"
    text = np.frombuffer(data, np.uint8)
    cuts = [0]
    while cuts[-1] < len(data):
        cuts.append(data.find(b"\n", min(cuts[-1] + PIECE, len(data) - 1)) + 1)
    with ThreadPoolExecutor(threads()) as pool:
        parts = pool.map(
            lambda ends: _read_piece(text[ends[0] : ends[1]], template, layout), pairwise(cuts)
        )
        found = []
        for part in parts:
            if part is None:
                pool.shutdown(cancel_futures=True)
                return None
            found.append(part)
    return CodedLabels.concat(found)


def _read_piece(data: Bytes, template: Template, layout: Layout) -> CodedLabels | None:
    """The labels of some lines, each with its newline."""
    end = b"\r\n" if data[-2:].tobytes() == b"\r\n" else b"\n"
    around = [template.before, template.first, template.second, template.after + end]
    values = np.zeros(data.size + PADDING, np.uint8)
    size = keep_values(
        data,
        np.frombuffer(b"".join(around), np.uint8),
        np.cumsum([len(part) for part in around], dtype=np.int64),
        values,
        ord(layout.separator),
    )
    if size < 0:
        return None
    codes = RowCodes(layout, size)
    return None if codes.read(values, 0, size) == ODD else codes.finish()
