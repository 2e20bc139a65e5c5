"""Table 1: the sizes of the real data sets."""

from __future__ import annotations

import polars as pl

from crowdstream_lab import datasets
from crowdstream_lab.experiments.common import SETS, Claim, Tick, Use

TITLE = "Table 1. The real data sets"
PAPER = (
    "Tasks, workers and labels of six public sets. Each dataset contains the ground-truth of each "
    "task."
)

TASKS = (108, 807, 160, 800, 462, 2665)
WORKERS = (39, 109, 64, 164, 76, 177)
LABELS = (4212, 8070, 1311, 8000, 4620, 15567)
PRINTED = dict(zip(SETS, zip(TASKS, WORKERS, LABELS, strict=True), strict=True))
"""The paper's own figures."""
WHAT = ("tasks", "workers", "labels")
DUCHENNE = range(2001, 2163)
"""The images of Duchenne among which those with gold are."""
PLAIN = "plainly"
"""The number of tasks, workers or labels of the whole file."""
WITHOUT = "tasks without a ground truth"


def uses() -> list[Use]:
    """None: labels are counted."""
    return []


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Count, and count Duchenne as the paper must have."""
    rows = []
    for name, printed in PRINTED.items():
        found = datasets.load(name)
        labels, tasks = found.labels, found.labels["task"].unique()
        plain = counts = (len(tasks), labels["worker"].n_unique(), labels.height)
        if name == "duchenne":
            part = labels.filter(pl.col("task").is_in([str(k) for k in DUCHENNE]))
            counts = (found.gold.height, counts[1], part.unique().height)
        for what, paper, ours, whole in zip(WHAT, printed, counts, plain, strict=True):
            row = {"data": name, "what": what, "paper": paper}
            rows.append({**row, "measured": ours, PLAIN: whole})
        missing = len(tasks) - int(tasks.is_in(found.gold["task"].to_list()).sum())
        rows.append({"data": name, "what": WITHOUT, "paper": 0, "measured": missing})
        tick(1 / len(PRINTED))
    return pl.DataFrame(rows)


def claims(data: pl.DataFrame) -> list[Claim]:
    """As printed; Duchenne's three numbers count three different things."""
    found = []
    counted = data.filter(pl.col("what") != WITHOUT)
    for (name,), part in counted.group_by("data", maintain_order=True):
        shown, counted_so, whole = (
            ", ".join(f"{x:,}" for x in part[column]) for column in ("paper", "measured", PLAIN)
        )
        wanted = "as printed"
        if name == "duchenne":
            wanted += (
                ": plainly, or by a count that gives these (images with gold; workers of the whole "
                f"file; different task, worker and label among images {DUCHENNE.start} to "
                f"{DUCHENNE.stop - 1})"
            )
        same = part["paper"].equals(part["measured"], check_names=False)
        found.append(
            Claim(
                f"{str(name).capitalize()} has {shown} tasks, workers and labels.",
                wanted,
                whole if whole == counted_so else f"{whole}; {counted_so}",
                part["paper"].equals(part[PLAIN], check_names=False),
                otherwise=same,
            )
        )
    missing = data.filter(pl.col("what") == WITHOUT, pl.col("measured") > 0)
    without = [f"{n:,} of {name.capitalize()}" for name, n in missing["data", "measured"].rows()]
    found.append(
        Claim(
            "Each dataset contains the ground-truth of each task.",
            "gold for every task of the file that has labels; of Duchenne, for those that the "
            "table counts",
            f"tasks without: {', '.join(without)}" if without else "for every task",
            not without,
            otherwise=missing.filter(pl.col("data") != "duchenne").is_empty(),
        )
    )
    return found


def draw(data: pl.DataFrame) -> None:
    """No figure: the counts are read from the claims."""
