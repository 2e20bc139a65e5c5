"""The files that people have, each with what it must give.

Small crowds of known truth; a file is decided as what it is, or refused with words that work.
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

FIXTURES = Path(__file__).parents[1] / "fixtures"


@dataclass(frozen=True)
class File:
    """A file; ``options`` are what must be typed, for Python; ``refused`` what is said without.

    ``questions``: those that are decided, one without a name by default. ``works``: other options
    that the refusal names and that work too.
    """

    name: str
    data: bytes
    options: dict[str, Any] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    questions: tuple[str, ...] = ("",)
    works: tuple[tuple[str, ...], ...] = ()
    wanted: dict[tuple[str, str], str] = field(default_factory=dict)
    """Decisions of some tasks that there can be no doubt about."""

    def flags(self) -> list[str]:
        """The options as the command line has them."""
        found: list[str] = []
        for name, value in self.options.items():
            option = f"--{name.replace('_', '-')}"
            values = value if isinstance(value, list) else [value]
            for each in values:
                found += [option] if each is True else [option, str(each)]
        return found


def _csv(header: list[str], rows: list[list[object]], separator: str = ",") -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator).writerows([header, *rows])
    return text.getvalue().encode()


def _said(draw: Random, truth: str, classes: list[str], right: float = 0.85) -> str:
    return truth if draw.random() < right else draw.choice(classes)


def _book(sheets: dict[str, list[list[object]]]) -> bytes:
    import xlsxwriter

    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"in_memory": True})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
    book.close()
    return file.getvalue()


ASKED = {"tone": ["positive", "negative"], "toxic": ["yes", "no"], "topic": ["news", "ads", "spam"]}


def _asked(seed: int = 1) -> list[tuple[str, str, str, str]]:
    draw = Random(seed)
    return [
        (f"t{t}", f"w{w}", question, _said(draw, classes[t % len(classes)], classes))
        for question, classes in ASKED.items()
        for t in range(40)
        for w in range(5)
    ]


def _plain(seed: int = 2, tasks: int = 40) -> list[list[object]]:
    draw = Random(seed)
    return [
        [f"t{t}", f"w{w}", _said(draw, "yes" if t % 2 else "no", ["yes", "no"])]
        for t in range(tasks)
        for w in range(5)
    ]


def question_column() -> File:
    """task, worker, question, label: three questions."""
    rows: list[list[object]] = [[t, w, q, label] for t, w, q, label in _asked()]
    return File(
        "q.csv", _csv(["task", "worker", "question", "label"], rows), questions=tuple(ASKED)
    )


def criterion_column() -> File:
    """A judge's verdicts per criterion, in JSON lines."""
    rows = [
        {"item": t, "judge": w, "criterion": q, "verdict": label} for t, w, q, label in _asked()
    ]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return File("verdicts.jsonl", data, questions=tuple(ASKED))


def label_columns() -> File:
    """task_id, worker_id, relevant, tone, toxic: a column per question."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for task, worker, question, label in _asked():
        found.setdefault((task, worker), {})[question] = label
    rows: list[list[object]] = [[*key, *(cells[q] for q in ASKED)] for key, cells in found.items()]
    return File("m.csv", _csv(["task_id", "worker_id", *ASKED], rows), questions=tuple(ASKED))


def two_label_columns() -> File:
    """The same with a comment; two of its columns are named."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for task, worker, question, label in _asked():
        found.setdefault((task, worker), {})[question] = label
    rows: list[list[object]] = [
        [*key, *(cells[q] for q in ASKED), "looks fine"] for key, cells in found.items()
    ]
    return File(
        "n.csv",
        _csv(["task_id", "worker_id", *ASKED, "comment"], rows),
        {"label": ["tone", "topic"]},
        questions=("tone", "topic"),
    )


def _stars() -> list[list[object]]:
    draw = Random(4)
    rows: list[list[object]] = [
        ["a", f"r{k}", stars] for k, stars in enumerate((5, 5, 5, 1, 1))
    ] + [["b", f"r{k}", stars] for k, stars in enumerate((5, 5, 1))]
    for t in range(40):
        for k in range(5):
            rows.append(
                [f"t{t}", f"r{k}", min(max(t % 5 + 1 + draw.choice([0, 0, 0, 1, -1]), 1), 5)]
            )
    return rows


def stars() -> File:
    """One to five stars; where votes are counted, the median of the votes."""
    return File(
        "stars.csv",
        _csv(["image", "rater", "stars"], _stars()),
        {"ordinal": True},
        wanted={("", "a"): "5", ("", "b"): "5"},
    )


