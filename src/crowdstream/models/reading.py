"""Teacher and students over the sums of a crowd: shared readings, and scores by them.

The teacher reads agreement sums, the taught student counts confusions by the teacher's posteriors,
the swept student by its own. Formulas in docs/how-it-works.md. Knows workers, classes and tasks by
their codes only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.models.confusion_loops import Student
from crowdstream.models.crowd_loops import SCORES, Crowd
from crowdstream.models.dependence import TOGETHER
from crowdstream.models.fallback import MAJORITY, NO_MEETINGS, majority, why_not
from crowdstream.models.families import correlations
from crowdstream.models.gold_model import GoldModel
from crowdstream.models.horizons import HorizonSums
from crowdstream.models.passes import CountPosteriors, Hidden
from crowdstream.models.scorer import (
    GatedVotes,
    LikelihoodVotes,
    Score,
    Scorer,
    TableVotes,
    WeightedVotes,
)
from crowdstream.models.scoring_loops import FamilyPowers
from crowdstream.models.teacher import (
    new_teacher,
    pack_teacher,
    renew_teacher,
    skills_of,
    unpack_teacher,
    vote_odds,
    vote_weights,
)
from crowdstream.serialization import Packed, over, under
from crowdstream.sums.agreement import AgreementSums, fill
from crowdstream.sums.confusions import ConfusionSums
from crowdstream.sums.rows import FEW_CLASSES

Floats = NDArray[np.float64]

DecidedBy = Literal["weighted_vote", "common_factor_vote", "gold"]
"""The vote that decides; "gold": all scores, as known truths weigh them."""

UNSEEN = 4.0
"""Times the excess correlation by which confidence is discounted: it is measured at the posterior
of the same labels, so tasks on which the crowd is wrong together look as if it were right. On 18
public sets 1, 2 and 4 gave a calibration error of 0.12, 0.10 and 0.085."""

ALIKE = 0.9
"""Correlation of errors within a task that the common factor takes into account at most."""

DENSE = 0.5
"""Density from which on workers are a panel: each has seen most tasks. On dense sets whose workers
err together the common factor won or tied on seven of eight; on others it lost as often as it won.
"""

TRUSTED, HALVINGS = (1e-3, 10.0), 40
"""Factors between which the common factor's is looked for, by halving: to the last digits."""

PANEL: Floats = np.array([0.25, 0.0, 0.75])
"""What the scores of a panel weigh before any truth is known."""

WEAK = 1.0
"""Answers that the prior of confusions is worth where they are the likeliest there are. What more
is worth is multiplied where one worker knows much more than the others: with 8 answers, an error
rate of 0.02 is read as 0.03 from 20,000 tasks."""

NOTHING: Floats = np.empty(0)


