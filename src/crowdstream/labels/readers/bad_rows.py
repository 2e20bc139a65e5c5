"""Handling of rows that cannot be read, and notes on files. Knows no formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, Self

from crowdstream.errors import InputError
from crowdstream.labels.readers.tally import Tally


class BadRows:
    """Fail at the first bad row, skip bad rows, or put them aside in a file, and count them.

    ``notes`` are what users should know of how their files were read; ``tally`` is what tools'
    files came to, if there were any.

    Parameters
    ----------
    policy
        ``"fail"``, ``"skip"`` or ``"quarantine=FILE"``.
    explain
        Takes, while files are being read, as what they are read and why.
    """

    def __init__(
        self, policy: str = "fail", explain: Callable[[str], object] | None = None
    ) -> None:
        kind, _, target = policy.partition("=")
        if kind not in ("fail", "skip", "quarantine") or (kind == "quarantine") != bool(target):
            raise InputError("--on-error", "fail, skip or quarantine=FILE", repr(policy))
        self.kind = kind
        self.target = Path(target) if target else None
        self.rows = 0
        self.notes: list[str] = []
        self.explain = explain
        self.tally: Tally | None = None
        self.mode = "w"  # "a" adds to what an earlier run has put aside
        self._file: IO[str] | None = None

    def add(self, where: str, expected: str, found: str, raw: str) -> None:
        """A row is bad: raise, or count it and go on.

        >>> bad = BadRows("skip")
        >>> bad.add("labels.csv, line 3", "3 fields", "2", "t1,ann")
        >>> bad.rows
        1
        """
        if self.kind == "fail":
            raise InputError(where, expected, found)
        self.rows += 1
        if self.target is not None:
            if self._file is None:
                self._file = self._open(self.target)
            self._file.write(f"{where}: expected {expected}, found {found}\t{raw}\n")

    def _open(self, target: Path) -> IO[str]:
        try:
            return target.open(self.mode, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            found = f"{str(target)!r}: {error.strerror}"
            raise InputError("--on-error", "a file that can be written", found) from None

    def note(self, text: str | None) -> None:
        """Keep a note on how files were read, once."""
        if text is not None and text not in self.notes:
            self.notes.append(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
