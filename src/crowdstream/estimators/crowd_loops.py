# cython: language_level=3
# cython: infer_types=True
"""The crowd: teacher and students decide tasks one after the other, and learn them. Arrays only.

Formulas are those of docs/how-it-works.md, in its letters. Changing it changes what `Adaptive`
decides and learns from a stream (in the tests that compare bits too), not what is saved;
benchmarks/core.py times it as "online" and "stream".
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.estimators.confusion_loops import Student
    from cython.cimports.crowdstream.estimators.task_store_loops import TaskRows
    from cython.cimports.crowdstream.estimators.teacher_loops import Teacher
    from cython.cimports.crowdstream.estimators.vote_loops import calibrated, count, pick
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
    from cython.cimports.crowdstream.sums.agreement_loops import AgreementRows
    from cython.cimports.libc.math import exp, log, sqrt
else:
    from math import exp, log, sqrt

    from crowdstream.estimators.confusion_loops import Student
    from crowdstream.estimators.task_store_loops import TaskRows
    from crowdstream.estimators.teacher_loops import Teacher
    from crowdstream.estimators.vote_loops import calibrated, count, pick
    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.sums.agreement_loops import AgreementRows

# Why `Crowd.take` returns.
DONE = 0
"""All rows are taken."""
NAMES = 1
"""The next row has a worker or a class without a code."""
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

# Columns and codes of crowdstream.estimators.task_store_loops.
STATE = cython.declare(cython.Py_ssize_t, 1)
BLOCK = cython.declare(cython.Py_ssize_t, 3)
SIZE = cython.declare(cython.Py_ssize_t, 4)
TRUTH = cython.declare(cython.Py_ssize_t, 6)
PLACE = cython.declare(cython.Py_ssize_t, 0)
CONFIDENCE = cython.declare(cython.Py_ssize_t, 1)
OPEN = cython.declare(cython.Py_ssize_t, 1)
SETTLED = cython.declare(cython.Py_ssize_t, 2)
FULL = cython.declare(cython.Py_ssize_t, 3)
SKIP = cython.declare(cython.Py_ssize_t, -1)
ABSENT = cython.declare(cython.Py_ssize_t, -2)
SETTLED_FLAG = cython.declare(cython.Py_ssize_t, 1)
IDENTIFIED_FLAG = cython.declare(cython.Py_ssize_t, 2)

FLAT = cython.declare(cython.double, 1e-3)  # least variance of whether a label is for a class

TINY = cython.declare(cython.double, 1e-12)  # from 0 and 1, for confidences to have log-odds

SCORES = 3
"""Scores that known truths weigh: second look, swept, common factor."""

CAP = 5.0
"""Log-odds beyond which a score says no more where truths weigh it: 150 to 1."""

CAPPED = cython.declare(cython.double, -CAP)
SCORES_ = cython.declare(cython.Py_ssize_t, SCORES)


@cython.final
@cython.cclass
class Flow:
    """Labels that come one after another: when tasks close, what is due when, room to work in.

    ``settle``: the confidence at which a task is settled, above 1 for never, given ``min_labels``;
    ``max_labels``: those at which it is full. ``known``: answers from which a worker is known, in
    units of the newest task; ``against``: what others' labels count against a decision that is to
    be settled. ``shift``, ``slope`` and ``ceiling`` correct confidences where truths are known.
    ``keys`` break ties among the ``named`` classes; ``coin``: what gives a tied task
    its coin by its name, or None.

    ``clock``: tasks so far. Readings are renewed before a task opens once there are more than
    ``renew_after``, and before a label once there are ``fresh`` times ``renewed_labels``, and
    ``few`` more. A task that closes at ``look_at`` or later, or is the ``closings``-th, ends the
    turn. ``half``: see `crowdstream.estimators.newcomers.HALF`; ``fade``, ``origin`` and ``most``
    are those of `crowdstream.sums.forgetting.Forgetting`.

    ``at``: the row that comes next. The others count what became of rows.
    """

    def __init__(self, tasks: Tasks, workers, labels, scores):
        self.tasks = tasks
        self.workers = workers
        self.labels = labels
        self.scores = scores
        self.room = workers.shape[0]
        self.named = 0
        self.start()

    def start(self):
        """Count anew."""
        self.at = self.opened = self.taken = self.repeated = self.late = self.closed = 0

    def weight(self, place):
        """What the task at this place counts."""
        return exp(self.fade * (place - self.origin)) if self.fade > 0.0 else 1.0


@cython.final
@cython.cclass
class Crowd:
    """Teacher and students together.

    ``taught`` counts by the teacher's posteriors, ``swept`` by its own; ``gate`` is how far the
    swept confusions are believed (they are not read at 0). ``fell_back``: whether the crowd cannot
    be identified, so that votes are counted. ``golden``: whether known truths have given each score
    its weight and each class its bias (see `GoldModel`). ``rho``: how much errors within a task are
    correlated, ``discount``: by which correlation scores are taken to be too sure. ``alone``: the
    teacher decides without students, who are neither read nor taught, and by ``lean`` times the
    logarithm of how frequent a class is.
    """

    def __init__(self, sums: AgreementRows, teacher: Teacher, taught: Student, swept: Student):
        self.sums = sums
        self.teacher = teacher
        self.taught = taught
        self.swept = swept
        self.classes = teacher.f.shape[0]
        self.gate = 0.0
        self.fell_back = True
        self.golden = False
        self.alone = False
        self.rho = 0.0
        self.discount = 0.0
        self.lean = 0.0

    def bind(self, weights, bias, features, parts):
        """Use these arrays: the gold model's, and room for a task's scores and their parts."""
        self.weights = weights
        self.bias = bias
        self.features = features
        self.parts = parts

    # Stages ----------------------------------------------------------------------------------

    def judge(self, tasks, begin, end, own):
        """Products of likelihoods: the teacher's, both students' (their priors included).

        ``own``: what the task counted if its labels are among the sums, so that they are left out
        of them; otherwise 0.
        """
        self.teacher.judge(tasks, begin, end, own)
        if self.alone:
            return
        self.taught.judge(tasks, begin, end)
        if self.gate > 0.0 or self.golden:
            self.swept.judge(tasks, begin, end)

    def score(self, tasks, begin, end, scores, t):
        """Of a task that was judged (1 − g)·(A + B)/2 + g·B_swept, in logarithms; or its votes."""
        if self.fell_back:
            count(tasks, begin, end, scores, t)
            return
        if self.alone:
            for a in range(self.classes):
                scores[t, a] = log(max(self.teacher.product[a], 1e-300))
                scores[t, a] += self.lean * log(self.teacher.f[a])
            return
        if self.golden:
            self.fill_features(tasks, begin, end)
            for a in range(self.classes):
                scores[t, a] = self.weighed(a)
            return
        g = self.gate
        for a in range(self.classes):
            both = self.teacher.product[a] * self.taught.product[a]
            scores[t, a] = log(max(both, 1e-300)) / 2.0
            if g > 0.0:
                swept = log(max(self.swept.product[a], 1e-300))
                scores[t, a] = (1.0 - g) * scores[t, a] + g * swept

    def weighed(self, a):
        """What known truths make of a class's scores, which are in ``features``."""
        score: cython.double = self.bias[a]
        for j in range(SCORES_):
            score += self.weights[j] * self.features[j, a]
        return score

    def fill_features(self, tasks, begin, end):
        """The scores of a task that was judged, from the best class's 0 down to −5.

        They are discounted by 1 + (m − 1) ρ, as confidence is where no truth is known.
        """
        for a in range(self.classes):
            both = self.teacher.product[a] * self.taught.product[a]
            self.features[0, a] = log(max(both, 1e-300)) / 2.0
            self.features[1, a] = log(max(self.swept.product[a], 1e-300))
        self.add_common_factor(tasks, begin, end)
        scale = 1.0 / (1.0 + max(end - begin - 1.0, 0.0) * self.discount)
        for j in range(SCORES_):
            best: cython.double = self.features[j, 0]
            for a in range(1, self.classes):
                best = max(best, self.features[j, a])
            for a in range(self.classes):
                self.features[j, a] = max((self.features[j, a] - best) * scale, CAPPED)

    def look(self, tasks, begin, end):
        """`fill_features` of a task that was judged, whatever is believed."""
        if self.alone:
            return
        if not (self.gate > 0.0 or self.golden):
            self.swept.judge(tasks, begin, end)
        self.fill_features(tasks, begin, end)

    def add_common_factor(self, tasks, begin, end):
        """The third score: of each class against the rest the best linear vote, errors correlated.

        With d how far a label's mean differs between the class and the rest, z the label's distance
        from the midpoint, both over its standard deviation, the log-odds are those of the class
        plus ``(Σ d z − ρ/(1 + (m − 1) ρ) Σ d Σ z)/(1 − ρ)``: what all labels have in common is
        subtracted, so that better workers speak against the rest.
        """
        for a in range(self.classes):
            for j in range(3):
                self.parts[j, a] = 0.0
        for z in range(begin, end):
            i = tasks.workers[z]
            power = self.swept.powers.of(tasks, begin, end, i)
            self.swept.read(i)
            for a in range(self.classes):
                hit = self.swept.likelihood(i, a, a)
                alarm: cython.double = 0
                for b in range(self.classes):
                    if b != a:
                        alarm += self.swept.prior[b] * self.swept.likelihood(i, a, b)
                alarm /= max(1.0 - self.swept.prior[a], 1e-12)
                spread = sqrt(max((hit * (1.0 - hit) + alarm * (1.0 - alarm)) / 2.0, FLAT))
                d = (hit - alarm) / spread
                off = ((1.0 if tasks.labels[z] == a else 0.0) - (hit + alarm) / 2.0) / spread
                self.parts[0, a] += power * d * off
                self.parts[1, a] += power * d
                self.parts[2, a] += power * off
        shared = self.rho / (1.0 + max(end - begin - 1.0, 0.0) * self.rho)
        for a in range(self.classes):
            odds: cython.double = (
                self.parts[0, a] - shared * self.parts[1, a] * self.parts[2, a]
            ) / (1.0 - self.rho)
            odds += log(self.swept.prior[a] / max(1.0 - self.swept.prior[a], 1e-12))
            self.features[2, a] = odds

    def teach(self, tasks, begin, end, truth, weight):
        """Of a task that was judged q ∝ f·A goes to one student's counts, its own q to the other's.

        Where the swept confusions are not believed, they count by √(A B); if truths are known, by
        what these make of all scores, which are in ``features`` then.
        """
        if self.alone:
            return
        for a in range(self.classes):
            if self.golden and not self.gate > 0.0:
                self.swept.product[a] = exp(self.weighed(a))
            elif not self.gate > 0.0:
                self.swept.product[a] = sqrt(self.teacher.product[a] * self.taught.product[a])
            self.taught.product[a] = self.teacher.product[a] * self.teacher.f[a]
        self.taught.learn(tasks, begin, end, truth, weight)
        self.swept.learn(tasks, begin, end, truth, weight)

    # Tasks in order --------------------------------------------------------------------------

    def follow(
        self,
        tasks: Tasks,
        weight: cython.double,
        growth: cython.double,
        scores: cython.double[:, ::1],
        features: cython.double[:, :, ::1],
    ):
        """Decide each task from those before it, then learn it; ``scores`` may have no rows.

        ``features`` has a row for every task of known truth that has labels, for its scores.
        """
        row: cython.Py_ssize_t = 0
        with cython.nogil:
            for t in range(tasks.size):
                begin = tasks.starts[t]
                end = tasks.starts[t + 1]
                truth = tasks.truth(t)
                self.judge(tasks, begin, end, 0.0)
                if scores.shape[0]:
                    self.score(tasks, begin, end, scores, t)
                if (self.golden and not scores.shape[0]) or (truth >= 0 and end > begin):
                    self.look(tasks, begin, end)
                if truth >= 0 and end > begin:
                    for j in range(SCORES_):
                        for a in range(self.classes):
                            features[row, j, a] = self.features[j, a]
                    row += 1
                self.sums.add_task(tasks, begin, end, truth, weight)
                if end > begin:
                    self.teach(tasks, begin, end, truth, weight)
                weight *= growth

    def close(self, tasks: Tasks, weight: cython.double, own: cython.bint):
        """Posterior counts of one task; ``own``: its labels are among the sums already."""
        with cython.nogil:
            begin = tasks.starts[0]
            end = tasks.starts[1]
            if end > begin:
                self.close_judged(tasks, begin, end, tasks.truth(0), weight, weight if own else 0.0)

    def close_judged(self, tasks, begin, end, truth, weight, own):
        """Judge a task and add its posterior counts; ``own`` as for `judge`."""
        self.judge(tasks, begin, end, own)
        if self.golden:
            self.fill_features(tasks, begin, end)
        self.teach(tasks, begin, end, truth, weight)

    def ask(
        self,
        tasks: Tasks,
        m: cython.Py_ssize_t,
        own: cython.double,
        scores: cython.double[:, ::1],
    ):
        """The scores of one task by its first m labels; ``own`` as for `judge`.

        Keeps the GIL: two questions at once would share the arrays that they are worked out in.
        """
        self.judge(tasks, 0, m, own)
        self.score(tasks, 0, m, scores, 0)

    def score_tasks(self, tasks: Tasks, scores: cython.double[:, ::1]):
        """The scores of tasks none of which is among the sums; keeps the GIL as `ask` does."""
        for t in range(tasks.size):
            self.judge(tasks, tasks.starts[t], tasks.starts[t + 1], 0.0)
            self.score(tasks, tasks.starts[t], tasks.starts[t + 1], scores, t)

    def look_at(self, tasks: Tasks, own: cython.double, features: cython.double[:, :, ::1]):
        """`fill_features` of tasks; ``own`` as for `judge`. Keeps the GIL as `ask` does."""
        for t in range(tasks.size):
            self.judge(tasks, tasks.starts[t], tasks.starts[t + 1], own)
            self.look(tasks, tasks.starts[t], tasks.starts[t + 1])
            for j in range(SCORES_):
                for a in range(self.classes):
                    features[t, j, a] = self.features[j, a]

    def observe(
        self,
        tasks: Tasks,
        m: cython.Py_ssize_t,
        truth: cython.Py_ssize_t,
        weight: cython.double,
        scores: cython.double[:, ::1],
    ):
        """An open task has got its m-th label: the sums learn it, then it is scored as by `ask`."""
        with cython.nogil:
            if m > 1:
                self.sums.add_task(tasks, 0, m - 1, truth, -weight)
            self.sums.add_task(tasks, 0, m, truth, weight)
            self.judge(tasks, 0, m, weight)
            self.score(tasks, 0, m, scores, 0)

    def take(
        self, store: TaskRows, flow: Flow, names: list, workers: list, labels: list, found: dict
    ):
        """Take labels in turn, from ``flow.at`` on, until something is due: what, or ``DONE``.

        A row is a task's name and the codes of worker and label. Each task gets into ``found`` with
        what was decided last: class, confidence, margin, votes, flags, state. A row that is in the
        way has changed nothing, but for its task having been opened.
        """
        rows = len(names)
        while flow.at < rows:
            name = names[flow.at]
            slot: cython.Py_ssize_t = store.find(name)
            if slot >= 0 and store.codes[slot, STATE] != OPEN:
                flow.late += 1
                flow.at += 1
                found[name] = store.kept(slot)
                continue
            place: cython.Py_ssize_t = -1 if slot < 0 else store.orders[slot, PLACE]
            if place < 0:
                if flow.clock > flow.renew_after:
                    return RENEW
                if flow.fade > 0.0 and flow.fade * (flow.clock - flow.origin) >= flow.most:
                    return SCALE
                if slot < 0:
                    slot = store.add_name(name, flow.now)
                place = flow.clock
                store.orders[slot, PLACE] = place
                flow.clock += 1
                flow.opened += 1
            i: cython.Py_ssize_t = workers[flow.at]
            x: cython.Py_ssize_t = labels[flow.at]
            if i < 0 or x < SKIP:
                return NAMES
            said: cython.Py_ssize_t = store.seek(slot, i)
            if x == SKIP or (said != ABSENT and said != x) or store.codes[slot, TRUTH] >= 0:
                return GENERAL
            if store.codes[slot, SIZE] >= flow.room:
                return ROOM
            if said == ABSENT:
                unit = flow.weight(flow.clock - 1)
                if self.sums.total[2] > flow.renewed_labels * flow.fresh + flow.few * unit:
                    return RENEW
                store.append(slot, i, x)
                flow.taken += 1
            else:
                flow.repeated += 1
            flow.at += 1
            m = store.gather(
                store.codes[slot, BLOCK], store.codes[slot, SIZE], flow.workers, flow.labels, 0,
                False,
            )  # fmt: skip
            weight = flow.weight(place)
            if said == ABSENT:
                if m > 1:
                    self.sums.add_task(flow.tasks, 0, m - 1, -1, -weight)
                self.sums.add_task(flow.tasks, 0, m, -1, weight)
            self.judge(flow.tasks, 0, m, weight)
            self.score(flow.tasks, 0, m, flow.scores, 0)
            if self.decide(store, flow, name, slot, m, weight, said == ABSENT, found):
                if flow.closed >= flow.closings or flow.clock >= flow.look_at:
                    return CLOSED
        return DONE

    def decide(self, store, flow, name, slot, m, weight, is_new, found):
        """Decide a task that was scored; whether it closes, as it may if its label is new."""
        rho = 0.0 if self.fell_back or self.golden else self.discount
        best = pick(flow.scores, 0, m, flow.named, rho, flow.keys, False, 0)
        winner: cython.Py_ssize_t = best.winner
        if best.tied > 1 and flow.coin is not None:
            coin: cython.ulonglong = flow.coin(name)
            tossed = pick(flow.scores, 0, m, flow.named, rho, flow.keys, True, coin)
            winner = tossed.winner
        sure = self.corrected(flow, best.confidence)
        margin: cython.double = best.margin
        if self.golden:
            margin *= min(sure / max(best.confidence, 1e-300), 1.0)
        settled: cython.bint = sure >= flow.settle and m >= flow.min_labels
        if settled and not self.holds(flow, m, weight, winner, sure):
            settled = False
        flags: cython.Py_ssize_t = 0 if self.fell_back else IDENTIFIED_FLAG
        if settled:
            flags += SETTLED_FLAG
        state: cython.Py_ssize_t = OPEN
        if is_new:
            store.floats[slot, CONFIDENCE] = sure
            store.touch_slot(slot, flow.now)
            if settled:
                state = SETTLED
            elif m >= flow.max_labels:
                state = FULL
        if state != OPEN:
            self.close_judged(flow.tasks, 0, m, -1, weight, weight)
            store.shut(slot, state, winner, sure, margin, flags)
            store.forget_surplus()
            flow.closed += 1
        found[name] = (winner, sure, margin, m, flags, state)
        return state != OPEN

    def corrected(self, flow, confidence):
        """A confidence as known truths bear it out, if any do: never below an even share."""
        if not self.golden:
            return confidence
        found = calibrated(confidence, flow.shift, flow.slope, flow.ceiling)
        return max(found, 1.0 / self.classes)

    def holds(self, flow, m, own, winner, sure):
        """Whether what all labels settle is settled by known workers, against newcomers.

        As `decisions.SettleRule.survives` has it.
        """
        if self.fell_back:
            return True
        known = flow.known * flow.weight(flow.clock - 1)
        if flow.fade > 0.0:
            known = min(known, flow.half * self.sums.typical_answers())
        left = self.count_known(flow.tasks, 0, m, own, known)
        if left == m:
            return True
        self.ask_those(flow.tasks, 0, m, own, known, flow.scores, 0)
        rho = 0.0 if self.golden else self.discount
        best = pick(flow.scores, 0, m, flow.named, rho, flow.keys, False, 0)
        if best.winner != winner or left < flow.min_labels:
            return False
        alone = log_odds(self.corrected(flow, best.confidence))
        return alone - flow.against * (log_odds(sure) - alone) >= log_odds(flow.settle)

    def count_known(self, tasks, begin, end, own, known):
        """The labels of a task that are by workers who are known."""
        self.teacher.powers.least = known
        self.teacher.powers.own = own
        found: cython.Py_ssize_t = 0
        for z in range(begin, end):
            if self.teacher.powers.is_known(tasks.workers[z], end - begin):
                found += 1
        self.teacher.powers.least = 0.0
        return found

    def ask_those(self, tasks, begin, end, own, known, scores, t):
        """The scores of a task by the labels of workers who are known."""
        self.teacher.powers.least = known
        self.teacher.powers.own = own
        self.judge(tasks, begin, end, own)
        self.score(tasks, begin, end, scores, t)
        self.teacher.powers.least = 0.0

    def ask_known(
        self,
        tasks: Tasks,
        m: cython.Py_ssize_t,
        own: cython.double,
        known: cython.double,
        scores: cython.double[:, ::1],
    ):
        """`ask` without the labels of newcomers; how many are left. No scores if all are."""
        left = m if self.fell_back else self.count_known(tasks, 0, m, own, known)
        if left < m:
            self.ask_those(tasks, 0, m, own, known, scores, 0)
        return left

    # Tables ----------------------------------------------------------------------------------

    def fill_logs(self, out: cython.double[:, :, ::1], prior: cython.double[::1]):
        """What label x of worker i adds to the score of class a; the last row: unknown workers."""
        K = self.classes
        g = self.gate
        with cython.nogil:
            for a in range(K):
                prior[a] = (1.0 - g) / 2.0 * log(self.taught.prior[a])
                if g > 0.0:
                    prior[a] += g * log(self.swept.prior[a])
            for i in range(out.shape[0]):
                vote = log(self.teacher.odds(i, 0, 1, 0.0))
                self.taught.read(i)
                self.swept.read(i)
                for x in range(K):
                    for a in range(K):
                        out[i, x, a] = log(self.taught.likelihood(i, x, a))
                        if x == a:
                            out[i, x, a] += vote
                        out[i, x, a] *= (1.0 - g) / 2.0
                        if g > 0.0:
                            out[i, x, a] += g * log(self.swept.likelihood(i, x, a))


def log_odds(p):
    """log(p/(1 − p))."""
    p = min(max(p, TINY), 1.0 - TINY)
    return log(p / (1.0 - p))
