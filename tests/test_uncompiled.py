"""The loops give the same bits compiled and as the Python they are written in."""

from __future__ import annotations

import importlib.machinery
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import crowdstream
from crowdstream.compiled import is_compiled

SOURCE = Path(crowdstream.__file__).parent

SCRIPT = """
import hashlib
import sys
import warnings

warnings.simplefilter("ignore")
import numpy as np

import crowdstream as cs
from crowdstream.compiled import is_compiled

assert is_compiled() == (sys.argv[1] == "compiled"), "not what was to be tested"
rng = np.random.default_rng(0)
truth = rng.integers(3, size=150)
skill = np.linspace(0.0, 0.9, 8)
rows = [
    (t, f"w{i}", f"c{truth[t] if rng.random() < skill[i] else rng.integers(3)}")
    for t in range(150) for i in rng.permutation(8)[:5].tolist()
]
families = {"w1": "x", "w2": "x", "w6": "y", "w7": "y"}
made = [
    cs.MajorityVote(), cs.AgreementBased(), cs.AgreementBased(memory=30), cs.CentredAgreement(),
    cs.Adaptive(), cs.Adaptive(memory=30), cs.Adaptive(families=families),
]
for crowd in made:
    gold = {t: f"c{truth[t]}" for t in range(0, 150, 10)}
    for verb in (crowd.stream_many, crowd.fit_predict):
        table = verb(rows, gold=gold)
        numbers = table.select("confidence", "margin").to_numpy().tobytes()
        said = "".join(table["label"])
        digest = hashlib.blake2b(crowd.to_bytes() + numbers + said.encode()).hexdigest()[:32]
        print(repr(crowd), verb.__name__, digest)
    answers = {"w0": "c1", "w1": "c2", "w5": "c1"}
    crowd.learn_one(answers)
    crowd.unlearn_one(answers)
    print(repr(crowd), "unlearn_one", hashlib.blake2b(crowd.to_bytes()).hexdigest()[:32])
two = [(t, w, min(x, "c1")) for t, w, x in rows]
for crowd in (cs.Adaptive(), cs.AgreementBased()):
    table = crowd.fit_predict(two, gold={0: "c0", 1: "c1"})
    found = crowd.to_bytes() + table["confidence"].to_numpy().tobytes()
    print("two classes", hashlib.blake2b(found).hexdigest()[:32])
turned = rows + [(150 + t, f"w{7 - int(w[1:])}", x) for t, w, x in rows]
for crowd in (cs.Adaptive(), cs.Adaptive(families=families)):
    table = crowd.stream_many(turned)
    assert crowd._model.changing
    crowd.unlearn_one({"w0": "c1", "w1": "c2", "w5": "c1"})
    found = crowd.to_bytes() + table["confidence"].to_numpy().tobytes()
    print("change", hashlib.blake2b(found).hexdigest()[:32])
many = [(t, w, f"c{(int(x[1:]) + t) % 40}") for t, w, x in rows]
for verb in (cs.Adaptive.fit_predict, cs.Adaptive.stream_many):
    crowd = cs.Adaptive()
    confidences = verb(crowd, many, gold={0: "c1"})["confidence"].to_numpy().tobytes()
    crowd.learn_one({"w0": "c1", "w1": "c2", "w5": "c1"})
    crowd.unlearn_one({"w0": "c1", "w1": "c2", "w5": "c1"})
    print("40 classes", hashlib.blake2b(crowd.to_bytes() + confidences).hexdigest()[:32])
stream = cs.Stream(cs.Adaptive(), settle=0.9, max_labels=4)
for task, worker, label in rows:
    stream.observe(task, worker, label, at=0)
stream.end()
print("stream", hashlib.blake2b(stream.to_bytes()).hexdigest()[:32])
for crowd in (cs.Adaptive(), cs.Adaptive(memory=30)):
    stream = cs.Stream(crowd, settle=0.9, max_labels=4, remember=20)
    for at in range(0, len(rows), 50):
        said = [(t, w, None if (at + t) % 17 == 0 else x) for t, w, x in rows[at : at + 50]]
        stream.observe_many(said + rows[at : at + 3], at=0)
        stream.gold(rows[at + 49][0], f"c{truth[rows[at + 49][0]]}", at=0)
    told = [(vote.worker, vote.effect) for vote in stream.votes(stream.open_tasks[0])]
    found = stream.to_bytes() + repr((told, stream.next_task("w1"))).encode()
    print("many", hashlib.blake2b(found).hexdigest()[:32])
"""


def run(folder: Path, how: str) -> list[str]:
    script = folder / "compare.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), how],
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.skipif(not is_compiled(), reason="there is nothing compiled to compare with")
def test_uncompiled_loops_give_the_same_bits(tmp_path: Path) -> None:
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    said = {}
    for how in ("compiled", "uncompiled"):
        folder = tmp_path / how

        def leave_out(_: str, names: list[str], how: str = how) -> list[str]:
            gone = [name for name in names if name.endswith(suffixes)]
            return ["__pycache__", *(gone if how == "uncompiled" else [])]

        shutil.copytree(SOURCE, folder / "crowdstream", ignore=leave_out)
        said[how] = run(folder, how)
    assert len(said["compiled"]) == 30
    assert said["uncompiled"] == said["compiled"]
