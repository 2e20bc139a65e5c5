"""Make a small file of labels, decide it on the command line, show whom to trust.

Eight workers of unknown quality say whether 300 messages are spam; nobody knows the truth but
this script, which made it up and has the decisions scored by it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

PROGRAM = Path(sys.executable).parent / "crowdstream"

ACCURACY = {
    "ann": 0.95,
    "bob": 0.90,
    "cy": 0.85,
    "dee": 0.80,
    "coin": 0.50,
    "dice": 0.50,
    "lot": 0.50,
    "troll": 0.20,
}


def write_example(folder: Path, tasks: int = 300) -> None:
    """labels.csv, and truth.csv, which nobody would have."""
    rng = np.random.default_rng(3)
    truth = {f"m{t:03}": str(rng.choice(["spam", "ham"])) for t in range(tasks)}
    other = {"spam": "ham", "ham": "spam"}
    rows = [
        (task, who, label if rng.random() < accuracy else other[label])
        for task, label in truth.items()
        for who, accuracy in ACCURACY.items()
        if rng.random() < 0.7
    ]
    labels = pl.DataFrame(rows, ["task", "worker", "label"], orient="row")
    labels.write_csv(folder / "labels.csv")
    pl.DataFrame({"task": list(truth), "label": list(truth.values())}).write_csv(
        folder / "truth.csv"
    )


def shell(folder: Path, *words: str) -> None:
    """Show a command and run it."""
    print("\n$ crowdstream", *words, flush=True)
    subprocess.run([str(PROGRAM), *words], cwd=folder, check=True)


def majority_error(folder: Path, *words: str) -> float:
    """How often majority vote errs on the same labels."""
    command = [str(PROGRAM), *words, "--method", "majority", "--quiet", "--json"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return float(json.loads(done.stdout)["error_rate"])


def main() -> None:
    """Run the demo."""
    accuracies = ", ".join(f"{who} {share:.0%}" for who, share in ACCURACY.items())
    print(f"How often each is really right, which crowdstream is not told:\n{accuracies}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_example(folder)
        scored = ("run", "labels.csv", "--truth", "truth.csv")
        print(f"Majority vote errs on {majority_error(folder, *scored):.1%} of the tasks.")
        shell(folder, *scored, "-o", "decisions.csv")
        print("\n$ head -5 decisions.csv")
        print("\n".join((folder / "decisions.csv").read_text().splitlines()[:5]))


if __name__ == "__main__":
    main()
