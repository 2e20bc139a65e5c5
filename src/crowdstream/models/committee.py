"""`Committee`: a robust teacher, two flexible students, and sweeps where they are safe.

Decides when `Reading` reads anew, what it is fitted to and what is measured; knows no formulas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.defaults import SETTLE
from crowdstream.errors import SureInDoubt
from crowdstream.labels.batch import NO_TRUTHS, Codes, Ints, LabelBatch
from crowdstream.models.centred import Centred
from crowdstream.models.converging import SAMPLE as CONVERGED
from crowdstream.models.converging import converge, go_on, is_enough
from crowdstream.models.copies import Copies, as_one
from crowdstream.models.copy_passes import GOLD_TASKS, ChooseGold, find_in
from crowdstream.models.crowd_loops import SCORES
from crowdstream.models.dependence import (
    CANNOT_TELL,
    INDEPENDENT,
    TOGETHER,
    Dependence,
    error_of_excess,
)
from crowdstream.models.dependence import verdict as dependence_verdict
from crowdstream.models.fallback import verdict
from crowdstream.models.fitting import (
    LookAtGold,
    LookAtTruths,
    add_tasks,
    fit_students,
    recount_by_gold,
    sweep,
    teach_students,
)
from crowdstream.models.gold_model import FEWEST, ROWS, GoldModel
from crowdstream.models.independence import (
    compact,
    first_tasks,
    gate_of,
    measure_excess,
    pairs_in,
)
from crowdstream.models.model import Floats, Model, Use, WorkerReading
from crowdstream.models.passes import (
    AddTasks,
    ChooseTasks,
    Folds,
    GoldKeys,
    GoldNumbers,
    Hidden,
    InMemory,
    Pass,
    TaskTable,
    gold_tasks,
)
from crowdstream.models.reading import Reading
from crowdstream.models.reservoir import LABELS, TASKS, TOTAL, Reservoir
from crowdstream.models.scorer import Scorer
from crowdstream.models.scoring_loops import Scoring
from crowdstream.models.teacher import error_rates
from crowdstream.models.vote_effects import vote_effects
from crowdstream.schedule import GOLD, LOOKS
from crowdstream.serialization import Packed, over, under
from crowdstream.sums.agreement import AgreementSums
from crowdstream.sums.confusions import ConfusionSums

SAMPLE = 200_000
"""Labels of a table's sample."""

MEASURED, PER_WORKER = 60_000, 200
"""Labels of a sample on which it is measured whether workers err together, or so many per worker if
that is more: of workers who are hardly known, joint errors are not seen."""

TWINS, FEW_TWINS = 8, 3
"""Independent twins that a table is compared with at most, and a stream, which is again and again.
"""

AS_ONE = 0.5
"""Correlation of errors in a family from which on it has one label a task where it is measured
whether workers err together: half-way between workers who err independently and as one."""

SHOWN = 0.75
"""Gate from which on confusions that converged are believed alone: an excess correlation of a
hundredth, its standard error included, is one of no matter. What is left of the second look would
cost decisions for ever."""

EARLIER = 0.75
"""What earlier measurements count beside the latest."""

FOLDS = 5
"""Parts of the gold, each judged by a crowd that knows the others."""

NO_SCORES: Floats = np.empty((0, 2))


