"""Tasks of a stream that still take labels: how a crowd learns and decides them, one by one.

A label is learnt as it comes, and taken back if it changes; a task is decided by what was learnt of
all other tasks, so its own labels never vouch for themselves. What cannot be taken back is learnt
when the task closes. The compiled loop (`stream.label_loops`) does the same for rows of labels that
need nothing else. Knows nothing of why a task closes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions.decision import Vote
from crowdstream.estimators.settling import answers_needed, vote_of, who_is_new
from crowdstream.estimators.state import CrowdState
from crowdstream.labels import ClassLabel, TaskId, WorkerId
from crowdstream.labels.batch import LabelBatch
from crowdstream.labels.open_task import OpenTask
from crowdstream.models.newcomers import strange_labels, without
from crowdstream.models.scorer import Scorer
from crowdstream.models.vote_effects import effects_on, leave_one_out

Floats = NDArray[np.float64]


class OpenTasks:
    """The open tasks of a crowd."""

    def __init__(self, crowd: CrowdState) -> None:
        self.crowd = crowd

    # Events ----------------------------------------------------------------------------------

    def open(self, name: TaskId) -> OpenTask:
        """A task that will take labels; its place in the order of tasks is now."""
        self.crowd._model.refresh()
        self.crowd.intake_.tasks += 1
        return OpenTask(name, self.crowd._model.open())

    def put(self, task: OpenTask, worker: WorkerId, label: ClassLabel | None) -> Vote:
        """Set a worker's label on an open task, or (``None``) take it away; decide it anew."""
        crowd = self.crowd
        crowd._model.refresh()
        i, x = crowd._meet_one(worker, label)
        at, intake = task.find(i), crowd.intake_
        if at < 0:  # a new label, or (x < 0) somebody was asked and did not answer
            intake.rows += 1
            if x < 0:
                intake.null_label += 1
                return self.vote(task)
            intake.labels += 1
            crowd._model.renew_for_label()
            if task.size:
                self._learn(task, -1)
            task.append(i, x)
            self._learn(task, 1)
            return self.vote(task)
        self._learn(task, -1)
        if x < 0:
            intake.rows -= 1
            intake.labels -= 1
            task.remove(at)
        else:
            task.labels[at] = x
        if task.size:
            self._learn(task, 1)
        return self.vote(task)

    def put_truth(self, task: OpenTask, truth: ClassLabel) -> None:
        """The truth of an open task is known."""
        self.crowd._model.refresh()
        code = self.crowd._classes.add(truth)
        self.crowd._make_room()
        if task.size:
            self._learn(task, -1)
        task.truth = code
        if task.size:
            self._learn(task, 1)

    def close(self, task: OpenTask) -> None:
        """Learn the rest of an open task: no more labels will come."""
        crowd, batch = self.crowd, self._learnt(task)
        crowd._model.refresh()
        if not task.size:  # nobody answered, which is known only now
            self._learn(task, 1)
        crowd._model.close(batch, task.place)
        crowd._notify(batch, 1, in_order=True)

    def _learn(self, task: OpenTask, sign: int) -> None:
        """Learn of an open task what can be taken back, or take it back."""
        self.crowd._model.learn_open(self._learnt(task), sign, task.place)

    def _learnt(self, task: OpenTask) -> LabelBatch:
        return self.crowd._places.learnt(task.batch())

    # Questions: none of them changes anything ------------------------------------------------

    def labels(self, task: OpenTask) -> LabelBatch:
        """The labels of an open task as they are scored."""
        return self.crowd._places.scored(task.batch(), self.crowd._classes)

    def score(self, task: OpenTask) -> tuple[Scorer, Floats]:
        """The scores of an open task without its own labels' say, and what is made of them."""
        model, scores = self.crowd._model, np.empty((1, self.crowd._model.sums.classes))
        own = model.scale.weight(task.place) if task.size else 0.0
        return model.score_open(self.labels(task), own, scores), scores

    def vote(self, task: OpenTask) -> Vote:
        """The vote on an open task by what was learnt of all others."""
        return vote_of(self.crowd, self.labels(task), self.crowd._classes, *self.score(task))

    def without_newcomers(self, task: OpenTask) -> OpenTask | None:
        """An open task without the labels that settle nothing; ``None`` if it has no such labels.

        Nor where votes are not weighed: there one is like another.
        """
        crowd = self.crowd
        if not crowd._model.weighs or not task.size:
            return None
        new = who_is_new(crowd, crowd._model.scale.weight(task.place), task.size - 1)
        batch = task.batch()
        strange = strange_labels(batch, new)
        if not strange.size:
            return None
        left = without(batch, strange, np.zeros(1, np.int64))
        return OpenTask(task.name, task.place, left.workers, left.labels, task.truth)

    def vote_known(self, task: OpenTask) -> tuple[Vote, int, float] | None:
        """`vote` without the labels of newcomers, of how many it is, what theirs count.

        ``None`` if there are none, and where votes are not weighed.
        """
        model, classes = self.crowd._model, self.crowd._classes
        known = self.without_newcomers(task)
        if known is None:
            return None
        scores = np.empty((1, model.sums.classes))
        batch, own = self.labels(task), model.scale.weight(task.place)
        if model.in_loop:
            scorer = model.scored()
            least = answers_needed(self.crowd)
            model.scoring.ask_known(batch.coded, batch.labels.size, own, least, scores)
        else:
            scorer = model.score_open(self.labels(known), own, scores)
        if not scorer.identified:
            return None
        vote = vote_of(self.crowd, batch, classes, scorer, scores)
        return vote, known.size, model.against

    def effects(self, task: OpenTask, decided: ClassLabel) -> list[float] | None:
        """Return what each label of an open task added to the log-odds of what is decided.

        ``None`` where votes are counted, and if nobody said it of classes that share places.
        """
        model, batch = self.crowd._model, self.labels(task)
        winner = self.crowd._classes.code(decided)
        if batch.said.size:  # labels are places then
            where = np.flatnonzero(batch.said == winner)
            if batch.labels.size < task.size or not where.size:
                return None
            winner = int(batch.labels[where[0]])
        parts = leave_one_out(batch)
        scores = np.empty((len(parts), model.sums.classes))
        if model.in_loop:
            scorer = model.scored()
            model.scoring.score_tasks(parts.coded, scores)
        else:
            scorer = model.scorer()
            scorer.score(parts, scores)
        if not scorer.identified or not model.weighs:
            return None
        found: list[float] = effects_on(scores, winner, scorer.rho).tolist()
        return found
