"""Outcome of a run, as ``--json`` prints it and a summary shows it. Knows nothing of options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.cli.advised import advised_workers, evidence_of
from crowdstream.cli.json_output import (
    DoubtfulTask,
    ErrorDependence,
    HardTask,
    MissingOnClass,
    QuestionsReport,
    RunReport,
    flip_rates_of,
)
from crowdstream.cli.monitor_report import latest_changes
from crowdstream.monitoring.agreement import question_coefficients
from crowdstream.monitoring.missing import missing_by_class
from crowdstream.plain_text import counted
from crowdstream.report.advised import count_advice

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.cli.run_asked import Done
    from crowdstream.cli.run_job import Job
    from crowdstream.report.monitors import MonitorReport


def run_report(
    job: Job, found: MonitorReport | None, workers: pl.DataFrame, seconds: float, done: Done
) -> RunReport:
    """The report of a run; what monitors would know is null where there are none."""
    estimator, labels, classes = job.estimator, job.intake.labels, len(job.estimator.classes_)
    choices = None if job.prepared is None else job.prepared.choices
    if choices is not None:  # answers and what could be chosen, not yes and no
        labels, classes = job.answers, len(choices.classes)
    worth = None if found is None or choices is not None else found.worth
    report = RunReport(
        read_as=done.read_as,
        method=job.factory.options.method,
        tasks=job.decided,
        labels=labels,
        workers=len(estimator._workers),
        classes=classes,
        settled=job.settled,
        settle=job.settle,
        min_labels=job.min_labels,
        unsettled=job.decided - job.settled,
        doubtful=_doubtful(job.doubtful),
        advice=count_advice(workers),
        advised=advised_workers(workers),
        evidence=evidence_of(workers),
        identifiable=bool(estimator.identifiable_),
        families=None if found is None else [*found.families, *found.copies],
        copies=None if found is None else found.copies,
        suspects=None if found is None else found.suspects,
        effective_votes=None if worth is None else worth.effective,
        dependence=ErrorDependence(*estimator.dependence_),
        alarms=len(found.alarms) if found is not None and found.over_time else None,
        changes=latest_changes(found) if found is not None and found.over_time else None,
        labels_per_task=round(labels / max(job.decided, 1), 3),
        hardest=None if found is None else _hardest(job.hardest),
        agreement=question_coefficients(
            estimator, None if job.prepared is None else job.prepared.question
        ),
        expected_errors=job.errors.report(estimator, 1 if choices is None else classes),
        warnings=_warnings(job, done),
        seconds=round(seconds, 3),
    )
    if job.score is not None:
        report.scored_tasks, report.error_rate = job.score.tasks, job.score.error
        report.truth_matched = job.score.truths.count()
        if job.score.sets is not None:
            report.set_f1 = round(job.score.sets.micro, 6)
        if job.score.distance is not None:
            report.mean_distance = job.score.distance
    if job.gold is not None:
        report.gold_matched = job.gold.count()
    if job.steps is not None:
        report.expected_steps = round(job.steps, 6)
    if job.question:
        report.question = job.question
    if job.prepared is not None and job.prepared.question.flips is not None:
        report.flip_rates = flip_rates_of(job.prepared.question.flips)
    if "missing" in workers.columns:
        report.missing = dict(workers.select("worker", "missing").iter_rows())
    if job.missing is not None:
        rows = missing_by_class(job.missing).iter_rows()
        report.missing_by_class = [MissingOnClass(*row) for row in rows]
    return report


def questions_report(reports: list[RunReport], done: Done, seconds: float) -> QuestionsReport:
    """The report of a run on several questions."""
    warnings = [*done.notes]
    if done.bad_rows:
        warnings.append(counted(done.bad_rows, "bad row", "left out"))
    return QuestionsReport(
        read_as=done.read_as, questions=reports, warnings=warnings, seconds=round(seconds, 3)
    )


def _doubtful(tasks: pl.DataFrame | None) -> list[DoubtfulTask]:
    return [] if tasks is None else [DoubtfulTask(*row) for row in tasks.iter_rows()]


def _hardest(tasks: pl.DataFrame | None) -> list[HardTask]:
    return (
        [] if tasks is None else [HardTask(*x) for x in tasks.select("task", "difficulty").rows()]
    )


def _warnings(job: Job, done: Done) -> list[str]:
    """Return warnings on the run, in sentences."""
    estimator, intake = job.estimator, job.intake
    found = list(job.notes) if job.question else [*done.notes, *job.notes]
    if estimator.many_classes_:
        found.append(estimator.many_classes_)
    if estimator.weighs_ and not estimator.identifiable_:
        reason = estimator.identifiable_.reason
        found.append(f"not identifiable: {reason}; fell back to majority vote")
    # Of verdicts that were asked for again the most frequent counts: nothing was replaced.
    again = job.prepared is not None and job.prepared.question.flips is not None
    for count, noun, rest in (
        (job.bad_rows or (0 if job.question else done.bad_rows), "bad row", "left out"),
        (intake.null_label - job.no_answers, "empty label", "skipped"),
        (0 if again else intake.repeated, "repeated row", "ignored: same task, worker and label"),
        (0 if again else intake.replaced, "label", "replaced by a later one from the same worker"),
        (job.late, "late label", "ignored: the task had already left the window"),
        (job.factory.absent(estimator), "worker", "of --families without labels here"),
    ):
        if count:
            found.append(counted(count, noun, rest))
    return found
