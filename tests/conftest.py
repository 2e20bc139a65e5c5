from __future__ import annotations

import pytest

from crowdstream.errors import CrowdstreamError


@pytest.fixture(scope="session")
def java() -> None:
    """Skip where Spark cannot run."""
    pytest.importorskip("pyspark", reason="crowdstream[spark] is not installed")
    from crowdstream.spark.session import check_java

    try:
        check_java()
    except CrowdstreamError as error:
        pytest.skip(str(error))
