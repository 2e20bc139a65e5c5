# cython: language_level=3
# cython: infer_types=True
"""The paper's fixed point, v = f(â, v), rewritten by shares, and votes weighed by it. Arrays only.

With R_i worker i's agreements minus disagreements with the others of its tasks, find the scale
u > 0 with Σ_i (1 − √(1 − u R_i)) = 2. The term of i is its *share* of the crowd's signal. It is
the paper's ``v = f(â, v)``: share_i = 1 − √(δ_i/v), u = 4/(n² v t).

The unknown here is the share h of the worker with the largest R ("the top"), from which
u = h (2 − h)/R_top: smooth where u is not. 0 < h ≤ 1 is the paper's equation, 1 < h < 2 the one
with the root of the top's term flipped, for a worker who holds over half of the crowd's signal.

A task changes R of its own workers only, so h is looked for where it was before: one or two Newton
steps, of some nanoseconds a worker. The last step starts from a multiple of a power of two, the
nearest to h, so that the answer does not depend on where the search began: it is the same to the
bit in a stream, in a crowd that was loaded a moment ago, and whatever was asked in between.

Changing it changes what `AgreementBased` decides, and is held against the paper by its tests;
nothing that is saved. benchmarks/stream.py times it.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.crowdstream.models.identifying_loops import reason_of
    from cython.cimports.crowdstream.models.rows import AT_CHANCE, TOO_FEW
    from cython.cimports.crowdstream.models.rows import NO_SOLUTION as NO_ROOT
    from cython.cimports.crowdstream.models.scoring_loops import Scoring, count
    from cython.cimports.crowdstream.sums.agreement_loops import AgreementRows
    from cython.cimports.crowdstream.sums.group_loops import find, join
    from cython.cimports.crowdstream.sums.rows import *
    from cython.cimports.libc.math import fabs, log, sqrt
else:
    from math import fabs, log, sqrt

    from crowdstream.models.identifying_loops import reason_of
    from crowdstream.models.rows import AT_CHANCE, TOO_FEW
    from crowdstream.models.rows import NO_SOLUTION as NO_ROOT
    from crowdstream.models.scoring_loops import Scoring, count
    from crowdstream.sums.agreement_loops import AgreementRows
    from crowdstream.sums.group_loops import find, join
    from crowdstream.sums.rows import *

SOLVED = 0
FLAT = 1
NO_SOLUTION = 2

STEEP = cython.declare(cython.double, 1e-4)  # a share above 1 is believed where the curve is steep
TINY = cython.declare(cython.double, 1e-300)  # keeps 0/0 from being NaN, and 1/R finite

# Where a share may be looked for from the one before, and not from nothing: the curve is steep
# enough and no branch near. Beyond, the square of a step below GRID says nothing of the next one.
WARM_SLOPE = cython.declare(cython.double, 1e-2)
WARM_EDGE = cython.declare(cython.double, 1e-4)
WARM_STEPS = cython.declare(cython.Py_ssize_t, 8)

# 2³⁰ + 1 leaves a number 23 of its 53 bits: a step from there is below 2e-7, so that the error
# after it, about its square, is below 1e-13. Two searches could round a share to different sides
# only if it were nearer than NEAR to the middle; then it is looked for from nothing.
GRID = cython.declare(cython.double, 1073741825.0)
NEAR = cython.declare(cython.double, 4e-12)

ALIKE = 1e12
"""Pseudo-answers where nothing distinguishes the workers: all weigh the same."""

CERTAIN = 1e9
"""The weight of a worker who is never (−: always) wrong, where the paper's is infinite: it outvotes
everybody, and against another such worker the others decide."""

ALIKE_ = cython.declare(cython.double, ALIKE)
CERTAIN_ = cython.declare(cython.double, CERTAIN)

# The columns of a row of the agreement sums; here each is a row of its own, with a number per
# worker, and so is what follows from them.
ANSWERS = cython.declare(cython.Py_ssize_t, 5)
PER_ANSWER = cython.declare(cython.Py_ssize_t, 6)  # 1/answers; 1 if the answer rate is known
PAIR_NOISE = cython.declare(cython.Py_ssize_t, 7)  # 1/(met (K − 1)); 0 of who has met nobody
CROWD_NOISE = cython.declare(cython.Py_ssize_t, 8)  # met2/met²
COPIED = cython.declare(cython.Py_ssize_t, 6)  # those before follow from nothing else
R = cython.declare(cython.Py_ssize_t, 9)
SHARE = cython.declare(cython.Py_ssize_t, 10)
RISE = cython.declare(cython.Py_ssize_t, 11)
MEMBERS = cython.declare(cython.Py_ssize_t, 12)  # at its first worker: of a group, who has met
GROUP_MET = cython.declare(cython.Py_ssize_t, 13)  # likewise its meetings
MIRRORS = 14

MIRRORS_ = cython.declare(cython.Py_ssize_t, MIRRORS)


def on_grid(share):
    """The nearest number of 23 bits."""
    high = share * GRID
    return high - (high - share)


# The equation ------------------------------------------------------------------------------------


@cython.final
@cython.cclass
class Shares:
    """The equation of shares for the workers' R, and its last solution, from which it goes on.

    ``share[i] + rise[i] * offset`` is the share of worker i, ``h`` the top's; 0 for no solution.
    ``drift``: what changed R have added to the sum of shares at the last scale, if it was told.
    """

    def __init__(self, agreement, share, rise):
        self.h = self.scale = self.drift = self.per_excess = 0.0
        self.bind(agreement, share, rise)

    def bind(self, agreement, share, rise):
        """Use these arrays, which have a number per worker, and perhaps some to spare."""
        self.agreement = agreement
        self.share = share
        self.rise = rise

    def excess(self, n, share):
        """Σ shares − 2 where the top's share is ``share``; its derivative in it is ``slope``.

        Fills every worker's share and its derivative.
        """
        top = self.agreement[self.top]
        unit = 1.0 / top
        z = 1.0 - share
        square = z * z
        scale = share * (2.0 - share)
        total: cython.double = 0
        rise: cython.double = 0
        for i in range(n):
            r = self.agreement[i]
            q = r * unit
            # Not 1 − u r, which cancels where r is near the top.
            root = sqrt((top - r) * unit + q * square) + TINY
            # One division for two: it and the square root are what a pass costs.
            part = q / (root * (1.0 + root))
            mine = scale * part * root
            slope = z * part * (1.0 + root)
            self.share[i] = mine
            self.rise[i] = slope
            total += mine
            rise += slope
        if share >= 1.0:  # the loop took the top's root with the ordinary sign
            total += 2.0 * (share - 1.0)
            rise = rise + 2.0 if share > 1.0 else 1.0
        self.share[self.top] = share
        self.rise[self.top] = 1.0
        self.slope = rise
        return total - 2.0

    def is_solvable(self, n):
        """Whether the paper's equation has a root: whether the excess at share 1 is not below 0.

        Without a rounding where terms are 0 or 1, as for two workers who always agree among
        guessers.
        """
        most = self.agreement[self.top]
        at_one: cython.double = -2.0
        for i in range(n):
            r = self.agreement[i]
            at_one += (r / most) / (1.0 + sqrt((most - r) / most))
        return at_one >= 0.0

    def bracketed(self, n, low, high):
        """The root of `excess` between two points of different sign: Newton, in its bracket."""
        rising: cython.bint = self.excess(n, low) <= 0.0
        share: cython.double = 0.5 * (low + high)
        for _ in range(200):
            value = self.excess(n, share)
            if value == 0.0:
                return share
            if (value < 0.0) == rising:
                low = share
            else:
                high = share
            moved: cython.double = share - value / self.slope if self.slope != 0.0 else low
            if not low < moved < high:
                moved = 0.5 * (low + high)
            if fabs(moved - share) <= 4e-16 * fabs(share):
                return moved
            share = moved
        return share

    def search(self, n, dominant):
        """The top's share, from nothing; 0 without a solution."""
        if self.is_solvable(n):
            return self.bracketed(n, 0.0, 1.0)
        if not dominant or not self.total > 2.0 * self.agreement[self.top]:
            return 0.0
        # The others agree among themselves: near share 2 the excess is
        # (2 − h)(ΣR − 2 R_top)/R_top > 0, so a root lies before it.
        high: cython.double = 1
        for _ in range(1, 40):
            high = 0.5 * (high + 2.0)
            if self.excess(n, high) > 0.0:
                share = self.bracketed(n, 1.0, high)
                self.excess(n, share)
                return share if self.slope >= STEEP else 0.0
        return 0.0

    def expect(self, before, after):
        """R of a worker has changed: note what that adds to the sum of shares at this scale."""
        if self.scale > 0.0:
            self.drift += sqrt(max(1.0 - self.scale * before, 0.0))
            self.drift -= sqrt(max(1.0 - self.scale * after, 0.0))

    def guess(self):
        """Where to begin: with the scale at which the sum of shares should be 2 again."""
        if not self.scale > 0.0:
            return self.h
        scale = self.scale - self.drift * self.per_excess
        root = sqrt(max(1.0 - scale * self.agreement[self.top], 0.0))
        return 1.0 - root if self.h < 1.0 else 1.0 + root

    def is_clean(self, before, share):
        """Whether a Newton step is on the same branch, away from its ends, where it is steep."""
        if not self.slope >= WARM_SLOPE or not 0.0 < share < 2.0:
            return False
        return (before < 1.0) == (share < 1.0) and fabs(share - 1.0) > WARM_EDGE

    def go_on(self, n, dominant):
        """Find the top's share from the last one by Newton's method, or say that it did not."""
        if not self.h > 0.0 or not fabs(self.h - 1.0) > WARM_EDGE:
            return False
        if self.h > 1.0:
            if not dominant or not self.total > 2.0 * self.agreement[self.top]:
                return False
            if self.is_solvable(n):
                return False
        start: cython.double = on_grid(self.guess())
        if not 0.0 < start < 2.0 or (start < 1.0) != (self.h < 1.0):
            return False
        for _ in range(WARM_STEPS):
            value = self.excess(n, start)
            share = start - value / self.slope if self.slope != 0.0 else 0.0
            if not self.is_clean(start, share):
                return False
            nearest = on_grid(share)
            if nearest == start:
                low = on_grid(share - NEAR * share)
                high = on_grid(share + NEAR * share)
                if low != high:
                    return False
                self.h = share
                self.offset = share - start
                return True
            start = nearest
        return False

    def find(self, n, dominant):
        """Status; the top is known, and the sum of all R.

        ``dominant`` allows a share above 1; the paper does not, and finds no solution there.
        """
        if not n or self.agreement[self.top] < TINY:  # nothing, or too little to divide by
            self.h = self.scale = 0.0
            for i in range(n):
                if self.agreement[i] != 0.0:
                    return 2
            return 1
        if not self.go_on(n, dominant):
            self.h = self.search(n, dominant)
            if not self.h > 0.0:
                self.h = self.scale = 0.0
                return 2
            start = on_grid(self.h)
            value = self.excess(n, start)
            share = start - value / self.slope if self.slope != 0.0 else 0.0
            if self.is_clean(start, share) and fabs(share - self.h) < 1e-12 * self.h:
                self.h = share
                self.offset = share - start
            else:
                self.excess(n, self.h)
                self.offset = 0.0
        most = self.agreement[self.top]
        self.scale = self.h * (2.0 - self.h) / most
        # du/dh over what the sum of shares rises by.
        self.per_excess = 0.0
        if self.slope > 0.0:
            self.per_excess = 2.0 * (1.0 - self.h) / (most * self.slope)
        self.drift = 0.0
        return 0

    def find_top(self, n):
        """The worker with the largest R, the first of equals, and the sum of all R."""
        self.top = 0
        self.total = 0.0
        for i in range(n):
            self.total += self.agreement[i]
            if self.agreement[i] > self.agreement[self.top]:
                self.top = i

    def solve(self, dominant: cython.bint, shares: cython.double[::1]):
        """Status and scale u; fills every worker's share, 0 without a solution."""
        n = self.agreement.shape[0]
        with cython.nogil:
            self.find_top(n)
            status = self.find(n, dominant)
            for i in range(n):
                shares[i] = self.share[i] + self.rise[i] * self.offset if status == 0 else 0.0
        return status, self.scale if status == 0 else 0.0


