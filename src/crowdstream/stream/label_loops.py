# cython: language_level=3
# cython: infer_types=True
"""The stream's loop: labels in turn → store → sums → scores → decisions, for any model. Compiled.

A model is a `Scoring`: it scores a task with the task's own labels left out, and learns labels one
by one. Changing the loop changes what a stream decides (tests compare it with the Python rule to
the bit), not what is saved; benchmarks/stream.py times it.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.decisions.rows import OPEN
    from cython.cimports.crowdstream.decisions.settle_loops import is_sure, reason_of, survives
    from cython.cimports.crowdstream.decisions.vote_loops import pick
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
    from cython.cimports.crowdstream.models.scoring_loops import Scoring, calibrated, known_from
    from cython.cimports.crowdstream.stream.rows import *
    from cython.cimports.crowdstream.stream.task_loops import TaskRows
    from cython.cimports.libc.math import exp
else:
    from math import exp

    from crowdstream.decisions.rows import OPEN
    from crowdstream.decisions.settle_loops import is_sure, reason_of, survives
    from crowdstream.decisions.vote_loops import pick
    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.models.scoring_loops import Scoring, calibrated, known_from
    from crowdstream.stream.rows import *
    from crowdstream.stream.task_loops import TaskRows

# Why `LabelLoop.take` returns.
DONE = 0
"""All rows are taken."""
NAMES = 1
"""The next row has a class without a code, or a worker whom the loop may not meet by itself."""
GENERAL = 2
"""The next row replaces a label, is a skip, or is of a task whose truth is known."""
RENEW = 3
"""Shared readings are due."""
SCALE = 4
"""Sums are due to be brought back to units of the present."""
ROOM = 5
"""The next row's task has more labels than there is room for."""
CLOSED = 6
"""Tasks have closed, and something is due when they do."""


