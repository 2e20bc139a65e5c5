"""Make a small file of labels, aggregate it, print the decisions and whom to trust.

Eight labellers of unknown quality say whether 300 messages are spam; nobody knows the truth but
this script, which made it up and tells at the end how well the crowd did.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import crowdstream as cs

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


def write_example(path: Path, tasks: int = 300) -> dict[str, str]:
    """Write a file of labels; the truth, which the file does not tell."""
    rng = np.random.default_rng(7)
    truth = {f"m{t:03}": str(rng.choice(["spam", "ham"])) for t in range(tasks)}
    other = {"spam": "ham", "ham": "spam"}
    rows = [
        (task, who, label if rng.random() < accuracy else other[label])
        for task, label in truth.items()
        for who, accuracy in ACCURACY.items()
        if rng.random() < 0.7
    ]
    pl.DataFrame(rows, ["task", "worker", "label"], orient="row").write_csv(path)
    return truth


def main() -> None:
    """Run the demo."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        truth = write_example(path)
        labels = pl.read_csv(path)

    crowd = cs.AgreementBased()
    decisions = crowd.fit_predict(labels)
    majority = cs.MajorityVote().fit_predict(labels)

    def wrong(table: pl.DataFrame) -> int:
        return sum(truth[task] != label for task, label in table.select("task", "label").rows())

    with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_rows=8):
        print(f"\n{labels.height} labels of {len(truth)} tasks by {crowd.n_labellers_} labellers.")
        print("\nDecisions:", decisions.head(8), sep="\n")
        print("\nLabellers, as judged without knowing the truth:")
        real = pl.Series(
            "real_error_rate", [1 - ACCURACY[who] for who in crowd.labellers()["worker"]]
        )
        print(crowd.labellers().with_columns(real).sort("error_rate"))
    print(f"\nWrong decisions: majority vote {wrong(majority)}, crowdstream {wrong(decisions)}.")


if __name__ == "__main__":
    main()
