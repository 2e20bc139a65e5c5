"""`CrowdState`: what an estimator has learnt, how it is merged, copied and saved.

Every estimator keeps the same agreement sums; the methods with a leading underscore here are what
an estimator may add: how it reads them, and what else it learns. Knows nothing of tables.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple, Self, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions import Votes
from crowdstream.errors import MergeError, StateError
from crowdstream.estimators.fallback import why_not
from crowdstream.estimators.observer import Observer, Packed
from crowdstream.estimators.parameters import CHECKS, Families, Ties
from crowdstream.estimators.passes import AddTasks, TaskTable
from crowdstream.estimators.teacher import (
    CAP_ALONE,
    error_rates,
    read_teacher,
    skills_of,
    vote_weights,
)
from crowdstream.estimators.teacher_loops import CAP_SKILL
from crowdstream.estimators.ties import NO_KEYS, Keys, class_keys
from crowdstream.estimators.votes import Scorer, TieRule, decide
from crowdstream.estimators.worker_table import WorkerReading
from crowdstream.labels import ClassLabel, Intake, Kind, Vocabulary, WorkerId
from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.labels.fingerprints import LearntInput
from crowdstream.labels.folding import MOST_CLASSES, PLACES, Folding
from crowdstream.parallel import parts_of, side_by_side
from crowdstream.serialization import (
    Savable,
    pack_arrays,
    read_state,
    seal,
    unpack_arrays,
    unseal,
)
from crowdstream.sums.agreement import AgreementSums
from crowdstream.sums.forgetting import Forgetting
from crowdstream.validation import Check, Parameters

Floats = NDArray[np.float64]

SAVED_AS = "crowd"


class Identifiability(NamedTuple):
    """Whether the labels determine the error rates, and if not, why; true or false by itself."""

    ok: bool
    reason: str

    def __bool__(self) -> bool:
        return self.ok


class _Saved(msgspec.Struct):
    """What a saved estimator consists of; an array is its type, its shape and its bytes."""

    kind: str
    params: dict[str, bool | int | float | str | dict[str | int, str] | None]
    workers: list[str | int]
    classes: list[str | int | bool]
    intake: Intake
    clock: int
    origin: int
    arrays: dict[str, tuple[str, list[int], bytes]]
    observers: list[tuple[str, dict[str, tuple[str, list[int], bytes]]]]
    learnt: list[LearntInput] = []


class CrowdState(Parameters, Savable, ABC):
    """Vocabularies, sums and observers of a crowd."""

    checks: ClassVar[Mapping[str, Check]] = CHECKS
    weighs: ClassVar[bool] = True
    """Whether votes are weighted; an estimator that only counts them does not warn that it does."""
    order_free: ClassVar[bool] = True
    """Whether, without forgetting, the order of tasks learnt one by one does not matter."""
    adds_up: ClassVar[bool] = True
    """Whether, without forgetting, `fit` is sums over tasks, wherever these are."""
    reversible: ClassVar[bool] = True
    """Whether tasks can be taken back and estimators merged."""
    follows: ClassVar[bool] = False
    """Whether `fit_predict` decides each task as of its time, because workers change."""
    folds: ClassVar[bool] = True
    """Whether more than `MOST_CLASSES` classes share places, so that memory stays bounded."""
    memory: float | None = None
    families: Families | None = None
    ties: Ties = "coin"
    seed: int = 0
    intake_: Intake
    """What came in so far, and what of it was not counted as a label."""
    observers: list[Observer]
    """Monitors that go along and see what is learnt."""
    learnt_: list[LearntInput]
    """Files that were learnt, where whoever read them noted it, as ``crowdstream run --state``."""
    _kind: Kind = Kind()
    """The kind of the table that was learnt last."""
    _workers: Vocabulary
    _classes: Vocabulary
    _class_keys: Keys
    _folding: Folding | None = None
    """Where classes have their places, once there are too many for a place each."""
    _clock: int
    _sums_: AgreementSums | None
    _scale_: Forgetting | None
    _kinds: ClassVar[dict[str, type[CrowdState]]] = {}

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if inspect.isabstract(cls) or cls.__module__ == __name__:
            return
        known = CrowdState._kinds.get(cls.__name__)
        if known is not None and (known.__module__, known.__qualname__) != (
            cls.__module__,
            cls.__qualname__,
        ):
            # Saved states know their estimator by name.
            raise TypeError(f"there is an estimator named {cls.__name__} already")
        CrowdState._kinds[cls.__name__] = cls

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Begin with nothing learnt, so that constructors only store their arguments."""
        self = super().__new__(cls)
        self._workers = Vocabulary()
        self._classes = Vocabulary()
        self._class_keys = np.empty(0, np.uint64)
        self._clock = 0
        self._sums_ = None
        self._scale_ = None
        self.intake_ = Intake()
        self.learnt_ = []
        Observer.load_monitors()
        self.observers = [kind() for kind in Observer.standard]
        return self

    # What an estimator adds ------------------------------------------------------------------

    @abstractmethod
    def _scorer(self, sums: AgreementSums, classes: int) -> Scorer:
        """How tasks are scored by these sums, where labels are of so many classes."""

    @property
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far determine the error rates, and if not, why."""
        reason = why_not(read_teacher(self._sums, self._unit), len(self._classes))
        return Identifiability(not reason, reason)

    def _skills(self) -> Floats:
        """How much better than chance each worker is: 1 always right, 0 guessing, below 0 worse."""
        return skills_of(read_teacher(self._sums, self._unit), self._sums.workers)

    @property
    def mean_skill_(self) -> float:
        """How much better than chance a worker is of whom nothing is known."""
        return float(read_teacher(self._sums, self._unit).mean)

    def _read(self) -> WorkerReading:
        """What is known of every worker; unless an estimator knows more, what agreement says."""
        sums, skills, known = self._sums, self._skills(), bool(self.identifiable_)
        apart = sums.groups != sums.main_group
        return WorkerReading(
            errors=error_rates(skills, sums.classes),
            weights=vote_weights(skills, sums.classes, self._cap),
            solved=np.full(sums.workers, known) & ~apart,
            apart=apart & known,
        )

    @property
    def _cap(self) -> float:
        """The skill beyond which a vote by agreement counts no more."""
        return CAP_SKILL if self._folding is None else CAP_ALONE

    @property
    def mean_accuracy_(self) -> float:
        """How often a worker is right of whom nothing is known."""
        chance = 1.0 / max(self._places, 2)
        return chance + (1.0 - chance) * self.mean_skill_

    @property
    def dependence_(self) -> float:
        """How far workers err together, from 0 to 1, where an estimator measures it: here 0."""
        return 0.0

    @property
    def calibration_(self) -> str:
        """What confidence rests on: here on nothing but the estimator's own model, ``"none"``."""
        return "none"

    def _make_room(self) -> None:
        """Make room for all workers and classes known."""
        since = self._sums.workers
        if self._folding is not None:
            self._folding.update(self._classes)
        elif self._shares_places(self._classes):
            self._start_folding()
        self._sums.make_room(len(self._workers), self._places)
        if self.families and since < len(self._workers):
            self._sums.declare(self._family_of(since), since)

    def _learn(self, batch: LabelBatch, sign: int) -> None:
        """Learn tasks in order (sign 1), or take them back (−1)."""
        scale = self._scale
        if sign < 0:
            self._clock -= len(batch)
            self._sums.add(batch, -scale.weight(self._clock), scale.growth)
            return
        at = 0
        while at < len(batch):
            end = min(at + scale.make_room(self._clock, self._arrays()), len(batch))
            self._sums.add(batch.part(at, end), scale.weight(self._clock), scale.growth)
            self._clock += end - at
            at = end

    def _follow(self, batch: LabelBatch) -> Votes:
        """Decide each task from those before it, then learn it; labels are classes here."""
        votes = Votes.room(len(batch))
        identified = False
        for t in range(len(batch)):
            task = batch.part(t, t + 1)
            found = self._decide(task, self._workers, self._classes)
            votes.winners[t] = found.winners[0]
            votes.confidences[t] = found.confidences[0]
            votes.margins[t] = found.margins[0]
            identified = found.identified
            self._learn(self._learnt_as(task), 1)
        return votes._replace(identified=identified)

    def _fit(self, table: TaskTable) -> None:
        """Learn a whole table, nothing having been learnt before.

        Where the order of tasks matters it is gone through in order, in memory.
        """
        if self.memory is not None or not self.adds_up:
            self._learn(table.batch, 1)
            return
        (found,) = table.add_up([AddTasks(self._sums)])
        self._sums.add_sums(found)
        self._clock = int(self._sums.total[0])

    def _arrays(self) -> list[Floats]:
        """All sums that forgetting scales."""
        return self._sums.arrays()

    def _merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Add what another learnt; its worker i is ``names[i]``, its class a ``classes[a]``."""
        self._sums.merge(other._sums, names, classes)

    def _pack(self) -> Packed:
        """What was learnt, as arrays."""
        return self._sums.pack()

    def _unpack(self, arrays: Packed) -> None:
        """Take over what `_pack` gave."""
        self._sums.unpack(arrays, len(self._workers), self._places)

    def _fold(self, homes: Codes) -> None:
        """From now on classes share places: what was learnt of class a goes to ``homes[a]``."""
        self._sums.fold(homes, PLACES)

    # State that all have ---------------------------------------------------------------------

    def _shares_places(self, classes: Vocabulary) -> bool:
        """Whether with these classes, the learnt ones first, classes would share places."""
        return self._folding is not None or (self.folds and len(classes) > MOST_CLASSES)

    def _start_folding(self) -> None:
        """Let classes share places; what was learnt of them goes there."""
        self._folding = Folding()
        self._folding.update(self._classes)
        homes = self._folding.homes(self._sums.classes)
        self._fold(homes)
        for observer in self.observers:
            observer.fold(homes)

    @property
    def _places(self) -> int:
        """How many classes labels are learnt as: all that were seen, or the places they share."""
        return self._places_for(self._classes)

    def _places_for(self, classes: Vocabulary) -> int:
        """The same if these classes had been seen, the learnt ones first."""
        return PLACES if self._shares_places(classes) else len(classes)

    def _learnt_as(self, batch: LabelBatch) -> LabelBatch:
        """Labels of the classes known as they are learnt: each by its class's place."""
        return batch if self._folding is None else self._folding.at_home(batch)

    def _scored_as(self, batch: LabelBatch, classes: Vocabulary) -> LabelBatch:
        """Labels of these classes as they are scored: within a task no two share a place."""
        if not self._shares_places(classes):
            return batch
        return (self._folding or Folding()).apart(batch, classes)

    @property
    def _sums(self) -> AgreementSums:
        if self._sums_ is None:
            self._sums_ = AgreementSums(len(self._family_names()))
        return self._sums_

    @property
    def _scale(self) -> Forgetting:
        if self._scale_ is None:
            self._scale_ = Forgetting(self.memory)
        return self._scale_

    @property
    def _unit(self) -> float:
        """What the newest task counts."""
        return self._scale.weight(max(self._clock - 1, 0))

    @property
    def classes_(self) -> list[ClassLabel]:
        """The classes seen so far, in order of first appearance."""
        return self._classes.to_list()

    @property
    def many_classes_(self) -> str:
        """What there being very many classes means for decisions; empty if there are not."""
        if self._folding is None or not self.weighs:
            return ""
        return (
            f"{len(self._classes):,} classes: decided by agreement alone, since confusions of "
            f"more than {MOST_CLASSES} cannot be learnt"
        )

    @property
    def workers_(self) -> list[WorkerId]:
        """The workers met so far, in order of first appearance."""
        return self._workers.to_list()

    @property
    def n_workers_(self) -> int:
        """How many workers were met so far."""
        return len(self._workers)

    @property
    def tasks_(self) -> int:
        """Tasks learnt so far, here or by those merged in."""
        return self.intake_.tasks

    def _ties(self, classes: Vocabulary) -> TieRule:
        """How ties among these classes are broken; keys of the learnt classes are kept."""
        if self._shares_places(classes):
            return TieRule(NO_KEYS, self.ties == "coin", self.seed, classes)
        if classes is not self._classes:
            keys = class_keys(classes, self.ties)
        else:
            if self._class_keys.size != len(classes):
                self._class_keys = class_keys(classes, self.ties, self._class_keys)
            keys = self._class_keys
        return TieRule(keys, self.ties == "coin", self.seed)

    def _family_names(self) -> list[str]:
        return list(dict.fromkeys((self.families or {}).values()))

    def _family_of(self, since: int) -> Codes:
        """The families of the workers from ``since`` on, by number, −1 for none."""
        numbers = {name: k for k, name in enumerate(self._family_names())}
        family = cast("Mapping[WorkerId, str]", self.families or {})
        found = [family.get(worker) for worker in self._workers.to_list()[since:]]
        return np.array([-1 if name is None else numbers[name] for name in found], np.int32)

    def _scorer_for(self, workers: Vocabulary, classes: Vocabulary) -> Scorer:
        """A scorer for labels by these workers and of these classes, the learnt ones first."""
        if self._folding is not None or len(classes) <= max(len(self._classes), 2):
            return self._scorer(self._sums, self._places_for(classes))
        wider = self.copy()  # a class nobody has named yet: what if somebody had?
        wider._classes = classes.copy()
        wider._make_room()
        return wider._scorer(wider._sums, wider._places)

    def _decide(self, batch: LabelBatch, workers: Vocabulary, classes: Vocabulary) -> Votes:
        """Decide tasks, whose labels are of these classes, from what was learnt so far."""
        scorer, batch = self._scorer_for(workers, classes), self._scored_as(batch, classes)
        return decide(batch, scorer, self._places_for(classes), self._ties(classes))

    # Observers -------------------------------------------------------------------------------

    def attach(self, *observers: Observer) -> None:
        """Let monitors see what is learnt from now on; there is one of each kind.

        Parameters
        ----------
        observers
            Monitors, made and new.

        Examples
        --------
        >>> import crowdstream as cs
        >>> from crowdstream.monitoring import Drift
        >>> crowd = cs.Adaptive()
        >>> crowd.attach(Drift())
        >>> [type(observer).__name__ for observer in crowd.observers]
        ['Intervals', 'Drift']
        """
        have = {type(observer) for observer in self.observers}
        self.observers += [observer for observer in observers if type(observer) not in have]

    def _notify(self, batch: LabelBatch, sign: int, in_order: bool = False) -> None:
        """Let every observer see some tasks."""
        self._show(lambda one: one.see(batch, self, sign, in_order), len(batch))  # type: ignore[arg-type]

    @property
    def _patience(self) -> int:
        """How many closed tasks all observers may see late, and at once."""
        return min((one.patience(self) for one in self.observers), default=2**62)  # type: ignore[arg-type]

    def _notify_in_turn(self, batch: LabelBatch) -> None:
        """Let every observer see tasks as if it had seen each when it closed.

        There is at most one more than `_patience`, and that closed just now.
        """
        size = len(batch)
        for observer in self.observers:
            first = 0 if size == 1 else min(observer.patience(self), size)  # type: ignore[arg-type]
            if first:
                observer.see(batch.part(0, first), self, 1, True)  # type: ignore[arg-type]
            if first < size:
                rest = batch.part(first, size) if first else batch
                observer.see(rest, self, 1, True)  # type: ignore[arg-type]

    def _notify_all(self, table: TaskTable) -> None:
        """Let every observer see a whole table that was fitted."""
        self._show(lambda one: one.see_all(table, self), self._clock)  # type: ignore[arg-type]

    def _show(self, see: Callable[[Observer], None], tasks: int) -> None:
        """Show tasks to all observers; where they are many, each in a thread of its own."""
        observers = self.observers
        parts = len(observers) if len(parts_of(tasks)) > 1 else 1
        if parts > 1:
            side_by_side(lambda k: see(observers[k]), parts)
        else:
            for observer in observers:
                see(observer)

    # Merging, copying, saving ----------------------------------------------------------------

    def __iadd__(self, other: Self) -> Self:
        """Add what another estimator learnt from other tasks."""
        if type(other) is not type(self):
            kinds = f"{type(self).__name__} += {type(other).__name__}"
            raise MergeError(f"{kinds}: the two must be of one kind")
        mine, theirs = self.get_params(), other.get_params()
        differing = [name for name in mine if theirs[name] != mine[name] and name != "seed"]
        if differing:
            found = ", ".join(f"{name}={mine[name]!r} and {theirs[name]!r}" for name in differing)
            raise MergeError(f"the two were made differently: {found}")
        if not self.reversible:
            raise MergeError(f"{type(self).__name__} does not say how two of it are added up")
        theirs_too = {type(observer) for observer in other.observers}
        missing = [type(o).__name__ for o in self.observers if type(o) not in theirs_too]
        if missing and other.tasks_:
            found = ", ".join(missing)
            raise MergeError(f"the other was learnt without {found}: monitor both or neither")
        if other._learnt_nothing or self._learnt_nothing:
            return self._take_over(other)
        if other is self or other._scale.fade:
            other = other.copy()
        names = np.array([self._workers.add(worker) for worker in other._workers], np.int64)
        classes = np.array([self._classes.add(label) for label in other._classes], np.int64)
        self._make_room()
        if self._folding is not None:
            if other._folding is None:
                other = other.copy()
                other._start_folding()
            classes = np.arange(PLACES)
        for crowd in (self, other):  # both in units of their newest task
            crowd._scale.renormalise(max(crowd._clock - 1, 0), crowd._arrays())
        self._merge(other, names, classes)
        theirs_by_kind = {type(observer): observer for observer in other.observers}
        for observer in self.observers:
            if type(observer) in theirs_by_kind:
                observer.merge(theirs_by_kind[type(observer)], names, classes)
        self.intake_.count(other.intake_)
        self.learnt_ += [one for one in other.learnt_ if one not in self.learnt_]
        return self

    @property
    def _learnt_nothing(self) -> bool:
        return not (self._clock or len(self._workers) or len(self._classes))

    def _take_over(self, other: Self) -> Self:
        """What `+=` makes of two of which one has learnt nothing: the other one, to the bit."""
        came = self.intake_
        if self._learnt_nothing:
            params = self.get_params()
            self.__dict__.update(other.copy().__dict__)
            self.__dict__.update(params)
            came, self.intake_ = self.intake_, came
        else:
            came = other.intake_
        self.intake_.count(came)
        return self

    def clone(self) -> Self:
        """Another estimator of the same kind and parameters that has learnt nothing.

        Examples
        --------
        >>> import crowdstream as cs
        >>> crowd = cs.Adaptive(memory=1000).fit([("t1", "ann", 1), ("t1", "bob", 1)])
        >>> crowd.clone(), crowd.clone().workers_
        (Adaptive(memory=1000), [])
        """
        other = type(self)(**self.get_params())
        other.observers = [type(observer)() for observer in self.observers]
        return other

    def copy(self) -> Self:
        """A copy that goes on learning on its own.

        Examples
        --------
        >>> import crowdstream as cs
        >>> crowd = cs.MajorityVote().fit([("t1", "ann", 1), ("t1", "bob", 1)])
        >>> crowd.copy().workers_
        ['ann', 'bob']
        """
        other = cast("Self", load_crowd(self.to_bytes()))
        other._kind = self._kind
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return load_crowd, (self.to_bytes(),)

    def to_bytes(self) -> bytes:
        """The whole state as bytes, versioned and with a checksum; `load` brings it back.

        Examples
        --------
        >>> import crowdstream as cs
        >>> crowd = cs.MajorityVote().fit([("t1", "ann", 1), ("t1", "bob", 1)])
        >>> cs.load(crowd.to_bytes()).workers_
        ['ann', 'bob']
        """
        self._make_room()
        saved = _Saved(
            kind=type(self).__name__,
            params={name: _param(value) for name, value in self.get_params().items()},
            workers=self._workers.to_list(),
            classes=self._classes.to_list(),
            intake=self.intake_,
            clock=self._clock,
            origin=self._scale.origin,
            arrays=pack_arrays(self._pack()),
            observers=[(type(o).__name__, pack_arrays(o.pack())) for o in self.observers],
            learnt=self.learnt_,
        )
        return seal(SAVED_AS, msgspec.msgpack.encode(saved))


