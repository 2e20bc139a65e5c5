"""What every estimator can do: the verbs, the vocabularies, saving and merging.

All learn the same agreement sums; an estimator adds how it reads them (`_scorer`, `_read`), and
what else it learns. Knows nothing of streams, files or monitors.
"""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self, TypeAlias, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError, MergeError, NotIdentifiable, StateError
from crowdstream.estimators import loops
from crowdstream.estimators.coding import (
    clean_answers,
    one_task,
)
from crowdstream.estimators.observer import Observer, Packed
from crowdstream.estimators.open_task import OpenTask
from crowdstream.estimators.votes import Keys, Scorer, Ties, Votes, class_keys, decide, toss
from crowdstream.estimators.worker_table import Costs, WorkerReading, value_series, worker_table
from crowdstream.labels import (
    UNKNOWN,
    Answers,
    ClassLabel,
    Intake,
    Table,
    TaskId,
    Truths,
    Vocabulary,
    WorkerId,
    clean_label,
    code_table,
)
from crowdstream.labels.batch import NO_TRUTHS, Codes, Ints, LabelBatch
from crowdstream.serialization import seal, unseal
from crowdstream.sums.agreement import AgreementSums
from crowdstream.sums.forgetting import Forgetting
from crowdstream.sums.parallel import parts_of, side_by_side
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

SAVED_AS = "crowd"

LEVEL = 0.95
"""Of intervals, unless the caller says otherwise."""

SETTLE = 0.95
"""A decision at least this sure is called settled, unless the caller says otherwise."""

Families: TypeAlias = "Mapping[str, str] | Mapping[int, str] | Mapping[WorkerId, str]"
"""Workers who do not judge independently of one another, by the name of their family."""

Param: TypeAlias = "bool | int | float | str | Families | None"
"""What a constructor takes."""


class Identifiability(NamedTuple):
    """Whether the labels determine the error rates, and if not, why; true or false by itself."""

    ok: bool
    reason: str

    def __bool__(self) -> bool:
        return self.ok


class Vote(NamedTuple):
    """What a crowd says of one task."""

    label: ClassLabel | None
    confidence: float
    margin: float
    identifiable: bool


class Opened(NamedTuple):
    """What became of new tasks: decisions, labels taken, and why a task closed.

    ``identified``: whose votes were weighed. ``why`` is 0 where a task is open, 1 where it was
    settled, 2 where it was full. ``place`` is that of the first task in the order of tasks,
    ``batch`` the labels that were taken.
    """

    votes: Votes
    identified: NDArray[np.bool_]
    why: NDArray[np.int32]
    place: int
    batch: LabelBatch


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


