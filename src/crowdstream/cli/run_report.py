"""What a run came to, as ``--json`` prints it and a summary shows it. Knows nothing of options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.cli.advised import advised_workers, evidence_of
from crowdstream.cli.json_output import DoubtfulTask, ExpectedErrors, HardTask, RunReport
from crowdstream.cli.monitor_report import latest_changes
from crowdstream.plain_text import counted
from crowdstream.report.advised import count_advice

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.cli.run_job import Job
    from crowdstream.report.monitors import MonitorReport


def run_report(
    job: Job, found: MonitorReport | None, workers: pl.DataFrame, seconds: float
) -> RunReport:
    """The report of a run; what monitors would know is null where there are none."""
    estimator, labels = job.estimator, job.intake.labels
    report = RunReport(
        method=job.factory.options.method,
        tasks=job.decided,
        labels=labels,
        workers=estimator.n_workers_,
        classes=len(estimator.classes_),
        settled=job.settled,
        settle=job.settle,
        min_labels=job.min_labels,
        unsettled=job.decided - job.settled,
        doubtful=_doubtful(job.doubtful),
        advice=count_advice(workers),
        advised=advised_workers(workers),
        evidence=evidence_of(workers),
        identifiable=bool(estimator.identifiable_),
        families=None if found is None else found.families,
        effective_votes=None if found is None else found.effective_votes,
        alarms=None if found is None else len(found.alarms),
        changes=None if found is None else latest_changes(found),
        labels_per_task=round(labels / max(job.decided, 1), 3),
        hardest=None if found is None else _hardest(job.hardest),
        expected_errors=ExpectedErrors(*job.errors.report()),
        warnings=_warnings(job),
        seconds=round(seconds, 3),
    )
    if job.score is not None:
        report.scored_tasks, report.error_rate = job.score.tasks, job.score.error
        report.truth_matched = job.score.truths.count()
        if job.score.distance is not None:
            report.mean_distance = job.score.distance
    if job.ordinal is not None:
        report.expected_steps = job.ordinal.expected_steps
    if job.gold is not None:
        report.gold_matched = job.gold.count()
    return report


def _doubtful(tasks: pl.DataFrame | None) -> list[DoubtfulTask]:
    return [] if tasks is None else [DoubtfulTask(*row) for row in tasks.iter_rows()]


def _hardest(tasks: pl.DataFrame | None) -> list[HardTask]:
    return (
        [] if tasks is None else [HardTask(*x) for x in tasks.select("task", "difficulty").rows()]
    )


def _warnings(job: Job) -> list[str]:
    """What whoever started the run should know, in sentences."""
    estimator, intake = job.estimator, job.intake
    found = list(job.notes)
    if estimator.many_classes_:
        found.append(estimator.many_classes_)
    if estimator.weighs and not estimator.identifiable_:
        reason = estimator.identifiable_.reason
        found.append(f"not identifiable: {reason}; fell back to majority vote")
    for count, noun, rest in (
        (job.bad_rows, "bad row", "left out"),
        (intake.null_label - job.cleaner.skipped, "empty label", "skipped"),
        (intake.repeated, "repeated row", "ignored: same task, worker and label"),
        (intake.replaced, "label", "replaced by a later one from the same worker"),
        (job.late, "late label", "ignored: the task had already left the window"),
        (job.factory.absent(estimator), "worker", "of --families without labels here"),
    ):
        if count:
            found.append(counted(count, noun, rest))
    return found
