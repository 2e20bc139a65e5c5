"""Each extra alone, in an environment of its own: what its page in docs/ says first to type works.

`make test-extras` runs this; it fills an environment per extra and takes minutes. The wheels are
made once. Nothing of this checkout is importable there.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

LABELS = [
    f"t{task},w{worker},{'yn'[(task * worker) % 5 == 1]}"
    for task in range(9)
    for worker in range(4)
]

TRUTHS = [f"t{task},{'ny'[task % 2]}" for task in range(9)]

AS_WORKBOOK = "import polars; polars.read_csv('labels.csv').write_excel('book.xlsx')"

# The file's examples in order, as `pytest` runs them.
DOCTEST = """
import doctest, sys
flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
found = doctest.testfile(sys.argv[1], module_relative=False, optionflags=flags)
sys.exit(found.failed or not found.attempted)
"""

# docs/judges.md leaves the models and the data set open.
JUDGES = """
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import accuracy, match, multi_scorer
from crowdstream.compat.inspect_ai import effective_judges, judge, learned_vote
panel = [judge(match(), name) for name in ("one", "two", "three")]
Task(
    dataset=[Sample("1 + 1", target="2")],
    scorer=multi_scorer(panel, reducer=learned_vote()),
    metrics=[accuracy(), effective_judges(truth="human")],
)
"""


class Environment:
    """An environment with what is to be tried, in a folder with labels.csv and truth.csv."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=True)
        self.programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.programs / "python"
        hidden = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "PYSPARK_PYTHON"}
        self.known = {name: value for name, value in os.environ.items() if name not in hidden}
        (folder / "labels.csv").write_text("\n".join(["task,worker,label", *LABELS]) + "\n")
        (folder / "truth.csv").write_text("\n".join(["task,label", *TRUTHS]) + "\n")

    def run(self, *words: str | Path) -> str:
        """Run a program of the environment in the folder; what it printed."""
        program, *rest = words
        done = subprocess.run(
            [self.programs / program, *rest],
            cwd=self.folder, env=self.known, capture_output=True, text=True, timeout=1_200,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def install(self, *what: str) -> None:
        self.run("python", "-m", "pip", "install", "--quiet", *what)

    def run_examples(self, page: str) -> None:
        self.run("python", "-W", "error::ImportWarning", "-c", DOCTEST, DOCS / page)


class Wheels:
    """The wheels of the core and of the lab, by what pip is told to install."""

    def __init__(self, folder: Path) -> None:
        for source in (ROOT, ROOT / "lab"):
            build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
            subprocess.run([*build, "-w", folder, source], check=True, timeout=1_200)
        self.lab = str(next(folder.glob("crowdstream_lab-*.whl")))
        self.core = str(next(folder.glob("crowdstream-*.whl")))

    def with_extra(self, extra: str) -> str:
        return f"{self.core}[{extra}]"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    return Wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


@pytest.fixture
def served(environment: Environment, wheels: Wheels) -> Iterator[str]:
    """The address that `crowdstream serve --demo` prints."""
    environment.install(wheels.with_extra("serve"))
    words = [str(environment.programs / "crowdstream"), "serve", "--demo", "--port", "0"]
    with subprocess.Popen(
        words, cwd=environment.folder, env=environment.known, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if found := re.search(r"http://[^\s/]+", line):
                yield found[0]
                break
        else:
            pytest.fail("".join(lines))
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
    assert process.returncode == 0


def test_without_extras_a_file_is_decided(environment: Environment, wheels: Wheels) -> None:
    environment.install(wheels.core)
    environment.run("crowdstream", "demo")
    environment.run("crowdstream", "run", "labels.csv", "-o", "decisions.csv")
    assert (environment.folder / "decisions.csv").read_text().count("\n") == 10


def test_report(environment: Environment, wheels: Wheels) -> None:
    environment.install(wheels.with_extra("report"))
    environment.run("crowdstream", "report", "labels.csv")
    assert "</html>" in (environment.folder / "report.html").read_text()


def test_serve(served: str) -> None:
    with urllib.request.urlopen(f"{served}/healthz", timeout=60) as answer:
        assert answer.status == 200


def test_spark(environment: Environment, wheels: Wheels) -> None:
    environment.install(wheels.with_extra("spark"))
    told = "import polars; polars.read_csv('labels.csv').write_parquet('labels.parquet')"
    environment.run("python", "-c", told)
    words = "spark run labels.parquet -o decisions --workers workers.csv --state crowd.state"
    environment.run("crowdstream", *words.split())
    assert list((environment.folder / "decisions").glob("*.parquet"))
    assert (environment.folder / "workers.csv").read_text().count("\n") == 5
    assert (environment.folder / "crowd.state").stat().st_size


def test_excel(environment: Environment, wheels: Wheels) -> None:
    environment.install(wheels.with_extra("excel"))
    environment.run("python", "-c", AS_WORKBOOK)
    environment.run("crowdstream", "run", "book.xlsx", "-o", "decisions.xlsx")
    read = "import polars; print(polars.read_excel('decisions.xlsx').height)"
    assert environment.run("python", "-c", read).strip() == "9"


def test_judges(environment: Environment, wheels: Wheels) -> None:
    environment.install(wheels.with_extra("judges"))
    environment.run("python", "-c", JUDGES)


def test_compat(environment: Environment, wheels: Wheels) -> None:
    environment.install(wheels.with_extra("compat"))
    environment.run_examples("tools/scikit-learn.md")


def test_lab(environment: Environment, wheels: Wheels) -> None:
    environment.install(wheels.core, wheels.lab)
    environment.run("crowdstream", "compare", "labels.csv", "--truth", "truth.csv")
    environment.run_examples("crowd-kit.md")


def test_bench(environment: Environment, wheels: Wheels) -> None:
    environment.install(wheels.with_extra("bench"), wheels.lab)
    environment.run("crowdstream", "compare", "labels.csv", "--truth", "truth.csv")
    environment.run("python", "-c", "import crowdkit.aggregation")


def test_docs(environment: Environment, wheels: Wheels) -> None:
    environment.install(wheels.with_extra("docs"))
    site = environment.folder / "site"
    environment.known["NO_MKDOCS_2_WARNING"] = "1"
    environment.run("mkdocs", "build", "--quiet", "-f", ROOT / "mkdocs.yml", "-d", site)
    assert (site / "index.html").exists()


def test_dev(environment: Environment, wheels: Wheels) -> None:
    environment.install(wheels.with_extra("dev"), wheels.lab)
    for tool in ("ruff", "mypy", "pytest", "lint-imports"):
        environment.run(tool, "--help")
    environment.run("python", "-m", "pip", "check")
