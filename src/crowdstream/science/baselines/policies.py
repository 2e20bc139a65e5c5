"""Whom to ask what next: allocation methods run against a simulated crowd with two classes.

These spend a budget of labels, where the other baselines take the labels as they are.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crowdstream.errors import InputError
from crowdstream.science.baselines.common import Floats, Ints
from crowdstream.validation import check_number

GOLD = 10
"""Gold tasks of a type that a labeller is shown first: a standard error of 0.16 on its accuracy,
enough to tell one who guesses from one who knows."""

PRICE_STEP = 0.02
"""How far a label moves the price of its type in `HoVaughan`: qualities differ by up to one, so a
price finds its level within fifty labels."""

EXPLORATIONS = 3.0
"""`LiuLiu` has asked everybody about so many times log t of the first t tasks."""

NOT_ASKED = -1
"""In place of an answer or a truth that is not known."""


@dataclass(frozen=True)
class State:
    """What a policy may know: what was said, the tasks' types, and the truth of gold tasks.

    ``said`` has a row a task and a column a labeller. Tasks to be decided come first, then gold.
    """

    said: Ints
    types: Ints
    gold: Ints
    tasks: int
    left: int
    rng: np.random.Generator

    def open_tasks(self, worker: int) -> Ints:
        """Tasks to be decided that a labeller has not answered."""
        return np.flatnonzero(self.said[: self.tasks, worker] == NOT_ASKED)

    def open_workers(self, task: int) -> Ints:
        """Labellers who have not answered a task."""
        return np.flatnonzero(self.said[task] == NOT_ASKED)

    def least(self, cost: Floats) -> int:
        """Where the cost is least, one at random of those alike."""
        return int(self.rng.choice(np.flatnonzero(cost == cost.min())))


class Policy(ABC):
    """Chooses a task and a labeller, again and again, and decides the tasks in the end."""

    gold = 0
    """Gold tasks of each type that it needs; an answer to one costs as much as any other."""

    def start(self, state: State) -> None:  # noqa: B027  (most need nothing)
        """Forget everything; nobody has been asked yet."""

    @abstractmethod
    def next(self, state: State) -> tuple[int, int]:
        """The task and the labeller to ask."""

    def saw(self, state: State, task: int, worker: int) -> None:  # noqa: B027
        """The labeller has answered; the answer is in the state."""

    def log_odds(self, state: State) -> Floats:
        """Of class 1, a number a task to be decided; of its sign only is made use."""
        said = state.said[: state.tasks]
        return np.asarray((said == 1).sum(axis=1) - (said == 0).sum(axis=1), float)


class Spent(NamedTuple):
    """Shares of tasks decided wrongly with the same budget, a tie counting ½."""

    error: float
    uniform: float


def spend(
    policy: Policy, crowd_error_rates: ArrayLike, tasks: int, budget: int, seed: int = 0
) -> Spent:
    """Run a policy on a simulated crowd, and `Uniform` on the same crowd, tasks and answers.

    Error rates are one a labeller, or a row of these for each type of task; task t is of type t
    modulo the number of types, so that a row a task gives each its own. A labeller answers a task
    once. Truths are fair coins. `Uniform` counts heads, so that the difference is what a policy's
    allocation and its weights bring together. Memory O(tasks · labellers).

    >>> spend(Uniform(), [0.0, 0.0], tasks=10, budget=20)
    Spent(error=0.0, uniform=0.0)
    """
    rates = np.atleast_2d(np.asarray(crowd_error_rates, float))
    if rates.ndim != 2 or not ((rates >= 0) & (rates <= 1)).all():
        expected = "probabilities, one a labeller or a row of these a type"
        raise InputError("crowd_error_rates", expected, str(rates.tolist()))
    check_number("tasks", tasks, 1, 10**8, whole=True)
    rng = np.random.default_rng(seed)
    types = np.append(np.arange(tasks), np.arange(policy.gold * len(rates))) % len(rates)
    truth = rng.integers(2, size=types.size)
    answers = truth[:, None] ^ (rng.random((types.size, rates.shape[1])) < rates[types])
    return Spent(
        buy(policy, truth, answers, tasks, budget, types=types, seed=seed).error,
        buy(Uniform(), truth, answers, tasks, budget, types=types, seed=seed).error,
    )


class Bought(NamedTuple):
    """What was said, a row a task (gold last) and `NOT_ASKED` elsewhere, and `Spent.error`."""

    said: Ints
    error: float


def buy(
    policy: Policy,
    truth: Ints,
    answers: Ints,
    tasks: int,
    budget: int,
    *,
    types: Ints | None = None,
    seed: int = 0,
) -> Bought:
    """Run a policy on what labellers would say, classes 0 and 1, a row a task, a column each.

    Rows beyond ``tasks`` are gold, of which the policy knows the truth; one that has no use for
    gold does not see them. Tasks are of one type if nothing is said of that.

    >>> truth = np.array([0, 1, 1])
    >>> bought = buy(Uniform(), truth, truth[:, None].repeat(2, axis=1), tasks=3, budget=3)
    >>> bought.said.max(axis=1).tolist(), bought.error
    ([0, 1, 1], 0.0)
    """
    check_number("budget", budget, 1, tasks * answers.shape[1], whole=True)
    seen = truth.size if policy.gold else tasks
    types = np.zeros(seen, int) if types is None else types[:seen]
    truth, answers = truth[:seen], answers[:seen]
    rng = np.random.default_rng([seed, 1])
    said = np.full((types.size, answers.shape[1]), NOT_ASKED)
    gold = np.where(np.arange(types.size) < tasks, NOT_ASKED, truth)
    policy.start(State(said, types, gold, tasks, budget, rng))
    for left in range(budget, 0, -1):
        state = State(said, types, gold, tasks, left, rng)
        task, worker = policy.next(state)
        said[task, worker] = answers[task, worker]
        policy.saw(state, task, worker)
    score = policy.log_odds(State(said, types, gold, tasks, 0, rng))
    right = np.where(truth[:tasks] == 1, score, -score)
    return Bought(said, float(((right < 0) + (right == 0) / 2).mean()))


class Uniform(Policy):
    """A task with the fewest labels, a labeller at random, and majority vote: the yardstick."""

    def start(self, state: State) -> None:
        """Forget everything."""
        self._labels = np.zeros(state.tasks)

    def next(self, state: State) -> tuple[int, int]:
        """The task and the labeller to ask."""
        task = state.least(self._labels)
        return task, int(state.rng.choice(state.open_workers(task)))

    def saw(self, state: State, task: int, worker: int) -> None:
        """Count the label."""
        self._labels[task] += 1


class OptimisticKnowledgeGradient(Policy):
    """Ask where the better of the two answers would raise the expected accuracy most.

    Of everybody a task gets answer 1 with its own unknown probability θ, uniform before, and its
    truth is whether that is above ½. The posterior of θ is a Beta, ``h = max(I, 1 − I)`` with
    ``I = P(θ > ½)`` the accuracy expected of its decision, and the task with the largest rise of h
    upon one of the two answers is next. If labellers' reliabilities are known, one of ρ says what
    it would by θ with probability ρ and the contrary otherwise; the posterior is then matched to a
    Beta by its first two moments, and task and labeller are chosen together. Time O(tasks ·
    labellers) a label with reliabilities, O(tasks) without. Needs SciPy.

    Parameters
    ----------
    reliabilities
        ρ of each labeller, all 1 if not given, when labellers are drawn at random.

    References
    ----------
    Chen, Lin, Zhou. Optimistic Knowledge Gradient Policy for Optimal Budget Allocation in
    Crowdsourcing. ICML 2013.

    Examples
    --------
    >>> how_hard = np.linspace(0, 0.5, 50)[:, None] * np.ones(30)  # a row a task
    >>> error, uniform = spend(OptimisticKnowledgeGradient(), how_hard, tasks=50, budget=250)
    >>> error < uniform
    True
    """

    def __init__(self, reliabilities: ArrayLike | None = None) -> None:
        self.reliabilities = reliabilities

    def start(self, state: State) -> None:
        """Every θ uniform."""
        given = self.reliabilities
        self._rho = np.ones(1) if given is None else np.asarray(given, float)
        if given is not None and self._rho.shape != (state.said.shape[1],):
            raise InputError("reliabilities", "one a labeller", str(self._rho.shape))
        self._a, self._b = np.ones(state.tasks), np.ones(state.tasks)
        self._gain = np.tile(_gains(1.0, 1.0, self._rho), (state.tasks, 1))

    def next(self, state: State) -> tuple[int, int]:
        """The task and the labeller to ask."""
        place = state.least(-self._gain.ravel())
        task, worker = divmod(place, self._rho.size)
        if self.reliabilities is None:
            worker = int(state.rng.choice(state.open_workers(task)))
        return task, worker

    def saw(self, state: State, task: int, worker: int) -> None:
        """Take in the answer; who has answered is not asked again."""
        rho = self._rho[0 if self.reliabilities is None else worker]
        yes = state.said[task, worker] == 1
        a, b = _update(self._a[task], self._b[task], rho if yes else 1 - rho)
        self._a[task], self._b[task] = a, b
        self._gain[task] = _gains(float(a), float(b), self._rho)
        free = state.said[task] == NOT_ASKED
        self._gain[task, ~free if self.reliabilities is not None else ~free.any()] = -np.inf

    def log_odds(self, state: State) -> Floats:
        """Positive where θ is more likely above ½ than below: where a > b."""
        return self._a - self._b


def _update(a: Floats | float, b: Floats | float, rho: Floats | float) -> tuple[Floats, Floats]:
    """The Beta with the first two moments of the posterior after an answer 1 of reliability ρ."""
    n = a + b
    yes, no = rho * a, (1 - rho) * b  # times 1/n: the chances of the two ways to say 1
    mean = (yes * (a + 1) + no * a) / ((yes + no) * (n + 1))
    square = (yes * (a + 2) + no * a) * (a + 1) / ((yes + no) * (n + 1) * (n + 2))
    size = (mean - square) / (square - mean**2)
    return np.asarray(mean * size), np.asarray((1 - mean) * size)


def _gains(a: float, b: float, rho: Floats) -> Floats:
    """The rise of h by the better answer of each labeller."""
    betainc = importlib.import_module("scipy.special").betainc

    def h(p: Floats | float, q: Floats | float) -> Floats:
        below = np.asarray(betainc(p, q, 0.5), float)
        return np.asarray(np.maximum(below, 1 - below), float)

    best = np.maximum(h(*_update(a, b, rho)), h(*_update(a, b, 1 - rho)))
    return np.asarray(best - h(a, b), float)


class WithGold(Policy):
    """What both methods with gold do: show everybody gold first, then weigh votes by it."""

    def __init__(self, gold: int = GOLD) -> None:
        self.gold = gold
        check_number("gold", gold, 1, 10**6, whole=True)

    def accuracies(self, state: State) -> Floats:
        """Of type and labeller, by the gold answered; one right and one wrong besides."""
        answered = state.said[state.tasks :] != NOT_ASKED
        right = answered & (state.said[state.tasks :] == state.gold[state.tasks :, None])
        types = np.eye(state.types.max() + 1)[:, state.types[state.tasks :]]
        return np.asarray((types @ right + 1) / (types @ answered + 2), float)

    def qualities(self, state: State) -> Floats:
        """``(2s − 1)²`` of type and labeller, 0 for an accuracy s below ½."""
        return np.asarray(np.maximum(2 * self.accuracies(state) - 1, 0) ** 2, float)

    def log_odds(self, state: State) -> Floats:
        """Votes weighted by what gold says of their labellers."""
        s = self.accuracies(state)[state.types[: state.tasks]]
        said = state.said[: state.tasks]
        sign = (said == 1) * 1.0 - (said == 0)
        return np.asarray((np.log(s / (1 - s)) * sign).sum(axis=1), float)


class HoVaughan(WithGold):
    """A labeller who comes is given the type of task it is best at, less that type's price.

    Tasks are of types at which labellers differ, each type with its share of the labels. Labellers
    come at random; the first tasks of each are gold, from which its quality ``(2s − 1)²`` at each
    type is estimated. Then it gets the type with the largest quality less price, and of this the
    task with the fewest labels. The prices are the dual variables of the types' shares; the
    paper solves a linear programme on a first sample of labellers for them, here they follow by
    dual ascent, rising with every label of the type and falling with its share. Votes are weighted
    by accuracies on gold. Time O(tasks + types) a label.

    Parameters
    ----------
    gold
        Gold tasks of each type that a labeller is shown.
    step
        Of the prices.

    References
    ----------
    Ho, Vaughan. Online Task Assignment in Crowdsourcing Markets. AAAI 2012.

    Examples
    --------
    >>> rates = [[0.1] * 5 + [0.45] * 5, [0.45] * 5 + [0.1] * 5]  # each good at one of two types
    >>> error, uniform = spend(HoVaughan(), rates, tasks=400, budget=2000)
    >>> error < uniform
    True
    """

    def __init__(self, gold: int = GOLD, step: float = PRICE_STEP) -> None:
        super().__init__(gold)
        self.step = step
        check_number("step", step, 0.0, 1.0)

    def start(self, state: State) -> None:
        """No prices, no labels."""
        self._share = np.bincount(state.types[: state.tasks]) / state.tasks
        self._price = np.zeros(self._share.size)
        self._labels = np.zeros(state.tasks)
        self._quality = self.qualities(state)

    def next(self, state: State) -> tuple[int, int]:
        """The task and the labeller to ask."""
        while True:
            worker = int(state.rng.integers(state.said.shape[1]))
            gold = np.flatnonzero(state.said[state.tasks :, worker] == NOT_ASKED)
            if gold.size:
                return state.tasks + int(gold[0]), worker
            tasks = state.open_tasks(worker)
            if tasks.size:
                break
        value = (self._quality[:, worker] - self._price)[state.types[tasks]]
        best = tasks[value == value.max()]
        return int(best[state.least(self._labels[best])]), worker

    def saw(self, state: State, task: int, worker: int) -> None:
        """Move the prices, or, after gold, the labeller's quality."""
        if task >= state.tasks:
            self._quality = self.qualities(state)
            return
        self._labels[task] += 1
        moved = (np.arange(self._share.size) == state.types[task]) - self._share
        self._price = self._price + self.step * moved


