"""`DictEstimator`: an estimator in two methods over dicts, all other verbs given.

The slow path, for trying out an idea: one Python call per task. Knows nothing of the idea.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError, StateError, UsageError
from crowdstream.estimators.estimator import Estimator
from crowdstream.labels import UNKNOWN, Answers, ClassLabel, Vocabulary, WorkerId, shorten
from crowdstream.labels.batch import LabelBatch
from crowdstream.models.centred import Centred
from crowdstream.models.model import Model, Use
from crowdstream.models.scorer import Scorer
from crowdstream.serialization import Packed
from crowdstream.validation import check_number

Floats = NDArray[np.float64]

LEAST = 1e-300
"""Probabilities are kept above this before they become scores."""


class DictEstimator(Estimator):
    """Subclass it and write `learn_one` and `predict_proba_one`; tables and streams come with it.

    Both get the answers to one task, a dict of worker to label without skips;
    ``predict_proba_one`` returns a probability (or any share) for each class it thinks possible.
    What ``learn_one`` keeps must be in attributes whose names end in one underscore and that are
    made of dicts, lists, strings and numbers, so that it can be copied and saved. Worker tables
    tell what agreement says of the workers. Tasks cannot be taken back, nor estimators merged.

    Examples
    --------
    >>> import crowdstream as cs
    >>> class Newest(cs.DictEstimator):
    ...     '''Believes the worker who joined last.'''
    ...
    ...     def learn_one(self, answers, *, gold=None):
    ...         self.joined_ = getattr(self, "joined_", {})
    ...         for worker in answers:
    ...             self.joined_.setdefault(worker, len(self.joined_))
    ...
    ...     def predict_proba_one(self, answers):
    ...         joined = getattr(self, "joined_", {})
    ...         return {label: joined.get(worker, 0) + 1 for worker, label in answers.items()}
    >>> crowd = Newest()
    >>> crowd.learn_one({"ann": "spam", "bob": "ham"})
    >>> crowd.predict_one({"ann": "spam", "bob": "ham"})
    'ham'
    >>> crowd.fit_predict([("t1", "ann", "spam"), ("t1", "bob", "ham")])["label"].to_list()
    ['ham']
    """

    shares_places: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: object) -> None:
        # What a subclass writes is called for each task; the verbs stay those of all estimators.
        for verb in ("learn_one", "predict_proba_one"):
            if verb in vars(cls):
                setattr(cls, f"_{verb}", vars(cls)[verb])
                setattr(cls, verb, getattr(Estimator, verb))
        super().__init_subclass__(**kwargs)

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Refuse a subclass that cannot predict."""
        if cls._predict_proba_one is DictEstimator._predict_proba_one:
            raise TypeError(f"{cls.__name__} has no predict_proba_one")
        return super().__new__(cls, *args, **kwargs)

    def _learn_one(self, answers: Answers, *, gold: ClassLabel | None = None) -> None:
        """Stand for what a subclass writes as `learn_one`."""

    def _predict_proba_one(self, answers: Answers) -> dict[ClassLabel, float]:
        """Stand for what a subclass writes as `predict_proba_one`."""
        raise NotImplementedError

    def make_model(self) -> Model:
        """Return a model that calls the two methods.

        Examples
        --------
        >>> class Always(DictEstimator):
        ...     def predict_proba_one(self, answers):
        ...         return {"yes": 1.0}
        >>> Always().make_model().in_loop  # a stream calls it label by label
        False
        """
        return DictModel(self)

    def _learn_batch(self, batch: LabelBatch) -> None:
        """Let the subclass learn tasks."""
        for t, answers in enumerate(_answers(batch, self._workers, self._classes)):
            truth = int(batch.truths[t]) if batch.truths.size else UNKNOWN
            self._learn_one(answers, gold=None if truth == UNKNOWN else self._classes[truth])

    def _scorer_for(self, classes: Vocabulary, workers: Vocabulary | None = None) -> Scorer:
        names = self._workers if workers is None else workers

        def score(batch: LabelBatch, scores: Floats) -> None:
            for t, answers in enumerate(_answers(batch, names, classes)):
                scores[t] = self._scores(answers, classes)

        return Scorer(score, identified=True)

    def _score_given(
        self, given: Sequence[tuple[WorkerId, ClassLabel]], batch: LabelBatch, classes: Vocabulary
    ) -> tuple[Scorer, Floats]:
        return self._scorer_for(classes), self._scores(dict(given), classes)[None]

    def _scores(self, answers: Answers, classes: Vocabulary) -> Floats:
        """The logarithms of what the subclass says; all classes alike where it says nothing."""
        shares = np.zeros(max(len(classes), 2))
        found = self._predict_proba_one(answers)
        where = f"{type(self).__name__}.predict_proba_one"
        if not isinstance(found, Mapping):
            raise InputError(where, "a dict of class to probability", shorten(found))
        for label, share in found.items():
            check_number(f"{where}, {label!r}", share, 0.0, 1e300)
            if label in classes:
                shares[classes.code(label)] = share
        if not shares.any():
            shares[: max(len(classes), 1)] = 1.0
        return np.asarray(np.log(np.maximum(shares / shares.sum(), LEAST)))

    def _kept(self) -> dict[str, object]:
        """Return what the subclass has learnt."""
        kept = {k: v for k, v in vars(self).items() if k.endswith("_") and k[0] != "_"}
        return {k: v for k, v in kept.items() if k not in ("intake_", "learnt_")}


