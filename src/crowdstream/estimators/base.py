"""What every estimator can do: the verbs, the vocabularies, saving and merging.

An estimator adds the sums it keeps and the loop over them (the methods with an underscore that
are abstract here). Knows nothing of streams, files or servers.
"""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self, TypeAlias, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import (
    InputError,
    MergeError,
    NotIdentifiable,
    StateError,
    check_number,
)
from crowdstream.estimators.parallel import LARGE, side_by_side
from crowdstream.estimators.people import Costs, People, labeller_table, value_series
from crowdstream.estimators.votes import Keys, Ties, class_keys
from crowdstream.estimators.watch import Tasks, Watch
from crowdstream.labels import (
    UNKNOWN,
    Answers,
    ArrowTable,
    Block,
    ClassLabel,
    Intake,
    LabellerId,
    Table,
    TaskId,
    Vocabulary,
    clean_id,
    clean_label,
    code_block,
)
from crowdstream.saving import seal, unseal

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

SAVED_AS = "crowd"

SKILL = 0.4
"""Of a labeller where nothing is known: with two classes, 70 % right."""

LEVEL = 0.95
"""Of intervals, unless the caller says otherwise."""

SETTLE = 0.95
"""A decision at least this sure is called settled, unless the caller says otherwise."""


class Identifiability(NamedTuple):
    """Whether the labels determine the error rates, and if not, why; true or false by itself."""

    ok: bool
    reason: str

    def __bool__(self) -> bool:
        return self.ok


class Vote(NamedTuple):
    """What a crowd says of one task; ``difficulty`` is ``None`` where nobody watches."""

    label: ClassLabel | None
    confidence: float
    margin: float
    identifiable: bool
    difficulty: float | None


RECALL = 18.0
"""How many e-folds of forgetting tasks can be taken back over: a factor 1e8, which leaves half of
the digits."""

Families: TypeAlias = "Mapping[str, str] | Mapping[int, str] | Mapping[LabellerId, str]"
"""Labellers who do not judge independently of one another, by the name of their family."""

Param: TypeAlias = "bool | int | float | str | Families | None"
"""What a constructor takes."""

Truths: TypeAlias = "Mapping[TaskId, ClassLabel] | ArrowTable"
"""True classes of some tasks."""
NO_TRUTHS: Ints = np.empty(0, np.int64)


@dataclass(slots=True)
class Coded:
    """Labels of some tasks in an estimator's codes, as its loop takes them.

    ``classes`` gives the codes of the labels their meaning; ``known`` is as in `Block`; ``truths``
    are the known classes of the tasks, −1 for none, or nothing where none is known.
    """

    starts: Ints
    workers: Codes
    labels: Codes
    known: Ints
    classes: Vocabulary
    truths: Ints = field(default_factory=lambda: NO_TRUTHS)

    def part(self, first: int, last: int) -> Coded:
        """Tasks ``first`` up to ``last``; the labels are shared, not copied."""
        starts, known = self.starts[first : last + 1], self.known[first:last]
        truths = self.truths[first:last]
        return Coded(starts, self.workers, self.labels, known, self.classes, truths)

    @property
    def tasks(self) -> Tasks:
        """As the watch takes them."""
        return Tasks(self.starts, self.workers, self.labels, self.truths, self.known)


class Verdicts(NamedTuple):
    """Decisions on some tasks in codes: winner (−1: nobody voted), confidence, margin, difficulty.

    ``identified`` is whether the last of them was decided by weights, not by counting heads;
    a difficulty is nan where nobody watches.
    """

    winners: Ints
    confidences: Floats
    margins: Floats
    difficulties: Floats
    identified: bool

    @classmethod
    def room(cls, tasks: int) -> Verdicts:
        """For so many, to be filled in."""
        return cls(
            np.empty(tasks, np.int64),
            np.zeros(tasks),
            np.zeros(tasks),
            np.full(tasks, np.nan),
            False,
        )

    def part(self, first: int, last: int) -> Verdicts:
        """Those on tasks ``first`` up to ``last``, to be filled in."""
        here = slice(first, last)
        return Verdicts(
            self.winners[here],
            self.confidences[here],
            self.margins[here],
            self.difficulties[here],
            self.identified,
        )

    def fill(self, first: int, found: Verdicts) -> Verdicts:
        """With others from task ``first`` on."""
        for mine, theirs in zip(self[:4], found[:4], strict=True):
            mine[first : first + theirs.size] = theirs
        return self._replace(identified=found.identified)


