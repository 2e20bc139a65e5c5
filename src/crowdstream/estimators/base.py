"""`Estimator`: the base of all estimators, with every verb they have.

The verbs are in one file per kind: `one_task`, `tables`, `open_tasks` (for streams) and `state`
(merge, copy, save); what is known of the workers is here. Knows nothing of monitors or files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.defaults import LEVEL, LEVEL_RANGE
from crowdstream.errors import InputError, StateError
from crowdstream.estimators.state import load_crowd
from crowdstream.estimators.tables import NativeTable, TableVerbs
from crowdstream.estimators.worker_table import Costs, confusion_table, worker_table
from crowdstream.labels import UNKNOWN, WorkerId, clean_id, in_kind
from crowdstream.labels.folding import MOST_CLASSES
from crowdstream.validation import check_number


class Estimator(TableVerbs):
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

    def workers(self, *, level: float = LEVEL, costs: Costs | None = None) -> NativeTable:
        """What is known of each worker: one row per worker, in order of first appearance.

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
        "worse_than_chance", "at_chance", "undecided", "separate_group", "always_one_class".

        Examples
        --------
        >>> import crowdstream as cs
        >>> rows = [(t, who, t % 2) for t in range(20) for who in ("ann", "bob", "cy")]
        >>> crowd = cs.Adaptive().fit(rows)
        >>> crowd.workers().select("worker", "answers", "evidence").row(0)
        ('ann', 20, 'agreement')
        """
        check_number("level", level, *LEVEL_RANGE)
        more: dict[str, NDArray[np.generic] | list[str]] = {}
        for observer in self.observers:
            more |= observer.columns(self, level)
        answers = self._sums.answers / self._unit
        if self.memory is None:
            answers = answers.round().astype(np.int64)
        known = self._workers, self._classes, self._sums, answers
        return in_kind(worker_table(*known, self._read(), more, costs), self._kind)

    def confusions(self) -> NativeTable:
        """How often each worker takes each class for each other.

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
        if self._folding is not None:
            found = f"{len(self._classes):,}"
            raise InputError("confusions", f"at most {MOST_CLASSES} classes to tell apart", found)
        return in_kind(confusion_table(self._workers, self._classes, self._read()), self._kind)

    @property
    def skills_(self) -> dict[WorkerId, float]:
        """How much better than chance each worker is: 1 always right, 0 guessing, below 0 worse."""
        return dict(zip(self.workers_, self._skills().tolist(), strict=True))

    def skill_of(self, worker: WorkerId | None) -> float:
        """How much better than chance one worker is.

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
        return self.mean_skill_ if code == UNKNOWN else float(self._skills()[code])

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
