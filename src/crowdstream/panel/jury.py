"""`jury`: `Adaptive` on a panel of judges, with a panel's report.

Decides nothing itself: labels and confidences are the estimator's. Beside them stand, in dense
panels, the two votes among which it chose, so that tasks on which they differ can be checked.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

import msgspec
import numpy as np

from crowdstream.defaults import JURY_SURE
from crowdstream.errors import SureInDoubt
from crowdstream.estimators import Adaptive
from crowdstream.estimators.parameters import Families
from crowdstream.gold_plan.filled import is_plan
from crowdstream.labels import ClassLabel, TaskId, Truths, in_kind, read_truths
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.monitoring import effective_votes, monitor
from crowdstream.monitoring.agreement import question_coefficients
from crowdstream.monitoring.estimator_view import (
    as_polars,
    decided_by,
    density_of,
    is_panel,
    panel_votes,
)
from crowdstream.monitoring.families import groups_of
from crowdstream.monitoring.missing import (
    flip_notes,
    missing_by_class,
    missing_notes,
    missing_verdicts,
    with_answering,
)
from crowdstream.panel.effective import effective_judges
from crowdstream.panel.report import NEEDS_HUMAN, EffectiveJudges, Jury, ToCheck
from crowdstream.panel.votes import MOST_JUDGES, Panel, PanelVotes, read_panel
from crowdstream.panel.wording import listed
from crowdstream.rates import Rates, rate
from crowdstream.validation import SEED, check_number
from crowdstream.wording import GROUPS

if TYPE_CHECKING:
    import polars as pl

TELL = 30
"""Tasks to check where the two votes differ: if one of them is right three times as often as the
other, so many show it (two-sided 5 %, four times in five)."""

Gold = Mapping[TaskId, ClassLabel]


def jury(
    votes: PanelVotes,
    *,
    gold: Truths | None = None,
    families: Families | None = None,
    sure: float = JURY_SURE,
    seed: int = 0,
    **meaning: Unpack[TableMeaning],
) -> Jury:
    """Decide every task by `Adaptive`, and report what each judge and the whole panel are worth.

    Label and confidence are those of ``Adaptive(families=families, seed=seed).fit_predict(votes,
    gold=gold)``. In a dense panel (a judge sees at least half of the tasks) it chooses between two
    votes: the weighted vote, by each judge's skill and confusions, and the common-factor vote,
    which also subtracts what all judges of a task have in common. The latter decides where judges
    visibly err together; from 20 gold tasks on, gold weighs both. The report shows the two votes
    beside each other; tasks on which they differ need a human, and are the best to check.

    Parameters
    ----------
    votes
        A long table or rows (item, judge, verdict), a wide table (an item column, every other
        column a judge), or a dict of item → {judge: verdict}. ``None`` is no verdict.
    gold
        True labels of some tasks: a mapping, or a table of task and label.
    families
        Judges that do not judge independently (versions of one model), by the name of their family:
        the more they err together, the less each of their votes counts.
    sure
        Confidence below which a task needs a human.
    seed
        Seed of coins for ties, samples and the bootstrap.
    **meaning
        What the table means, where it does not show it: as for `Estimator.fit_predict`.

    Returns
    -------
    Tables of decisions and judges, and what the panel is worth (see `Jury`).

    Examples
    --------
    >>> import crowdstream as cs
    >>> from crowdstream.simulation import simulate_dependent
    >>> made = simulate_dependent("tricky", 9, 600, seed=3)  # a tenth of the items fools most
    >>> found = cs.jury(made.labels())
    >>> found.decisions.columns[:5]  # as `fit_predict` has them, then what a panel adds
    ['task', 'label', 'confidence', 'margin', 'votes']
    >>> found.decided_by, found.needs_human["votes_differ"] == found.to_check.differ
    ('weighted_vote', True)
    >>> found.effective > 8  # nine judges, as far as agreement shows it
    True
    >>> cs.jury(made.labels(), gold=made.truths()).effective < 4  # joint errors, seen with gold
    True
    """
    check_number("sure", sure, 0.0, 1.0)
    SEED("seed", seed)
    panel = read_panel(votes, meaning)
    truths = read_truths(gold)
    crowd = monitor(Adaptive(families=families, seed=seed), over_time=False)
    decided, doubts = _fit(crowd, panel, truths)
    kind, missing = panel.question.kind, missing_verdicts(panel.table, decided)
    both = None
    if kind.name == "classes":  # a scale or a set is made of several votes
        both = panel_votes(crowd, panel.table, truths or None)
    decisions = _decisions(decided, both, set(truths), sure)
    workers = _workers(crowd, families, panel.question.flips, missing)
    human = dict(decisions.filter("needs_human")["reason"].value_counts().iter_rows())
    gaps = None if missing is None else in_kind(missing_by_class(missing), panel.kind)
    joint = None
    if truths and len(crowd._workers) <= MOST_JUDGES and kind.name != "choices":
        joint = effective_judges(panel.table, truths, seed=seed)
        joint = msgspec.structs.replace(joint, without=in_kind(joint.without, panel.kind))
    return Jury(
        decisions=in_kind(decisions, panel.kind),
        workers=in_kind(workers, panel.kind),
        weights=dict(workers.select("worker", "weight").iter_rows()),
        decided_by=decided_by(crowd),
        density=density_of(crowd),
        effective=_effective(crowd, joint),
        joint_errors=joint,
        dependence=crowd.dependence_,
        agreement=question_coefficients(crowd, panel.question),
        needs_human={reason: human.get(reason, 0) for reason in NEEDS_HUMAN},
        to_check=None if both is None else _to_check(decisions, set(truths), seed),
        missing_by_class=gaps,
        notes=[
            *missing_notes(missing),
            *flip_notes(panel.question.flips),
            *doubts,
            *_notes(crowd, families),
        ],
        rates=_rates(panel, truths, gold),
        tasks=decisions.height,
        classes=len(crowd.classes_) if kind.name != "choices" else _choices(panel),
    )


def _fit(crowd: Adaptive, panel: Panel, truths: Gold) -> tuple[pl.DataFrame, list[str]]:
    """The estimator's decisions, and whether known truths put them in doubt."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = as_polars(crowd.fit_predict(panel.question, gold=truths or None))
    doubts = [str(one.message) for one in caught if issubclass(one.category, SureInDoubt)]
    return found, doubts  # what else there is to say, `_notes` does