def load_crowd(source: bytes | str | Path) -> CrowdState:
    """The estimator that `save` or `to_bytes` saved."""
    try:
        saved = msgspec.msgpack.decode(unseal(SAVED_AS, read_state(source)), type=_Saved)
    except msgspec.MsgspecError as error:
        raise StateError(f"not a saved estimator: {error}") from None
    kind = CrowdState._kinds.get(saved.kind)
    if kind is None:
        known = ", ".join(sorted(CrowdState._kinds))
        raise StateError(f"saved by an estimator unknown here, {saved.kind!r} (known: {known})")
    crowd = kind(**saved.params)
    crowd._workers, crowd._classes = Vocabulary(saved.workers), Vocabulary(saved.classes)
    crowd.intake_ = saved.intake
    crowd.learnt_ = saved.learnt
    crowd._clock = saved.clock
    crowd._scale.origin = saved.origin
    crowd._make_room()
    crowd._unpack(unpack_arrays(saved.arrays))
    crowd.observers = []
    for name, arrays in saved.observers:
        if name not in Observer.kinds:
            raise StateError(f"saved with an observer unknown here, {name!r}")
        observer = Observer.kinds[name]()
        observer.unpack(unpack_arrays(arrays))
        crowd.observers.append(observer)
    return crowd


def _param(value: object) -> bool | int | float | str | dict[str | int, str] | None:
    """A constructor's argument as it is saved."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[WorkerId, str]", value))
    if isinstance(value, np.generic):
        return cast("float", value.item())
    return cast("float", value)