class HoJabbariVaughan(WithGold):
    """Labels of those only whose quality is worth its price, to the task that lacks most.

    Everybody is shown gold first. To gather evidence ``Σ (2s − 1)²`` on every task with the fewest
    labels, the linear programme with qualities known takes the best labellers of each type, as
    many as there are labels a task; its dual price is the quality of the last of them. So a
    labeller at the door is sent away, which costs nothing, unless its quality for the task that
    has least evidence reaches that price. Budget is given and not the error to be reached, so the
    price is set once, from what is left after gold, and the paper's sample of labellers for it is
    all of them. Votes are weighted by accuracies on gold. Time O(tasks) a label.

    Parameters
    ----------
    gold
        Gold tasks of each type that a labeller is shown.

    References
    ----------
    Ho, Jabbari, Vaughan. Adaptive Task Assignment for Crowdsourced Classification. ICML 2013.

    Examples
    --------
    >>> rates = [0.1] * 5 + [0.5] * 15
    >>> error, uniform = spend(HoJabbariVaughan(), rates, tasks=200, budget=1000)
    >>> error < uniform
    True
    """

    def start(self, state: State) -> None:
        """No evidence; all gold is to be asked."""
        people = state.said.shape[1]
        gold = np.arange(state.tasks, state.said.shape[0])
        self._gold = [(int(task), worker) for task in gold for worker in range(people)]
        self._evidence = np.zeros(state.tasks)
        self._quality = self.qualities(state)
        self._price = np.zeros(len(self._quality))

    def next(self, state: State) -> tuple[int, int]:
        """The task and the labeller to ask."""
        if self._gold:
            return self._gold[-1]
        task = state.least(self._evidence)
        people = state.open_workers(task)
        quality = self._quality[state.types[task], people]
        worth = people[quality >= self._price[state.types[task]]]
        if worth.size:
            return task, int(state.rng.choice(worth))
        return task, int(people[state.least(-quality)])

    def saw(self, state: State, task: int, worker: int) -> None:
        """Count the evidence; after the last gold, set the prices."""
        if task < state.tasks:
            gained = self._quality[state.types[task], worker]
            full = state.open_workers(task).size == 0
            self._evidence[task] += np.inf if full else gained
            return
        self._gold.pop()
        if not self._gold:
            self._quality = self.qualities(state)
            each = int(np.clip(np.ceil((state.left - 1) / state.tasks), 1, state.said.shape[1]))
            self._price = np.sort(self._quality, axis=1)[:, -each]