class Committee(Model):
    """Teacher and students of one crowd, and a sample on which it is measured how they err."""

    version = 3
    order_free = False

    def __init__(
        self, memory: float | None, families: int, seed: int, discounts_copies: bool = True
    ) -> None:
        super().__init__(memory, families)
        self.discounts_copies = discounts_copies
        self.copies: Copies = Copies()
        """Groups of workers who copy, or may do so, as they were last looked for."""
        self.gold_sample = Reservoir(GOLD_TASKS, truths=True)
        self.seed = seed
        self.reading = Reading(self.sums)
        if not self.forgets:  # who says how much to remember gets that
            self.reading.watch()
        self.sample = Reservoir()
        self.looked = 0.0
        """Tasks learnt when it was last measured whether workers err together."""
        self.pairs = 0.0
        """Pairs of labels that this was measured on."""
        self._before: ConfusionSums | None = None
        """The swept counts as they were at the last look, where they are the likeliest."""
        self._stale = False

    @property
    def scoring(self) -> Scoring:
        """Teacher and students together."""
        return self.reading.crowd

    def make_room(self, workers: int, classes: int, named: int) -> None:
        """Have room for so many workers and classes."""
        super().make_room(workers, classes, named)
        before = self.reading.taught.classes
        self.reading.make_room()
        if self.reading.taught.classes != before:
            self.renew()

    def reserve(self, workers: int) -> None:
        """Have room for so many workers, some of whom a stream's loop may meet by itself."""
        super().reserve(workers)
        self.reading.reserve(workers)

    def fold(self, homes: Codes, places: int) -> Model:
        """Go on by agreement alone: places have no confusions."""
        self._use_copies(Copies())  # places are not compared
        super().fold(homes, places)
        self.sample.fold(homes)
        return Centred.by_places(self, self.sample, self.seed)

    def arrays(self) -> list[Floats]:
        """All sums that forgetting scales."""
        reading = self.reading
        return [*super().arrays(), *reading.taught.arrays(), *reading.swept.arrays()]

    # When what is due ------------------------------------------------------------------------

    def renew(self) -> None:
        """Read anew what all workers share."""
        self.reading.renew(self.unit, self.named)
        super().renew()

    def _changed(self) -> None:
        """Readings are renewed as the schedule says, whatever was learnt."""

    def _parts(self, batch: LabelBatch) -> Iterator[tuple[int, int]]:
        """Parts of a batch, each ending where something is due."""
        at = 0
        while at < len(batch):
            ahead = min(self.schedule.tasks_left(self.clock), self._until_gold(batch, at))
            if self.clock < self.due_at:  # else it waits for tasks to close
                ahead = min(ahead, self.due_at - self.clock)
            ahead = min(max(ahead, 1), self.scale.make_room(self.clock, self.arrays()))
            end = min(at + ahead, len(batch))
            yield at, end
            at = end

    def _until_gold(self, batch: LabelBatch, at: int) -> int:
        """Tasks from this one on until there is gold enough to weigh the scores anew."""
        if not batch.truths.size:
            return len(batch)
        gold = self.reading.gold
        ahead = max(int(gold.fitted * GOLD) + 1, FEWEST) - gold.seen
        where = np.flatnonzero(batch.truths[at:] >= 0)
        return int(where[ahead - 1]) + 1 if 0 < ahead <= where.size else len(batch)

    @property
    def line(self) -> tuple[float, float, float] | None:
        """Return how known truths correct confidences, if any do."""
        return self.reading.gold.line if self.reading.crowd.golden else None

    @property
    def due_at(self) -> int:
        """The tasks at which it is measured next whether workers err together."""
        return int(LOOKS.next_after(self.looked))

    def _look_if_due(self) -> None:
        """Measure on the sample now and then whether workers err together."""
        if self.sample and self.clock >= self.due_at:
            self.sample.settle()
            batch, _ = self.sample.batch()
            answers = np.bincount(batch.workers, minlength=self.sums.workers)
            changed = self._use_copies(self._find_copies(InMemory(batch), batch, answers))
            self._measure(batch, FEW_TWINS)
            self._converge(batch)
            self.looked = float(self.clock)
            if changed:
                self.renew()

    def _find_copies(self, table: TaskTable, sample: LabelBatch, answers: Ints | Floats) -> Copies:
        return find_in(table, sample, self.sums, self.gold_sample, answers, self.seed)

    def _use_copies(self, copies: Copies) -> bool:
        """Remember who copies; treat them as families if asked to: whether families changed.

        Sums that were added before stay as they are.
        """
        self.copies = copies
        groups = copies.declared if self.discounts_copies else []
        before = self.sums.family.copy()
        pairs = np.array([[group.met, group.same] for group in groups], np.float64).reshape(-1, 2)
        members = [group.members for group in groups]
        if not members and len(self.sums.relatives) == self.sums.declared:
            return False
        now = before.copy()
        now[before >= self.sums.declared] = -1
        for number, who in enumerate(members, start=self.sums.declared):
            now[who] = number
        if np.array_equal(now, before):
            return False
        self.sums.set_found(members, pairs * self.unit)
        self.reading.renew_families()
        return True

    def _converge(self, batch: LabelBatch) -> None:
        """Bring the swept confusions to the likeliest there are, if they are believed.

        As long as the sample has all tasks, on these. From then on what was counted before the last
        look is dropped: it was counted by confusions that were less well known.
        """
        reading, swept = self.reading, self.reading.swept
        n, k = self.sums.workers, self.sums.classes
        before, self._before = self._before, None
        if not (reading.believed and is_enough(batch.labels.size, n, k)):
            reading.converged = reading.even = False
            return
        tasks = float(swept.mass.sum())
        if tasks <= len(batch) + 0.5 or not reading.converged:
            if not converge(reading, batch):
                return
            swept.scale(max(tasks, 1.0) / len(batch))
        elif before is not None and before.classes == k:
            swept.drop(before)
        reading.renew_swept()
        self._believe_converged()
        self._before = swept.copy()

    def _believe_converged(self) -> None:
        """Believe confusions that converged more than others: a small excess is taken for none."""
        crowd = self.reading.crowd
        crowd.gate = min(crowd.gate / SHOWN, 1.0)

    def _measure(self, sample: LabelBatch, twins: int) -> None:
        """Find out by a sample how much workers err together, and how far to believe what."""
        enough = max(MEASURED, PER_WORKER * self.sums.workers)
        reading, sample = self.reading, first_tasks(sample, enough)
        batch = compact(as_one(sample, self._votes_as_one(), self.sums.classes))
        excess, overturned = measure_excess(batch, self.sums.classes, twins)
        before, pairs = EARLIER * self.pairs, pairs_in(batch)
        reading.rho = (before * reading.rho + pairs * excess) / max(before + pairs, 1.0)
        self.pairs = before + pairs
        # Confusions that feed on themselves need all tasks to stand on, and a crowd that agrees on
        # more than habits: of tasks of one class they would make two.
        safe = not self.forgets and not reading.reason
        gate = gate_of(reading.rho, overturned, batch, self.pairs)
        reading.crowd.gate = gate if safe else 0.0
        reading.weigh_panel(sample)

    def _votes_as_one(self) -> Codes:
        """Each worker's family, if its members err as one: their errors are not made together."""
        family, rho = self.sums.family, np.append(self.reading.powers.rho, 0.0)
        return np.where(rho[family] > AS_ONE, family, -1).astype(np.int32)

    # Learning in order -----------------------------------------------------------------------

    def learn(self, batch: LabelBatch, sign: int = 1) -> None:
        """Learn tasks in order, or take them back."""
        if sign > 0:
            self._go_through(batch, None)
            return
        super().learn(batch, sign)
        self.reading.crowd.take_back(batch.coded, self.scale.weight(self.clock))
        if not self.forgets:
            self.reading.horizons.loops.take_back(batch.coded)
        self._remove_gold(batch)
        self.renew()

    def follow(self, batch: LabelBatch, scored: LabelBatch, use: Use) -> None:
        """Score each task by those before it, then learn it."""
        self._go_through(batch, use)

    def _go_through(self, batch: LabelBatch, use: Use | None) -> None:
        """Learn tasks in order, scoring each before where scores are asked for."""
        reading, k = self.reading, self.sums.classes
        for first, last in self._parts(batch):
            part = batch.part(first, last)
            scores = NO_SCORES if use is None else np.empty((last - first, k))
            gold = NO_TRUTHS
            if part.truths.size:
                gold = part.truths[(part.truths >= 0) & (part.sizes > 0)]
            features = np.empty((gold.size, SCORES, k))
            weight = self.scale.weight(self.clock)
            reading.crowd.follow_all(part.coded, weight, self.scale.growth, scores, features)
            if use is not None:
                use(first, last, scores, self.scored())
            self._add_gold(features, gold)
            places = np.arange(self.clock, self.clock + len(part))
            self._offer(part, places)
            self.clock += len(part)
            self._look_if_due()
            self.renew_if_due()

    def _remove_gold(self, batch: LabelBatch) -> None:
        """Take back gold tasks, and what they said of the scores."""
        known = np.flatnonzero(batch.truths >= 0) if batch.truths.size else NO_TRUTHS
        for t in known.tolist():
            task = batch.part(t, t + 1)
            if task.labels.size:
                features = self.reading.features(task)[0]
                self.reading.gold.remove(features, int(task.truths[0]))
                self.reading.renew_gold()

    def _add_gold(self, features: Floats, truths: Codes) -> None:
        """Take in gold tasks by the scores they had; weigh these anew once there are enough."""
        if truths.size:
            self.reading.gold.add(features, truths)
            if self.reading.gold.due:
                self.reading.renew_gold()

    # Open tasks of a stream ------------------------------------------------------------------

    def close(self, batch: LabelBatch, place: int) -> None:
        """Count a task's posterior, and what its truth, if known, says of the scores."""
        if batch.truths.size and batch.truths[0] >= 0 and batch.labels.size:
            features = np.empty((1, SCORES, self.sums.classes))
            self.reading.crowd.look_at(batch.coded, self.scale.weight(place), features)
            self._add_gold(features, batch.truths)
        super().close(batch, place)

    def closed(self, batch: LabelBatch, places: Ints, just_now: bool = True) -> None:
        """Sample tasks that have closed, and measure how workers err if that is due."""
        self._offer(batch, places)
        if just_now:
            self._look_if_due()

    def _offer(self, batch: LabelBatch, places: Ints) -> None:
        """Sample tasks, and those of known truth apart from them."""
        self.sample.offer_at(batch, places, self.seed)
        known = gold_tasks(batch)
        if known.size:
            self.gold_sample.offer_at(batch.pick(known), places[known], self.seed)

    # Learning a table ------------------------------------------------------------------------

    def fit(self, table: TaskTable) -> None:
        """Learn in passes over the table; the order of its rows has no part in the result."""
        if self.forgets:
            self.learn(table.batch)
            return
        reading = self.reading
        sums, sample, known = table.add_up(
            [
                AddTasks(self.sums),
                ChooseTasks(self.seed, labels=SAMPLE),
                ChooseGold(self.seed, tasks=GOLD_TASKS, each=LABELS),
            ]
        )
        self.sums.add_sums(sums)
        self.gold_sample.offer(known.batch, known.keys)
        if self._use_copies(self._find_copies(table, sample.batch, self.sums.answers)):
            self._count_again(table, sums)
        fit_students([reading], table, self.named)
        self._measure(sample.batch, TWINS)
        if reading.crowd.gate > 0.0:
            self._refine([reading], table, sample.batch)
            if not is_enough(self.sums.total[2], self.sums.workers, self.sums.classes):
                reading.weigh_sweeps(first_tasks(sample.batch, CONVERGED))
        if self.sums.known.any():
            self._weigh_scores(table, sample.batch)
        self.sample.offer(sample.batch, sample.keys)
        if sample.batch.labels.size < self.sums.total[2]:
            self.sample.close(sample.keys[-1])
        self._before = reading.swept.copy() if reading.converged else None
        self.clock = int(self.sums.total[0])
        self.looked = float(self.clock)
        super().renew()

    def _count_again(self, table: TaskTable, before: AgreementSums) -> None:
        """Add up a table anew by the families that were found in it."""
        self.sums.remove_sums(before)
        self.sums.relatives[self.sums.declared :] = 0.0
        self.sums.add_sums(table.add_up([AddTasks(self.sums)])[0])

    def learn_table(self, table: TaskTable) -> None:
        """Agreement first; posteriors are counted by what was read before, or now if that is due.

        The scores of gold tasks are those they had before any of the tasks was known.
        """
        if self.forgets:
            self.learn(table.batch)
            return
        reading = self.reading
        passes: list[Pass[Any]] = [
            AddTasks(self.sums),
            ChooseTasks(self.seed, tasks=TASKS, labels=TOTAL, each=LABELS),
            LookAtTruths(reading, self.seed),
            ChooseGold(self.seed, tasks=GOLD_TASKS, each=LABELS),
        ]
        sums, kept, gold, known = table.add_up(passes)
        self.sums.add_sums(sums)
        self.gold_sample.offer(known.batch, known.keys)
        self.clock = int(self.sums.total[0])
        due = self.schedule.is_due(self.clock, float(self.sums.total[2]), self.unit)
        if due:
            reading.renew_teacher(1.0, self.named)
        if sums.total[1]:
            teach_students(reading, table)
        self.sample.offer(kept.batch, kept.keys)
        self._look_if_due()
        if due:
            self.renew()
        if gold:
            self._add_gold(*LookAtTruths.in_order(gold))

    def _refine(self, readings: list[Reading], table: TaskTable, sample: LabelBatch) -> None:
        """Recount the swept confusions of a table: the likeliest, where there are labels enough."""
        sample = first_tasks(sample, CONVERGED)
        enough = is_enough(sample.labels.size, self.sums.workers, self.sums.classes)
        if not (enough and self.reading.believed):
            sweep(readings, table)
            return
        for reading in readings:
            seen = reading.hidden(sample) if reading.hidden else sample
            if not converge(reading, seen):
                sweep([reading], table)
            elif sample.labels.size < self.sums.total[2]:
                go_on(reading, table, seen)
        if self.reading in readings and self.reading.converged:
            self._believe_converged()

    def _weigh_scores(self, table: TaskTable, sample: LabelBatch) -> None:
        """What truths say of scores: each by a crowd that knows the truths of other tasks only.

        By the first model the swept confusions are counted anew, which changes the scores; the
        second is about those.
        """
        mine, numbers = self.reading, GoldNumbers.of(self.sums, self.seed)
        (parts,) = table.add_up([GoldKeys(numbers)])
        gold = np.sort(np.concatenate(parts))
        folds = Folds(gold, numbers, min(FOLDS, gold.size))
        apart = [self._without(Hidden(folds, fold)) for fold in range(folds.number)]
        add_tasks(apart, table)
        fit_students(apart, table, self.named)
        for reading in apart:
            reading.rho, reading.crowd.gate = mine.rho, mine.crowd.gate
        if mine.crowd.gate > 0.0:
            self._refine(apart, table, sample)
        look = LookAtGold(apart, folds, ROWS)
        for again in (False, True):
            model = GoldModel()
            model.make_room(self.sums.classes)
            model.add(*look.in_order(table.add_up([look])[0]))
            model.seen = gold.size
            model.renew(mine.prior_weights)
            mine.use_gold(model)
            if not again:
                for reading in apart:
                    reading.use_gold(model)
                recount_by_gold([mine, *apart], table)

    def _without(self, hidden: Hidden) -> Reading:
        """A reading, yet to be fitted, that will not know the truths of some tasks."""
        reading = Reading(self.sums.empty())
        reading.hidden = hidden
        reading.make_room()
        return reading

    # Reading ---------------------------------------------------------------------------------

    def scorer(self) -> Scorer:
        """By teacher and students, as far as each is believed."""
        return self.reading.scorer()

    def scored(self) -> Scorer:
        """Return the same for scores that were made already."""
        return self.reading.scored()

    def score_one(self, task: LabelBatch, scores: Floats) -> Scorer | None:
        """Score one task that was not learnt."""
        self.reading.crowd.ask(task.coded, task.labels.size, 0.0, scores)
        return self.reading.scored()

    def identify(self) -> tuple[bool, str]:
        """Return whether agreement or known truths tell workers apart, and if not, why."""
        return verdict(self.reading.reason, self.reading.crowd.fell_back)

    def skills(self) -> Floats:
        """Every worker's skill, as the teacher read it; of late, while workers change."""
        if self.changing:
            return self.reading.horizons.skills(self.sums.workers)
        return self.reading.skills()

    @property
    def mean_skill(self) -> float:
        """The crowd's mean skill."""
        if self.changing:
            return self.reading.horizons.mean
        return float(self.reading.teacher.mean)

    @property
    def mean_accuracy(self) -> float:
        """Return how often a worker about whom nothing is known is right."""
        if self.changing:
            return super().mean_accuracy
        return float(1.0 - self.reading.typical_error)

    @property
    def changing(self) -> bool:
        """Return True while evidence shows that workers change; recent answers decide then."""
        return self.reading.changing

    @property
    def excess_correlation(self) -> float:
        """How much more errors within a task are correlated than independent ones would be."""
        return max(self.reading.rho, 0.0)

    @property
    def dependence(self) -> Dependence:
        """Return whether workers err together, by what was measured on the sample."""
        met, answers = float(self.sums.met.sum()), float(self.sums.answers.sum())
        if self.reading.crowd.fell_back:  # whom to call wrong is not known
            return Dependence(CANNOT_TELL)
        return dependence_verdict(self.reading.rho, self.pairs, met / max(answers, 1e-9))

    @property
    def doubt(self) -> float:
        """Return how much intervals allow for joint errors: from 0 to 1, all doubt of the votes.

        The excess correlation less half a standard error of it, over the one from which on errors
        are taken to be dependent.
        """
        excess = self.reading.rho - 0.5 * error_of_excess(self.pairs)
        return float(min(max(excess / TOGETHER, 0.0), 1.0)) if self.pairs else 0.0

    @property
    def calibration(self) -> str:
        """Return what confidence rests on: "gold", "independence" or "none"."""
        if self.reading.crowd.golden:
            return "gold"
        return "independence" if self.dependence.verdict == INDEPENDENT else "none"

    def doubts(self) -> list[Warning]:
        """That decisions which looked sure are wrong too often, if known truths say so."""
        gold = self.reading.gold
        if not self.reading.crowd.golden or not gold.sure.in_doubt:
            return []
        return [
            SureInDoubt(
                f"of {gold.sure.tasks} gold tasks on which the crowd is sure ({SETTLE:g} or "
                f"more) it is wrong on {gold.sure.wrong}, over twice what that promises: "
                f"confidence was lowered, so that fewer decisions are settled"
            )
        ]

    def read(self) -> WorkerReading:
        """Error rates, weights and confusions by the student that is believed.

        While workers change, by what they did lately; errors are then spread evenly.
        """
        sums, reading, (known, _) = self.sums, self.reading, self.identify()
        apart = sums.groups != reading.teacher.main
        solved = np.full(sums.workers, known) & ~(apart & (reading.reason == ""))

        def weigh() -> Floats:
            return vote_effects(reading.scorer(), sums, reading.discount)

        if self.changing:
            errors = error_rates(self.skills(), sums.classes)
            return WorkerReading(errors, weigh, solved, apart & known)
        (confusions, ways), prior = reading.confusions(), reading.prior()
        return WorkerReading(
            errors=ways[reading.believed],
            weigh=weigh,
            solved=solved,
            apart=apart & known,
            confusions=confusions,
            prior=prior / prior.sum(),
            ways=ways,
            copies=self.copies.among(sums.workers, self.copies.declared),
            suspects=self.copies.among(sums.workers, self.copies.suspects),
        )

    # Merging and saving ----------------------------------------------------------------------

    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Add what another learnt."""
        super().merge(other, names, classes)
        mine, theirs = self.reading, other.reading
        mine.taught.merge(theirs.taught, names, classes)
        mine.swept.merge(theirs.swept, names, classes)
        mine.gold.merge(theirs.gold, classes)
        if not self.forgets:
            mine.horizons.merge(theirs.horizons, names)
        self.sample.merge(other.sample, names, classes)
        self.gold_sample.merge(other.gold_sample, names, classes)
        self.clock = max(self.clock, other.clock) if self.forgets else self.clock + other.clock
        self.looked, self._before = 0.0, None
        mine.converged = mine.converged and theirs.converged
        self._use_copies(Copies())  # who copies is looked for anew, in both samples
        self._look_if_due()
        self.renew()
        mine.renew_gold()

    def pack(self) -> Packed:
        """Sums, confusions, gold, sample, and when what was read."""
        found = super().pack() | self.reading.pack() | over("sample", self.sample.pack())
        measured = {"tasks": np.array(self.looked), "pairs": np.array(self.pairs)}
        if self._before is not None:
            found |= over("before", self._before.pack())
        found |= over("measured", measured) | over("gold_sample", self.gold_sample.pack())
        return found | over("copies", self.copies.pack(self.sums.workers))

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `pack` gave."""
        self._use_copies(Copies.unpack(under("copies", arrays), self.sums.workers))
        super().unpack(arrays)
        known = under("gold_sample", arrays)
        self.gold_sample.unpack(known, self.sums.workers, self.sums.classes)
        self.sample.unpack(under("sample", arrays), self.sums.workers, self.sums.classes)
        self.reading.unpack(arrays, self.named)
        if before := under("before", arrays):
            self._before = ConfusionSums()
            rows = before["right" if "right" in before else "counts"]
            self._before.unpack(before, len(rows), before["mass"].size)
        measured = under("measured", arrays)
        self.looked, self.pairs = measured["tasks"].item(), measured["pairs"].item()
