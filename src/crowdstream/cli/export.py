"""`crowdstream export`: decisions back to where the labels came from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdstream.cli import options
from crowdstream.cli.output import check_apart, check_output, check_writable, write_table
from crowdstream.cli.terminal import say
from crowdstream.errors import InputError, UsageError
from crowdstream.plain_text import counted
from crowdstream.serialization import replacing

if TYPE_CHECKING:
    import polars as pl

DROP, BY_GOLD = "drop", "gold"
"""The advice on workers whose answers tell nothing."""


class Decided(options.Group, panel="Input"):
    """The decisions."""

    HELP = """
    decisions: FILE  Decisions as `crowdstream run -o` writes them, or a server's export: columns
        task, label and confidence.
    """
    decisions: str


class Original(Decided):
    """The decisions, and what their labels came from."""

    HELP = """
    --source FILE  The export that the labels came from.
    --question NAME  Which of its questions was decided, if there are several.
    """
    source: str
    question: str | None = None


class Output(options.Quiet, panel="Output"):
    """Options of output."""

    HELP = """
    -o, --output FILE  File to write; standard output without it.
    """
    output: str | None = None


class Rejecting(options.Group, panel="Rejecting"):
    """Options of rejecting work."""

    HELP = """
    --reject  Reject assignments of workers whom the table of workers advises to drop, where their
        answer is not the settled decision. Without it, everything is approved.
    --workers FILE  The table of workers of the same run (`crowdstream run --workers`), with the
        columns worker, answers, evidence and advice.
    --without-gold  Reject though no error rate was checked against gold.
    """
    reject: bool = False
    workers: str | None = None
    without_gold: bool = False


class Job(options.Group, panel="The labelling job"):
    """Options of the Ground Truth job."""

    HELP = """
    --attribute NAME  The job's label attribute name.
    --job NAME  The job's name.
    --category NAME  The job's label categories, in their order; one option each.
    """
    attribute: str
    job: str = ""
    category: list[str] | None = None


def label_studio(given: Original, out: Output) -> None:
    """Write decisions as predictions to import into Label Studio.

    The score of a prediction is the decision's confidence. Annotations are left out: Label Studio
    takes imported ones for truths. To write into the project itself, see crowdstream sync
    label-studio --push.

    \b
    Example:
      crowdstream export label-studio decisions.csv --source export.json -o import.json
    """
    from crowdstream.writers import to_label_studio

    _check(out.output, given.decisions, given.source)
    tasks = _json_array(given.source)
    found = to_label_studio(_decisions(given.decisions), tasks, question=given.question)
    number = sum("predictions" in one for one in found)
    if not number:
        raise InputError(given.decisions, f"decisions on tasks of {given.source}", "none")
    _write_json(found, out.output)
    if not out.quiet:
        say(f"{counted(number, 'prediction')} on {counted(len(found), 'task')}")


def mturk(given: Original, rejecting: Rejecting, out: Output) -> None:
    """Fill in the review of a Mechanical Turk batch, to be uploaded.

    Every assignment that waits for a review is approved. With --reject, those are rejected that
    fail twice: the worker is advised to be dropped, and this answer is not the settled decision.
    The worker is told so in words. Error rates must rest on gold (crowdstream run --gold), since
    agreement alone cannot show that the crowd is wrong and this worker right. Look at the file
    before you upload it: it decides who is paid.

    \b
    Examples:
      crowdstream export mturk decisions.csv --source Batch_1_results.csv -o review.csv
      crowdstream export mturk decisions.csv --source Batch_1_results.csv -o review.csv \\
        --reject --workers workers.csv
    """
    from crowdstream.labels.readers.small_tables import read_text_table
    from crowdstream.writers import to_mturk

    check_output(out.output, "--output")
    _check(out.output, given.decisions, given.source)
    if rejecting.reject and rejecting.workers is None:
        raise UsageError("--reject needs --workers, the table of workers")
    batch = read_text_table(given.source, option="--source")
    reject = None
    if rejecting.reject and rejecting.workers:
        reject = _dropped(rejecting.workers, rejecting.without_gold)
    decisions = _decisions(given.decisions)
    found = to_mturk(decisions, batch, reject=reject, question=given.question)
    write_table(found, out.output)
    if not out.quiet:
        approved, rejected = (found[name].count() for name in ("Approve", "Reject"))
        say(f"{counted(approved, 'assignment')} approved, {rejected:,} rejected")


def ground_truth(given: Decided, job: Job, out: Output) -> None:
    """Write decisions as consolidated annotations of SageMaker Ground Truth.

    \b
    Example:
      crowdstream export ground-truth decisions.csv --attribute sport --job sports -o output.json
    """
    from crowdstream.writers import to_ground_truth

    _check(out.output, given.decisions)
    found = to_ground_truth(
        _decisions(given.decisions), job.attribute, job=job.job, categories=job.category or []
    )
    _write_json(found, out.output)
    if not out.quiet:
        say(counted(len(found), "consolidated annotation"))


def crowd_kit(given: Decided, out: Output) -> None:
    """Write decisions as crowd-kit's aggregators name them: task and agg_label.

    \b
    Example:
      crowdstream export crowd-kit decisions.csv -o aggregated.csv
    """
    import polars as pl

    check_output(out.output, "--output")
    _check(out.output, given.decisions)
    found = _decisions(given.decisions).filter(pl.col("label").is_not_null())
    write_table(found.select("task", pl.col("label").alias("agg_label")), out.output)


def _check(output: str | None, *inputs: str) -> None:
    """Refuse, before any work, an output that cannot be written."""
    if output is not None and output != "-":
        check_writable(output, "--output")
    check_apart(list(inputs), {"--output": output})


def _decisions(path: str) -> pl.DataFrame:
    from crowdstream.labels.readers.small_tables import read_text_table

    found = read_text_table(path, option="DECISIONS", wanted=("task", "label", "confidence"))
    for name in ("task", "label", "confidence"):
        if name not in found.columns:
            raise InputError(path, f"a column {name!r}", ", ".join(found.columns[:20]))
    return found


def _dropped(path: str, without_gold: bool) -> dict[str, int]:
    """Return workers whom the table advises to drop, with their answers."""
    import polars as pl

    from crowdstream.labels.readers.small_tables import read_text_table

    table = read_text_table(path, option="--workers", wanted=("worker", "answers", "advice"))
    for name in ("worker", "answers", "advice"):
        if name not in table.columns:
            expected = f"a column {name!r}, as crowdstream run --workers writes it"
            raise InputError(f"--workers {path}", expected, ", ".join(table.columns[:20]))
    rows = table.filter(pl.col("advice") == DROP)
    by_gold = "evidence" in rows.columns and set(rows["evidence"]) <= {BY_GOLD}
    if rows.height and not by_gold and not without_gold:
        raise UsageError(
            "--reject needs error rates that rest on gold (crowdstream run --gold); this table "
            "of workers rests on agreement alone (--without-gold rejects all the same)"
        )
    answers = rows["answers"].cast(pl.Float64, strict=False).fill_null(0.0)
    return {who: int(number) for who, number in zip(rows["worker"], answers, strict=True)}


def _json_array(path: str) -> list[dict[str, Any]]:
    import msgspec

    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=list[dict[str, Any]])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        expected = "a JSON export of Label Studio: an array of tasks"
        raise InputError(f"--source {path}", expected, str(error)[:200]) from None


def _write_json(found: object, output: str | None) -> None:
    import msgspec

    data = msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"
    if output in (None, "-"):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    with replacing(str(output)) as name:
        Path(name).write_bytes(data)
