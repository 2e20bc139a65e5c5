"""Who copies whom: groups of workers who give the same labels where the others say otherwise.

*Copies* are beyond doubt by the labels alone, or by gold; *suspects* would be copies or experts,
which labels alone do not tell. The rule:

1. Candidates: pairs with `SHARED` tasks or more and Cohen's kappa of at least 0.9, then 0.8, then
   0.7. Groups are what such pairs connect; the rest are the workers in no group.
2. A *case* is a member's label that another label has more votes than among the rest. Mates say
   the same in so many of the cases, in nearly as many of each member's, and for two labels
   separately, or else constant answerers would pass for copies. Otherwise the worst member leaves,
   and it is counted again.
3. Experts agree where guessers err, too. With C the agreement beyond habits over its maximum and e
   three of its errors, experts who copy nobody have at most C_in = U, with
   ``U = (|C_group,rest| + e)² / (C_rest,rest − e)``. So ``(C_in − U) / (1 − U)`` must be high.
   C_rest,rest is measured on the group's own tasks: others may be done by better workers.
4. Of suspects gold tells: c gold tasks on which group and rest differ, the group being right
   on r, make it a copy if that is ten times as likely by chance, ½ᶜ, as of experts, 0.9ʳ 0.1ᶜ⁻ʳ.

Arrays in, arrays out: knows workers, classes and tasks by codes, and depends on the order of none.
docs/how-it-works.md explains it, with its figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import StateError
from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.metrics import wilson
from crowdstream.models.copy_loops import (
    add_agreement,
    count_cases,
    count_pairs,
    fill_pluralities,
)
from crowdstream.models.rows import APART, REST
from crowdstream.serialization import Packed
from crowdstream.sums.groups import connected

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST, CELLS = 256, 2**22
"""Workers who are compared pair by pair, and by class: with 100 classes that takes 26 MB. More, as
long as there are no more than so many cells, which are 16 MB: 1,448 workers with two classes."""

SHARED = 30
"""Tasks that two workers must share to be compared."""

LEVELS = 0.9, 0.8, 0.7
"""Cohen's kappa of candidate pairs, tried in this order: close copies are found where a lower one
would connect all workers who are good."""

EACH = 5
"""Cases that a label must have to count as one of the two for which mates say the same."""

LABELS = 2
"""Labels for which mates must say the same."""

ERRORS = 3.0
"""Standard errors that are granted to chance, in shares and in agreement."""

NOISE = 1.5
"""Standard deviation of one pair's agreement, over √pairs: pairs of one task are not independent,
which would make it at most ½."""

BEYOND = 0.5
"""The least (C_in − U)/(1 − U): the part of the agreement that experts could not have that they do
have."""

HABIT = 8.0
"""Labels in the proportions of all that a worker's habits begin with, as in the teacher."""

LEAVING = 10
"""One in so many members leaves at a time, the worst: one of fewer than 20."""

EXPERT, ODDS = 0.9, 10.0
"""How often experts are right where the rest says otherwise, and how much likelier chance must be
for a group to be copies."""


NO_PAIRS: Codes = np.empty((0, 0), np.int32)


class Tier(NamedTuple):
    """How strict the second step is: the least share of cases in which mates say the same.

    ``limit`` is for Wilson's lower limit of it at 3 standard errors, and for each member's own
    share: good workers who agree with a group of copies now and then do not hang on to it.
    ``joins``: whether members who leave a group are counted with the rest.
    """

    share: float
    limit: float
    joins: bool


COPY = Tier(0.93, 0.88, joins=True)
"""Copies beyond doubt."""

SUSPECT = Tier(0.85, 0.80, joins=False)
"""Suspects: where the rest is those who were never in doubt, and a tenth of labels not copied."""

BY_LABELS, BY_GOLD, IN_DOUBT = range(3)
"""What makes a group copies, or that it is in doubt whether it is: suspects."""


@dataclass(frozen=True, eq=False)
class Group:
    """Workers who give the same labels, and how they do.

    Attributes
    ----------
    members
        Their codes.
    kind
        `BY_LABELS`, `BY_GOLD` or `IN_DOUBT`.
    cases, alike
        Labels that another label has more votes than among the rest; the share of mates who said
        the same there.
    beyond
        The part of their agreement, of what experts could not have, that they have.
    differ, right
        Gold tasks on which group and rest differ, and those on which the group was right.
    met, same
        Ordered pairs of members' labels on one task, and those that are the same.
    """

    members: Codes
    kind: int
    cases: int
    alike: float
    beyond: float
    met: int
    same: int
    differ: int = 0
    right: int = 0


