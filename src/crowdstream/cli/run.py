"""`crowdstream run`: files of labels → decisions and a table of workers."""

from __future__ import annotations

import contextlib
import functools
import json as jsonlib
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from crowdstream.cli import options
from crowdstream.cli.output import (
    TableWriter,
    check_apart,
    check_output,
    save_bytes,
    talk,
    write_table,
)
from crowdstream.cli.summary import look_into, summary
from crowdstream.errors import InputError, NotIdentifiable
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.cli.crowds import Recipe
    from crowdstream.cli.summary import Insight
    from crowdstream.estimators import Estimator
    from crowdstream.labels import ClassLabel, CodedLabels, ColumnNames, TaskId
    from crowdstream.labels.readers import BadRows, Source

    Write = Callable[[pl.DataFrame], None]

SCHEMA = 1
"""Version of the JSON object; raised when a field changes its meaning."""

HARDEST = 5
"""Tasks that are told to be the hardest."""


def run(
    labels: Annotated[
        list[str],
        typer.Argument(
            help="Files or globs: CSV, TSV, JSONL, Parquet, Arrow; .gz, .zst; - is stdin."
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="Decisions: .csv .tsv .jsonl .parquet, or -."),
    ] = None,
    workers: Annotated[
        str | None, typer.Option("--workers", help="A table of the workers, likewise.")
    ] = None,
    level: options.Level = 0.95,
    costs: options.Costs = None,
    gold: Annotated[
        str | None, typer.Option("--gold", help="A file of true labels to score the decisions by.")
    ] = None,
    gold_train: Annotated[
        str | None,
        typer.Option("--gold-train", help="A file of true labels to learn from, likewise."),
    ] = None,
    online: Annotated[
        bool, typer.Option("--online", help="Decide each task from those before it, as a stream.")
    ] = False,
    window: Annotated[
        int | None,
        typer.Option("--window", help="At most this many open tasks: any length, bounded memory."),
    ] = None,
    task: options.Task = None,
    worker: options.Worker = None,
    label: options.LabelColumn = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="One row a task, one column a rater.")
    ] = False,
    format: options.Format = None,  # noqa: A002
    method: options.Method = "adaptive",
    memory: options.Memory = None,
    families: options.Families = None,
    answer_rate: options.AnswerRate = None,
    settle: options.Settle = 0.95,
    seed: options.Seed = 0,
    on_error: options.OnError = "fail",
    max_error: Annotated[
        float | None,
        typer.Option("--max-error", help="Exit with 1 if the error by --gold is above."),
    ] = None,
    save: Annotated[
        str | None, typer.Option("--save", help="Save what was learnt to this state file.")
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Decide every task in files of labels.

    Example: crowdstream run labels.csv -o decisions.csv --workers people.csv
    """
    from crowdstream.cli.crowds import Recipe
    from crowdstream.labels import ColumnNames
    from crowdstream.labels.gold import read_truths, truth_table
    from crowdstream.labels.readers import BadRows, find_sources
    from crowdstream.labels.readers.small_tables import read_costs

    started = time.perf_counter()
    check_output(output, "--output")
    check_output(workers, "--workers")
    check_number("--settle", settle, 0.0, 1.0)
    if max_error is not None:
        check_number("--max-error", max_error, 0.0, 1.0)
        if gold is None:
            raise InputError("--max-error", "--gold too", "none")
    check_number("--level", level, 0.5, 0.9999)
    shown = json or not quiet
    watch = shown or workers is not None or save is not None
    recipe = Recipe(method, memory, answer_rate, seed, families=families, watch=watch)
    prices = None if costs is None else read_costs(costs)
    sources = find_sources(labels, format)
    check_apart(
        [source.path for source in sources],
        {"--output": output, "--workers": workers, "--save": save},
    )
    threading.Thread(target=_load, args=[recipe], daemon=True).start()
    truths = None
    if gold is not None:
        truths = truth_table(read_truths(gold)).rename({"label": "gold"})
    names = ColumnNames(task, worker, label, wide)
    to_stdout = output == "-" or (output is None and not json and not sys.stdout.isatty())
    given = None if gold_train is None else read_truths(gold_train)
    job = _Job(recipe, settle, online, quiet or not sys.stderr.isatty(), truths, given)
    people = functools.cache(lambda: job.crowd.workers(level=level, costs=prices))
    with BadRows(on_error) as bad_rows:
        target = "-" if to_stdout else output
        # Whatever fails before the end takes the decisions' file with it.
        with contextlib.nullcontext() if target is None else TableWriter(target).open() as write:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotIdentifiable)  # the report says it
                if window is None:
                    job.whole(sources, names, bad_rows, write)
                else:
                    job.windowed(sources, names, bad_rows, write, window)
            job.bad_rows = bad_rows.rows
            if truths is not None:
                job.score()
            if workers is not None:
                write_table(people(), workers)
            elif prices is not None:
                people()  # refuses classes that nobody has named
            if save is not None:
                save_bytes(save, job.crowd.to_bytes())
    insight = look_into(job.crowd, job.decided) if shown else None
    report = job.report(method, insight, time.perf_counter() - started)
    if json:
        print(jsonlib.dumps(report))
    elif shown:
        summary(report, settle, job.head, job.hardest, people(), insight)
    if max_error is not None and job.error is not None and job.error > max_error:
        if not quiet:
            told = f"crowdstream: the error rate {job.error:.4f} is above --max-error {max_error:g}"
            print(told, file=sys.stderr)
        raise typer.Exit(1)


@dataclass
class _Job:
    """One run: reads, decides, writes, and remembers what the report tells."""

    recipe: Recipe
    settle: float
    online: bool
    silent: bool
    truths: pl.DataFrame | None
    given: dict[TaskId, ClassLabel] | None
    bad_rows: int = 0
    late: int = 0
    settled: int = 0
    decided: int = 0
    head: pl.DataFrame | None = None
    hardest: pl.DataFrame | None = None
    scored: list[pl.DataFrame] = field(default_factory=list)
    tied: list[pl.DataFrame] = field(default_factory=list)
    error: float | None = None
    gold_tasks: int = 0
    told: int = 0
    notes: list[str] = field(default_factory=list)

    @functools.cached_property
    def crowd(self) -> Estimator:
        """The estimator, made when first needed: reading need not wait for it to load."""
        return self.recipe.make()

    def whole(
        self,
        sources: list[Source],
        names: ColumnNames,
        bad_rows: BadRows,
        write: Write | None,
    ) -> None:
        """All labels in memory, grouped by task."""
        from crowdstream.labels.readers import read_all

        with _Steps(self.silent) as steps:
            steps.at("reading")
            table = read_all(sources, names, bad_rows)
            steps.at(f"deciding {table.height:,} labels")
            verb = self.crowd.stream_many if self.online else self.crowd.fit_predict
            decisions = verb(table, gold=self.given, settle=self.settle)
            steps.at(f"writing {decisions.height:,} decisions")
            self._take(decisions, table)
            if write is not None:
                write(decisions)

    def windowed(
        self,
        sources: list[Source],
        names: ColumnNames,
        bad_rows: BadRows,
        write: Write | None,
        size: int,
    ) -> None:
        """A batch at a time; files are read twice unless online, a pipe cannot be."""
        import os

        from crowdstream.labels.readers import BadRows, read_batches
        from crowdstream.window import Window

        piped = any(source.piped for source in sources)
        if piped and not self.online:
            self.notes.append("a pipe is read once: each task was decided from those before it")
        total = 0 if piped else sum(os.path.getsize(source.path) for source in sources)
        empty = self.crowd.predict_many([])

        def learn(table: CodedLabels) -> pl.DataFrame:
            self.crowd.learn_many(table, gold=self.given)
            return empty

        def decide(table: CodedLabels) -> pl.DataFrame:
            verb = self.crowd.stream_many if once else self.crowd.predict_many
            decisions = verb(table, gold=self.given, settle=self.settle)
            self._take(decisions, table)
            if write is not None:
                write(decisions)
            return empty

        def go(close: Callable[[CodedLabels], pl.DataFrame], what: str, aside: BadRows) -> int:
            window = Window(size, close)
            with _Steps(self.silent, total) as steps:
                steps.at(what)
                for read, batch in read_batches(sources, names, aside):
                    window.feed(batch)
                    steps.advance(read, batch.height)
                window.end()
            return window.late

        once = self.online or piped
        if not once:  # bad rows are told of when they come again
            go(learn, "learning", BadRows("fail" if bad_rows.kind == "fail" else "skip"))
        self.late = go(decide, "deciding", bad_rows)

    def _take(self, decisions: pl.DataFrame, table: CodedLabels) -> None:
        self.decided += decisions.height
        if self.given is not None:
            self.told += int(decisions["task"].is_in(list(self.given)).sum())
        self.settled += int(decisions["settled"].sum())
        if self.head is None or self.head.height < 8:
            self.head = decisions.head(8)
        if self.recipe.watch:
            self.hardest = _hardest(self.crowd, decisions, table, self.hardest)
        if self.truths is not None:
            scored = decisions.select("task", "label", "margin")
            if self.given is not None:  # what was told is not scored
                scored = scored.filter(~scored["task"].is_in(list(self.given)))
            scored = scored.join(self.truths, on="task", maintain_order="left")
            tied = scored.filter(scored["margin"] == 0)
            self.scored.append(scored)
            self.tied.append(table.frame().join(tied, on="task", how="semi", maintain_order="left"))

    def score(self) -> None:
        """Errors against the truth; a tie counts by the chance that the coin errs."""
        import polars as pl

        from crowdstream.metrics import error_rate

        decided = pl.concat(self.scored)
        self.gold_tasks = decided.height
        if not decided.height:
            found = "none in common with the labels"
            if self.given is not None:
                found += " that --gold-train does not tell"
            raise InputError("--gold", "tasks that have labels", found)
        counted = not (self.crowd.weighs and self.crowd.identifiable_)
        self.error = error_rate(
            decided.drop("gold"),
            decided.select("task", label="gold"),
            labels=pl.concat(self.tied).cast({"label": pl.String}) if counted else None,
            classes=len(self.crowd.classes_),
        )

    def report(self, method: str, insight: Insight | None, seconds: float) -> dict[str, object]:
        """What ``--json`` prints; what monitors would know is null where there are none."""
        crowd = self.crowd
        intake = crowd.intake_
        identified = crowd.identifiable_
        warnings = list(self.notes)
        if crowd.weighs and not identified:
            warnings.append(f"not identifiable: {identified.reason}; fell back to majority vote")
        for count, what in (
            (self.bad_rows, "bad rows were left out"),
            (intake.null_label, "empty labels were taken for skips"),
            (intake.repeated, "rows repeat a worker's label on a task"),
            (intake.replaced, "labels were replaced by a later one of the same worker"),
            (self.late, "labels came after their task had left the window"),
            (len(self.given or ()) - self.told, "true labels to learn from are of no task here"),
            (self.recipe.strangers(crowd), "workers in --families gave no label here"),
        ):
            if count:
                warnings.append(f"{count:,} {what}")
        found: dict[str, object] = {
            "schema_version": SCHEMA,
            "method": method,
            "tasks": self.decided,
            "labels": intake.labels,
            "workers": crowd.n_workers_,
            "classes": len(crowd.classes_),
            "settled": self.settled,
            "identifiable": bool(identified),
            "families": None if insight is None else insight.families,
            "effective_votes": None if insight is None else insight.effective_votes,
            "alarms": None if insight is None else len(insight.alarms),
            "hardest": self._hard_ones() if insight is not None else None,
            "warnings": warnings,
            "seconds": round(seconds, 3),
        }
        if self.error is not None:
            found |= {"gold_tasks": self.gold_tasks, "error_rate": self.error}
        return found

    def _hard_ones(self) -> list[dict[str, object]]:
        return [] if self.hardest is None else self.hardest.select("task", "difficulty").to_dicts()


def _hardest(
    crowd: Estimator, decisions: pl.DataFrame, table: CodedLabels, before: pl.DataFrame | None
) -> pl.DataFrame | None:
    """The hardest tasks of these and of those before, the first of equals."""
    import polars as pl

    from crowdstream import monitoring

    if not decisions.height:
        return before
    hard = monitoring.difficulty(crowd, table).drop_nulls("difficulty")
    least = hard["difficulty"].top_k(HARDEST).min()
    if least is not None:  # no need to join all tasks
        hard = hard.filter(hard["difficulty"] >= least)
    found = decisions.join(hard, on="task", maintain_order="left")
    if before is not None:
        found = pl.concat([before, found])
    return found.sort("difficulty", descending=True, maintain_order=True).head(HARDEST)


class _Steps:
    """A progress bar on standard error, where somebody looks."""

    def __init__(self, silent: bool, total: int = 0) -> None:
        self.silent = silent
        self.total = total
        self.rows = 0

    def __enter__(self) -> _Steps:
        if not self.silent:
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self.started = time.perf_counter()
            self.bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=talk(),
                transient=True,
            )
            self.bar.start()
            self.step = self.bar.add_task("", total=self.total or None, rate="")
        return self

    def at(self, what: str) -> None:
        """Say what is being done."""
        if not self.silent:
            self.bar.update(self.step, description=what)

    def advance(self, read: int, rows: int) -> None:
        """So many bytes more were read, so many labels more."""
        if not self.silent:
            self.rows += rows
            rate = self.rows / max(time.perf_counter() - self.started, 1e-9)
            self.bar.update(self.step, advance=read, rate=f"{rate:,.0f} labels/s")

    def __exit__(self, *_: object) -> None:
        if not self.silent:
            self.bar.stop()


def _load(recipe: Recipe) -> None:
    """Load what decides while the files are being read."""
    recipe.make()
