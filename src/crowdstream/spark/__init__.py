"""The same estimators on Apache Spark, for labels that live on a cluster. Extra: ``spark``.

What is learnt is sums over tasks, and sums of whole numbers: however the tasks are divided among
machines, the result is the same to the bit. On one machine the library itself is many times faster.
"""

from crowdstream.spark.session import check_packages, start

check_packages()

from crowdstream.spark.batch import decide, fit, fit_decide, fit_questions  # noqa: E402
from crowdstream.spark.stream_folder import (  # noqa: E402
    StreamCounts,
    StreamState,
    stream_state,
)
from crowdstream.spark.streaming import end_stream, stream  # noqa: E402

__all__ = [
    "StreamCounts",
    "StreamState",
    "decide",
    "end_stream",
    "fit",
    "fit_decide",
    "fit_questions",
    "start",
    "stream",
    "stream_state",
]