class Reading:
    """Teacher and students, and the sums they read.

    ``reason``: why the crowd cannot be identified by agreement, if so.
    """

    def __init__(self, sums: AgreementSums) -> None:
        self.sums = sums
        self.taught = ConfusionSums()
        self.swept = ConfusionSums()
        self.reason = NO_MEETINGS
        self._rho = 0.0
        self.converged = False
        """Whether the swept confusions are the likeliest there are (see `converging`)."""
        self._even = False
        self.gold = GoldModel()
        self.hidden: Hidden | None = None
        """The truths that it must not know."""
        self.turn = threading.Lock()
        """Held while tasks are worked out in the crowd's arrays."""
        self.powers = FamilyPowers(sums.loops, NOTHING)
        self.horizons = HorizonSums(self.powers)
        """What workers did lately; learnt only where `watch` was called."""
        self._set_classes(gate=0.0, fell_back=True)

    def watch(self) -> None:
        """Watch from now on whether workers change, to follow them where that is shown."""
        self.horizons.change.watching = True

    @property
    def changing(self) -> bool:
        """Return True while evidence shows that workers change; short memories decide then."""
        return self.horizons.change.shown and not self.crowd.fell_back

    @property
    def rho(self) -> float:
        """How much more errors within a task are correlated than independent ones would be."""
        return self._rho

    @rho.setter
    def rho(self, excess: float) -> None:
        self._rho = excess
        self.crowd.rho = min(max(excess, 0.0), ALIKE)
        self.crowd.discount = self.discount
        self._find_panel()

    def weigh_panel(self, batch: LabelBatch) -> None:
        """Find how far the common factor is trusted: so that it is as sure as the second look.

        It is the better vote in a panel, but far too sure of itself, and labels do not tell by how
        much; of the second look it is known how much correlated errors take from it.
        """
        self.crowd.trust = 1.0
        if self.crowd.panel and not self.crowd.fell_back and len(batch):
            factor = self._scores(batch, self.by_common_factor())
            self.crowd.trust = as_sure_as(factor, self._discounted(batch, self.by_logs()))

    def weigh_sweeps(self, batch: LabelBatch) -> None:
        """Let sweeps over a table with few labels per number be as sure as the second look at most.

        Each worker's confusions are counted by the tasks that they decide. With few labels per
        number, as with many classes, a task then agrees with itself: of decisions by 500 workers in
        50 classes 1.6 % were wrong where 0.002 % were claimed. Which class wins is not changed.
        """
        crowd = self.crowd
        if crowd.gate <= 0.0 or crowd.panel or crowd.fell_back or not len(batch):
            return
        swept = self._discounted(batch, self.by_logs())
        second = self._discounted(batch, self.by_second_look())
        crowd.trust = min(as_sure_as(swept, second), 1.0)

    def _scores(self, batch: LabelBatch, score: Score) -> Floats:
        scores = np.empty((len(batch), self.sums.classes))
        score(batch, scores)
        return scores

    def _discounted(self, batch: LabelBatch, score: Score) -> Floats:
        """Return scores as confidence takes them: less sure where errors are correlated."""
        others = np.maximum(batch.sizes - 1, 0)[:, None]
        return self._scores(batch, score) / (1.0 + others * self.discount)

    def _find_panel(self) -> None:
        """Let the common factor decide where a dense panel errs together."""
        self.crowd.panel = self._rho >= TOGETHER and is_dense(self.sums)

    @property
    def even(self) -> bool:
        """Whether by the swept confusions workers differ by one number each."""
        return self._even

    @even.setter
    def even(self, even: bool) -> None:
        self._even = self._students[1].even = even

    # The loops' objects ----------------------------------------------------------------------

    def make_room(self) -> None:
        """Have as many confusions as there are workers and classes, known to the loops."""
        n, k, before = self.sums.workers, self.sums.classes, self.taught.counts
        if k != self.taught.classes:
            self._set_classes(self.crowd.gate, self.crowd.fell_back, self.crowd.trust)
        self._make_room_for_students()
        if self.taught.counts is not before:
            self._bind()
        for reader in (self.teacher, *self._students):
            reader.workers = n

    def reserve(self, workers: int) -> None:
        """Have confusions for so many workers, who are yet to be met, known to the loops."""
        before = self.taught.counts
        for student in (self.taught, self.swept):
            student.reserve(workers)
        if self.taught.counts is not before:
            self._bind()

    def _set_classes(self, gate: float, fell_back: bool, trust: float = 1.0) -> None:
        """Make the loops' objects for as many classes as the sums have."""
        k = self.sums.classes
        self._make_room_for_students()
        self._prior = np.full(k, 1.0 / k), np.full(k, 1.0 / k)
        # Zeros, as they are saved even by a teacher alone, whose students read nothing.
        self._pooled = np.zeros((k + 1, k)), np.zeros((k + 1, k))
        self.teacher = new_teacher(self.sums, self.powers)
        one, two = (
            Student(self.powers, pooled, prior, np.empty(k), np.zeros(k), np.empty(k, np.int32))
            for pooled, prior in zip(self._pooled, self._prior, strict=True)
        )
        self._students = one, two
        self._bind()
        self.horizons.set_classes(k)
        self.crowd = Crowd(self.sums.loops, self.teacher, *self._students, self.horizons.change)
        self.crowd.gate, self.crowd.fell_back = gate, fell_back
        self.crowd.trust = trust
        self.rho, self.even = self._rho, self._even
        self.gold.make_room(k)
        self.use_gold()
        self.renew_students(1.0)

    def _make_room_for_students(self) -> None:
        for student in (self.taught, self.swept):
            student.make_room(self.sums.workers, self.sums.classes)

    def _bind(self) -> None:
        for student, sums in zip(self._students, (self.taught, self.swept), strict=True):
            sparse = None if sums.sparse is None else sums.sparse.loops
            student.bind(sums.counts, sparse, sums.mass)

    # Saving ----------------------------------------------------------------------------------

    def pack(self) -> Packed:
        """All but the agreement sums."""
        crowd = {
            "gate": np.array(self.crowd.gate),
            "fell_back": np.array(self.crowd.fell_back),
            "excess": np.array(self.rho),
            "converged": np.array(self.converged),
            "even": np.array(self.even),
            "trust": np.array(self.crowd.trust),
            "families": np.array(self.powers.rho),
        }
        found = over("teacher", pack_teacher(self.teacher)) | over("crowd", crowd)
        for name, j in (("taught", 0), ("swept", 1)):
            student, sums = self._students[j], (self.taught, self.swept)[j]
            shared = {
                "strength": np.array(student.strength),
                "typical": np.array(student.typical),
                "prior": self._prior[j],
                "pooled": self._pooled[j],
            }
            found |= over(name, sums.pack() | shared)
        if self.horizons.change.watching:
            found |= over("change", self.horizons.pack())
        return found | over("gold", self.gold.pack())

    def unpack(self, arrays: Mapping[str, NDArray[Any]], named: int) -> None:
        """Take over what `pack` gave, of a crowd that has seen so many classes."""
        n, k = self.sums.workers, self.sums.classes
        self.gold.unpack(under("gold", arrays), k)
        unpack_teacher(self.teacher, under("teacher", arrays))
        for name, j in (("taught", 0), ("swept", 1)):
            student, sums, shared = (
                self._students[j],
                (self.taught, self.swept)[j],
                under(name, arrays),
            )
            sums.unpack(shared, n, k)
            student.strength, student.typical = shared["strength"].item(), shared["typical"].item()
            fill({"prior": self._prior[j], "pooled": self._pooled[j]}, shared)
        crowd = under("crowd", arrays)
        self.rho = crowd["excess"].item()
        self.converged, self.even = crowd["converged"].item(), crowd["even"].item()
        self.crowd.trust = crowd["trust"].item()
        self.crowd.gate, self.crowd.fell_back = crowd["gate"].item(), crowd["fell_back"].item()
        self.powers.rho = np.array(crowd["families"])
        change = under("change", arrays)
        if change:
            self.watch()
            self.horizons.unpack(change)
        self.reason = why_not(self.teacher, named)
        self.use_gold()

    def __reduce__(self) -> tuple[Callable[..., Reading], tuple[object, ...]]:
        return _restored, (self.sums, self.pack(), self.reason, self.hidden)

    # Reading ---------------------------------------------------------------------------------

    def renew(self, unit: float, named: int) -> None:
        """Read anew what all workers share."""
        self.renew_teacher(unit, named)
        self.renew_students(unit)
        self.use_gold()

    def renew_teacher(self, unit: float, named: int) -> None:
        """Read the agreement sums anew."""
        renew_teacher(self.teacher, self.sums, unit)
        self.reason = why_not(self.teacher, named)
        self._find_panel()
        known = self.sums.known.any()
        self.crowd.fell_back = bool(self.reason) and not known
        self.renew_families()

    def renew_families(self) -> None:
        """Read anew how far members of families err together."""
        some = len(self.sums.relatives) > 0
        self.powers.rho = correlations(self.sums, self.skills()) if some else NOTHING

    def use_gold(self, gold: GoldModel | None = None) -> None:
        """Let the crowd score by what known truths say of the scores, if any are known."""
        k, self.gold = self.sums.classes, gold or self.gold
        self.crowd.bind(
            self.gold.weights, self.gold.bias, np.empty((SCORES, k)), np.empty((SCORES, k))
        )
        self.crowd.golden = self.gold.known and not self.crowd.fell_back

    def renew_gold(self) -> None:
        """Weigh the scores anew by the truths known so far."""
        self.gold.renew(self.prior_weights)
        self.use_gold()

    @property
    def prior_weights(self) -> Floats:
        """Return what the scores weigh before any truth is known."""
        if self.crowd.panel:
            return PANEL.copy()
        g = self.crowd.gate
        return np.array([(1.0 - g) / 2.0, g, (1.0 - g) / 2.0])

    def renew_students(self, unit: float) -> None:
        """Read the confusions anew."""
        n, (one, two) = self.sums.workers, self._students
        strength, shares = self.teacher.strength, self.teacher.f
        one.renew(n, strength, unit, shares)
        two.workers = n
        strength = WEAK if self.converged else two.spread_strength(strength, unit)
        two.renew(n, strength, unit, shares)

    def renew_swept(self) -> None:
        """Read the swept confusions anew, shrunk as before."""
        student = self._students[1]
        if self.converged:
            student.strength = WEAK
        student.renew(self.sums.workers, student.strength, 1.0, self.teacher.f)

    def skills(self) -> Floats:
        """Every worker's skill."""
        return skills_of(self.teacher, self.sums.workers)

    @property
    def believed(self) -> int:
        """The student that is believed more: 0 the taught, 1 the swept one."""
        return 1 if self.crowd.gate > 0.5 else 0

    @property
    def typical_error(self) -> float:
        """Return how often the crowd errs."""
        return self._students[self.believed].typical

    def prior(self) -> Floats:
        """Return how frequent the classes are."""
        return self._prior[self.believed]

    def confusions(self) -> tuple[Floats, Floats]:
        """p(said | class) of every worker by the student believed; error rates by either student.

        Confusions are by worker, class and said; error rates have one row per student.
        """
        n, k = self.sums.workers, self.sums.classes
        found, errors = np.empty((2, n, k, k)), np.empty((2, n))
        for j, (student, prior) in enumerate(zip(self._students, self._prior, strict=True)):
            student.fill_confusions(found[j])
            errors[j] = 1.0 - np.einsum("iaa,a->i", found[j], prior / prior.sum())
        return found[self.believed].transpose(0, 2, 1), np.clip(errors, 0.0, 1.0)

    # Scores ----------------------------------------------------------------------------------

    def scorer(self, score: Score | None = None) -> Scorer:
        """The gated scores, or majority vote where the crowd cannot be identified.

        ``score``: a way to score that is ready already.
        """
        if self.crowd.fell_back:
            return MAJORITY
        if self.crowd.golden:
            return Scorer(score or self.by_crowd(), True, 0.0, self._calibrate)
        if self.crowd.panel or self.changing:
            return Scorer(score or self.by_crowd(), True, self.discount)
        return Scorer(score or self.by_logs(), True, self.discount)

    def scored(self) -> Scorer:
        """Return the same for scores that were made already."""
        return self.scorer(majority)

    @property
    def decided_by(self) -> DecidedBy:
        """Whose vote a table's decisions are: the default's, the common factor's, or gold weighs.

        (Of workers who are shown to change in a stream, their latest labels decide instead.)
        """
        if self.crowd.golden:
            return "gold"
        together = self.crowd.panel and not self.crowd.fell_back
        return "common_factor_vote" if together else "weighted_vote"

    def panel_scorers(self) -> tuple[Scorer, Scorer] | None:
        """Scorers of a panel's two votes, the default's and the common factor's.

        ``None`` where workers are no panel or cannot be identified. Neither vote knows what gold
        says of the scores.
        """
        if self.crowd.fell_back or not is_dense(self.sums):
            return None
        default = Scorer(self.by_logs(), True, self.discount)
        return default, Scorer(self.by_common_factor(), True)

    def _calibrate(self, confidences: Floats) -> Floats:
        """Confidences as known truths bear them out; the winner's is never below an even share."""
        return np.maximum(self.gold.line.apply(confidences), 1.0 / self.sums.classes)

    def before(self, confidence: float) -> float:
        """The confidence by the crowd's scores that is this one once known truths correct it."""
        return self.gold.line.before(confidence) if self.crowd.golden else confidence

    @property
    def discount(self) -> float:
        """The correlation of errors by which confidence is discounted, at most 1.

        Beyond 1 another vote for the winner would lower its confidence.
        """
        return min(UNSEEN * max(self._rho, 0.0), 1.0)

    def by_logs(self) -> Score:
        """By teacher and students together."""
        k, crowd = self.sums.classes, self.crowd
        if k > FEW_CLASSES and self._multiplies:
            swept = self._by_swept_products() if crowd.gate > 0.0 else None
            return GatedVotes(self._by_second_products(), swept, crowd.gate, crowd.trust)
        logs, prior = np.empty((self.sums.workers + 1, k, k)), np.empty(k)
        self.crowd.fill_logs(logs, prior)
        return self._with_tables(logs, prior)

    def second_look(self, batch: LabelBatch) -> Ints:
        """Return what teacher and taught student decide together, without the swept confusions."""
        return np.asarray(self._scores(batch, self.by_second_look()).argmax(axis=1))

    def by_second_look(self) -> Score:
        """By teacher and taught student alone."""
        if self._multiplies:
            return self._by_second_products()
        gate, self.crowd.gate = self.crowd.gate, 0.0
        score = self.by_logs()
        self.crowd.gate = gate
        return score

    def by_swept_or_all(self) -> Score:
        """Return what more tasks of a stream are counted by in the swept confusions.

        Their own posteriors where they are believed; where they are not, all scores as known truths
        weigh them, or teacher and taught student.
        """
        if self.crowd.gate > 0.0:
            return self.by_swept()
        return self.by_crowd() if self.crowd.golden else self.by_second_look()

    def count_by(self, score: Score) -> CountPosteriors:
        """The pass that counts posteriors by these scores."""
        return CountPosteriors(score, self.sums.workers, self.sums.classes, self.hidden)

    def by_crowd(self) -> Score:
        """By all that the crowd's scores are made of, where known truths weigh them."""
        return CrowdVotes(self)

    def by_common_factor(self) -> Score:
        """By the common factor alone, as sure of itself as it is."""
        return CommonFactorVotes(self)

    def by_swept(self) -> Score:
        """By the swept confusions alone."""
        if self._multiplies:
            return self._by_swept_products()
        return self._with_tables(*self.swept_logs(1))

    @property
    def _multiplies(self) -> bool:
        """Return whether posteriors are products; relatives' labels count to fractional powers."""
        return self.sums.classes > 2 and not len(self.sums.relatives)

    def _by_second_products(self) -> LikelihoodVotes:
        skills = np.append(self.skills(), self.teacher.mean)
        return self._by_likelihoods(0, vote_odds(skills, self.sums.classes, self.teacher.cap), True)

    def _by_swept_products(self) -> LikelihoodVotes:
        return self._by_likelihoods(1, np.ones(self.sums.workers + 1), False)

    def _by_likelihoods(self, which: int, odds: Floats, root: bool) -> LikelihoodVotes:
        """Return votes by the confusions of one student, times odds of the label's own class.

        The last of the odds is for workers who are unknown.
        """
        student, sums = self._students[which], (self.taught, self.swept)[which]
        n = self.sums.workers
        own, off, on = np.empty((3, n + 1, self.sums.classes))
        student.fill_rows(own, off, on)
        pooled, prior = self._pooled[which], self._prior[which]
        said = sums.counts if sums.sparse is None else sums.sparse
        return LikelihoodVotes(said, n, own, off, on, pooled, prior, odds, root)

    def by_confusions(self, logs: Floats, prior: Floats) -> Score:
        """By these confusions, in logarithms; a worker who is unknown has no say."""
        return self._with_tables(np.pad(logs, ((0, 1), (0, 0), (0, 0))), prior)

    def swept_logs(self, more: int = 0) -> tuple[Floats, Floats]:
        """Logarithms of the swept confusions, by worker, said and class, and of their prior.

        ``more``: rows for workers who are unknown.
        """
        n, k = self.sums.workers, self.sums.classes
        table = np.empty((n + more, k, k))
        self._students[1].fill_confusions(table)
        return np.log(table), np.log(self._prior[1])

    def by_skills(self) -> Score:
        """By the teacher alone."""
        k, prior = self.sums.classes, np.log(self.teacher.f)
        weights = vote_weights(np.append(self.skills(), self.teacher.mean), k, self.teacher.cap)
        if len(self.sums.relatives):  # labels count to the power of their families
            return self._with_tables(weights[:, None, None] * np.eye(k), prior)
        return WeightedVotes(weights, prior)

    def _with_tables(self, logs: Floats, prior: Floats) -> Score:
        return TableVotes(logs, prior, self.sums.family, np.array(self.powers.rho))

    def features(self, batch: LabelBatch) -> Floats:
        """The scores of tasks that known truths are to weigh."""
        found = np.empty((len(batch), SCORES, self.sums.classes))
        self.crowd.look_at(batch.coded, 0.0, found)
        return found

    def posteriors(self, batch: LabelBatch) -> Floats:
        """By the swept confusions alone."""
        score = self.by_swept()
        if isinstance(score, LikelihoodVotes):
            return score.posteriors(batch)
        scores = self._scores(batch, score)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def is_dense(sums: AgreementSums) -> bool:
    """Whether the workers are a panel: each has labelled most tasks."""
    return sums.density >= DENSE