def words_on_a_scale() -> File:
    """low, mid, high, in this order."""
    names = {1: "low", 2: "low", 3: "mid", 4: "high", 5: "high"}
    rows = [[t, w, names[int(str(stars))]] for t, w, stars in _stars()]
    return File(
        "words.csv", _csv(["review", "reviewer", "rating"], rows), {"order": "low,mid,high"}
    )


def scores() -> File:
    """Scores from 0.00 to 1.00 of judges."""
    draw = Random(5)
    rows: list[list[object]] = []
    for t in range(40):
        for k in range(4):
            score = min(max((0.9 if t % 2 else 0.2) + draw.gauss(0, 0.08), 0), 1)
            rows.append([f"t{t}", f"judge{k}", f"{score:.2f}"])
    return File(
        "scores.csv",
        _csv(["item", "judge_model", "score"], rows),
        {"threshold": 0.7},
        ("--threshold", "--bins 5", "--as-classes", "scores"),
        works=(("--bins", "5"), ("--as-classes",)),
        wanted={("", "t1"): "pass", ("", "t2"): "fail"},
    )


def points() -> File:
    """Points from 0 to 100, all whole."""
    draw = Random(6)
    rows: list[list[object]] = [
        [f"t{t}", f"judge{k}", min(max(int((85 if t % 2 else 30) + draw.gauss(0, 6)), 0), 100)]
        for t in range(40)
        for k in range(4)
    ]
    return File(
        "points.csv",
        _csv(["item", "evaluator", "score"], rows),
        {"threshold": 50},
        ("--threshold 50", "--bins 5", "--as-classes"),
        works=(("--bins", "4"),),
        wanted={("", "t1"): "pass", ("", "t2"): "fail"},
    )


PETS = ("cat", "dog", "cow")


def _sets() -> list[tuple[str, str, list[str]]]:
    draw = Random(7)
    rows = []
    for t in range(40):
        truth = {pet for k, pet in enumerate(PETS) if (t >> k) & 1} or {"cat"}
        for w in range(5):
            found = [pet for pet in PETS if (pet in truth) != (draw.random() < 0.07)] or ["cat"]
            draw.shuffle(found)
            rows.append((f"t{t}", f"w{w}", found))
    return rows


def choices_in_cells() -> File:
    """cat|dog, dog|cat, cat: sets of classes."""
    rows: list[list[object]] = [[t, w, "|".join(found)] for t, w, found in _sets()]
    return File(
        "choices.csv",
        _csv(["item", "rater", "labels"], rows),
        {"choices": True},
        ("--choices", "--as-classes"),
        works=(("--as-classes",),),
    )


def choices_in_rows() -> File:
    """One choice per row."""
    rows: list[list[object]] = [[t, w, pet] for t, w, found in _sets() for pet in found]
    return File(
        "rows.csv",
        _csv(["item", "rater", "choice"], rows),
        {"choices": True},
        ("--choices", "--repeats last"),
        works=(("--repeats", "majority"),),
    )


def choices_in_lists() -> File:
    """Lists of JSON."""
    rows = [{"item": t, "worker": w, "label": found} for t, w, found in _sets()]
    data = json.dumps(rows).encode()
    return File("lists.json", data, {"choices": True}, ("--choices",))


def spellings() -> File:
    """yes, Yes, YES, N/A: two classes."""
    draw = Random(8)
    rows = _plain()
    for row in rows:
        label = str(row[2])
        row[2] = draw.choice([label, label, label.upper(), f"{label.title()} "])
        if draw.random() < 0.05:
            row[2] = "N/A"
    return File("spelt.csv", _csv(["task", "worker", "label"], rows))


def titles() -> File:
    """A sheet with titles above the header."""
    rows: list[list[object]] = [
        ["Labels of March"],
        [],
        ["exported", "by Ann"],
        ["task", "worker", "label"],
        *_plain(),
    ]
    return File("titles.xlsx", _book({"March": rows}))


def second_sheet() -> File:
    """A first sheet of notes."""
    rows: list[list[object]] = [["Item", "Rater", "Answer"], *_plain()]
    return File("sheets.xlsx", _book({"Notes": [["Read me"]], "Data": rows}))


def no_header() -> File:
    """Rows and no header."""
    rows = _plain()
    return File(
        "bare.csv",
        _csv([str(cell) for cell in rows[0]], rows[1:]),
        {"columns": "task,worker,label"},
        ("--columns task,worker,label",),
    )


def wide_with_notes() -> File:
    """A column per worker, and one of notes."""
    draw = Random(9)
    rows: list[list[object]] = [
        [f"t{t}", *(_said(draw, "yes" if t % 2 else "no", ["yes", "no"]) for _ in range(4)),
         draw.choice(["", "", "blurry", "dark"])]
        for t in range(40)
    ]  # fmt: skip
    return File(
        "wide.csv",
        _csv(["item", "ann", "bob", "cy", "di", "notes"], rows),
        {"wide": True},
        ("--wide",),
    )