def solve(agreement: cython.double[::1], dominant: cython.bint, shares: cython.double[::1]):
    """`Shares.solve` from nothing."""
    n = agreement.shape[0]
    return Shares(agreement, np.empty(n), np.empty(n)).solve(dominant, shares)


# Votes -------------------------------------------------------------------------------------------


@cython.final
@cython.cclass
class FixedPoint(Scoring):
    """Weighs votes by the fixed point of the agreement sums: the paper, and what goes beyond it.

    ``answer_rate``: α if it is known, else 0; ``memory``: tasks that are remembered, 0 for all;
    ``shrinkage`` and ``clip`` as for `AgreementBased`. ``unit``: what the newest task counts, which
    learning raises; ``named``: how many classes were seen, likewise. ``truth``: the known class of
    the task that is scored, where that is among the sums too, else −1.

    Of the last solution: ``reason`` (see `identifying_loops`), whether ``by_shares`` or by known
    truths alone, the ``mean`` skill, and what is worth how much.

    Keeps what it needs of the sums by columns (``mirror``), and brings up to date those of a task's
    workers; all of them where something else has changed the sums.
    """

    def __init__(
        self,
        sums: AgreementRows,
        answer_rate: cython.double,
        memory: cython.double,
        shrinkage: cython.double,
        clip: cython.double,
    ):
        Scoring.__init__(self, sums)
        self.answer_rate = answer_rate
        self.memory = memory
        self.shrinkage = shrinkage
        self.clip = clip
        self.unit = 1.0
        self.named = 0
        self.truth = -1
        self.n = self.golds = self.groups = self.main = 0
        self.changes = -1
        self.seen_total = self.tasks = self.labelled = self.left_out = 0.0
        self.is_current = False
        self.read_unit = 0.0
        self.read_named = -1
        self.reason = 1
        self.by_shares = False
        self.mean = self.start = self.signal = self.strength = 0.0
        self.all_met = self.evidence = 0.0
        self.answered = self.spread = self.group_met = 0.0
        self.shares = Shares(np.zeros(0), np.zeros(0), np.zeros(0))
        self.make_mirrors(0)
        self.make_spare(16)

    # Copies of the sums ----------------------------------------------------------------------

    def make_mirrors(self, size):
        """Have columns for so many workers."""
        self.mirror = np.zeros((MIRRORS, size))
        self.shares.bind(self.mirror[R], self.mirror[SHARE], self.mirror[RISE])

    def make_spare(self, size):
        """Have room to put by the columns of a task of so many labels."""
        self.spare = np.zeros((COPIED, size))

    def refresh(self):
        """Copy the sums anew, if they were changed by others."""
        if self.is_copied():
            self.extend()
            return
        if self.mirror.shape[1] < self.sums.rows.shape[0]:
            with cython.gil:
                self.make_mirrors(self.sums.rows.shape[0])
        self.n = self.golds = self.groups = self.main = 0
        self.shares.scale = 0.0  # sums may have been scaled, and then it is another
        self.extend()
        self.note()

    def extend(self):
        """Copy the rows of workers who are new."""
        if self.n == self.sums.workers:
            return
        for i in range(self.n, self.sums.workers):
            for j in range(MIRRORS_):
                self.mirror[j, i] = 0.0
            self.copy(i)
        self.n = self.sums.workers
        self.is_current = False

    def is_copied(self):
        """Whether the copies are those of the sums; forgetting scales these without counting."""
        return self.changes == self.sums.changes and self.seen_total == self.sums.total[0]

    def note(self):
        """The copies are those of the sums as they are now."""
        self.changes = self.sums.changes
        self.seen_total = self.tasks = self.sums.total[0]
        self.labelled = self.sums.total[1]
        self.is_current = False

    def copy(self, i):
        """Copy the row of a worker."""
        met = self.mirror[MET, i]
        known = self.mirror[KNOWN, i]
        answers: cython.double = 0.0
        for j in range(HEAD):
            self.mirror[j, i] = self.sums.rows[i, j]
        for a in range(self.sums.classes):
            answers += self.sums.rows[i, HEAD + a]
        self.mirror[ANSWERS, i] = answers
        self.derive(i, met, known)

    def derive(self, i, before, known):
        """What follows from a worker's sums, in which it had met ``before`` and was ``known``.

        R_i = Σ (K·1{agree} − 1)/(K − 1) over the others met. By the paper's (5), if α is known,
        â_i = A_i/(α² (n − 1) t) with A_i the agreements, so R_i = (K A_i/α² − t (n − 1))/(K − 1),
        of which t (n − 1)/(K − 1) is subtracted later, the same for all.
        """
        K: cython.double = self.sums.classes
        met = self.mirror[MET, i]
        answers = self.mirror[ANSWERS, i]
        self.regroup(i, before, met)
        if (known > 0.0) != (self.mirror[KNOWN, i] > 0.0):
            self.golds += 1 if self.mirror[KNOWN, i] > 0.0 else -1
        if self.answer_rate > 0.0:
            self.mirror[PER_ANSWER, i] = 1.0
        else:
            r = (K * self.mirror[AGREE, i] - met) / (K - 1.0)
            self.shares.expect(self.mirror[R, i], r)
            self.mirror[R, i] = r
            self.mirror[PER_ANSWER, i] = 1.0 / answers if answers > 0.0 else 0.0
        self.mirror[PAIR_NOISE, i] = 1.0 / (met * (K - 1.0)) if met > 0.0 else 0.0
        self.mirror[CROWD_NOISE, i] = self.mirror[MET2, i] / (met * met) if met > 0.0 else 0.0

    def learn(self, tasks, begin, end, truth, weight):
        """Add a task's labels to the sums, or take them away; copies are kept up to date."""
        known: cython.bint = self.is_copied()
        if known:
            self.extend()
            for z in range(begin + 1, end):
                self.link(tasks.workers[begin], tasks.workers[z])
        self.sums.add_task(tasks, begin, end, truth, weight)
        self.unit = max(self.unit, weight)
        self.named = max(self.named, truth + 1)
        for z in range(begin, end):
            self.named = max(self.named, tasks.labels[z] + 1)
            if known:
                self.copy(tasks.workers[z])
        if known:
            self.note()

    # Groups of workers who share tasks -------------------------------------------------------

    def link(self, i, j):
        """Two workers share a task."""
        i = find(self.sums.groups, i)
        j = find(self.sums.groups, j)
        if i == j:
            return
        join(self.sums.groups, i, j)
        root = find(self.sums.groups, i)
        other = j if root == i else i
        if self.mirror[MEMBERS, root] > 0.0 and self.mirror[MEMBERS, other] > 0.0:
            self.groups -= 1
        self.mirror[MEMBERS, root] += self.mirror[MEMBERS, other]
        self.mirror[GROUP_MET, root] += self.mirror[GROUP_MET, other]
        self.mirror[MEMBERS, other] = self.mirror[GROUP_MET, other] = 0.0
        self.prefer(root)

    def regroup(self, i, before, met):
        """The meetings of a worker have changed."""
        root = find(self.sums.groups, i)
        self.mirror[GROUP_MET, root] += met - before
        if (before > 0.0) == (met > 0.0):
            return
        if met > 0.0:
            self.groups += 1 if self.mirror[MEMBERS, root] == 0.0 else 0
            self.mirror[MEMBERS, root] += 1.0
            self.prefer(root)
            return
        self.mirror[MEMBERS, root] -= 1.0
        self.groups -= 1 if self.mirror[MEMBERS, root] == 0.0 else 0
        if root == self.main:
            self.main = 0
            for other in range(self.n):
                if self.mirror[MEMBERS, other] > self.mirror[MEMBERS, self.main]:
                    self.main = other

    def prefer(self, root):
        """The main group is the largest, the first of equals."""
        members = self.mirror[MEMBERS, root]
        most = self.mirror[MEMBERS, self.main]
        if members > most or (members == most and root < self.main):
            self.main = root

    # Without a task's own labels -------------------------------------------------------------

    def leave_out(self, tasks, begin, end, own):
        """Take away from the copies what a task has added to the sums (see `agreement_loops`)."""
        m = end - begin
        if self.spare.shape[1] < m:
            with cython.gil:
                self.make_spare(2 * m)
        # One group: they share the task.
        self.group_met = self.mirror[GROUP_MET, find(self.sums.groups, tasks.workers[begin])]
        votes = self.sums.votes
        for z in range(begin, end):
            votes[tasks.labels[z]] += 1.0
        for z in range(begin, end):
            i = tasks.workers[z]
            x = tasks.labels[z]
            for j in range(COPIED):
                self.spare[j, z - begin] = self.mirror[j, i]
            self.mirror[AGREE, i] -= own * (votes[x] - 1.0)
            self.mirror[MET, i] -= own * (m - 1)
            self.mirror[MET2, i] -= own * (m - 1) * (m - 2)
            self.mirror[ANSWERS, i] -= own
            if self.truth >= 0:
                self.mirror[KNOWN, i] -= own
                if self.truth == x:
                    self.mirror[RIGHT, i] -= own
            self.derive(i, self.spare[MET, z - begin], self.spare[KNOWN, z - begin])
        for z in range(begin, end):
            votes[tasks.labels[z]] = 0.0
        self.left_out = own
        self.tasks -= own
        self.labelled -= own
        self.is_current = False

    def put_back(self, tasks, begin, end):
        """Undo `leave_out`, to the bit: what was put by comes back."""
        for z in range(begin, end):
            i = tasks.workers[z]
            met = self.mirror[MET, i]
            known = self.mirror[KNOWN, i]
            for j in range(COPIED):
                self.mirror[j, i] = self.spare[j, z - begin]
            self.derive(i, met, known)
        self.mirror[GROUP_MET, find(self.sums.groups, tasks.workers[begin])] = self.group_met
        self.left_out = 0.0
        self.tasks = self.sums.total[0]
        self.labelled = self.sums.total[1]
        self.is_current = False

    # The solution ----------------------------------------------------------------------------

    def read(self):
        """Read from the copies what all workers share, and whether votes are counted."""
        if not self.is_current or self.read_unit != self.unit or self.read_named != self.named:
            self.is_current = True
            self.read_unit = self.unit
            self.read_named = self.named
            self.solve()
        by_gold: cython.bint = self.answer_rate == 0.0 and self.golds > 0
        self.fell_back = self.reason != 0 and not by_gold

    def solve(self):
        """Find the fixed point, or why there is none: sums, evidence, shares, mean, strength."""
        K: cython.double = self.sums.classes
        self.start = (K * ACCURACY - 1.0) / (K - 1.0)
        self.mean = self.start
        self.strength = self.signal = 0.0
        self.by_shares = False
        self.add_up()
        self.reason = self.look()
        if self.reason == 0:
            status = self.shares.find(self.n, self.answer_rate == 0.0)
            if status == 0:
                self.by_shares = True
                self.find_mean()
            else:
                self.reason = AT_CHANCE if status == 1 else NO_ROOT

    def add_up(self):
        """Sums over workers: the top's place, ΣR, R² beyond that of guessers, answers, meetings.

        Guessers' R² is met/(K − 1) on average.
        """
        K: cython.double = self.sums.classes
        guess = self.unit / (K - 1.0)
        shift: cython.double = 0.0
        if self.answer_rate > 0.0:
            # Forgetting starts from â = 0, as if 1/β tasks of no agreement had come before. Without
            # the newest task, unit/β − unit is what it was before it: task t + 1 is decided by t.
            if self.memory > 0.0:
                self.tasks = self.unit * self.memory - self.left_out
            self.shares.scale = 0.0  # R of all workers change with every task
            shift = self.tasks * (self.n - 1.0) / (K - 1.0)
            worth = K / (self.answer_rate * self.answer_rate * (K - 1.0))
            for i in range(self.n):
                self.mirror[R, i] = worth * self.mirror[AGREE, i] - shift
        total: cython.double = 0.0
        squares: cython.double = 0.0
        all_met: cython.double = 0.0
        met_squares: cython.double = 0.0
        answered: cython.double = 0.0
        answer_squares: cython.double = 0.0
        top: cython.Py_ssize_t = 0
        most: cython.double = self.mirror[R, 0] if self.n else 0.0
        for i in range(self.n):
            r = self.mirror[R, i]
            met = self.mirror[MET, i]
            answers = self.mirror[ANSWERS, i]
            total += r
            squares += r * r
            all_met += met
            met_squares += met * met
            answered += answers
            answer_squares += answers * answers
            if r > most:
                most = r
                top = i
        self.shares.top = top
        self.shares.total = total
        self.all_met = all_met
        self.answered = answered
        self.spread = answered * answered - answer_squares
        error = guess * sqrt(max(2.0 * met_squares, 0.0))
        self.evidence = (squares - guess * all_met) / max(error, TINY)

    def look(self):
        """Why the fixed point need not be asked, or 0."""
        if self.answer_rate > 0.0:
            return TOO_FEW if self.n < 3 else 0
        met: cython.double = self.all_met
        if self.groups > 1:
            met = self.mirror[GROUP_MET, self.main]
        members: cython.Py_ssize_t = 0
        if self.groups:
            members = cython.cast(cython.Py_ssize_t, self.mirror[MEMBERS, self.main])
        return reason_of(met, self.all_met, members, self.evidence, self.named)

    def find_mean(self):
        """The mean skill θ̄, and what a share is worth in θ.

        α known: p̂ = ½ + (n/4)(√δ − √v), as in the paper: θ = share/√(u t). Else
        N θ = share √(T/(u κ)), κ = T Σ m(m − 1)/((Σ m)² − Σ N²).
        """
        if self.answer_rate > 0.0:
            self.signal = 1.0 / sqrt(self.shares.scale * self.tasks)
            self.mean = 2.0 * self.signal / self.n
        else:
            self.signal = sqrt(self.spread / (self.shares.scale * self.all_met))
            self.mean = 2.0 * self.signal / self.answered
        if self.shrinkage > 0.0:
            tasks = self.labelled / self.unit
            self.mean = tasks * min(self.mean, 1.0) + self.shrinkage * self.start
            self.mean /= tasks + self.shrinkage
            self.strength = max(self.shrinkage, self.find_strength())

    def find_strength(self):
        """Answers that the mean is worth to each worker, by how much workers differ.

        θ̂ of worker i has the noise (met/(K − 1) + met2 θ̄²)/(met θ̄)²; the variance between
        workers is what is more, less one standard error of itself.
        """
        centre = max(self.mean, 0.1)
        pair = self.unit / (centre * centre)
        crowd = self.unit
        mean = self.mean
        offset = self.shares.offset
        signal = self.signal
        weights: cython.double = 0.0
        between: cython.double = 0.0
        errors: cython.double = 0.0
        answered: cython.double = 0.0
        noises: cython.double = 0.0
        for i in range(self.n):
            noise: cython.double = self.mirror[PAIR_NOISE, i]
            if not noise > 0.0:
                continue
            noise = pair * noise + crowd * self.mirror[CROWD_NOISE, i]
            weight: cython.double = 1.0 / (noise + 0.1)
            weight *= weight
            share = self.mirror[SHARE, i] + self.mirror[RISE, i] * offset
            beyond = share * signal * self.mirror[PER_ANSWER, i] - mean
            error = weight * (noise + 0.02)
            answers = self.mirror[ANSWERS, i]
            weights += weight
            between += weight * (beyond * beyond - noise)
            errors += error * error
            answered += answers
            noises += answers * answers * noise
        variance = between - sqrt(2.0 * errors)
        if not variance > 0.0 or not answered > 0.0:
            return ALIKE_
        return min(noises / (self.unit * answered) * weights / variance, ALIKE_)

    def is_inside(self, i):
        """Whether a worker belongs to the main group; where α is known there is one."""
        return self.answer_rate > 0.0 or find(self.sums.groups, i) == self.main

    def theta(self, i):
        """θ_i: of agreement, shrunk to the mean; answers on known truths count `GOLD`-fold."""
        K: cython.double = self.sums.classes
        answers = self.mirror[ANSWERS, i] / self.unit
        found: cython.double = self.mean
        if self.by_shares:
            share = self.mirror[SHARE, i] + self.mirror[RISE, i] * self.shares.offset
            own = share * self.signal * self.mirror[PER_ANSWER, i]
            inside = self.is_inside(i)
            if self.shrinkage > 0.0:
                counted = answers if inside else 0.0
                found = (counted * own + self.strength * self.mean) / (counted + self.strength)
            elif self.answer_rate > 0.0 or (inside and answers > 0.0):
                found = own
        if self.mirror[KNOWN, i] > 0.0:
            known = self.mirror[KNOWN, i] / self.unit
            direct = (K * (self.mirror[RIGHT, i] / self.unit) - known) / (K - 1.0)
            before: cython.double = self.shrinkage
            if self.by_shares and self.mirror[MET, i] > 0.0:
                before = answers + max(self.strength, self.shrinkage)
            found = (before * found + GOLD * direct) / (before + GOLD * known)
        return found

    def weight_of(self, theta):
        """log(s (K − 1)/(1 − s)) with the accuracy s = 1 − p; equation (1) for two classes."""
        K: cython.double = self.sums.classes
        error: cython.double = (1.0 - theta) * (1.0 - 1.0 / K)
        error = min(max(error, self.clip), 1.0 - self.clip)
        if error <= 0.0:
            return CERTAIN_
        if error >= 1.0:
            return -CERTAIN_
        return log((1.0 - error) * (K - 1.0)) - log(error)

    # Tasks -----------------------------------------------------------------------------------

    def score(self, tasks, begin, end, own, scores, t):
        """The weighted vote by the sums without the task's own labels; they are not changed."""
        self.refresh()
        left_out: cython.bint = own != 0.0 and end > begin
        if left_out:
            self.leave_out(tasks, begin, end, own)
        self.read()
        if self.fell_back:
            count(tasks, begin, end, scores, t)
        else:
            for a in range(scores.shape[1]):
                scores[t, a] = 0.0
            for z in range(begin, end):
                i = tasks.workers[z]
                if self.least > 0.0 and not self.sums.is_known(i, end - begin, own, self.least):
                    continue
                theta = self.theta(i) if i < self.n else self.mean
                scores[t, tasks.labels[z]] += self.weight_of(theta)
        if left_out:
            self.put_back(tasks, begin, end)

    # For Python ------------------------------------------------------------------------------

    def renew(self):
        """Read the sums as they are."""
        self.refresh()
        self.read()

    def fill(
        self,
        theta: cython.double[::1],
        weights: cython.double[::1],
        solved: cython.uchar[::1],
        apart: cython.uchar[::1],
    ):
        """Of every worker θ, the weight, whether it is known, and whether it is in another group.

        After `renew`. Weights are 1 where votes are counted; one more is that of a worker who is
        unknown.
        """
        weights[self.n] = 1.0 if self.fell_back else self.weight_of(self.mean)
        for i in range(self.n):
            theta[i] = self.start if self.fell_back else self.theta(i)
            weights[i] = 1.0 if self.fell_back else self.weight_of(theta[i])
            solved[i] = apart[i] = 0
            if self.by_shares:
                solved[i] = self.is_inside(i) or self.mirror[KNOWN, i] > 0.0
                apart[i] = not solved[i]
            elif not self.fell_back:
                solved[i] = self.mirror[KNOWN, i] > 0.0
