"""`CrowdState`: a model with names: vocabularies, observers, and how it is merged, copied, saved.

What is learnt, and how, is the model's business (`crowdstream.models`). Knows nothing of tables.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self, cast

import msgspec
import numpy as np

from crowdstream.decisions.decision import Votes
from crowdstream.decisions.ties import NO_KEYS, Keys, Ties, class_keys
from crowdstream.decisions.votes import TieRule, decide
from crowdstream.errors import MergeError, StateError
from crowdstream.estimators.observer import Observer
from crowdstream.estimators.parameters import CHECKS, Families
from crowdstream.labels import UNKNOWN, ClassLabel, Intake, Kind, Vocabulary, WorkerId
from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.labels.fingerprints import LearntInput
from crowdstream.labels.folding import PLACES
from crowdstream.models.many_classes import Places
from crowdstream.models.model import Model
from crowdstream.models.passes import TaskTable
from crowdstream.models.scorer import Scorer
from crowdstream.parallel import parts_of, side_by_side
from crowdstream.serialization import (
    Savable,
    pack_arrays,
    read_state,
    seal,
    unpack_arrays,
    unseal,
)
from crowdstream.validation import Check, Parameters

if TYPE_CHECKING:
    from crowdstream.estimators.estimator import Estimator

SAVED_AS = "crowd"

ODD = 0xD1B54A32D192ED03
"""Checksums of names become keys as multiples of it: an odd number without a pattern."""


class Identifiability(NamedTuple):
    """Verdict on whether labels determine error rates, with the reason if not; usable as a bool."""

    ok: bool
    reason: str

    def __bool__(self) -> bool:
        return self.ok


class _Saved(msgspec.Struct):
    """Parts of a saved estimator; an array is its type, its shape and its bytes."""

    kind: str
    version: int
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
    """Vocabularies, a model and observers."""

    checks: ClassVar[Mapping[str, Check]] = CHECKS
    shares_places: ClassVar[bool] = True
    """True if very many classes share places, so that memory stays bounded."""
    memory: float | None = None
    families: Families | None = None
    ties: Ties = "coin"
    seed: int = 0
    intake_: Intake
    """Counts of what came in so far, and of what was not counted as a label."""
    learnt_: list[LearntInput]
    """Files that were learnt, where whoever read them noted it, as ``crowdstream run --state``."""
    _kind: Kind = Kind()
    """The kind of the table that was learnt last."""
    _workers: Vocabulary
    _classes: Vocabulary
    _class_keys: Keys
    _places: Places
    _made: Model | None
    _observers: list[Observer]
    _late: Callable[[], None] | None
    """Shows model and observers the tasks that a stream has closed and they have not seen."""
    _met: int | None
    """Workers there were when the tasks closed that observers are shown; ``None``: all."""
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
        self._places = Places(cls.shares_places)
        self._made = None
        self.intake_ = Intake()
        self.learnt_ = []
        self._late = self._met = None
        self._observers = [kind() for kind in Observer.standard]
        return self

    @abstractmethod
    def make_model(self) -> Model:
        """Return a model that has learnt nothing, by this estimator's parameters.

        Examples
        --------
        >>> import crowdstream as cs
        >>> cs.CentredAgreement(memory=1000).make_model().forgets
        True
        """

    @property
    def _model(self) -> Model:
        """Return what learns; made when it is first needed, after the constructor."""
        if self._late is not None:
            self._late()
        if self._made is None:
            self._made = self.make_model()
        return self._made

    # Names -----------------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Let the model know of all workers and classes."""
        model, since = self._model, self._model.sums.workers
        if self._places.update(self._classes):
            self._fold()
            model = self._model
        workers, places = len(self._workers), self._places.number(self._classes)
        if self.families and since < workers:  # before anything is read of them
            model.sums.make_room(workers, places)
            model.sums.declare(self._family_of(since), since)
        model.make_room(workers, places, len(self._classes))

    def _meet_one(self, worker: WorkerId, label: ClassLabel | None) -> tuple[int, int]:
        """The codes of a worker and of its label, −1 for none; both are known from now on."""
        i = self._workers.add(worker)
        x = UNKNOWN if label is None else self._classes.add(label)
        model, number = self._model, self._places.number(self._classes)
        model.named = len(self._classes)
        known = self._places.knows(self._classes)
        if i >= model.sums.workers or number > model.sums.classes or not known:
            self._make_room()
        return i, x

    def _fold(self) -> None:
        """Let classes share places; what was learnt of them goes there."""
        homes = self._places.homes(self._model.sums.classes)
        assert homes is not None
        self._made = self._model.fold(homes, PLACES)
        for observer in self.observers:
            observer.fold(homes)

    @property
    def _n_families(self) -> int:
        """Return how many families are declared."""
        return len(self._family_names())

    def _family_names(self) -> list[str]:
        return list(dict.fromkeys((self.families or {}).values()))

    def _family_of(self, since: int) -> Codes:
        """The families of the workers from ``since`` on, by number, −1 for none."""
        numbers = {name: k for k, name in enumerate(self._family_names())}
        family = cast("Mapping[WorkerId, str]", self.families or {})
        found = [family.get(worker) for worker in self._workers.to_list()[since:]]
        return np.array([-1 if name is None else numbers[name] for name in found], np.int32)

    # Deciding --------------------------------------------------------------------------------

    def _ties(self, classes: Vocabulary) -> TieRule:
        """Return how ties among these classes are broken; keys of the learnt classes are kept."""
        if self._places.are_shared(classes):
            return TieRule(NO_KEYS, self.ties == "coin", self.seed, classes)
        if classes is not self._classes:
            keys = class_keys(classes, self.ties)
        else:
            if self._class_keys.size != len(classes):
                self._class_keys = class_keys(classes, self.ties, self._class_keys)
            keys = self._class_keys
        return TieRule(keys, self.ties == "coin", self.seed)

    def _scorer_for(self, classes: Vocabulary, workers: Vocabulary | None = None) -> Scorer:
        """A scorer for labels of these classes and by these workers, the learnt ones first."""
        if self._places.folded or len(classes) <= max(len(self._classes), 2):
            return self._model.scorer()
        wider = self.copy()  # a class nobody has named yet: what if somebody had?
        wider._classes = classes.copy()
        wider._make_room()
        return wider._model.scorer()

    def _decide(
        self, batch: LabelBatch, classes: Vocabulary, workers: Vocabulary | None = None
    ) -> Votes:
        """Decide tasks, whose labels are of these classes, from what was learnt so far."""
        scorer, batch = self._scorer_for(classes, workers), self._places.scored(batch, classes)
        return decide(batch, scorer, self._places.number(classes), self._ties(classes))

    # Observers -------------------------------------------------------------------------------

    @property
    def observers(self) -> list[Observer]:
        """Return the monitors that go along and see what is learnt; one of each kind.

        A stream shows them several closed tasks at once, at the latest when somebody looks.
        """
        if self._late is not None:
            self._late()
        return self._observers

    @observers.setter
    def observers(self, observers: list[Observer]) -> None:
        if self._late is not None:
            self._late()
        self._observers = observers

    @property
    def _n_met(self) -> int:
        """Return how many workers had been met when the tasks closed that observers are shown."""
        return len(self._workers) if self._met is None else self._met

    @property
    def _seen(self) -> Estimator:
        """This estimator, as observers know it."""
        return cast("Estimator", self)

    def _notify(self, batch: LabelBatch, sign: int, in_order: bool = False) -> None:
        """Let every observer see some tasks."""
        self._show(lambda team: self._show_team(team, batch, sign, in_order), len(batch))

    def _show_team(
        self, team: list[Observer], batch: LabelBatch, sign: int, in_order: bool
    ) -> None:
        """Let observers that see tasks in one pass see some."""
        team[0].see_together(team, batch, self._seen, sign, in_order)

    @property
    def _teams(self) -> list[list[Observer]]:
        """Return the observers, those together that see tasks in one pass."""
        teams: list[list[Observer]] = []
        for one in self._observers:
            mates = next((team for team in teams if team[0].sees_like(one)), None)
            if mates is None:
                teams.append([one])
            else:
                mates.append(one)
        return teams

    @property
    def _patience(self) -> int:
        """Return how many closed tasks all observers may see late, and at once."""
        return min((one.patience(self._seen) for one in self._observers), default=2**62)

    @property
    def _most_workers(self) -> int:
        """Return how many workers there may be before all observers must see closed tasks."""
        return min((one.most_workers(self._seen) for one in self._observers), default=2**62)

    def _notify_in_turn(self, batch: LabelBatch, met: int) -> None:
        """Let every observer see tasks as if it had seen each when it closed.

        There is at most one more than `_patience`, and that closed just now; ``met``: how many
        workers had been met when the last one closed.
        """
        size, self._met = len(batch), met
        try:
            for team in self._teams:
                first = 0
                if size > 1:
                    first = min(size, *(one.patience(self._seen) for one in team))
                if first:
                    part = batch if first == size else batch.part(0, first)
                    self._show_team(team, part, 1, True)
                if first < size:
                    rest = batch.part(first, size) if first else batch
                    self._show_team(team, rest, 1, True)
        finally:
            self._met = None

    def _notify_all(self, table: TaskTable) -> None:
        """Let every observer see a whole table that was fitted."""

        def see(team: list[Observer]) -> None:
            if len(team) > 1:
                self._show_team(team, table.batch, 1, False)
            else:
                team[0].see_all(table, self._seen)

        self._show(see, self._model.clock)

    def _notify_more(self, table: TaskTable, tasks: int, in_order: bool = False) -> None:
        """Let every observer see more tasks that were learnt as a whole."""

        def see(team: list[Observer]) -> None:
            if len(team) > 1:
                self._show_team(team, table.batch, 1, in_order)
            else:
                team[0].see_more(table, self._seen, tasks, in_order)

        self._show(see, tasks)

    def _show(self, see: Callable[[list[Observer]], None], tasks: int) -> None:
        """Show tasks to all observers; where they are many, each team in a thread of its own."""
        if self._late is not None:
            self._late()
        teams = self._teams
        if len(teams) > 1 and len(parts_of(tasks)) > 1:
            side_by_side(lambda k: see(teams[k]), len(teams))
        else:
            for team in teams:
                see(team)

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
        if not self._model.reversible:
            raise MergeError(f"{type(self).__name__} does not say how two of it are added up")
        theirs_too = {type(observer) for observer in other.observers}
        if other.intake_.tasks:
            # With tasks of a crowd that was learnt in no order, nobody can tell who changed.
            self.observers = [o for o in self.observers if not o.over_time or type(o) in theirs_too]
        missing = [type(o).__name__ for o in self.observers if type(o) not in theirs_too]
        if missing and other.intake_.tasks:
            found = ", ".join(missing)
            raise MergeError(f"the other was learnt without {found}: monitor both or neither")
        if other._learnt_nothing or self._learnt_nothing:
            return self._take_over(other)
        if other is self or other._model.forgets:
            other = other.copy()
        names = self._workers.add_all(other._workers).astype(np.int64)
        classes = np.array([self._classes.add(label) for label in other._classes], np.int64)
        self._make_room()
        if self._places.folded and not other._places.folded:
            other = other.copy()
            other._places.start(other._classes)
            other._fold()
        classes = self._places.common(classes)
        for crowd in (self, other):  # both in units of their newest task
            crowd._model.rescale()
        self._model.merge(other._model, names, classes)
        theirs_by_kind = {type(observer): observer for observer in other.observers}
        for observer in self.observers:
            if type(observer) in theirs_by_kind:
                observer.merge(theirs_by_kind[type(observer)], names, classes)
        self.intake_.count(other.intake_)
        self.learnt_ += [one for one in other.learnt_ if one not in self.learnt_]
        return self

    @property
    def _learnt_nothing(self) -> bool:
        return not (self._model.clock or len(self._workers) or len(self._classes))

    def _take_over(self, other: Self) -> Self:
        """Merge two of which one has learnt nothing: the result is the other one, to the bit."""
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

    def _become(self, other: Self) -> None:
        """Be what another is."""
        self.__dict__.clear()
        self.__dict__.update(other.__dict__)

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
        model = self._model
        saved = _Saved(
            kind=type(self).__name__,
            version=model.version,
            params={name: _param(value) for name, value in self.get_params().items()},
            workers=self._workers.to_list(),
            classes=self._classes.to_list(),
            intake=self.intake_,
            clock=model.clock,
            origin=model.scale.origin,
            arrays=pack_arrays(model.pack()),
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
    crowd._make_room()
    model = crowd._model
    if saved.version != model.version:
        raise StateError(
            f"a saved {saved.kind} of format {saved.version}, where this version of crowdstream "
            f"reads {model.version}: fit it anew"
        )
    model.clock, model.scale.origin = saved.clock, saved.origin
    try:
        model.unpack(unpack_arrays(saved.arrays))
    except KeyError as error:
        raise StateError(f"a saved state without {error.args[0]!r}") from None
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
