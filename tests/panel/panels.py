"""Simulated panels: judges who share hard items, as language models do."""

from __future__ import annotations

import numpy as np

Votes = dict[str, dict[str, str | None]]
Truths = dict[str | int, str | int | bool]


def shared_pull(
    judges: int = 7, items: int = 600, *, hard: float = 0.4, follow: float = 0.7, seed: int = 0
) -> tuple[Votes, Truths]:
    """A panel that errs together: on hard items most judges say what looks right at first sight.

    What looks right is wrong half the time; the first judge, the best, follows it least.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, items)
    pull = rng.integers(0, 2, items)
    is_hard = rng.random(items) < hard
    errors = np.linspace(0.05, 0.2, judges)
    follows = np.linspace(follow / 3, follow, judges)
    said = np.where(rng.random((items, judges)) < errors, 1 - truth[:, None], truth[:, None])
    pulled = is_hard[:, None] & (rng.random((items, judges)) < follows)
    said = np.where(pulled, pull[:, None], said)
    names = [f"judge-{k}" for k in range(judges)]
    votes: Votes = {
        f"q{t}": {name: "yes" if said[t, k] else "no" for k, name in enumerate(names)}
        for t in range(items)
    }
    return votes, {f"q{t}": "yes" if truth[t] else "no" for t in range(items)}


def accuracy(labels: Truths, truths: Truths) -> float:
    return float(np.mean([labels[item] == truth for item, truth in truths.items()]))
