"""`Estimator`: every verb, over a model. No subclass overrides one.

One task is a mapping of worker to label, a table anything that speaks Arrow. A table is read once
(`labels.coding`), learnt or scored by the model in compiled loops, and decided in `decisions`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from crowdstream.deciding import Prepared
from crowdstream.decisions.decision import (
    Decision,
    SettleRule,
    Vote,
    Votes,
    make_decision,
    posterior_table,
)
from crowdstream.decisions.ties import coin_name
from crowdstream.decisions.votes import (
    by_class,
    calibrate,
    check_cells,
    choose,
    posteriors,
    posteriors_by,
)
from crowdstream.defaults import LEVEL, LEVEL_RANGE, MIN_LABELS, SETTLE
from crowdstream.errors import InputError, ManyClasses, NotIdentifiable, StateError
from crowdstream.estimators.settling import (
    fitted,
    followed,
    known_vote,
    predicted,
    score_one,
    vote_of,
    who_is_new,
)
from crowdstream.estimators.state import CrowdState, Identifiability, load_crowd
from crowdstream.estimators.worker_table import Costs, confusion_table, worker_table
from crowdstream.labels import (
    UNKNOWN,
    Answers,
    ClassLabel,
    CodedLabels,
    Intake,
    Table,
    TaskId,
    Truths,
    Vocabulary,
    WorkerId,
    clean_answers,
    clean_id,
    clean_label,
    code_table,
    in_kind,
    kind_of,
    read_truths,
)
from crowdstream.labels.batch import NO_TRUTHS, LabelBatch
from crowdstream.labels.coding import interpret
from crowdstream.labels.folding import MOST_CLASSES
from crowdstream.labels.meaning.interpreting import QuestionLabels
from crowdstream.labels.meaning.kinds import fractions, refuse_scores
from crowdstream.labels.meaning.options import HOW, TableMeaning
from crowdstream.models.dependence import Dependence
from crowdstream.models.passes import InMemory, TaskTable
from crowdstream.models.scorer import Scorer
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

KINDS = ("choices", "ordinal", "order", "threshold", "bins", "as_classes")
"""What a caller may say of the kind of labels."""

ONE_QUESTION = "question=NAME reads one, cs.fit_questions decides all"
"""What to do about a table of several questions."""

ROUNDING = 1e-6
"""Answers below 0 that forgetting may leave by rounding; without it sums are whole."""

NativeTable: TypeAlias = Any
"""A table of the kind that came in: polars, pandas, pyarrow, duckdb; polars if rows came in."""


class Estimator(CrowdState):
    """Base of all estimators: learns who is to be trusted, and decides tasks.

    Single tasks are mappings of worker to label; tables are anything that speaks Arrow (polars,
    pandas, pyarrow, duckdb) or rows of (task, worker, label), and a table that comes back is of the
    kind that came in. Columns are found by their usual names (``task``, ``item``, …); ``task=``,
    ``worker=`` and ``label=`` name them otherwise. Questions (``predict…``, `decide_one`,
    `workers`, …) change nothing; learning returns ``None``.

    Examples
    --------
    >>> import crowdstream as cs
    >>> isinstance(cs.Adaptive(), cs.Estimator)
    True
    """

    # One task --------------------------------------------------------------------------------

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
        self._model.learn(batch)
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
        batch, weight = self._places.learnt(said), self._model.unit
        left = self._model.sums.without(batch, weight).rows[batch.workers]
        for i, x, row in zip(said.workers.tolist(), said.labels.tolist(), left, strict=True):
            if row.min() < -ROUNDING * weight:
                where = f"unlearn_one, answers[{self._workers[i]!r}]"
                raise InputError(where, "an answer that was learnt", repr(self._classes[x]))
        self._model.learn(batch, -1)
        self._notify(batch, -1)
        self.intake_.count(Intake.of_task(rows), -1)

    def predict_one(self, answers: Answers, *, task: TaskId | None = None) -> ClassLabel | None:
        """The likeliest class given one task's answers; ``None`` without an answer.

        Parameters
        ----------
        answers
            Who said what.
        task
            The task's id: the coin that breaks a tie belongs to it; without one, to the answers.

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
        places = self._places.number(classes)
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
        vote = vote_of(self, batch, classes, scorer, scores)

        def by_known() -> tuple[Vote, int, float] | None:
            return known_vote(self, batch, classes, vote)

        name = "" if task is None else task
        return make_decision(name, vote, batch.labels.size, rule, by_known=by_known)

    # Tables ----------------------------------------------------------------------------------

    def learn_many(
        self,
        data: Table,
        *,
        gold: Truths | None = None,
        **meaning: Unpack[TableMeaning],
    ) -> None:
        """Learn from a table or rows of labels: as `learn_one` on each task in turn.

        Give all labels of a task at once: in two calls they would count as two tasks.

        Parameters
        ----------
        data
            Anything that speaks Arrow (polars, pandas, pyarrow, duckdb), or rows of (task, worker,
            label).
        gold
            True classes of some tasks: a mapping, or a table of task and label.
        **meaning
            What the table means, where it does not show it: names of columns (``task=``,
            ``worker=``, ``label=``), ``wide=``, ``question=``, ``choices=``, ``ordinal=``,
            ``threshold=``, ``bins=``, ``repeat=``, … (`TableMeaning` has them all).

        Examples
        --------
        >>> import crowdstream as cs
        >>> crowd = cs.Adaptive()
        >>> crowd.learn_many([("t1", "ann", "spam"), ("t1", "bob", "spam"), ("t2", "ann", "ham")])
        >>> crowd.tasks_
        2
        """
        given = self._given(data, meaning)
        table, intake = self._take_in(given, gold)
        self._kind = kind_of(data)
        batch = self._places.learnt(table)
        self._model.learn(batch)
        self._notify(batch, 1)
        self.intake_.count(intake)

    def stream_many(
        self,
        data: Table,
        *,
        gold: Truths | None = None,
        settle: float | None = SETTLE,
        min_labels: int = MIN_LABELS,
        **meaning: Unpack[TableMeaning],
    ) -> NativeTable:
        """Decide each task from the tasks before it, then learn it: what a stream would say.

        Parameters
        ----------
        data, gold, **meaning
            As for `learn_many`.
        settle, min_labels
            Confidence and number of labels from which a decision is settled.

        Examples
        --------
        >>> import crowdstream as cs
        >>> rows = [("t1", "ann", "spam"), ("t1", "bob", "spam"), ("t2", "ann", "ham")]
        >>> cs.Adaptive().stream_many(rows)["label"].to_list()
        ['spam', 'ham']
        """
        rule = SettleRule.checked(settle, min_labels)
        given = self._given(data, meaning)
        batch, intake = self._take_in(given, gold)
        self._kind = kind_of(data)
        new = who_is_new(self)
        votes = self._follow(batch)
        self._notify(self._places.learnt(batch), 1)
        self.intake_.count(intake)
        found = followed(self, batch, votes, rule, new)
        return in_kind(self._decided(given, found, rule, votes, gold), self._kind)

    def predict_many(
        self,
        data: Table,
        *,
        gold: Truths | None = None,
        settle: float | None = SETTLE,
        min_labels: int = MIN_LABELS,
        **meaning: Unpack[TableMeaning],
    ) -> NativeTable:
        """Decide every task of a table from what was learnt so far, and learn nothing.

        Parameters
        ----------
        data, **meaning
            As for `learn_many`.
        gold
            True classes of some tasks, which override the votes on them.
        settle, min_labels
            Confidence and number of labels from which a decision is settled.

        Examples
        --------
        >>> import crowdstream as cs
        >>> rows = [("t1", "ann", "spam"), ("t1", "bob", "spam"), ("t2", "ann", "ham")]
        >>> cs.MajorityVote().predict_many(rows).columns
        ['task', 'label', 'confidence', 'margin', 'votes', 'settled']
        """
        rule = SettleRule.checked(settle, min_labels)
        workers, classes = self._workers.copy(), self._classes.copy()
        given = self._given(data, meaning)
        batch, _ = code_table(given.table, workers, classes, gold=given.truths(gold))
        votes = self._decide(batch, classes, workers)
        self._warn(batch, votes.identified)
        found = predicted(self, batch, votes, rule, classes)
        return in_kind(self._decided(given, found, rule, votes, gold), kind_of(data))

    def predict_proba_many(
        self,
        data: Table,
        *,
        gold: Truths | None = None,
        **meaning: Unpack[TableMeaning],
    ) -> NativeTable:
        """The probability of each class for every task of a table; learns nothing.

        Parameters
        ----------
        data, gold, **meaning
            As for `learn_many`.

        Examples
        --------
        >>> import crowdstream as cs
        >>> rows = [("t1", "ann", "spam"), ("t1", "bob", "spam"), ("t2", "ann", "ham")]
        >>> cs.MajorityVote().predict_proba_many(rows).rows()
        [('t1', 0.75, 0.25), ('t2', 0.3333333333333333, 0.6666666666666666)]
        """
        workers, classes = self._workers.copy(), self._classes.copy()
        given = self._given(data, meaning)
        batch, _ = code_table(given.table, workers, classes, gold=given.truths(gold))
        return in_kind(
            self._chances("predict_proba_many", given, batch, classes, workers), kind_of(data)
        )

    def fit(
        self,
        data: Table,
        *,
        gold: Truths | None = None,
        **meaning: Unpack[TableMeaning],
    ) -> Self:
        """Begin afresh and learn a table as a whole, in passes over it.

        Parameters
        ----------
        data, gold, **meaning
            As for `learn_many`.

        Returns
        -------
        The estimator itself.

        Examples
        --------
        >>> import crowdstream as cs
        >>> rows = [("t1", "ann", "spam"), ("t1", "bob", "spam"), ("t2", "ann", "ham")]
        >>> cs.Adaptive().fit(rows).workers_
        ['ann', 'bob']
        """
        self._fit_table(data, self.clone()._given(data, meaning), gold)
        return self

    def fit_predict(
        self,
        data: Table,
        *,
        gold: Truths | None = None,
        settle: float | None = SETTLE,
        min_labels: int = MIN_LABELS,
        **meaning: Unpack[TableMeaning],
    ) -> NativeTable:
        """`fit`, then decide every task of the table with all that it taught.

        The order of the tasks has no part in it; `stream_many` decides each from those before it,
        which is better where workers change. To go on from what was learnt before, call
        `learn_many` and `predict_many`.

        Parameters
        ----------
        data, gold, **meaning
            As for `learn_many`.
        settle, min_labels
            Confidence and number of labels from which a decision is settled.

        Returns
        -------
        One row per task: task, label, confidence, margin, votes, settled (see `Decision`).

        Examples
        --------
        >>> import crowdstream as cs
        >>> rows = [(t, who, t % 2) for t in range(20) for who in ("ann", "bob", "cy")]
        >>> cs.Adaptive().fit_predict(rows)["label"].to_list()[:4]
        [0, 1, 0, 1]
        """
        rule = SettleRule.checked(settle, min_labels)
        given = self.clone()._given(data, meaning)
        batch = self._fit_table(data, given, gold)
        votes = self._decide(batch, self._classes)
        self._warn(batch, votes.identified)
        found = fitted(self, batch, votes, rule)
        return in_kind(self._decided(given, found, rule, votes, gold), self._kind)

    def fit_predict_proba(
        self,
        data: Table,
        *,
        gold: Truths | None = None,
        **meaning: Unpack[TableMeaning],
    ) -> NativeTable:
        """`fit`, then the probability of each class for every task of the table.

        Parameters
        ----------
        data, gold, **meaning
            As for `learn_many`.

        Examples
        --------
        >>> import crowdstream as cs
        >>> rows = [(t, who, t % 2) for t in range(20) for who in ("ann", "bob", "cy")]
        >>> cs.Adaptive().fit_predict_proba(rows).columns
        ['task', '0', '1']
        """
        given = self.clone()._given(data, meaning)
        batch = self._fit_table(data, given, gold)
        found = self._chances("fit_predict_proba", given, batch, self._classes)
        return in_kind(found, self._kind)

    # Workers and classes ---------------------------------------------------------------------

    def workers(self, *, level: float = LEVEL, costs: Costs | None = None) -> NativeTable:
        """Return what is known of each worker: one row per worker, in order of first appearance.

        Parameters
        ----------
        level
            Of the intervals.
        costs
            What it costs to take a class for another, ``{truth: {taken_for: cost}}``; all errors
            cost the same unless it says otherwise. With two classes it changes nothing.

        Returns
        -------
        A table of ``worker``; ``answers`` (with ``memory``, the old ones count less);
        ``error_rate``, null where it cannot be known, and its interval ``error_low``,
        ``error_high``; ``evidence``: what the interval rests on, "agreement",
        "agreement-with-doubt" (workers err together, and it is wider for that) or "gold" (known
        truths); ``weight``: how many nats of log-odds a vote adds to a decision, below 0 where it
        counts against what was said; ``agreement`` with the other workers met; ``quality``, from 1
        (knows) to 0 (guesses); ``flags``, a list of codes: "few_answers", "better_than_chance",
        "worse_than_chance", "at_chance", "undecided", "separate_group", "always_one_class",
        "copy" and "suspect" (see `families`).

        Examples
        --------
        >>> import crowdstream as cs
        >>> rows = [(t, who, t % 2) for t in range(20) for who in ("ann", "bob", "cy")]
        >>> crowd = cs.Adaptive().fit(rows)
        >>> crowd.workers().select("worker", "answers", "evidence").row(0)
        ('ann', 20, 'agreement')
        """
        check_number("level", level, *LEVEL_RANGE)
        more: dict[str, NDArray[np.generic] | str] = {}
        for observer in self.observers:
            more |= observer.columns(self, level)
        model = self._model
        answers = model.sums.answers / model.unit
        if not model.forgets:
            answers = answers.round().astype(np.int64)
        known = self._workers, self._classes, model.sums, answers
        return in_kind(worker_table(*known, model.read(), more, costs), self._kind)

    def confusions(self) -> NativeTable:
        """Return how often each worker takes each class for each other.

        Returns
        -------
        A table of ``worker``, ``true_class``, ``said`` and ``probability``: one row per worker and
        pair of classes, which may be 100 at most. Estimators that know one error rate per worker
        spread its errors evenly; where the error rate cannot be known, the probability is null.

        Examples
        --------
        >>> import crowdstream as cs
        >>> rows = [(t, who, t % 2) for t in range(20) for who in ("ann", "bob", "cy")]
        >>> cs.Adaptive().fit(rows).confusions().columns
        ['worker', 'true_class', 'said', 'probability']
        """
        if self._places.folded:
            found = f"{len(self._classes):,}"
            raise InputError("confusions", f"at most {MOST_CLASSES} classes to tell apart", found)
        return in_kind(
            confusion_table(self._workers, self._classes, self._model.read()), self._kind
        )

    @property
    def skills_(self) -> dict[WorkerId, float]:
        """How much better than chance each worker is: 1 always right, 0 guessing, below 0 worse."""
        self._make_room()
        return dict(zip(self.workers_, self._model.skills().tolist(), strict=True))

    def skill_of(self, worker: WorkerId | None) -> float:
        """Return how much better than chance one worker is.

        Parameters
        ----------
        worker
            Its id; for one nobody knows, or ``None``, the crowd's average.

        Examples
        --------
        >>> import crowdstream as cs
        >>> round(cs.MajorityVote().skill_of("stranger"), 2)
        0.4
        """
        name = clean_id(worker, "worker")
        code = UNKNOWN if name is None else self._workers.code(name)
        return self._model.mean_skill if code == UNKNOWN else float(self._model.skills()[code])

    @property
    def identifiable_(self) -> Identifiability:
        """Return whether the labels so far determine the error rates, and if not, why."""
        return Identifiability(*self._model.identify())

    @property
    def weighs_(self) -> bool:
        """Return whether votes are weighted; else they are only counted."""
        return self._model.weighs

    @property
    def dependence_(self) -> Dependence:
        """Return whether workers make mistakes together, as far as their labels show.

        ``verdict`` is "independent", "cannot_tell", "together" or "not_measured"; ``excess`` is the
        correlation of errors within a task beyond that of independent workers, ``error`` its
        standard error. Tasks that fool nearly everybody are not seen in it.
        """
        return self._model.dependence

    @property
    def calibration_(self) -> str:
        """Return what confidence rests on.

        ``"gold"``: on truths that were given; ``"independence"``: errors look independent;
        ``"none"``: workers err together, or there are too few labels to tell, or it was not
        measured.
        """
        return self._model.calibration

    @property
    def classes_(self) -> list[ClassLabel]:
        """The classes seen so far, in order of first appearance."""
        return self._classes.to_list()

    @property
    def many_classes_(self) -> str:
        """Return what there being very many classes means for decisions; empty if there are not."""
        if not self._places.folded or not self._model.weighs:
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
    def tasks_(self) -> int:
        """Tasks learnt so far, here or by those merged in."""
        return self.intake_.tasks

    @classmethod
    def load(cls, source: bytes | str | Path) -> Self:
        """An estimator as it was when it was saved.

        Parameters
        ----------
        source
            The path that `save` was given, or the bytes of `to_bytes`.

        Examples
        --------
        >>> import crowdstream as cs
        >>> cs.Estimator.load(cs.MajorityVote(seed=3).to_bytes())
        MajorityVote(seed=3)
        """
        crowd = load_crowd(source)
        if not isinstance(crowd, cls):
            raise StateError(f"expected a saved {cls.__name__}, found {type(crowd).__name__}")
        return crowd

    # Inside: one task ------------------------------------------------------------------------

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
        return self._places.learnt(self._code(given, self._classes, truth))

    def _score_answers(
        self, answers: Answers, task: TaskId | None = None
    ) -> tuple[LabelBatch, Vocabulary, Scorer, Floats]:
        """Answers as they are scored, the classes known or in them, and scores; adds nobody."""
        given = [(who, label) for who, label in clean_answers(answers) if label is not None]
        classes = self._classes
        if any(label not in classes for _, label in given):
            classes = classes.copy()
            for _, label in given:
                classes.add(label)
        name = coin_name(given) if task is None else task
        batch = self._places.scored(self._code(given, classes, tasks=(name,)), classes)
        return batch, classes, *self._score_given(given, batch, classes)

    def _score_given(
        self, given: Sequence[tuple[WorkerId, ClassLabel]], batch: LabelBatch, classes: Vocabulary
    ) -> tuple[Scorer, Floats]:
        """The scores of one task, by its answers or by the same in codes."""
        scores = np.empty((1, max(self._places.number(classes), 2)))
        return score_one(self, batch, classes, scores), scores

    def _code(
        self,
        given: Sequence[tuple[WorkerId, ClassLabel]],
        classes: Vocabulary,
        truth: ClassLabel | None = None,
        tasks: Sequence[TaskId | bytes] = (),
    ) -> LabelBatch:
        """One task's answers in codes; an unknown worker is coded past the end."""
        codes = [self._workers.code(worker) for worker, _ in given]
        unknown = len(self._workers)
        return LabelBatch(
            np.array([0, len(given)], np.int64),
            np.array([unknown if code == UNKNOWN else code for code in codes], np.int32),
            np.array([classes.code(label) for _, label in given], np.int32),
            NO_TRUTHS if truth is None else np.array([classes.code(truth)], np.int32),
            cast("Sequence[TaskId]", tasks),
        )

    # Inside: tables --------------------------------------------------------------------------

    def _given(self, data: Table, meaning: TableMeaning) -> Prepared:
        """The labels of the one question of a table.

        A crowd that has learnt knows its classes: a few more labels are not looked at anew, but for
        scores among classes that are none.
        """
        told = [meaning.get(name) for name in KINDS]
        if not len(self._classes) or any(hint is not None and hint is not False for hint in told):
            return Prepared.of(interpret(data, **meaning).only("table", ONE_QUESTION))
        meaning = {**meaning, "as_classes": True}
        found = interpret(data, **meaning).only("table", ONE_QUESTION)
        scores = fractions(found.table.classes)
        read = isinstance(data, (CodedLabels, QuestionLabels))  # and understood
        if scores and not read and not fractions(self._classes):
            refuse_scores(scores, "table", HOW)
        return Prepared.of(found)

    def _decided(
        self,
        given: Prepared,
        decisions: pl.DataFrame,
        rule: SettleRule,
        votes: Votes,
        gold: Truths | None,
    ) -> pl.DataFrame:
        """The decisions as the kind of labels asks for."""
        weighted = self._model.weighs and votes.identified
        return given.decided(decisions, rule, weighted=weighted, gold=given.truths(gold))

    def _chances(
        self,
        verb: str,
        given: Prepared,
        batch: LabelBatch,
        classes: Vocabulary,
        workers: Vocabulary | None = None,
    ) -> pl.DataFrame:
        """The probability of each of these classes for every task."""
        check_cells(verb, len(batch), len(classes))
        scorer, here = self._scorer_for(classes, workers), self._places.scored(batch, classes)
        found = posteriors(here, scorer, len(classes), self._places.number(classes))
        self._warn(batch, scorer.identified, level=4)
        weighted = self._model.weighs and scorer.identified
        return given.chances(posterior_table(batch, found, classes), weighted=weighted)

    def _take_in(self, given: Prepared, gold: Truths | None) -> tuple[LabelBatch, Intake]:
        """A table in codes; new workers and classes are added."""
        truths = given.truths(gold)
        batch, intake = code_table(given.table, self._workers, self._classes, gold=truths)
        self._make_room()
        return batch, intake

    def _begin(
        self, data: Table, given: Prepared, gold: Truths | None
    ) -> tuple[Self, LabelBatch, Intake]:
        """An estimator that is yet to learn a table, and the table in its codes."""
        afresh = self.clone()
        batch, intake = afresh._take_in(given, gold)
        afresh._kind = kind_of(data)
        if gold is not None and len(batch) and not (batch.truths >= 0).any():
            known = next(iter(read_truths(gold)), None)
            if known is not None:
                expected = f"tasks of the table, such as {batch.tasks[0]!r}"
                raise InputError("gold", expected, f"none in common, such as {known!r}")
        return afresh, batch, intake

    def _fit_table(self, data: Table, given: Prepared, gold: Truths | None) -> LabelBatch:
        """Learn a table from nothing; one that cannot be read changes nothing."""
        afresh, batch, intake = self._begin(data, given, gold)
        afresh._fit(InMemory(afresh._places.learnt(batch)), intake)
        self._become(afresh)
        return batch

    def _fit(self, table: TaskTable, intake: Intake) -> None:
        """Learn a table, wherever its tasks are, nothing having been learnt before."""
        self._model.fit(table)
        self._notify_all(table)
        self.intake_.count(intake)

    def _follow(self, batch: LabelBatch) -> Votes:
        """Decide each task from those before it, then learn it."""
        votes, places, classes = Votes.room(len(batch)), self._places, self._classes
        learnt, scored = places.learnt(batch), places.scored(batch, classes)
        named, ties = places.number(classes), self._ties(classes)
        identified = self._model.weighs

        def use(first: int, last: int, scores: Floats, scorer: Scorer) -> None:
            nonlocal identified
            here = votes.part(first, last)
            choose(scored.part(first, last), scores, here, named, ties, scorer.rho)
            calibrate(scorer, here)
            identified = scorer.identified

        self._model.follow(learnt, scored, use)
        return votes._replace(identified=identified)

    def _warn(self, batch: LabelBatch, identified: bool, level: int = 3) -> None:
        """Say what is in doubt about the decisions on these tasks."""
        for doubt in self._doubts(batch, identified):
            warnings.warn(doubt, stacklevel=level)

    def _doubts(self, batch: LabelBatch, identified: bool) -> list[Warning]:
        """That votes could not be weighted, if so, and what else its model doubts."""
        if not self._model.weighs or not batch.labels.size:
            return []
        found: list[Warning] = [ManyClasses(self.many_classes_)] if self.many_classes_ else []
        if not identified:
            reason = f"{self.identifiable_.reason}: fell back to majority vote"
            found.append(NotIdentifiable(reason))
        return found + self._model.doubts()