class Copies:
    """All groups found among the workers of a crowd, those with the most members first.

    Parameters
    ----------
    groups
        The groups; no worker is in two.
    """

    def __init__(self, groups: Sequence[Group] = ()) -> None:
        self.groups = sorted(
            groups,
            key=lambda g: (g.kind == IN_DOUBT, -g.members.size, -g.cases, -g.met, g.same),
        )

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def declared(self) -> list[Group]:
        """The groups that are copies by their labels or by gold."""
        return [group for group in self.groups if group.kind != IN_DOUBT]

    @property
    def suspects(self) -> list[Group]:
        """The groups of which it is in doubt."""
        return [group for group in self.groups if group.kind == IN_DOUBT]

    def places(self, workers: int) -> Codes:
        """The number of each worker's group, `REST` for none."""
        found = np.full(workers, REST, np.int32)
        for number, group in enumerate(self.groups):
            found[group.members] = number
        return found

    @staticmethod
    def among(workers: int, groups: Sequence[Group]) -> Flags:
        """Return which workers are in one of some groups."""
        found = np.zeros(workers, np.bool_)
        for group in groups:
            found[group.members] = True
        return found

    def moved(self, names: Ints) -> Copies:
        """The same groups where worker i is ``names[i]``."""
        return Copies([replace(g, members=names[g.members].astype(np.int32)) for g in self.groups])

    def judged(self, gold: LabelBatch, workers: int, classes: int) -> Copies:
        """Return the groups as gold tasks judge them: suspects may become copies.

        Parameters
        ----------
        gold
            Tasks of known truth.
        workers, classes
            How many there are.
        """
        place, found = self.places(workers), []
        if not len(gold) or not self.suspects:
            return self
        rest = pluralities(gold, place, REST, classes)
        for number, group in enumerate(self.groups):
            if group.kind != BY_LABELS:
                said = pluralities(gold, place, number, classes)
                differ = (said >= 0) & (rest >= 0) & (said != rest) & (gold.known_truths >= 0)
                c, r = int(differ.sum()), int((said == gold.known_truths)[differ].sum())
                kind = BY_GOLD if copies_by_gold(c, r) else IN_DOUBT
                group = replace(group, kind=kind, differ=c, right=r)
            found.append(group)
        return Copies(found)

    # Saving ----------------------------------------------------------------------------------

    def pack(self, workers: int) -> Packed:
        """Return the groups as arrays."""
        numbers = [
            [g.kind, g.cases, g.alike, g.beyond, g.met, g.same, g.differ, g.right]
            for g in self.groups
        ]
        return {
            "places": self.places(workers),
            "numbers": np.array(numbers, np.float64).reshape(len(numbers), 8),
        }

    @classmethod
    def unpack(cls, arrays: Mapping[str, NDArray[Any]], workers: int) -> Copies:
        """Return what `pack` gave."""
        place, numbers = arrays.get("places"), arrays.get("numbers")
        if place is None or numbers is None or place.size != workers or numbers.ndim != 2:
            raise StateError("a saved state whose copies do not fit")
        groups = []
        for number, row in enumerate(numbers.tolist()):
            kind, cases, alike, beyond, met, same, differ, right = row
            members = np.flatnonzero(place == number).astype(np.int32)
            if not members.size:
                raise StateError("a saved state whose copies do not fit")
            groups.append(
                Group(
                    members, int(kind), int(cases), alike, beyond, int(met), int(same),
                    int(differ), int(right),
                )
            )  # fmt: skip
        return cls(groups)


def copies_by_gold(differ: int, right: int) -> bool:
    """Whether so many gold tasks, on which group and rest differ, show that a group copies.

    >>> copies_by_gold(6, 2), copies_by_gold(6, 5), copies_by_gold(2, 0)
    (True, False, True)
    """
    likelier = differ * np.log(0.5) - right * np.log(EXPERT)
    return bool(likelier - (differ - right) * np.log(1.0 - EXPERT) >= np.log(ODDS))


