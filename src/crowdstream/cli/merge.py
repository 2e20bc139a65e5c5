"""`crowdstream merge`: state files of different tasks → one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.cli import options
from crowdstream.cli.terminal import say
from crowdstream.errors import InputError, MergeError
from crowdstream.plain_text import counted, printable

if TYPE_CHECKING:
    from crowdstream.estimators import Estimator


class Files(options.Group, panel="Output"):
    """Options of files to merge."""

    HELP = """
    states: STATE  State files of the same method.
    -o, --output FILE  The merged state file.
    --again  Merge states though both have learnt the same labels, which then count twice.
    """
    states: list[str]
    output: str
    again: bool = False


def merge(files: Files, quiet: options.Quiet) -> None:
    """Merge state files of different tasks into one.

    The result is as if all their labels had been learnt together. All files must come from the
    same method. With --method agreement, centred or majority and without --memory the result is
    exact, in any order. With adaptive it is approximate: what it learns from a task depends on what
    it knew by then.

    \b
    Example:
      crowdstream merge monday.state tuesday.state -o week.state
    """
    from crowdstream.cli.states import load_crowds, locked
    from crowdstream.questions import Questions

    with locked(files.output):
        whole = load_crowds(files.states[0])
        for path in files.states[1:]:
            part = load_crowds(path)
            if ("" in part) != ("" in whole):
                found = "one without a name" if "" in part else ", ".join(part)
                raise InputError(path, "states of the same questions", found)
            for name, crowd in part.items():
                whole[name] = _merged(whole.get(name), crowd, path, again=files.again)
        if "" in whole:
            whole[""].save(files.output)
        else:
            Questions(whole).save(files.output)
    if not quiet.quiet:
        for name, crowd in whole.items():
            tasks, workers = counted(crowd.tasks_, "task"), counted(len(crowd._workers), "worker")
            about = f"{printable(name)}: " if name else ""
            say(f"{about}{tasks}, {workers} → {files.output}")


def _merged(whole: Estimator | None, part: Estimator, path: str, *, again: bool) -> Estimator:
    if whole is None:
        return part
    if not again:
        _check_apart(whole, part, path)
    try:
        whole += part
    except MergeError as error:
        raise MergeError(f"{path}: {error}") from None
    return whole


def _check_apart(whole: Estimator, part: Estimator, path: str) -> None:
    """Refuse a state that has learnt a file which those before it have learnt too."""
    known = {one.digest for one in whole.learnt_}
    for one in part.learnt_:
        if one.digest in known:
            found = f"{one.name}, learnt by two of them; --again counts it twice"
            raise InputError(path, "labels that the states before it have not learnt", found)
