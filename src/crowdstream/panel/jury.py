"""`jury`: what a panel of judges says of every item, and what that is worth.

Two verdicts stand beside each other: the default's (`Adaptive`), and in dense panels the
common-factor vote. Uses estimators and monitors by their public verbs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Unpack

import msgspec
import numpy as np

from crowdstream.defaults import JURY_SURE
from crowdstream.errors import SureInDoubt
from crowdstream.estimators import Adaptive
from crowdstream.estimators.parameters import Families
from crowdstream.labels import ClassLabel, TaskId, Truths, in_kind, read_truths
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.models.reading import TOGETHER
from crowdstream.monitoring import effective_votes, monitor
from crowdstream.monitoring.estimator_view import as_polars, excess_correlation
from crowdstream.monitoring.families import groups_of
from crowdstream.monitoring.missing import (
    flip_notes,
    missing_notes,
    missing_verdicts,
    with_answering,
)
from crowdstream.panel.common_factor import common_factor_decisions
from crowdstream.panel.effective import effective_judges
from crowdstream.panel.report import WHY, EffectiveJudges, Jury, ToCheck
from crowdstream.panel.votes import MOST_JUDGES, Panel, PanelVotes, read_panel
from crowdstream.panel.wording import listed
from crowdstream.validation import SEED, check_number, one_of
from crowdstream.wording import GROUPS

if TYPE_CHECKING:
    import polars as pl

DENSE = 0.5
"""Share of the items that a judge of a dense panel sees at least: most of them. On sparse crowds
the common-factor vote won as often as it lost."""

TELL = 30
"""Items to check where two verdicts differ: if one of them is right three times as often as the
other, so many show it (two-sided 5 %, four times in five)."""

Verdict = Literal["auto", "default", "common_factor"]
Gold = Mapping[TaskId, ClassLabel]


def jury(
    votes: PanelVotes,
    *,
    gold: Truths | None = None,
    families: Families | None = None,
    sure: float = JURY_SURE,
    verdict: Verdict = "auto",
    seed: int = 0,
    **meaning: Unpack[TableMeaning],
) -> Jury:
    """What a panel of judges says of every item, what each judge is worth, and who must look.

    In a dense panel (a judge sees at least half of the items) two verdicts are made: the default's,
    as of `Adaptive`, and the common-factor vote, which subtracts what all judges of an item have in
    common. Where judges err together as far as agreement shows it, and too little gold is known to
    weigh one against the other (fewer than ten items), the label is the latter's; otherwise the
    default's. In sparse panels there is the default's alone.

    Parameters
    ----------
    votes
        A long table or rows (item, judge, verdict; of any kind and in any order), a wide table (an
        item column, every other column a judge), or a dict of item → {judge: verdict}. ``None`` is
        no verdict.
    gold
        True labels of some items: a mapping, or a table of task and label.
    families
        Judges that do not judge independently (versions of one model), by the name of their family:
        the more they err together, the less each of their votes counts.
    sure
        Confidence below which an item needs a human.
    verdict
        Whose verdict the labels are: "default", "common_factor" (where there is one), or "auto" as
        said above.
    seed
        Of coins, samples and the bootstrap.
    **meaning
        What the table means, where it does not show it: as for `Estimator.fit_predict`.

    Examples
    --------
    >>> import crowdstream as cs
    >>> from crowdstream.simulation import simulate_dependent
    >>> made = simulate_dependent("tricky", 9, 600, seed=3)  # a tenth of the items fools most
    >>> found = cs.jury(made.labels())
    >>> found.decisions.columns[:5]
    ['item', 'label', 'confidence', 'needs_human', 'why']
    >>> found.human["verdicts differ"] == found.to_check.differ
    True
    >>> found.effective > 8  # nine judges, as far as agreement shows it
    True
    >>> cs.jury(made.labels(), gold=made.truths()).effective < 4  # joint errors, seen with gold
    True
    """
    check_number("sure", sure, 0.0, 1.0)
    one_of("auto", "default", "common_factor")("verdict", verdict)
    SEED("seed", seed)
    panel = read_panel(votes, meaning)
    truths = read_truths(gold)
    crowd = monitor(Adaptive(families=families, seed=seed))
    default, doubts = _fit(crowd, panel, truths)
    density = _density(default, crowd)
    kind, missing = panel.question.kind, missing_verdicts(panel.table, default)
    second = None
    if density >= DENSE and kind.name == "classes":
        second = common_factor_decisions(crowd, panel.table, gold=truths or None)
    chosen = _choose(crowd, verdict, second)
    labels = (
        default
        if second is None or chosen == "default"
        else _believe(crowd, panel, default, second)
    )
    decisions = _decisions(labels, default, second, set(truths), sure)
    judges = _judges(crowd, families, panel.question.flips, missing)
    human = dict(decisions.filter("needs_human")["why"].value_counts().iter_rows())
    joint = None
    if truths and len(crowd._workers) <= MOST_JUDGES and kind.name != "choices":
        joint = effective_judges(panel.table, truths, seed=seed)
        joint = msgspec.structs.replace(joint, without=in_kind(joint.without, panel.kind))
    return Jury(
        decisions=in_kind(decisions, panel.kind),
        judges=in_kind(judges, panel.kind),
        weights=dict(judges.select("judge", "weight").iter_rows()),
        verdict=chosen,
        density=density,
        effective=_effective(crowd, joint),
        joint_errors=joint,
        correlation=excess_correlation(crowd) if crowd.identifiable_ else None,
        human={why: human.get(why, 0) for why in WHY},
        to_check=None if second is None else _to_check(decisions, set(truths), seed),
        notes=[
            *missing_notes(missing),
            *flip_notes(panel.question.flips),
            *doubts,
            *_notes(crowd, density, families),
        ],
        items=decisions.height,
        classes=len(crowd.classes_) if kind.name != "choices" else _choices(panel),
    )


def _fit(crowd: Adaptive, panel: Panel, truths: Gold) -> tuple[pl.DataFrame, list[str]]:
    """The default's decisions, and whether known truths put them in doubt."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = as_polars(crowd.fit_predict(panel.question, gold=truths or None))
    doubts = [str(one.message) for one in caught if issubclass(one.category, SureInDoubt)]
    return found, doubts  # what else there is to say, `_notes` does


