"""Estimators whose state is soft counts a labeller and class: `Adaptive`, `StreamingDawidSkene`.

What a task adds depends on what was known when it came, so the order of tasks matters a little,
merged parts agree with one pass approximately, and taking a task back needs its receipt.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError, StateError
from crowdstream.estimators import soft_kernels as kernels
from crowdstream.estimators.base import Coded, Families, Identifiability, Verdicts
from crowdstream.estimators.fading import Fading
from crowdstream.estimators.parallel import parts_of, side_by_side
from crowdstream.estimators.people import People
from crowdstream.estimators.soft_kernels import Sums
from crowdstream.estimators.votes import Ties
from crowdstream.labels import ClassLabel, LabellerId, clean_id

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MET = 1e-9
"""Meetings from which on a labeller has met somebody: what taking back leaves is less."""

TWO_SIDED = 1.96
"""Standard errors at which two estimates of an error rate contradict each other."""

UNEVEN = 0.15
"""Difference between how often the crowd gets two classes right at which its errors depend on the
class. In simulated crowds where they do not it is below 0.1 after 50 tasks."""

LEAST_MASS = 10.0
"""Tasks of a class before it counts in that."""

MANY = 64
"""Labellers among whom three who share tasks are mostly found, so that not all are looked at."""

NOTHING: Floats = np.empty(0)
NO_FAMILIES: Ints = np.empty(0, np.int64)


class SoftCounts(Fading):
    """An estimator whose sums are arrays with an axis for labellers and axes for classes."""

    _held: Sums | None = None

    @property
    @abstractmethod
    def _method(self) -> int:
        """Who teaches and who decides, of those the compiled loop knows."""

    @property
    def order_free_(self) -> bool:
        """What a task adds depends on what came before it."""
        return False

    def _rules(self) -> NDArray[np.void]:
        return np.array([(self._method, self._fade, self.ties == "coin", self.seed)], kernels.RULES)

    def _sums(self, classes: int = 0) -> Sums:
        """The sums, with room for all labellers known, and for their classes or so many."""
        sums = self._held or kernels.new_sums(0, 2)
        n, k = len(self._workers), max(len(self._classes), classes, 2)
        room, width = sums.people.shape[0], sums.mass.size
        if n > room or k > width:
            sums = kernels.resized(sums, max(n, 2 * room) if n > room else room, max(k, width))
        if not classes:
            self._held = sums
        return sums

    def _learn(self, coded: Coded, sign: int, place: int, follow: bool, decide: bool) -> Verdicts:
        sums = self._sums()
        if sign < 0:
            receipt = np.frombuffer(self.receipt_)
            kernels.take_back(sums, self._fade, coded.workers, coded.labels, receipt, place)
            self.receipt_ = b""
            return Verdicts.room(0)
        tasks = coded.starts.size - 1
        verdicts = Verdicts.room(tasks if decide else 0)
        size = kernels.receipt_size(coded.labels.size, sums.mass.size) if tasks == 1 else 0
        receipt = np.empty(size)
        self._run(sums, coded, verdicts, place, True, receipt=receipt)
        self.receipt_ = receipt.tobytes()
        return verdicts._replace(identified=bool(self.identifiable_)) if decide else verdicts

    def _vote(self, coded: Coded, place: int, afresh: bool) -> Verdicts:
        tasks = coded.starts.size - 1
        verdicts = Verdicts.room(tasks)
        sums = self._sums(len(coded.classes))
        parts = parts_of(tasks)

        def decide(k: int) -> None:
            begin, end = parts[k]
            here = verdicts.part(begin, end)
            self._run(sums, coded.part(begin, end), here, place, False, first=begin)

        side_by_side(decide, len(parts))
        return verdicts._replace(identified=bool(self.identifiable_))

    def _scores(self, coded: Coded) -> Floats:
        sums = self._sums(len(coded.classes))
        found = np.zeros((1, sums.mass.size))
        if coded.labels.size:
            self._run(sums, coded, Verdicts.room(0), -1, False, posteriors=found)
        else:
            found[:] = sums.mass + 1.0
        return np.log(np.maximum(found[0, : len(coded.classes)], 1e-300))

    def _run(
        self,
        sums: Sums,
        coded: Coded,
        verdicts: Verdicts,
        place: int,
        learning: bool,
        posteriors: Floats | None = None,
        receipt: Floats = NOTHING,
        first: int = 0,
    ) -> None:
        keys = self._keys(coded.classes)
        width = sums.mass.size
        if keys.size < width:  # a class that nobody has named yet
            keys = np.append(keys, np.full(width - keys.size, np.iinfo(np.uint64).max, np.uint64))
        family, rho = self._groups()
        kernels.run(
            sums,
            self._rules(),
            keys,
            family,
            rho,
            coded.starts,
            coded.workers,
            coded.labels,
            coded.truths,
            coded.known,
            place,
            first,
            learning,
            verdicts.winners,
            verdicts.confidences,
            verdicts.margins,
            np.empty((0, width)) if posteriors is None else posteriors,
            receipt,
        )

    def _groups(self) -> tuple[Ints, Floats]:
        """Of every labeller the number of its family, 0 for none, and how close each is."""
        watch = self._watcher
        if watch is None:
            return NO_FAMILIES, NOTHING
        book = watch.book(len(self._workers), len(self._classes))
        if not book.rho.size:
            return NO_FAMILIES, NOTHING
        return book.people["family"].astype(np.int64), book.rho

    def _regroup(self, skills: Floats) -> None:
        kernels.restart(self._sums(), skills)
        self.receipt_ = b""

    def _check_unlearn(
        self, given: list[tuple[LabellerId, ClassLabel]], gold: bool, place: int
    ) -> None:
        size = len(self.receipt_) // 8
        if not self.receipt_ or size - kernels.HEAD - 5 * len(given) < 0:
            raise InputError("unlearn_one", "the task learnt last, or its receipt_", "another")

    def _absorb(self, other: Self, names: Ints) -> None:
        sums, more = self._sums(), other._sums()
        if self._fade > 0.0:  # both in units of their newest task
            kernels.renormalise(sums, self._fade)
            more = other.copy()._sums()
            kernels.renormalise(more, self._fade)
        classes = np.array([self._classes.code(label) for label in other._classes], np.int64)
        mine = kernels.parts(sums.people, sums.mass.size)
        theirs = kernels.parts(more.people[: len(names)], more.mass.size)
        k = len(classes)
        mine.said[np.ix_(names, classes)] += theirs.said[:, :k]
        mine.rows[np.ix_(names, classes)] += theirs.rows[:, :k]
        mine.skill[names] += theirs.skill
        mine.met[names] += theirs.met
        mine.confusion[np.ix_(names, classes, classes)] += theirs.confusion[:, :k, :k]
        sums.shares[classes] += more.shares[:k]
        sums.mass[classes] += more.mass[:k]
        sums.pooled[np.ix_(classes, classes)] += more.pooled[:k, :k]
        sums.totals[:] += more.totals
        sums.gold[:] += more.gold
        sums.clock[kernels.LEARNT] += more.clock[kernels.LEARNT]
        sums.clock[kernels.NAMED] = len(self._classes)
        self.receipt_ = b""

    def _pack(self) -> dict[str, NDArray[np.generic]]:
        sums = self._sums()
        sums = sums._replace(people=sums.people[: len(self._workers)])
        packed: dict[str, NDArray[np.generic]] = dict(sums._asdict())
        packed["receipt"] = np.frombuffer(self.receipt_)
        return packed

    def _unpack(self, arrays: dict[str, tuple[list[int], bytes]]) -> None:
        try:
            slots = {
                name: np.frombuffer(data).reshape(shape).copy()
                for name, (shape, data) in arrays.items()
            }
            self.receipt_ = slots.pop("receipt").tobytes()
            found = Sums(**slots)
        except (KeyError, ValueError, TypeError) as error:
            raise StateError(f"a saved state whose arrays do not fit: {error}") from None
        wanted = kernels.new_sums(len(self._workers), max(len(self._classes), 2))
        if any(a.shape != b.shape for a, b in zip(found, wanted, strict=True)):
            raise StateError("a saved state whose arrays do not fit")
        self._held = found

    @property
    def clock_(self) -> int:
        """Tasks learnt here so far: the place in the stream of the next."""
        return int(self._sums().clock[kernels.CLOCK])

    @property
    def tasks_(self) -> int:
        """Tasks learnt so far, here or by those merged in."""
        return int(self._sums().clock[kernels.LEARNT])

    @property
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far say who is to be trusted, and if not, why."""
        sums = self._sums()
        if sums.gold[:, 0].sum() > 0:
            return Identifiability(True, "only by the truths that were given")
        met = kernels.parts(sums.people, sums.mass.size).met[:, 1]
        if (met[:MANY] > MET).sum() < 3 and (met > MET).sum() < 3:
            few = "fewer than three labellers share tasks"
            none = "no two labellers share a task"
            return Identifiability(False, few if (met > MET).any() else none)
        if len(self._classes) < 2:
            return Identifiability(False, "only one class was ever seen")
        return Identifiability(True, "")

    def _people(self) -> People:
        """``error_rate`` is averaged over the classes."""
        sums = self._sums()
        n, k = len(self._workers), max(len(self._classes), 2)
        errors, weights, confusions = kernels.standing(sums, self._rules())
        watch = self._watcher
        if watch is not None and n:
            # One skill for all classes explains an even crowd. Otherwise, or where truths anchor
            # the confusions, those have a say.
            limits, worst = watch.limits(n, TWO_SIDED), 1 - 1 / k
            low, high = (1 - limits.high) * worst, (1 - limits.low) * worst
            alike = (low <= errors[:n]) & (errors[:n] <= high)
            alike |= not limits.gold.any() and _unevenness(sums) < UNEVEN
            errors[:n] = np.where(alike, (1 - limits.skill) * worst, errors[:n])
        clock = sums.clock
        people = kernels.parts(sums.people[:n], sums.mass.size)
        met = people.met[:, 1]
        now = kernels.weight_of(clock, self._fade, clock[kernels.CLOCK] - 1)
        mass = sums.mass[:k] + now * kernels.H / k
        return People(
            answers=people.said.sum(axis=1) / now,
            errors=errors[:n],
            weights=weights[:n],
            agreed=people.met[:, 0],
            met=met,
            shared=met > MET,
            solved=np.full(n, bool(self.identifiable_)),
            apart=np.zeros(n, np.bool_),
            fading=self._fade > 0,
            confusions=confusions[:n, :k, :k],
            prior=mass / mass.sum(),
        )


