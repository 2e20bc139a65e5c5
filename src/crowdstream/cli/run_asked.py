"""Turns what `run` is asked for into a `Job` per question, decided one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from crowdstream.cli.label_input import read_sources
from crowdstream.cli.states import check_questions
from crowdstream.cli.terminal import ProgressBar
from crowdstream.errors import InputError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.cli import options
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.cli.run import Costing, Deciding, Output, Scoring
    from crowdstream.cli.run_job import Job
    from crowdstream.deciding import Prepared
    from crowdstream.estimators import Estimator
    from crowdstream.estimators.worker_table import Costs
    from crowdstream.labels.meaning.interpreting import Interpreter, ReadAs
    from crowdstream.labels.readers import BadRows, Source
    from crowdstream.labels.readers.tally import Tally
    from crowdstream.report.spending import Replay


@dataclass
class Done:
    """Outcome of a run: a job per question, how the files were read, notes."""

    jobs: list[Job]
    read_as: ReadAs
    notes: list[str] = field(default_factory=list)
    bad_rows: int = 0


class Asked(NamedTuple):
    """Request for a run; ``prior``: what earlier runs learnt, question by question."""

    files: options.LabelFiles
    deciding: Deciding
    scoring: Scoring
    out: Output
    report: options.Report
    costing: Costing
    seed: int
    factory: EstimatorFactory
    prior: Mapping[str, Estimator]

    def decide(
        self,
        sources: list[Source],
        bad_rows: BadRows,
        write: Callable[[pl.DataFrame], None] | None,
    ) -> Done:
        """Read the files and decide every question."""
        self._check_truths()
        if self.deciding.window is not None:
            return self._windowed(sources, bad_rows, write)
        known = {name: list(crowd.classes_) for name, crowd in self.prior.items()}
        with ProgressBar("reading", None, silent=self.report.quiet):
            found = read_sources(self.files, sources, bad_rows, known)
        # Estimators and what is reported load in another thread while the files are read.
        from crowdstream.cli.truths import check_questions_of_truths
        from crowdstream.deciding import Prepared

        names = [question.name for question in found.meaning.questions]
        check_questions(self.prior, [question.key for question in found.meaning.questions])
        for option, path in (("--gold", self.deciding.gold), ("--truth", self.scoring.truth)):
            check_questions_of_truths(option, path, names)
        done = Done([], found.meaning.read_as, list(found.notes), found.bad_rows)
        for question in found.meaning.questions:
            prepared = Prepared.of(question)
            job = self._job(question.name, prepared, found.tally)
            job.no_answers = sum(found.meaning.read_as.no_answer.values())
            job.decide(prepared, write)
            done.jobs.append(job)
        return done

    def _windowed(
        self,
        sources: list[Source],
        bad_rows: BadRows,
        write: Callable[[pl.DataFrame], None] | None,
    ) -> Done:
        from crowdstream.labels.meaning.interpreting import Interpreter

        assert self.deciding.window is not None
        if self.out.probabilities is not None:
            raise UsageError("--probabilities cannot be combined with --window")
        where = sources[0].name if len(sources) == 1 else "labels"
        interpreter: Interpreter = Interpreter(self.files.names(), self.files.hints(), where=where)
        check_questions(self.prior, [""])
        if "" in self.prior:
            interpreter.know(self.prior[""].classes_)
        job = self._job("", None, None)
        job.decide_windowed(sources, interpreter, bad_rows, write, self.deciding.window)
        read_as = interpreter.read_as()
        assert read_as is not None  # files without a row are refused
        return Done([job], read_as)

    def _check_truths(self) -> None:
        """Refuse files of correct labels that are not there, before any work."""
        from pathlib import Path

        for option, path in (("--gold", self.deciding.gold), ("--truth", self.scoring.truth)):
            if path not in (None, "-") and not Path(str(path)).exists():
                raise InputError(option, "a file that exists", repr(path))

    def _job(self, name: str, prepared: Prepared | None, tally: Tally | None) -> Job:
        from crowdstream.cli.run_job import Job
        from crowdstream.cli.score import Score
        from crowdstream.cli.truths import gold_within, truth_file

        deciding, scoring = self.deciding, self.scoring
        gold = truth_file("--gold", deciding.gold, prepared, teaches=True)
        truths = truth_file("--truth", scoring.truth, prepared)
        notes: list[str] = []
        if prepared is not None:
            gold, notes = gold_within(tally, prepared, gold)
        job = Job(
            factory=self.factory,
            settle=deciding.settle,
            min_labels=deciding.min_labels,
            online=deciding.online,
            silent=self.report.quiet,
            reported=self.report.shown,
            hard=self.report.json,  # a screen does not show them
            resend=self.out.resend is not None,
            gold=gold,
            score=None if truths is None else Score(truths, prepared),
            question=name,
            notes=notes,
            over_time=self._over_time(prepared),
        )
        key = name if prepared is None else prepared.question.key
        if key in self.prior:
            job.go_on_from(self.prior[key])
        choices = prepared is not None and prepared.choices is not None
        # Nobody answers one choice alone: what sets would have cost cannot be replayed.
        if self.costing.price is not None and self.report.shown and not choices:
            job.replay = self._replay(job, prepared)
        return job

    def _over_time(self, prepared: Prepared | None) -> bool:
        """Return whether tasks come in the order of time: they have one, or the user says so."""
        timed = prepared is not None and prepared.question.in_order
        return timed or self.deciding.in_order or self.deciding.online

    def _replay(self, job: Job, prepared: Prepared | None) -> Replay:
        """The purchase of the labels by a crowd that knows what it knew before this run."""
        from crowdstream.report.spending import Replay

        prior = self.prior.get(job.question if prepared is None else prepared.question.key)
        before = self.factory.make() if prior is None else prior.copy()
        compared = prepared is None or prepared.question.kind.name == "classes"
        return Replay(before, job.settle, job.min_labels, self.seed, compared=compared)


def worker_table(job: Job, level: float, costs: Costs | None) -> pl.DataFrame:
    """The workers of a job: advice, and how often they contradict themselves or do not answer."""
    from crowdstream.report.advised import advised_table

    return job.with_answering(advised_table(job.estimator, level, costs))
