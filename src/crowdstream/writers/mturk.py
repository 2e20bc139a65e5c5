"""The review of a Mechanical Turk batch: its results with ``Approve`` and ``Reject`` filled in.

People are paid by this. Everything is approved unless a rejection was asked for, and then an
assignment is rejected only if its worker is to be dropped by our own advice *and* its answer is not
what was decided of the HIT, where that decision is settled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels.readers.answer import Reading, split_classes
from crowdstream.labels.readers.mturk import BATCH
from crowdstream.writers.decided import Decided, Decisions, decided

if TYPE_CHECKING:
    import polars as pl

APPROVE, REJECT, STATUS = "Approve", "Reject", "AssignmentStatus"
MARK = "x"
"""Mark that Mechanical Turk expects in ``Approve``."""

OPEN = "submitted"
"""The status of assignments that wait for a review, in lower case; others stay as they are."""

REASON = (
    "Your answer to this HIT is not the one that the other workers' answers give with {sure} % "
    "confidence, and over your {answers} answers in this batch you agreed with others no more than "
    "random answers would. Please write to us if you think that this is wrong."
)


def to_mturk(
    decisions: Decisions,
    batch: pl.DataFrame,
    *,
    reject: Mapping[str, int] | None = None,
    question: str | None = None,
) -> pl.DataFrame:
    """A batch's results with ``Approve`` or ``Reject`` filled in, for the upload of a review.

    Parameters
    ----------
    decisions
        A table with the columns task (the HITId), label and confidence, or `Decision` objects.
    batch
        The batch's results as they were downloaded, all columns as text.
    reject
        Workers of whom assignments may be rejected, with their number of answers, to say so;
        nobody if not given.
    question
        The field of the form that was decided, without ``Answer.``; the only one if not given. It
        matters only where something may be rejected.

    Examples
    --------
    >>> import crowdstream as cs, polars as pl
    >>> batch = pl.DataFrame({"HITId": ["h1"], "WorkerId": ["ann"], "Answer.mood": ["good"],
    ...                       "AssignmentStatus": ["Submitted"]})
    >>> decision = cs.Decision("h1", "good", 0.9, 0.8, 3, True, True)
    >>> cs.writers.to_mturk([decision], batch)["Approve"].to_list()
    ['x']
    """
    import polars as pl

    for name in ("HITId", "WorkerId"):
        if name not in batch.columns:
            raise InputError("batch", f"a column {name!r}", ", ".join(batch.columns[:20]))
    found = decided(decisions) if reject else {}
    answers = _answers(batch, question) if reject else [None] * batch.height
    approve: list[str | None] = []
    refuse: list[str | None] = []
    for row, answer in zip(batch.iter_rows(named=True), answers, strict=True):
        if str(row.get(STATUS) or OPEN).lower() != OPEN:
            approve.append(row.get(APPROVE))
            refuse.append(row.get(REJECT))
            continue
        why = _reason(found.get(row["HITId"]), answer, reject, row["WorkerId"])
        approve.append(MARK if why is None else None)
        refuse.append(why)
    return batch.with_columns(
        pl.Series(APPROVE, approve, pl.String), pl.Series(REJECT, refuse, pl.String)
    )


def _reason(
    decision: Decided | None, answer: str | None, reject: Mapping[str, int] | None, worker: str
) -> str | None:
    """Why an assignment is rejected, in words for its worker; ``None`` if it is not."""
    if reject is None or worker not in reject or decision is None or not decision.settled:
        return None
    if not answer or answer == str(decision.label):
        return None
    if len(split_classes(answer)) > 1:  # several choices are not wrong as a whole
        return None
    sure = min(int(100.0 * decision.confidence), 99)
    return REASON.format(sure=sure, answers=f"{reject[worker]:,}")


def _answers(batch: pl.DataFrame, question: str | None) -> list[str | None]:
    """Return each assignment's answer to the question, None where there is none."""
    told = [list(BATCH.answers(row, Reading())) for row in batch.iter_rows(named=True)]
    names = sorted({one.question for row in told for one in row if one.label is not None})
    if question is None and len(names) == 1:
        question = names[0]
    if question not in names:
        expected = " or ".join(map(repr, names)) or "columns Answer.…"
        raise InputError("question", expected, "none" if question is None else repr(question))
    return [next((one.label for one in row if one.question == question), None) for row in told]