class Estimator(ABC):
    """Base of all estimators; see `AgreementBased` for what the verbs do."""

    weighs: ClassVar[bool] = True
    """Whether votes are weighed; those that only count votes do not warn that they do."""
    order_free: ClassVar[bool] = True
    """Whether, without forgetting, the order of the tasks learnt one by one does not matter."""
    follows: ClassVar[bool] = False
    """Whether `fit_predict` decides each task as of its time, because workers change."""
    memory: float | None = None
    families: Families | None = None
    ties: Ties
    seed: int
    intake_: Intake
    """What came in so far, and what of it was not counted as a label."""
    observers: list[Observer]
    """What goes along, and sees what is learnt."""
    _workers: Vocabulary
    _classes: Vocabulary
    _class_keys: Keys
    _clock: int
    _sums_: AgreementSums | None
    _scale_: Forgetting | None
    _kinds: ClassVar[dict[str, type[Estimator]]] = {}

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if not inspect.isabstract(cls):
            if cls.__name__ in Estimator._kinds:
                # Saved states know their estimator by name.
                raise TypeError(f"there is an estimator named {cls.__name__} already")
            Estimator._kinds[cls.__name__] = cls

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
        self.observers = [kind() for kind in Observer.standard]
        return self

    # What an estimator adds ------------------------------------------------------------------

    @abstractmethod
    def _scorer(self, sums: AgreementSums, classes: int) -> Scorer:
        """How tasks are scored by these sums, where labels are of so many classes."""

    @abstractmethod
    def _read(self) -> WorkerReading:
        """What is known of every worker."""

    @property
    @abstractmethod
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far determine the error rates, and if not, why."""

    @abstractmethod
    def skills(self) -> Floats:
        """How much better than chance each worker is: 1 always right, 0 guessing, below 0 worse."""

    @property
    @abstractmethod
    def mean_skill_(self) -> float:
        """The same of a worker of whom nothing is known."""

    @property
    def mean_accuracy_(self) -> float:
        """How often a worker of whom nothing is known is right."""
        chance = 1.0 / max(len(self._classes), 2)
        return chance + (1.0 - chance) * self.mean_skill_

    def _make_room(self) -> None:
        """Let there be room for all workers and classes known."""
        since = self._sums.workers
        self._sums.make_room(len(self._workers), len(self._classes))
        if self.families and since < len(self._workers):
            self._sums.declare(self._family_of(since), since)

    def _learn(self, batch: LabelBatch, sign: int) -> None:
        """Learn tasks in order, or take them back."""
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

    def _learn_open(self, batch: LabelBatch, sign: int, place: int) -> None:
        """Learn of an open task what can be taken back, or take it back."""
        self._sums.add(batch, sign * self._scale.weight(place))

    def _learn_closed(self, batch: LabelBatch, place: int) -> None:
        """Learn what the labels of an open task did not teach yet: it closes."""
        return

    def _follow(self, batch: LabelBatch) -> Votes:
        """Decide each task from those before it, then learn it."""
        named = len(self._classes)
        votes = Votes.room(len(batch))
        identified = False
        for t in range(len(batch)):
            here = batch.part(t, t + 1)
            found = self._decide(here, named)
            votes.winners[t], votes.confidences[t], votes.margins[t] = (
                array[0] for array in found[:3]
            )
            identified = found.identified
            self._learn(here, 1)
        return votes._replace(identified=identified)

    def _fit(self, batch: LabelBatch) -> None:
        """Learn a whole table, nothing having been learnt before."""
        self._learn(batch, 1)

    def _score_open(self, task: OpenTask) -> tuple[Scorer, Floats]:
        """Score an open task by the sums without its own labels."""
        batch = task.batch()
        sums = self._sums
        if task.size:
            sums = sums.without(batch, self._scale.weight(task.place))
        scorer = self._scorer(sums, len(self._classes))
        scores = np.empty((1, max(len(self._classes), 2)))
        scorer.score(batch, scores)
        return scorer, scores

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
        self._sums.unpack(arrays, len(self._workers), len(self._classes))

    # State that all have ---------------------------------------------------------------------

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

    def get_params(self) -> dict[str, Param]:
        """The constructor's arguments, as given."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def clone(self) -> Self:
        """Another of the same kind that has learnt nothing."""
        other = type(self)(**self.get_params())
        other.observers = [type(observer)() for observer in self.observers]
        return other

    def __repr__(self) -> str:
        signature = inspect.signature(type(self)).parameters
        shown = [f"{k}={v!r}" for k, v in self.get_params().items() if v != signature[k].default]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _keys(self, classes: Vocabulary) -> Keys:
        """Tie-breaking keys of the classes; those of the learnt ones are kept."""
        if classes is not self._classes:
            return class_keys(classes, self.ties)
        if self._class_keys.size != len(classes):
            self._class_keys = class_keys(classes, self.ties, self._class_keys)
        return self._class_keys

    def _family_names(self) -> list[str]:
        return list(dict.fromkeys((self.families or {}).values()))

    def _family_of(self, since: int) -> Codes:
        """The families of the workers from ``since`` on, by number."""
        numbers = {name: k for k, name in enumerate(self._family_names())}
        family = cast("Mapping[WorkerId, str]", self.families or {})
        names = [family.get(who) for who in self._workers.to_list()[since:]]
        return np.array([-1 if name is None else numbers[name] for name in names], np.int32)

    # One task at a time ----------------------------------------------------------------------

    def learn_one(self, answers: Answers, *, gold: ClassLabel | None = None) -> None:
        """Learn from one task's answers.

        Parameters
        ----------
        answers
            Who said what; ``None`` is a skip: a worker who was asked and did not answer.
        gold
            The task's true class, where it is known.
        """
        rows, truth = clean_answers(answers), clean_label(gold, "gold")
        batch = self._meet(rows, truth)
        self._learn(batch, 1)
        self._tell(batch, 1)
        self.intake_.count(one_task(rows))

    def unlearn_one(self, answers: Answers, *, gold: ClassLabel | None = None) -> None:
        """Take back one task's answers, as learnt before with the same arguments.

        The agreement sums come back to the bit. Soft counts and what observers saw are taken back
        by what is known now; with forgetting, the task learnt last can be taken back.
        """
        rows, truth = clean_answers(answers), clean_label(gold, "gold")
        given = [(who, x) for who, x in rows if x is not None]
        strange = [repr(who) for who, _ in rows if who not in self._workers]
        strange += [repr(x) for _, x in given if x not in self._classes]
        if truth is not None and truth not in self._classes:
            strange.append(repr(truth))
        if strange or self.tasks_ == 0:
            raise InputError("unlearn_one", "a task that was learnt", ", ".join(strange) or "none")
        batch = self._coded(given, truth)
        said, told = self._sums.said, self._sums.told
        for i, x in zip(batch.workers.tolist(), batch.labels.tolist(), strict=True):
            if not said[i, x] > 0 or (truth is not None and not told[i] > 0):
                where = f"unlearn_one, answers[{self._workers[i]!r}]"
                raise InputError(where, "an answer that was learnt", repr(self._classes[x]))
        self._learn(batch, -1)
        self._tell(batch, -1)
        self.intake_.count(one_task(rows), -1)

    def predict_one(self, answers: Answers, *, task: TaskId | None = None) -> ClassLabel | None:
        """The likeliest class given one task's answers; ``None`` without an answer."""
        return self.vote_one(answers, task=task).label

    def vote_one(self, answers: Answers, *, task: TaskId | None = None) -> Vote:
        """`predict_one` with its confidence and margin.

        While only one class was ever named, the confidence allows for another one. A tie goes by a
        coin that belongs to ``task``.
        """
        given = [(who, x) for who, x in clean_answers(answers) if x is not None]
        classes = self._classes_with(given)
        batch = self._coded(given, None, classes, () if task is None else (task,))
        scorer, scores = self._score_one(batch, len(classes))
        return self._pick(batch, classes, scorer, scores)

    def _score_one(self, batch: LabelBatch, classes: int) -> tuple[Scorer, Floats]:
        """The scores of one task, whose labels are of so many classes."""
        scorer = self._scorer_for(classes)
        scores = np.empty((1, max(classes, 2)))
        scorer.score(batch, scores)
        return scorer, scores

    def _pick(
        self, task: OpenTask | LabelBatch, classes: Vocabulary, scorer: Scorer, scores: Floats
    ) -> Vote:
        """The decision that scores make of one task."""
        size = task.size if isinstance(task, OpenTask) else task.labels.size
        rules = size, len(classes), scorer.rho, self._keys(classes)
        winner, confidence, margin, tied = loops.choose_one(scores, *rules, False, 0)
        if scorer.calibrate is not None and winner != UNKNOWN:
            confidence = float(scorer.calibrate(np.array([confidence]))[0])
        if tied > 1 and self.ties == "coin":
            batch = task.batch() if isinstance(task, OpenTask) else task
            coin = int(toss(batch, self.seed)[0])
            winner = loops.choose_one(scores, *rules, True, coin)[0]
        label = None if winner == UNKNOWN else classes[winner]
        return Vote(label, confidence, margin, scorer.identified)

    def predict_proba_one(self, answers: Answers) -> dict[ClassLabel, float]:
        """The posterior over the classes seen so far and those in the answers."""
        given = [(who, x) for who, x in clean_answers(answers) if x is not None]
        classes = self._classes_with(given)
        if not len(classes):
            return {}
        batch = self._coded(given, None, classes)
        scorer, scores = self._score_one(batch, len(classes))
        scale = 1.0 + max(len(given) - 1, 0) * scorer.rho
        odds = np.exp((scores[0, : len(classes)] - scores[0, : len(classes)].max()) / scale)
        found = odds / odds.sum()
        if scorer.calibrate is not None and len(classes) > 1:
            best = int(found.argmax())
            sure = max(float(scorer.calibrate(found[[best]])[0]), 1 / len(classes))
            found *= (1 - sure) / max(1 - found[best], 1e-300)
            found[best] = sure
        return dict(zip(classes, found.tolist(), strict=True))

    def _classes_with(self, given: Sequence[tuple[WorkerId, ClassLabel]]) -> Vocabulary:
        """The classes known and those in the answers; the same object if there is none new."""
        classes = self._classes
        if any(x not in classes for _, x in given):
            classes = classes.copy()
            for _, x in given:
                classes.add(x)
        return classes

    def _meet(
        self, rows: Sequence[tuple[WorkerId, ClassLabel | None]], truth: ClassLabel | None
    ) -> LabelBatch:
        """One task's answers in codes, new workers and classes being added."""
        for who, _ in rows:
            self._workers.add(who)
        given = [(who, x) for who, x in rows if x is not None]
        for _, x in given:
            self._classes.add(x)
        if truth is not None:
            self._classes.add(truth)
        self._make_room()
        return self._coded(given, truth)

    def _coded(
        self,
        given: Sequence[tuple[WorkerId, ClassLabel]],
        truth: ClassLabel | None = None,
        classes: Vocabulary | None = None,
        tasks: Sequence[TaskId] = (),
    ) -> LabelBatch:
        """One task's answers in codes; a worker nobody knows is coded past the end."""
        classes = self._classes if classes is None else classes
        known = len(self._workers)
        codes = [self._workers.code(who) for who, _ in given]
        return LabelBatch(
            np.array([0, len(given)], np.int64),
            np.array([known if code == UNKNOWN else code for code in codes], np.int32),
            np.array([classes.code(x) for _, x in given], np.int32),
            NO_TRUTHS if truth is None else np.array([classes.code(truth)], np.int32),
            tasks,
        )

    # Tables ----------------------------------------------------------------------------------

    def learn_many(self, data: Table, *, gold: Truths | None = None) -> None:
        """Learn from a table or rows of labels: as `learn_one` on each task in turn.

        Give all labels of a task at once: in two calls they would count as two tasks.

        Parameters
        ----------
        data
            Anything that speaks Arrow, or rows of task, worker, label.
        gold
            The true classes of some tasks, a mapping or a table of task and label.
        """
        batch, intake = self._take_in(data, gold)
        self._learn(batch, 1)
        self._tell(batch, 1)
        self.intake_.count(intake)

    def stream_many(
        self, data: Table, *, gold: Truths | None = None, settle: float = SETTLE
    ) -> pl.DataFrame:
        """Decide each task from the tasks before it, then learn it: what a stream would say."""
        check_number("settle", settle, 0.0, 1.0)
        batch, intake = self._take_in(data, gold)
        votes = self._follow(batch)
        self._tell(batch, 1)
        self.intake_.count(intake)
        return self._table(batch, votes, self._classes, settle)

    def predict_many(
        self, data: Table, *, gold: Truths | None = None, settle: float = SETTLE
    ) -> pl.DataFrame:
        """Decide every task of a table from what was learnt so far, and learn nothing."""
        check_number("settle", settle, 0.0, 1.0)
        classes = self._classes.copy()
        batch, _ = code_table(data, self._workers.copy(), classes, gold=gold)
        votes = self._decide(batch, len(classes), self._keys(classes))
        self._warn_if_counted(batch, votes)
        return self._table(batch, votes, classes, settle)

    def fit(self, data: Table, *, gold: Truths | None = None) -> Self:
        """Begin afresh and learn a table as a whole, in passes over it; returns the estimator."""
        self._fit_table(data, gold)
        return self

    def fit_predict(
        self, data: Table, *, gold: Truths | None = None, settle: float = SETTLE
    ) -> pl.DataFrame:
        """`fit`, then decide every task of the table with all that it taught.

        To go on from what was learnt before, call `learn_many` and `predict_many`.
        """
        check_number("settle", settle, 0.0, 1.0)
        batch = self._fit_table(data, gold)
        votes = self._decide(batch, len(self._classes))
        self._warn_if_counted(batch, votes)
        return self._table(batch, votes, self._classes, settle)

    def _fit_table(self, data: Table, gold: Truths | None) -> LabelBatch:
        afresh = self.clone()
        batch, intake = afresh._take_in(data, gold)
        afresh._fit(batch)
        afresh._tell(batch, 1)
        afresh.intake_.count(intake)
        self._become(afresh)
        return batch

    def _become(self, other: Self) -> None:
        """Put what another has learnt in place of what was learnt here."""
        self.__dict__.clear()
        self.__dict__.update(other.__dict__)

    def _take_in(self, data: Table, gold: Truths | None) -> tuple[LabelBatch, Intake]:
        batch, intake = code_table(data, self._workers, self._classes, gold=gold)
        self._make_room()
        return batch, intake

    def _scorer_for(self, classes: int) -> Scorer:
        """A scorer for labels of so many classes, the learnt ones first."""
        if classes <= max(len(self._classes), 2):
            return self._scorer(self._sums, classes)
        wider = self.copy()  # a class nobody has named: what if somebody had?
        for extra in range(len(self._classes), classes):
            wider._classes.add(f"\x00{extra}")
        wider._make_room()
        return wider._scorer(wider._sums, classes)

    def _decide(self, batch: LabelBatch, classes: int, keys: Keys | None = None) -> Votes:
        """Decide tasks from what was learnt so far."""
        keys = self._keys(self._classes) if keys is None else keys
        return decide(batch, self._scorer_for(classes), classes, keys, self.ties, self.seed)

    def _warn_if_counted(self, batch: LabelBatch, votes: Votes) -> None:
        if self.weighs and batch.labels.size and not votes.identified:
            reason = f"{self.identifiable_.reason}: fell back to majority vote"
            warnings.warn(reason, NotIdentifiable, stacklevel=3)

    def _table(
        self, batch: LabelBatch, votes: Votes, classes: Vocabulary, settle: float
    ) -> pl.DataFrame:
        """Decisions by their names; what is known needs no vote."""
        import polars as pl

        if batch.truths.size:
            told = batch.truths != UNKNOWN
            votes.winners[told] = batch.truths[told]
            votes.confidences[told] = votes.margins[told] = 1.0
        decided = votes.winners != UNKNOWN
        winners = pl.Series(votes.winners).set(pl.Series(~decided), None)
        return pl.DataFrame(
            {
                "task": value_series("task", batch.tasks),
                "label": value_series("label", classes.to_list()).gather(winners),
                "confidence": votes.confidences,
                "margin": votes.margins,
                "votes": batch.sizes,
                "settled": decided & (votes.confidences >= settle),
            }
        )

    # An open task of a stream ----------------------------------------------------------------

    def open_task(self, name: TaskId) -> OpenTask:
        """A task that will take labels; its place in the order of tasks is now."""
        self._scale.make_room(self._clock, self._arrays())
        self._clock += 1
        self.intake_.tasks += 1
        return OpenTask(name, self._clock - 1)

    def put_label(self, task: OpenTask, worker: WorkerId, label: ClassLabel | None) -> Vote:
        """A worker's first, another, or (``None``) no label on an open task; decides it anew."""
        i = self._workers.add(worker)
        x = UNKNOWN if label is None else self._classes.add(label)
        if i >= self._sums.workers or x >= self._sums.classes:
            self._make_room()
        at = task.find(i)
        if at < 0 and x < 0:  # asked, and did not answer
            self.intake_.rows += 1
            self.intake_.null_label += 1
            return self.vote_open(task)
        if at < 0:
            self.intake_.rows += 1
            self.intake_.labels += 1
            task.append(i, x)
            return self._add_label(task)
        self._learn_open(task.batch(), -1, task.place)
        if x < 0:
            self.intake_.rows -= 1
            self.intake_.labels -= 1
            task.remove(at)
        else:
            task.labels[at] = x
        self._learn_open(task.batch(), 1, task.place)
        return self.vote_open(task)

    def _add_label(self, task: OpenTask) -> Vote:
        """The last label of an open task is new: learn it and decide the task anew."""
        batch = task.batch()
        if task.size > 1:
            last = task.size - 1
            starts = np.array([0, last], np.int64)
            before = LabelBatch(starts, batch.workers, batch.labels, batch.truths)
            self._learn_open(before, -1, task.place)
        self._learn_open(batch, 1, task.place)
        return self.vote_open(task)

    def open_many(
        self, batch: LabelBatch, settle: float | None, min_labels: int, max_labels: int | None
    ) -> Opened | None:
        """New tasks take their labels in turn, each until it is settled or full.

        ``None`` where an estimator takes labels only one by one.
        """
        return None

    def open_named(
        self,
        tasks: Mapping[TaskId, Mapping[WorkerId, ClassLabel]],
        settle: float | None,
        min_labels: int,
        max_labels: int | None,
    ) -> Opened | None:
        """`open_many` by names."""
        if type(self).open_many is Estimator.open_many:
            return None
        workers = [self._workers.add(who) for labels in tasks.values() for who in labels]
        labels = [self._classes.add(x) for labels in tasks.values() for x in labels.values()]
        self._make_room()
        batch = LabelBatch(
            np.cumsum([0, *(len(labels) for labels in tasks.values())], dtype=np.int64),
            np.array(workers, np.int32),
            np.array(labels, np.int32),
            tasks=list(tasks),
        )
        return self.open_many(batch, settle, min_labels, max_labels)

    def resume_coded(self, name: TaskId, place: int, batch: LabelBatch, t: int) -> OpenTask:
        """Task t of a batch as one that goes on taking labels."""
        task = OpenTask(name, place)
        here = slice(int(batch.starts[t]), int(batch.starts[t + 1]))
        task.workers, task.labels = batch.workers[here].copy(), batch.labels[here].copy()
        task.size = task.workers.size
        return task

    def put_truth(self, task: OpenTask, truth: ClassLabel) -> None:
        """The truth of an open task is known."""
        code = self._classes.add(truth)
        self._make_room()
        if task.size:
            self._learn_open(task.batch(), -1, task.place)
        task.truth = code
        if task.size:
            self._learn_open(task.batch(), 1, task.place)

    def resume_task(
        self, name: TaskId, place: int, answers: Answers, truth: ClassLabel | None
    ) -> OpenTask:
        """An open task whose labels were learnt before the crowd was saved."""
        task = OpenTask(name, place)
        for who, label in answers.items():
            if label is not None:
                task.append(self._workers.code(who), self._classes.code(label))
        task.truth = UNKNOWN if truth is None else self._classes.code(truth)
        return task

    def close_task(self, task: OpenTask) -> None:
        """Learn the rest of an open task: no more labels will come."""
        batch = task.batch()
        self._learn_closed(batch, task.place)
        self._tell(batch, 1, in_order=True)

    def vote_open(self, task: OpenTask) -> Vote:
        """Decide an open task by what was learnt of all others; changes nothing."""
        return self._pick(task, self._classes, *self._score_open(task))

    # What is known of the workers ------------------------------------------------------------

    def workers(self, *, level: float = LEVEL, costs: Costs | None = None) -> pl.DataFrame:
        """One row per worker, in order of first appearance.

        ``answers`` (fading with forgetting); ``error_rate`` (null where it cannot be known) and
        its interval at ``level``; ``evidence``: whether known truths back the interval or
        agreement alone; ``weight`` of a vote; ``agreement`` with the others met; ``quality``: 1
        knows, 0 guesses, by what errors cost (all the same, unless ``costs`` says); ``flags``.

        Parameters
        ----------
        level
            Of the intervals.
        costs
            What it costs to take a class for another: ``{truth: {taken_for: cost}}``.
        """
        check_number("level", level, 0.5, 0.9999)
        more: dict[str, NDArray[np.generic] | list[str]] = {}
        for observer in self.observers:
            more |= observer.columns(self, level)
        return worker_table(self._workers, self._classes, self._read(), more, costs)

    def skill_of(self, worker: WorkerId | None) -> float:
        """How much better than chance a worker is; of nobody known, or ``None``: the average."""
        code = UNKNOWN if worker is None else self._workers.code(worker)
        return self.mean_skill_ if code == UNKNOWN else float(self.skills()[code])

    def attach(self, *observers: Observer) -> None:
        """Let observers see what is learnt from now on; of a kind there is one."""
        have = {type(observer) for observer in self.observers}
        self.observers += [observer for observer in observers if type(observer) not in have]

    def _tell(self, batch: LabelBatch, sign: int, in_order: bool = False) -> None:
        """Let every observer see it; of large batches each in a thread of its own."""
        observers = self.observers
        if len(parts_of(len(batch))) == 1:
            for observer in observers:
                observer.see(batch, self, sign, in_order)
        elif observers:
            side_by_side(lambda k: observers[k].see(batch, self, sign, in_order), len(observers))

    # Merging, saving, copying ----------------------------------------------------------------

    def __iadd__(self, other: Self) -> Self:
        """Add what another estimator learnt from other tasks."""
        if type(other) is not type(self):
            raise MergeError(
                f"{type(self).__name__} += {type(other).__name__}: the two must be of one kind"
            )
        mine, theirs = self.get_params(), other.get_params()
        differing = [k for k, v in mine.items() if theirs[k] != v and k != "seed"]
        if differing:
            told = ", ".join(f"{k}={mine[k]!r} and {theirs[k]!r}" for k in differing)
            raise MergeError(f"the two were made differently: {told}")
        if other is self or other._scale.fade:
            other = other.copy()
        names = np.array([self._workers.add(who) for who in other._workers], np.int64)
        classes = np.array([self._classes.add(label) for label in other._classes], np.int64)
        self._make_room()
        for crowd in (self, other):  # both in units of their newest task
            crowd._scale.renormalise(max(crowd._clock - 1, 0), crowd._arrays())
        self._merge(other, names, classes)
        for observer in self.observers:
            for another in other.observers:
                if type(another) is type(observer):
                    observer.merge(another, names, classes)
        self.intake_.count(other.intake_)
        return self

    def to_bytes(self) -> bytes:
        """The whole state, versioned and with a checksum; `load` brings it back."""
        self._make_room()
        saved = _Saved(
            kind=type(self).__name__,
            params={k: _plain(v) for k, v in self.get_params().items()},
            workers=self._workers.to_list(),
            classes=self._classes.to_list(),
            intake=self.intake_,
            clock=self._clock,
            origin=self._scale.origin,
            arrays=_to_bytes(self._pack()),
            observers=[(type(o).__name__, _to_bytes(o.pack())) for o in self.observers],
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
    crowd._clock = saved.clock
    crowd._scale.origin = saved.origin
    crowd._make_room()
    crowd._unpack(_from_bytes(saved.arrays))
    crowd.observers = []
    for name, arrays in saved.observers:
        if name not in Observer.kinds:
            raise StateError(f"saved with an observer unknown here, {name!r}")
        observer = Observer.kinds[name]()
        observer.unpack(_from_bytes(arrays))
        crowd.observers.append(observer)
    return crowd


def _to_bytes(arrays: Packed) -> dict[str, tuple[str, list[int], bytes]]:
    return {k: (v.dtype.str, list(v.shape), v.tobytes()) for k, v in arrays.items()}


def _from_bytes(arrays: Mapping[str, tuple[str, list[int], bytes]]) -> Packed:
    try:
        return {
            name: np.frombuffer(data, np.dtype(kind)).reshape(shape).copy()
            for name, (kind, shape, data) in arrays.items()
        }
    except (TypeError, ValueError) as error:
        raise StateError(f"a saved state whose arrays do not fit: {error}") from None


def _plain(value: Param) -> bool | int | float | str | dict[str | int, str] | None:
    """A constructor's argument as it is saved."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[WorkerId, str]", value))
    return cast("float", value.item()) if isinstance(value, np.generic) else value
