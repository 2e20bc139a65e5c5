"""State files: what an estimator or a stream has learnt, loaded by path; one process at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.errors import InputError, StateError, UsageError
from crowdstream.locking import FileLock
from crowdstream.serialization import is_replaced

if TYPE_CHECKING:
    from crowdstream.estimators import Estimator
    from crowdstream.questions import Questions
    from crowdstream.stream.stream import Stream


def load_estimator(path: str, question: str | None = None) -> Estimator:
    """The estimator in a state file: saved by itself, as part of a stream, or of a question."""
    from crowdstream.questions import Questions
    from crowdstream.stream.stream import Stream

    found = _load(path)
    if isinstance(found, Questions):
        if question in found.crowds:
            return found.crowds[str(question)]
        if question is None and len(found.crowds) == 1:
            return next(iter(found.crowds.values()))
        named = ", ".join(found.crowds)
        raise InputError(path, "one question (--question NAME picks one)", named)
    if question is not None:
        raise UsageError(f"--question needs a state of several questions; {path} has one")
    return found.crowd if isinstance(found, Stream) else found


def load_crowds(path: str) -> dict[str, Estimator]:
    """The estimators in any state file, by question; one question has no name."""
    from crowdstream.questions import Questions

    found = _load(path)
    return dict(found.crowds) if isinstance(found, Questions) else {"": load_estimator(path)}


def load_run(path: str) -> dict[str, Estimator]:
    """The estimators in a state file of runs, by question; a stream's has open tasks too."""
    from crowdstream.questions import Questions
    from crowdstream.stream.stream import Stream

    found = _load(path)
    if isinstance(found, Questions):
        return dict(found.crowds)
    if isinstance(found, Stream):
        expected = "a state of crowdstream run"
        how = f"that of a stream; crowdstream merge {path} -o FILE keeps what it learnt"
        raise InputError(path, expected, how)
    return {"": found}


def check_method(path: str, saved: Estimator, wanted: Estimator) -> None:
    """Refuse to go on from what another method learnt, or the same with other settings."""
    if type(saved) is not type(wanted) or saved.get_params() != wanted.get_params():
        raise InputError(path, f"a state of {wanted!r}", repr(saved))


def check_questions(known: Collection[str], names: Collection[str]) -> None:
    """Refuse a state of one question for labels of several, and the other way round.

    ``known``: the questions of the state, ``names``: those of the labels; one has no name.
    """
    if not known or ("" in known) == ("" in names):
        return
    alone = "one question without a name"
    expected = alone if "" in known else ", ".join(filter(None, known))
    found = ", ".join(filter(None, names)) or alone
    raise InputError("--state", f"labels of {expected}, which the state holds", found)


def load_stream(path: str) -> Stream:
    """The stream in a state file."""
    from crowdstream.stream.stream import Stream

    found = _load(path)
    if not isinstance(found, Stream):
        raise StateError(f"{path}: expected a state of crowdstream stream, found that of a run")
    return found


def _load(path: str) -> Estimator | Stream | Questions:
    import crowdstream as cs

    if not Path(path).is_file():
        what = "none" if Path(path).exists() else "no such file"
        raise InputError(path, "a state file that can be read", what)
    return cs.load(path)


@contextlib.contextmanager
def locked(state: str) -> Iterator[None]:
    """Keep other processes from a state; the lock is gone when its owner is, however it ends.

    A device or a pipe needs none: it keeps nothing that another could overwrite.
    """
    if os.path.isdir(state):
        raise InputError(state, "a file that can be written", "it is a folder")
    if not is_replaced(state):
        yield
        return
    name = f"{os.path.realpath(state)}.lock"
    while True:
        try:
            lock = FileLock(name, 0o666)
        except OSError as error:
            raise StateError(f"{state}: cannot be written: {error.strerror}") from None
        with contextlib.ExitStack() as held:
            held.enter_context(lock)
            if not lock.take():
                raise StateError(
                    f"{state}: in use by another process; give each its own state, or end that one"
                )
            if _is_named(lock.descriptor, name):
                held.pop_all()
                break
            # Its owner has just removed it: make another.
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows keeps what is open
            os.unlink(name)
        lock.close()


def _is_named(handle: int, name: str) -> bool:
    """Return True if an open file is the one under this name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(name))
    except FileNotFoundError:
        return False
