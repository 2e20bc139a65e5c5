"""Small evals of a mock model in a process of their own; what came out is printed as JSON.

inspect_ai takes over logging, writes traces into the user's folder and leaves streams unclosed:
nothing for the process of the tests.

    python -m tests.compat.inspect_evals FOLDER
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import inspect_ai
from inspect_ai import Epochs, Task
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, match, multi_scorer, scorer
from inspect_ai.solver import TaskState

import crowdstream as cs
from crowdstream.compat.inspect_ai import (
    effective_judges,
    judge,
    learned_vote,
    panel_votes,
    rescore,
)

SAMPLES, KNOWN = 30, 15
ERRORS = {"good": 0.05, "fair": 0.2, "bad-1": 0.45, "bad-2": 0.45, "bad-3": 0.45}


def verdict(name: str, sample: str, truth: str) -> str:
    """What a simulated judge says: the truth or its opposite, always the same of one sample."""
    wrong = random.Random(f"{name} {sample}").random() < ERRORS[name]
    return {"C": "I", "I": "C"}[truth] if wrong else truth


def save_crowd(path: Path) -> None:
    """What was learnt of the judges on other samples, by agreement alone."""
    rows = [
        (f"past{k}", name, verdict(name, f"past{k}", truth))
        for k, truth in enumerate(random.Random(2).choices("CI", k=800))
        for name in ERRORS
    ]
    cs.Adaptive().fit(rows).save(path)


@scorer(metrics=[accuracy()])
def simulated(name: str) -> Scorer:
    """A judge of whether an answer is right; the sample's target is what is true of that."""

    async def score(state: TaskState, target: Target) -> Score | None:
        sample = str(state.sample_id)
        if name == "fair" and sample == "q7":
            return None  # this grader failed
        said = verdict(name, sample, target.text)
        return Score(value=said, answer=state.output.completion, explanation=f"says {name}")

    return score


def samples() -> list[Sample]:
    """Targets are true verdicts; some samples have them in their metadata too."""
    truths = random.Random(1).choices("CI", k=SAMPLES)
    return [
        Sample(id=f"q{k}", input="?", target=truth, metadata={"human": truth} if k < KNOWN else {})
        for k, truth in enumerate(truths)
    ]


def answer(*_: object) -> ModelOutput:
    """An answer whose tokens are counted already: to count them, a vocabulary is downloaded."""
    return ModelOutput.from_content("mockllm", "Paris").model_copy(update={"usage": ModelUsage()})


def run(task: Task, folder: Path) -> EvalLog:
    """One eval, which must succeed."""
    model = get_model("mockllm/model", custom_outputs=answer)
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(folder), display="none")
    if log.status != "success":
        sys.exit(f"the eval failed: {log.error}")
    return log


def shown(log: EvalLog) -> dict[str, Any]:
    """A log's scores and metrics."""
    assert log.samples is not None
    assert log.results is not None
    each = [item for one in log.results.scores for item in one.metrics.items()]
    return {
        "scores": {
            f"{one.id}/{one.epoch}": {
                name: score.model_dump(mode="json") for name, score in (one.scores or {}).items()
            }
            for one in log.samples
        },
        "truths": {str(one.id): Target(one.target).text for one in log.samples},
        "metrics": {name: float(found.value) for name, found in each},
        "scorers": [one.name for one in log.results.scores],
        "votes": panel_votes(log),
    }


@scorer(metrics=[accuracy()])
def in_turn() -> Scorer:
    """A scorer that says C, I, C."""
    said = iter(["C", "I", "C"])

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=next(said))

    return score


def main(folder: Path) -> None:
    """Run everything."""
    save_crowd(folder / "judges.state")
    panel = [judge(simulated(name), name) for name in ERRORS]
    vote = learned_vote(crowd=str(folder / "judges.state"))
    task = Task(
        dataset=samples(),
        scorer=multi_scorer(panel, reducer=vote),
        metrics=[accuracy(), effective_judges()],
    )
    reduced = run(task, folder)
    apart = run(Task(dataset=samples(), scorer=panel), folder)
    whole = rescore(apart)
    path = folder / "apart.eval"
    write_eval_log(apart, str(path))
    three = rescore(path, scorers=list(ERRORS)[:3], name="three")
    told = rescore(apart, truth="human")
    assert told.jury.joint_errors is not None
    one = [Sample(id="q", input="?", target="C")]
    epochs = run(Task(dataset=one, scorer=in_turn(), epochs=Epochs(3, learned_vote())), folder)
    multi_scorer([match(), match()], reducer="crowdstream/learned_vote")  # found by its name
    found = {
        "reduced": shown(reduced),
        "state": str(folder / "judges.state"),
        "apart": shown(apart),
        "rescored": shown(whole.log),
        "labels": whole.jury.decisions["label"].to_list(),
        "three": three.jury.workers["worker"].to_list(),
        "known": told.jury.joint_errors.tasks,
        "asked": told.jury.decisions["needs_human"].to_list(),
        "epochs": shown(epochs),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
