"""What is installed: compiled ahead where a wheel is made, and slower but right without a compiler.

The slow tests make environments of their own and fill them as a user would.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import warnings
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import requires, version
from pathlib import Path

import pytest

import crowdstream
from crowdstream import compiled
from crowdstream.cli.plugins import ELSEWHERE

ROOT = Path(__file__).parents[1]
PACKAGE = Path(crowdstream.__file__).parent
ROWS = [
    f"t{task},w{worker},{'yn'[(task * worker) % 5 == 1]}"
    for task in range(9)
    for worker in range(4)
]


def run(
    *words: str | Path, path: Path | None = None, cwd: Path, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """A command, with nothing but one folder to find programs in if that is named."""
    known = {key: value for key, value in os.environ.items() if key not in ("CC", "PYTHONPATH")}
    if path is not None:
        known["PATH"] = str(path)
    done = subprocess.run(words, cwd=cwd, env=known, capture_output=True, text=True, timeout=600)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def new_environment(folder: Path) -> Path:
    """An empty environment; the folder of its programs."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin")


def make_sdist(folder: Path, source: Path = ROOT) -> Path:
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=source)
    return next(folder.glob("*.tar.gz"))


def make_wheel(folder: Path, source: Path = ROOT) -> Path:
    """By way of the source distribution, which must hold all that is needed."""
    build = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation")
    run(*build, "-w", folder, make_sdist(folder, source), cwd=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_wheel(tmp_path_factory.mktemp("wheel"))


def test_the_loops_that_are_tested_are_compiled_and_not_older_than_their_sources() -> None:
    assert compiled.is_compiled(), "run `make build`"
    for source in PACKAGE.rglob("*loops.py"):
        built = [source.with_name(source.stem + end) for end in EXTENSION_SUFFIXES]
        times = [file.stat().st_mtime for file in built if file.exists()]
        assert max(times) >= source.stat().st_mtime, f"{source} changed: run `make build`"


def test_every_file_of_loops_is_marked_and_has_a_stub() -> None:
    for source in PACKAGE.rglob("*loops.py"):
        assert source.read_text("utf-8").startswith("# cython: language_level=3\n"), source
        assert source.with_suffix(".pyi").exists(), source


def test_uncompiled_loops_warn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_warned", False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        compiled.warn_not_compiled()
        compiled.warn_not_compiled()
    assert [warning.category for warning in told] == [compiled.NotCompiled]


def test_a_wheel_runs_the_demo_where_there_is_no_compiler(tmp_path: Path, wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name
    programs = new_environment(tmp_path / "env")
    run(programs / "python", "-m", "pip", "install", wheel, path=programs, cwd=tmp_path)
    told = run(programs / "python", ROOT / "examples" / "demo.py", path=programs, cwd=tmp_path)
    assert "decisions.csv" in told.stdout
    assert "not compiled" not in told.stderr
    has = run(programs / "python", "-m", "pip", "list", path=programs, cwd=tmp_path).stdout.lower()
    assert not any(name in has for name in ("numba", "llvmlite", "cython"))


def test_without_a_compiler_it_installs_and_says_once_that_it_is_slow(tmp_path: Path) -> None:
    programs = new_environment(tmp_path / "env")
    pip = (programs / "python", "-m", "pip", "install")
    run(*pip, make_sdist(tmp_path), path=programs, cwd=tmp_path)
    (tmp_path / "labels.csv").write_text("\n".join(["task,worker,label", *ROWS]) + "\n")
    words = ("run", "labels.csv", "--quiet")
    slow = run(programs / "crowdstream", *words, path=programs, cwd=tmp_path)
    assert slow.stderr.count("not compiled") == 1
    quick = run(Path(sys.executable).with_name("crowdstream"), *words, cwd=tmp_path)
    assert slow.stdout == quick.stdout
    assert "not compiled" not in quick.stderr


def test_the_core_works_alone_and_the_lab_adds_its_commands(tmp_path: Path, wheel: Path) -> None:
    programs = new_environment(tmp_path / "env")
    pip = (programs / "python", "-m", "pip", "install")
    run(*pip, wheel, path=programs, cwd=tmp_path)
    (tmp_path / "labels.csv").write_text("\n".join(["task,worker,label", *ROWS]) + "\n")

    def crowdstream(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return run(programs / "crowdstream", *words, path=programs, cwd=tmp_path, code=code)

    for words in (("run", "labels.csv", "--quiet"), ("savings", "labels.csv", "--orders", "1")):
        crowdstream(*words)
    core = crowdstream("--help").stdout
    for name in ELSEWHERE:
        missed = crowdstream(name, "--anything", code=2).stderr
        assert missed.endswith("pip install crowdstream-lab\n")
        assert "Traceback" not in missed
        assert f"\n  {name} " not in core
    (tmp_path / "lab").mkdir()
    run(*pip, make_wheel(tmp_path / "lab", ROOT / "lab"), path=programs, cwd=tmp_path)
    both = crowdstream("--help").stdout
    assert all(f"\n  {name} " in both for name in ELSEWHERE)
    crowdstream("policies", "uniform", "-t", "9")
    crowdstream("simulate", "-t", "50", "-o", "made.csv", "--truth", "truth.csv")
    compared = crowdstream("compare", "made.csv", "--truth", "truth.csv", "--quick", "-o", "study")
    assert "dawid-skene" in compared.stdout
    assert "promises of ours hold" in crowdstream("paper", "worked", "--quick").stdout


def test_the_lab_has_the_version_of_the_core_and_needs_that() -> None:
    assert version("crowdstream-lab") == crowdstream.__version__
    assert f"crowdstream=={crowdstream.__version__}" in (requires("crowdstream-lab") or ())