def _decisions(
    decided: pl.DataFrame,
    votes: tuple[pl.Series, pl.Series] | None,
    known: set[TaskId],
    sure: float,
) -> pl.DataFrame:
    """One row per task: the estimator's columns, whether a human must look, and both votes."""
    import polars as pl

    label = decided["label"]
    weighted, factor = votes or (label, pl.repeat(None, len(label), dtype=label.dtype, eager=True))
    agree = weighted.eq_missing(factor) if votes else label.eq_missing(label)
    reason = (
        pl.when(pl.col("task").is_in(list(known)))
        .then(None)
        .when(pl.col("votes") == 0).then(pl.lit("no_votes"))
        .when(pl.col("votes") == 1).then(pl.lit("one_vote"))
        .when(~pl.col("votes_agree")).then(pl.lit("votes_differ"))
        .when(pl.col("confidence") < sure).then(pl.lit("not_sure"))
    )  # fmt: skip
    table = decided.with_columns(
        weighted.alias("weighted_vote"),
        factor.alias("common_factor_vote"),
        agree.alias("votes_agree"),
    ).with_columns(reason.alias("reason"))
    human = pl.col("reason").is_not_null().alias("needs_human")
    return table.select(
        *decided.columns, human, "reason", "weighted_vote", "common_factor_vote", "votes_agree"
    )


def _rates(panel: Panel, truths: Gold, gold: Truths | None) -> Rates | None:
    """The share of each class, corrected by gold, whose strata are known if it was planned."""
    there = set(panel.table.task_order()[1])
    known = {item: label for item, label in truths.items() if item in there}
    if not known or panel.question.kind.name != "classes":
        return None
    return rate(panel.question, gold if gold is not None and is_plan(gold) else known)


def _choices(panel: Panel) -> int:
    """Return the number of classes that may be chosen."""
    from crowdstream.deciding import Prepared

    choices = Prepared.of(panel.question).choices
    return 0 if choices is None else len(choices.classes)


def _workers(
    crowd: Adaptive,
    families: Families | None,
    flips: pl.DataFrame | None,
    missing: pl.DataFrame | None,
) -> pl.DataFrame:
    """One row per judge: the estimator's columns, and what a panel adds."""
    import polars as pl

    found = as_polars(crowd.workers())
    family = [(families or {}).get(worker) for worker in found["worker"]]
    found = found.with_columns(pl.Series("family", family, pl.String))
    return with_answering(found, flips, missing)


def _effective(crowd: Adaptive, joint: EffectiveJudges | None) -> float | None:
    """Return the worth of a full panel: by known truths, or else as far as agreement shows it."""
    if joint is not None and joint.effective is not None:
        return joint.effective.value
    if not len(crowd._workers) or not crowd.identifiable_:
        return None
    return effective_votes(crowd, len(crowd._workers))


def _to_check(decisions: pl.DataFrame, known: set[TaskId], seed: int) -> ToCheck:
    """The tasks on which the two votes differ, in random order."""
    import polars as pl

    differ = decisions.filter(~pl.col("votes_agree") & ~pl.col("task").is_in(list(known)))
    tasks = differ["task"].to_list()
    enough = min(TELL, len(tasks))
    order = np.random.default_rng(seed).permutation(len(tasks))[:enough]
    return ToCheck(len(tasks), enough, [tasks[k] for k in order])


def _notes(crowd: Adaptive, families: Families | None) -> list[str]:
    """Return notes on this panel."""
    notes = []
    if not len(crowd._workers):
        return ["no judge gave a verdict"]
    if crowd.many_classes_:
        notes.append(crowd.many_classes_)
    if not crowd.identifiable_:
        reason = crowd.identifiable_.reason
        notes.append(f"error rates cannot be told ({reason}): every vote counts the same")
    workers = as_polars(crowd.workers())
    constant = workers.filter(workers["flags"].list.contains("always_one_class"))["worker"]
    if constant.len():
        notes.append(f"says (nearly) always the same, which tells little: {listed(constant)}")
    if not is_panel(crowd) and crowd.identifiable_:
        notes.append("a sparse panel: the weighted vote alone, no common-factor vote")
    declared = {str(judge): family for judge, family in (families or {}).items()}
    if unknown := sorted(declared.keys() - set(workers["worker"].cast(str).to_list())):
        notes.append(f"families: no judges of this panel: {listed(unknown)}")
    for kind in ("copy", "suspect"):
        notes += [GROUPS[kind].format(listed(group)) for group in groups_of(crowd, kind)]
    return notes
