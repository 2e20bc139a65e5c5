"""Toloka: assignments as TSV, one row per task and worker → `Answer`. Knows nothing of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import (
    Answer,
    Reading,
    Tool,
    join_classes,
    name_of,
    seconds_of,
    split_classes,
)

TASK, WORKER, STATUS = (f"ASSIGNMENT:{name}" for name in ("task_id", "worker_id", "status"))
INPUT, OUTPUT, GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"

NOT_TAKEN = ("REJECTED", "SKIPPED", "EXPIRED")
"""Assignments that are no answers."""


def _tell(record: Mapping[str, object]) -> str | None:
    field = next((name for name in record if name.startswith(OUTPUT)), None)
    if field is not None and any(name.startswith("ASSIGNMENT:") for name in record):
        return f"its columns begin with ASSIGNMENT: and {OUTPUT}"
    return None


def _answers(row: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    inputs = [name_of(row[name]) or "" for name in row if name.startswith(INPUT)]
    task = name_of(row.get(TASK)) or " | ".join(inputs)
    worker = name_of(row.get(WORKER))
    given = dict(_fields(row, OUTPUT))
    if worker is None and not any(given.values()):
        return  # a task of the pool that nobody has done yet
    if not task:
        reading.complain(TASK, "a task's id (or columns INPUT:)", row.get(TASK))
        return
    if worker is None:
        reading.complain(WORKER, "a worker's id", row.get(WORKER))
        return
    taken = str(row.get(STATUS)).upper() not in NOT_TAKEN
    at = seconds_of(row.get("ASSIGNMENT:submitted") or row.get("ASSIGNMENT:started"))
    skip = Answer(task, worker, None, at=at, id=name_of(row.get("ASSIGNMENT:assignment_id")) or "")
    for question, label in given.items():
        if label is not None and taken:
            yield skip._replace(label=label, question=question)
    if not taken or not any(given.values()):
        yield skip
    for question, label in _fields(row, GOLDEN):
        if label is not None:
            yield Answer(task, "", label, question, gold=True)


def _fields(row: Mapping[str, object], prefix: str) -> Iterator[tuple[str, str | None]]:
    for name, cell in row.items():
        if name.startswith(prefix):
            yield name.removeprefix(prefix), _chosen(name_of(cell))


def _chosen(cell: str | None) -> str | None:
    """Return the label in a cell, in which several choices are a JSON list."""
    return None if cell is None else join_classes(split_classes(cell))


ASSIGNMENTS = Tool("toloka", "Toloka's assignments", _tell, _answers)
