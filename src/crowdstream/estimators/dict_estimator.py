"""`DictEstimator`: an estimator in two methods over dicts, all other verbs given.

The slow path, for trying out an idea: one Python call per task. Knows nothing of the idea.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError, StateError
from crowdstream.estimators.base import Estimator
from crowdstream.estimators.observer import Packed
from crowdstream.estimators.votes import Scorer
from crowdstream.labels import UNKNOWN, Answers, ClassLabel, TaskId, Vocabulary, WorkerId, shorten
from crowdstream.labels.batch import LabelBatch
from crowdstream.sums.agreement import AgreementSums
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

    weighs: ClassVar[bool] = False
    order_free: ClassVar[bool] = False
    adds_up: ClassVar[bool] = False
    reversible: ClassVar[bool] = False

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
        """What a subclass writes as `learn_one`."""

    def _predict_proba_one(self, answers: Answers) -> dict[ClassLabel, float]:
        """What a subclass writes as `predict_proba_one`."""
        raise NotImplementedError

    def _learn(self, batch: LabelBatch, sign: int) -> None:
        if sign < 0:
            raise InputError("unlearn_one", "an estimator that can", type(self).__name__)
        super()._learn(batch, sign)
        self._learn_closed(batch, 0)

    def _learn_closed(self, batch: LabelBatch, place: int) -> None:
        for t, answers in enumerate(_answers(batch, self._workers, self._classes)):
            truth = int(batch.truths[t]) if batch.truths.size else UNKNOWN
            self._learn_one(answers, gold=None if truth == UNKNOWN else self._classes[truth])

    def _scorer(self, sums: AgreementSums, classes: int) -> Scorer:
        return self._scorer_for(self._workers, self._classes)

    def _scorer_for(self, workers: Vocabulary, classes: Vocabulary) -> Scorer:
        def score(batch: LabelBatch, scores: Floats) -> None:
            for t, answers in enumerate(_answers(batch, workers, classes)):
                scores[t] = self._scores(answers, classes)

        return Scorer(score, identified=True)

    def _score_answers(
        self, answers: Answers, task: TaskId | None = None
    ) -> tuple[LabelBatch, Vocabulary, Scorer, Floats]:
        batch, classes, given = self._code_answers(answers, task)
        scores = self._scores(dict(given), classes)[None]
        return batch, classes, self._scorer_for(self._workers, classes), scores

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

    def _pack(self) -> Packed:
        kept = {k: v for k, v in vars(self).items() if k.endswith("_") and k[0] != "_"}
        kept.pop("intake_", None)
        try:
            packed = msgspec.msgpack.encode(kept)
        except (TypeError, OverflowError) as error:
            raise StateError(f"{type(self).__name__} keeps what cannot be saved: {error}") from None
        return super()._pack() | {"kept": np.frombuffer(packed, np.uint8)}

    def _unpack(self, arrays: Packed) -> None:
        super()._unpack(arrays)
        vars(self).update(msgspec.msgpack.decode(arrays["kept"].tobytes(), strict=False))


def _answers(
    batch: LabelBatch, workers: Vocabulary, classes: Vocabulary
) -> Iterator[dict[WorkerId, ClassLabel]]:
    """The answers to each task by name."""
    for begin, end in zip(batch.starts[:-1].tolist(), batch.starts[1:].tolist(), strict=True):
        pairs = zip(
            batch.workers[begin:end].tolist(), batch.labels[begin:end].tolist(), strict=True
        )
        yield {workers[i]: classes[x] for i, x in pairs}
