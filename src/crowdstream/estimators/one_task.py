"""Verbs for one task at a time: learn it, take it back, decide it. Knows nothing of tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions import MIN_LABELS, SETTLE, Decision, SettleRule, Vote, make_decision
from crowdstream.errors import InputError
from crowdstream.estimators.newcomers import newcomers, strange_labels, without
from crowdstream.estimators.open_tasks import OpenTasks
from crowdstream.estimators.ties import name_of
from crowdstream.estimators.votes import Scorer, by_class, posteriors_by
from crowdstream.labels import (
    UNKNOWN,
    Answers,
    ClassLabel,
    Intake,
    TaskId,
    Vocabulary,
    WorkerId,
    clean_answers,
    clean_id,
    clean_label,
)
from crowdstream.labels.batch import NO_TRUTHS, LabelBatch

Floats = NDArray[np.float64]
Given = Sequence[tuple[WorkerId, ClassLabel]]

ROUNDING = 1e-6
"""Answers below 0 that forgetting may leave by rounding; without it sums are whole."""


class OneTaskVerbs(OpenTasks):
    """`learn_one`, `predict_one` and what goes with them."""

    def learn_one(self, answers: Answers, *, gold: ClassLabel | None = None) -> None:
        """Learn from one task's answers.

        Parameters
        ----------
        answers
            Who said what; ``None`` is a skip: a worker who was asked and did not answer.
        gold
            The task's true class, where it is known.

        Examples
        --------
        >>> import crowdstream as cs
        >>> crowd = cs.Adaptive()
        >>> crowd.learn_one({"ann": "spam", "bob": "ham"}, gold="spam")
        >>> crowd.classes_
        ['spam', 'ham']
        """
        rows, truth = clean_answers(answers), clean_label(gold, "gold")
        batch = self._meet(rows, truth)
        self._learn(batch, 1)
        self._notify(batch, 1)
        self.intake_.count(Intake.of_task(rows))

    def unlearn_one(self, answers: Answers, *, gold: ClassLabel | None = None) -> None:
        """Take back one task's answers, as learnt before with the same arguments.

        The agreement sums come back to the bit. Posterior counts and what monitors saw are taken
        back by what is known now; with ``memory``, only the task learnt last can be taken back.

        Parameters
        ----------
        answers, gold
            As they were given to `learn_one`.

        Examples
        --------
        >>> import crowdstream as cs
        >>> crowd = cs.AgreementBased()
        >>> crowd.learn_one({"ann": "spam", "bob": "ham"})
        >>> crowd.unlearn_one({"ann": "spam", "bob": "ham"})
        >>> crowd.tasks_
        0
        """
        rows, truth = clean_answers(answers), clean_label(gold, "gold")
        given = [(worker, label) for worker, label in rows if label is not None]
        strange = [repr(worker) for worker, _ in rows if worker not in self._workers]
        strange += [repr(label) for _, label in given if label not in self._classes]
        if truth is not None and truth not in self._classes:
            strange.append(repr(truth))
        if strange or self.tasks_ == 0:
            raise InputError("unlearn_one", "a task that was learnt", ", ".join(strange) or "none")
        said = self._code(given, self._classes, truth)
        batch = self._learnt_as(said)
        weight = self._scale.weight(max(self._clock - 1, 0))
        left = self._sums.without(batch, weight).rows[batch.workers]
        for i, x, row in zip(said.workers.tolist(), said.labels.tolist(), left, strict=True):
            if row.min() < -ROUNDING * weight:
                where = f"unlearn_one, answers[{self._workers[i]!r}]"
                raise InputError(where, "an answer that was learnt", repr(self._classes[x]))
        self._learn(batch, -1)
        self._notify(batch, -1)
        self.intake_.count(Intake.of_task(rows), -1)

    def predict_one(self, answers: Answers, *, task: TaskId | None = None) -> ClassLabel | None:
        """The likeliest class given one task's answers; ``None`` without an answer.

        Parameters
        ----------
        answers
            Who said what.
        task
            The task's id: the coin that breaks a tie belongs to it. Without it the coin belongs to
            the answers: the same answers, in any order, are always decided alike.

        Examples
        --------
        >>> import crowdstream as cs
        >>> cs.Adaptive().predict_one({"ann": "spam", "bob": "spam", "cy": "ham"})
        'spam'
        """
        return self.decide_one(answers, task=task).label

    def predict_proba_one(self, answers: Answers) -> dict[ClassLabel, float]:
        """The probability of each class seen so far or in the answers.

        Parameters
        ----------
        answers
            Who said what of the task.

        Examples
        --------
        >>> import crowdstream as cs
        >>> found = cs.MajorityVote().predict_proba_one({"ann": "spam", "bob": "ham"})
        >>> found
        {'spam': 0.5, 'ham': 0.5}
        """
        batch, classes, scorer, scores = self._score_answers(answers)
        if not len(classes):
            return {}
        places = self._places_for(classes)
        found = posteriors_by(scores, batch.sizes, scorer, places)
        if places < len(classes):
            found = by_class(batch, found, len(classes))
        return dict(zip(classes, found[0].tolist(), strict=True))

    def decide_one(
        self,
        answers: Answers,
        *,
        task: TaskId | None = None,
        settle: float | None = SETTLE,
        min_labels: int = MIN_LABELS,
    ) -> Decision:
        """The decision on one task from what was learnt so far: changes nothing.

        While only one class was ever named, the confidence allows for another one.

        Parameters
        ----------
        answers, task
            As for `predict_one`.
        settle, min_labels
            Confidence and number of labels from which the decision is settled.

        Examples
        --------
        >>> import crowdstream as cs
        >>> decision = cs.MajorityVote().decide_one({"ann": "spam", "bob": "ham", "cy": "spam"})
        >>> decision.label, round(decision.confidence, 3), decision.settled
        ('spam', 0.6, False)
        """
        rule = SettleRule.checked(settle, min_labels)
        task = None if task is None else clean_id(task, "task")
        batch, classes, scorer, scores = self._score_answers(answers, task)
        vote = self._pick(batch, classes, scorer, scores)

        def by_known() -> tuple[Vote, int, float] | None:
            if not self.weighs or not vote.identifiable:
                return None
            strange = strange_labels(batch, newcomers(self._sums, self._least_known))
            left = without(batch, strange, np.zeros(1, np.int64))
            if not strange.size:
                return None
            alone = self._pick(left, classes, *self._score_one(left, classes))
            return alone, left.labels.size, self._newcomers_against

        name = "" if task is None else task
        return make_decision(name, vote, batch.labels.size, rule, by_known=by_known)

    # Coding ----------------------------------------------------------------------------------

    def _score_one(self, batch: LabelBatch, classes: Vocabulary) -> tuple[Scorer, Floats]:
        """The scores of one task whose labels are of these classes."""
        scorer = self._scorer_for(self._workers, classes)
        scores = np.empty((1, max(self._places_for(classes), 2)))
        scorer.score(batch, scores)
        return scorer, scores

    def _meet(
        self, rows: Sequence[tuple[WorkerId, ClassLabel | None]], truth: ClassLabel | None
    ) -> LabelBatch:
        """One task's answers as they are learnt; new workers and classes are added."""
        for worker, label in rows:
            self._workers.add(worker)
            if label is not None:
                self._classes.add(label)
        if truth is not None:
            self._classes.add(truth)
        self._make_room()
        given = [(worker, label) for worker, label in rows if label is not None]
        return self._learnt_as(self._code(given, self._classes, truth))

    def _score_answers(
        self, answers: Answers, task: TaskId | None = None
    ) -> tuple[LabelBatch, Vocabulary, Scorer, Floats]:
        """Answers in codes, the classes known or in the answers, and their scores; adds nobody."""
        batch, classes, _ = self._code_answers(answers, task)
        return batch, classes, *self._score_one(batch, classes)

    def _code_answers(
        self, answers: Answers, task: TaskId | None
    ) -> tuple[LabelBatch, Vocabulary, Given]:
        """Answers as they are scored, the classes known or in them, and the answers checked."""
        given = [(who, label) for who, label in clean_answers(answers) if label is not None]
        classes = self._classes
        if any(label not in classes for _, label in given):
            classes = classes.copy()
            for _, label in given:
                classes.add(label)
        batch = self._code(given, classes, tasks=(name_of(given) if task is None else task,))
        return self._scored_as(batch, classes), classes, given

    def _code(
        self,
        given: Given,
        classes: Vocabulary,
        truth: ClassLabel | None = None,
        tasks: Sequence[TaskId] = (),
    ) -> LabelBatch:
        """One task's answers in codes; an unknown worker is coded past the end."""
        codes = [self._workers.code(worker) for worker, _ in given]
        unknown = len(self._workers)
        return LabelBatch(
            np.array([0, len(given)], np.int64),
            np.array([unknown if code == UNKNOWN else code for code in codes], np.int32),
            np.array([classes.code(label) for _, label in given], np.int32),
            NO_TRUTHS if truth is None else np.array([classes.code(truth)], np.int32),
            tasks,
        )
