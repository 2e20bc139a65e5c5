"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Task = Annotated[str | None, typer.Option("--task", help="Column of the task.")]
Worker = Annotated[str | None, typer.Option("--worker", help="Column of the worker.")]
LabelColumn = Annotated[str | None, typer.Option("--label", help="Column of the label.")]
Format = Annotated[
    str | None,
    typer.Option("--format", help="csv, tsv, jsonl, parquet or ipc, whatever the name."),
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        help="adaptive, tracking, agreement (the paper's, extended), centred or majority.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        help="Remember about this many tasks, for workers who change; all if not said.",
    ),
]
Families = Annotated[
    str | None,
    typer.Option(
        "--families",
        help="A file of worker and family: who does not judge independently (adaptive).",
    ),
]
Level = Annotated[
    float, typer.Option("--level", help="Of the intervals of the workers' error rates.")
]
Costs = Annotated[
    str | None,
    typer.Option(
        "--costs",
        help="A file of class, taken_for and cost, for the workers' quality; 1 if not said.",
    ),
]
AnswerRate = Annotated[
    float | None,
    typer.Option(
        "--answer-rate", help="The paper's alpha, if everybody answers a task with one probability."
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Random seed for breaking ties.")]
Settle = Annotated[float, typer.Option("--settle", help="Confidence at which a task is settled.")]
OnError = Annotated[
    str, typer.Option("--on-error", help="Bad rows: fail, skip, or quarantine=FILE.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
