"""Sources of bytes: files, standard input, packed files; never more bytes than allowed.

Knows nothing of what the bytes mean.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import select
import sys
from pathlib import Path
from typing import IO, NamedTuple, Protocol, Self, cast

from crowdstream.errors import InputError
from crowdstream.labels.readers.input_options import InputOptions

HARMLESS = 1 << 20
"""Unpacked bytes up to which no ratio is looked at: a few rows that are all alike pack well."""


class Readable(Protocol):
    """Methods that readers need of a file."""

    def read(self, size: int = -1, /) -> bytes:
        """So many bytes, fewer at the end, none after it."""


class Source(NamedTuple):
    """Source of labels: a path or ``-``, its format, and how it is packed.

    ``option``: the option that named it, for messages, if it is not one of the files of labels;
    ``archive``: the name of the archive that it is in, if any.
    """

    path: str
    format: str
    packed: str = ""
    options: InputOptions = InputOptions()
    option: str = ""
    archive: str = ""

    @property
    def name(self) -> str:
        """As messages name it."""
        name = "standard input" if self.path == "-" else self.path
        return f"{self.option} {name}".lstrip()

    @property
    def piped(self) -> bool:
        """True if the source can be read only once."""
        return self.path == "-" or not Path(self.path).is_file()


class Limited:
    """The unpacked bytes of a source, counted: too many of them are an error."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.given = 0
        self._raw = _Counted(_open_raw(source))
        self._file = _unpack(self._raw, source.packed)

    def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer at the end; all that is left if ``size`` is negative."""
        if size >= 0:
            return self._checked(self._file.read(size))
        pieces = []
        while piece := self.read(HARMLESS):
            pieces.append(piece)
        return b"".join(pieces)

    def _checked(self, data: bytes) -> bytes:
        self.given += len(data)
        most, ratio = self.source.options.max_bytes, self.source.options.max_ratio
        if most is not None and self.given > most:
            raise too_large(self.source, most)
        if self.source.packed and self.given > max(HARMLESS, ratio * self._raw.count):
            found = f"more ({self.given:,} bytes from {self._raw.count:,}; --max-ratio allows it)"
            raise InputError(self.source.name, f"at most {ratio:g} times its size unpacked", found)
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()


def too_large(source: Source, most: int) -> InputError:
    """Make the error for a source with more bytes than ``--max-bytes``."""
    return InputError(source.name, f"at most {most:,} bytes (--max-bytes)", "more")


def check_size(source: Source) -> None:
    """Refuse a file that is larger than ``--max-bytes`` as it lies there."""
    most = source.options.max_bytes
    if most is not None and not source.piped and os.path.getsize(source.path) > most:
        raise too_large(source, most)


def open_bytes(source: Source) -> Limited:
    """The unpacked bytes of a source."""
    try:
        return Limited(source)
    except OSError as error:
        raise InputError(source.name, "a file that can be read", str(error)) from None


def standard_input() -> int:
    """The number of standard input; an error if whoever started us has closed it."""
    try:
        if sys.stdin is not None:
            return sys.stdin.fileno()
    except ValueError:  # closed since
        pass
    raise InputError("standard input", "something to read", "it closed")


def _open_raw(source: Source) -> IO[bytes]:
    if source.path == "-":
        return io.BufferedReader(_Interruptible(standard_input()))
    return open(source.path, "rb")


class _Counted(io.RawIOBase):
    """A file that knows how much of it was read."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.count = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read from the file, and count."""
        data = self.file.read(size)
        self.count += len(data)
        return data

    def close(self) -> None:
        """Close the file, too."""
        self.file.close()
        super().close()


def _unpack(raw: _Counted, packed: str) -> IO[bytes]:
    if packed == ".gz":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw, mode="rb"))
    if packed == ".zst":
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        return cast("IO[bytes]", zstd.open(raw))
    return cast("IO[bytes]", raw)


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
        """Wait for input, and read what there is."""
        while not select.select([self.number], [], [], 0.2)[0]:
            pass
        data = os.read(self.number, len(into))
        into[: len(data)] = data
        return len(data)


class clear_errors:  # noqa: N801 used as a verb
    """Errors of the operating system, of unpacking and of polars as `InputError`."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        name = type(error).__name__
        unpacking = name in ("ZstdError", "error")  # zlib's is called error
        of_polars = type(error).__module__.startswith("polars")
        if of_polars or name == "PanicException":  # what Rust raises where it gives up
            found = str(error).splitlines() or ["bytes that no reader understands"]
            raise InputError(self.source.name, "a file that is whole", found[0][:200]) from None
        if isinstance(error, OSError) and error.errno == errno.EBADF:
            raise InputError(self.source.name, "something to read", "it closed") from None
        if (isinstance(error, (OSError, EOFError)) or unpacking) and not isinstance(
            error, BrokenPipeError
        ):
            what = f"a whole {self.source.packed} file" if self.source.packed else "a readable file"
            raise InputError(self.source.name, what, str(error) or name) from None
