"""`Watch`: what an estimator knows beyond its weights. How sure, who changed, who copies, how hard.

It goes through the same labels as its estimator, with sums of its own (see `watch_kernels`), and
knows labellers and classes by their codes only.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import StateError
from crowdstream.estimators import watch_kernels as kernels
from crowdstream.estimators.dependence import Dependence, dependence, families
from crowdstream.estimators.parallel import parts_of, side_by_side
from crowdstream.estimators.soft_kernels import (
    CLOCK,
    EXPOSURE,
    LEARNT,
    NAMED,
    NOISE,
    SKILL,
    mean_skill,
    strength,
    weight_of,
)
from crowdstream.estimators.watch_kernels import GRID, SMALL, STRENGTH_PRIOR, Book

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]

FIRST_LOOK, GROWTH = 100.0, 1.5
"""Tasks after which it is first asked who copies whom, and the factor until it is asked again."""
ENOUGH = 100.0
"""Tasks that two labellers share before they may be called a family: two experts among guessers who
share forty look like copies now and then."""
DECLARED = 0.3
"""Correlation inside a family that was declared and cannot be measured yet."""
FIT_PRIOR = 2.0
"""Pseudo-answers in the variance of the pairs' fit: one shared task is no certainty."""
SMALL_SAMPLE = 2.0
"""The variance of the pairs' fit is raised by 1 + this/answers."""
GOLD_LEVEL = 1.959964
"""Standard errors of the upper bound of the consensus's error on tasks whose truth was told."""
LEAST_GOLD = 20
"""Tasks with a known truth from which on they say how often the crowd is wrong together."""
LAG = 3.0
"""A horizon that ends lags behind: its variance is raised by this. At the best horizon for a skill
that walks at random the lag doubles it; skills that swing as in the paper need a little more."""
EVERYONE = 0.5
"""Share of the labellers whose alarm rings the same way at which it is the tasks that changed."""
NEARBY = 50
"""Answers a labeller within which alarms ring at once: about two delays of the alarm."""

NOTHING: Ints = np.empty(0, np.int64)


class Tasks(NamedTuple):
    """Labels in codes, as the compiled loop takes them."""

    starts: Ints
    workers: Codes
    labels: Codes
    truths: Ints
    known: Ints

    def part(self, first: int, last: int) -> Tasks:
        """Tasks ``first`` up to ``last``; the labels are shared, not copied."""
        starts, known = self.starts[first : last + 1], self.known[first:last]
        return self._replace(starts=starts, truths=self.truths[first:last], known=known)


class Limits(NamedTuple):
    """Of every labeller's skill: the estimate, its limits, and whether known truths backed it."""

    skill: Floats
    low: Floats
    high: Floats
    gold: Flags


class Compared(NamedTuple):
    """Who is compared pair by pair, the tasks pairs share, on how many they agree, what of it."""

    who: Ints
    met: Floats
    agreed: Floats
    found: Dependence


class Ring(msgspec.Struct, frozen=True):
    """An alarm in codes; see `DriftAlarm`."""

    task: int
    labeller: int
    before: float
    after: float
    evidence: float
    answers: int
    everyone: bool