@cython.final
@cython.cclass
class LabelLoop:
    """Labels that come one after another: when tasks close, what is due when, room to work in.

    ``settle``: the confidence at which a task is settled, above 1 for never, given ``min_labels``;
    ``max_labels``: those at which it is full. ``against``: what newcomers' labels count against a
    decision that is to be settled. ``shift``, ``slope`` and ``ceiling`` correct confidences where
    truths are known. ``keys`` break ties among the ``named`` classes; ``coin`` gives a tied task
    its coin, if there are coins.

    ``fresh``: of each worker with a provisional code its code, −1 until it is met; ``met``: those
    who were, in order. ``known``: workers with a code, ``known_closed``: when a task closed last;
    ``most_known``: how many there may be before the loop must end.

    ``clock``: tasks so far. Readings are renewed before a task opens once there are more than
    ``renew_after``, and before a label once there are more than ``renew_labels`` and ``few`` units.
    A task that closes at ``look_at`` or later, or the ``closings``-th that waits to be seen, ends
    the turn. ``fade``, ``origin`` and ``most`` are those of
    `crowdstream.sums.forgetting.Forgetting`.

    ``at``: the row that comes next. The others count what became of rows.
    """

    def __init__(self, scoring: Scoring, store: TaskRows, tasks: Tasks, workers, labels, scores):
        self.scoring = scoring
        self.store = store
        self.tasks = tasks
        self.workers = workers
        self.labels = labels
        self.scores = scores
        self.room = workers.shape[0]
        self.named = 0
        self.known_closed = 0
        self.start()

    def start(self):
        """Count anew."""
        self.met = []
        self.at = self.opened = self.taken = self.repeated = self.late = self.closed = 0

    def weight(self, place):
        """What the task at this place counts."""
        return exp(self.fade * (place - self.origin)) if self.fade > 0.0 else 1.0

    def take(self, names: list, workers: list, labels: list, found: dict):
        """Take labels in turn, from ``at`` on, until something is due: what, or ``DONE``.

        A row is a task's name and the codes of worker and label. Each task gets into ``found`` with
        what was decided last: class, confidence, margin, votes, flags, state. A row that is in the
        way has changed nothing, but for its task having been opened.
        """
        store = self.store
        scoring = self.scoring
        rows = len(names)
        while self.at < rows:
            name = names[self.at]
            slot: cython.Py_ssize_t = store.find(name)
            if slot >= 0 and store.codes[slot, STATE] != OPEN:
                self.late += 1
                self.at += 1
                found[name] = store.kept(slot)
                continue
            place: cython.Py_ssize_t = -1 if slot < 0 else store.orders[slot, PLACE]
            if place < 0:
                if self.clock > self.renew_after:
                    return RENEW
                if self.fade > 0.0 and self.fade * (self.clock - self.origin) >= self.most:
                    return SCALE
                if slot < 0:
                    slot = store.add_name(name, self.now)
                place = self.clock
                store.orders[slot, PLACE] = place
                self.clock += 1
                self.opened += 1
            i: cython.Py_ssize_t = workers[self.at]
            x: cython.Py_ssize_t = labels[self.at]
            if x < SKIP:
                return NAMES
            if i < 0:
                i = self.meet(PROVISIONAL - i)
                if i < 0:
                    return NAMES
            said: cython.Py_ssize_t = store.seek(slot, i)
            if x == SKIP or (said != ABSENT and said != x) or store.codes[slot, TRUTH] >= 0:
                return GENERAL
            if store.codes[slot, SIZE] >= self.room:
                return ROOM
            if said == ABSENT:
                unit = self.weight(self.clock - 1)
                if scoring.sums.total[2] > self.renew_labels + self.few * unit:
                    return RENEW
                store.append(slot, i, x)
                self.taken += 1
            else:
                self.repeated += 1
            self.at += 1
            m = store.gather(
                store.codes[slot, BLOCK], store.codes[slot, SIZE], self.workers, self.labels, 0,
                False,
            )  # fmt: skip
            weight = self.weight(place)
            if said == ABSENT:
                if m > 1:
                    scoring.learn(self.tasks, 0, m - 1, -1, -weight)
                scoring.learn(self.tasks, 0, m, -1, weight)
            scoring.score(self.tasks, 0, m, weight, self.scores, 0)
            if self.decide(name, slot, m, weight, said == ABSENT, found):
                if store.n_waiting >= self.closings or self.clock >= self.look_at:
                    return CLOSED
        return DONE

    def meet(self, new):
        """The code of a worker who had none, given now if need be; −1 if the loop must end."""
        i: cython.Py_ssize_t = self.fresh[new]
        if i < 0 and self.known < self.most_known:
            i = self.known
            self.fresh[new] = i
            self.met.append(new)
            self.known += 1
            self.scoring.meet_worker()
        return i

    def decide(self, name, slot, m, weight, is_new, found):
        """Decide a task that was scored; whether it closes, as it may if its label is new."""
        store = self.store
        scoring = self.scoring
        rho = 0.0 if scoring.fell_back or scoring.golden else scoring.discount
        best = pick(self.scores, 0, m, self.named, rho, self.keys, False, 0)
        winner: cython.Py_ssize_t = best.winner
        if best.tied > 1 and self.coin is not None:
            coin: cython.ulonglong = self.coin(name)
            tossed = pick(self.scores, 0, m, self.named, rho, self.keys, True, coin)
            winner = tossed.winner
        sure = self.corrected(best.confidence)
        margin: cython.double = best.margin
        if scoring.golden:
            margin *= min(sure / max(best.confidence, 1e-300), 1.0)
        settled: cython.bint = is_sure(sure, m, self.settle, self.min_labels)
        if settled and not scoring.fell_back:
            settled = self.holds(m, weight, winner, sure)
        flags: cython.Py_ssize_t = 0 if scoring.fell_back else IDENTIFIED_FLAG
        if settled:
            flags += SETTLED_FLAG
        state: cython.Py_ssize_t = OPEN
        if is_new:
            store.floats[slot, CONFIDENCE] = sure
            store.touch_slot(slot, self.now)
            state = reason_of(settled, m, self.max_labels, False, False)
        if state != OPEN:
            scoring.close(self.tasks, 0, m, -1, weight)
            store.shut(slot, state, winner, sure, margin, flags)
            store.forget_surplus()
            self.closed += 1
            self.known_closed = self.known
        found[name] = (winner, sure, margin, m, flags, state)
        return state != OPEN

    def corrected(self, confidence):
        """A confidence as known truths bear it out, if any do: never below an even share."""
        if not self.scoring.golden:
            return confidence
        found = calibrated(confidence, self.shift, self.slope, self.ceiling)
        return max(found, 1.0 / self.scoring.sums.classes)

    def holds(self, m, own, winner, sure):
        """Whether what all labels settle is settled by known workers, against newcomers."""
        scoring = self.scoring
        least = known_from(scoring.sums, self.weight(self.clock - 1), self.fade > 0.0)
        left = scoring.count_known(self.tasks, 0, m, own, least)
        if left == m:
            return True
        scoring.least = least
        scoring.score(self.tasks, 0, m, own, self.scores, 0)
        scoring.least = 0.0
        rho = 0.0 if scoring.golden else scoring.discount
        best = pick(self.scores, 0, m, self.named, rho, self.keys, False, 0)
        alone = self.corrected(best.confidence)
        same = best.winner == winner
        return survives(sure, alone, same, left, self.against, self.settle, self.min_labels)
