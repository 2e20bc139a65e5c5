"""`judges_against_gold`: how far each judge agrees with people, and which agrees best.

Looks at gold items alone; knows no estimator.
"""

from __future__ import annotations

from itertools import combinations
from statistics import NormalDist
from textwrap import wrap
from typing import TYPE_CHECKING, Unpack

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.defaults import LEVEL, LEVEL_RANGE
from crowdstream.errors import InputError
from crowdstream.labels import ClassLabel, Truths, WorkerId, read_truths
from crowdstream.labels.matching import NameIndex, TruthMatcher
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.labels.spelling import normalise
from crowdstream.metrics import wilson
from crowdstream.metrics.kappa import cohen_kappa, kappa_interval
from crowdstream.metrics.paired import holm, items_to_tell, mcnemar
from crowdstream.panel.votes import PanelVotes, Scored, read_panel, score_panel
from crowdstream.plain_text import counted, printable, shortened
from crowdstream.rates.limits import mean_limits
from crowdstream.statements.judges import APART, best_words, more_items_words
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

POSITIVE = ("pass", "yes", "true", "1", "correct", "good", "positive", "accept")
"""Names of the class that is taken for the positive one of two, the likeliest first."""

ENOUGH = 0.5
"""Share of the most judged gold items that the best judge must have judged: two right of two are no
record."""

SHOWN = 20
"""Judges that the summary lists."""

LINE = 80
"""Columns of a line of the summary."""

NAME = 20
"""Characters of a judge's name that the summary shows."""

Counts = NDArray[np.int64]


class Share(msgspec.Struct, frozen=True):
    """A number with its interval, and how many gold items it rests on."""

    value: float
    low: float
    high: float
    tasks: int


class JudgeOnGold(msgspec.Struct, frozen=True, kw_only=True):
    """One judge against people.

    Attributes
    ----------
    worker
        Its name.
    tasks, right
        Gold tasks that it judged, and on how many it agrees with people.
    accuracy
        The share of them.
    kappa
        Cohen's kappa with people; ``None`` where these name one class alone.
    tpr, tnr
        Of two classes: the share of the positive class, and of the other, that it finds; ``None``
        without a positive class or without gold items of it.
    recall
        The same of each class, by its name; classes without gold items are left out.
    confusion
        Counts: a row per true class, a column per class said, in the order of ``classes``.
    """

    worker: WorkerId
    tasks: int
    right: int
    accuracy: Share
    kappa: Share | None
    tpr: Share | None
    tnr: Share | None
    recall: dict[str, Share]
    confusion: list[list[int]]


class PairOnGold(msgspec.Struct, frozen=True, kw_only=True):
    """Two judges on the gold items that both judged.

    Attributes
    ----------
    first, second
        The judges; the first agrees with people at least as often.
    tasks, only_first, only_second
        Gold tasks of both, and on how many only one of them agrees with people.
    difference, low, high
        The first's share of agreement less the second's, paired, with its interval.
    p
        Of McNemar's test (mid-p), corrected for the number of pairs (Holm).
    apart
        Whether the two are told apart.
    needed
        Gold items, in all, that would tell them apart if they differ as seen; ``None`` if they do
        not differ.
    """

    first: WorkerId
    second: WorkerId
    tasks: int
    only_first: int
    only_second: int
    difference: float
    low: float
    high: float
    p: float
    apart: bool
    needed: int | None