def as_sure_as(scores: Floats, others: Floats) -> float:
    """The factor of scores under which their winners are as likely, in the mean, as others'.

    >>> scores = np.array([[0.0, 4.0], [8.0, 0.0]])
    >>> round(as_sure_as(scores, scores / 2), 3)
    0.5
    """
    wanted, (low, high) = _mean_confidence(others), TRUSTED
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        if _mean_confidence(middle * scores) < wanted:
            low = middle
        else:
            high = middle
    return float((low * high) ** 0.5)


def _mean_confidence(scores: Floats) -> float:
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return float(np.mean(1.0 / odds.sum(axis=1)))


class CrowdVotes:
    """Scores by all that a reading knows; one thread at a time, in arrays that it has once."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __call__(self, batch: LabelBatch, scores: Floats) -> None:
        """Fill in the scores of some tasks."""
        with self._reading.turn:
            self._reading.crowd.score_tasks(batch.coded, scores)


class CommonFactorVotes:
    """Scores by the common factor alone; one thread at a time, in the crowd's arrays."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __call__(self, batch: LabelBatch, scores: Floats) -> None:
        """Fill in the scores of some tasks."""
        with self._reading.turn:
            self._reading.crowd.fill_common_factor(batch.coded, scores)


def _restored(sums: AgreementSums, arrays: Packed, reason: str, hidden: Hidden | None) -> Reading:
    """A reading that was pickled."""
    reading = Reading(sums)
    reading.make_room()
    reading.unpack(arrays, sums.classes)
    reading.reason, reading.hidden = reason, hidden
    return reading
