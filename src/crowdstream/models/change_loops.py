# cython: language_level=3
# cython: infer_types=True
"""Whether workers are shown to change: short memories that foresee labels better than long ones.

When a task closes, each of its m labels is foreseen from the others, by the horizons of
`Horizons` as far as each is believed (P), by the one of them that never forgets (P∞) and by the
crowd's confusions, which never forget either:

    Q = Σ_a q₋ᵢ(a) p_i(x_i | a),  q₋ᵢ the posterior of the task's other labels.

Two sums are kept, each of log-likelihood ratios, which count less where errors are correlated, as
confidence does (ρ, see `Crowd.discount`), and each between 0 and twice the bound:

    W ← min(max(W + Σ_i log(P/Q) / (1 + (m − 1) ρ), 0), 2 log(1/α)),  the other one with P∞ for Q.

Change is shown while both are at least log(1/α). If labels are as P∞ or Q has them, P/P∞ or P/Q is
one on average, so that the sum, begun anew whenever it is down at 0, gets that high once in 1/α
tasks at most (Lorden, Procedures for reacting to a change in distribution, 1971). The one sum says
that somebody changes; but so does a table that is sorted by class, where errors depend on the
class. The other one says that what is known of classes and confusions does not explain it. What
was shown is given back once as much speaks against it.

Arrays only. Changing it changes what `Adaptive` decides where workers change.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.models.confusion_loops import Student
    from cython.cimports.crowdstream.models.horizon_loops import Horizons
    from cython.cimports.libc.math import log, pow  # noqa: A004
else:
    from math import log, pow  # noqa: A004

    from crowdstream.models.confusion_loops import Student
    from crowdstream.models.horizon_loops import Horizons

ENOUGH = cython.declare(cython.double, 9.210340371976184)  # log(1/α) for α = 10⁻⁴
MOST = cython.declare(cython.double, 18.420680743952367)  # twice as much: what can be taken back

# In `evidence`: short memories against
CONFUSIONS = cython.declare(cython.Py_ssize_t, 0)
LASTING = cython.declare(cython.Py_ssize_t, 1)


@cython.final
@cython.cclass
class ChangeEvidence:
    """Horizons, and the evidence for them.

    ``watching``: whether they learn; else nothing is ever shown. ``evidence``: the two sums.
    """

    def __init__(self, horizons: Horizons, evidence):
        self.horizons = horizons
        self.evidence = evidence
        self.watching = False

    def is_shown(self):
        """Whether both sums are high enough."""
        return self.evidence[CONFUSIONS] >= ENOUGH and self.evidence[LASTING] >= ENOUGH

    @property
    def shown(self):
        """`is_shown`, for Python."""
        return bool(self.is_shown())

    def score(self, tasks, begin, end, discount, scores, t):
        """The scores of a task by the horizons, over 1 + (m − 1) ``discount``."""
        self.horizons.score(tasks, begin, end, scores, t)
        if discount > 0.0:
            scale = 1.0 / (1.0 + max(end - begin - 1.0, 0.0) * discount)
            for a in range(scores.shape[1]):
                scores[t, a] *= scale

    def see(self, student: Student, tasks, begin, end, truth, discount):
        """Let the horizons learn a task that the student has judged, and compare what they foresaw.

        A label alone says nothing, unless its truth is known.
        """
        if truth < 0 and end < begin + 2:
            self.horizons.learn(tasks, begin, end, truth)
            return
        foreseen = self.foresee(student, tasks, begin, end, truth)
        self.horizons.learn(tasks, begin, end, truth)
        scale = 1.0 / (1.0 + (end - begin - 1.0) * discount)
        self.add(CONFUSIONS, scale * (self.horizons.mixed - foreseen))
        self.add(LASTING, scale * (self.horizons.mixed - self.horizons.lasting))

    def add(self, which, ratio):
        """Add a log-likelihood ratio to one of the sums."""
        self.evidence[which] = min(max(self.evidence[which] + ratio, 0.0), MOST)

    def foresee(self, student: Student, tasks, begin, end, truth):
        """Σ log Q over the labels of a task that the student has judged.

        Its ``product`` is the prior times all likelihoods, so Q is their sum over the classes by
        what the sum is without the label's own.
        """
        found: cython.double = 0
        powered: cython.bint = student.powers.rho.shape[0] > 0
        for z in range(begin, end):
            i = tasks.workers[z]
            x = tasks.labels[z]
            student.read(i)
            if truth >= 0:
                found += log(student.likelihood(i, x, truth))
                continue
            power: cython.double = student.powers.of(tasks, begin, end, i) if powered else 1.0
            seen: cython.double = 0
            others: cython.double = 0
            for a in range(student.classes):
                likely = student.likelihood(i, x, a)
                left: cython.double = student.product[a]
                left /= pow(likely, power) if powered else likely
                seen += left * likely
                others += left
            found += log(seen / others)
        return found
