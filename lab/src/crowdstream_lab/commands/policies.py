"""`crowdstream simulate --policy`: labels bought one by one from simulated workers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.extras import need
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.science.simulate import Simulated

CELLS = 10_000_000
"""Tasks times workers at most: a policy needs every answer at hand."""


class Purchase:
    """A policy with a budget, for workers whose every answer is simulated beforehand."""

    def __init__(self, policy: str | None, budget: int | None, tasks: int, workers: int) -> None:
        from crowdstream.science.baselines.policies import POLICIES

        if policy is None:
            raise InputError("--budget", "--policy too", "none")
        if policy not in POLICIES:
            raise InputError("--policy", " or ".join(POLICIES), repr(policy))
        if budget is None:
            raise InputError("--policy", "--budget too", "none")
        if policy == "knowledge-gradient":
            need("scipy")
        check_number("--tasks", tasks, 1, max(1, CELLS // workers), whole=True)
        check_number("--budget", budget, 1, tasks * workers, whole=True)
        self.policy, self.name = POLICIES[policy](), policy
        self.budget, self.tasks = budget, tasks
        self.rows = tasks + self.policy.gold
        self.outcome = ""

    def check(self, *, answer_rates: list[float], per_task: int | None, classes: int) -> None:
        """Refuse workers that no policy is for."""
        if classes != 2:
            raise InputError("--classes", "2 with --policy", str(classes))
        if answer_rates != [1.0] or per_task is not None:
            found = "--answer-rate or --per-task"
            raise InputError("--policy", "workers who answer whenever they are asked", found)

    def buy(self, everything: Simulated, seed: int) -> Simulated:
        """The labels that the policy buys; its gold tasks come last."""
        import numpy as np

        from crowdstream.science.baselines.policies import NOT_ASKED, Uniform, buy

        gold = self.policy.gold
        answers = np.roll(everything.matrix(), -gold, axis=0)
        truth = np.roll(everything.truth, -gold)
        said, error = buy(self.policy, truth, answers, self.tasks, self.budget, seed=seed)
        uniform = buy(Uniform(), truth, answers, self.tasks, self.budget, seed=seed).error
        self.outcome = (
            f"{self.name}: error {error:.4f} with {self.budget / self.tasks:.2f} labels per task; "
            f"the same number for every task and majority vote: {uniform:.4f}"
        )
        if gold:
            spent = int((said[self.tasks :] != NOT_ASKED).sum())
            self.outcome += f"; {spent:,} of the labels were spent on {gold} gold tasks, the last"
        tasks, workers = np.nonzero(said != NOT_ASKED)
        bought = said[tasks, workers]
        return replace(everything, tasks=tasks, workers=workers, said=bought, truth=truth)