class DictModel(Centred):
    """Calls a `DictEstimator`; of workers it says what agreement does."""

    weighs = False
    order_free = False
    adds_up = False
    reversible = False
    in_loop = False

    def __init__(self, crowd: DictEstimator) -> None:
        super().__init__()
        self._crowd = crowd

    def learn(self, batch: LabelBatch, sign: int = 1) -> None:
        """Learn tasks in order; none can be taken back."""
        if sign < 0:
            raise UsageError(f"{type(self._crowd).__name__} does not support unlearn_one")
        super().learn(batch, sign)
        self._crowd._learn_batch(batch)

    def follow(self, batch: LabelBatch, scored: LabelBatch, use: Use) -> None:
        """Score each task by those before it, then learn it."""
        for t in range(len(batch)):
            task, scores = batch.part(t, t + 1), np.empty((1, self.sums.classes))
            scorer = self.scorer()
            scorer.score(task, scores)
            use(t, t + 1, scores, scorer)
            self.learn(task)

    def close(self, batch: LabelBatch, place: int) -> None:
        """Learn a task whose labels are among the sums."""
        self._crowd._learn_batch(batch)

    def scorer(self) -> Scorer:
        """By what the subclass says."""
        return self._crowd._scorer_for(self._crowd._classes)

    def pack(self) -> Packed:
        """Sums, and what the subclass keeps."""
        try:
            packed = msgspec.msgpack.encode(self._crowd._kept())
        except (TypeError, OverflowError) as error:
            name = type(self._crowd).__name__
            raise StateError(f"{name} keeps what cannot be saved: {error}") from None
        return super().pack() | {"kept": np.frombuffer(packed, np.uint8)}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `pack` gave."""
        super().unpack(arrays)
        kept = msgspec.msgpack.decode(arrays["kept"].tobytes(), strict=False)
        vars(self._crowd).update(kept)


def _answers(
    batch: LabelBatch, workers: Vocabulary, classes: Vocabulary
) -> Iterator[dict[WorkerId, ClassLabel]]:
    """The answers to each task by name."""
    for begin, end in zip(batch.starts[:-1].tolist(), batch.starts[1:].tolist(), strict=True):
        pairs = zip(
            batch.workers[begin:end].tolist(), batch.labels[begin:end].tolist(), strict=True
        )
        yield {workers[i]: classes[x] for i, x in pairs}
