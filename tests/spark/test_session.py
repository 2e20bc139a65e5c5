"""What is said where Spark or Java is missing; neither is started here."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="crowdstream[spark] is not installed")

from crowdstream.errors import CrowdstreamError
from crowdstream.spark import session


def test_without_java_it_says_which_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CrowdstreamError, match=r"Java 17 or later, and there is none in PATH"):
        session.start("local[1]")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(CrowdstreamError, match="none in JAVA_HOME"):
        session.check_java()


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ('openjdk version "11.0.2" 2019', "is Java 11"),
        ('java version "1.8.0_292"', "is Java 8"),
        ("Segmentation fault", "does not run: Segmentation fault"),
    ],
)
def test_an_older_java_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, printed: str, said: str
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{printed}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(CrowdstreamError, match=said):
        session.check_java()


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pyspark" else found(name)
    )
    with pytest.raises(CrowdstreamError, match=r"pip install 'crowdstream\[spark\]'"):
        session.check_packages()


def test_the_extra_brings_all_that_is_asked_for() -> None:
    """pyspark itself brings neither pandas nor pyarrow, without which it takes no Arrow."""
    project = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    brought = {re.split(r"[<>=;\[ ]", each)[0] for each in extras["spark"]}
    assert set(session.PACKAGES) == brought


def test_executors_without_crowdstream_are_said_in_plain_words() -> None:
    from pyspark.errors import PythonException

    with (
        pytest.raises(CrowdstreamError, match="executors have no crowdstream: install"),
        session.plain_words(),
    ):
        raise PythonException("ModuleNotFoundError: No module named 'crowdstream'\n at ...")
    with pytest.raises(PythonException), session.plain_words():
        raise PythonException("something else")


def test_a_session_leaves_the_environment_as_it_was_where_a_python_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/some/python")

    class Context:
        master, pythonExec = "local[2]", "/some/python"  # noqa: N815

    class Session:
        sparkContext = Context()  # noqa: N815

    session.use_this_python(Session())  # type: ignore[arg-type]
    assert Session.sparkContext.pythonExec == "/some/python"
    monkeypatch.delenv("PYSPARK_PYTHON")
    session.use_this_python(Session())  # type: ignore[arg-type]
    assert os.path.samefile(Session.sparkContext.pythonExec, sys.executable)
