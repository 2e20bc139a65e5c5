"""A crowd at the end of a river pipeline, measured by river: each task decided, then learnt.

A task is a dict of worker to label, which is what river calls an observation, so that `Crowd` has
only to hand it on. It never sees the truth: river keeps it to score the decisions. A step before it
throws away what is no answer, as real exports have it.

    pip install 'crowdstream' river
    python examples/river_pipeline.py
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator

import crowdstream as cs
from crowdstream.simulation import Simulated

try:
    from river import base, compose, evaluate, metrics
except ImportError:
    sys.exit("this example needs river: pip install river")

Observation = dict[Hashable, Hashable]
SKIPPED = "skip"


class Crowd(base.Classifier):  # type: ignore[misc]  # river is not typed
    """One of our estimators as a river classifier that learns without the truth."""

    def __init__(self, estimator: cs.Estimator) -> None:
        self.estimator = estimator

    @property
    def _supervised(self) -> bool:
        return False

    def learn_one(self, x: Observation) -> None:
        """Learn from one task's labels."""
        self.estimator.learn_one(x)

    def predict_proba_one(self, x: Observation) -> dict[Hashable, float]:
        """Probabilities of the classes of one task."""
        return dict(self.estimator.predict_proba_one(x))

    def predict_one(self, x: Observation) -> Hashable:
        """Decide one task."""
        return self.estimator.predict_one(x)


def without_skips(answers: Observation) -> Observation:
    """The answers that are labels."""
    return {worker: label for worker, label in answers.items() if label != SKIPPED}


def stream(made: Simulated) -> Iterator[tuple[Observation, Hashable]]:
    """Tasks with their truths; every fifth worker that is asked skips the task."""
    truths = dict(made.truths().iter_rows())
    tasks: dict[Hashable, Observation] = {}
    for place, (task, worker, label) in enumerate(made.labels().iter_rows()):
        tasks.setdefault(task, {})[worker] = label if place % 5 else SKIPPED
    return ((answers, truths[task]) for task, answers in tasks.items())


def main() -> None:
    """Print what share of the decisions are right."""
    made = cs.simulate(20, 1500, q=0.35, per_task=5, seed=1)
    for estimator in (cs.MajorityVote(), cs.AgreementBased(), cs.Adaptive()):
        pipeline = compose.FuncTransformer(without_skips) | Crowd(estimator)
        accuracy = evaluate.progressive_val_score(stream(made), pipeline, metrics.Accuracy())
        print(f"{type(estimator).__name__:15} {accuracy.get():.1%} of 1,500 decisions right")


if __name__ == "__main__":
    main()
