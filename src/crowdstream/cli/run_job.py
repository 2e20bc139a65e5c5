"""One run over files of labels: reads, decides, writes pieces, and counts for the report.

Knows nothing of options or of how the report is shown.
"""

from __future__ import annotations

import functools
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crowdstream.cli.expected import ErrorCount
from crowdstream.cli.json_output import HardTask, RunReport
from crowdstream.cli.terminal import ProgressBar
from crowdstream.cli.truths import gold_notes
from crowdstream.cli.wording import counted
from crowdstream.errors import InputError, NotIdentifiable

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.cli.monitor_report import MonitorReport
    from crowdstream.estimators import Estimator
    from crowdstream.labels import ClassLabel, CodedLabels, ColumnNames, TaskId
    from crowdstream.labels.readers import BadRows, Source

    Write = Callable[[pl.DataFrame], None]

HARDEST = 5
"""Tasks that are reported as the hardest."""

FIRST = 8
"""Decisions that a terminal shows."""


@dataclass
class Job:
    """One run: ``truths`` score the decisions, ``gold`` teaches."""

    factory: EstimatorFactory
    settle: float
    online: bool
    silent: bool
    truths: pl.DataFrame | None
    gold: dict[TaskId, ClassLabel] | None
    reported: bool = True
    bad_rows: int = 0
    late: int = 0
    settled: int = 0
    decided: int = 0
    error: float | None = None
    gold_used: int = 0
    scored_tasks: int = 0
    first: pl.DataFrame | None = None
    hardest: pl.DataFrame | None = None
    notes: list[str] = field(default_factory=list)
    errors: ErrorCount = field(default_factory=ErrorCount)
    _scored: list[pl.DataFrame] = field(default_factory=list)
    _tied: list[pl.DataFrame] = field(default_factory=list)

    @functools.cached_property
    def estimator(self) -> Estimator:
        """Made when first needed: reading need not wait for it to load."""
        return self.factory.make()

    def decide(
        self,
        sources: list[Source],
        names: ColumnNames,
        bad_rows: BadRows,
        write: Write | None,
        window: int | None,
    ) -> None:
        """Decide everything, in memory or through a window of open tasks."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotIdentifiable)  # the report says it
            if window is None:
                self._decide_whole(sources, names, bad_rows, write)
            else:
                self._decide_windowed(sources, names, bad_rows, write, window)
        self.bad_rows = bad_rows.rows
        self.notes += bad_rows.notes
        if self.truths is not None:
            self._score()

    def _decide_whole(
        self, sources: list[Source], names: ColumnNames, bad_rows: BadRows, write: Write | None
    ) -> None:
        from crowdstream.labels.readers import read_all

        with ProgressBar("reading", None, silent=self.silent) as bar:
            table = read_all(sources, names, bad_rows)
            bar.update(f"deciding {table.height:,} labels")
            self.notes += gold_notes(self.gold, table.classes)
            if self.gold is not None:  # a misspelt class would be one more
                self.gold = {t: x for t, x in self.gold.items() if x in table.classes}
            verb = self.estimator.stream_many if self.online else self.estimator.fit_predict
            decisions: pl.DataFrame = verb(table, gold=self.gold, settle=self.settle)
            bar.update(f"writing {decisions.height:,} decisions")
            self._take(decisions, table, write)
            if self.gold_used and self.reported and not self.online:
                bar.update("checking against gold")
                self.errors.check(table, self.estimator, self.gold or {}, self.settle)

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
            self.estimator.learn_many(table, gold=self.gold)
            return empty

        def decide(table: CodedLabels) -> pl.DataFrame:
            verb = self.estimator.stream_many if once else self.estimator.predict_many
            decisions: pl.DataFrame = verb(table, gold=self.gold, settle=self.settle)
            self._take(decisions, table, write)
            return empty

        def read(close: Callable[[CodedLabels], pl.DataFrame], what: str, bad: BadRows) -> int:
            window, rows, started = Window(size, close), 0, time.perf_counter()
            with ProgressBar(what, total, silent=self.silent) as bar:
                for size_read, batch in read_batches(sources, names, bad):
                    window.feed(batch)
                    rows += batch.height
                    rate = rows / max(time.perf_counter() - started, 1e-9)
                    bar.update(advance=size_read, note=f"{rate:,.0f} labels/s")
                window.end()
            return window.late

        if not once:  # bad rows are counted when they are read again
            read(learn, "learning", BadRows("fail" if bad_rows.kind == "fail" else "skip"))
        self.late = read(decide, "deciding", bad_rows)

    def _take(self, decisions: pl.DataFrame, table: CodedLabels, write: Write | None) -> None:
        """Write some decisions and keep what the report will need."""
        self.decided += decisions.height
        gold_tasks = list(self.gold or ())
        if gold_tasks:
            self.gold_used += int(decisions["task"].is_in(gold_tasks).sum())
        self.errors.take(decisions, gold_tasks)
        self.settled += int(decisions["settled"].sum())
        if self.first is None or self.first.height < FIRST:
            self.first = decisions.head(FIRST)
        if self.factory.monitored:
            self.hardest = _hardest(self.estimator, decisions, table, self.hardest)
        if self.truths is not None:
            scored = decisions.select("task", "label", "margin")
            if gold_tasks:  # what was taught is not scored
                scored = scored.filter(~scored["task"].is_in(gold_tasks))
            scored = scored.join(self.truths, on="task", maintain_order="left")
            tied = scored.filter(scored["margin"] == 0)
            self._scored.append(scored)
            labels = table.frame()
            self._tied.append(labels.join(tied, on="task", how="semi", maintain_order="left"))
        if write is not None:
            write(decisions)

    def _score(self) -> None:
        """Errors against the truth; a tie counts by the chance that its random choice errs."""
        import polars as pl

        from crowdstream.metrics import error_rate

        decided = pl.concat(self._scored)
        self.scored_tasks = decided.height
        if not decided.height:
            found = "none in common with the labels"
            if self.gold is not None:
                found += " that --gold does not have too"
            raise InputError("--truth", "tasks that have labels", found)
        by_majority = not (self.estimator.weighs and self.estimator.identifiable_)
        self.error = error_rate(
            decided.drop("gold"),
            decided.select("task", label="gold"),
            labels=pl.concat(self._tied).cast({"label": pl.String}) if by_majority else None,
            classes=len(self.estimator.classes_),
        )

    def save(self, path: str) -> None:
        """Save what was learnt."""
        self.estimator.save(path)

    def report(self, found: MonitorReport | None, seconds: float) -> RunReport:
        """What ``--json`` prints; what monitors would know is null where there are none."""
        estimator, identifiable = self.estimator, bool(self.estimator.identifiable_)
        report = RunReport(
            method=self.factory.options.method,
            tasks=self.decided,
            labels=estimator.intake_.labels,
            workers=estimator.n_workers_,
            classes=len(estimator.classes_),
            settled=self.settled,
            identifiable=identifiable,
            families=None if found is None else found.families,
            effective_votes=None if found is None else found.effective_votes,
            alarms=None if found is None else len(found.alarms),
            hardest=None if found is None else self._hard_tasks(),
            expected_errors=self.errors.report(),
            warnings=self._warnings(),
            seconds=round(seconds, 3),
        )
        if self.error is not None:
            report.scored_tasks, report.error_rate = self.scored_tasks, self.error
        return report

    def _warnings(self) -> list[str]:
        estimator = self.estimator
        found = list(self.notes)
        if estimator.weighs and not estimator.identifiable_:
            reason = estimator.identifiable_.reason
            found.append(f"not identifiable: {reason}; fell back to majority vote")
        intake = estimator.intake_
        unused = len(self.gold or ()) - self.gold_used
        for count, noun, rest in (
            (self.bad_rows, "bad row", "left out"),
            (intake.null_label, "empty label", "skipped"),
            (intake.repeated, "repeated row", "ignored: same task, worker and label"),
            (intake.replaced, "label", "replaced by a later one from the same worker"),
            (self.late, "late label", "ignored: the task had already left the window"),
            (unused, "task", "of --gold without labels here"),
            (self.factory.absent(estimator), "worker", "of --families without labels here"),
        ):
            if count:
                found.append(counted(count, noun, rest))
        return found

    def _hard_tasks(self) -> list[HardTask]:
        if self.hardest is None:
            return []
        rows = self.hardest.select("task", "difficulty").iter_rows()
        return [HardTask(task, difficulty) for task, difficulty in rows]


def _hardest(
    estimator: Estimator, decisions: pl.DataFrame, table: CodedLabels, before: pl.DataFrame | None
) -> pl.DataFrame | None:
    """The hardest tasks of these and of those before, the first of equals."""
    import polars as pl

    from crowdstream import monitoring

    if not decisions.height:
        return before
    hard = monitoring.difficulty(estimator, table).drop_nulls("difficulty")
    least = hard["difficulty"].top_k(HARDEST).min()
    if least is not None:  # no need to join all tasks
        hard = hard.filter(hard["difficulty"] >= least)
    found = decisions.join(hard, on="task", maintain_order="left")
    if before is not None:
        found = pl.concat([before, found])
    return found.sort("difficulty", descending=True, maintain_order=True).head(HARDEST)