def _density(default: pl.DataFrame, crowd: Adaptive) -> float:
    cells = default.height * len(crowd._workers)
    return float(default["votes"].sum()) / cells if cells else 0.0


def _choose(crowd: Adaptive, verdict: Verdict, second: pl.DataFrame | None) -> str:
    """Whose verdict the labels are."""
    if second is None or verdict == "default":
        return "default"
    if verdict == "common_factor":
        return "common factor"
    together = (excess_correlation(crowd) or 0.0) >= TOGETHER and crowd.calibration_ != "gold"
    return "common factor" if together else "default"


def _believe(
    crowd: Adaptive, panel: Panel, default: pl.DataFrame, second: pl.DataFrame
) -> pl.DataFrame:
    """The labels of the common-factor vote, as likely as the default takes each to be."""
    import polars as pl

    confidence = default["confidence"].to_numpy().copy()
    differ = np.flatnonzero(default["label"].ne_missing(second["label"]).to_numpy())
    if differ.size:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SureInDoubt)  # said already
            chances = as_polars(crowd.predict_proba_many(panel.table)).drop("task").to_numpy()
        places = {str(name): place for place, name in enumerate(crowd.classes_)}
        found = [places[str(name)] for name in second["label"].gather(differ)]
        confidence[differ] = chances[differ, found]
    return default.with_columns(second["label"], pl.Series("confidence", confidence))


def _decisions(
    labels: pl.DataFrame,
    default: pl.DataFrame,
    second: pl.DataFrame | None,
    known: set[TaskId],
    sure: float,
) -> pl.DataFrame:
    """One row per item: the label, whether a human must look and why, and both verdicts."""
    import polars as pl

    other = default["label"] if second is None else second["label"]
    votes = pl.col("votes")
    why = (
        pl.when(pl.col("item").is_in(list(known)))
        .then(None)
        .when(votes == 0).then(pl.lit("no verdict"))
        .when(votes == 1).then(pl.lit("one verdict"))
        .when(~pl.col("agree")).then(pl.lit("verdicts differ"))
        .when(pl.col("confidence") < sure).then(pl.lit("not sure"))
    )  # fmt: skip
    table = labels.select(
        pl.col("task").alias("item"), "label", "confidence", "votes",
        default["label"].alias("default"),
        (pl.lit(None, other.dtype) if second is None else other).alias("common_factor"),
        (~default["label"].ne_missing(other)).alias("agree"),
    )  # fmt: skip
    more = [name for name in ("score", "steps", "confidences", "least") if name in labels.columns]
    return table.with_columns(why.alias("why"), *(labels[name] for name in more)).select(
        "item", "label", "confidence", pl.col("why").is_not_null().alias("needs_human"), "why",
        "default", "common_factor", "agree", "votes", *more,
    )  # fmt: skip


def _choices(panel: Panel) -> int:
    """How many classes may be chosen."""
    from crowdstream.deciding import Prepared

    choices = Prepared.of(panel.question).choices
    return 0 if choices is None else len(choices.classes)


def _judges(
    crowd: Adaptive,
    families: Families | None,
    flips: pl.DataFrame | None,
    missing: pl.DataFrame | None,
) -> pl.DataFrame:
    """One row per judge."""
    import polars as pl

    found = with_answering(as_polars(crowd.workers()), flips, missing)
    found = found.rename({"worker": "judge", "answers": "verdicts"})
    family = [(families or {}).get(judge) for judge in found["judge"]]
    return found.drop("agreement", "quality").with_columns(pl.Series("family", family, pl.String))


def _effective(crowd: Adaptive, joint: EffectiveJudges | None) -> float | None:
    """What a full panel is worth: by known truths, or else as far as agreement shows it."""
    if joint is not None and joint.effective is not None:
        return joint.effective.value
    if not len(crowd._workers) or not crowd.identifiable_:
        return None
    return effective_votes(crowd, len(crowd._workers))


def _to_check(decisions: pl.DataFrame, known: set[TaskId], seed: int) -> ToCheck:
    """The items on which the two verdicts differ, in random order."""
    import polars as pl

    open_items = decisions.filter(~pl.col("agree") & ~pl.col("item").is_in(list(known)))
    items = open_items["item"].to_list()
    enough = min(TELL, len(items))
    order = np.random.default_rng(seed).permutation(len(items))[:enough]
    return ToCheck(len(items), enough, [items[k] for k in order])


def _notes(crowd: Adaptive, density: float, families: Families | None) -> list[str]:
    """What to know of this panel."""
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
    if density < DENSE and crowd.identifiable_:
        notes.append("a sparse panel: the default's verdict alone, no common-factor vote")
    declared = {str(judge): family for judge, family in (families or {}).items()}
    if unknown := sorted(declared.keys() - set(workers["worker"].cast(str).to_list())):
        notes.append(f"families: no judges of this panel: {listed(unknown)}")
    for kind in ("copy", "suspect"):
        notes += [GROUPS[kind].format(listed(group)) for group in groups_of(crowd, kind)]
    return notes
