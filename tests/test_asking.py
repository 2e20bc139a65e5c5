"""Questions between events change nothing, whatever is due when they are asked."""

from __future__ import annotations

import numpy as np
import pytest

import crowdstream as cs
from crowdstream import checks

KINDS = (cs.Adaptive, cs.CentredAgreement, cs.MajorityVote, cs.AgreementBased)
CROWDS = [crowd for kind in KINDS for crowd in checks.modes(kind)]


def take(stream: cs.Stream, k: int, rng: np.random.Generator) -> None:
    """One event of any kind; with the same generator, the same one."""
    what, task = rng.random(), f"t{rng.integers(40) + k // 6}"
    worker, label = f"w{rng.integers(9)}", f"c{rng.integers(2 + k // 70)}"
    if what < 0.04:  # as a whole, past the stream: readings of the crowd become old
        rows = [(f"x{k}-{j}", f"w{j % 5}", f"c{j % 2}") for j in range(12)]
        stream.crowd.learn_many(rows)
    elif what < 0.07:
        stream.crowd.learn_one({"w1": "c0", "w2": "c1", "w3": "c0"})
    elif what < 0.1:
        stream.gold(task, label, at=k)
    elif what < 0.2:
        stream.observe(task, worker, None, at=k)
    elif what < 0.22 and stream.n_open:
        stream.close(stream.open_tasks[0])
    else:
        stream.observe(task, worker, label, at=k)


def ask(stream: cs.Stream) -> None:
    """Whatever can be asked."""
    for task in stream.open_tasks[:3]:
        stream.decision(task)
        stream.votes(task)
        stream.more_labels_needed(task)
    stream.next_task("w1")
    stream.crowd.workers()
    stream.crowd.predict_one({"w1": "c0", "stranger": "new"})
    stream.crowd.copy()
    stream.to_bytes()


@pytest.mark.parametrize("crowd", CROWDS, ids=repr)
def test_whoever_asks_finds_the_same_stream_afterwards(crowd: cs.Estimator) -> None:
    quiet, asked = (cs.Stream(crowd.clone(), max_labels=4) for _ in range(2))
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    for k in range(160):
        take(quiet, k, one)
        take(asked, k, other)
        if k % 4 == 0:
            ask(asked)
    assert asked.to_bytes() == quiet.to_bytes()
    assert quiet.counts.closed > 5, "tasks close, or little was due"
