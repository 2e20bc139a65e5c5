# cython: language_level=3
# cython: infer_types=True
"""The crowd: teacher and students score tasks one after the other, and learn them. Arrays only.

Formulas are those of docs/how-it-works.md, in its letters. Changing it changes what `Adaptive`
decides and learns from a stream (in the tests that compare bits too), not what is saved;
benchmarks/core.py times it as "online", benchmarks/stream.py in a stream.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.labels.batch_loops import Tasks
    from cython.cimports.crowdstream.models.change_loops import ChangeEvidence
    from cython.cimports.crowdstream.models.confusion_loops import Student
    from cython.cimports.crowdstream.models.scoring_loops import Scoring, count
    from cython.cimports.crowdstream.models.teacher_loops import Teacher
    from cython.cimports.crowdstream.sums.agreement_loops import AgreementRows
    from cython.cimports.libc.math import exp, log, sqrt
else:
    from math import exp, log, sqrt

    from crowdstream.labels.batch_loops import Tasks
    from crowdstream.models.change_loops import ChangeEvidence
    from crowdstream.models.confusion_loops import Student
    from crowdstream.models.scoring_loops import Scoring, count
    from crowdstream.models.teacher_loops import Teacher
    from crowdstream.sums.agreement_loops import AgreementRows

FLAT = cython.declare(cython.double, 1e-3)  # least variance of whether a label is for a class

SCORES = 3
"""Scores that known truths weigh: second look, swept, common factor."""

CAP = 5.0
"""Log-odds beyond which a score says no more where truths weigh it: 150 to 1."""

CAPPED = cython.declare(cython.double, -CAP)
SCORES_ = cython.declare(cython.Py_ssize_t, SCORES)


@cython.final
@cython.cclass
class Crowd(Scoring):
    """Teacher and students together.

    ``taught`` counts by the teacher's posteriors, ``swept`` by its own; ``gate`` is how far the
    swept confusions are believed (they are not read at 0). ``fell_back``: whether the crowd cannot
    be identified, so that votes are counted. ``golden``: whether known truths have given each score
    its weight and each class its bias (see `GoldModel`). ``panel``: whether the common factor
    decides. ``trust``: the factor of a score that is too sure of itself, the common factor's or the
    swept confusions'. ``rho``: how much errors within a task are correlated, ``discount``: by which
    correlation scores are taken to be too sure. ``change``: the short memories that decide in place
    of all this while workers are shown to change.
    """

    def __init__(
        self,
        sums: AgreementRows,
        teacher: Teacher,
        taught: Student,
        swept: Student,
        change: ChangeEvidence,
    ):
        Scoring.__init__(self, sums)
        self.change = change
        self.teacher = teacher
        self.taught = taught
        self.swept = swept
        self.classes = teacher.f.shape[0]
        self.gate = 0.0
        self.rho = 0.0
        self.panel = False
        self.trust = 1.0

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
        self.taught.judge(tasks, begin, end)
        if self.gate > 0.0 or self.golden:
            self.swept.judge(tasks, begin, end)

    def score(self, tasks, begin, end, own, scores, t):
        """Judge a task, by the labels of known workers alone if ``least`` says so, and weigh it."""
        self.teacher.powers.least = self.least
        self.teacher.powers.own = own
        if self.is_changing():
            self.weigh_lately(tasks, begin, end, scores, t)
        else:
            self.judge(tasks, begin, end, own)
            self.weigh(tasks, begin, end, scores, t)
        self.teacher.powers.least = 0.0

    def is_changing(self):
        """Whether short memories decide; votes are counted all the same where nothing is known."""
        return self.change.is_shown() and not self.fell_back

    def weigh_lately(self, tasks, begin, end, scores, t):
        """By what workers did lately; discounted as `fill_features` does where truths are known."""
        discount: cython.double = self.discount if self.golden else 0.0
        self.change.score(tasks, begin, end, discount, scores, t)

    def watch(self, tasks, begin, end, truth):
        """Compare short memories with the students on a task that was judged, and teach them."""
        if not self.change.watching:
            return
        if self.gate > 0.0:
            self.change.see(self.swept, tasks, begin, end, truth, self.discount)
        else:
            self.change.see(self.taught, tasks, begin, end, truth, self.discount)

    def weigh(self, tasks, begin, end, scores, t):
        """Of a task that was judged (1 − g)·(A + B)/2 + g·B_swept, in logarithms; or its votes."""
        if self.fell_back:
            count(tasks, begin, end, scores, t)
            return
        if self.golden:
            self.fill_features(tasks, begin, end)
            for a in range(self.classes):
                scores[t, a] = self.weighed(a)
            return
        if self.panel:
            # Confidence is to be that of the score as it is: undo the discount to come.
            scale = self.trust * (1.0 + max(end - begin - 1.0, 0.0) * self.discount)
            self.add_common_factor(tasks, begin, end)
            for a in range(self.classes):
                scores[t, a] = scale * self.features[2, a]
            return
        g = self.gate
        for a in range(self.classes):
            both = self.teacher.product[a] * self.taught.product[a]
            scores[t, a] = log(max(both, 1e-300)) / 2.0
            if g > 0.0:
                swept = log(max(self.swept.product[a], 1e-300))
                scores[t, a] = self.trust * ((1.0 - g) * scores[t, a] + g * swept)

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

    def fill_common_factor(self, tasks: Tasks, scores: cython.double[:, ::1]):
        """The third score of tasks, as it is; keeps the GIL as `ask` does."""
        for t in range(tasks.size):
            self.add_common_factor(tasks, tasks.starts[t], tasks.starts[t + 1])
            for a in range(self.classes):
                scores[t, a] = self.features[2, a]

    def teach(self, tasks, begin, end, truth, weight):
        """Of a task that was judged q ∝ f·A goes to one student's counts, its own q to the other's.

        Where the swept confusions are not believed, they count by √(A B); if truths are known, by
        what these make of all scores, which are in ``features`` then.
        """
        for a in range(self.classes):
            if self.golden and not self.gate > 0.0:
                self.swept.product[a] = exp(self.weighed(a))
            elif not self.gate > 0.0:
                self.swept.product[a] = sqrt(self.teacher.product[a] * self.taught.product[a])
            self.taught.product[a] = self.teacher.product[a] * self.teacher.f[a]
        self.taught.learn(tasks, begin, end, truth, weight)
        self.swept.learn(tasks, begin, end, truth, weight)

    # Tasks in order --------------------------------------------------------------------------

    def follow_all(
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
                if scores.shape[0] and self.is_changing():
                    self.weigh_lately(tasks, begin, end, scores, t)
                elif scores.shape[0]:
                    self.weigh(tasks, begin, end, scores, t)
                if (self.golden and not scores.shape[0]) or (truth >= 0 and end > begin):
                    self.look(tasks, begin, end)
                if truth >= 0 and end > begin:
                    for j in range(SCORES_):
                        for a in range(self.classes):
                            features[row, j, a] = self.features[j, a]
                    row += 1
                self.sums.add_task(tasks, begin, end, truth, weight)
                if end > begin:
                    self.watch(tasks, begin, end, truth)
                    self.teach(tasks, begin, end, truth, weight)
                weight *= growth

    def meet_worker(self):
        """One more worker is known to teacher and students."""
        self.sums.workers += 1
        n = self.sums.workers
        self.teacher.workers = n
        self.taught.workers = n
        self.swept.workers = n

    def close(self, tasks, begin, end, truth, weight):
        """Add a task's posterior counts; its labels are among the sums already."""
        if end > begin:
            self.count_posterior(tasks, begin, end, truth, weight, weight)

    def take_back(self, tasks: Tasks, weight: cython.double):
        """Take away the posterior counts of a task whose labels are not among the sums."""
        begin = tasks.starts[0]
        end = tasks.starts[1]
        if end > begin:
            self.count_posterior(tasks, begin, end, tasks.truth(0), -weight, 0.0)

    def count_posterior(self, tasks, begin, end, truth, weight, own):
        """Judge a task and add its posterior counts; ``own`` as for `judge`."""
        self.judge(tasks, begin, end, own)
        if self.golden:
            self.fill_features(tasks, begin, end)
        if weight > 0.0:
            self.watch(tasks, begin, end, truth)
        self.teach(tasks, begin, end, truth, weight)

    def look_at(self, tasks: Tasks, own: cython.double, features: cython.double[:, :, ::1]):
        """`fill_features` of tasks; ``own`` as for `judge`. Keeps the GIL as `ask` does."""
        for t in range(tasks.size):
            self.judge(tasks, tasks.starts[t], tasks.starts[t + 1], own)
            self.look(tasks, tasks.starts[t], tasks.starts[t + 1])
            for j in range(SCORES_):
                for a in range(self.classes):
                    features[t, j, a] = self.features[j, a]

    # Tables ----------------------------------------------------------------------------------

    def fill_logs(self, out: cython.double[:, :, ::1], prior: cython.double[::1]):
        """What label x of worker i adds to the score of class a; the last row: unknown workers."""
        K = self.classes
        g = self.gate
        with cython.nogil:
            for a in range(K):
                prior[a] = (1.0 - g) / 2.0 * log(self.taught.prior[a])
                if g > 0.0:
                    prior[a] = self.trust * (prior[a] + g * log(self.swept.prior[a]))
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
                            swept = g * log(self.swept.likelihood(i, x, a))
                            out[i, x, a] = self.trust * (out[i, x, a] + swept)
