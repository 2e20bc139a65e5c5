"""Every method on every data set: errors, calibration, speed and memory, in tables and a page.

Knows nothing of the command line.
"""

from crowdstream_lab.compare.journal import Journal
from crowdstream_lab.compare.lines import SUMMARY_HEAD, summary_lines
from crowdstream_lab.compare.measures import (
    FILE,
    RUNS,
    Row,
    dataset_error,
    measure,
    ready,
    shuffled,
    task_errors,
)
from crowdstream_lab.compare.methods import (
    BASELINE,
    CROWDKIT,
    METHODS,
    OURS,
    QUICK,
    Method,
    choose,
)
from crowdstream_lab.compare.page import markdown, write
from crowdstream_lab.compare.paired import (
    Difference,
    TaskDifference,
    leave_out,
    paired,
    paired_tasks,
)
from crowdstream_lab.compare.runs import Laboratory, compare
from crowdstream_lab.compare.tables import SCHEMA, Study, mean_ranks, rank_test, versions

__all__ = [
    "BASELINE",
    "CROWDKIT",
    "FILE",
    "METHODS",
    "OURS",
    "QUICK",
    "RUNS",
    "SCHEMA",
    "SUMMARY_HEAD",
    "Difference",
    "Journal",
    "Laboratory",
    "Method",
    "Row",
    "Study",
    "TaskDifference",
    "choose",
    "compare",
    "dataset_error",
    "leave_out",
    "markdown",
    "mean_ranks",
    "measure",
    "paired",
    "paired_tasks",
    "rank_test",
    "ready",
    "shuffled",
    "summary_lines",
    "task_errors",
    "versions",
    "write",
]
