"""`crowdstream merge`: state files of different tasks → one."""

from __future__ import annotations

from typing import Annotated

from crowdstream.cli import options
from crowdstream.cli.options import OUTPUT, argument, option
from crowdstream.cli.terminal import say
from crowdstream.cli.wording import counted
from crowdstream.errors import MergeError


def merge(
    states: Annotated[list[str], argument("STATE", "State files of the same method.")],
    output: Annotated[
        str, option(OUTPUT, "-o", "--output", metavar="FILE", help="The merged state file.")
    ],
    quiet: options.Quiet,
) -> None:
    """Merge state files of different tasks into one.

    The result is as if all their labels had been learnt together. All files must come from the
    same method. With --method agreement,
    centred or majority and without --memory the result is exact, in any order. With adaptive it is
    approximate: what it learns from a task depends on what it knew by then.

    \b
    Example:
      crowdstream merge monday.state tuesday.state -o week.state
    """
    from crowdstream.cli.states import load_estimator, save_estimator

    whole = load_estimator(states[0])
    for path in states[1:]:
        try:
            whole += load_estimator(path)
        except MergeError as error:
            raise MergeError(f"{path}: {error}") from None
    save_estimator(output, whole)
    if not quiet.quiet:
        tasks, workers = counted(whole.tasks_, "task"), counted(whole.n_workers_, "worker")
        say(f"{tasks}, {workers} → {output}")
