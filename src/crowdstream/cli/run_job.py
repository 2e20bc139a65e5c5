"""One run over files of labels: reads, decides, writes pieces, and keeps what the report needs.

Knows nothing of options or of how the report is shown.
"""

from __future__ import annotations

import copy
import functools
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crowdstream.cli.task_lists import doubtful, hardest
from crowdstream.cli.terminal import ProgressBar
from crowdstream.errors import InputError, ManyClasses, NotIdentifiable, SureInDoubt
from crowdstream.labels.coding import Intake
from crowdstream.plain_text import percent
from crowdstream.report.expected import ErrorCount

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.cli.cleaning import InputCleaner
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.cli.ordinal import Ordinal
    from crowdstream.cli.score import Score
    from crowdstream.cli.truths import TruthFile
    from crowdstream.estimators import Estimator
    from crowdstream.labels import ClassLabel, CodedLabels, ColumnNames, TaskId
    from crowdstream.labels.readers import BadRows, Source
    from crowdstream.report.spending import Replay

    Write = Callable[[pl.DataFrame], None]

FIRST = 4
"""Decisions that a terminal shows."""

FELL = 0.1
"""Share of tasks that are no longer settled because of gold, from which on it is said."""


@dataclass(kw_only=True)
class Job:
    """One run: ``gold`` teaches, ``score`` holds the decisions against correct labels.

    ``reported``: whether anybody will read what is kept for the report, ``hard``: the hardest tasks
    too; ``resend``: whether all tasks that need more labels are kept.
    """

    factory: EstimatorFactory
    cleaner: InputCleaner
    settle: float
    min_labels: int
    online: bool
    silent: bool
    reported: bool
    hard: bool
    resend: bool
    gold: TruthFile | None
    score: Score | None
    ordinal: Ordinal | None
    replay: Replay | None = None
    bad_rows: int = 0
    late: int = 0
    settled: int = 0
    decided: int = 0
    gold_used: int = 0
    workers_here: int | None = None
    """Workers of this run, where a state knows of more."""
    first: pl.DataFrame | None = None
    hardest: pl.DataFrame | None = None
    doubtful: pl.DataFrame | None = None
    to_resend: list[pl.DataFrame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: ErrorCount = field(default_factory=ErrorCount)
    before: Intake = field(default_factory=Intake)
    """What had come in before this run."""

    @functools.cached_property
    def estimator(self) -> Estimator:
        """Made when first needed: reading need not wait for it to load."""
        return self.factory.make()

    def go_on_from(self, prior: Estimator) -> None:
        """Decide by what an estimator knows already and by these labels, which it learns."""
        self.estimator, self.before = prior, copy.copy(prior.intake_)
        self.cleaner.know(prior.workers_, prior.classes_)

    @property
    def intake(self) -> Intake:
        """What came in here."""
        found = copy.copy(self.estimator.intake_)
        found.count(self.before, -1)
        return found

    def decide(
        self,
        sources: list[Source],
        names: ColumnNames,
        bad_rows: BadRows,
        write: Write | None,
        window: int | None,
    ) -> None:
        """Decide everything, in memory or through a window of open tasks."""
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("ignore", NotIdentifiable)  # the report says these
            warnings.simplefilter("ignore", ManyClasses)
            warnings.simplefilter("always", SureInDoubt)
            if window is None:
                self._decide_whole(sources, names, bad_rows, write)
            else:
                self._decide_windowed(sources, names, bad_rows, write, window)
        for doubt in doubts:
            if doubt.category is SureInDoubt:
                self.notes.append(str(doubt.message))
            else:
                warnings.warn_explicit(doubt.message, doubt.category, doubt.filename, doubt.lineno)
        self.notes = list(dict.fromkeys(self.notes))
        self.bad_rows = bad_rows.rows
        self.notes += bad_rows.notes
        self._note_input()
        if self.score is not None:
            self.score.finish(self.estimator, taught=self.gold is not None)

    def _note_input(self) -> None:
        """What is to be said of the labels, the gold and the truths, now that all have come."""
        self.notes += self.cleaner.end(ordinal=self.ordinal is not None)
        for file in self.truth_files:
            file.check()
            self.notes += file.notes()

    @property
    def truth_files(self) -> list[TruthFile]:
        """Files of correct labels: gold, then truths."""
        files = self.gold, None if self.score is None else self.score.truths
        return [file for file in files if file is not None]

    def _gold_of(self, table: CodedLabels) -> dict[TaskId, ClassLabel] | None:
        return None if self.gold is None else self.gold.match(table)

    def _on_scale(
        self, decisions: pl.DataFrame, table: CodedLabels, gold: dict[TaskId, ClassLabel] | None
    ) -> pl.DataFrame:
        if self.ordinal is None:
            return decisions
        return self.ordinal.decide(self.estimator, decisions, table, gold, self._rule)

    def _decide_whole(
        self, sources: list[Source], names: ColumnNames, bad_rows: BadRows, write: Write | None
    ) -> None:
        from crowdstream.cli.truths import gold_within
        from crowdstream.labels.readers import read_all

        with ProgressBar("reading", None, silent=self.silent) as bar:
            table = self.cleaner.clean(read_all(sources, names, bad_rows))
            self.workers_here = len(table.workers)
            self.gold, said = gold_within(bad_rows.tally, table, self.gold)
            self.notes += said
            bar.update(f"deciding {table.height:,} labels")
            gold = self._gold_of(table)
            if self.gold is not None:
                self.gold.check()
            decisions = self._on_scale(self._decide_table(table, gold), table, gold)
            bar.update(f"writing {decisions.height:,} decisions")
            self._take(decisions, table, gold, write)
            # Medians are not what is decided again there.
            if self.gold_used and self.reported and not self.online and self.ordinal is None:
                bar.update("checking against gold")
                self.errors.check(table, self.estimator, gold or {}, self.settle)
                self._compare_settled(table)

    def _decide_table(
        self, table: CodedLabels, gold: dict[TaskId, ClassLabel] | None
    ) -> pl.DataFrame:
        """Decide a whole table; on top of what is known, if anything is."""
        crowd, known = self.estimator, bool(self.before.rows)
        verb = crowd.predict_many if known else crowd.fit_predict
        if self.online or (known and crowd.follows):
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

    def _decide_windowed(
        self,
        sources: list[Source],
        names: ColumnNames,
        bad_rows: BadRows,
        write: Write | None,
        size: int,
    ) -> None:
        """Files are read twice, to learn and to decide; once if online or from a pipe."""
        from crowdstream.labels.readers import BadRows, read_batches
        from crowdstream.parallel import ahead
        from crowdstream.window import Window

        piped = any(source.piped for source in sources)
        if piped and not self.online:
            self.notes.append(
                "a pipe can be read once only: each task was decided from the tasks before it"
            )
        once = self.online or piped
        if once and self.ordinal is not None:
            raise InputError("--ordinal", "a file, or no --window", "a pipe")
        total = 0 if piped else sum(os.path.getsize(source.path) for source in sources)
        empty: pl.DataFrame = self.estimator.predict_many([])

        def learn(table: CodedLabels) -> pl.DataFrame:
            self.estimator.learn_many(table, gold=self._gold_of(table))
            return empty

        def decide(table: CodedLabels) -> pl.DataFrame:
            verb = self.estimator.stream_many if once else self.estimator.predict_many
            gold = self._gold_of(table)
            decisions: pl.DataFrame = verb(table, gold=gold, **self._rule)
            self._take(self._on_scale(decisions, table, gold), table, gold, write)
            return empty

        def read(close: Callable[[CodedLabels], pl.DataFrame], what: str, bad: BadRows) -> int:
            window, rows, started = Window(size, close), 0, time.perf_counter()
            self.cleaner.restart()
            with ProgressBar(what, total, silent=self.silent) as bar:
                for size_read, batch in ahead(read_batches(sources, names, bad)):
                    window.feed(self.cleaner.clean(batch))
                    rows += batch.height
                    rate = rows / max(time.perf_counter() - started, 1e-9)
                    bar.update(advance=size_read, note=f"{rate:,.0f} labels/s")
                window.end()
            return window.late

        if not once:  # bad rows are counted when they are read again
            read(learn, "learning", BadRows("fail" if bad_rows.kind == "fail" else "skip"))
        self.late = read(decide, "deciding", bad_rows)
        if bad_rows.tally is not None and bad_rows.tally.gold:
            where = bad_rows.tally.where
            self.notes.append(f"the gold in {where} is left out: --window learns from --gold alone")

    def _take(
        self,
        decisions: pl.DataFrame,
        table: CodedLabels,
        gold: dict[TaskId, ClassLabel] | None,
        write: Write | None,
    ) -> None:
        """Write some decisions and keep what the report will need."""
        self.decided += decisions.height
        gold_tasks = list(gold or ())
        if gold_tasks:
            self.gold_used += int(decisions["task"].is_in(gold_tasks).sum())
        self.errors.take(decisions, gold_tasks)
        self.settled += int(decisions["settled"].sum())
        if self.first is None or self.first.height < FIRST:
            self.first = decisions.head(FIRST)
        if self.factory.monitored and self.hard:
            self.hardest = hardest(self.estimator, decisions, table, self.hardest)
        if self.reported:
            rule = self.settle, self.min_labels
            self.doubtful = doubtful(self.estimator, decisions, table, rule, self.doubtful)
        if self.resend:
            from crowdstream.monitoring import tasks_to_resend

            self.to_resend.append(tasks_to_resend(self.estimator, table, decisions, **self._rule))
        if self.replay is not None:
            self.replay.take(table, decisions)
        if self.score is not None:
            self.score.take(decisions, table, gold_tasks)
        if write is not None:
            write(decisions)

    def resend_table(self) -> pl.DataFrame:
        """All tasks to send out again, the most doubtful first."""
        import polars as pl

        return pl.concat(self.to_resend).sort("confidence", maintain_order=True)
