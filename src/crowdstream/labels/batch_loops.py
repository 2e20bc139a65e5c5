# cython: language_level=3
"""`Tasks`: a `LabelBatch` as compiled loops see it. Arrays only.

Changing it changes no saved format: it holds views of arrays for as long as a loop runs.
"""

import cython


@cython.final
@cython.cclass
class Tasks:
    """Task t has the labels ``starts[t]:starts[t + 1]``; ``truths`` is empty if none is known."""

    def __init__(self, starts, workers, labels, truths):
        self.starts = starts
        self.workers = workers
        self.labels = labels
        self.truths = truths
        self.size = starts.shape[0] - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def truth(self, t: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The known class of task t, or −1."""
        return self.truths[t] if self.truths.shape[0] else -1