class _Saved(msgspec.Struct):
    """What a saved estimator consists of."""

    kind: str
    params: dict[str, bool | int | float | str | dict[str | int, str] | None]
    workers: list[str | int]
    classes: list[str | int | bool]
    intake: Intake
    arrays: dict[str, tuple[list[int], bytes]]
    watch: dict[str, tuple[list[int], bytes]]


class Estimator(ABC):
    """Base of all estimators; see `AgreementBased` for what the verbs do."""

    watch: bool = False
    """Whether a `Watch` goes along."""
    families: Families | None = None
    forgetting: float | str = 0.0
    weighs: ClassVar[bool] = True
    """Whether votes are weighed; those that only count heads do not warn that they do."""
    ties: Ties
    seed: int
    intake_: Intake
    """What came in so far, and what of it was not counted as a label."""
    receipt_: bytes = b""
    """What the task that was learnt last added, where taking it back needs that."""
    _workers: Vocabulary
    _classes: Vocabulary
    _class_keys: Keys
    _watching: Watch | None
    _kinds: ClassVar[dict[str, type[Estimator]]] = {}

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if not inspect.isabstract(cls):
            if cls.__name__ in Estimator._kinds:
                # Saved states know their estimator by name.
                raise TypeError(f"there is an estimator named {cls.__name__} already")
            Estimator._kinds[cls.__name__] = cls

    # What an estimator adds ------------------------------------------------------------------

    @abstractmethod
    def _learn(self, coded: Coded, sign: int, place: int, follow: bool, decide: bool) -> Verdicts:
        """Learn (sign 1) or unlearn (−1) tasks in order, deciding each before if asked."""

    @abstractmethod
    def _vote(self, coded: Coded, place: int, afresh: bool) -> Verdicts:
        """Decide tasks and change nothing; ``afresh`` solves in full first, on a copy."""

    @abstractmethod
    def _scores(self, coded: Coded) -> Floats:
        """The scores of all classes for one task."""

    @abstractmethod
    def _check_unlearn(
        self, given: list[tuple[LabellerId, ClassLabel]], gold: bool, place: int
    ) -> None:
        """Refuse to take back what known labellers did not give, as far as the sums can tell."""

    @abstractmethod
    def _absorb(self, other: Self, names: Ints) -> None:
        """Add the sums of another; its labeller i is ``names[i]`` here."""

    @abstractmethod
    def _pack(self) -> dict[str, NDArray[np.generic]]:
        """The learnt arrays, without spare room."""

    @abstractmethod
    def _unpack(self, arrays: dict[str, tuple[list[int], bytes]]) -> None:
        """Take over arrays that `_pack` gave."""

    @abstractmethod
    def _people(self) -> People:
        """What the estimator itself knows of every labeller."""

    def _regroup(self, skills: Floats) -> None:
        """Copying came to light: go on from ``skills``, by the pairs alone, nan where unknown."""
        return

    @property
    @abstractmethod
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far determine the error rates, and if not, why."""

    @property
    def order_free_(self) -> bool:
        """Whether the order of the tasks does not matter; merging is then exact."""
        return True

    @property
    @abstractmethod
    def clock_(self) -> int:
        """Tasks learnt here so far: the place in the stream of the next."""

    @property
    @abstractmethod
    def tasks_(self) -> int:
        """Tasks learnt so far, here or by those merged in."""

    # State that all have ---------------------------------------------------------------------

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Begin with nothing learnt, so that constructors only store their arguments."""
        self = super().__new__(cls)
        self._watching = None
        self._workers = Vocabulary()
        self._classes = Vocabulary()
        self._class_keys = np.empty(0, np.uint64)
        self.intake_ = Intake()
        return self

    @property
    def classes_(self) -> list[ClassLabel]:
        """The classes seen so far, in order of first appearance."""
        return self._classes.to_list()

    @property
    def workers_(self) -> list[LabellerId]:
        """The labellers met so far, in order of first appearance."""
        return self._workers.to_list()

    @property
    def n_labellers_(self) -> int:
        """How many labellers were met so far."""
        return len(self._workers)

    def params(self) -> dict[str, Param]:
        """The constructor's arguments, as given."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __repr__(self) -> str:
        signature = inspect.signature(type(self)).parameters
        shown = [f"{k}={v!r}" for k, v in self.params().items() if v != signature[k].default]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _keys(self, classes: Vocabulary) -> Keys:
        """Tie-breaking keys of the classes; those of the learnt ones are kept."""
        if classes is not self._classes:
            return class_keys(classes, self.ties)
        if self._class_keys.size != len(classes):
            self._class_keys = class_keys(classes, self.ties, self._class_keys)
        return self._class_keys

    # One task at a time ----------------------------------------------------------------------

    def learn_one(
        self,
        answers: Answers,
        *,
        gold: ClassLabel | None = None,
        place: int | None = None,
        fresh: Collection[LabellerId] | None = None,
    ) -> None:
        """Learn from one task's answers.

        ``gold`` is the task's true class where it is known. ``place`` learns the task as of an
        earlier place in the stream (what `clock_` was when it came); only forgetting minds it.
        ``fresh`` are the labellers whose answers are new, where the others' were learnt before:
        intervals and alarms count an answer once, and judge it by those before it.
        """
        rows, truth, where = _clean(answers), clean_label(gold, "gold"), self._place(place)
        if not rows:
            return
        for who, _ in rows:
            self._workers.add(who)
        given = [(who, x) for who, x in rows if x is not None]
        for _, x in given:
            self._classes.add(x)
        if truth is not None:
            self._classes.add(truth)
        coded = self._coded(given, truth)
        self._learn(coded, 1, where, follow=True, decide=False)
        self._watch_one(coded, given, 1, fresh)
        self.intake_.count(_one_task(rows, given))

    def unlearn_one(
        self,
        answers: Answers,
        *,
        gold: ClassLabel | None = None,
        place: int | None = None,
        receipt: bytes | None = None,
        fresh: Collection[LabellerId] | None = None,
    ) -> None:
        """Take back one task's answers, as learnt before with the same arguments.

        Where what a task adds depends on what was known then, its ``receipt`` is needed: what
        `receipt_` was after it was learnt. Without, the task learnt last can be taken back.
        """
        rows, truth, where = _clean(answers), clean_label(gold, "gold"), self._place(place)
        if not rows:
            return
        given = [(who, x) for who, x in rows if x is not None]
        strange = [repr(who) for who, _ in rows if who not in self._workers]
        strange += [repr(x) for _, x in given if x not in self._classes]
        if truth is not None and truth not in self._classes:
            strange.append(repr(truth))
        if strange or self.clock_ == 0:
            raise InputError("unlearn_one", "a task that was learnt", ", ".join(strange) or "none")
        before = self.receipt_
        if receipt is not None:
            self.receipt_ = receipt
        try:
            self._check_unlearn(given, truth is not None, where)
        except InputError:
            self.receipt_ = before
            raise
        coded = self._coded(given, truth)
        self._learn(coded, -1, where, follow=True, decide=False)
        self._watch_one(coded, given, -1, fresh)
        self.intake_.count(_one_task(rows, given), -1)

    def predict_one(self, answers: Answers) -> ClassLabel | None:
        """The likeliest class given one task's answers; ``None`` without an answer."""
        return self.vote_one(answers).label

    def vote_one(self, answers: Answers, *, place: int | None = None) -> Vote:
        """`predict_one` with its confidence and margin.

        While only one class was ever named, the confidence allows for another one.
        ``place`` is the task's place in the stream, which picks the coin for a tie.
        """
        where = self._place(place, self.clock_ + 1)
        coded = self._coded([(who, x) for who, x in _clean(answers) if x is not None])
        verdicts = self._vote(coded, where, afresh=False)
        winner = int(verdicts.winners[0])
        if winner == UNKNOWN:
            return Vote(None, 0.0, 0.0, verdicts.identified, None)
        watch, hard = self._watcher, None
        if watch is not None:
            _, found = watch.look(coded.tasks, len(self._workers), len(coded.classes))
            hard = float(found[0])
        return Vote(
            coded.classes[winner],
            float(verdicts.confidences[0]),
            float(verdicts.margins[0]),
            verdicts.identified,
            hard,
        )

    def predict_proba_one(self, answers: Answers) -> dict[ClassLabel, float]:
        """The posterior over the classes seen so far and those in the answers."""
        coded = self._coded([(who, x) for who, x in _clean(answers) if x is not None])
        if not len(coded.classes):
            return {}
        scores = self._scores(coded)
        odds = np.exp(scores - scores.max())
        return dict(zip(coded.classes, (odds / odds.sum()).tolist(), strict=True))

    def _place(self, place: int | None, end: int | None = None) -> int:
        if place is None:
            return -1
        end = self.clock_ if end is None else end
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < end:
            raise InputError("place", f"a place in the stream, 0 to {end - 1}", repr(place))
        return place

    def _coded(
        self, given: list[tuple[LabellerId, ClassLabel]], truth: ClassLabel | None = None
    ) -> Coded:
        """One task's answers in codes; what is new is coded past the end, nothing is added."""
        known = len(self._workers)
        classes = self._classes
        if any(x not in classes for _, x in given):
            classes = classes.copy()
        workers = [self._workers.code(who) for who, _ in given]
        return Coded(
            np.array([0, len(given)], np.int64),
            np.array([known if code == UNKNOWN else code for code in workers], np.int32),
            np.array([classes.add(x) for _, x in given], np.int32),
            np.array([known], np.int64),
            classes,
            NO_TRUTHS if truth is None else np.array([classes.code(truth)]),
        )

    # Tables ----------------------------------------------------------------------------------

    def learn_many(self, data: Table, *, gold: Truths | None = None) -> None:
        """Learn from a table or rows of labels: as `learn_one` on each task in turn.

        Give all labels of a task at once: in two calls they would count as two tasks. ``gold`` are
        the true classes of some tasks, a mapping or a table of task and label.
        """
        self._learn_table(data, gold, follow=False, decide=False)

    def stream_many(
        self, data: Table, *, gold: Truths | None = None, settle: float = SETTLE
    ) -> pl.DataFrame:
        """Decide each task from the tasks before it, then learn it: what a stream would say."""
        check_number("settle", settle, 0.0, 1.0)
        tasks, coded, verdicts = self._learn_table(data, gold, follow=True, decide=True)
        return self._decisions(tasks, coded, verdicts, settle)

    def predict_many(
        self, data: Table, *, gold: Truths | None = None, settle: float = SETTLE
    ) -> pl.DataFrame:
        """Decide every task of a table from what was learnt so far, and learn nothing."""
        check_number("settle", settle, 0.0, 1.0)
        known = _clean_truths(gold)
        classes = self._classes.copy()
        block = code_block(data, self._workers.copy(), classes)
        coded = _code_truths(block, classes, known)
        return self._decide_afresh(block.tasks, coded, settle)

    def fit_predict(
        self, data: Table, *, gold: Truths | None = None, settle: float = SETTLE
    ) -> pl.DataFrame:
        """Forget everything, learn a table, and decide each of its tasks with all it taught.

        To go on from what was learnt before, call `learn_many` and `predict_many`.
        """
        check_number("settle", settle, 0.0, 1.0)
        afresh = type(self)(**self.params())
        tasks, coded, _ = afresh._learn_table(data, gold, follow=False, decide=False)
        self.__dict__.update(afresh.__dict__)
        return self._decide_afresh(tasks, coded, settle)

    def _learn_table(
        self, data: Table, gold: Truths | None, follow: bool, decide: bool
    ) -> tuple[Sequence[TaskId] | pl.Series, Coded, Verdicts]:
        known = _clean_truths(gold)
        block = code_block(data, self._workers, self._classes)
        coded = _code_truths(block, self._classes, known)
        verdicts = self._learn_watched(coded, follow, decide)
        self.intake_.count(block.intake)
        return block.tasks, coded, verdicts

    def _decide_afresh(
        self, tasks: Sequence[TaskId] | pl.Series, coded: Coded, settle: float
    ) -> pl.DataFrame:
        verdicts = self._vote(coded, -1, afresh=True)
        watch = self._watcher
        if watch is not None:
            _, hard = watch.look(coded.tasks, len(self._workers), len(coded.classes))
            verdicts = verdicts._replace(difficulties=hard)
        if self.weighs and coded.labels.size and not verdicts.identified:
            reason = f"{self.identifiable_.reason}: heads were counted"
            warnings.warn(reason, NotIdentifiable, stacklevel=3)
        return self._decisions(tasks, coded, verdicts, settle)

    def _decisions(
        self,
        tasks: Sequence[TaskId] | pl.Series,
        coded: Coded,
        verdicts: Verdicts,
        settle: float,
    ) -> pl.DataFrame:
        import polars as pl

        if coded.truths.size:  # what is known needs no vote
            told = coded.truths != UNKNOWN
            verdicts.winners[told] = coded.truths[told]
            verdicts.confidences[told] = verdicts.margins[told] = 1.0
        decided = verdicts.winners != UNKNOWN
        winners = pl.Series(verdicts.winners).set(pl.Series(~decided), None)
        return pl.DataFrame(
            {
                "task": value_series("task", tasks),
                "label": value_series("label", coded.classes.to_list()).gather(winners),
                "confidence": verdicts.confidences,
                "margin": verdicts.margins,
                "votes": np.diff(coded.starts),
                "settled": decided & (verdicts.confidences >= settle),
                "difficulty": pl.Series(verdicts.difficulties).fill_nan(None),
            }
        )

    # What is known of the labellers ----------------------------------------------------------

    def labellers(self, *, level: float = LEVEL, costs: Costs | None = None) -> pl.DataFrame:
        """A table of the labellers, in order of first appearance.

        ``answers`` (fading with forgetting); ``error_rate`` (null where it cannot be known) and
        its interval at ``level``; ``weight`` of a vote; ``agreement`` with the others met;
        ``quality``: 1 knows, 0 guesses, by what errors cost (all the same, unless ``costs`` says);
        ``backed_by``: whether known truths back the interval or agreement alone; ``flags``.
        """
        check_number("level", level, 0.5, 0.9999)
        watch, n = self._watcher, len(self._workers)
        limits = said = None
        if watch is not None:
            limits = watch.limits(n, NormalDist().inv_cdf((1 + level) / 2))
            said = watch.book(n, len(self._classes)).said[:n, : len(self._classes)]
        people = self._people()
        return labeller_table(self._workers, self._classes, people, limits, said, costs)

    def skill_of(self, worker: LabellerId | None) -> float:
        """How much better than chance a labeller is: 1 always right, 0 guessing, below 0 worse.

        Of nobody known, or ``None``: the crowd's average; 0.4 where nobody watches.
        """
        watch = self._watcher
        if watch is None:
            return SKILL
        return watch.skill(
            UNKNOWN if worker is None else self._workers.code(worker), self.n_labellers_
        )

    def expect_stopping(self) -> None:
        """From now on it hangs on a task's labels whether more are asked for.

        Labels that come one by one (``fresh``) are then compared with care, so that stopping does
        not tilt what is known of the labellers. A `Stream` that stops says so itself.
        """
        watch = self._watcher
        if watch is not None:
            watch.stops = True

    # What goes along -------------------------------------------------------------------------

    @property
    def _watcher(self) -> Watch | None:
        """The watch, if there is one, which knows all declared families."""
        if not self.watch:
            return None
        if self._watching is None:
            auto = self.forgetting == "auto"
            fade = 0.0 if auto else float(-np.log1p(-cast("float", self.forgetting)))
            self._watching = Watch(fade, auto)
        return self._watching

    def _declare(self, watch: Watch) -> None:
        """Tell the watch the families of labellers it has not been told of."""
        since, n = watch.met, len(self._workers)
        watch.met = n
        if not self.families or since >= n:
            return
        family = cast("Mapping[LabellerId, str]", self.families)
        numbers = {name: k for k, name in enumerate(dict.fromkeys(family.values()), 1)}
        named = [family.get(who) for who in self._workers.to_list()[since:]]
        told = [(since + i, numbers[name]) for i, name in enumerate(named) if name is not None]
        codes, theirs = np.array(told, np.int64).reshape(-1, 2).T
        watch.declare(codes, theirs, len(numbers), n)

    def _watch_one(
        self,
        coded: Coded,
        given: list[tuple[LabellerId, ClassLabel]],
        sign: int,
        fresh: Collection[LabellerId] | None,
    ) -> None:
        watch = self._watcher
        if watch is None or (fresh is not None and not len(fresh)):
            return
        n, k = len(self._workers), len(self._classes)
        self._declare(watch)
        if fresh is None:
            (watch.learn_one if sign > 0 else watch.unlearn_one)(coded.tasks, n, k)
        else:  # those before come first
            order = sorted(range(len(given)), key=lambda j: given[j][0] in fresh)
            tasks = coded.tasks._replace(workers=coded.workers[order], labels=coded.labels[order])
            new = np.array([sum(who not in fresh for who, _ in given)], np.int64)
            watch.learn(tasks, n, k, sign=sign, fresh=new)
        self._ask_who_copies(watch)

    def _learn_watched(self, coded: Coded, follow: bool, decide: bool) -> Verdicts:
        """Learn a table, stopping now and then to ask who copies whom."""
        watch = self._watcher
        if watch is None:
            return self._learn(coded, 1, -1, follow, decide)
        tasks = coded.starts.size - 1
        self._declare(watch)
        verdicts = Verdicts.room(tasks if decide else 0)
        at = 0
        while at < tasks or not tasks:
            end = min(tasks, at + max(watch.until_due(), 1))
            found = self._learn_both(watch, coded.part(at, end), follow or end < tasks, decide)
            if decide:
                verdicts = verdicts.fill(at, found)
            if not tasks:
                break
            self._ask_who_copies(watch)
            at = end
        return verdicts

    def _learn_both(self, watch: Watch, coded: Coded, follow: bool, decide: bool) -> Verdicts:
        """The estimator and the watch learn the same tasks, side by side if there are many."""
        n, k = len(self._workers), len(self._classes)
        watch.book(n, k)
        learnt: list[Verdicts] = []
        meant: list[tuple[Floats, Floats]] = []

        def work(who: int) -> None:
            if who == 0:
                learnt.append(self._learn(coded, 1, -1, follow, decide))
            elif decide:
                meant.append(watch.follow(coded.tasks, n, k))
            else:
                watch.learn(coded.tasks, n, k)

        if coded.starts[-1] - coded.starts[0] >= LARGE:
            side_by_side(work, 2)
        else:
            work(0)
            work(1)
        if not decide:
            return learnt[0]
        posteriors, hard = meant[0]
        return self._by_watch(coded, learnt[0]._replace(difficulties=hard), posteriors)

    def _by_watch(self, coded: Coded, verdicts: Verdicts, posteriors: Floats) -> Verdicts:
        """Decide by the watch's posteriors, for those that do; else leave it as it is."""
        return verdicts

    def _ask_who_copies(self, watch: Watch) -> None:
        if watch.due:
            skills = watch.regroup(len(self._workers))
            if skills is not None:
                self._regroup(skills)

    # Merging, saving, copying ----------------------------------------------------------------

    def __iadd__(self, other: Self) -> Self:
        """Add what another estimator learnt from other tasks."""
        if type(other) is not type(self):
            raise MergeError(
                f"{type(self).__name__} += {type(other).__name__}: the two must be of one kind"
            )
        differing = [k for k, v in self.params().items() if other.params()[k] != v and k != "seed"]
        if differing:
            told = ", ".join(
                f"{k}={getattr(self, k)!r} and {getattr(other, k)!r}" for k in differing
            )
            raise MergeError(f"the two were made differently: {told}")
        if other is self:
            other = self.copy()
        names = np.array([self._workers.add(who) for who in other._workers], np.int64)
        for label in other._classes:
            self._classes.add(label)
        self._absorb(other, names)
        watch, more = self._watcher, other._watcher
        if watch is not None and more is not None:
            classes = np.array([self._classes.code(label) for label in other._classes], np.int64)
            self._declare(watch)
            watch.absorb(more, names, classes, len(self._workers), len(self._classes))
            self._ask_who_copies(watch)
        self.intake_.count(other.intake_)
        return self

    def to_bytes(self) -> bytes:
        """The whole state, versioned and with a checksum; `load` brings it back."""
        plain = {k: _plain(v) for k, v in self.params().items()}
        watch = self._watcher
        seen = {} if watch is None else watch.pack(len(self._workers))
        saved = _Saved(
            kind=type(self).__name__,
            params=plain,
            workers=self._workers.to_list(),
            classes=self._classes.to_list(),
            intake=self.intake_,
            arrays={k: (list(v.shape), v.tobytes()) for k, v in self._pack().items()},
            watch={k: (list(v.shape), v.tobytes()) for k, v in seen.items()},
        )
        return seal(SAVED_AS, msgspec.msgpack.encode(saved))

    def copy(self) -> Self:
        """A twin that learns on its own."""
        return cast("Self", load(self.to_bytes()))

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return load, (self.to_bytes(),)


