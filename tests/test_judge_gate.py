"""examples/judge-gate: the script that the action runs, and the files around it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crowdstream.simulation import simulate

FOLDER = Path(__file__).parents[1] / "examples" / "judge-gate"
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the examples are not in this distribution"
)


def run_step(
    tmp_path: Path, minima: str, gold: int = 150, unsure: str = "false"
) -> tuple[int, str, str]:
    """Run the script as the action does; its exit code, its outputs and its summary."""
    made = simulate(7, 400, p=0.15, seed=3)
    made.labels().write_csv(tmp_path / "labels.csv")
    made.truths().head(gold).write_csv(tmp_path / "gold.csv")
    tool = tmp_path / "bin" / "crowdstream"
    tool.parent.mkdir()
    tool.write_text(f"#!{sys.executable}\nfrom crowdstream.cli import entry\nentry()\n")
    tool.chmod(0o755)
    outputs, summary = tmp_path / "outputs", tmp_path / "summary"
    given = {
        "PATH": f"{tool.parent}:{os.environ['PATH']}", "LABELS": str(tmp_path / "labels.csv"),
        "GOLD": str(tmp_path / "gold.csv"), "MINIMA": minima, "FAIL_WHEN_UNSURE": unsure,
        "GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary),
    }  # fmt: skip
    done = subprocess.run(
        [FOLDER / "gate.sh"], env={**os.environ, **given}, capture_output=True, text=True
    )
    texts = [file.read_text() if file.exists() else "" for file in (outputs, summary)]
    return done.returncode, texts[0], texts[1]


@pytest.mark.parametrize(
    ("minima", "gold", "unsure", "code", "outcome"),
    [
        ("--min-kappa 0.5 --min-accuracy 0.8", 150, "false", 0, "passed"),
        ("--min-effective 7 --min-accuracy 0.999 --min-kappa 0.999", 20, "false", 0, "cannot_tell"),
        ("--min-accuracy 0.999", 20, "true", 3, "cannot_tell"),
    ],
)
def test_a_step_ends_as_the_action_promises(
    tmp_path: Path, minima: str, gold: int, unsure: str, code: int, outcome: str
) -> None:
    found = run_step(tmp_path, minima, gold, unsure)
    assert found[:2] == (code, f"outcome={outcome}\n")
    assert found[2].startswith("## Judge gate")


def test_a_mistake_is_no_outcome(tmp_path: Path) -> None:
    code, outputs, _ = run_step(tmp_path, "--min-kappa seven")
    assert (code, outputs) == (2, "")


def test_options_are_words_and_not_commands(tmp_path: Path) -> None:
    run_step(tmp_path, f"--min-kappa 0.5; touch {tmp_path}/run $(touch {tmp_path}/run)")
    assert not (tmp_path / "run").exists()


def test_the_action_hands_over_every_variable_of_the_script() -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((FOLDER / "action.yml").read_text())
    step = action["runs"]["steps"][-1]
    script = (FOLDER / "gate.sh").read_text()
    assert all(f"${name}" in script or f"${{{name}" in script for name in step["env"])
    workflow = yaml.safe_load((FOLDER / "workflow.yml").read_text())
    asked = workflow["jobs"]["gate"]["steps"][-1]["with"]
    assert set(asked) <= set(action["inputs"])