def as_one(batch: LabelBatch, place: Codes, classes: int) -> LabelBatch:
    """Return the tasks with one label for each group of workers: what most of it say.

    None where they tie. ``place``: each worker's group, below 0 for none. The label is given by the
    group's first member.
    """
    groups = np.unique(place[place >= 0])
    if not groups.size:
        return batch
    task = np.repeat(np.arange(len(batch)), batch.sizes)
    who, kept = batch.workers.copy(), np.ones(batch.labels.size, np.bool_)
    for number in groups.tolist():
        mine = np.flatnonzero(place[batch.workers] == number)
        said = pluralities(batch, place, number, classes)[task[mine]]
        agree = mine[batch.labels[mine] == said]
        _, first = np.unique(task[agree], return_index=True)
        kept[mine], kept[agree[first]] = False, True
        who[mine] = np.flatnonzero(place == number)[0]
    starts = np.concatenate([[0], np.cumsum(np.bincount(task[kept], minlength=len(batch)))])
    return LabelBatch(starts, who[kept], batch.labels[kept])


def pluralities(batch: LabelBatch, place: Codes, which: int, classes: int) -> Codes:
    """The label that most of the workers at a place give on each task; −1 for none or a tie.

    >>> batch = LabelBatch(np.array([0, 3]), np.arange(3, dtype=np.int32), np.array([1, 1, 0], np.int32))
    >>> pluralities(batch, np.full(3, REST, np.int32), REST, 2).tolist()
    [1]
    """  # noqa: E501
    found = np.empty(len(batch), np.int32)
    fill_pluralities(batch.coded, place, which, np.zeros(classes, np.int64), found)
    return found


def most_compared(classes: int) -> int:
    """How many workers can be compared pair by pair.

    >>> most_compared(2), most_compared(100)
    (1448, 256)
    """
    return max(int((CELLS / classes) ** 0.5), MOST)


def find_copies(
    batch: LabelBatch, classes: int, family: Codes | None = None, chosen: Codes | None = None
) -> Copies:
    """Find copies and suspects among the workers of some tasks.

    Parameters
    ----------
    batch
        The tasks.
    classes
        How many classes there are.
    family
        The declared family of each worker, −1 for none. Who is in one is not compared: what users
        declare holds.
    chosen
        The workers to compare; ``None``: all who have labels enough. If these are more than
        `most_compared`, none is found.

    Examples
    --------
    The last two of nine workers say the same, right or wrong:

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=800)
    >>> said = truth[:, None] ^ (rng.random((800, 9)) < 0.3)
    >>> said[:, 8] = said[:, 7]
    >>> workers = np.tile(np.arange(9, dtype=np.int32), 800)
    >>> batch = LabelBatch(np.arange(801) * 9, workers, said.ravel().astype(np.int32))
    >>> [group.members.tolist() for group in find_copies(batch, 2).declared]
    [[7, 8]]
    """
    counts = np.bincount(batch.workers)
    who = np.flatnonzero(counts)
    answers = counts[who]
    related = np.full(who.size, -1, np.int32) if family is None else family[who]
    compared = (answers >= SHARED) & (related < 0)
    if chosen is not None:
        compared &= np.isin(who, chosen)
    if not 2 <= compared.sum() <= most_compared(classes) or who.size < 3:
        return Copies()
    codes = np.zeros(counts.size, np.int32)
    codes[who] = np.arange(who.size)
    local = LabelBatch(batch.starts, codes[batch.workers], batch.labels)
    search = _Search(local, classes, np.flatnonzero(compared), related)
    copies = search.groups(COPY, np.full(who.size, REST, np.int32))
    out = np.full(who.size, REST, np.int32)
    for group in copies:
        out[group.members] = APART
    found = Copies([*copies, *search.groups(SUSPECT, out)])
    return found.moved(who)


