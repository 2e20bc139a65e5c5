"""`Adaptive`: the default. A robust teacher, a flexible student, and sweeps where they are safe."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions import Vote, Votes, value_series
from crowdstream.estimators.base import Estimator
from crowdstream.estimators.independence import excess_correlation, gate_of, mix, pairs_in
from crowdstream.estimators.observer import Packed
from crowdstream.estimators.open_tasks import Opened, OpenTask, StopRule
from crowdstream.estimators.parameters import Families, Ties
from crowdstream.estimators.reading import Reading, Shared, compact, vote_weights
from crowdstream.estimators.reservoir import Reservoir
from crowdstream.estimators.state import Identifiability
from crowdstream.estimators.ties import class_keys
from crowdstream.estimators.votes import (
    Scorer,
    choose,
    majority,
)
from crowdstream.estimators.worker_table import WorkerReading
from crowdstream.labels import TaskId, Vocabulary
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.sums.agreement import AgreementSums, fill

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

SAMPLE = 200_000
"""Labels of a table on which it is measured whether workers err together."""

TWINS = 8
"""Independent twins that a small table is compared with: one alone is off by 0.005 now and then."""

RENEW = 1.1
"""Growth in tasks after which shared readings are renewed: measured harmless."""

FRESH, FEW = 1.25, 20
"""The same in labels, and how many there are at first, where tasks stay open for long."""

LOOK, GROWTH = 100, 2.0
"""Tasks after which a stream first asks whether workers err together, and the growth after which
it asks again."""

FADE = 0.75
"""What an earlier look counts beside the latest."""

ODD = np.uint64(0xD1B54A32D192ED03)
"""Places become keys as multiples of it, mixed: an odd number without a pattern."""


@dataclass(eq=False, repr=False)
class Adaptive(Estimator):
    """Weighs each worker by its skill and its confusions, as far as each can be trusted.

    A teacher (one skill per worker, from agreement beyond the workers' habits) votes; a student
    counts each worker's confusions by the teacher's posteriors; both decide together. Where workers
    prove to err independently, confusions recounted from their own posteriors take over, which is
    then the best possible; where they err together, it is not done. Confidence is lowered by as
    much as they do. Time per label O(K), memory O(n K²).

    Parameters
    ----------
    memory
        About how many tasks to remember, for workers who change; ``None``: all. `Tracking` finds
        out by itself how fast each worker's past fades.
    ties
        ``"coin"``: a fair coin, seeded; ``"lowest"``: the lowest class in sorting order.
    seed
        Random seed for breaking ties and for choosing the sample.
    families
        Workers who do not judge independently (one model, one agency), by the name of their
        family. They do not vouch for one another, and together weigh as they deserve.

    Examples
    --------
    >>> crowd = Adaptive()
    >>> for truth in ["spam", "ham", "ham", "spam"] * 25:
    ...     crowd.learn_one({"ann": truth, "bob": truth, "cy": truth, "parrot": "ham"})
    >>> crowd.predict_one({"ann": "spam", "parrot": "ham"})
    'spam'
    >>> crowd.workers().filter(worker="parrot")["weight"].item() < 0.2
    True
    """

    order_free = False
    _reading_: Reading | None = field(default=None, init=False)
    _renewed: float = field(default=0.0, init=False)
    """Tasks learnt when the shared readings were renewed."""
    _renewed_labels: float = field(default=0.0, init=False)
    """Labels learnt then."""
    _looked: float = field(default=0.0, init=False)
    """Tasks learnt when it was last asked whether workers err together."""
    _pairs: float = field(default=0.0, init=False)
    """Pairs of labels that this was measured on."""

    memory: float | None = None
    ties: Ties = "coin"
    seed: int = 0
    families: Families | None = None

    # State -----------------------------------------------------------------------------------

    @property
    def _reading(self) -> Reading:
        if self._reading_ is None:
            self._reading_ = Reading(self._sums)
            self._sample = Reservoir()
        return self._reading_

    def _make_room(self) -> None:
        super()._make_room()
        classes = self._reading.taught.classes
        self._reading.make_room()
        if self._reading.taught.classes != classes:
            self._renew()

    def _arrays(self) -> list[Floats]:
        reading = self._reading
        return [*super()._arrays(), *reading.taught.arrays(), *reading.swept.arrays()]

    def _scored(self) -> Scorer:
        """What becomes of scores that were made already."""
        reading = self._reading
        if reading.crowd.heads:
            return Scorer(majority, identified=False)
        return Scorer(majority, True, reading.discount, reading.calibrate)

    def _renew(self) -> None:
        """Read anew what all workers share."""
        self._reading.renew(self._unit, len(self._classes))
        self._renewed = float(self._clock)
        self._renewed_labels = float(self._sums.total[2])

    def _room(self, tasks: int) -> int:
        """How many of so many tasks may be learnt before something is due."""
        ahead = int(self._renewed * RENEW) + 1 - self._clock
        if self._clock < self._next_look:  # else it waits for tasks to close
            ahead = min(ahead, self._next_look - self._clock)
        return min(tasks, max(ahead, 1), self._scale.make_room(self._clock, self._arrays()))

    def _renew_if_due(self) -> None:
        if self._clock > self._renewed * RENEW:
            self._renew()

    @property
    def _next_look(self) -> int:
        """The tasks at which it is asked next whether workers err together."""
        return int(max(self._looked * GROWTH, LOOK))

    # Learning --------------------------------------------------------------------------------

    def _learn(self, batch: LabelBatch, sign: int) -> None:
        if sign < 0:
            super()._learn(batch, sign)
            weight = -self._scale.weight(self._clock)
            self._close(batch, weight, own=False)
            self._renew()
        elif batch.truths.size:  # decisions show what confidence is worth
            self._follow(batch)
        else:
            self._go_through(batch, None)

    def _follow(self, batch: LabelBatch) -> Votes:
        votes = Votes.room(len(batch))
        self._go_through(batch, votes)
        return votes._replace(identified=not self._reading.crowd.heads)

    def _go_through(self, batch: LabelBatch, votes: Votes | None) -> None:
        """Learn tasks in order, deciding each before where decisions are asked for."""
        reading, scale = self._reading, self._scale
        at = 0
        while at < len(batch):
            end = at + self._room(len(batch) - at)
            part = batch.part(at, end)
            found = np.empty((len(part) if votes is not None else 0, reading.sums.classes))
            reading.crowd.follow(
                part.starts, part.workers, part.labels, part.truths,
                scale.weight(self._clock), scale.growth, found,
            )  # fmt: skip
            if votes is not None:
                self._judge(part, found, votes.part(at, end))
            self._after(part)
            at = end

    def _judge(self, part: LabelBatch, scores: Floats, votes: Votes) -> None:
        """Decide by scores; where the truth is known, see whether it was right to be so sure."""
        scorer, classes = self._scored(), self._classes
        choose(part, scores, votes, len(classes), self._ties(classes), scorer.rho)
        before = votes.confidences.copy()
        if scorer.calibrate is not None:
            votes.confidences[:] = scorer.calibrate(votes.confidences)
        if part.truths.size and scorer.identified:
            told = (part.truths >= 0) & (votes.winners >= 0)
            right = votes.winners[told] == part.truths[told]
            self._reading.calibration.add(before[told], right)

    def _after(self, part: LabelBatch) -> None:
        """Tasks were learnt: sample them, and renew what is due."""
        self._sample.offer(part, self._place_keys(self._clock, len(part)))
        self._clock += len(part)
        self._look_if_due()
        self._renew_if_due()

    def _look_if_due(self) -> None:
        """Ask the sample now and then whether workers err together."""
        if len(self._sample) and self._clock >= self._next_look:
            self._measure(*self._sample.batch())
            self._looked = float(self._clock)

    def _measure(self, batch: LabelBatch, keys: Keys, twins: int = 1) -> None:
        reading = self._reading
        names = self._workers
        batch, who = compact(batch)
        workers, labels = name_keys([names[i] for i in who]), class_keys(self._classes, "coin")
        labels = np.append(labels, np.zeros(max(2 - labels.size, 0), np.uint64))
        classes = reading.sums.classes
        excess = excess_correlation(batch, classes, keys, workers, labels, twins)
        before, pairs = FADE * self._pairs, pairs_in(batch)
        reading.rho = (before * reading.rho + pairs * excess) / max(before + pairs, 1.0)
        self._pairs = before + pairs
        if self.memory is None:  # confusions that feed on themselves need all tasks to stand on
            reading.crowd.gate = gate_of(reading.rho, self._pairs)

    def _place_keys(self, first: int, tasks: int) -> Keys:
        """A number per task that looks random, of its place in the order of tasks."""
        places = np.arange(first + 1, first + 1 + tasks, dtype=np.uint64)
        return mix(places * ODD ^ np.uint64(self.seed))

    def _name_keys(self, batch: LabelBatch) -> Keys:
        """The same of the task's name, whatever the order."""
        names = value_series("task", batch.tasks)
        return mix(names.hash().to_numpy() ^ np.uint64(self.seed))

    def open_task(self, name: TaskId) -> OpenTask:
        """A task that will take labels; its place in the order of tasks is now."""
        self._renew_if_due()
        return super().open_task(name)

    def _open_many(self, batch: LabelBatch, rule: StopRule) -> Opened | None:
        settle, min_labels, max_labels = rule
        place, size = self._clock, len(batch)
        used, why = np.empty(size, np.int64), np.empty(size, np.int32)
        identified = np.empty(size, np.bool_)
        votes = Votes.room(size)
        reading, scale, keys = self._reading, self._scale, self._ties(self._classes).keys
        at = 0
        while at < size:
            end = at + self._room(size - at)
            part = batch.part(at, end)
            goal = 2.0 if settle is None else reading.calibration.before(settle)
            most = np.inf if max_labels is None else max_labels
            identified[at:end] = not reading.crowd.heads
            rules = np.array([goal, min_labels, most, reading.discount])
            scores = np.empty((len(part), reading.sums.classes))
            reading.crowd.observe_tasks(
                part.starts, part.workers, part.labels, scale.weight(self._clock), scale.growth,
                rules, keys, used[at:end], why[at:end], scores,
            )  # fmt: skip
            taken = part.first(used[at:end])
            self._judge(taken, scores, votes.part(at, end))
            closed = np.flatnonzero(why[at:end])
            keys_here = self._place_keys(self._clock, len(part))
            self._sample.offer(taken.pick(closed), keys_here[closed])
            self._clock += len(part)
            self._look_if_due()
            self._renew_if_due()
            at = end
        taken = batch.first(used)
        self.intake_.tasks += size
        self.intake_.rows += taken.labels.size
        self.intake_.labels += taken.labels.size
        self._tell(taken.pick(np.flatnonzero(why)), 1, in_order=True)
        return Opened(votes, identified, why, place, taken)

    def _learn_closed(self, batch: LabelBatch, place: int) -> None:
        if batch.truths.size and batch.labels.size:
            task = OpenTask.of(batch, 0, place)
            self._judge(batch, self._score_open(task)[1], Votes.room(1))
        self._close(batch, self._scale.weight(place), own=True)
        self._sample.offer(batch, self._place_keys(place, 1))
        self._look_if_due()

    def _close(self, batch: LabelBatch, weight: float, own: bool) -> None:
        """Soft counts of one task."""
        truth = int(batch.truths[0]) if batch.truths.size else -1
        self._reading.crowd.close(batch.workers, batch.labels, truth, weight, own)

    def _fit(self, batch: LabelBatch) -> None:
        """Passes over the table; the order of its rows has no part in the result."""
        if self.memory is not None:
            super()._fit(batch)
            return
        if batch.truths.size:
            self._calibrate(batch)
        reading, named = self._reading, len(self._classes)
        reading.fit(batch, named, sweep=False)
        keys = self._name_keys(batch)
        which = np.argsort(keys, kind="stable")
        which = which[: np.searchsorted(np.cumsum(batch.sizes[which]), SAMPLE) + 1]
        sample = batch.pick(which)
        twins = min(max(SAMPLE // max(4 * sample.labels.size, 1), 1), TWINS)
        self._measure(sample, keys[which], twins)
        if reading.crowd.gate > 0.0:
            reading.sweep(batch)
        self._sample.offer(batch, keys)
        self._clock = len(batch)
        self._renewed = self._looked = float(self._clock)
        self._renewed_labels = float(self._sums.total[2])

    def _calibrate(self, batch: LabelBatch) -> None:
        """See how sure the crowd would have been, without the truths, where they are known."""
        blind = self.clone()
        blind._workers, blind._classes = self._workers, self._classes
        blind._make_room()
        blind._fit(LabelBatch(batch.starts, batch.workers, batch.labels, tasks=batch.tasks))
        told = batch.pick(np.flatnonzero(batch.truths >= 0))
        votes = blind._decide(told, self._workers, self._classes)
        if votes.identified:
            some = votes.winners >= 0
            right = votes.winners[some] == told.truths[some]
            self._reading.calibration.add(votes.confidences[some], right)

    # Reading ---------------------------------------------------------------------------------

    def _scorer(self, sums: AgreementSums, classes: int) -> Scorer:
        return self._reading.scorer()

    def _score_open(self, task: OpenTask) -> tuple[Scorer, Floats]:
        reading = self._reading
        scores = np.empty((1, reading.sums.classes))
        weight = self._scale.weight(task.place)
        reading.crowd.ask(task.workers, task.labels, task.size, True, weight, scores)
        return self._scored(), scores

    def _score_one(self, batch: LabelBatch, classes: Vocabulary) -> tuple[Scorer, Floats]:
        if len(classes) > self._sums.classes:
            return super()._score_one(batch, classes)
        scores = np.empty((1, self._sums.classes))
        size = batch.labels.size
        self._reading.crowd.ask(batch.workers, batch.labels, size, False, 0.0, scores)
        return self._scored(), scores

    def _add_label(self, task: OpenTask) -> Vote:
        reading = self._reading
        if self._sums.total[2] > self._renewed_labels * FRESH + FEW * self._unit:
            self._renew()
        scores = np.empty((1, reading.sums.classes))
        reading.crowd.observe(
            task.workers, task.labels, task.size, task.truth,
            self._scale.weight(task.place), scores,
        )  # fmt: skip
        return self._pick(task, self._classes, self._scored(), scores)

    @property
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far say who is to be trusted, and if not, why."""
        reading = self._reading
        if reading.reason and not reading.crowd.heads:
            return Identifiability(True, "only by the truths that were given")
        return Identifiability(not reading.reason, reading.reason)

    def _skills(self) -> Floats:
        """How much better than chance each worker is."""
        return self._reading.skills()

    @property
    def mean_skill_(self) -> float:
        """The same of a worker of whom nothing is known."""
        return float(self._reading.teacher.mean)

    @property
    def mean_accuracy_(self) -> float:
        """How often a worker of whom nothing is known is right."""
        return float(1.0 - self._reading.typical_error)

    @property
    def excess_correlation_(self) -> float:
        """How much more workers err together, within a task, than independent ones would."""
        return max(self._reading.rho, 0.0)

    def _read(self) -> WorkerReading:
        sums, reading = self._sums, self._reading
        n, k = sums.workers, sums.classes
        apart = sums.groups != reading.teacher.main
        solved = np.full(n, bool(self.identifiable_)) & ~(apart & (reading.reason == ""))
        confusions, prior = reading.confusions(), reading.prior()
        errors = 1.0 - np.einsum("iaa,a->i", confusions, prior / prior.sum())
        return WorkerReading(
            errors=np.clip(errors, 0.0, 1.0),
            weights=vote_weights(reading.skills(), k),
            solved=solved,
            apart=apart & bool(self.identifiable_),
            confusions=confusions,
            prior=prior / prior.sum(),
        )

    # Merging and saving ----------------------------------------------------------------------

    def _merge(self, other: Estimator, names: Ints, classes: Ints) -> None:
        assert isinstance(other, Adaptive)
        super()._merge(other, names, classes)
        mine, theirs = self._reading, other._reading
        mine.taught.merge(theirs.taught, names, classes)
        mine.swept.merge(theirs.swept, names, classes)
        mine.calibration.sums += theirs.calibration.sums
        mine.calibration.known |= theirs.calibration.known
        self._sample.merge(other._sample, names, classes)
        self._clock = max(self._clock, other._clock) if self.memory else self._clock + other._clock
        self._looked = 0.0
        self._look_if_due()
        self._renew()

    def _pack(self) -> Packed:
        reading = self._reading
        found = super()._pack()
        for name, part in (("taught", reading.taught), ("swept", reading.swept)):
            found |= {f"{name}.{key}": array for key, array in part.pack().items()}
        found |= {f"sample.{key}": array for key, array in self._sample.pack().items()}
        found |= {f"shared.{key}": v for key, v in reading.save()._asdict().items()}
        found["calibration"] = reading.calibration.sums
        found["moments"] = np.array(
            [self._renewed, self._renewed_labels, self._looked, self._pairs]
        )
        return found

    def _unpack(self, arrays: Packed) -> None:
        super()._unpack(arrays)
        n, k = self._sums.workers, self._sums.classes
        reading = self._reading
        reading.taught.unpack(_under(arrays, "taught"), n, k)
        reading.swept.unpack(_under(arrays, "swept"), n, k)
        self._sample.unpack(_under(arrays, "sample"), n, k)
        fill({"calibration": reading.calibration.sums}, arrays)
        reading.calibration.known = reading.calibration.tasks > 0
        reading.restore(Shared(**_under(arrays, "shared")))  # type: ignore[arg-type]
        reading.reason = reading.why_not(len(self._classes))
        moments = arrays["moments"].tolist()
        self._renewed, self._renewed_labels, self._looked, self._pairs = moments


def _under(arrays: Packed, name: str) -> Packed:
    """The arrays whose names begin so, without that."""
    return {
        key.removeprefix(name + "."): array
        for key, array in arrays.items()
        if key.startswith(name + ".")
    }


def name_keys(names: Iterable[str | int]) -> Keys:
    """A number per name."""
    found = [zlib.crc32(msgspec.msgpack.encode(name)) for name in names]
    return np.array(found, np.uint64) * ODD