class JudgesOnGold(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement of judges with people: see `judges_against_gold`.

    Attributes
    ----------
    tasks
        Gold tasks that were judged.
    classes
        Their names, in the order of confusion tables.
    positive
        The positive class of two; ``None`` if none was named or guessed.
    level
        Level of the intervals.
    workers
        A `JudgeOnGold` each, those who agree most often first.
    pairs
        The best judge with each other one.
    best
        The judge who agrees most often.
    alike
        Judges who cannot be told apart from it.
    notes
        What to know, in plain words.
    """

    tasks: int
    classes: list[ClassLabel]
    positive: ClassLabel | None
    level: float
    workers: list[JudgeOnGold]
    pairs: list[PairOnGold]
    best: WorkerId
    alike: list[WorkerId]
    notes: list[str]

    @property
    def table(self) -> pl.DataFrame:
        """One row per judge.

        Examples
        --------
        >>> import crowdstream as cs
        >>> made = cs.simulate(3, 60, p=0.2)
        >>> cs.judges_against_gold(made.labels(), made.truths()).table.columns[:4]
        ['worker', 'tasks', 'right', 'accuracy']
        """
        import polars as pl

        rows = []
        for each in self.workers:
            row: dict[str, object] = {
                "worker": str(each.worker), "tasks": each.tasks, "right": each.right,
            }  # fmt: skip
            for name in ("accuracy", "kappa", "tpr", "tnr"):
                share: Share | None = getattr(each, name)
                row[name] = None if share is None else share.value
                row[f"{name}_low"] = None if share is None else share.low
                row[f"{name}_high"] = None if share is None else share.high
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Return the findings in plain words.

        Examples
        --------
        >>> import crowdstream as cs
        >>> made = cs.simulate(3, 60, p=[0.02, 0.4, 0.4])
        >>> print(cs.judges_against_gold(made.labels(), made.truths()).summary().splitlines()[-1])
        w0 agrees with people better than every other judge (60 gold items)
        """
        lines = [f"{counted(len(self.workers), 'judge')} on {counted(self.tasks, 'gold item')}"]
        lines += _judge_lines(self)
        lines += wrap(best_words(self.best, self.alike, len(self.workers), self.tasks), LINE)
        if self.alike:
            second = next(pair for pair in self.pairs if not pair.apart)
            more = None if second.needed is None else max(second.needed - second.tasks, 1)
            lines += wrap(more_items_words(more, second.second), LINE)
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def judges_against_gold(
    votes: PanelVotes,
    gold: Truths,
    *,
    positive: ClassLabel | None = None,
    level: float = LEVEL,
    **meaning: Unpack[TableMeaning],
) -> JudgesOnGold:
    """Return how far each judge agrees with people, and which agrees best.

    Every number has an interval. Two judges are compared on the gold items that both judged;
    which of them agrees better is said only where the paired difference shows it, corrected for the
    number of pairs.

    Parameters
    ----------
    votes, **meaning
        The verdicts, as for `jury`.
    gold
        What people say of some items: a mapping, a table of task and label, or a file of one.
    positive
        The class that true positives are counted of, where there are two; unless given, one that is
        called pass, yes, true, 1, correct, good, positive or accept.
    level
        Level of the intervals.

    Examples
    --------
    >>> import crowdstream as cs
    >>> verdicts = {k: {"ann": k % 2, "bob": 1} for k in range(40)}
    >>> found = cs.judges_against_gold(verdicts, {k: k % 2 for k in range(40)})
    >>> found.best, found.workers[1].tnr.value, found.alike
    ('ann', 0.0, [])
    """
    check_number("level", level, *LEVEL_RANGE)
    panel = read_panel(votes, meaning)
    if panel.question.kind.name == "choices":
        raise InputError("votes", "one class per verdict", "several, which have no confusion table")
    truths, notes = _matched(read_truths(gold), panel.table.batch.tasks, panel.table.classes)
    scored = score_panel(panel.table, truths)
    names = scored.names
    chosen = _positive(positive, names)
    if chosen is None and len(names) == 2:
        notes.append("no class is taken for the positive one: name it for TPR and TNR")
    judges = [
        _judge(judge, scored.said[:, k], scored, chosen, level)
        for k, judge in enumerate(scored.workers)
        if scored.given[:, k].any()
    ]
    judges.sort(key=lambda each: (-each.accuracy.value, -each.tasks, str(each.worker)))
    silent = [j for k, j in enumerate(scored.workers) if not scored.given[:, k].any()]
    if silent:
        notes.append(f"{counted(len(silent), 'judge')} without a verdict on a gold item: left out")
    enough = ENOUGH * max(each.tasks for each in judges)
    best = next(each.worker for each in judges if each.tasks >= enough)
    pairs = _pairs(scored, best, _z(level))
    return JudgesOnGold(
        tasks=len(scored.tasks),
        classes=names,
        positive=None if chosen is None else names[chosen],
        level=level,
        workers=judges,
        pairs=pairs,
        best=best,
        alike=[pair.second for pair in pairs if not pair.apart],
        notes=notes,
    )


def _matched(
    truths: dict[str | int, ClassLabel], tasks: object, classes: object
) -> tuple[dict[str | int, ClassLabel], list[str]]:
    """Gold in the spelling of the verdicts, and what did not match."""
    import polars as pl

    if not truths:
        raise InputError("gold", "the true labels of some items", "none")
    matcher = TruthMatcher(truths)
    there = pl.Series(list(tasks))  # type: ignore[call-overload]
    found = matcher.match(there, classes)  # type: ignore[arg-type]
    matcher.check("gold", there[0] if len(there) else None)
    notes = []
    if rest := matcher.tasks - matcher.matched:
        named = ", ".join(map(repr, matcher.unmatched()))
        notes.append(f"{counted(rest, 'gold item')} that nobody judged: {named}")
    if new := matcher.new_classes():
        named = ", ".join(repr(str(label)) for label in new[:5])
        notes.append(f"gold names what no judge has said, so that all are wrong on it: {named}")
    return found, notes


def _positive(positive: ClassLabel | None, names: list[ClassLabel]) -> int | None:
    """The place of the positive class; None if there is none."""
    if positive is not None:
        found = NameIndex(names).find(positive)
        if found is None:
            known = ", ".join(map(str, names[:12]))
            raise InputError("positive", f"one of the classes {known}", repr(positive))
        return names.index(found)
    forms = [normalise(str(name)) for name in names]
    guessed = [forms.index(name) for name in POSITIVE if name in forms]
    return guessed[0] if guessed and len(names) == 2 else None


def _judge(
    judge: WorkerId, said: NDArray[np.int32], scored: Scored, positive: int | None, level: float
) -> JudgeOnGold:
    z = _z(level)
    classes = len(scored.names)
    some = said >= 0
    table = np.zeros((classes, classes), np.int64)
    np.add.at(table, (scored.truth[some], said[some]), 1)
    items, right = int(table.sum()), int(np.trace(table))
    recall = {
        k: _share(int(table[k, k]), int(table[k].sum()), z)
        for k in range(classes)
        if table[k].any()
    }
    rest = None
    if positive is not None:
        others = np.delete(np.arange(classes), positive)
        total = int(table[others].sum())
        rest = _share(int(table[np.ix_(others, others)].sum()), total, z) if total else None
    return JudgeOnGold(
        worker=judge,
        tasks=items,
        right=right,
        accuracy=_share(right, items, z),
        kappa=_kappa(table, level),
        tpr=None if positive is None else recall.get(positive),
        tnr=rest,
        recall={str(scored.names[k]): share for k, share in recall.items()},
        confusion=table.tolist(),
    )


def _z(level: float) -> float:
    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def _share(hits: int, of: int, z: float) -> Share:
    low, high = wilson(hits, of, z)
    return Share(hits / of, max(float(low), 0.0), min(float(high), 1.0), of)


def _kappa(table: Counts, level: float) -> Share | None:
    found = cohen_kappa(table)
    # With gold of one class kappa is 0, however good the judge is.
    if found is None or np.count_nonzero(table.sum(axis=1)) < 2:
        return None
    low, high = kappa_interval(table, level)
    return Share(found[0], min(low, found[0]), max(high, found[0]), int(table.sum()))


def _pairs(scored: Scored, best: WorkerId, z: float) -> list[PairOnGold]:
    """The best judge with each other one; p values are corrected for all pairs of judges."""
    right = scored.given & ~scored.wrong
    places = [k for k in range(len(scored.workers)) if scored.given[:, k].any()]
    counts = {}
    for one, other in combinations(places, 2):
        both = scored.given[:, one] & scored.given[:, other]
        only = right[both, one].astype(np.int64) - right[both, other]
        counts[one, other] = only
    values = [mcnemar(int((only > 0).sum()), int((only < 0).sum())) for only in counts.values()]
    corrected = dict(zip(counts, holm(values), strict=True))
    top, made = scored.workers.index(best), []
    for pair, only in counts.items():
        if top not in pair or not only.size:
            continue
        signs = only if pair[0] == top else -only
        other = pair[1] if pair[0] == top else pair[0]
        made.append(_pair(best, scored.workers[other], signs, corrected[pair], z))
    return sorted(made, key=lambda pair: (pair.difference, str(pair.second)))


def _pair(
    first: WorkerId, second: WorkerId, only: NDArray[np.int64], p: float, z: float
) -> PairOnGold:
    low, high = mean_limits(only.astype(np.float64), np.ones(only.size), (-1.0, 1.0), z)
    won, lost = int((only > 0).sum()), int((only < 0).sum())
    apart = p <= APART and won > lost
    return PairOnGold(
        first=first, second=second, tasks=only.size, only_first=won, only_second=lost,
        difference=float(only.mean()), low=low, high=high, p=p, apart=apart,
        needed=items_to_tell(won, lost, only.size),
    )  # fmt: skip


def _judge_lines(found: JudgesOnGold) -> list[str]:
    """Tables of at most 80 columns: accuracy and kappa, and of two classes TPR and TNR."""
    shown = found.workers[:SHOWN]
    names = [shortened(printable(each.worker), NAME) for each in shown]
    width = max(5, *map(len, names))
    lines = [f"{'judge':<{width}}  items  {'accuracy':<18}  kappa"]
    for name, each in zip(names, shown, strict=True):
        lines.append(
            f"{name:<{width}}  {each.tasks:>5,}  {_cell(each.accuracy, 18)}  {_cell(each.kappa)}"
        )
    if found.positive is not None:
        positive = shortened(printable(found.positive), 12)
        lines.append(
            f"{'':<{width}}         {f'finds {positive} (TPR)':<24}  finds the other (TNR)"
        )
        for name, each in zip(names, shown, strict=True):
            lines.append(f"{name:<{width}}         {_cell(each.tpr, 24)}  {_cell(each.tnr)}")
    if len(found.workers) > SHOWN:
        lines.append(f"… and {len(found.workers) - SHOWN} more")
    return lines


def _cell(share: Share | None, width: int = 0) -> str:
    text = "not known" if share is None else f"{share.value:.2f} ({share.low:.2f}–{share.high:.2f})"
    return text.ljust(width)