def wide_with_questions() -> File:
    """Workers times questions: which column is whose is in its name alone."""
    draw = Random(10)
    rows: list[list[object]] = []
    for t in range(40):
        tones = [
            _said(draw, "positive" if t % 2 else "negative", ["positive", "negative"])
            for _ in range(3)
        ]
        toxic = [_said(draw, "yes" if t % 3 else "no", ["yes", "no"]) for _ in range(3)]
        rows.append([f"t{t}", *(cell for pair in zip(tones, toxic, strict=True) for cell in pair)])
    header = ["item", *(f"{who}_{q}" for who in ("ann", "bob", "cy") for q in ("tone", "toxic"))]
    return File(
        "crossed.csv",
        _csv(header, rows),
        {"wide": True, "label": ["ann_tone", "bob_tone", "cy_tone"]},
        ("--label ann_tone --label bob_tone --label cy_tone",),
    )


def nobody() -> File:
    """A row without a worker."""
    rows = _plain()
    rows[7][1] = rows[11][1] = ""
    return File(
        "nobody.csv", _csv(["task", "worker", "label"], rows), {"on_error": "skip"}, ("line 9",)
    )


def epochs() -> File:
    """Every judge asked three times: the most frequent verdict counts."""
    draw = Random(11)
    rows: list[list[object]] = []
    for t, w, label in _plain(12):
        for epoch in range(3):
            other = "no" if label == "yes" else "yes"
            flips = w == "w4" and draw.random() < 0.3
            rows.append([t, w, epoch, other if flips and epoch == 1 else label])
    return File("epochs.csv", _csv(["sample_id", "judge", "epoch", "verdict"], rows))


def repeated() -> File:
    """The same without a column that tells."""
    rows = [[t, w, label] for t, w, label in _plain(12) for _ in range(3)]
    draw = Random(13)
    for row in rows:
        if draw.random() < 0.2:
            row[2] = "no" if row[2] == "yes" else "yes"
    return File(
        "again.csv",
        _csv(["task", "worker", "label"], rows),
        {"repeats": "majority"},
        ("--repeats last", "--repeats majority", "--choices"),
        works=(("--repeats", "first"), ("--repeats", "last")),
    )


def told_apart() -> File:
    """Each item judged for two systems, in a column that nobody named."""
    draw = Random(14)
    rows: list[list[object]] = [
        [f"t{t}", f"w{w}", system, _said(draw, "yes" if (t + k) % 2 else "no", ["yes", "no"])]
        for t in range(40)
        for w in range(5)
        for k, system in enumerate(("gpt", "llama"))
    ]
    return File(
        "systems.csv",
        _csv(["item", "judge", "system", "verdict"], rows),
        {"question": "system"},
        ("--question system", "'system' tells them apart"),
        questions=("gpt", "llama"),
        works=(("--repeat", "system"),),
    )


def prompts() -> File:
    """A column of question texts, one per task: that is no question of its own."""
    draw = Random(15)
    rows: list[list[object]] = [
        [
            t,
            f"What is {t} plus {t}?",
            f"judge{k}",
            _said(draw, "pass" if t % 3 else "fail", ["pass", "fail"]),
        ]
        for t in range(40)
        for k in range(4)
    ]
    return File("prompts.csv", _csv(["id", "question", "judge", "verdict"], rows))


def promptfoo() -> File:
    """Two rubrics, three graders, and checks that are no judges."""
    data = (FIXTURES / "promptfoo" / "rubrics.json").read_bytes()
    return File("rubrics.json", data, questions=PROMPTFOO)


PROMPTFOO = ("llm-rubric: The sum is right", "tone")


def langfuse() -> File:
    """A numeric score, a boolean and a category."""
    data = (FIXTURES / "langfuse" / "mixed.json").read_bytes()
    return File(
        "mixed.json", data, {"threshold": 0.5}, ("--threshold 0.5", "hallucination"),
        questions=LANGFUSE,
    )  # fmt: skip


LANGFUSE = ("hallucination", "toxicity", "helpful")

FILES: dict[str, Callable[[], File]] = {
    make.__name__: make
    for make in (
        question_column, criterion_column, label_columns, two_label_columns, stars,
        words_on_a_scale, scores, points, choices_in_cells, choices_in_rows, choices_in_lists,
        spellings, titles, second_sheet, no_header, wide_with_notes, wide_with_questions, nobody,
        epochs, repeated, told_apart, prompts, promptfoo, langfuse,
    )
}  # fmt: skip
