"""`run --state`: what earlier runs learnt, and that no labels are learnt twice unnoticed.

Knows state files and the bytes of inputs; nothing of labels or decisions.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.cli.output import check_writable
from crowdstream.errors import InputError
from crowdstream.questions import Questions

if TYPE_CHECKING:
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.estimators import Estimator
    from crowdstream.labels.fingerprints import Fingerprint, LearntInput
    from crowdstream.labels.readers import Source

PIECE = 1 << 16
"""Bytes that are passed on at a time: as many as a pipe holds."""


class RunState:
    """A state file of runs: what is known before this one, and what is saved after it.

    ``again``: whether labels that were learnt before may be learnt once more.
    """

    def __init__(self, path: str, *, again: bool) -> None:
        self.path, self.again = path, again
        self.learnt: list[LearntInput] = []
        """Inputs of this run."""
        self.known: list[LearntInput] = []
        """Inputs of earlier ones."""
        self.notes: list[str] = []
        self._piped: PassedOn | None = None
        if Path(path).exists() and not Path(path).is_file():
            raise InputError("--state", "a file", f"{path!r}, which is none")
        check_writable(path, "--state")
        self._found = self._stamp()

    def load(self, factory: EstimatorFactory) -> dict[str, Estimator]:
        """Load what earlier runs learnt by the same method, by question; empty at first."""
        if self._found is None:
            return {}
        from crowdstream.cli.states import check_method, load_run

        crowds = load_run(self.path)
        for crowd in crowds.values():
            check_method(self.path, crowd, factory.make())
            if not crowd.tasks_:  # else it has the monitors that it was learnt with
                factory.watch(crowd)
        self.known = next(iter(crowds.values())).learnt_
        return crowds

    def check(self, sources: Iterable[Source]) -> None:
        """Refuse files that were learnt before; what comes through a pipe is looked at later."""
        from crowdstream.labels.fingerprints import Fingerprint, fingerprint

        for source in sources:
            if source.path == "-":
                self._piped = PassedOn(Fingerprint(self.known))
            elif source.piped:
                self.notes.append(
                    f"{source.name} is a pipe: whether its labels were learnt before is not known"
                )
            else:
                self._take(source.name, fingerprint(source.path, self.known))

    def check_piped(self) -> None:
        """Check standard input once it has been read."""
        if self._piped is not None:
            self._take("standard input", self._piped.finish())

    def _take(self, name: str, found: Fingerprint) -> None:
        same, begins = found.known_as, found.begins_with
        before = same or begins
        if before is not None and not self.again:
            what = "those" if same else "a file that begins with those"
            raise InputError(
                name,
                f"labels that {self.path} has not learnt yet",
                f"{what} learnt on {before.day} from {before.name}; --again learns them twice",
            )
        self.learnt.append(found.learnt(name))

    def save(self, crowds: dict[str, Estimator]) -> None:
        """Save what is known now, unless somebody else has saved in the meantime.

        Other commands are kept away by a lock; a program that calls `save` knows of none.
        """
        if self._stamp() != self._found:
            expected = "what was there when this run began"
            raise InputError(self.path, expected, "another state, saved since: run again")
        for crowd in crowds.values():
            have = {(one.size, one.digest) for one in crowd.learnt_}
            if crowd.intake_.labels:
                crowd.learnt_ += [one for one in self.learnt if (one.size, one.digest) not in have]
        if list(crowds) == [""]:
            crowds[""].save(self.path)
        else:
            Questions(crowds).save(self.path)

    def _stamp(self) -> tuple[int, int, int] | None:
        """Return the part of the file's status that changes when it is saved."""
        if not Path(self.path).exists():
            return None
        found = os.stat(self.path)
        return found.st_ino, found.st_mtime_ns, found.st_size


class PassedOn:
    """Standard input, passed on through a pipe, with its fingerprint taken on the way."""

    def __init__(self, fingerprint: Fingerprint) -> None:
        self.fingerprint = fingerprint
        self._source = sys.stdin.fileno()
        try:
            os.read(self._source, 0)
        except OSError as error:
            raise InputError("standard input", "labels", str(error)) from None
        self._error: OSError | None = None
        passed, self._to = os.pipe()
        sys.stdin = open(passed, encoding="utf-8")  # noqa: SIM115
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    def _pass_on(self) -> None:
        try:
            with open(self._to, "wb", buffering=0) as to:
                while data := os.read(self._source, PIECE):
                    self.fingerprint.update(data)
                    view = memoryview(data)
                    while view:
                        view = view[to.write(view) :]
        except OSError as error:
            self._error = error

    def finish(self) -> Fingerprint:
        """The fingerprint of all of it, once it has been read to its end."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self.fingerprint
