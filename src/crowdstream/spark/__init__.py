"""The same estimators on Apache Spark, for labels that live on a cluster. Extra: ``spark``.

What is learnt is sums over tasks, and sums of whole numbers: however the tasks are divided among
machines, the result is the same to the bit. On one machine the library itself is many times faster.
"""

from crowdstream.spark.session import check_packages, start

check_packages()

from crowdstream.spark.batch import decide, fit, fit_decide  # noqa: E402

__all__ = ["decide", "fit", "fit_decide", "start"]