class _Search:
    """Groups among the workers ``compared`` of a batch."""

    def __init__(self, batch: LabelBatch, classes: int, compared: Ints, family: Codes) -> None:
        n = family.size
        self._batch, self._classes, self._compared = batch, classes, compared
        self._family = family if (family >= 0).any() else np.empty(0, np.int32)
        self._here = np.empty(int(batch.sizes.max(initial=1)), np.int64)
        self._slots = np.full(n, -1, np.int32)
        self._slots[compared] = np.arange(compared.size)
        size = compared.size
        joint = np.zeros((size, size, classes), np.int32)
        self._same = np.zeros((size, size), np.int32)
        count_pairs(batch.coded, self._slots, joint, self._same, self._here)
        self._met = joint.sum(axis=2)
        self._kappa = np.where(self._met >= SHARED, kappa(joint, self._same), 0.0)

    def groups(self, tier: Tier, place: Codes) -> list[Group]:
        """The groups of a tier, where some workers are `APART` from the beginning.

        What is found at a lower kappa takes the place of what it contains.
        """
        found: list[Group] = []
        for level in LEVELS:
            for group in self._at(level, tier, place.copy()):
                touched = [one for one in found if np.isin(one.members, group.members).any()]
                if all(np.isin(one.members, group.members).all() for one in touched):
                    found = [one for one in found if one not in touched] + [group]
        return found

    def _at(self, level: float, tier: Tier, place: Codes) -> list[Group]:
        """Groups that pairs of this kappa connect, as far as they stand."""
        free = place[self._compared] != APART
        linked = (self._kappa >= level) & free[:, None] & free[None, :]
        if not linked.any():
            return []
        names = connected(free.size, *np.nonzero(np.triu(linked, 1)))
        for number, name in enumerate(np.unique(names[linked.any(axis=1)])):
            place[self._compared[names == name]] = number
        self._screen(tier, place)
        counts = self._settle(tier, place)
        numbers = np.unique(place[place >= 0])
        if not numbers.size:
            return []
        beyond = self._beyond(place)
        return [
            self._group(np.flatnonzero(place == g), tier, counts, beyond[g])
            for g in numbers.tolist()
            if beyond[g] >= BEYOND
        ]

    def _screen(self, tier: Tier, place: Codes) -> None:
        """Let members leave until what is left are suspects by the share of cases alone.

        Counted once, the rest staying as it is: nearly all groups of honest workers end here.
        """
        left = REST if tier.joins else APART
        size = self._compared.size
        mates, alike = np.zeros((size, size), np.int32), np.zeros((size, size), np.int32)
        self._count(place, mates, alike)
        for group in np.unique(place[place >= 0]).tolist():
            members = np.flatnonzero(place == group)
            while members.size:
                inside = np.ix_(self._slots[members], self._slots[members])
                counts = np.stack([mates[inside].sum(axis=1), alike[inside].sum(axis=1)])
                total, same = counts.sum(axis=1)
                if not enough(total, SUSPECT):  # there are no more cases than mates in them
                    gone = np.ones(members.size, np.bool_)
                elif same >= SUSPECT.share * total:
                    break
                else:
                    gone = worst(*counts)
                place[members[gone]] = left
                members = members[~gone]
            if members.size == 1:
                place[members] = left

    def _count(self, place: Codes, mates: Codes = NO_PAIRS, alike: Codes = NO_PAIRS) -> Ints:
        """Cases, mates in them, and mates who say the same: by slot and label."""
        found = np.zeros((self._compared.size, self._classes, 3), np.int64)
        votes = np.zeros(self._classes, np.int64)
        tasks = self._batch.coded
        count_cases(tasks, place, self._slots, votes, self._here, found, mates, alike)
        return found

    def _group(self, members: Ints, tier: Tier, counts: Ints, beyond: float) -> Group:
        slots = self._slots[members]
        cases, mates, alike = counts[slots].sum(axis=(0, 1))
        inside = np.ix_(slots, slots)
        return Group(
            members.astype(np.int32),
            BY_LABELS if tier is COPY else IN_DOUBT,
            int(cases),
            float(alike / mates),
            float(beyond),
            int(self._met[inside].sum()),
            int(self._same[inside].sum()),
        )

    def _settle(self, tier: Tier, place: Codes) -> Ints:
        """Let the worst members of groups that do not stand leave, until all do: their cases."""
        while True:
            counts, done = self._count(place), True
            for group in np.unique(place[place >= 0]).tolist():
                members = np.flatnonzero(place == group)
                mine = counts[self._slots[members]]
                if stands(mine, tier):
                    continue
                gone = worst(*mine.sum(axis=1).T[1:])
                if members.size - gone.sum() < 2 or not enough(int(mine[..., 0].sum()), tier):
                    gone[:] = True
                place[members[gone]] = REST if tier.joins else APART
                done = False
            if done:
                return counts

    def _habits(self) -> Floats:
        """The shares of classes in each worker's labels, drawn towards those of all."""
        n, k, batch = self._slots.size, self._classes, self._batch
        cells = batch.workers.astype(np.int64) * k + batch.labels
        said = np.bincount(cells, minlength=n * k).reshape(n, k)
        shares = said.sum(axis=0) / said.sum()
        return np.asarray((said + HABIT * shares) / (said.sum(axis=1, keepdims=True) + HABIT))

    def _beyond(self, place: Codes) -> Floats:
        """(C_in − U)/(1 − U) of each group, −∞ where U says nothing."""
        found = np.zeros((int(place.max()) + 1, 3, 3))
        votes, expected = np.zeros(self._classes), np.zeros(self._classes)
        coded = self._batch.coded
        add_agreement(coded, place, self._family, self._habits(), votes, expected, found)
        pairs, same, chance = np.moveaxis(found, 2, 0)
        room = np.maximum(pairs - chance, 1e-9)
        inside, across, among = ((same - chance) / room).T
        error = (ERRORS * NOISE * np.sqrt(pairs) / room).T
        least = among - error[2]
        known = (least > 0.0) & (pairs[:, 2] > 0.0)
        bound = (np.abs(across) + error[1]) ** 2 / np.where(known, least, 1.0)
        beyond = (inside - bound) / np.maximum(1.0 - bound, 1e-9)
        return np.where(known & (bound < 1.0), beyond, -np.inf)