def _check_families(families: object) -> None:
    if families is None:
        return
    if not isinstance(families, Mapping):
        raise InputError("families", "a mapping of labeller to family", repr(families))
    for who, name in families.items():
        if clean_id(who, "families, labeller") is None or not isinstance(name, str):
            raise InputError(f"families[{who!r}]", "the name of a family, str", repr(name))


def _unevenness(sums: Sums) -> float:
    """How much more often the crowd is right on one class than on another."""
    rows = sums.pooled.sum(axis=1)
    known = np.flatnonzero(sums.mass >= LEAST_MASS)
    if known.size < 2:
        return 0.0
    return float(np.ptp(np.diag(sums.pooled)[known] / np.maximum(rows[known], 1e-9)))


class Adaptive(SoftCounts):
    """Weighs each labeller by its skill and its confusions, learnt in one pass; the default.

    A robust teacher (one skill a labeller, from agreement with what the others say) and a
    flexible student (a confusion a labeller, learnt from the teacher alone) decide together.
    Confidence is lowered as far as the labels show that labellers do not err independently; known
    truths recalibrate it and feed the same sums. Time a label O(K²), memory O(n K²).

    Parameters
    ----------
    forgetting
        β: every task lets all earlier ones fade by ``1 − β``. 0 forgets nothing. ``"auto"``: each
        labeller's past fades as fast as foretells its answers best, found out on the way; one
        skill a labeller then decides, no confusions.
    ties
        ``"coin"``: a fair coin, seeded; ``"lowest"``: the lowest class in sorting order.
    seed
        Of the coin.
    watch
        Whether to keep what intervals, alarms, pairs and the difficulty of tasks need.
    families
        Labellers who do not judge independently (one model, one agency), by the name of their
        family. They do not vouch for one another, and together weigh as they deserve. Labellers
        who turn out to be near-duplicates are treated so even if nobody declared them.

    Examples
    --------
    >>> crowd = Adaptive()
    >>> for truth in ["spam", "ham", "ham", "spam"] * 25:
    ...     crowd.learn_one({"ann": truth, "bob": truth, "cy": truth, "parrot": "ham"})
    >>> crowd.predict_one({"ann": "spam", "parrot": "ham"})
    'spam'
    >>> crowd.labellers().filter(worker="parrot")["weight"].item() < 0.2
    True
    """

    def __init__(
        self,
        forgetting: float | Literal["auto"] = 0.0,
        ties: Ties = "coin",
        seed: int = 0,
        watch: bool = True,
        families: Families | None = None,
    ) -> None:
        super().__init__(0.0 if forgetting == "auto" else forgetting, ties, seed, watch)
        self.forgetting = forgetting  # type: ignore[assignment]
        self.families = families
        if not watch and (forgetting == "auto" or families):
            raise InputError("watch", "True where forgetting is 'auto' or families are", "False")
        _check_families(families)

    @property
    def _auto(self) -> bool:
        return cast("object", self.forgetting) == "auto"

    @property
    def _fade(self) -> float:
        return 0.0 if self._auto else super()._fade

    @property
    def _method(self) -> int:
        return kernels.ADAPTIVE

    def _vote(self, coded: Coded, place: int, afresh: bool) -> Verdicts:
        verdicts = super()._vote(coded, place, afresh)
        watch = self._watcher
        if not self._auto or watch is None:
            return verdicts
        posteriors, _ = watch.look(coded.tasks, len(self._workers), len(coded.classes))
        first = self.clock_ if place < 0 else place
        return self._by_posteriors(coded, verdicts, posteriors, first)

    def _by_watch(self, coded: Coded, verdicts: Verdicts, posteriors: Floats) -> Verdicts:
        if not self._auto:
            return verdicts
        first = self.clock_ - coded.known.size
        return self._by_posteriors(coded, verdicts, posteriors, first)

    def _by_posteriors(
        self, coded: Coded, verdicts: Verdicts, posteriors: Floats, first: int
    ) -> Verdicts:
        """Decide as the watch does, with no more confidence than dependence allows."""
        share = kernels.doubt(self._sums().totals, 1.0)
        watched = Verdicts.room(coded.known.size)._replace(
            difficulties=verdicts.difficulties, identified=verdicts.identified
        )
        kernels.choose(
            posteriors,
            self._keys(coded.classes),
            coded.starts,
            coded.labels,
            share,
            self._rules(),
            first,
            watched.winners,
            watched.confidences,
            watched.margins,
        )
        return watched

    def _scores(self, coded: Coded) -> Floats:
        watch = self._watcher
        if not self._auto or watch is None or not coded.labels.size:
            return super()._scores(coded)
        found, _ = watch.look(coded.tasks, len(self._workers), len(coded.classes))
        return np.log(np.maximum(found[0, : len(coded.classes)], 1e-300))


class StreamingDawidSkene(SoftCounts):
    """Dawid and Skene's confusions in one pass, each task decided and learnt from the past.

    Soft counts with a hierarchical prior: a labeller starts from the confusion of the crowd. It
    learns from its own posteriors, so it is flexible and can go astray where the crowd is poor;
    `Adaptive` learns from a robust teacher instead. Time a label O(K²), memory O(n K²).

    Examples
    --------
    >>> crowd = StreamingDawidSkene()
    >>> for truth in ["spam", "ham", "ham", "spam"] * 25:
    ...     crowd.learn_one({"ann": truth, "bob": truth, "cy": truth, "parrot": "ham"})
    >>> crowd.predict_one({"ann": "spam", "parrot": "ham"})
    'spam'

    References
    ----------
    A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the EM
    algorithm, 1979.
    """

    @property
    def _method(self) -> int:
        return kernels.DAWID_SKENE
