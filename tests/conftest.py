from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from crowdstream.errors import CrowdstreamError

HERE = Path(__file__).parent

MARKS = {
    "browser": "browser",
    "packaging": "packaging",
    "spark": "spark",
    "test_packaging.py": "packaging",
}
"""Marks of all tests in a folder or a file, by its name: what each is is said in pyproject.toml."""

settings.register_profile("check", max_examples=10)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by where they are, so that `-m` can choose among them."""
    for item in items:
        if item.path.is_relative_to(HERE):
            mark = MARKS.get(item.path.relative_to(HERE).parts[0])
            if mark is not None:
                item.add_marker(mark)


@pytest.fixture(scope="session")
def java() -> None:
    """Skip where Spark cannot run."""
    pytest.importorskip("pyspark", reason="crowdstream[spark] is not installed")
    from crowdstream.spark.session import check_java

    try:
        check_java()
    except CrowdstreamError as error:
        pytest.skip(str(error))
