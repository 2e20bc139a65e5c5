"""Reading a labelling tool's export: seconds and peak memory, beside ``json.load`` and a loop.

    python benchmarks/formats.py [--megabytes 200]

Makes a Label Studio export of about that size (five workers per task, as its server writes it) in a
folder of its own, reads it by `crowdstream.read_labels`, in pieces as ``run --window`` does, and by
the loop that people write themselves, each in a process of its own, and prints the ratios. Seconds
are those of the processor, which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

WORKERS = 40
LABELS = ("Positive", "Negative", "Neutral")


def write_export(path: Path, size: int) -> int:
    """An export of about so many bytes; the number of its labels."""
    labels = task = 0
    with path.open("w") as file:
        file.write("[")
        while file.tell() < size:
            annotations = []
            for number in range(5):
                labels += 1
                value = {"choices": [LABELS[(task * 7 + number * number) % 3]]}
                result = {
                    "id": f"r{labels}",
                    "from_name": "sentiment",
                    "to_name": "text",
                    "type": "choices",
                    "origin": "manual",
                    "value": value,
                }
                annotations.append(
                    {
                        "id": labels,
                        "completed_by": {"id": (task + number) % WORKERS, "email": "w@example.org"},
                        "result": [result],
                        "was_cancelled": False,
                        "ground_truth": False,
                        "created_at": "2026-01-01T00:00:00.000000Z",
                        "updated_at": "2026-01-01T00:00:00.000000Z",
                        "lead_time": 4.21,
                        "unique_id": "ab5dc156-eaa0-4fc0-a5bb-deeb54dade38",
                        "task": task,
                        "project": 1,
                    }
                )
            text = f"Review {task}: it did what it should, and was there in time. " * 3
            record = {"id": task, "annotations": annotations, "data": {"text": text}}
            file.write((",\n" if task else "") + json.dumps(record | {"predictions": []}))
            task += 1
        file.write("]\n")
    return labels


def by_hand(path: str) -> int:
    """The loop that people write."""
    with open(path) as file:
        tasks = json.load(file)
    rows = []
    for task in tasks:
        for annotation in task["annotations"]:
            if not annotation["was_cancelled"]:
                for result in annotation["result"]:
                    if result["type"] == "choices":
                        worker = annotation["completed_by"]["id"]
                        rows.append((task["id"], worker, result["value"]["choices"][0]))
    return len(rows)


def whole(path: str) -> int:
    """All labels as one table."""
    import crowdstream as cs

    return cs.read_labels(path).height


def pieces(path: str) -> int:
    """The labels a piece at a time, each let go when the next comes."""
    from crowdstream.labels.columns import ColumnNames
    from crowdstream.labels.readers import BadRows, find_sources, read_batches

    batches = read_batches(find_sources([path]), ColumnNames(), BadRows())
    return sum(raw.labels.height for _, raw in batches)


def measured(read: Callable[[str], int], path: str) -> tuple[int, float, float]:
    """Labels, seconds of the processor and the peak of memory in MB."""
    started = time.process_time()
    labels = read(path)
    seconds = time.process_time() - started
    unit = 1 if sys.platform == "darwin" else 1024
    return labels, seconds, unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    """Make, read, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "export.json")
        labels = write_export(path, asked.megabytes * 10**6)
        megabytes = path.stat().st_size / 1e6
        print(f"{megabytes:,.0f} MB, {labels:,} labels, Python {sys.version.split()[0]}")
        fresh = multiprocessing.get_context("spawn")
        found = {}
        for read in (whole, pieces, by_hand):
            with fresh.Pool(1) as pool:
                found[read.__name__] = pool.apply(measured, (read, str(path)))
        for name, (read_labels, seconds, peak) in found.items():
            assert read_labels == labels, (name, read_labels)
            ratio = found["by_hand"][1] / seconds, found["by_hand"][2] / peak
            rate = f"{seconds:6.1f} s of CPU ({megabytes / seconds:4.0f} MB/s)"
            print(
                f"{name:>8}: {rate}, peak {peak:6,.0f} MB; {ratio[0]:.2f} times as fast, "
                f"{ratio[1]:.1f} times less memory than json.load"
            )


if __name__ == "__main__":
    main()
