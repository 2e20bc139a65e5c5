"""Very many classes: errors, time and memory on either side of the limit where they share places.

    python benchmarks/many_classes.py [--tasks N] [--per-task M] [--classes K …] [--errors SHARE …]
    python benchmarks/many_classes.py --stream [--labels N]

Simulated crowds: classes are Zipf-like, 300 workers are right with probability 0.4 to 0.95. Of the
errors a share (``--errors``) falls on classes as often as these are true, the others on all alike.
Prints for `Adaptive` as it is, with a place for every class (up to 200 of them: it takes time and
memory in proportion to their square), and for majority vote, the error rate, the mean confidence
and seconds; then the peak of memory so far. ``--stream``: labels a second (of processor time) of
streams of 5,000 workers with 2 and with 50 classes, in batches of 1,000: of all, of the second
half, and of the median batch; and the longest batch.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
import polars as pl

import crowdstream as cs

WORKERS = 300
MOST_FULL = 200
"""Classes up to which each is given a place for comparison."""


STREAMING, BATCH, IN_STREAM = 5_000, 1_000, (2, 50)
"""Workers of the streams, rows given at once, and classes."""


class OnePlaceEach(cs.Adaptive):
    """`Adaptive` with confusions of all classes, however many they are."""

    folds = False


def crowd(classes: int, tasks: int, per_task: int, share: float) -> tuple[pl.DataFrame, np.ndarray]:
    """Labels, and the true class of every task."""
    rng = np.random.default_rng(0)
    frequency = 1.0 / np.arange(1, classes + 1)
    frequency /= frequency.sum()
    truths = rng.choice(classes, tasks, p=frequency)
    who = np.argsort(rng.random((tasks, WORKERS)), axis=1)[:, :per_task]
    right = rng.random(who.shape) < rng.uniform(0.4, 0.95, WORKERS)[who]
    like_truths = rng.choice(classes, who.shape, p=frequency)
    evenly = rng.integers(0, classes, who.shape)
    wrong = np.where(rng.random(who.shape) < share, like_truths, evenly)
    said = np.where(right, truths[:, None], wrong)
    task = np.repeat(np.arange(tasks), per_task)
    return pl.DataFrame({"task": task, "worker": who.ravel(), "label": said.ravel()}), truths


def measure(estimator: cs.Estimator, labels: pl.DataFrame, truths: np.ndarray) -> str:
    """Error rate, mean confidence and seconds."""
    began = time.perf_counter()
    found = estimator.fit_predict(labels)
    seconds = time.perf_counter() - began
    wrong = (found["label"].to_numpy() != truths[found["task"].to_numpy()]).mean()
    return f"{wrong:.4f} ({found['confidence'].mean():.3f}) {seconds:6.2f} s"


def stream(classes: int, labels: int) -> str:
    """Labels a second of a stream whose tasks are open side by side."""
    rng = np.random.default_rng(0)
    who = rng.permuted(np.arange(STREAMING * 5).reshape(5, -1) % STREAMING, axis=1).T
    who = np.tile(who, (labels // who.size + 1, 1))[: labels // 5]
    truth = rng.integers(classes, size=(len(who), 1))
    wrong = (truth + rng.integers(1, classes, size=who.shape)) % classes
    said = np.where(rng.random(who.shape) < rng.uniform(0.5, 1.0, STREAMING)[who], truth, wrong)
    come = np.arange(len(who))[:, None] + rng.uniform(0, 300, who.shape)
    order = np.argsort(come, axis=None)
    columns = (order // 5).tolist(), who.ravel()[order].tolist(), said.ravel()[order].tolist()
    rows = [(f"task-{t}", f"worker-{i}", f"class-{x}") for t, i, x in zip(*columns, strict=True)]
    online = cs.Stream(cs.Adaptive(), settle=0.95, min_labels=2, max_labels=5)
    taken = []
    for at in range(0, len(rows), BATCH):
        began = time.process_time()
        online.observe_many(rows[at : at + BATCH])
        taken.append(time.process_time() - began)
    late = taken[len(taken) // 2 :]
    shown = len(rows) / sum(taken), BATCH * len(late) / sum(late), BATCH / np.median(taken)
    return (
        f"{classes:3} classes: "
        + " | ".join(f"{one:9,.0f}" for one in shown)
        + f" | {max(taken):.2f} s"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--per-task", type=int, default=3)
    parser.add_argument("--classes", type=int, nargs="+", default=[100, 101, 200, 1000, 6000])
    parser.add_argument("--errors", type=float, nargs="+", default=[0.0, 0.5, 1.0])
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--labels", type=int, default=100_000)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.stream:
        print("labels a second: all | second half | median batch | longest batch")
        for classes in IN_STREAM:
            print(stream(classes, args.labels), flush=True)
        return
    print("classes, share of errors like truths: Adaptive | one place each | majority vote | MB")
    for classes in args.classes:
        for share in args.errors:
            labels, truths = crowd(classes, args.tasks, args.per_task, share)
            shown = [measure(cs.Adaptive(), labels, truths)]
            full = 100 < classes <= MOST_FULL
            shown.append(measure(OnePlaceEach(), labels, truths) if full else "-")
            shown.append(measure(cs.MajorityVote(), labels, truths))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{classes:6} {share:.1f}:", " | ".join(shown), f"| {peak}", flush=True)


if __name__ == "__main__":
    main()
