"""A known truth (questions, classes, workers, labels) rendered as a file of any shape.

What comes out is a file and what to type beside it, and the rows that it holds: whoever reads the
file must find these rows, or refuse it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

Row = tuple[str, str, str, str]
"""Question, task, worker, label."""

TASKS = ("task", "task_id", "Item", "item id", "example", "image", "text_id", "post", "id")
WORKERS = ("worker", "Worker ID", "annotator", "rater", "judge", "judge_model", "reviewer")
LABELS = ("label", "answer", "Verdict", "rating", "choice", "stars", "value", "vote")
QUESTIONS = ("question", "criterion", "Criteria", "metric", "rubric", "dimension", "aspect")
REPEATS = ("repeat", "epoch", "run", "trial", "seed")
ASIDE = ("notes", "comment", "created_at", "url", "seconds", "text", "gold", "confidence", "#")
TASK_NAMES = ("t{}", "{}", "img_{}.png", "https://example.org/item?id={}", "Item {}", "00{}")
WORKER_NAMES = ("w{}", "{}", "ann{}@example.org", "gpt-4.{}", "A{}XK", "model {}")
CLASSES = (
    ("yes", "no"),
    ("pass", "fail"),
    ("spam", "ham", "eggs"),
    ("1", "2", "3", "4", "5"),
    ("low", "mid", "high"),
    ("true", "false"),
    ("Café", "thé"),
)
NAMES = ("relevant", "tone", "toxic", "helpful", "safety")
NOTHING = ("", "N/A", "NA", "null", "-", "nan", "None")


@dataclass
class Rendered:
    """A file, what to type, and the rows that are in it."""

    name: str
    data: bytes
    rows: set[Row]
    options: dict[str, Any] = field(default_factory=dict)
    how: list[str] = field(default_factory=list)
    """What was done, to read when something fails."""

    @property
    def flags(self) -> list[str]:
        """The options as the command line has them."""
        return [f"--{name}" for name, value in self.options.items() if value is True]


def make_rows(draw: Random) -> list[Row]:
    """Labels of a made-up crowd on one to three questions."""
    number = draw.choice((1, 1, 2, 3))
    names = draw.sample(NAMES, number) if number > 1 else [""]
    worker, task = draw.choice(WORKER_NAMES), draw.choice(TASK_NAMES)
    workers = [worker.format(k) for k in range(draw.randint(3, 6))]
    tasks = [task.format(k) for k in range(draw.randint(8, 16))]
    rows = []
    for name in names:
        classes = draw.choice(CLASSES)
        for item in tasks:
            truth = draw.choice(classes)
            for who in workers:
                if draw.random() < 0.9:
                    label = truth if draw.random() < 0.75 else draw.choice(classes)
                    rows.append((name, item, who, label))
    return rows


def render(rows: list[Row], draw: Random) -> Rendered:
    """The rows as a file of some shape."""
    several = bool(rows[0][0])
    shapes: list[Callable[[list[Row], Random], Rendered]] = [_long, _long, _json]
    shapes += [_columns] if several else [_wide]
    return draw.choice(shapes)(rows, draw)


def _spelt(label: str, draw: Random, ways: bool) -> str:
    if not ways or draw.random() < 0.6:
        return label
    return draw.choice((label.upper(), label.title(), f" {label}", f"{label} ", label.lower()))


def _table(
    rows: list[Row], draw: Random, how: list[str]
) -> tuple[list[str], list[dict[str, str]], set[Row]]:
    """A header and records of long rows, with what people add to them."""
    several = bool(rows[0][0])
    names = [draw.choice(TASKS), draw.choice(WORKERS), draw.choice(LABELS)]
    roles = dict(zip(("task", "worker", "label"), names, strict=True))
    if several:
        roles["question"] = draw.choice(QUESTIONS)
    repeated = draw.random() < 0.25
    if repeated:
        roles["repeat"] = draw.choice(REPEATS)
    ways = draw.random() < 0.4
    extra = draw.sample(ASIDE, draw.choice((0, 0, 1, 2)))
    how += [f"long {roles}", f"spellings {ways}", f"beside {extra}"]
    classes = {label for _, _, _, label in rows}
    records = []
    for question, task, worker, label in rows:
        votes = [label]
        if repeated:
            other = draw.choice(sorted(classes))
            votes = [label, label, *([other] if draw.random() < 0.3 else [])]
            draw.shuffle(votes)
        for number, vote in enumerate(votes):
            record = {
                roles["task"]: task,
                roles["worker"]: worker,
                roles["label"]: _spelt(vote, draw, ways),
            }
            if several:
                record[roles["question"]] = question
            if repeated:
                record[roles["repeat"]] = str(number)
            records.append(record)
    if draw.random() < 0.3:  # asked, and no answer
        for task in {row[1] for row in rows}:
            if draw.random() < 0.3:
                nobody = {
                    roles["task"]: task,
                    roles["worker"]: rows[0][2],
                    roles["label"]: draw.choice(NOTHING),
                }
                if several:
                    nobody[roles["question"]] = rows[0][0]
                if repeated:
                    nobody[roles["repeat"]] = "9"
                records.append(nobody)
        how.append("no answers")
    for name in extra:
        for record in records:
            record[name] = draw.choice(
                ("", "blurry", "see 12", f"note {draw.randint(0, 999)}", "7")
            )
    if draw.random() < 0.2:  # the same rows again, as in files put together
        records += draw.sample(records, min(5, len(records)))
    header = [*roles.values(), *extra]
    draw.shuffle(header)
    if draw.random() < 0.5:
        draw.shuffle(records)
    return header, records, set(rows)


def _write(
    header: list[str], records: list[dict[str, str]], draw: Random, how: list[str]
) -> tuple[str, bytes]:
    """A table as CSV of some kind or as a workbook, with or without titles above it."""
    titles: list[list[str]] = []
    if draw.random() < 0.3:
        titles = [["Labels of March"], []] + ([["exported by Ann", "v2"]] * draw.randint(0, 2))
        how.append(f"{len(titles)} title rows")
    cells = [[record.get(name, "") for name in header] for record in records]
    if draw.random() < 0.2:
        how.append("workbook")
        return "labels.xlsx", _workbook([*titles, header, *cells], draw)
    separator = draw.choice((",", ",", ";", "\t"))
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, quoting=draw.choice((0, 0, 1)))
    writer.writerows([*titles, header, *cells])
    encoded = text.getvalue().encode(draw.choice(("utf-8", "utf-8-sig")))
    return ("labels.tsv" if separator == "\t" else "labels.csv"), encoded


def _workbook(rows: list[list[str]], draw: Random) -> bytes:
    import xlsxwriter

    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"in_memory": True})
    if draw.random() < 0.5:
        book.add_worksheet("Notes").write_row(0, 0, ["Read me"])
    sheet = book.add_worksheet("Data")
    for number, row in enumerate(rows):
        for place, cell in enumerate(row):
            sheet.write_string(number, place, cell)
    book.close()
    return file.getvalue()


def _long(rows: list[Row], draw: Random) -> Rendered:
    how: list[str] = []
    header, records, wanted = _table(rows, draw, how)
    name, data = _write(header, records, draw, how)
    return Rendered(name, data, wanted, how=how)


def _json(rows: list[Row], draw: Random) -> Rendered:
    how: list[str] = ["JSON"]
    header, records, wanted = _table(rows, draw, how)
    ordered: list[dict[str, Any]] = [
        {name: one.get(name, "") for name in header} for one in records
    ]
    if draw.random() < 0.5:
        data = json.dumps(ordered).encode()
        return Rendered("labels.json", data, wanted, how=how)
    lines = "".join(json.dumps(one) + "\n" for one in ordered)
    return Rendered("labels.jsonl", lines.encode(), wanted, how=how)


def _columns(rows: list[Row], draw: Random) -> Rendered:
    """Several questions, each in a column of its own."""
    names = list(dict.fromkeys(row[0] for row in rows))
    task, worker = draw.choice(TASKS), draw.choice(WORKERS)
    extra = draw.sample(ASIDE[:4], draw.choice((0, 0, 1)))
    how = [f"columns {names}", f"beside {extra}"]
    ways = draw.random() < 0.4
    found: dict[tuple[str, str], dict[str, str]] = {}
    for question, item, who, label in rows:
        record = found.setdefault((item, who), {task: item, worker: who})
        record[question] = _spelt(label, draw, ways)
    records = list(found.values())
    for name in extra:
        for record in records:
            record[name] = f"note {draw.randint(0, 9999)}"
    header = [task, worker, *names, *extra]
    draw.shuffle(header)
    if draw.random() < 0.5:
        draw.shuffle(records)
    name, data = _write(header, records, draw, how)
    return Rendered(name, data, set(rows), how=how)


def _wide(rows: list[Row], draw: Random) -> Rendered:
    """One row per task, one column per worker."""
    task = draw.choice(TASKS)
    workers = sorted({row[2] for row in rows})
    ways = draw.random() < 0.4
    extra = draw.sample(ASIDE[:3], draw.choice((0, 1)))
    how = [f"wide {workers}", f"beside {extra}"]
    found: dict[str, dict[str, str]] = {}
    for _, item, who, label in rows:
        found.setdefault(item, {task: item})[who] = _spelt(label, draw, ways)
    for record in found.values():
        for who in workers:
            record.setdefault(who, draw.choice(NOTHING))
        for name in extra:
            record[name] = draw.choice(("", "", "blurry", "too dark to see"))
    header = [task, *workers, *extra]
    draw.shuffle(header)
    name, data = _write(header, list(found.values()), draw, how)
    return Rendered(name, data, set(rows), {"wide": True}, how)


def save(rendered: Rendered, folder: Path) -> Path:
    """Write the file into a folder."""
    path = folder / rendered.name
    path.write_bytes(rendered.data)
    return path
