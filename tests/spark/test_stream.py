"""Streams on Spark: equal to one machine's, killed or not, however the tasks are divided."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.errors import CrowdstreamError, InputError, StateError, UsageError
from tests.spark.streaming import OneMachine, Row, decisions_in, labels, run, write

try:
    from crowdstream import spark
    from crowdstream.spark.session import check_java, quietly

    check_java()
except CrowdstreamError as error:
    pytest.skip(f"no Spark here: {error}", allow_module_level=True)

from crowdstream.spark import micro_batch
from crowdstream.spark.micro_batch import MicroBatch
from crowdstream.spark.stream_columns import micros_of
from crowdstream.spark.stream_folder import StreamFolder

MINUTE = 60 * 1_000_000
FILES = 3


@pytest.fixture(scope="module")
def session(cluster: Any) -> Iterator[Any]:
    with quietly():
        yield cluster


def micro_batches() -> list[list[Row]]:
    """Labels of 90 tasks in two files, with all that may be wrong; the third is the second."""
    rng, found = np.random.default_rng(3), [list[Row]() for _ in range(FILES - 1)]
    for row in labels(90, 8, 6, seed=2):
        first = min(int(row.task[1:]) // 40, FILES - 2) if row.task else 0
        found[min(first + int(rng.random() < 0.3), FILES - 2)].append(row)
    for part in found:
        one, other = part[0], part[-1]
        part += [one, one._replace(label="c9"), other._replace(at=(other.at or 0) + 1)]
        part += [Row(None, "w01", "c1", 0), Row("t0001", None, "c1", 0), Row("t1", "w1", None, 0)]
        part += [Row("t0001", "w01", "c1", None)]
    return [*found, found[1]]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    for number, rows in enumerate(micro_batches()):
        write(rows, folder, number)
    return folder


@pytest.fixture(scope="module")
def undisturbed(
    session: Any, files: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, bytes]:
    """A stream that nobody killed, and its crowd before the end."""
    state = tmp_path_factory.mktemp("undisturbed")
    run(session, files, state)
    return state, spark.stream_state(state).crowd.to_bytes()


def same_sums(one: cs.Adaptive, other: cs.Adaptive) -> None:
    """What was learnt and what monitors saw is the same to the bit."""
    assert one.workers_ == other.workers_
    assert one.classes_ == other.classes_
    mine, theirs = one._model.pack(), other._model.pack()
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        assert array.tobytes() == theirs[name].tobytes(), name
    for seen, there in zip(one.observers, other.observers, strict=True):
        kept: dict[str, Any] = dict(there.pack())
        for name, array in dict[str, Any](seen.pack()).items():
            if not name.startswith("recent"):
                assert array.tobytes() == kept[name].tobytes(), name


def test_a_stream_is_that_of_one_machine(session: Any, undisturbed: tuple[Path, bytes]) -> None:
    state = undisturbed[0]
    expected = OneMachine(cs.Adaptive(), max_labels=5, idle=20 * MINUTE, watermark=30 * MINUTE)
    for rows in micro_batches():
        expected.take(rows)
    found = spark.stream_state(state)
    same_sums(found.crowd, expected.crowd)  # type: ignore[arg-type]
    assert found.batch == FILES - 1
    assert found.counts.open == len(expected.open) > 0
    assert found.open_labels is not None
    left = {task: {one.worker: one.label for one in each} for task, each in expected.open.items()}
    kept: dict[str, dict[str, str]] = {}
    for task, worker, label, *_ in pl.read_parquet(found.open_labels / "*.parquet").rows():
        kept.setdefault(task, {})[worker] = label
    assert kept == left

    spark.end_stream(session, state)
    expected.end()
    found = spark.stream_state(state)
    counts = found.counts
    for name in ("rows", "repeated", "replaced", "late", "settled", "full", "idle", "end"):
        assert getattr(counts, name) == expected.counts[name] > 0, name
    for name in ("null_task", "null_worker", "null_label", "null_at"):
        assert getattr(counts, name) == expected.counts[name] == FILES, name
    rest = counts.rows - counts.repeated - counts.replaced - counts.late - 4 * FILES
    assert counts.labels == rest == found.crowd._model.sums.total[2]
    same_sums(found.crowd, expected.crowd)  # type: ignore[arg-type]
    told = pl.DataFrame(expected.decisions).sort("task")
    assert decisions_in(state).equals(told)
    assert told["task"].n_unique() == told.height == counts.closed


class BrokenError(Exception):
    """What a test breaks a micro-batch with."""


STAGES = {"_write_decisions": 0, "_write_left": 1, "_learn": 1, "_commit": 2}
"""After each of them a micro-batch of this id fails, once."""


def test_failures_and_partitions_change_nothing(
    session: Any,
    files: Path,
    undisturbed: tuple[Path, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pyspark.errors import StreamingQueryException

    failed: list[str] = []

    def failing(stage: str, batch: int) -> Any:
        original = getattr(MicroBatch, stage)

        def broken(self: MicroBatch, *args: Any) -> Any:
            found = original(self, *args)
            if self.batch == batch and stage not in failed:
                failed.append(stage)
                raise BrokenError(stage)
            return found

        return broken

    monkeypatch.setattr(micro_batch, "TABLES", 1)  # names of closed tasks are made one table
    for stage, batch in STAGES.items():
        monkeypatch.setattr(MicroBatch, stage, failing(stage, batch))
    for _ in STAGES:
        with pytest.raises(StreamingQueryException, match="BrokenError"):
            run(session, files, tmp_path, partitions=3)
    run(session, files, tmp_path, partitions=3)
    assert failed == list(STAGES)
    found = spark.stream_state(tmp_path)
    same_sums(found.crowd, cs.load(undisturbed[1]))  # type: ignore[arg-type]
    told = decisions_in(undisturbed[0]).filter(pl.col("closed") != "end")
    # The undisturbed stream may have ended already: closed then, open here.
    assert decisions_in(tmp_path).equals(told)
    assert len(list((tmp_path / "tables").rglob("closed=false"))) <= 2
    assert len(list((tmp_path / "commits").glob("*.state"))) == 2


def test_killed_between_state_and_commit(
    session: Any, files: Path, undisturbed: tuple[Path, bytes], tmp_path: Path
) -> None:
    script = [sys.executable, "-m", "tests.spark.killed_stream", str(files), str(tmp_path)]
    for stage in ("_write_decisions", "_commit"):
        done = subprocess.run([*script, stage, "0"], capture_output=True, timeout=300)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert spark.stream_state(tmp_path).batch == 0
    known = list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    assert not known  # to Spark: so the micro-batch comes again, and must not count again
    run(session, files, tmp_path)
    assert spark.stream_state(tmp_path).crowd.to_bytes() == undisturbed[1]
    told = decisions_in(undisturbed[0]).filter(pl.col("closed") != "end")
    assert decisions_in(tmp_path).equals(told)


def test_another_estimator_and_json_whose_rows_are_bad(session: Any, tmp_path: Path) -> None:
    """As from Kafka: a column of bytes or text, each value a label in JSON."""
    from pyspark.sql import functions as F

    good = [row for row in labels(30, 5, 4, seed=8) if row.at is not None]
    lines = [
        json.dumps({"task": int(task[1:]), "worker": worker, "label": float(label[1:])})
        for task, worker, label in ((str(x), str(y), str(z)) for x, y, z, _ in good)
    ]
    wrong = [
        "not json",
        '{"task": 1, "worker": "w9", "label": 0.5}',
        '{"task": 1, "worker": "w9", "label": null}',
        '{"task": 1, "worker": "w9", "label": 1, "at": "3000-01-01T00:00:00Z"}',
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "values.txt").write_text("\n".join(lines + wrong))
    raw = session.readStream.text(str(tmp_path / "in"))
    schema = "task bigint, worker string, label double, at timestamp"
    rows = raw.select(F.from_json(F.col("value").cast("string"), schema).alias("row")).select(
        "row.*"
    )
    rows = rows.withColumn("at", F.coalesce("at", F.timestamp_seconds(F.lit(1_700_000_000))))
    handed: list[tuple[int, pl.DataFrame]] = []
    query = spark.stream(
        rows,
        tmp_path / "state",
        cs.AgreementBased(),
        max_labels=4,
        at="at",
        output=lambda found, batch: handed.append((batch, pl.DataFrame(found.toArrow()))),
        trigger="available now",
    )
    assert query.awaitTermination(300)
    found = spark.stream_state(tmp_path / "state")
    counts = found.counts
    assert (counts.rows, counts.labels) == (len(good) + 4, len(good))
    assert counts.full + counts.open == 30
    assert (counts.null_task, counts.bad, counts.null_label, counts.ahead) == (1, 1, 1, 1)
    expected = OneMachine(cs.AgreementBased(), max_labels=4)
    expected.take(row._replace(at=0) for row in good)
    assert found.crowd._model.sums.rows.tolist() == expected.crowd._model.sums.rows.tolist()
    ((batch, decisions),) = handed
    assert batch == 0
    assert decisions.height == counts.full > 0
    assert decisions["label"].dtype == pl.Int64


def test_a_stream_holds_one_question(session: Any, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    rows = [row for row in labels(40, 6, 5, seed=4) if row.at is not None]
    table = pl.DataFrame([row[:3] for row in rows], ["item", "judge", "verdict"], orient="row")
    folder = tmp_path / "in"
    folder.mkdir()

    def come(name: str, **columns: str) -> None:
        """A file of labels; files are read in order of their age."""
        table.with_columns(**{key: pl.lit(value) for key, value in columns.items()}).write_ndjson(
            tmp_path / name
        )
        number = 1_700_000_000 + len(list(folder.iterdir()))
        os.utime(tmp_path / name, (number, number))
        shutil.move(tmp_path / name, folder / name)

    def stream(state: Path, schema: str = "criterion string", **given: Any) -> spark.StreamState:
        kinds = f"item string, judge string, verdict string, {schema}"
        reader = session.readStream.schema(kinds).option("maxFilesPerTrigger", 1)
        query = spark.stream(
            reader.json(str(folder)), state, max_labels=5, trigger="available now", **given
        )
        assert query.awaitTermination(300)
        return spark.stream_state(state)

    come("1.json", criterion="tone")
    with pytest.raises(InputError, match="found a column 'criterion', which names questions"):
        stream(tmp_path / "none")
    with pytest.raises(InputError, match="a column of questions, 'tone' among them"):
        stream(tmp_path / "none", "note string", question="tone")
    with pytest.raises(InputError, match="'epoch', which tells repeated answers apart"):
        stream(tmp_path / "none", "epoch int")
    assert not (tmp_path / "none").exists()

    only = stream(tmp_path / "only", question="criterion")
    picked = stream(tmp_path / "picked", question=" Tone")
    assert only.counts == picked.counts
    assert only.counts.labels == len(rows)
    assert only.counts.other == 0

    come("2.json", criterion="toxic")
    with pytest.raises(StreamingQueryException, match=r"found 'tone', 'toxic'"):
        stream(tmp_path / "only", question="criterion")
    after = spark.stream_state(tmp_path / "only")
    assert (after.batch, after.counts) == (only.batch, only.counts)
    taken = stream(tmp_path / "picked", question="tone")
    assert taken.counts.other == len(rows)
    assert taken.counts.rows == 2 * len(rows)
    assert taken.counts.labels == only.counts.labels
    assert taken.crowd.classes_ == only.crowd.classes_
    assert taken.crowd._model.sums.rows.tolist() == only.crowd._model.sums.rows.tolist()
    with pytest.raises(InputError, match="question: expected 'tone', as the stream in"):
        stream(tmp_path / "picked", question="toxic")


def test_scores_stop_a_stream_before_they_are_learnt(session: Any, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    scores = [Row(f"t{k}", f"w{k % 5}", f"0.{k:02d}", k) for k in range(99)]
    write(scores, tmp_path / "in", 0)
    with pytest.raises(StreamingQueryException, match=r"found scores: 99 numbers from 0 to 0\.98"):
        run(session, tmp_path / "in", tmp_path / "state")
    assert spark.stream_state(tmp_path / "state").counts.rows == 0
    run(session, tmp_path / "in", tmp_path / "state", as_classes=True)
    assert spark.stream_state(tmp_path / "state").counts.labels == 99
    spark.end_stream(session, tmp_path / "state")


def test_what_users_get_wrong_is_said(session: Any, files: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a streaming DataFrame"):
        spark.stream(session.range(3), tmp_path)
    for rules, told in (
        ({"at": None}, "idle= needs at=, the column of times"),
        ({"watermark": None}, "idle= needs watermark="),
        ({"watermark": "soon"}, "'10 minutes'"),
        ({"at": "when"}, "a column of the source, found 'when'"),
        ({"settle": 95}, "settle"),
        ({"task": "tsak"}, "did you mean 'task'"),
        ({"estimator": cs.Adaptive(memory=100)}, "adds up tasks in any order"),
        ({"estimator": "adaptive"}, "an estimator, such as"),
        ({"output": "folder"}, "a function"),
    ):
        with pytest.raises((InputError, UsageError), match=told):
            run(session, files, tmp_path / "never", **rules)
    with pytest.raises(InputError, match="that is mounted here"):
        run(session, files, Path("s3a://bucket/state").as_posix().replace(":/", "://"))  # type: ignore[arg-type]
    with pytest.raises(StateError, match="no stream has been here"):
        spark.stream_state(tmp_path / "never")


def test_a_folder_that_does_not_fit_is_refused(
    session: Any, files: Path, undisturbed: tuple[Path, bytes], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    shutil.copytree(undisturbed[0], state)
    with pytest.raises(InputError, match=r"expected Adaptive\(\), as the stream in"):
        run(session, files, state, cs.MajorityVote())
    with pytest.raises(InputError, match="with at="):
        run(session, files, state, at=None, idle=None, watermark=None)
    shutil.rmtree(state / "checkpoint")
    with pytest.raises(StateError, match="checkpoint is gone"):
        run(session, files, state)


def test_a_commit_that_was_cut_short_is_not_one(
    undisturbed: tuple[Path, bytes], tmp_path: Path
) -> None:
    shutil.copytree(undisturbed[0] / "commits", tmp_path / "commits")
    folder = StreamFolder(tmp_path)
    latest = folder.latest()
    assert latest is not None
    path = tmp_path / "commits" / f"{latest.step:012d}.state"
    path.write_bytes(path.read_bytes()[:-1])
    before = folder.latest()
    assert before is not None
    assert before.step == latest.step - 1
    with pytest.raises(CrowdstreamError, match="another process"):
        folder.commit(latest)


def test_intervals_in_words() -> None:
    assert micros_of("idle", "1.5 hours") == 5400 * 1_000_000
    with pytest.raises(InputError, match="idle"):
        micros_of("idle", -1)
