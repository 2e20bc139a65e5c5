"""The agreement sums as Python sees them: what `MajorityVote` and `AgreementBased` share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError, StateError
from crowdstream.estimators import kernels
from crowdstream.estimators.base import (
    Coded,
    Estimator,
    Identifiability,
    Verdicts,
    check_recall,
)
from crowdstream.estimators.kernels import Crowd
from crowdstream.estimators.parallel import parts_of, side_by_side
from crowdstream.estimators.people import People
from crowdstream.labels import ClassLabel, LabellerId

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

REASONS = {
    kernels.OK: "",
    kernels.BY_GOLD: "only by the truths that were given",
    kernels.TOO_FEW: "fewer than three labellers share tasks",
    kernels.NO_MEETING: "no two labellers share a task",
    kernels.ONE_CLASS: "only one class was ever seen",
    kernels.APART: "the labellers fall into groups that share no task",
    kernels.AT_CHANCE: "the labellers agree no more than chance",
    kernels.UNSOLVED: "no error rates explain these agreements",
    kernels.NOT_ASKED: "majority vote estimates no error rates",
}
"""Why a crowd is not identifiable, or by what alone."""


class Tally(Estimator):
    """An estimator whose state is agreements, meetings and answers, a row a labeller."""

    _held: Crowd | None = None

    @abstractmethod
    def _rules(self) -> NDArray[np.void]:
        """The constructor's arguments as the compiled loops read them."""

    @property
    def _crowd(self) -> Crowd:
        """The sums, with room for all labellers known."""
        crowd = self._held or kernels.new_crowd()
        n, room = len(self._workers), crowd.people.size
        if n > room:
            grown = kernels.new_crowd(max(n, 2 * room))
            grown.people[:room] = crowd.people
            grown.group_met[:room] = crowd.group_met
            crowd = grown._replace(totals=crowd.totals, solver=crowd.solver)
        self._held = crowd
        return crowd

    def _learn(self, coded: Coded, sign: int, place: int, follow: bool, decide: bool) -> Verdicts:
        crowd, rules = self._crowd, self._rules()
        verdicts = Verdicts.room(coded.starts.size - 1 if decide else 0)
        if decide or follow or sign < 0 or place >= 0 or not self.order_free_:
            identified = self._run(crowd, rules, coded, verdicts, sign, place, follow)
            verdicts = verdicts._replace(identified=identified)
        else:
            self._learn_parts(crowd, rules, coded, verdicts)
        if not follow:
            kernels.settle(crowd, rules[0])
        return verdicts

    def _learn_parts(
        self, crowd: Crowd, rules: NDArray[np.void], coded: Coded, nothing: Verdicts
    ) -> None:
        """Learn parts side by side and add them up: sums do not depend on the order."""
        parts = parts_of(coded.starts.size - 1)
        crowds = [crowd, *(kernels.new_crowd(crowd.people.size) for _ in parts[1:])]

        def learn(k: int) -> None:
            self._run(crowds[k], rules, coded.part(*parts[k]), nothing, 1, -1, False)

        side_by_side(learn, len(parts))
        names = np.arange(crowd.people.size)
        for more in crowds[1:]:
            for column in ("labellers", "classes"):
                crowd.totals[column] = np.maximum(crowd.totals[column], more.totals[column])
            crowd.totals["clock"] += more.totals["clock"]
            crowd.totals["latest"] = np.maximum(crowd.totals["latest"], crowd.totals["clock"])
            kernels.absorb(crowd, more, names, rules)

    def _vote(self, coded: Coded, place: int, afresh: bool) -> Verdicts:
        crowd, rules = self._settled() if afresh else (self._crowd, self._rules())
        verdicts = Verdicts.room(coded.starts.size - 1)
        parts = parts_of(coded.starts.size - 1)

        def decide(k: int) -> bool:
            begin, end = parts[k]
            here = verdicts.part(begin, end)
            return self._run(crowd, rules, coded.part(begin, end), here, 0, place, False, begin)

        return verdicts._replace(identified=side_by_side(decide, len(parts))[-1])

    def _run(
        self,
        crowd: Crowd,
        rules: NDArray[np.void],
        coded: Coded,
        verdicts: Verdicts,
        sign: int,
        place: int,
        follow: bool,
        first: int = 0,
    ) -> bool:
        """Learn, decide or both; whether the last task was decided by weights."""
        identified, _ = kernels.run(
            crowd,
            rules,
            self._keys(coded.classes),
            coded.starts,
            coded.workers,
            coded.labels,
            coded.truths,
            coded.known,
            place,
            first,
            sign,
            follow,
            verdicts.winners,
            verdicts.confidences,
            verdicts.margins,
        )
        return bool(identified)

    def _scores(self, coded: Coded) -> Floats:
        at, _, weights, _ = kernels.weigh(self._crowd, self._rules(), coded.workers)
        scores = np.zeros(len(coded.classes))
        np.add.at(scores, coded.labels, weights)
        return scores if at.identified else np.log1p(scores)

    def _settled(self) -> tuple[Crowd, NDArray[np.void]]:
        """The sums with a fresh full solution, leaving the state's own as it was."""
        crowd, rules = self._crowd, self._rules()
        crowd = crowd._replace(totals=crowd.totals.copy(), solver=crowd.solver.copy())
        kernels.settle(crowd, rules[0])
        return crowd, rules

    def _check_unlearn(
        self, given: list[tuple[LabellerId, ClassLabel]], gold: bool, place: int
    ) -> None:
        people, totals = self._crowd.people, self._crowd.totals[0]
        if not self.order_free_:
            # Faded sums are rounded, so single answers cannot be told.
            if place < 0:
                back = totals["latest"] - totals["clock"] + 1
                check_recall(back, self._rules()["fade"][0])
            return
        column = "asked" if gold else "answers"
        for who, x in given:
            if not people[column][self._workers.code(who)] > 0:
                where = f"unlearn_one, answers[{who!r}]"
                raise InputError(where, "an answer that was learnt", repr(x))

    def _absorb(self, other: Self, names: Ints) -> None:
        crowd = self._crowd
        crowd.totals["labellers"] = len(self._workers)
        crowd.totals["classes"] = len(self._classes)
        kernels.absorb(crowd, other._crowd, names, self._rules())

    def _pack(self) -> dict[str, NDArray[np.generic]]:
        n = len(self._workers)
        crowd = self._crowd
        return crowd._replace(people=crowd.people[:n], group_met=crowd.group_met[:n])._asdict()

    def _unpack(self, arrays: dict[str, tuple[list[int], bytes]]) -> None:
        n = len(self._workers)
        crowd = kernels.new_crowd(max(n, 1))
        slots = crowd._replace(people=crowd.people[:n], group_met=crowd.group_met[:n])
        try:
            for name, slot in slots._asdict().items():
                shape, data = arrays[name]
                slot[...] = np.frombuffer(data, slot.dtype).reshape(shape)
        except (KeyError, ValueError) as error:
            raise StateError(f"a saved state whose arrays do not fit: {error}") from None
        self._held = crowd

    @property
    def clock_(self) -> int:
        """Tasks learnt here so far: the place in the stream of the next."""
        return int(self._crowd.totals["clock"][0])

    @property
    def tasks_(self) -> int:
        """Tasks learnt so far, here or by those merged in."""
        return int(self._crowd.totals["learnt"][0])

    @property
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far determine the error rates, and if not, why."""
        at, _, _, _ = kernels.weigh(self._crowd, self._rules(), np.empty(0, np.int32))
        return Identifiability(bool(at.identified), REASONS[at.standing])

    def _people(self) -> People:
        crowd, rules = self._settled()
        people = crowd.people[: len(self._workers)]
        at, thetas, weights, solved = kernels.weigh(
            crowd, rules, np.arange(people.size, dtype=np.int32)
        )
        edge = rules["clip"][0]
        return People(
            answers=people["answers"] * at.unit,
            errors=np.clip((1 - thetas) * (1 - 1 / at.classes), edge, 1 - edge),
            weights=weights,
            agreed=people["agreed"],
            met=people["met"],
            shared=people["met"] > 0,
            solved=solved,
            apart=at.identified & ~solved,
            fading=rules["fade"][0] > 0,
        )
