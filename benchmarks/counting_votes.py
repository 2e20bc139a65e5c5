"""A stream without an estimator: it counts votes, and is as fast as plain Python can be at that.

What a server could do if deciding cost nothing: the rival of `benchmarks/serve.py`.
"""

from __future__ import annotations

from typing import Any

from crowdstream.cli import entry
from crowdstream.decisions.decision import Decision
from crowdstream.estimators import MajorityVote
from crowdstream.serve import project
from crowdstream.serve.wire import Settings
from crowdstream.stream.stream import Stream


class CountingStream(Stream):
    """Takes labels as a stream does, and counts them."""

    def observe(self, task: Any, worker: Any, label: Any, at: Any = None) -> Decision:
        """One label."""
        return self.observe_many([(task, worker, label)], at)[0]

    def observe_many(self, rows: Any, at: Any = None) -> list[Decision]:
        """Many labels."""
        counted: dict[str, dict[str, str]] = self.__dict__.setdefault("counted", {})
        touched = {}
        for task, worker, label in rows:
            counted.setdefault(task, {})[worker] = label
            touched[task] = counted[task]
        self.counts.labels += sum(1 for _ in rows)
        found = []
        for task, answers in touched.items():
            said = list(answers.values())
            label = max(said, key=said.count)
            share = said.count(label) / len(said)
            full = len(said) >= (self.max_labels or 5)
            why = "full" if full else None
            found.append(Decision(task, label, share, share, len(said), full, True, why))
            if full:
                del counted[task]
                self.counts.closed += 1
        return found


def make_stream(settings: Settings) -> Stream:
    """Instead of the server's own."""
    return CountingStream(MajorityVote(), settle=None, max_labels=settings.max_labels)


if __name__ == "__main__":
    project.make_stream = make_stream
    entry()
