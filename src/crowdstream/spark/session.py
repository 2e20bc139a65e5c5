"""A Spark session on this machine or a cluster, with its known traps avoided. Knows no labels."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.errors import MissingExtra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
"""What Spark 4 needs."""


def check_installed() -> None:
    """Raise what says how to install Spark, or Java, if there is none."""
    try:
        import pyarrow  # noqa: F401

        with quietly():
            import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtra("crowdstream.spark", "spark") from None


def start(master: str | None = None, **settings: str) -> SparkSession:
    """A session: the one that is there, or a new one.

    Executors use this very Python, unless ``PYSPARK_PYTHON`` names another; a session on this
    machine listens on the loopback alone.

    Parameters
    ----------
    master
        The cluster's address; by default what ``spark-submit`` says, or this machine.
    settings
        More of Spark's settings, with ``__`` for a dot.
    """
    raise NotImplementedError
