"""`make_report`: labels, or what was learnt of them → one page that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from crowdstream.deciding import Prepared
from crowdstream.defaults import LEVEL, LEVEL_RANGE, MIN_LABELS, SETTLE
from crowdstream.errors import InputError
from crowdstream.estimators import Adaptive, Estimator
from crowdstream.extras import need
from crowdstream.labels import (
    ArrowTable,
    ClassLabel,
    Table,
    TaskId,
    Truths,
    read_truths,
    shorten,
)
from crowdstream.labels.coding import interpret
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.questions import Questions
from crowdstream.report.charts.drawing import crowd_of
from crowdstream.report.findings import Findings, Settings, find_in_labels, find_in_state
from crowdstream.stream.stream import Stream
from crowdstream.validation import check_number

TITLE = "Report on a crowd"

SUFFIXES = (".html", ".htm", ".png", ".pdf")


class Report:
    """A finished report; `make_report` makes it.

    Parameters
    ----------
    questions
        What it tells of each question; one question has no name.
    title
        What stands above it.
    notes
        What was done to the input as a whole, in sentences; they are said first.

    Examples
    --------
    >>> import crowdstream as cs
    >>> report = cs.make_report(cs.simulate(8, 300, p=0.2).labels(), title="June")
    >>> "<h1>June</h1>" in report.html
    True
    """

    def __init__(
        self,
        questions: Mapping[str, Findings],
        title: str = TITLE,
        *,
        notes: Sequence[str] = (),
    ) -> None:
        self.questions, self.title, self.notes = dict(questions), title, list(notes)
        self._html: str | None = None

    @property
    def findings(self) -> Findings:
        """Findings of the first question."""
        return next(iter(self.questions.values()))

    @property
    def html(self) -> str:
        """The page."""
        if self._html is None:
            from crowdstream.report.page import write_page

            self._html = write_page(self.questions, self.title, notes=self.notes)
        return self._html

    def save(self, path: str | Path) -> None:
        """Write it to a file: the page, a picture of its first screen, or the printed page.

        Parameters
        ----------
        path
            A name that ends in .html, .png (for slides) or .pdf, which needs a Chromium or Chrome.

        Examples
        --------
        >>> import tempfile, crowdstream as cs
        >>> report = cs.make_report(cs.simulate(8, 300, p=0.2).labels())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report.save(f"{folder}/report.html")
        """
        from crowdstream.report.printing import print_page
        from crowdstream.report.slide import draw_slide
        from crowdstream.serialization import replacing

        kind = Path(path).suffix.lower()
        if kind not in SUFFIXES:
            raise InputError("path", f"a name that ends in {' '.join(SUFFIXES)}", repr(str(path)))
        if kind == ".pdf":
            data = print_page(self.html)
        else:
            data = draw_slide(self) if kind == ".png" else self.html.encode()
        with replacing(str(path)) as target:
            Path(target).write_bytes(data)

    def _repr_html_(self) -> str:
        """In a notebook: in a frame of its own, whose style does not leak."""
        page = html.escape(self.html)
        return f'<iframe title="report" srcdoc="{page}" width="100%" height="900"></iframe>'


def make_report(
    source: Table | Estimator | Stream | Questions,
    *,
    title: str = TITLE,
    crowd: Estimator | None = None,
    gold: ArrowTable | Truths | None = None,
    truth: ArrowTable | Truths | None = None,
    price: float | None = None,
    settle: float = SETTLE,
    min_labels: int = MIN_LABELS,
    level: float = LEVEL,
    **meaning: Unpack[TableMeaning],
) -> Report:
    """Decide labels and tell what came of it on one page: how right, whom to trust, what is hard.

    Parameters
    ----------
    source
        Labels: a table, or rows of task, worker and label. Or an estimator, a stream or `Questions`
        that have learnt; then there is nothing on decisions and tasks, which need the labels.
    title
        What stands above the report.
    crowd
        The estimator that decides, which learns. By default a monitored `Adaptive`, which looks for
        workers who changed only if the table has times (a column ``at``): `monitor` makes one that
        takes the order of rows for that of time.
    gold
        Correct labels of some tasks, to learn from. Of several questions: a table with a question
        column, which need not have every question.
    truth
        Correct labels that the decisions are held against; not learnt from. As ``gold`` has them.
    price
        What one label cost.
    settle, min_labels
        When a decision is settled.
    level
        Of the intervals of error rates.
    **meaning
        What the table means, where it does not show it: as for `Estimator.fit_predict`. A table of
        several questions is told question by question.

    Examples
    --------
    >>> import crowdstream as cs
    >>> made = cs.simulate(8, 300, p=0.2)
    >>> report = cs.make_report(made.labels(), truth=made.truths(), price=0.05)
    >>> report.findings.measured.tasks
    300
    >>> len(report.html) < 5_000_000
    True

    A table of several questions has a line for each on the first screen:

    >>> rows = [
    ...     {"task": t, "worker": w, "question": q, "label": (t + len(q)) % 2}
    ...     for t in range(20) for w in ("ann", "bob", "cy") for q in ("tone", "toxic")
    ... ]
    >>> list(cs.make_report(rows).questions)
    ['tone', 'toxic']
    """
    from crowdstream.monitoring import monitor

    need("altair", "vl_convert", extra="report")
    check_number("level", level, *LEVEL_RANGE)
    if price is not None:
        check_number("price", price, 0.0, 1e9)
    settings = Settings(settle=settle, min_labels=min_labels, level=level, price=price)
    if isinstance(source, Questions):
        return Report({name: find_in_state(one, settings) for name, one in source.items()}, title)
    if isinstance(source, Estimator | Stream):
        return Report({"": find_in_state(crowd_of(source), settings)}, title)
    meaning_of = interpret(source, **meaning)
    names = [question.name for question in meaning_of.questions]
    known = {
        "gold": _by_question("gold", gold, names),
        "truth": _by_question("truth", truth, names),
    }
    made: dict[str, Findings] = {}
    for question in meaning_of.questions:
        prepared = Prepared.of(question)
        if not prepared.table.height:
            raise InputError("source", "at least one label", "none")
        deciding = crowd
        if deciding is None:
            deciding = monitor(Adaptive(), over_time=question.in_order)
        if meaning_of.several and crowd is not None:
            deciding = crowd.clone()
        taught, true = (given[question.name] for given in known.values())
        found = find_in_labels(
            prepared,
            deciding,
            settings,
            gold=_matched("gold", taught, prepared),
            truth=_matched("truth", true, prepared),
            true_sets=true,
            plan=None if question.name else gold,
        )
        found.read_as = meaning_of.read_as.text
        made[question.name] = found
    return Report(made, title, notes=meaning_of.notes)


def _by_question(
    name: str, given: ArrowTable | Truths | None, questions: Sequence[str]
) -> dict[str, dict[TaskId, ClassLabel]]:
    """Correct labels question by question; a table that has none of the questions is refused."""
    found = {each: read_truths(given, question=each) for each in questions}
    if given is not None and len(questions) > 1 and not any(found.values()):
        expected = f"correct labels of {', '.join(map(repr, map(shorten, questions)))}"
        raise InputError(name, expected, "of other questions")
    return found


def _matched(
    name: str, given: Mapping[TaskId, ClassLabel], prepared: Prepared
) -> dict[TaskId, ClassLabel]:
    """Correct labels, as the tasks and classes of the labels are spelt."""
    import polars as pl

    from crowdstream.labels.matching import TruthMatcher

    if not given:
        return {}
    table = prepared.table
    truths = prepared.truths(given) or {}
    matcher, tasks = TruthMatcher(truths), pl.Series(table.batch.tasks)
    found = matcher.match(tasks, table.classes)
    matcher.check(name, tasks[0])
    return found