class LiuLiu(Policy):
    """Ask everybody about a few tasks, and of the others only those who were with the majority.

    Tasks come one after the other, and no truth is known. As long as fewer than ``explorations ·
    log t`` of the first t tasks were asked of everybody, the next is; how often a labeller was
    with the majority there is its accuracy. Otherwise the best labellers are asked, as many as the
    rest of the budget allows a task, or fewer if so their majority is more likely right. Votes are
    weighted by these accuracies, as in the paper's weighted variant. The paper explores by asking
    the same task repeatedly and has no budget; here a labeller answers once, and exploration stops
    when the rest would not allow one label a task. Time O(labellers²) a task.

    Parameters
    ----------
    explorations
        The factor of log t.

    References
    ----------
    Liu, Liu. An Online Learning Approach to Improving the Quality of Crowd-Sourcing.
    SIGMETRICS 2015.

    Examples
    --------
    >>> rates = [0.1] * 5 + [0.4] * 10
    >>> error, uniform = spend(LiuLiu(), rates, tasks=500, budget=2500)
    >>> error < uniform
    True
    """

    def __init__(self, explorations: float = EXPLORATIONS) -> None:
        self.explorations = explorations
        check_number("explorations", explorations, 0.0, 1e6, open_low=True)

    def start(self, state: State) -> None:
        """Nothing explored, no task begun."""
        people = state.said.shape[1]
        self._begun, self._task, self._explored, self._exploring = 0, 0, 0, False
        self._agreed = np.zeros(people)
        self._queue: list[int] = []

    def accuracies(self) -> Floats:
        """Of everybody, by agreement with the majority; one right and one wrong besides."""
        return (self._agreed + 1) / (self._explored + 2)

    def next(self, state: State) -> tuple[int, int]:
        """The task and the labeller to ask."""
        if not self._queue:
            self._begin(state)
        return self._task, self._queue[-1]

    def _begin(self, state: State) -> None:
        """Whom to ask about the next task; after the last, whoever is left about any."""
        people = state.said.shape[1]
        self._begun += 1
        if self._begun > state.tasks:
            self._exploring = False
            self._task = int((state.said == NOT_ASKED).any(axis=1).argmax())
            free = state.open_workers(self._task)
            self._queue = free[np.argsort(self.accuracies()[free])].tolist()
            return
        self._task = self._begun - 1
        rest = state.tasks - self._task
        due = self._explored < self.explorations * np.log(self._task + 2)
        self._exploring = bool(due and state.left - people >= rest - 1)
        shuffled = state.rng.permutation(people)
        order = shuffled[np.argsort(self.accuracies()[shuffled], kind="stable")]
        affordable = int(np.clip(state.left // rest, 1, people))
        size = people if self._exploring else best_size(self.accuracies()[order[::-1]], affordable)
        self._queue = order[-size:].tolist()

    def saw(self, state: State, task: int, worker: int) -> None:
        """Who is next; after an exploration, who was with the majority."""
        self._queue.pop()
        if self._exploring and not self._queue:
            said = state.said[task]
            ones = int(said.sum())
            self._explored += 1
            if 2 * ones != said.size:
                self._agreed += said == (2 * ones > said.size)
            else:
                self._agreed += 0.5

    def log_odds(self, state: State) -> Floats:
        """Votes weighted by agreement with the majority."""
        s = self.accuracies()
        sign = (state.said == 1) * 1.0 - (state.said == 0)
        return np.asarray(sign @ np.log(s / (1 - s)), float)


def best_size(accuracies: Floats, most: int) -> int:
    """How many of the best labellers, at most so many, make the likeliest right majority.

    >>> best_size(np.array([0.95, 0.6, 0.55]), 3), best_size(np.array([0.8, 0.8, 0.8, 0.6]), 4)
    (1, 3)
    """
    right = np.ones(1)  # chances of 0, 1, … right answers
    best, size = 0.0, 1
    for n, s in enumerate(accuracies[:most].tolist(), start=1):
        right = np.append(right * (1 - s), 0.0) + np.append(0.0, right * s)
        chance = right[n // 2 + 1 :].sum() + (right[n // 2] / 2 if n % 2 == 0 else 0.0)
        if chance > best + 1e-12:
            best, size = chance, n
    return size


POLICIES: Mapping[str, Callable[[], Policy]] = {
    "uniform": Uniform,
    "knowledge-gradient": OptimisticKnowledgeGradient,
    "ho-vaughan": HoVaughan,
    "ho-jabbari-vaughan": HoJabbariVaughan,
    "liu-liu": LiuLiu,
}
"""By the names the command line has for them."""
