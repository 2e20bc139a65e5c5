"""Verbs for tables and rows of labels. What comes back is of the kind that came in.

A table is coded once (`labels.coding`), learnt or scored in compiled loops, and decided in
`decisions`. Knows nothing of files.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from crowdstream.deciding import Prepared
from crowdstream.decisions import (
    MIN_LABELS,
    SETTLE,
    KnownVotes,
    SettleRule,
    Votes,
    decision_table,
    posterior_table,
)
from crowdstream.errors import InputError, ManyClasses, NotIdentifiable
from crowdstream.estimators.newcomers import (
    early_labels,
    newcomers,
    strange_labels,
    tasks_of,
    without,
)
from crowdstream.estimators.one_task import OneTaskVerbs
from crowdstream.estimators.passes import InMemory
from crowdstream.estimators.votes import check_cells, posteriors
from crowdstream.labels import (
    Intake,
    Table,
    Truths,
    Vocabulary,
    code_table,
    in_kind,
    kind_of,
    read_truths,
)
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.labels.coding import interpret
from crowdstream.labels.meaning.options import TableMeaning

if TYPE_CHECKING:
    import polars as pl

KINDS = ("choices", "ordinal", "order", "threshold", "bins")
"""What a caller may say of the kind of labels."""

ONE_QUESTION = "question=NAME reads one, cs.fit_questions decides all"
"""What to do about a table of several questions."""

NativeTable: TypeAlias = Any
"""A table of the kind that came in: polars, pandas, pyarrow, duckdb; polars if rows came in."""


class TableVerbs(OneTaskVerbs):
    """`fit_predict`, `learn_many` and what goes with them."""

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
        batch = self._learnt_as(table)
        self._learn(batch, 1)
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
        new = newcomers(self._sums, self._least_known)
        votes = self._follow(batch)
        self._notify(self._learnt_as(batch), 1)
        self.intake_.count(intake)
        known = self._by_known(batch, votes, rule, lambda: self._early(batch, new))
        found = decision_table(batch, votes, self._classes, rule, known)
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
        votes = self._decide(batch, workers, classes)
        self._warn(batch, votes.identified)
        found = self._predicted(batch, votes, rule, workers, classes)
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
        check_cells("predict_proba_many", len(batch), len(classes))
        scorer, here = self._scorer_for(workers, classes), self._scored_as(batch, classes)
        found = posteriors(here, scorer, len(classes), self._places_for(classes))
        self._warn(batch, scorer.identified)
        table = posterior_table(batch, found, classes)
        weighted = self.weighs and scorer.identified
        return in_kind(given.chances(table, weighted=weighted), kind_of(data))

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
        self._fit_table(data, self.clone()._given(data, meaning), gold, decide=False)
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

        Where workers change (`Tracking`), each task is decided from those before it instead: what
        workers are worth in the end does not say what they were worth at an early task. To go on
        from what was learnt before, call `learn_many` and `predict_many`.

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
        batch, votes = self._fit_table(data, given, gold, decide=True)
        self._warn(batch, votes.identified)
        found = self._fitted(batch, votes, rule)
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
        batch, _ = self._fit_table(data, given, gold, decide=False)
        classes = self._classes
        check_cells("fit_predict_proba", len(batch), len(classes))
        scorer, here = self._scorer_for(self._workers, classes), self._scored_as(batch, classes)
        found = posteriors(here, scorer, len(classes), self._places)
        self._warn(batch, scorer.identified)
        table = posterior_table(batch, found, classes)
        weighted = self.weighs and scorer.identified
        return in_kind(given.chances(table, weighted=weighted), self._kind)

    def _given(self, data: Table, meaning: TableMeaning) -> Prepared:
        """The labels of the one question of a table.

        A crowd that has learnt knows its classes: a few more labels are not looked at anew.
        """
        if len(self._classes) and not any(meaning.get(name) for name in KINDS):
            meaning = {**meaning, "as_classes": True}
        return Prepared.of(interpret(data, **meaning).only("table", ONE_QUESTION))

    def _decided(
        self,
        given: Prepared,
        decisions: pl.DataFrame,
        rule: SettleRule,
        votes: Votes,
        gold: Truths | None,
    ) -> pl.DataFrame:
        """The decisions as the kind of labels asks for."""
        weighted = self.weighs and votes.identified
        return given.decided(decisions, rule, weighted=weighted, gold=given.truths(gold))

    def _fit_table(
        self, data: Table, given: Prepared, gold: Truths | None, *, decide: bool
    ) -> tuple[LabelBatch, Votes]:
        """Learn a table from nothing; a table that cannot be read changes nothing."""
        afresh = self.clone()
        batch, intake = afresh._take_in(given, gold)
        afresh._kind = kind_of(data)
        if gold is not None and len(batch) and not (batch.truths >= 0).any():
            known = next(iter(read_truths(gold)), None)
            if known is not None:
                expected = f"tasks of the table, such as {batch.tasks[0]!r}"
                raise InputError("gold", expected, f"none in common, such as {known!r}")
        votes, here = Votes.room(0), afresh._learnt_as(batch)
        if decide and self.follows:
            votes = afresh._follow(batch)
        else:
            afresh._fit(InMemory(here))
        afresh._notify_all(InMemory(here))
        afresh.intake_.count(intake)
        self.__dict__.clear()
        self.__dict__.update(afresh.__dict__)
        if decide and not self.follows:
            votes = self._decide(batch, self._workers, self._classes)
        return batch, votes

    def _predicted(
        self,
        batch: LabelBatch,
        votes: Votes,
        rule: SettleRule,
        workers: Vocabulary,
        classes: Vocabulary,
        learnt: NDArray[np.bool_] | None = None,
    ) -> pl.DataFrame:
        """Decisions by these votes on tasks that were not learnt; codes are of these names.

        ``learnt``: tasks whose labels are among the sums all the same, being open.
        """
        named = workers, classes
        known = self._by_known(batch, votes, rule, lambda: self._strangers(batch, learnt), named)
        return decision_table(batch, votes, classes, rule, known)

    def _strangers(self, batch: LabelBatch, learnt: NDArray[np.bool_] | None) -> Ints:
        """The labels of newcomers; a task that was learnt says nothing of its own workers."""
        found = strange_labels(batch, newcomers(self._sums, self._least_known))
        if learnt is None or not learnt.any():
            return found
        more = strange_labels(batch, newcomers(self._sums, self._least_known, self._unit))
        own = learnt[np.searchsorted(batch.starts, more, side="right") - 1]
        return np.union1d(found, more[own])

    def _fitted(self, batch: LabelBatch, votes: Votes, rule: SettleRule) -> pl.DataFrame:
        """Decisions by these votes on tasks that were fitted."""
        known = self._by_known(batch, votes, rule, lambda: self._fitted_strangers(batch))
        return decision_table(batch, votes, self._classes, rule, known)

    def _by_known(
        self,
        batch: LabelBatch,
        votes: Votes,
        rule: SettleRule,
        strange: Callable[[], Ints],
        named: tuple[Vocabulary, Vocabulary] | None = None,
    ) -> Callable[[NDArray[np.bool_]], NDArray[np.bool_]]:
        """Of tasks that are sure enough, those that are whatever newcomers are worth.

        ``strange``: where these labels are. ``named``: workers and classes, if not the crowd's own.
        Where votes are not weighed, one is like another.
        """

        def hold(sure: NDArray[np.bool_]) -> NDArray[np.bool_]:
            if not self.weighs or not votes.identified or not sure.any():
                return sure
            labels = strange()
            which = tasks_of(batch, labels)
            which = which[sure[which]]
            if which.size:
                left = without(batch, labels, which)
                found = self._decide(left, *(named or (self._workers, self._classes)))
                same = found.winners == votes.winners[which]
                known = KnownVotes(found.confidences, same, left.sizes, self._newcomers_against)
                sure[which] = rule.survives(votes.confidences[which], known)
            return sure

        return hold

    def _fitted_strangers(self, batch: LabelBatch) -> Ints:
        """The labels of newcomers in a table that was fitted: who has few answers in all."""
        if self.follows:
            return self._early(batch, np.ones(self._sums.workers + 1, np.bool_))
        own = 0.0 if self.memory is not None else 1.0
        return strange_labels(batch, newcomers(self._sums, self._least_known, own))

    def _early(self, batch: LabelBatch, new: NDArray[np.bool_]) -> Ints:
        """The labels of newcomers in a table that was gone through in order."""
        return early_labels(batch, new, self._least_known / self._unit)

    def _take_in(self, given: Prepared, gold: Truths | None) -> tuple[LabelBatch, Intake]:
        """A table in codes; new workers and classes are added."""
        truths = given.truths(gold)
        batch, intake = code_table(given.table, self._workers, self._classes, gold=truths)
        self._make_room()
        return batch, intake

    def _warn(self, batch: LabelBatch, identified: bool) -> None:
        """Say what is in doubt about the decisions on these tasks."""
        for doubt in self._doubts(batch, identified):
            warnings.warn(doubt, stacklevel=3)

    def _doubts(self, batch: LabelBatch, identified: bool) -> list[Warning]:
        """That votes could not be weighted, if so; an estimator may have other doubts."""
        if not self.weighs or not batch.labels.size:
            return []
        found: list[Warning] = [ManyClasses(self.many_classes_)] if self.many_classes_ else []
        if not identified:
            reason = f"{self.identifiable_.reason}: fell back to majority vote"
            found.append(NotIdentifiable(reason))
        return found
