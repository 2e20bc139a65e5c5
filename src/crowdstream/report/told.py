"""What the report says in sentences: the answer first, how it is known, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crowdstream.estimators.worker_table import FEW_ANSWERS
from crowdstream.monitoring import identifiability
from crowdstream.monitoring.identifiability import NOTICED
from crowdstream.report.advised import count_advice
from crowdstream.report.parts import plain_name
from crowdstream.wording import UNSEEN, counted, has_flag, percent, rate_words, shift_words

if TYPE_CHECKING:
    from crowdstream.labels import WorkerId
    from crowdstream.report.findings import Findings

NAMED = 3
"""Names in a sentence."""


def named(names: Sequence[WorkerId], most: int = NAMED) -> str:
    """Some names of a list.

    >>> named(["ann", "bob"]), named(list("abcde"))
    ('ann and bob', 'a, b, c and 2 more')
    """
    shown = [plain_name(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]])) if shown else ""


def size_words(found: Findings) -> str:
    """How large the crowd is.

    A class is a label that may be given.
    """
    classes = len(found.crowd.classes_)
    return (
        f"{counted(found.labels, 'label')} on {counted(found.tasks, 'task')} from "
        f"{counted(found.crowd.n_workers_, 'worker')}; "
        f"{classes:,} {'class' if classes == 1 else 'classes'}"
    )


def answer(found: Findings) -> str:
    """The one sentence for somebody who reads no further."""
    if not found.tasks:
        return "There is nothing to report yet: no task has a label."
    if found.from_state:
        return f"This crowd has answered {counted(found.tasks, 'task')}. {workers_words(found)}"
    settled = f"{percent(found.settled / found.tasks)} of the tasks are settled"
    if found.measured is not None:
        return (
            f"{settled}, and {percent(found.measured.error)} of the decisions were found to be "
            "wrong where the truth is known."
        )
    assert found.errors is not None
    wrong = percent(found.errors.errors / found.tasks)
    about = "" if found.errors.gold_tasks else "about "
    return f"{settled}, and {about}{wrong} of the decisions are expected to be wrong."


def how_known(found: Findings) -> str:
    """What the share of wrong decisions rests on."""
    if found.errors is None:
        return ""
    if (measured := found.measured) is not None:
        rate = rate_words(measured.error, measured.low, measured.high)
        return f"{rate}; measured on {counted(measured.tasks, 'task')} whose truth is known"
    shares = (value / max(found.tasks, 1) for value in found.errors[:3])
    rate = rate_words(*shares)
    if found.errors.gold_tasks:
        return f"{rate}; checked against {counted(found.errors.gold_tasks, 'gold task')}"
    if found.crowd.dependence_:
        return (
            f"{rate} if the crowd's own confidence holds, which is in doubt: these workers make "
            "mistakes together"
        )
    return f"{rate} if the crowd's own confidence holds; checked against no truth"


def workers_words(found: Findings) -> str:
    """Whom to drop, coach and pay, in a sentence."""
    if not found.identified:
        return "How good each worker is cannot be told from these labels."
    counts = count_advice(found.workers)
    parts = [
        f"{counts.get('drop', 0):,} to drop (at chance or worse)",
        f"{counts.get('coach', 0):,} to coach",
        f"{counts.get('pay', 0):,} better than the crowd",
    ]
    shown = [part for part in parts if not part.startswith("0 ")]
    total = counted(found.crowd.n_workers_, "worker")
    if not shown:
        return f"Of {total}, none stands out from the crowd."
    return f"Of {total}: {', '.join(shown)}."


def changes_words(found: Findings) -> str:
    """Who changed, in a sentence; nothing if nobody did."""
    monitors = found.monitors
    if monitors is None or not monitors.alarms:
        return ""
    if monitors.shifts:
        return _sentence(shift_words(monitors.shifts[-1]).removeprefix("alarm: "))
    latest = monitors.alarms[-1]
    who = list(dict.fromkeys(alarm.worker for alarm in monitors.alarms))
    last = (
        f"{plain_name(latest.worker)} went from {percent(latest.before)} to "
        f"{percent(latest.after)} errors by task {latest.tasks_seen:,}"
    )
    return f"{counted(len(who), 'worker')} changed; the latest: {last}."


def limits(found: Findings) -> list[str]:
    """What could not be told, and why, in sentences."""
    crowd, workers = found.crowd, found.workers
    lines = []
    if crowd.weighs and not crowd.identifiable_:
        lines.append(
            f"Not identifiable: {crowd.identifiable_.reason}. Every worker counts the same, as in "
            "a majority vote, and nobody's error rate is known."
        )
    if not crowd.weighs:
        lines.append("This method judges nobody: every worker counts the same.")
    if crowd.many_classes_:
        lines.append(_sentence(crowd.many_classes_))
    if found.measured is None and not found.gold_tasks:
        lines.append(
            "Whether most of the crowd is wrong together on some tasks: it agrees on them, and "
            f"{UNSEEN}. A few dozen tasks checked by an expert (crowdstream gold plan) would show "
            "it."
        )
    elif not found.gold_tasks and found.identified:
        lines.append(
            "Error rates of workers rest on agreement alone: the correct labels were held against "
            "the decisions, not learnt from (--gold learns from them)."
        )
    if crowd.weighs:
        report = identifiability(crowd)
        if (report.excess_correlation or 0.0) >= NOTICED:
            lines.append(_sentence(report.together))
        if len(report.groups) > 1:
            lines.append(
                f"How groups that share no tasks compare: there are {len(report.groups):,} of "
                f"them, the largest of {counted(report.groups[0].workers, 'worker')}."
            )
    few = int((workers["answers"] < FEW_ANSWERS).sum())
    if few:
        lines.append(
            f"How good {few:,} of {counted(workers.height, 'worker')} are: they have given fewer "
            f"than {FEW_ANSWERS:g} answers."
        )
    if found.identified and (unclear := int(has_flag(workers, "undecided").sum())):
        lines.append(
            f"Whether {counted(unclear, 'worker')} do better than a guesser: their intervals "
            "reach chance."
        )
    return lines + _task_limits(found)


def _task_limits(found: Findings) -> list[str]:
    """The same of tasks and classes."""
    lines = []
    if (decisions := found.decisions) is not None:
        single = int((decisions["votes"] == 1).sum())
        if single:
            lines.append(
                f"Whether {counted(single, 'task')} with one label only would be decided "
                "otherwise by a second."
            )
        decided = set(map(str, decisions["label"].drop_nulls().unique()))
        never = sorted(set(map(str, found.crowd.classes_)) - decided)
        if never and decisions.height:
            lines.append(
                f"Whether the truth is ever {named(never)}: workers gave "
                f"{'it' if len(never) == 1 else 'these'}, but no task was decided so."
            )
    if found.unknown_classes:
        lines.append(
            f"Tasks whose truth is {named(found.unknown_classes)}: no worker ever gave "
            f"{'it' if len(found.unknown_classes) == 1 else 'these'}, so all such decisions are "
            "wrong."
        )
    return lines


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
