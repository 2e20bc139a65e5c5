"""`Adaptive`: the default. A robust teacher, a flexible student, and sweeps where they are safe.

Decides when to read anew what `Reading` reads; knows nothing of formulas.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions import SETTLE, Vote, Votes
from crowdstream.errors import SureInDoubt
from crowdstream.estimators import crowd_loops
from crowdstream.estimators.base import Estimator
from crowdstream.estimators.crowd_loops import SCORES
from crowdstream.estimators.fallback import verdict
from crowdstream.estimators.fitting import (
    LookAtGold,
    add_tasks,
    fit_students,
    recount_by_gold,
    sweep,
)
from crowdstream.estimators.gold_model import FEWEST, ROWS, GoldModel
from crowdstream.estimators.gold_model import GROWTH as GOLD_GROWTH
from crowdstream.estimators.independence import (
    GATE,
    compact,
    error_of_excess,
    excess_correlation,
    gate_of,
    pairs_in,
    share_of_three,
)
from crowdstream.estimators.newcomers import AGAINST, HALF, KNOWN, newcomers_against
from crowdstream.estimators.observer import Packed
from crowdstream.estimators.open_tasks import (
    NO_STARTS,
    NOTHING_TAKEN,
    OpenTask,
    Rows,
    StopRule,
    Taken,
)
from crowdstream.estimators.parameters import Families, Ties
from crowdstream.estimators.passes import (
    AddTasks,
    ChooseTasks,
    Folds,
    GoldKeys,
    Hidden,
    TaskTable,
)
from crowdstream.estimators.reading import Reading, over, under
from crowdstream.estimators.reservoir import LABELS, TASKS, Reservoir
from crowdstream.estimators.state import Identifiability
from crowdstream.estimators.task_store import ABSENT, SKIP, TaskStore
from crowdstream.estimators.ties import class_keys, coin_of
from crowdstream.estimators.vote_effects import vote_effects
from crowdstream.estimators.vote_loops import fill_keys
from crowdstream.estimators.votes import Scorer, calibrate, choose
from crowdstream.estimators.worker_table import WorkerReading
from crowdstream.labels import TaskId, Vocabulary
from crowdstream.labels.batch import NO_TRUTHS, Codes, Ints, LabelBatch
from crowdstream.labels.batch_loops import Tasks
from crowdstream.sums.agreement import AgreementSums

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
"""Tasks after which a stream first measures whether workers err together, and the growth in tasks
after which it does so again."""

EARLIER = 0.75
"""What earlier measurements count beside the latest."""

STOPS = (crowd_loops.DONE, crowd_loops.GENERAL)
"""Where rows stop and others must go on: at their end, or at one for `_put_label`."""

ROOM = 64
"""Labels of a task that a stream has room to work on at first."""

FOLDS = 5
"""Parts of the gold, each judged by a crowd that knows the others."""

ODD = 0xD1B54A32D192ED03
"""Places become keys as multiples of it, mixed: an odd number without a pattern."""


@dataclass(eq=False, repr=False)
class Adaptive(Estimator):
    """Weighs each worker by its skill and its confusions, as far as each can be trusted.

    Each worker first gets one skill: how often it agrees with others on the same tasks, beyond what
    its habits explain. By these skills the tasks are decided roughly, and from that follows what
    each worker says of which class (its confusions); skills and confusions then decide together.
    If workers' errors look independent, the confusions are refined step by step (Dawid and Skene's
    method), which is then the best possible; if they err together, they are not, and confidences
    are lowered. With n workers and K classes, time O(K) per label and memory O(n K²).

    Beyond 100 classes skills alone decide, by constant time per label and memory per worker: see
    `many_classes_`.

    Parameters
    ----------
    memory
        About how many tasks to remember, for workers who change; ``None``: all. `Tracking` finds
        out by itself how fast each worker changes.
    ties, seed
        ``"coin"`` breaks ties at random by this seed, ``"lowest"`` by the order of the classes. The
        seed also draws the sample on which it is measured whether workers err together.
    families
        Workers who do not judge independently (one model, one agency), by the name of their
        family. They are not compared with one another, and their votes count less the more they
        err together.

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

    memory: float | None = None
    ties: Ties = "coin"
    seed: int = 0
    families: Families | None = None
    order_free = False
    _renewed = 0.0
    """Tasks learnt when the shared readings were renewed."""
    _renewed_labels = 0.0
    """Labels learnt then."""
    _looked = 0.0
    """Tasks learnt when it was last measured whether workers err together."""
    _pairs = 0.0
    """Pairs of labels that this was measured on."""
    _against = AGAINST
    """What newcomers' labels counted against decisions when the shared readings were renewed."""

    # State -----------------------------------------------------------------------------------

    @cached_property
    def _reading(self) -> Reading:
        return Reading(self._sums)

    @cached_property
    def _sample(self) -> Reservoir:
        return Reservoir()

    @cached_property
    def _flow(self) -> crowd_loops.Flow:
        """What rows of a stream are taken with."""
        return self._make_flow(ROOM)

    def _make_room(self) -> None:
        super()._make_room()
        classes = self._reading.taught.classes
        self._reading.make_room()
        if self._reading.taught.classes != classes:
            self.__dict__.pop("_flow", None)
            self._renew()

    def _fold(self, homes: Codes) -> None:
        super()._fold(homes)
        self._reading.go_alone()
        self._sample.fold(homes)
        self._pairs = 0.0
        self._renew()

    def _arrays(self) -> list[Floats]:
        reading = self._reading
        return [*super()._arrays(), *reading.taught.arrays(), *reading.swept.arrays()]

    def _renew(self) -> None:
        """Read anew what all workers share."""
        self._reading.renew(self._unit, len(self._classes))
        self._renewed = float(self._clock)
        self._renewed_labels = float(self._sums.total[2])
        self._against = newcomers_against(self._sums, self._unit)

    @property
    def _newcomers_against(self) -> float:
        return self._against

    def _parts(self, batch: LabelBatch) -> Iterator[tuple[LabelBatch, slice]]:
        """Parts of a batch, each ending where something is due."""
        at = 0
        while at < len(batch):
            ahead = min(int(self._renewed * RENEW) + 1 - self._clock, self._until_gold(batch, at))
            if self._clock < self._next_look:  # else it waits for tasks to close
                ahead = min(ahead, self._next_look - self._clock)
            ahead = min(max(ahead, 1), self._scale.make_room(self._clock, self._arrays()))
            end = min(at + ahead, len(batch))
            yield batch.part(at, end), slice(at, end)
            at = end

    def _until_gold(self, batch: LabelBatch, at: int) -> int:
        """Tasks from this one on until there is gold enough to weigh the scores anew."""
        if not batch.truths.size:
            return len(batch)
        gold = self._reading.gold
        ahead = max(int(gold.fitted * GOLD_GROWTH) + 1, FEWEST) - gold.seen
        where = np.flatnonzero(batch.truths[at:] >= 0)
        return int(where[ahead - 1]) + 1 if 0 < ahead <= where.size else len(batch)

    def _renew_if_due(self) -> None:
        if self._clock > self._renewed * RENEW:
            self._renew()

    @property
    def _next_look(self) -> int:
        """The tasks at which it is measured next whether workers err together."""
        return int(max(self._looked * GROWTH, LOOK))

    # Learning --------------------------------------------------------------------------------

    def _learn(self, batch: LabelBatch, sign: int) -> None:
        if sign < 0:
            super()._learn(batch, sign)
            weight = -self._scale.weight(self._clock)
            self._reading.crowd.close(batch.coded, weight, own=False)
            if not self._reading.alone:
                self._remove_gold(batch)
            self._renew()
        else:
            self._go_through(batch, None)

    def _follow(self, batch: LabelBatch) -> Votes:
        votes = Votes.room(len(batch))
        if self._reading.alone:
            self._follow_alone(batch, votes)
        else:
            self._go_through(batch, votes)
        return votes._replace(identified=not self._reading.crowd.fell_back)

    def _go_through(self, batch: LabelBatch, votes: Votes | None) -> None:
        """Learn tasks in order, deciding each before where decisions are asked for."""
        reading, scale = self._reading, self._scale
        for part, here in self._parts(batch):
            k = reading.sums.classes
            found = np.empty((len(part) if votes is not None else 0, k))
            gold = (
                part.truths[(part.truths >= 0) & (part.sizes > 0)]
                if part.truths.size
                else NO_TRUTHS
            )
            features = np.empty((gold.size, SCORES, k))
            weight = scale.weight(self._clock)
            reading.crowd.follow(part.coded, weight, scale.growth, found, features)
            if votes is not None:
                self._judge(part, found, votes.part(here.start, here.stop))
            self._add_gold(features, gold)
            self._after(len(part), part)

    def _follow_alone(self, batch: LabelBatch, votes: Votes) -> None:
        """The same where classes share places: a part at a time is decided, then learnt."""
        learnt, scored = self._learnt_as(batch), self._scored_as(batch, self._classes)
        for part, here in self._parts(learnt):
            scores = np.empty((len(part), self._places))
            asked = scored.part(here.start, here.stop)
            self._reading.crowd.score_tasks(asked.coded, scores)
            self._judge(asked, scores, votes.part(here.start, here.stop))
            self._sums.add(part, self._scale.weight(self._clock), self._scale.growth)
            self._after(len(part), part)

    def _judge(self, part: LabelBatch, scores: Floats, votes: Votes) -> None:
        """Decide by scores."""
        scorer, classes = self._reading.scored(), self._classes
        choose(part, scores, votes, self._places, self._ties(classes), scorer.rho)
        calibrate(scorer, votes)

    def _remove_gold(self, batch: LabelBatch) -> None:
        """Take back gold tasks, and what they said of the scores."""
        reading = self._reading
        known = np.flatnonzero(batch.truths >= 0) if batch.truths.size else NO_TRUTHS
        for t in known.tolist():
            task = batch.part(t, t + 1)
            if task.labels.size:
                reading.gold.remove(reading.features(task)[0], int(task.truths[0]))
                reading.renew_gold()

    def _add_gold(self, features: Floats, truths: Codes) -> None:
        """Take in gold tasks by the scores they had; weigh these anew once there are enough."""
        reading = self._reading
        if truths.size and not reading.alone:
            reading.gold.add(features, truths)
            if reading.gold.due:
                reading.renew_gold()

    def _after(self, tasks: int, part: LabelBatch, which: Ints | None = None) -> None:
        """So many tasks were learnt: sample them (``which`` says which), and renew what is due."""
        keys = self._place_keys(np.arange(self._clock, self._clock + tasks))
        self._sample.offer(part, keys if which is None else keys[which])
        self._clock += tasks
        self._look_if_due()
        self._renew_if_due()

    def _look_if_due(self) -> None:
        """Measure on the sample now and then whether workers err together."""
        if not self._reading.alone and len(self._sample) and self._clock >= self._next_look:
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
        before, pairs = EARLIER * self._pairs, pairs_in(batch)
        reading.rho = (before * reading.rho + pairs * excess) / max(before + pairs, 1.0)
        self._pairs = before + pairs
        if self.memory is None:  # confusions that feed on themselves need all tasks to stand on
            reading.crowd.gate = gate_of(reading.rho, self._pairs) * share_of_three(batch)

    def _place_keys(self, places: Ints) -> Keys:
        """A number per task that looks random, of its place in the order of tasks."""
        found = np.empty(places.size, np.uint64)
        fill_keys(places, ODD, self.seed, found)
        return found

    def _open_task(self, name: TaskId) -> OpenTask:
        """A task that will take labels; its place in the order of tasks is now."""
        self._renew_if_due()
        return super()._open_task(name)

    def _take_rows(
        self, store: TaskStore, rows: Rows, rule: StopRule, closings: int
    ) -> Taken | None:
        if self._folding is not None:  # labels are learnt by other codes than they are scored by
            return None
        store.make_room(len(rows.names) - rows.at)
        coded, found = self._code_rows(rows), NOTHING_TAKEN
        while True:
            flow, intake = self._set_flow(rows, rule, closings - found.closed), self.intake_
            due = self._reading.crowd.take(store.loops, flow, rows.names, *coded, rows.found)
            rows.at, self._clock, taken = flow.at, flow.clock, flow.taken
            intake.tasks += flow.opened
            intake.rows += taken
            intake.labels += taken
            found = Taken(
                found.labels + taken,
                found.repeated + flow.repeated,
                found.late + flow.late,
                found.closed + flow.closed,
            )
            if flow.closed:
                self._learn_shut(store, just_now=due == crowd_loops.CLOSED)
            if due in STOPS or found.closed >= closings or rows.at == len(rows.names):
                return found
            self._do(due, rows)
            if self._folding is not None:
                return found

    def _code_rows(self, rows: Rows) -> tuple[list[int], list[int]]:
        """The codes of the rows' workers and labels as far as they are known, found once."""
        if rows.coded is None:
            labels = self._classes.codes(rows.labels, ABSENT)
            if None in rows.labels:
                pairs = zip(rows.labels, labels, strict=True)
                labels = [SKIP if label is None else code for label, code in pairs]
            rows.coded = self._workers.codes(rows.workers), labels
        return rows.coded

    def _set_flow(self, rows: Rows, rule: StopRule, closings: int) -> crowd_loops.Flow:
        """When the rows to come stop, by what is known now."""
        flow, scale = self._flow, self._scale
        flow.start()
        flow.at, flow.now = rows.at, rows.now
        flow.settle = 2.0 if rule.settle is None else rule.settle
        flow.min_labels = rule.min_labels
        flow.max_labels = 2**62 if rule.max_labels is None else rule.max_labels
        flow.against, flow.fade, flow.origin = self._against, scale.fade, scale.origin
        if self._reading.crowd.golden:
            flow.shift, flow.slope, flow.ceiling = self._reading.gold.line
        flow.clock, flow.look_at = self._clock, self._next_look
        flow.renew_after, flow.renewed_labels = self._renewed * RENEW, self._renewed_labels
        alone = len(rows.names) - rows.at == 1
        flow.closings = 1 if alone else min(closings, self._patience + 1)
        if flow.named != len(self._classes):
            flow.named, flow.keys = len(self._classes), self._ties(self._classes).keys
        return flow

    def _make_flow(self, room: int) -> crowd_loops.Flow:
        """Room to work on tasks of so many labels."""
        workers, labels = np.empty(room, np.int32), np.empty(room, np.int32)
        tasks = Tasks(NO_STARTS, workers, labels, NO_TRUTHS)
        scores = np.empty((1, self._sums.classes))
        flow = crowd_loops.Flow(tasks, workers, labels, scores)
        flow.known, flow.half, flow.most = KNOWN, HALF, self._scale.most
        flow.fresh, flow.few = FRESH, FEW
        flow.coin = partial(coin_of, seed=self.seed) if self.ties == "coin" else None
        return flow

    def _do(self, due: int, rows: Rows) -> None:
        """What must be done before the next row can be taken."""
        if due == crowd_loops.NAMES:
            workers, labels = self._code_rows(rows)
            label = rows.labels[rows.at]
            workers[rows.at] = self._workers.add(rows.workers[rows.at])
            labels[rows.at] = SKIP if label is None else self._classes.add(label)
            if workers[rows.at] >= self._sums.workers or labels[rows.at] >= self._sums.classes:
                self._make_room()
        elif due == crowd_loops.RENEW:
            self._renew()
        elif due == crowd_loops.SCALE:
            self._scale.make_room(self._clock, self._arrays())
        elif due == crowd_loops.ROOM:
            self._flow = self._make_flow(2 * self._flow.room)

    def _learn_shut(self, store: TaskStore, just_now: bool) -> None:
        """What tasks teach that have closed, and whose posteriors are counted already.

        Unless the last closed ``just_now`` other tasks have opened since; nothing was due then.
        """
        batch, places = store.drain()
        self._sample.offer(batch, self._place_keys(places))
        if just_now:
            self._look_if_due()
        self._notify_in_turn(batch)

    def _learn_closed(self, batch: LabelBatch, place: int) -> None:
        if batch.truths.size and batch.truths[0] >= 0 and batch.labels.size:
            features = np.empty((1, SCORES, self._sums.classes))
            self._reading.crowd.look_at(batch.coded, self._scale.weight(place), features)
            self._add_gold(features, batch.truths)
        self._reading.crowd.close(batch.coded, self._scale.weight(place), own=True)
        self._sample.offer(batch, self._place_keys(np.array([place])))
        self._look_if_due()

    def _fit(self, table: TaskTable) -> None:
        """Passes over the table; the order of its rows has no part in the result."""
        if self.memory is not None:
            super()._fit(table)
            return
        reading = self._reading
        sums, sample, kept, gold = table.add_up(
            [
                AddTasks(reading.sums),
                ChooseTasks(self.seed, labels=SAMPLE),
                ChooseTasks(self.seed, tasks=TASKS, each=LABELS),
                GoldKeys(self.seed),
            ]
        )
        reading.sums.add_sums(sums)
        fit_students([reading], table, len(self._classes))
        if not reading.alone:
            twins = min(max(SAMPLE // max(4 * sample.batch.labels.size, 1), 1), TWINS)
            self._measure(sample.batch, sample.keys, twins)
            if reading.crowd.gate > 0.0:
                sweep([reading], table)
            if gold:
                self._weigh_scores(table, np.sort(np.concatenate(gold)))
        self._sample.offer(kept.batch, kept.keys)
        self._clock = int(self._sums.total[0])
        self._renewed = self._looked = float(self._clock)
        self._renewed_labels = float(self._sums.total[2])
        self._against = newcomers_against(self._sums, 1.0)

    def _weigh_scores(self, table: TaskTable, gold: Keys) -> None:
        """What truths say of scores: each by a crowd that knows the truths of other tasks only.

        By the first model the swept confusions are counted anew, which changes the scores; the
        second is about those.
        """
        mine, folds = self._reading, Folds(gold, self.seed, min(FOLDS, gold.size))
        apart = [self._without(Hidden(folds, fold)) for fold in range(folds.number)]
        add_tasks(apart, table)
        fit_students(apart, table, len(self._classes))
        for reading in apart:
            reading.rho, reading.crowd.gate = mine.rho, mine.crowd.gate
        if mine.crowd.gate > 0.0:
            sweep(apart, table)
        look = LookAtGold(apart, folds, ROWS)
        for again in (False, True):
            model = GoldModel()
            model.make_room(self._sums.classes)
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
        reading = Reading(self._sums.empty())
        reading.hidden = hidden
        reading.make_room()
        return reading

    # Reading ---------------------------------------------------------------------------------

    def _scorer(self, sums: AgreementSums, classes: int) -> Scorer:
        return self._reading.scorer()

    def _score_open(self, task: OpenTask) -> tuple[Scorer, Floats]:
        return self._ask(*self._open_coded(task), self._scale.weight(task.place))

    def _open_coded(self, task: OpenTask) -> tuple[Tasks, int]:
        """The labels of an open task as they are scored, for loops, and how many they are."""
        if self._folding is None:
            return task.coded, task.size
        batch = self._open_scored(task)
        return batch.coded, batch.labels.size

    def _score_one(self, batch: LabelBatch, classes: Vocabulary) -> tuple[Scorer, Floats]:
        if self._folding is None and len(classes) > self._sums.classes:
            return super()._score_one(batch, classes)
        return self._ask(batch.coded, batch.labels.size, 0.0)

    def _ask(self, tasks: Tasks, size: int, own: float) -> tuple[Scorer, Floats]:
        """Score one task; ``own``: what it counted if its labels are among the sums, else 0."""
        scores = np.empty((1, self._sums.classes))
        self._reading.crowd.ask(tasks, size, own, scores)
        return self._reading.scored(), scores

    def _score_known(self, task: OpenTask) -> tuple[Scorer, Floats, int] | None:
        scores, reading = np.empty((1, self._sums.classes)), self._reading
        known = self._scale.weight(task.place), self._least_known
        coded, size = self._open_coded(task)
        left = reading.crowd.ask_known(coded, size, *known, scores)
        return None if left == size else (reading.scored(), scores, left)

    def _score_without(self, task: OpenTask, batch: LabelBatch) -> tuple[Scorer, Floats]:
        scores = np.empty((len(batch), self._sums.classes))
        self._reading.crowd.score_tasks(batch.coded, scores)
        return self._reading.scored(), scores

    def _add_label(self, task: OpenTask) -> Vote:
        if self._sums.total[2] > self._renewed_labels * FRESH + FEW * self._unit:
            self._renew()
        if self._folding is not None:
            return super()._add_label(task)
        reading, scores = self._reading, np.empty((1, self._sums.classes))
        weight = self._scale.weight(task.place)
        reading.crowd.observe(task.coded, task.size, task.truth, weight, scores)
        return self._pick(task, self._classes, reading.scored(), scores)

    @property
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far say who is to be trusted, and if not, why."""
        return Identifiability(*verdict(self._reading.reason, self._reading.crowd.fell_back))

    def _skills(self) -> Floats:
        """How much better than chance each worker is."""
        return self._reading.skills()

    @property
    def mean_skill_(self) -> float:
        """The skill of a worker about whom nothing is known."""
        return float(self._reading.teacher.mean)

    @property
    def mean_accuracy_(self) -> float:
        """How often a worker about whom nothing is known is right."""
        if self._reading.alone:
            return super().mean_accuracy_
        return float(1.0 - self._reading.typical_error)

    @property
    def excess_correlation_(self) -> float:
        """How much more workers err together, within a task, than independent ones would."""
        return max(self._reading.rho, 0.0)

    @property
    def dependence_(self) -> float:
        """How far workers err together, from 0 (no more than independent ones) to 1.

        The excess correlation less half a standard error of it, over the one from which on errors
        are taken to be dependent.
        """
        excess = self._reading.rho - 0.5 * error_of_excess(self._pairs)
        return float(min(max(excess / GATE, 0.0), 1.0)) if self._pairs else 0.0

    @property
    def calibration_(self) -> str:
        """What confidence rests on.

        ``"gold"``: on truths that were given; ``"independence"``: workers err independently as far
        as can be told; ``"none"``: they err together, or it was not measured yet.
        """
        if self._reading.crowd.golden:
            return "gold"
        return "independence" if self._pairs and not self.dependence_ else "none"

    def _doubts(self, batch: LabelBatch, identified: bool) -> list[Warning]:
        """Also that decisions which looked sure are wrong too often, if known truths say so."""
        found, gold = super()._doubts(batch, identified), self._reading.gold
        if self._reading.crowd.golden and gold.sure.in_doubt:
            found.append(
                SureInDoubt(
                    f"of {gold.sure.tasks} gold tasks on which the crowd is sure ({SETTLE:g} or "
                    f"more) it is wrong on {gold.sure.wrong}, over twice what that promises: "
                    f"confidence was lowered, so that fewer decisions are settled"
                )
            )
        return found

    def _read(self) -> WorkerReading:
        sums, reading = self._sums, self._reading
        if reading.alone:
            return super()._read()
        n = sums.workers
        apart = sums.groups != reading.teacher.main
        solved = np.full(n, bool(self.identifiable_)) & ~(apart & (reading.reason == ""))
        (confusions, ways), prior = reading.confusions(), reading.prior()
        return WorkerReading(
            errors=ways[reading.believed],
            weights=vote_effects(reading.scorer(), sums, reading.discount),
            solved=solved,
            apart=apart & bool(self.identifiable_),
            confusions=confusions,
            prior=prior / prior.sum(),
            ways=ways,
        )

    # Merging and saving ----------------------------------------------------------------------

    def _merge(self, other: Estimator, names: Ints, classes: Ints) -> None:
        assert isinstance(other, Adaptive)
        super()._merge(other, names, classes)
        mine, theirs = self._reading, other._reading
        if not mine.alone:
            mine.taught.merge(theirs.taught, names, classes)
            mine.swept.merge(theirs.swept, names, classes)
            mine.gold.merge(theirs.gold, classes)
        self._sample.merge(other._sample, names, classes)
        self._clock = max(self._clock, other._clock) if self.memory else self._clock + other._clock
        self._looked = 0.0
        self._look_if_due()
        self._renew()
        mine.renew_gold()

    def _pack(self) -> Packed:
        found = super()._pack() | self._reading.pack() | over("sample", self._sample.pack())
        found["moments"] = np.array(
            [self._renewed, self._renewed_labels, self._looked, self._pairs, self._against]
        )
        return found

    def _unpack(self, arrays: Packed) -> None:
        super()._unpack(arrays)
        self._sample.unpack(under("sample", arrays), self._sums.workers, self._sums.classes)
        self._reading.unpack(arrays, len(self._classes))
        moments = arrays["moments"].tolist()
        self._renewed, self._renewed_labels, self._looked, self._pairs, self._against = moments


def name_keys(names: Iterable[str | int]) -> Keys:
    """A number per name."""
    found = [zlib.crc32(msgspec.msgpack.encode(name)) for name in names]
    return np.array(found, np.uint64) * np.uint64(ODD)
