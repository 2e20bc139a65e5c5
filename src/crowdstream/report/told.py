"""Sentences of the report: the answer first, then how it is known, then what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crowdstream.estimators.worker_table import FEW_ANSWERS
from crowdstream.models.dependence import CANNOT_TELL, ERR_TOGETHER
from crowdstream.monitoring import identifiability
from crowdstream.plain_text import as_sentence, counted, percent
from crowdstream.report.advised import count_advice
from crowdstream.report.fooled import fooled_words
from crowdstream.report.parts import plain_name
from crowdstream.statements.dependence import describe_dependence
from crowdstream.statements.expected import (
    CONFIDENCE,
    UNKNOWN,
    basis_words,
    expected_words,
    share_words,
)
from crowdstream.wording import UNSEEN, has_flag, shift_words

if TYPE_CHECKING:
    from crowdstream.labels import WorkerId
    from crowdstream.report.findings import Findings

NAMED = 3
"""Names in a sentence."""

LEAST_STEPS = 0.01
"""Distance on a scale below which no number is said: two digits are all that the estimate bears."""


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
    """Say how large the crowd is."""
    classes = len(found.classes)
    noun = "class" if classes == 1 else "classes"
    if found.kind == "choices":
        noun = "choice" if classes == 1 else "choices"
    elif found.kind == "scale":
        noun = "step of a scale" if classes == 1 else "steps of a scale"
    return (
        f"{counted(found.labels, 'label')} on {counted(found.tasks, 'task')} from "
        f"{counted(len(found.crowd._workers), 'worker')}; "
        f"{classes:,} {noun}"
    )


def answer(found: Findings) -> str:
    """The one sentence for somebody who reads no further."""
    if not found.tasks:
        return "There is nothing to report yet: no task has a label."
    if found.from_state:
        return f"This crowd has answered {counted(found.tasks, 'task')}. {workers_words(found)}"
    settled = f"{percent(found.settled / found.tasks)} of the tasks are settled"
    wrong = wrong_words(found)
    if found.measured is not None:
        known = "" if found.measured.tasks == found.tasks else " whose truth is known"
        if found.kind == "choices":
            return f"{settled}, and {wrong} of the sets{known} are not exactly right."
        if found.distance is not None:
            far = f"decisions{known} are {steps_words(found.distance)} from the truth on average"
            return f"{settled}; {far}, and {wrong} of them are wrong."
        return f"{settled}, and {wrong} of the decisions{known} are wrong."
    assert found.errors is not None
    if found.errors.basis == UNKNOWN:
        return f"{settled}; {expected_words(found.errors, found.tasks)}."
    wrong = f"about {wrong}" if found.errors.basis == CONFIDENCE else wrong
    if found.kind == "choices":
        return f"{settled}, and {wrong} of the sets are expected not to be exactly right."
    if found.steps is not None:
        far = f"are expected to be {steps_words(found.steps)} from the truth on average"
        return f"{settled}; decisions {far}, and {wrong} of them to be wrong."
    return f"{settled}, and {wrong} of the decisions are expected to be wrong."


def wrong_words(found: Findings) -> str:
    """Return the share of wrong decisions as far as it is known: a number, a range or "unknown"."""
    if found.measured is None and found.errors is not None:
        return share_words(found.errors, found.tasks)
    return percent(wrong_share(found))


def wrong_share(found: Findings) -> float:
    """The share of decisions that are wrong, measured or expected; of sets, not exactly right."""
    if found.measured is not None:
        return found.measured.error
    return 0.0 if found.errors is None else found.errors.errors / max(found.tasks, 1)


def steps_words(steps: float) -> str:
    """A distance on a scale.

    >>> steps_words(0.046), steps_words(0.001), steps_words(0.0)
    ('0.05 steps', 'less than 0.01 steps', '0 steps')
    """
    if not steps:
        return "0 steps"
    return f"{steps:.2f} steps" if steps >= LEAST_STEPS else f"less than {LEAST_STEPS} steps"


def how_known(found: Findings) -> str:
    """Between which limits the share of wrong decisions is, and what that rests on."""
    if found.errors is None or not found.tasks:
        return ""
    if (measured := found.measured) is not None:
        within = range_words(measured.low, measured.high)
        return f"{within}, measured on {counted(measured.tasks, 'task')} whose truth is known"
    if found.gold_tasks >= found.tasks:
        return "the correct label of every task was given as gold"
    return basis_words(found.errors, found.tasks)


def briefly_known(found: Findings) -> str:
    """Say in a few words what the share of wrong decisions rests on."""
    if found.measured is not None:
        return f"measured on {counted(found.measured.tasks, 'task')}"
    if found.errors is None:
        return ""
    if found.gold_tasks and found.gold_tasks >= found.tasks:
        return "all given as gold"
    if found.errors.gold_tasks:
        return f"checked against {counted(found.errors.gold_tasks, 'gold task')}"
    return "expected, not checked" if found.errors.basis == CONFIDENCE else "expected, in doubt"


def missing_words(found: Findings) -> list[str]:
    """Return a sentence per worker who leaves out some classes more than others."""
    if found.missing is None:
        return []
    told = found.missing.drop_nulls("on_class").head(NAMED)
    return [
        f"{plain_name(row['worker'])} gave no answer on {percent(row['share'])} of its tasks, and "
        f"on {percent(row['on_class_share'])} of those decided {plain_name(row['on_class'])}."
        for row in told.iter_rows(named=True)
    ]


def range_words(low: float, high: float) -> str:
    """Two limits of a share.

    >>> range_words(0.012, 0.031)
    '1.2–3.1 %'
    """
    return f"{percent(low).removesuffix(' %')}–{percent(high)}"


def workers_words(found: Findings) -> str:
    """Say in a sentence whom to drop, coach and pay."""
    if not found.identified:
        return "How good each worker is cannot be told from these labels."
    counts = count_advice(found.workers)
    drop, coach, pay = (counts.get(name, 0) for name in ("drop", "coach", "pay"))
    shown = [
        drop and f"{drop:,} {_does(drop)} no better than guessing (drop)",
        coach and f"{coach:,} {'needs' if coach == 1 else 'need'} coaching",
        pay and f"{pay:,} {'errs' if pay == 1 else 'err'} less than the crowd (pay)",
    ]
    total = counted(len(found.crowd._workers), "worker")
    said = [part for part in shown if part]
    if not said:
        return f"Of {total}, none stands out from the crowd so far."
    return f"Of {total}, {', '.join(said[:-1])}{' and ' if said[1:] else ''}{said[-1]}."


def _does(number: int) -> str:
    return "does" if number == 1 else "do"


def changes_words(found: Findings) -> str:
    """Say in a sentence who changed; empty if nobody did."""
    monitors = found.monitors
    if monitors is None or not monitors.alarms:
        return ""
    if monitors.shifts:
        return as_sentence(shift_words(monitors.shifts[-1]).removeprefix("alarm: "))
    latest = monitors.alarms[-1]
    who = list(dict.fromkeys(alarm.worker for alarm in monitors.alarms))
    last = (
        f"{plain_name(latest.worker)} went from {percent(latest.before)} to "
        f"{percent(latest.after)} errors by {found.unit} {latest.tasks_seen:,}"
    )
    return f"{counted(len(who), 'worker')} changed; the latest: {last}."


def limits(found: Findings) -> list[str]:
    """Return sentences on what could not be told, and why."""
    crowd, workers = found.crowd, found.workers
    lines = []
    if crowd.weighs_ and not crowd.identifiable_:
        lines.append(
            f"Not identifiable: {crowd.identifiable_.reason}. Every worker counts the same, as in "
            "a majority vote, and nobody's error rate is known."
        )
    if not crowd.weighs_:
        lines.append("This method judges nobody: every worker counts the same.")
    if crowd.many_classes_:
        lines.append(as_sentence(crowd.many_classes_))
    if found.measured is None and not found.gold_tasks:
        lines.append(
            "Whether most of the crowd is wrong together on some tasks: it agrees on them, and "
            f"{UNSEEN} (crowdstream gold plan chooses some to check)."
        )
    elif not found.gold_tasks and found.identified:
        lines.append(
            "Error rates of workers rest on agreement alone: the correct labels were held against "
            "the decisions, not learnt from (--gold learns from them)."
        )
    if crowd.weighs_:
        report = identifiability(crowd)
        if report.dependence.verdict in (ERR_TOGETHER, CANNOT_TELL) and found.identified:
            lines.append(as_sentence(describe_dependence(report.dependence)))
        if report.changing:
            lines.append(
                "What workers were worth earlier: they have changed, and what is said of them here "
                "is of late."
            )
        if len(report.groups) > 1:
            lines.append(
                f"How groups that share no tasks compare: there are {len(report.groups):,} of "
                f"them, the largest of {counted(report.groups[0].workers, 'worker')}."
            )
    few = int((workers["answers"] < FEW_ANSWERS).sum())
    if few:
        lines.append(
            f"How good {few:,} of {counted(workers.height, 'worker')} "
            f"{'is' if few == 1 else 'are'}: fewer than {FEW_ANSWERS:g} answers each."
        )
    if found.identified and (unclear := int(has_flag(workers, "undecided").sum())):
        lines.append(
            f"Whether {counted(unclear, 'worker')} {_does(unclear)} better than a guesser: "
            f"{'the interval reaches' if unclear == 1 else 'their intervals reach'} chance."
        )
    return lines + _task_limits(found) + fooled_words(found)


def _task_limits(found: Findings) -> list[str]:
    """Return sentences on what could not be told of tasks and classes."""
    lines = []
    if (decisions := found.decisions) is not None:
        single = int((decisions["votes"] == 1).sum())
        if single:
            lines.append(
                f"Whether {counted(single, 'task')} with one label only would be decided "
                "otherwise by a second."
            )
        labels = decisions["label"].drop_nulls().unique()
        decided = {part for label in labels for part in found.parts(label)}
        never = [name for name in sorted(found.classes) if name not in decided]
        if never and decisions.height:
            so = "no set has it" if found.kind == "choices" else "no task was decided so"
            lines.append(
                f"Whether the truth is ever {named(never)}: workers gave "
                f"{'it' if len(never) == 1 else 'these'}, but {so}."
            )
    if found.unknown_classes:
        lines.append(
            f"Tasks whose truth is {named(found.unknown_classes)}: no worker ever gave "
            f"{'it' if len(found.unknown_classes) == 1 else 'these'}, so all such decisions are "
            "wrong."
        )
    return lines