def load(data: bytes) -> Estimator:
    """The estimator that `Estimator.to_bytes` saved.

    >>> import crowdstream as cs
    >>> crowd = cs.MajorityVote()
    >>> crowd.learn_one({"ann": "spam", "bob": "ham"})
    >>> cs.load(crowd.to_bytes()).classes_
    ['spam', 'ham']
    """
    try:
        saved = msgspec.msgpack.decode(unseal(SAVED_AS, data), type=_Saved)
    except msgspec.MsgspecError as error:
        raise StateError(f"not a saved estimator: {error}") from None
    kind = Estimator._kinds.get(saved.kind)
    if kind is None:
        known = ", ".join(sorted(Estimator._kinds))
        raise StateError(f"saved by an estimator unknown here, {saved.kind!r} (known: {known})")
    crowd = kind(**saved.params)
    for who in saved.workers:
        crowd._workers.add(who)
    for label in saved.classes:
        crowd._classes.add(label)
    crowd.intake_ = saved.intake
    crowd._unpack(saved.arrays)
    watch = crowd._watcher
    if watch is not None:
        watch.unpack(saved.watch, len(crowd._workers), max(len(crowd._classes), 2))
        crowd._declare(watch)
    return crowd


def _plain(value: Param) -> bool | int | float | str | dict[str | int, str] | None:
    """A constructor's argument as it is saved."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[LabellerId, str]", value))
    return cast("float", value.item()) if isinstance(value, np.generic) else value


def check_recall(back: int, fade: float) -> None:
    """Refuse to take back a task that has faded below the rounding of what came later."""
    if back * fade > RECALL:
        raise InputError("unlearn_one", "a task not long past", f"one {back} tasks back")


def _clean_truths(gold: Truths | None) -> dict[TaskId, ClassLabel]:
    if gold is None:
        return {}
    import polars as pl

    if isinstance(gold, ArrowTable):
        gold = pl.DataFrame(gold)
        if missing := {"task", "label"} - set(gold.columns):
            raise InputError("gold", "columns task and label", f"no {', '.join(sorted(missing))}")
        gold = dict(gold.select("task", "label").iter_rows())
    if not isinstance(gold, Mapping):
        raise InputError("gold", "a mapping or a table of task and label", type(gold).__name__)
    found: dict[TaskId, ClassLabel] = {}
    for task, label in gold.items():
        name, truth = clean_id(task, "gold, task"), clean_label(label, f"gold[{task!r}]")
        if name is not None and truth is not None:
            found[name] = truth
    return found


def _code_truths(block: Block, classes: Vocabulary, known: Mapping[TaskId, ClassLabel]) -> Coded:
    """A block with the true classes of its tasks, where there are any."""
    coded = Coded(block.starts, block.workers, block.labels, block.known, classes)
    if known:
        given = (known.get(task) for task in block.tasks)
        codes = [UNKNOWN if label is None else classes.add(label) for label in given]
        coded.truths = np.array(codes, np.int64)
    return coded


def _clean(answers: Answers) -> list[tuple[LabellerId, ClassLabel | None]]:
    if not isinstance(answers, Mapping):
        raise InputError("answers", "a mapping of labeller to label", type(answers).__name__)
    rows: dict[LabellerId, ClassLabel | None] = {}
    for who, label in answers.items():
        name = clean_id(who, "answers, labeller")
        if name is None:
            raise InputError("answers, labeller", "str or int", repr(who))
        rows[name] = clean_label(label, f"answers[{who!r}]")
    return list(rows.items())


def _one_task(rows: Sequence[object], given: Sequence[object]) -> Intake:
    return Intake(rows=len(rows), labels=len(given), tasks=1, null_label=len(rows) - len(given))
