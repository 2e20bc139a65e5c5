"""`crowdstream merge`: state files of different tasks → one."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdstream.cli import options
from crowdstream.cli.output import save_bytes, talk


def merge(
    states: Annotated[list[str], typer.Argument(help="State files of the same method.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The merged state file.")],
    quiet: options.Quiet = False,
) -> None:
    """Add up what was learnt from different tasks.

    Exact and in any order for --method agreement, centred and majority without --memory; for
    adaptive, whose soft counts depend on what was known when a task came, nearly so.

    Example: crowdstream merge monday.state tuesday.state -o week.state
    """
    from crowdstream.cli.crowds import load_crowd
    from crowdstream.errors import MergeError

    whole = load_crowd(states[0])
    for path in states[1:]:
        try:
            whole += load_crowd(path)
        except MergeError as error:
            raise MergeError(f"{path}: {error}") from None
    save_bytes(output, whole.to_bytes())
    if not quiet:
        talk().print(f"{whole.tasks_:,} tasks, {whole.n_workers_:,} workers → {output}")
