"""Spark itself: whether it is there, a session, and its known traps avoided. Knows no labels."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from crowdstream.errors import CrowdstreamError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Given = ParamSpec("Given")
Found = TypeVar("Found")

OLDEST_JAVA = 17
"""What Spark 4 needs."""

PACKAGES = "pyspark", "pyarrow", "pandas"
"""What the extra brings."""

JVM = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
"""How the driver's JVM logs: errors alone."""

OPTIONS = "spark.driver.extraJavaOptions"

SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
}
"""Of every session that `start` makes: labels go to Python in batches of some megabytes."""

LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}
"""Of one on this machine: nobody else has to reach it."""

PANDAS = "PySpark does not yet fully support pandas"
"""How a warning of Spark's begins; no pandas is used here."""

UNKNOWN_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)")


def check_packages() -> None:
    """Say how to install Spark's packages if they are missing."""
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise CrowdstreamError(f"Spark needs {package}: pip install 'crowdstream[spark]'")


def check_java() -> None:
    """Say what is missing if there is no Java that runs Spark.

    A session that exists, and one by Spark Connect, needs none here.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    where = "JAVA_HOME" if home else "PATH"
    needed = f"Spark needs Java {OLDEST_JAVA} or later"
    if java is None or not os.access(java, os.X_OK):
        raise CrowdstreamError(f"{needed}, and there is none in {where}: install a JRE")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    if version is None:
        raise CrowdstreamError(f"{needed}, and {java} does not run: {told.stderr.strip()}")
    if int(version[1]) < OLDEST_JAVA:
        raise CrowdstreamError(f"{needed}; {java} is Java {version[1]}")


def start(master: str | None = None, *, settings: dict[str, str] | None = None) -> SparkSession:
    """A session: that which is there, or a new one.

    Executors on this machine run this very Python, unless ``PYSPARK_PYTHON`` names another, and
    listen on the loopback alone.

    Parameters
    ----------
    master
        The cluster's address; by default that which ``spark-submit`` was given, or this machine.
    settings
        More of Spark's settings by their names.

    Examples
    --------
    >>> from crowdstream import spark
    >>> session = spark.start("local[2]")  # doctest: +SKIP
    """
    check_packages()
    with quietly():
        from pyspark.sql import SparkSession

        found = SparkSession.getActiveSession()
        if found is not None and master is None:
            return found
        if not (master or "").startswith("sc:") and "SPARK_REMOTE" not in os.environ:
            check_java()
        builder = SparkSession.builder.appName("crowdstream")
        where = master or ("" if is_submitted() else "local[*]")
        here = where.startswith("local")
        chosen = SETTINGS | (LOOPBACK if here else {}) | (settings or {})
        if here:
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        if here or "//127.0.0.1" in where or "//localhost" in where:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            chosen[OPTIONS] = f"{JVM} {chosen.get(OPTIONS, '')}".strip()
        if where.startswith("sc:"):
            builder = builder.remote(where)
        elif where:
            builder = builder.master(where)
        for name, value in chosen.items():
            builder = builder.config(name, value)
        session: SparkSession = builder.getOrCreate()
        return session


def is_submitted() -> bool:
    """Whether ``spark-submit`` has started this process; it knows the master."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without Spark's warning of pandas 3 or later."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=PANDAS, category=FutureWarning)
        yield


def use_this_python(session: SparkSession) -> None:
    """Let executors on this machine run this Python; Spark's default is whatever python3 is."""
    with contextlib.suppress(Exception):  # Spark Connect has no context
        context = session.sparkContext
        if str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable


@contextlib.contextmanager
def plain_words() -> Iterator[None]:
    """What users can mend, in words instead of a page of the JVM's."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        missing = UNKNOWN_MODULE.search(str(error))
        if missing is not None:
            raise CrowdstreamError(
                f"executors have no {missing[1]}: install crowdstream[spark] in the Python that"
                " they run, and name it in PYSPARK_PYTHON or spark.pyspark.python"
            ) from error
        told = re.search(r"column '.*?': expected .*?, found .*", str(error))
        if told is not None:
            raise CrowdstreamError(told[0].strip()) from error
        raise


def on_spark(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """A function that runs jobs: without a needless warning, mistakes in plain words."""

    @functools.wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        check_packages()
        with quietly(), plain_words():
            return function(*args, **kwargs)

    return called
