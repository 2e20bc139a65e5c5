"""One run over files of labels: reads, decides, writes pieces, and keeps what the report needs.

Knows nothing of options or of how the report is shown.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from crowdstream.cli.task_lists import doubtful, hardest
from crowdstream.cli.terminal import ProgressBar
from crowdstream.cli.truths import gold_of
from crowdstream.decisions.decision import SettleRule
from crowdstream.errors import ManyClasses, NotIdentifiable, SureInDoubt
from crowdstream.labels.coding import Intake
from crowdstream.labels.meaning.repeats import refuse_replaced
from crowdstream.labels.readers.files import FileOrigin
from crowdstream.monitoring.missing import (
    flip_notes,
    missing_notes,
    missing_verdicts,
    with_answering,
)
from crowdstream.plain_text import percent
from crowdstream.report.expected import ErrorCount

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.cli.score import Score
    from crowdstream.cli.truths import TruthFile
    from crowdstream.deciding import Prepared
    from crowdstream.estimators import Estimator
    from crowdstream.labels import ClassLabel, CodedLabels, TaskId
    from crowdstream.labels.meaning.interpreting import Interpreter
    from crowdstream.labels.readers import BadRows, Source
    from crowdstream.report.spending import Replay

    Write = Callable[[pl.DataFrame], None]

FIRST = 4
"""Decisions that a terminal shows."""

FELL = 0.1
"""Share of tasks that are no longer settled because of gold, from which on it is said."""


@dataclass(kw_only=True)
class Job:
    """One run on one question: ``gold`` teaches, ``score`` holds decisions against correct labels.

    ``question``: its name, empty where there is one only. ``reported``: whether anybody will read
    what is kept for the report, ``hard``: the hardest tasks too; ``resend``: whether all tasks that
    need more labels are kept. ``over_time``: whether tasks come in the order of time.
    """

    factory: EstimatorFactory
    settle: float
    min_labels: int
    online: bool
    silent: bool
    reported: bool
    hard: bool
    resend: bool
    over_time: bool = False
    gold: TruthFile | None = None
    score: Score | None = None
    question: str = ""
    prepared: Prepared | None = None
    replay: Replay | None = None
    bad_rows: int = 0
    late: int = 0
    settled: int = 0
    decided: int = 0
    gold_used: int = 0
    answers: int = 0
    """Labels that decisions rest on; of choices, sets."""
    no_answers: int = 0
    """Cells that hold none, of which a note tells already."""
    workers_here: int | None = None
    """Workers of this run, where a state knows of more."""
    first: pl.DataFrame | None = None
    hardest: pl.DataFrame | None = None
    doubtful: pl.DataFrame | None = None
    missing: pl.DataFrame | None = None
    steps: float | None = None
    """Expected distance from the truth on a scale, in steps."""
    to_resend: list[pl.DataFrame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: ErrorCount = field(default_factory=ErrorCount)
    before: Intake = field(default_factory=Intake)
    """Counts of what had come in before this run."""

    @functools.cached_property
    def estimator(self) -> Estimator:
        """Made when first needed: reading need not wait for it to load."""
        return self.factory.make(over_time=self.over_time)

    def go_on_from(self, prior: Estimator) -> None:
        """Decide by what an estimator knows already and by these labels, which it learns."""
        self.estimator, self.before = prior, copy.copy(prior.intake_)

    @property
    def key(self) -> str:
        """The name that states know the question by."""
        return self.question if self.prepared is None else self.prepared.question.key

    @property
    def intake(self) -> Intake:
        """Counts of what came in during this run."""
        found = copy.copy(self.estimator.intake_)
        found.count(self.before, -1)
        return found

    @property
    def truth_files(self) -> list[TruthFile]:
        """Files of correct labels: gold, then truths."""
        files = self.gold, None if self.score is None else self.score.truths
        return [file for file in files if file is not None]

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        """Keep what estimators warn of as notes; what the report says itself is left out."""
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("ignore", NotIdentifiable)
            warnings.simplefilter("ignore", ManyClasses)
            warnings.simplefilter("always", SureInDoubt)
            yield
        for doubt in doubts:
            if doubt.category is SureInDoubt:
                self.notes.append(str(doubt.message))
            else:
                warnings.warn_explicit(doubt.message, doubt.category, doubt.filename, doubt.lineno)
        self.notes = list(dict.fromkeys(self.notes))

    def _finish(self) -> None:
        """Hold what was decided against correct labels, and say how many matched."""
        for file in self.truth_files:
            file.check()
            self.notes += file.notes()
        if self.score is not None:
            self.score.finish(self.estimator, taught=self.gold is not None)

    def _gold_of(self, table: CodedLabels) -> dict[TaskId, ClassLabel] | None:
        return None if self.gold is None else self.gold.match(table)

    # All labels at once -------------------------------------------------------------------------

    def decide(self, prepared: Prepared, write: Write | None) -> None:
        """Decide the labels of a question, all of which are in memory."""
        self.prepared = prepared
        table = prepared.table
        self.workers_here = len(table.workers)
        about = f" ({self.question})" if self.question else ""
        with self._noting(), ProgressBar("", None, silent=self.silent) as bar:
            bar.update(f"deciding {table.height:,} labels{about}")
            gold = self._gold_of(table)
            if self.gold is not None:
                self.gold.check()
            raw = self._decide_table(table, gold)
            weighted = self.estimator.weighs_ and bool(self.estimator.identifiable_)
            rule = SettleRule.checked(self.settle, self.min_labels)
            decisions = prepared.decided(raw, rule, weighted=weighted, gold=gold)
            bar.update(f"writing {decisions.height:,} decisions{about}")
            self._take(decisions, table, gold, write, raw)
            self.missing = missing_verdicts(prepared.question.table, decisions)
            self.notes[:0] = [
                *missing_notes(self.missing),
                *flip_notes(prepared.question.flips),
            ]
            if "steps" in decisions.columns and decisions.height:
                self.steps = cast("float", decisions["steps"].mean())
            # Medians and sets are not what is decided again there.
            plain = prepared.question.kind.name == "classes"
            if self.gold_used and self.reported and not self.online and plain:
                bar.update("checking against gold")
                self.errors.check(table, self.estimator, gold or {}, self.settle)
                self._compare_settled(table)
        self._finish()

    def _decide_table(
        self, table: CodedLabels, gold: dict[TaskId, ClassLabel] | None
    ) -> pl.DataFrame:
        """Decide a whole table; on top of what is known, if anything is."""
        crowd, known = self.estimator, bool(self.before.rows)
        verb = crowd.predict_many if known else crowd.fit_predict
        if self.online:
            verb = crowd.stream_many
        elif known:
            crowd.learn_many(table, gold=gold)
        decisions: pl.DataFrame = verb(table, gold=gold, **self._rule)
        return decisions

    @property
    def _rule(self) -> dict[str, Any]:
        return {"settle": self.settle, "min_labels": self.min_labels}

    def _compare_settled(self, table: CodedLabels) -> None:
        """Say so if far fewer tasks are settled because of gold."""
        before: pl.DataFrame = self.estimator.clone().fit_predict(table, **self._rule)
        was, now = int(before["settled"].sum()) / self.decided, self.settled / self.decided
        if was - now > FELL:
            self.notes.append(
                f"gold bears out less confidence than the crowd has: {percent(now)} of the tasks "
                f"are settled with it, {percent(was)} without"
            )

    # Through a window of open tasks -------------------------------------------------------------

    def decide_windowed(
        self,
        sources: list[Source],
        interpreter: Interpreter,
        bad_rows: BadRows,
        write: Write | None,
        size: int,
    ) -> None:
        """Decide files of any length: read twice, to learn and to decide; pipes once."""
        with self._noting():
            self._decide_windowed(sources, interpreter, bad_rows, write, size)
        self.bad_rows = bad_rows.rows
        self.notes += bad_rows.notes
        self.notes += interpreter.notes()
        self.no_answers = interpreter.no_answers
        self._finish()
        refuse_replaced(
            self.intake.replaced, self.intake.given, FileOrigin(sources, interpreter.names)
        )

    def _decide_windowed(
        self,
        sources: list[Source],
        interpreter: Interpreter,
        bad_rows: BadRows,
        write: Write | None,
        size: int,
    ) -> None:
        from crowdstream.labels.readers import BadRows, read_batches
        from crowdstream.parallel import ahead
        from crowdstream.window import Window

        piped = any(source.piped for source in sources)
        if piped and not self.online:
            self.notes.append(
                "a pipe can be read once only: each task was decided from the tasks before it"
            )
        once = self.online or piped
        total = 0 if piped else sum(os.path.getsize(source.path) for source in sources)
        empty: pl.DataFrame = self.estimator.predict_many([])

        def learn(table: CodedLabels) -> pl.DataFrame:
            self.estimator.learn_many(table, gold=self._gold_of(table))
            return empty

        def decide(table: CodedLabels) -> pl.DataFrame:
            verb = self.estimator.stream_many if once else self.estimator.predict_many
            gold = self._gold_of(table)
            decisions: pl.DataFrame = verb(table, gold=gold, **self._rule)
            self._take(decisions, table, gold, write, decisions)
            return empty

        def read(close: Callable[[CodedLabels], pl.DataFrame], what: str, bad: BadRows) -> int:
            window, rows, started = Window(size, close), 0, time.perf_counter()
            interpreter.restart()
            with ProgressBar(what, total, silent=self.silent) as bar:
                for size_read, batch in ahead(read_batches(sources, interpreter.names, bad)):
                    table = interpreter.batch(batch)
                    window.feed(table)
                    rows += table.height
                    rate = rows / max(time.perf_counter() - started, 1e-9)
                    bar.update(advance=size_read, note=f"{rate:,.0f} labels/s")
                window.end()
            return window.late

        if not once:  # bad rows are counted when they are read again
            read(learn, "learning", BadRows("fail" if bad_rows.kind == "fail" else "skip"))
        self.late = read(decide, "deciding", bad_rows)
        if gold_of(bad_rows.tally, interpreter.names.question or ""):
            assert bad_rows.tally is not None
            where = bad_rows.tally.where
            self.notes.append(f"the gold in {where} is left out: --window learns from --gold alone")

    def _take(
        self,
        decisions: pl.DataFrame,
        table: CodedLabels,
        gold: dict[TaskId, ClassLabel] | None,
        write: Write | None,
        raw: pl.DataFrame,
    ) -> None:
        """Write some decisions and keep what the report will need.

        ``raw``: what the estimator decided of the table; of choices, pairs of task and class.
        """
        self.decided += decisions.height
        self.answers += int(decisions["votes"].sum())
        gold_tasks = list(gold or ())
        if gold_tasks:
            self.gold_used += int(raw["task"].is_in(gold_tasks).sum())
        self.errors.take(decisions, gold_tasks)
        self.settled += int(decisions["settled"].sum())
        if self.first is None or self.first.height < FIRST:
            self.first = decisions.head(FIRST)
        shown = decisions if decisions["task"].equals(raw["task"]) else raw
        if self.factory.monitored and self.hard:
            self.hardest = hardest(self.estimator, shown, table, self.hardest)
        if self.reported:
            rule = self.settle, self.min_labels
            self.doubtful = doubtful(self.estimator, shown, table, rule, self.doubtful)
        if self.resend:
            from crowdstream.monitoring import tasks_to_resend

            self.to_resend.append(tasks_to_resend(self.estimator, table, shown, **self._rule))
        if self.replay is not None:
            self.replay.take(table, shown)
        if self.score is not None:
            self.score.take(decisions, table, gold_tasks)
        if write is not None:
            write(named_question(decisions, self.question))

    def chances(self) -> pl.DataFrame:
        """The probability of each class, one row per task."""
        assert self.prepared is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said when the tasks were decided
            table = self.prepared.table
            found = self.estimator.predict_proba_many(table, gold=self._gold_of(table))
        weighted = self.estimator.weighs_ and bool(self.estimator.identifiable_)
        return self.prepared.chances(found, weighted=weighted)

    def with_answering(self, workers: pl.DataFrame) -> pl.DataFrame:
        """A table of workers with how often they contradict themselves and do not answer."""
        flips = None if self.prepared is None else self.prepared.question.flips
        return with_answering(workers, flips, self.missing)

    def resend_table(self) -> pl.DataFrame:
        """All tasks to send out again, the most doubtful first."""
        import polars as pl

        found = pl.concat(self.to_resend).sort("confidence", maintain_order=True)
        return named_question(found, self.question)


def named_question(table: pl.DataFrame, question: str) -> pl.DataFrame:
    """A table with the question in its first column, where there are several."""
    import polars as pl

    return table.select(pl.lit(question).alias("question"), pl.all()) if question else table