class Watch:
    """The sums of one crowd.

    Parameters
    ----------
    fade
        How much more a task weighs than the one before, in logarithms.
    auto
        Whether each labeller's past fades as fast as suits it.
    """

    def __init__(self, fade: float, auto: bool) -> None:
        self.fade = fade
        self.auto = auto
        self.declared = 0
        """How many families were declared; those found come after them."""
        self.stops = False
        """Whether it hangs on a task's labels if there are more."""
        self.met = 0
        """Labellers whose families it was told."""
        self._held: Book | None = None
        self._undo: _Undo | None = None

    # The sums --------------------------------------------------------------------------------

    def book(self, n: int, classes: int, *, keep: bool = True) -> Book:
        """The sums, with room for so many labellers and classes; on a copy if not to be kept."""
        book = self._held or kernels.new_book(0, 2, self.auto)
        room, width, slots = book.people.size, book.shares.size, book.slots.size
        if n > room or classes > width:
            n = max(n, 2 * room) if n > room else room
            book = kernels.resized(
                book, n, max(classes, width), max(slots, min(n, kernels.SLOTS)), self.auto
            )
            if keep:
                self._held = book
        return book

    def _rules(self, book: Book) -> NDArray[np.void]:
        rules = (self.fade, self.auto, book.rho.size > 0, self.stops)
        return np.array([rules], kernels.RULES)

    def learn(
        self, tasks: Tasks, n: int, classes: int, *, sign: int = 1, fresh: Ints = NOTHING
    ) -> None:
        """Learn tasks in order (sign 1), or take them back (−1), as `kernels.run` says."""
        book = self.book(n, classes)
        if sign > 0 and fresh.size:
            self._undo = None
        nothing = np.empty((0, book.shares.size))
        kernels.run(book, self._rules(book), *tasks, fresh, sign, nothing, nothing[:, 0])

    def learn_one(self, tasks: Tasks, n: int, classes: int) -> None:
        """Learn one task, and remember how to undo that."""
        book = self.book(n, classes)
        self._undo = _Undo(tasks, book)
        self.learn(tasks, n, classes)

    def unlearn_one(self, tasks: Tasks, n: int, classes: int) -> None:
        """Take back one task: exactly if it was learnt last, else as far as the sums can tell."""
        undo, self._undo = self._undo, None
        if undo is not None and undo.is_of(tasks):
            undo.put_back(self.book(n, classes))
        else:
            self.learn(tasks, n, classes, sign=-1)

    def follow(self, tasks: Tasks, n: int, classes: int) -> tuple[Floats, Floats]:
        """`look` at each task before learning it."""
        return self._meanings(tasks, n, classes, 1)

    def look(self, tasks: Tasks, n: int, classes: int) -> tuple[Floats, Floats]:
        """What the labels of tasks mean and how hard they are, from what was learnt so far.

        A posterior a row, and the chance that an average labeller errs (nan without labels).
        """
        return self._meanings(tasks, n, classes, 0)

    def _meanings(self, tasks: Tasks, n: int, classes: int, sign: int) -> tuple[Floats, Floats]:
        book = self.book(n, classes, keep=sign != 0)
        found = np.empty((tasks.known.size, book.shares.size))
        hardness = np.empty(tasks.known.size)
        parts = [(0, tasks.known.size)] if sign else parts_of(tasks.known.size)

        def work(k: int) -> None:
            begin, end = parts[k]
            here, hard = found[begin:end], hardness[begin:end]
            kernels.run(book, self._rules(book), *tasks.part(begin, end), NOTHING, sign, here, hard)

        side_by_side(work, len(parts))
        return found, hardness

    def _crowd(self, book: Book) -> tuple[float, float]:
        """The crowd's mean skill, and the answers that it is worth to each labeller."""
        g = weight_of(book.clock, self.fade, book.clock[CLOCK])
        k = max(int(book.clock[NAMED]), 2)
        return float(mean_skill(book.totals, k, g)), float(g * strength(book.totals, g))

    # How sure --------------------------------------------------------------------------------

    def limits(self, n: int, z: float) -> Limits:
        """Every labeller's skill with the limits that are z standard errors away."""
        book = self.book(n, 2)
        people = book.people[:n]
        classes = max(int(book.clock[NAMED]), 2)
        mean, prior = self._crowd(book)
        b, c = people["b"].copy(), people["c"].copy()
        v, f, d = people["v"].copy(), people["f"].copy(), people["d"].copy()
        skill = (b + prior * mean) / (c + prior)
        if self.auto:
            skill, b, c, v, f, d = self._by_horizons(book, n, mean)
        elif 0 < n <= SMALL:
            used = book.skills[:n].copy()
            # As little shrunk as can be: an interval that is drawn to the mean misses extremes.
            kernels.fit_pairs(book, n, classes, mean, FIT_PRIOR)
            skill, book.skills[:n] = book.skills[:n].copy(), used
            spread = _fit_variance(book, n, skill) * (
                1.0 + SMALL_SAMPLE / np.maximum(people["answers"], 1.0)
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                alone = np.maximum(v + skill * f - skill**2 * d, kernels.LEAST_SPREAD * v) / c**2
                spread = np.where(c > 0, np.fmax(spread, alone), spread)  # with all others known
                shape, tilt = np.where(v > 0, d / v, 1.0), np.where(v > 0, f / v, 0.0)
                own = np.maximum(1.0 + tilt * skill - shape * skill**2, kernels.LEAST_SPREAD)
                c = np.where(spread > 0, own / spread, 0.0)  # answers that would tell as much
            b, v, f, d = skill * c, c, tilt * c, shape * c
        least = -1.0 / (classes - 1.0)
        low, high = score_limits(b, c, v, f, d, z)
        low, high = np.clip(low, least, 1.0), np.clip(high, least, 1.0)
        high = np.where(skill >= kernels.MOST_SKILL - 1e-9, 1.0, high)  # may be perfect
        gold = np.full(n, book.totals[kernels.GOLD_TASKS] >= LEAST_GOLD)
        low = np.where(gold & (low > 0), low * self._joint(book, classes), low)
        skill = np.clip(np.clip(skill, least, 1.0), low, high)
        return Limits(skill, low, high, gold | (people["gold"] > 0))

    def skill(self, i: int, n: int) -> float:
        """The skill of one labeller; of nobody known (−1), the crowd's mean."""
        book = self.book(n, 2)
        mean, prior = self._crowd(book)
        if i < 0:
            return mean
        if n <= SMALL and not self.auto:
            return float(book.skills[i])
        ks = np.empty(kernels.BANK)
        kernels.horizon_priors(book.totals, book.crowd, 1.0, ks)
        return float(kernels.skill_of(book.people, book.bank, i, self.auto, mean, prior, ks))

    def _joint(self, book: Book, classes: int) -> float:
        """How much of a skill is left if the crowd errs together as often as gold allows."""
        told, wrong = book.totals[kernels.GOLD_TASKS], book.totals[kernels.GOLD_WRONG]
        if told < LEAST_GOLD:
            return 1.0
        z, p = GOLD_LEVEL, wrong / told
        middle = p + z * z / (2 * told)
        upper = (middle + z * np.sqrt(p * (1 - p) / told + (z / (2 * told)) ** 2)) / (
            1 + z * z / told
        )
        return float(max(1.0 - classes * upper / (classes - 1.0), 0.0))

    def _by_horizons(
        self, book: Book, n: int, mean: float
    ) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        """The same sums where horizons are chosen: each horizon's by its weight."""
        people, bank, size = book.people[:n], book.bank[:n], kernels.BANK
        ks = np.empty(size)
        kernels.horizon_priors(book.totals, book.crowd, 1.0, ks)
        bs, cs, weights = bank[:, :size], bank[:, size : 2 * size], bank[:, 2 * size :]
        skill = (weights * (bs + ks * mean) / (cs + ks)).sum(axis=1)
        kept = kernels.KEEP ** people["answers"][:, None]
        # A sum of squares of weights, as a share of the sum of weights.
        squares = np.where(kernels.KEEP < 1, LAG * (1 + kept) / (1 + kernels.KEEP), 1.0)
        c, v = (weights * cs).sum(axis=1), (weights * cs * squares).sum(axis=1)
        # Horizons that differ tell that the skill moves: their spread is uncertainty too.
        each = (bs + ks * mean) / (cs + ks)
        spread = (weights * (each - skill[:, None]) ** 2).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(people["v"] > 0, v / people["v"], 0.0)
            f, d = people["f"] * share, people["d"] * share
            own = np.maximum(v + skill * f - skill**2 * d, kernels.LEAST_SPREAD * v)
            wider = np.where(own > 0, 1.0 + spread * c**2 / own, 1.0)
        return skill, skill * c, c, v * wider, f * wider, d * wider

    # Who changed -----------------------------------------------------------------------------

    def rings(self, n: int) -> list[Ring]:
        """The alarms that are remembered, the oldest first."""
        book = self.book(n, 2)
        rung = int(book.totals[kernels.RUNG])
        order = np.arange(max(rung - kernels.EVENTS, 0), rung) % kernels.EVENTS
        events = book.events[order]
        active = book.people["answers"][:n] >= kernels.SETTLED_IN
        answers = book.people["answers"][:n][active]
        gap = float(np.mean(book.clock[LEARNT] / answers)) if answers.size else 1.0
        found = []
        for event in events:
            near = np.abs(events[:, kernels.AT] - event[kernels.AT]) <= NEARBY * gap
            near &= events[:, kernels.WAY] == event[kernels.WAY]
            who = np.unique(events[near, kernels.WHO]).size
            found.append(
                Ring(
                    task=int(event[kernels.AT]),
                    labeller=int(event[kernels.WHO]),
                    before=float(event[kernels.FROM]),
                    after=float(event[kernels.TO]),
                    evidence=float(event[kernels.PROOF]),
                    answers=int(event[kernels.SINCE]),
                    everyone=bool(who > 2 and who >= EVERYONE * active.sum()),
                )
            )
        return found

    def trend(self, i: int, n: int) -> tuple[Floats, Floats, Floats]:
        """Of one labeller: the tasks up to which, the skill then, and its standard error."""
        book = self.book(n, 2)
        person = book.people[i]
        points = book.trend[i, : int(person["points"])]
        if person["point_n"] > 0:
            last = [person["point_b"], person["point_c"], book.clock[LEARNT]]
            points = np.vstack([points, last])
        mean, prior = self._crowd(book)
        weight = min(prior, kernels.STRIDE / 2)  # a point is a few answers
        exposure = points[:, 1] + weight
        return points[:, 2], (points[:, 0] + weight * mean) / exposure, 1 / np.sqrt(exposure)

    # Who copies ------------------------------------------------------------------------------

    def compared(self, n: int) -> Compared:
        """Those compared pair by pair."""
        book = self.book(n, 2)
        at = np.flatnonzero(book.slots >= 0)
        who = book.slots[at]
        met, agreed = pair_sums(book, 0, at), pair_sums(book, 1, at)
        return Compared(who, met, agreed, dependence(met, agreed, book.said[who]))

    def declare(self, codes: Ints, numbers: Ints, of: int, n: int) -> None:
        """Labellers belong to families, numbered from 1 to ``of``."""
        book = self.book(n, 2)
        book.people["family"][codes] = numbers
        self.declared = of
        missing = self.declared - book.rho.size
        if missing > 0:
            self._held = book._replace(rho=np.append(book.rho, np.full(missing, DECLARED)))

    @property
    def due(self) -> bool:
        """Whether it is time to ask who copies whom."""
        return self._held is not None and self.until_due() <= 0

    def until_due(self) -> int:
        """Tasks to learn before it is time to ask."""
        book = self.book(0, 2)
        last = book.totals[kernels.ASKED]
        return int(np.ceil(GROWTH * last + FIRST_LOOK - book.clock[LEARNT]))

    def regroup(self, n: int) -> Floats | None:
        """Ask who copies whom. If the families have changed, what everybody's skill is.

        What was learnt so far was judged by labels that a family had a share in; the pairs alone
        tell the skills without it, nan for those who are not compared.
        """
        book = self.book(n, 2)
        book.totals[kernels.ASKED] = book.clock[LEARNT]
        if not book.rho.size and not (book.pairs[:, :, 0] >= ENOUGH).any():
            return None
        who, met, _, found = self.compared(n)
        member = book.people["family"]
        before = member[:n].copy()
        rho = book.rho[: self.declared].copy()
        for number in range(1, self.declared + 1):
            here = np.flatnonzero(before[who] == number)
            inside = np.triu(met[np.ix_(here, here)] > 0, 1)
            if inside.any():
                rho[number - 1] = max(found.rho[np.ix_(here, here)][inside].mean(), 0.0)
        groups, inside_rho = families(found._replace(z=np.where(met >= ENOUGH, found.z, 0.0)))
        twice = (groups > 0) & (book.people["suspect"][who] > 0)
        book.people["suspect"][who] = groups > 0
        groups = np.where(twice, groups, 0)  # once may be chance
        if self.fade > 0 or self.auto:  # skills that move together look like copying
            groups, inside_rho = np.zeros_like(groups), np.empty(0)
        free = (before[who] == 0) | (before[who] > self.declared)
        numbers = np.where(groups > 0, groups + self.declared, 0)
        for group in np.unique(groups[(groups > 0) & ~free]):  # copies of those declared join them
            numbers[groups == group] = before[who[(groups == group) & ~free]].min()
        member[:n][before > self.declared] = 0
        member[who[free]] = numbers[free]
        self._held = book._replace(rho=np.append(rho, np.minimum(inside_rho, 1.0)))
        if ((member[:n] > 0) == (before > 0)).all():
            return None
        skills = np.full(n, np.nan)
        scale = 1.0 - (book.shares**2).sum() / max(book.shares.sum() ** 2, 1e-9)
        skills[who] = np.clip(found.skill / np.sqrt(max(scale, 1e-3)), -1.0, 1.0)
        told = ~np.isnan(skills)
        people = book.people[:n]
        people["b"][told] = skills[told] * people["c"][told]
        return skills

    def effective(self, votes: float, n: int) -> float:
        """How many independent votes so many votes are worth."""
        book = self.book(n, 2)
        mean, _ = self._crowd(book)
        k = max(int(book.clock[NAMED]), 2)
        weights = book.strengths + STRENGTH_PRIOR
        weights = weights / weights.sum()
        spread = (weights * GRID**2).sum() - (weights * GRID).sum() ** 2
        skill, scale = min(mean, 0.95), 1.0 - 1.0 / k
        right = 1.0 / k + scale * skill
        rho = (scale * skill) ** 2 * spread / (right * (1.0 - right))
        answers = book.people["answers"][:n]
        share = answers / max(answers.sum(), 1.0)
        for number, inside in enumerate(book.rho, start=1):
            rho += inside * share[book.people["family"][:n] == number].sum() ** 2
        return float(votes / (1.0 + max(votes - 1.0, 0.0) * min(rho, 1.0)))

    # What can be known -----------------------------------------------------------------------

    def groups(self, n: int) -> Ints:
        """Of every labeller, who stands for those it shares tasks with, directly or by others."""
        book = self.book(n, 2)
        return np.array([kernels.root_of(book.groups, i) for i in range(n)], np.int64)

    def above_chance(self, n: int) -> tuple[float, float]:
        """The crowd's mean skill, and how many standard errors that is above chance."""
        book = self.book(n, 2)
        totals = book.totals
        if totals[EXPOSURE] <= 0 or totals[NOISE] <= 0:
            return 0.0, 0.0
        return totals[SKILL] / totals[EXPOSURE], totals[SKILL] / float(np.sqrt(totals[NOISE]))

    @property
    def gold_tasks(self) -> int:
        """Tasks whose truth was told."""
        return int(self.book(0, 2).totals[kernels.GOLD_TASKS])

    # Merging and saving ----------------------------------------------------------------------

    def absorb(self, other: Watch, names: Ints, classes: Ints, n: int, k: int) -> None:
        """Add the sums of another, whose labeller i is ``names[i]``; alarms stay with their own."""
        book, more = self.book(n, k), other.book(len(names), len(classes), keep=False)
        if self.fade > 0:
            more = kernels.resized(
                more, more.people.size, more.shares.size, more.slots.size, self.auto
            )
            kernels.renormalise(book, self.fade)
            kernels.renormalise(more, self.fade)
        people, theirs = book.people, more.people[: len(names)]
        for name in ("answers", "b", "c", "v", "f", "d", "gold"):
            np.add.at(people[name], names, theirs[name])
        book.said[np.ix_(names, classes)] += more.said[: len(names), : len(classes)]
        book.shares[classes] += more.shares[: len(classes)]
        if self.auto:
            size = kernels.BANK
            book.bank[names, : 2 * size] += more.bank[: len(names), : 2 * size]
        book.strengths[:] += more.strengths
        book.crowd[:2] += more.crowd[:2]
        totals = [t for t in range(book.totals.size) if t not in (kernels.RUNG, kernels.ASKED)]
        book.totals[totals] += more.totals[totals]
        book.clock[LEARNT] += more.clock[LEARNT]
        book.clock[NAMED] = k
        self._absorb_pairs(book, more, names)
        for i, parent in enumerate(more.groups[: len(names)]):
            one = kernels.root_of(book.groups, names[i])
            book.groups[one] = kernels.root_of(book.groups, names[parent])
        fresh = people["points"][names] == 0
        book.trend[names[fresh]] = more.trend[: len(names)][fresh]
        for name in ("points", "stride", "point_b", "point_c", "point_n"):
            people[name][names[fresh]] = theirs[name][fresh]

    def _absorb_pairs(self, book: Book, more: Book, names: Ints) -> None:
        """Those compared there are compared here as far as there is room."""
        there = np.flatnonzero(more.slots >= 0)
        who = names[more.slots[there]]
        for i in who[book.people["slot"][who] == 0]:
            kernels.take_slot(book.people, book.slots, book.pairs, i)
        here = book.people["slot"][who].astype(np.int64) - 1
        kept = here >= 0
        ours, others = here[kept], there[kept]
        for k in range(2):
            met = np.zeros(book.pairs.shape[:2])
            met[np.ix_(ours, ours)] = pair_sums(more, k, others)
            book.pairs[:, :, k] += np.triu(met, 1)
        few = len(names) <= SMALL and book.people.size and (names < SMALL).all()
        if few:
            book.pulls[np.ix_(names, names)] += more.pulls[: len(names), : len(names)]
            mean, prior = self._crowd(book)
            classes = max(int(book.clock[NAMED]), 2)
            kernels.fit_pairs(book, min(int(names.max()) + 1, SMALL), classes, mean, prior)

    def pack(self, n: int) -> dict[str, NDArray[np.generic]]:
        """The learnt arrays, without spare room."""
        book = self.book(n, 2)
        bank = book.bank[: n if self.auto else 0]
        book = book._replace(
            people=book.people[:n],
            groups=book.groups[:n],
            said=book.said[:n],
            bank=bank,
            trend=book.trend[:n],
        )
        return dict(book._asdict())

    def unpack(self, arrays: dict[str, tuple[list[int], bytes]], n: int, classes: int) -> None:
        """Take over arrays that `pack` gave."""
        kinds = kernels.new_book(0, 2, self.auto)._asdict()
        try:
            found = Book(
                **{
                    name: np.frombuffer(arrays[name][1], kind.dtype).reshape(arrays[name][0]).copy()
                    for name, kind in kinds.items()
                }
            )
        except (KeyError, ValueError) as error:
            raise StateError(f"a saved state whose arrays do not fit: {error}") from None
        slots, width = found.slots.size, found.shares.size
        wanted = kernels.new_book(n, max(classes, width), self.auto, slots)
        wanted = wanted._replace(rho=found.rho)
        if any(a.shape != b.shape for a, b in zip(found, wanted, strict=True)):
            raise StateError("a saved state whose arrays do not fit")
        self._held = found


class _Undo:
    """What the sums of one task's labellers were before it was learnt."""

    ROWS = ("people", "said", "bank", "trend")
    WHOLE = ("shares", "strengths", "crowd", "skills", "pulls", "totals", "clock")

    def __init__(self, tasks: Tasks, book: Book) -> None:
        self.tasks = tasks
        self.who = np.unique(tasks.workers)
        self.rows = {
            name: getattr(book, name)[self.who] for name in self.ROWS if getattr(book, name).size
        }
        self.whole = {name: getattr(book, name).copy() for name in self.WHOLE}
        slots = book.people["slot"][self.who].astype(np.int64) - 1
        self.slots = slots[slots >= 0]
        self.pairs = book.pairs[self.slots[:, None], self.slots]

    def is_of(self, tasks: Tasks) -> bool:
        """Whether these are the labels it would undo."""
        mine = self.tasks
        return (
            np.array_equal(mine.workers, tasks.workers)
            and np.array_equal(mine.labels, tasks.labels)
            and np.array_equal(mine.truths, tasks.truths)
        )

    def put_back(self, book: Book) -> None:
        """Undo."""
        new = book.people["slot"][self.who].astype(np.int64) - 1
        for s in new[(new >= 0) & ~np.isin(new, self.slots)]:  # compared for the first time
            book.slots[s] = -1
            book.pairs[s] = book.pairs[:, s] = 0.0
        for name, rows in self.rows.items():
            array = getattr(book, name)
            array[self.who] = 0
            if array.dtype.names:
                array[self.who] = rows
            else:
                array[(self.who, *(slice(size) for size in rows.shape[1:]))] = rows
        for name, whole in self.whole.items():
            array = getattr(book, name)
            array[...] = 0
            array[tuple(slice(size) for size in whole.shape)] = whole
        book.pairs[self.slots[:, None], self.slots] = self.pairs


def score_limits(
    b: Floats, c: Floats, v: Floats, f: Floats, d: Floats, z: float
) -> tuple[Floats, Floats]:
    """The roots θ of ``(B − θ C)² = z² (V + θ F − θ² D)``; ∓∞ where nothing is known.

    >>> low, high = score_limits(*(np.array([x]) for x in (8.0, 10.0, 10.0, 0.0, 10.0)), 1.96)
    >>> low.round(2).item(), high.round(2).item()
    (0.19, 0.96)
    """
    square, slope, level = c * c + z * z * d, 2 * b * c + z * z * f, b * b - z * z * v
    known = square > 0
    root = np.sqrt(np.maximum(slope**2 - 4 * square * level, 0.0))
    half = np.where(known, 2 * square, 1.0)
    low = np.where(known, (slope - root) / half, -np.inf)
    high = np.where(known, (slope + root) / half, np.inf)
    return low, high


def pair_sums(book: Book, k: int, slots: Ints) -> Floats:
    """Tasks together (0) or agreements (1) of those in these slots, both ways."""
    above = book.pairs[slots[:, None], slots, k]
    found: Floats = above + above.T
    return found


def _fit_variance(book: Book, n: int, skill: Floats) -> Floats:
    """The variance of the pairs' fit: what the tasks say against it, through its derivative."""
    met = pair_sums(book, 0, np.arange(n))
    family = book.people["family"][:n]
    met[(family[:, None] == family) & (family[:, None] > 0)] = 0.0
    np.fill_diagonal(met, 0.0)
    slope = met * np.outer(skill, skill)
    slope[np.diag_indices(n)] = (met * skill**2).sum(axis=1) + FIT_PRIOR
    try:
        inverse = np.linalg.inv(slope)
    except np.linalg.LinAlgError:
        return np.full(n, np.inf)
    found: Floats = np.einsum("ij,jk,ik->i", inverse, book.pulls[:n, :n], inverse)
    return found