def kappa(joint: Codes, same: Codes) -> Floats:
    """Cohen's kappa of every two workers: agreement beyond chance, by their labels on shared tasks.

    ``joint[i, j, a]``: how often i said a on a task of both; ``same[i, j]``: how often they agreed.
    Where chance explains all agreement it is 0.

    >>> said = np.array([[[0, 0], [6, 4]], [[6, 4], [0, 0]]])
    >>> kappa(said, np.array([[0, 8], [8, 0]])).round(2)[0].tolist()
    [0.0, 0.58]
    """
    met = np.maximum(joint.sum(axis=2), 1).astype(np.float64)
    chance = np.zeros_like(met)
    for a in range(joint.shape[2]):
        chance += joint[:, :, a] / met * (joint[:, :, a].T / met)
    room = 1.0 - chance
    found = (same / met - chance) / np.maximum(room, 1e-9)
    return np.asarray(np.where(room > 1e-9, found, 0.0))


def enough(cases: int, tier: Tier) -> bool:
    """Whether so many cases would pass Wilson's limit if mates said the same in each.

    >>> enough(65, COPY), enough(66, COPY)
    (False, True)
    """
    return cases * (1.0 - tier.limit) >= ERRORS**2 * tier.limit


def stands(counts: Ints, tier: Tier) -> bool:
    """Whether mates say the same often enough; ``counts`` by member, label, and what is counted.

    >>> one = [[40, 40, 39], [40, 40, 40]]
    >>> stands(np.array([one, one]), COPY)
    True
    >>> stands(np.array([one, one, [[5, 5, 3], [5, 5, 5]]]), COPY)  # one hangs on
    False
    >>> stands(np.array([[[80, 80, 79], [0, 0, 0]]]), COPY)  # one label alone
    False
    """
    cases, mates, alike = counts.sum(axis=0).T
    total = int(cases.sum())
    if not enough(total, tier):
        return False
    share = alike.sum() / mates.sum()
    low, _ = wilson(share * total, total, ERRORS)
    labels = (cases >= EACH) & (alike >= tier.share * mates)
    _, met, same = counts.sum(axis=1).T
    each = (met > 0) & (same >= tier.limit * met)
    return bool(share >= tier.share and low >= tier.limit and labels.sum() >= LABELS and each.all())


def worst(mates: Ints, alike: Ints) -> Flags:
    """The members who leave: those whose mates say the same least often, and whoever ties.

    >>> worst(np.array([10, 10, 10]), np.array([9, 3, 9])).tolist()
    [False, True, False]
    """
    share = np.where(mates > 0, alike / np.maximum(mates, 1), 0.0)
    return np.asarray(share <= np.sort(share)[max(share.size // LEAVING, 1) - 1])
