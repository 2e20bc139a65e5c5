"""`CentredAgreement`: AB for labellers whose errors depend on the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError, StateError
from crowdstream.estimators import centred_kernels as compiled
from crowdstream.estimators import kernels
from crowdstream.estimators.base import (
    Coded,
    Identifiability,
    Verdicts,
    check_recall,
)
from crowdstream.estimators.centred_kernels import Crowd, Found
from crowdstream.estimators.fading import Fading
from crowdstream.estimators.people import People, value_series
from crowdstream.estimators.tally import REASONS
from crowdstream.labels import ClassLabel, LabellerId

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LAST = np.iinfo(np.uint64).max
"""Key of a second class where only one has a name."""


class CentredAgreement(Fading):
    """Weighs each label by how much more often it is given where it is true.

    AB takes one error rate a labeller. Here a labeller may prefer some classes: it knows the class
    with probability ψ, its *informedness*, and otherwise follows its habit. How often labellers
    agree beyond what their habits explain gives ψ (the shares equation on covariances instead of
    agreements); ψ and how often a labeller says a class give how often it says it rightly, for two
    classes its sensitivity and specificity, in closed form. Who always says the same has ψ = 0 and
    weighs nothing, and what all say by habit is not taken for knowledge.

    The class balance, also the prior of a decision, is that of the labels of those who know: label
    frequencies weighted by answers and ψ². Where most of them lean to the same class, so does it,
    and what follows is off with it. All that is kept are counts, O(nK): one pass, and without
    forgetting the order of tasks does not matter and merging is exact. A stream is decided with
    weights that are found anew whenever tasks grew by one per cent (every task up to 100);
    `learn_many`, `predict_many`, `fit_predict`, `labellers` and merging find them anew.

    Parameters
    ----------
    forgetting
        β: every task lets all earlier ones fade by ``1 − β``. 0 forgets nothing.
    ties
        ``"coin"``: a fair coin, seeded; ``"lowest"``: the lowest class in sorting order.
    seed
        Of the coin.
    watch
        Whether to keep what intervals, alarms, pairs and the difficulty of tasks need.

    Examples
    --------
    >>> crowd = CentredAgreement()
    >>> for truth in ["spam", "ham", "ham", "spam", "ham"] * 20:
    ...     crowd.learn_one({"ann": truth, "bob": truth, "cy": truth, "parrot": "ham"})
    >>> crowd.predict_one({"ann": "spam", "parrot": "ham"})
    'spam'
    >>> abs(crowd.labellers().filter(worker="parrot")["weight"].item()) < 0.2
    True
    >>> {label: round(part, 1) for label, part in crowd.balance_.items()}
    {'spam': 0.4, 'ham': 0.6}
    """

    _held: Crowd | None = None

    @property
    def order_free_(self) -> bool:
        """Without forgetting, the order of the tasks does not matter."""
        return self.forgetting == 0.0

    def _rules(self) -> NDArray[np.void]:
        return np.array([(self._fade, self.ties == "coin", self.seed)], compiled.RULES)

    @property
    def _crowd(self) -> Crowd:
        """The counts, with room for all labellers and classes known."""
        crowd = self._held or compiled.new_crowd(0, 2)
        n, k = len(self._workers), max(len(self._classes), 2)
        room, width = crowd.said.shape
        if n > room or k > width:
            bigger = compiled.new_crowd(max(n, 2 * room) if n > room else room, max(k, width))
            for old, new in zip(crowd, bigger, strict=True):
                new[tuple(slice(size) for size in old.shape)] = old
            crowd = bigger
        self._held = crowd
        return crowd

    def _order(self) -> Ints:
        """The classes by their keys, which do not depend on the order of arrival."""
        keys = self._keys(self._classes)
        spare = np.full(max(2 - keys.size, 0), LAST, np.uint64)
        return np.argsort(np.append(keys, spare), kind="stable")

    def _learn(self, coded: Coded, sign: int, place: int, follow: bool, decide: bool) -> Verdicts:
        crowd, rules = self._crowd, self._rules()
        verdicts = Verdicts.room(coded.starts.size - 1 if decide else 0)
        identified = self._run(crowd, rules, coded, verdicts, sign, place, follow)
        if not follow:
            compiled.settle(crowd, rules[0], self._order(), True)
        return verdicts._replace(identified=identified)

    def _vote(self, coded: Coded, place: int, afresh: bool) -> Verdicts:
        crowd, rules = self._crowd, self._rules()
        if afresh:
            crowd = crowd._replace(
                weights=crowd.weights.copy(),
                newcomer=crowd.newcomer.copy(),
                prior=crowd.prior.copy(),
                totals=crowd.totals.copy(),
            )
            compiled.settle(crowd, rules[0], self._order(), True)
        verdicts = Verdicts.room(coded.starts.size - 1)
        identified = self._run(crowd, rules, coded, verdicts, 0, place, False)
        return verdicts._replace(identified=identified)

    def _run(
        self,
        crowd: Crowd,
        rules: NDArray[np.void],
        coded: Coded,
        verdicts: Verdicts,
        sign: int,
        place: int,
        follow: bool,
    ) -> bool:
        """Learn, decide or both; whether the last task was decided by weights."""
        return bool(
            compiled.run(
                crowd,
                rules,
                self._keys(coded.classes),
                self._order() if sign else np.empty(0, np.int64),
                coded.starts,
                coded.workers,
                coded.labels,
                coded.truths,
                coded.known,
                place,
                0,
                sign,
                follow,
                verdicts.winners,
                verdicts.confidences,
                verdicts.margins,
            )
        )

    def _scores(self, coded: Coded) -> Floats:
        return compiled.score(self._crowd, len(coded.classes), coded.workers, coded.labels)

    def _check_unlearn(
        self, given: list[tuple[LabellerId, ClassLabel]], gold: bool, place: int
    ) -> None:
        crowd, totals = self._crowd, self._crowd.totals[0]
        if not self.order_free_:
            # Faded counts are rounded, so single answers cannot be told.
            if place < 0:
                check_recall(totals["latest"] - totals["clock"] + 1, self._fade)
            return
        for who, x in given:
            i = self._workers.code(who)
            if not crowd.said[i, self._classes.code(x)] > 0 or (gold and not crowd.asked[i].any()):
                where = f"unlearn_one, answers[{who!r}]"
                raise InputError(where, "an answer that was learnt", repr(x))

    def _absorb(self, other: Self, names: Ints) -> None:
        crowd, more = self._crowd, other._crowd
        totals, theirs = crowd.totals, more.totals
        factor = 1.0
        if self.forgetting > 0.0:  # both in units of their newest task
            compiled.renormalise(crowd, self._fade)
            factor = float(compiled.unit_of(theirs[0], self._fade, theirs["clock"][0] - 1))
        classes = np.array([self._classes.code(label) for label in other._classes], np.int64)
        at = {"n": names, "k": classes}
        pairs = zip(compiled.counts(crowd), compiled.counts(more), strict=True)
        for axes, (mine, added) in zip(compiled.AXES, pairs, strict=False):
            here = np.ix_(*(at[axis] for axis in axes))
            mine[here] += factor * added[tuple(slice(at[axis].size) for axis in axes)]
        for who, parent in enumerate(more.groups[: names.size]):
            compiled.link(crowd.groups, names[who], names[parent])
        totals["tasks"] += factor * theirs["tasks"]
        totals["met_w"] += factor**2 * theirs["met_w"]
        totals["learnt"] += theirs["learnt"]
        totals["labellers"], totals["classes"] = len(self._workers), len(self._classes)
        compiled.settle(crowd, self._rules()[0], self._order(), True)

    def _pack(self) -> dict[str, NDArray[np.generic]]:
        n = len(self._workers)
        packed: dict[str, NDArray[np.generic]] = {}
        for axes, (name, array) in zip(compiled.AXES, self._crowd._asdict().items(), strict=True):
            packed[name] = array[:n] if axes[:1] == "n" else array
        return packed

    def _unpack(self, arrays: dict[str, tuple[list[int], bytes]]) -> None:
        crowd = compiled.new_crowd(len(self._workers), max(len(self._classes), 2))
        try:
            for name, slot in crowd._asdict().items():
                shape, data = arrays[name]
                slot[...] = np.frombuffer(data, slot.dtype).reshape(shape)
        except (KeyError, ValueError) as error:
            raise StateError(f"a saved state whose arrays do not fit: {error}") from None
        self._held = crowd

    @property
    def clock_(self) -> int:
        """Tasks learnt here so far: the place in the stream of the next."""
        return int(self._crowd.totals["clock"][0])

    @property
    def tasks_(self) -> int:
        """Tasks learnt so far, here or by those merged in."""
        return int(self._crowd.totals["learnt"][0])

    def _found(self) -> Found:
        """A fresh solution for all who are known, also those who have answered nothing yet."""
        totals = self._crowd.totals.copy()
        totals["labellers"], totals["classes"] = len(self._workers), len(self._classes)
        crowd = self._crowd._replace(totals=totals)
        return compiled.solve(crowd, self._rules()[0], self._order(), True)

    @property
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far determine the error rates, and if not, why."""
        habits = {kernels.AT_CHANCE: "the labellers agree no more than their habits explain"}
        reasons = REASONS | habits
        standing = self._found().standing
        return Identifiability(standing in (kernels.OK, kernels.BY_GOLD), reasons[standing])

    @property
    def balance_(self) -> dict[ClassLabel, float]:
        """How often each class is the true one, from the labels of those who know."""
        found = self._found()
        return {label: float(found.balance[c]) for c, label in enumerate(self._classes)}

    def _people(self) -> People:
        """``weight`` is the mean over the labels that a labeller gives."""
        crowd, found = self._crowd, self._found()
        n = found.psi.size
        hits, misses = self._chances(found)
        order = [c for c in self._order() if c < found.balance.size]
        errors, weights = np.ones(n), np.zeros(n)
        for c in order:
            errors -= found.balance[c] * hits[:, c]
            weights += found.habits[:, c] * np.log(hits[:, c] / misses[:, c])
        known = found.standing in (kernels.OK, kernels.BY_GOLD)
        met = crowd.faced[:n].sum(axis=1)
        answers = crowd.said[:n].sum(axis=1) * found.unit
        return People(
            answers=answers,
            errors=errors,
            weights=weights if known else np.ones(n),
            agreed=crowd.agreed[:n],
            met=met,
            shared=met * found.unit > compiled.NOTHING,
            solved=found.solved & known,
            apart=~found.solved & known & (answers > compiled.NOTHING),
            fading=self.forgetting > 0,
        )

    def recalls(self) -> pl.DataFrame:
        """A table of what a labeller's word for a class is worth, a row a labeller and class.

        ``recall``: how often it says the class where that is true (for two classes sensitivity and
        specificity); ``false_alarms``: where another is; ``informedness``: ψ, the same for all of
        a labeller's classes. Null where they cannot be known.
        """
        import polars as pl

        found = self._found()
        n, k = found.psi.size, len(self._classes)
        hits, misses = self._chances(found)
        known = found.standing in (kernels.OK, kernels.BY_GOLD)
        workers = value_series("worker", self._workers.to_list())
        labels = value_series("label", self._classes.to_list())
        table = pl.DataFrame(
            {
                "worker": workers.gather(np.repeat(np.arange(n), k)),
                "label": labels.gather(np.tile(np.arange(k), n)),
                "recall": hits[:, :k].ravel(),
                "false_alarms": misses[:, :k].ravel(),
                "informedness": np.repeat(found.psi, k),
                "solved": np.repeat(found.solved & known, k),
            }
        )
        numbers = ("recall", "false_alarms", "informedness")
        return table.select(
            "worker", "label", *(pl.when("solved").then(name).alias(name) for name in numbers)
        )

    def _chances(self, found: Found) -> tuple[Floats, Floats]:
        """P(says c | c is true) and P(says c | another is), a row a labeller."""
        n, k = found.habits.shape
        hits, misses = np.empty((n, k)), np.empty((n, k))
        compiled.chances_of_all(found, self._order(), hits, misses)
        return hits, misses
