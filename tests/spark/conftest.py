"""A cluster on this machine: a driver and two executors, processes of their own, on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.streaming import SETTINGS


@pytest.fixture(scope="session")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on two executors with one core each."""
    import pyspark

    from crowdstream import spark

    # Spark keeps its executors' logs in its own home.
    home = tmp_path_factory.mktemp("spark-home")
    for part in Path(pyspark.__file__).parent.iterdir():
        (home / part.name).symlink_to(part)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SPARK_HOME", str(home))
        patched.setenv("SPARK_LOCAL_DIRS", str(tmp_path_factory.mktemp("spark")))
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.executor.memory": "900m",
            "spark.executor.extraJavaOptions": SETTINGS["spark.driver.extraJavaOptions"],
            "spark.sql.warehouse.dir": str(home / "warehouse"),
        }
        session = spark.start("local-cluster[2,1,1024]", settings=SETTINGS | settings)
        yield session
        session.stop()
