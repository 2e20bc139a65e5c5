"""Archives (.zip): what they hold, never more of it than allowed, and which files of it are labels.

Workbooks are such archives too. Knows nothing of what is in the files.
"""

from __future__ import annotations

import io
import itertools
import lzma
import sys
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath

from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.labels.column_hints import shown_columns
from crowdstream.labels.readers.sources import HARMLESS, Readable, Source, open_bytes, too_large

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:
    from backports import zstd
    from backports.zstd import zipfile  # logs of inspect_ai are packed with zstd inside

__all__ = ["check_unpacked", "read_archive", "unpack_entry", "zipfile"]

BROKEN = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, zstd.ZstdError),
    *(ValueError, RuntimeError, EOFError, OSError, KeyError),
)
"""Errors of unpacking where bytes are not what they should be; a RuntimeError where a password is
asked for, or a method is not known."""

UNPACKED_MAX = 4 << 30
"""Bytes that an archive may hold unless ``--max-bytes`` says: the million rows that a sheet of a
workbook can have take some hundred millions."""

TEXTS = (".csv", ".tsv", ".json", ".jsonl")
"""Files in an archive that may hold labels."""

SAMPLES = "samples/"
"""The folder of a log of inspect_ai (.eval) that has a file per sample."""

LOG = "samples.json"
"""Name of a log's samples, taken together as a log in JSON has them."""


def read_archive(source: Source) -> Iterator[tuple[str, Readable]]:
    """The files of labels in an archive: their names and what they hold, one after another."""
    with open_bytes(source) as file:
        data = file.read()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = _entries(archive, source, len(data))
            first = next(entries, None)
            if first is not None and first[0].startswith(SAMPLES):
                every = (content for _, content in itertools.chain([first], entries))
                yield LOG, io.BytesIO(b'{"samples":[' + b",".join(every) + b"]}")
            elif first is not None:
                one = len(archive.namelist()) == 1
                for name, content in itertools.chain([first], entries):
                    if one or content.strip():  # a user who has labelled nothing yet
                        yield name, io.BytesIO(content)
    except BROKEN as error:
        if isinstance(error, CrowdstreamError):
            raise
        raise InputError(source.name, "a .zip file that can be read", str(error)) from None


def _entries(archive: zipfile.ZipFile, source: Source, packed: int) -> Iterator[tuple[str, bytes]]:
    total = 0
    for name in _label_files(archive.namelist(), source.name):
        pieces = []
        with archive.open(name) as entry:
            while piece := entry.read(HARMLESS):
                total += len(piece)
                _check_total(total, packed, source)
                pieces.append(piece)
        yield name, b"".join(pieces)


def _check_total(total: int, packed: int, source: Source) -> None:
    """Refuse what has unpacked to more than is allowed."""
    options = source.options
    most = UNPACKED_MAX if options.max_bytes is None else options.max_bytes
    if total > most:
        raise too_large(source, most)
    if total > max(HARMLESS, int(options.max_ratio * packed)):
        expected = f"at most {options.max_ratio:g} times its size unpacked"
        raise InputError(source.name, expected, "more (--max-ratio allows it)")


def _label_files(names: list[str], where: str) -> list[str]:
    """Samples of a log; else lines, one file per user; else the one file that there is."""
    shown = [name for name in names if not name.endswith("/") and not name.startswith("__MACOSX/")]
    samples = [name for name in shown if name.startswith(SAMPLES) and name.endswith(".json")]
    if samples:
        return samples
    texts = [name for name in shown if PurePosixPath(name).suffix.lower() in TEXTS]
    lines = [name for name in texts if name.endswith(".jsonl")]
    if len(texts) == 1 or (lines and len(lines) == len(texts)):
        return texts
    expected = f"a .zip with one file of labels ({' '.join(TEXTS)}) or one .jsonl per user"
    raise InputError(where, expected, shown_columns(shown) if shown else "nothing")


def check_unpacked(data: bytes, source: Source, what: str) -> None:
    """Unpack an archive once and count, before anybody keeps what is in it."""
    options = source.options
    most = UNPACKED_MAX if options.max_bytes is None else options.max_bytes
    ratio = max(HARMLESS, int(options.max_ratio * len(data)))
    total = 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            for entry in book.infolist():
                total += _unpacked_size(data, entry, min(most, ratio) - total)
                _check_total(total, len(data), source)
    except BROKEN as error:
        if isinstance(error, CrowdstreamError):
            raise
        raise InputError(source.name, what, str(error)) from None


def _unpacked_size(data: bytes, entry: zipfile.ZipInfo, most: int) -> int:
    """Count the bytes an entry really unpacks to, no further than ``most`` and some."""
    if entry.compress_type != zipfile.ZIP_DEFLATED:
        return entry.compress_size
    size = 0
    for piece in unpack_entry(data, entry):
        size += len(piece)
        if size > most:
            break
    return size


def unpack_entry(data: bytes, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield what is really in an entry of an archive, whatever the directory says of its size."""
    at = entry.header_offset
    names = int.from_bytes(data[at + 26 : at + 28], "little")
    extra = int.from_bytes(data[at + 28 : at + 30], "little")
    begin = at + 30 + names + extra  # a local header has 30 bytes, then the name and more
    packed = data[begin : begin + entry.compress_size]
    if entry.compress_type != zipfile.ZIP_DEFLATED:
        yield packed
        return
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    while packed and not unpacker.eof:
        yield unpacker.decompress(packed, HARMLESS)
        packed = unpacker.unconsumed_tail
