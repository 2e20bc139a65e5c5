"""Make the golden files: one of every saved format, with what it must say once it is loaded.

Run ``python -m tests.golden.make`` after a format was changed on purpose and its version raised:
a model's `version`, `serialization.FORMAT`, or `serve.schema.SCHEMA`. It replaces every file, but
refuses to where the layout is another one and the version is not.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import random
import sqlite3
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

import crowdstream as cs
from crowdstream import serialization
from crowdstream.checks import rows_of
from crowdstream.cli.stream_position import Bookmark
from crowdstream.decisions.decision import Decision
from crowdstream.labels import ClassLabel, WorkerId
from crowdstream.labels.fingerprints import LearntInput
from crowdstream.monitoring import Agreement
from crowdstream.serve import log_events, schema, store
from crowdstream.serve.project import State
from crowdstream.serve.wire import Settings
from crowdstream.sums.agreement import AgreementSums

FOLDER = Path(__file__).parent

Task = dict[WorkerId, ClassLabel | None]
Row = tuple[int, WorkerId, ClassLabel]
Savable = cs.Estimator | cs.Stream | cs.Questions
Said = dict[str, object]

ON_PURPOSE = (
    "If the format was changed on purpose: raise the version of what changed (Model.version of the "
    "estimator's model; serialization.FORMAT of a stream, questions or a monitor), then run "
    "python -m tests.golden.make"
)
"""What to do about a golden file that is not what the code makes."""

CLOCK = 1_700_000_000.0
"""A time, in seconds, at which the first label of a stream comes: any that stays the same."""


def numerics() -> str:
    """Return a fingerprint of this machine's floating-point functions.

    Where it is another one than the machine's that made the files, what went through exp, log or a
    matrix product is compared to rounding only.
    """
    x = np.linspace(0.01, 30.0, 997)
    parts = [np.exp(-x), np.log(x), np.log1p(x), np.expm1(-x), np.tanh(x), np.sqrt(x), x**1.7]
    matrix = np.outer(np.sin(x[:40]), np.cos(x[:40]))
    parts += [matrix @ matrix, np.linalg.solve(matrix + 40 * np.eye(40), x[:40])]
    parts += [np.einsum("ij,ij->i", matrix, matrix), np.array([x.sum(), matrix.sum()])]
    libm = [f(a) for f in (math.exp, math.log, math.lgamma, math.erf) for a in x[::10].tolist()]
    return hashlib.blake2b(
        b"".join([*(part.tobytes() for part in parts), np.array(libm).tobytes()]), digest_size=16
    ).hexdigest()


# Labels ------------------------------------------------------------------------------------------


def labels(tasks: int = 40, workers: int = 6, classes: int = 3, seed: int = 0) -> list[Task]:
    """Tasks of a crowd from poor to good; the draws are Python's, which promises them for ever."""
    draw = random.Random(seed)
    made: list[Task] = []
    for number in range(tasks):
        truth = (number * number + number // 3) % classes
        answers: Task = {}
        for worker in range(workers):
            here, right, guess = draw.random(), draw.random(), int(draw.random() * classes)
            if here < 0.7:
                skill = 0.3 + 0.65 * worker / (workers - 1)
                answers[f"w{worker}"] = f"c{truth if right < skill else guess}"
        made.append(answers)
    return made


def rows(tasks: list[Task], first: int = 0) -> list[Row]:
    """Rows of tasks, whose names are numbers from ``first`` on."""
    return [(first + t, who, said) for t, who, said in rows_of(tasks) if said is not None]


PROBE = rows(labels(6, seed=1), first=1000)
"""Tasks to decide once a state is loaded."""

MORE = rows(labels(8, seed=2), first=2000)
"""Tasks to go on with: what is not seen in decisions, such as clocks and samples, tells there."""


# Crowds, streams and questions -------------------------------------------------------------------


class CountsAnswers(cs.DictEstimator):
    """Believe whoever answered most, as an idea that somebody tries out would be saved."""

    def learn_one(self, answers: cs.Answers, *, gold: ClassLabel | None = None) -> None:
        self.answered_: dict[str, int] = getattr(self, "answered_", {})
        for worker in answers:
            self.answered_[str(worker)] = self.answered_.get(str(worker), 0) + 1

    def predict_proba_one(self, answers: cs.Answers) -> dict[ClassLabel, float]:
        answered = getattr(self, "answered_", {})
        found: dict[ClassLabel, float] = {}
        for worker, label in answers.items():
            if label is not None:
                found[label] = found.get(label, 0.0) + 1.0 + answered.get(str(worker), 0)
        return found


def fitted(crowd: cs.Estimator, tasks: list[Task], **options: object) -> cs.Estimator:
    """Learn half of the tasks as a table, the rest one by one: both ways leave traces."""
    half = len(tasks) // 2
    crowd.fit(rows(tasks[:half]), **options)  # type: ignore[arg-type]
    for answers in tasks[half:]:
        crowd.learn_one(answers)
    return crowd


def plain() -> cs.Estimator:
    crowd = fitted(cs.Adaptive(), labels())
    last: Task = {"w0": "c0", "skips": None, 7: True}
    crowd.learn_one(last)
    crowd.learnt_ = [LearntInput("labels.csv", 1234, bytes(range(16)), "2024-02-29")]
    return crowd


def with_gold() -> cs.Estimator:
    tasks = labels(60)
    truths = {t: f"c{(t * t + t // 3) % 3}" for t in range(30) if t % 4}
    return fitted(cs.Adaptive(), tasks, gold=truths)


def with_families() -> cs.Estimator:
    families = {"w0": "twins", "w1": "twins", "w4": "others", "never met": "others"}
    return fitted(cs.Adaptive(families=families, ties="lowest", seed=3), labels())


def above_100_classes() -> cs.Estimator:
    crowd = cs.Adaptive()
    crowd.fit([(t, f"w{w}", f"c{t}") for t in range(105) for w in range(2)])
    for answers in labels(20, 3, 130):
        crowd.learn_one(answers)
    return crowd


def monitored() -> cs.Estimator:
    """Monitors as they were before `Agreement` was one of them: such states must still load."""
    crowd = cs.monitor(cs.Adaptive())
    crowd.observers = [one for one in crowd.observers if not isinstance(one, Agreement)]
    return fitted(crowd, labels(40, 4, 2))


def stream() -> cs.Stream:
    """Make a stream with open, settled, full, idle, offered, skipped and replaced labels."""
    made = cs.Stream(cs.Adaptive(), settle=0.97, max_labels=5, idle=1000.0, remember=20)
    for number, (t, worker, label) in enumerate(rows(labels(30))):
        made.observe(f"t{t}", worker, label, at=CLOCK + number)
    made.observe_many([(f"u{t}", w, s) for t, w, s in rows(labels(12, seed=3))], at=CLOCK + 500)
    late = CLOCK + 1600
    for task in ("idle 1", "idle 2"):
        made.observe(task, "w1", "c0", at=CLOCK + 550)
    made.expire(at=late)
    made.observe("open", "w5", "c1", at=late)
    made.observe("open", "w4", "c2", at=late + 1)
    made.observe("open", "w4", "c0", at=late + 2)
    made.observe("open", "w3", None, at=late + 3)
    made.observe("known", "w2", "c2", at=late + 4)
    made.gold("known", "c2", at=late + 4)
    made.observe("taken back", "w1", "c0", at=late + 5)
    made.retract("taken back", "w1")
    made.offer(["nobody yet"], at=late + 6)
    made.bookmark = b"somewhere"
    return made


def questions() -> cs.Questions:
    made: list[dict[str, object]] = [
        {"task": t, "worker": who, "question": name, "label": said}
        for name, seed in (("tone", 0), ("topic", 4))
        for t, who, said in rows(labels(20, 5, 2, seed))
    ]
    found = cs.fit_questions(made)
    return cs.Questions(found.crowds)


STATES: dict[str, Callable[[], Savable]] = {
    "adaptive": plain,
    "adaptive-gold": with_gold,
    "adaptive-families": with_families,
    "adaptive-memory": lambda: fitted(cs.Adaptive(memory=15), labels()),
    "adaptive-105-classes": above_100_classes,
    "agreement-based": lambda: fitted(cs.AgreementBased(), labels()),
    "agreement-based-memory": lambda: fitted(
        cs.AgreementBased(answer_rate=0.7, memory=15, shrinkage=0, clip=0), labels()
    ),
    "centred-agreement": lambda: fitted(cs.CentredAgreement(), labels()),
    "majority-vote": lambda: fitted(cs.MajorityVote(), labels()),
    "dict-estimator": lambda: fitted(CountsAnswers(), labels()),
    "monitored": monitored,
    "monitored-agreement": lambda: fitted(cs.monitor(cs.Adaptive()), labels()),
    "stream": stream,
    "questions": questions,
}
"""What is saved by `save` and loaded by `cs.load`: a file each."""


# What they say -----------------------------------------------------------------------------------


def table(found: pl.DataFrame) -> list[list[object]]:
    return [found.columns, *map(list, found.rows())]


def said_by(saved: Savable) -> Said:
    """Return all that users would ask of it, now and once it went on, which changes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if isinstance(saved, cs.Stream):
            return said_by_stream(saved)
        if isinstance(saved, cs.Questions):
            return {name: said_by(crowd) for name, crowd in saved.items()}
        return said_by_crowd(saved)


def said_by_crowd(crowd: cs.Estimator) -> Said:
    said: Said = {
        "repr": repr(crowd),
        "tasks": crowd.tasks_,
        "classes": crowd.classes_[:5],
        "intake": msgspec.structs.asdict(crowd.intake_),
        "learnt": [[one.name, one.size, one.day] for one in crowd.learnt_],
        "identifiable": list(crowd.identifiable_),
        "calibration": crowd.calibration_,
        "decisions": table(crowd.predict_many(PROBE)),
        "workers": table(crowd.workers()),
    }
    if len(crowd.observers) > 1:
        said["pairs"] = table(cs.pairs(crowd))
        said["trends"] = table(cs.trends(crowd))
        said["alarms"] = len(cs.alarms(crowd))
    if any(isinstance(one, Agreement) for one in crowd.observers):
        said["agreement"] = msgspec.to_builtins(cs.agreement(crowd).coefficients)
    said["goes on"] = table(crowd.stream_many(MORE))
    said["workers then"] = table(crowd.workers())
    return said


def said_by_stream(stream: cs.Stream) -> Said:
    said: Said = {
        "repr": repr(stream),
        "counts": msgspec.structs.asdict(stream.counts),
        "bookmark": stream.bookmark.decode(),
        "open": [decided(stream.decision(task)) for task in stream.open_tasks],
        "votes": [[vote.worker, vote.label] for vote in stream.votes("open")],
        "closed": [decided(stream.decision(task)) for task in stream.closed_tasks],
        "next task": [stream.next_task(f"w{worker}") for worker in range(6)],
        "workers": table(stream.crowd.workers()),
    }
    late = CLOCK + 2000
    more = [(f"open {t}" if t % 2 else "open", who, label) for t, who, label in MORE]
    said["goes on"] = [decided(stream.observe(*row, at=late)) for row in more]
    said["ends"] = [decided(decision) for decision in stream.end()]
    return said


def decided(decision: Decision) -> Said:
    return msgspec.structs.asdict(decision)


# Formats without `save` --------------------------------------------------------------------------


def closed_tasks() -> bytes:
    """Decisions as a row of the server's table ``closed`` holds them."""
    decisions = [
        Decision("t1", "spam", 0.96875, 3.5, 3, True, True, "settled"),
        Decision("t2", None, 0.0, 0.0, 0, False, True, "idle"),
        Decision("t3", 7, 0.5, 0.0, 2, False, False, "full"),
    ]
    return msgspec.msgpack.encode([store.ClosedTask(one, CLOCK) for one in decisions])


def server_log() -> bytes:
    """One event of each kind, as the server's table ``log`` holds them."""
    return log_events.pack([
        log_events.Labels(CLOCK, [("t1", "ann", "spam"), ("t1", "bob", None)]),
        log_events.Labels(CLOCK, [("t2", "ann", 3)], one=True),
        log_events.Late(CLOCK + 1, [("t0", "ann", True)]),
        log_events.Retract(CLOCK + 2, "t1", "ann"),
        log_events.Gold(CLOCK + 3, "t1", "spam"),
        log_events.Gold(CLOCK + 4, "t0", "ham", late=True, check=(True, 0.75)),
        log_events.Close(CLOCK + 5, "t1"),
        log_events.Offer(CLOCK + 6, ["t3", "t4"]),
        log_events.Expire(CLOCK + 7),
        log_events.Rules(CLOCK + 8, b"settings"),
    ])  # fmt: skip


def server_state() -> bytes:
    """Counts as a snapshot holds them beside its stream."""
    made = State(late=2, reasons={"settled": 3}, used=9, gold_tasks=1, gold_wrong=1)
    made.gold_expected, made.truths = 0.25, {"t1": "spam"}
    return msgspec.msgpack.encode(made)


def server_settings() -> bytes:
    """Settings as the server's table ``projects`` holds them."""
    made = Settings(max_labels=5, classes=["spam", "ham"], question="tone", price=0.05)
    return msgspec.msgpack.encode(made)


def bookmark() -> bytes:
    """How far ``crowdstream stream`` had read and written."""
    mark = Bookmark(source="in.jsonl", rows=10, offset=999, output="out.jsonl", length=77)
    mark.pending, mark.question = [b"{}"], "tone"
    return mark.to_bytes()


def spark_commit() -> bytes:
    """What a micro-batch on Spark commits."""
    from crowdstream.spark.stream_folder import SAVED_AS, Commit, StreamCounts

    sums = AgreementSums(0)
    sums.make_room(2, 2)
    commit = Commit(
        step=3,
        batch=2,
        crowd=cs.MajorityVote(seed=3).to_bytes(),
        kinds={"task": "string", "worker": "string", "label": "string"},
        timed=True,
        counts=StreamCounts(rows=9, labels=8, late=1, settled=2, open=1),
        open_sums=serialization.pack_arrays(sums.pack()),
        open_labels=3,
        open_size=(2, 2),
        newest=1_700_000_000_000_000,
        left="tables/step=3/left",
        closed=["tables/step=3/closed=0"],
        closed_names=2,
        before=["tables/step=2/left"],
        question="tone",
    )
    return serialization.seal(SAVED_AS, msgspec.msgpack.encode(commit))


BYTES: dict[str, tuple[Callable[[], bytes], Callable[[bytes], bytes]]] = {
    "server-closed": (
        closed_tasks,
        lambda data: msgspec.msgpack.encode(
            msgspec.msgpack.decode(data, type=list[store.ClosedTask])
        ),
    ),
    "server-log": (server_log, lambda data: log_events.pack(log_events.unpack(data))),
    "server-settings": (
        server_settings,
        lambda data: msgspec.msgpack.encode(msgspec.msgpack.decode(data, type=Settings)),
    ),
    "server-state": (
        server_state,
        lambda data: msgspec.msgpack.encode(msgspec.msgpack.decode(data, type=State)),
    ),
    "stream-bookmark": (bookmark, lambda data: Bookmark.of(data).to_bytes()),
}
"""What is part of other files: how it is made, and how it is read and written again."""


def server_tables() -> str:
    """Return the version of the server's database and the SQL of its tables.

    Not the database itself: SQLite's pages differ from version to version and are 100 kB.
    """
    db = sqlite3.connect(":memory:")
    schema.make_tables(db)
    return tables_of(db)


def tables_of(db: sqlite3.Connection) -> str:
    """Return the version of a database and the SQL of its tables."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    tables = db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
    return f"-- schema {version}\n" + "".join(f"{sql};\n" for (sql,) in tables)


# Files -------------------------------------------------------------------------------------------


def read_state(name: str) -> bytes:
    """Return the bytes of a golden state; they are zipped because monitors keep room of zeros."""
    return gzip.decompress((FOLDER / f"{name}.state.gz").read_bytes())


def write_state(name: str, data: bytes) -> None:
    (FOLDER / f"{name}.state.gz").write_bytes(gzip.compress(data, mtime=0))


def read_said(name: str) -> Said:
    found: Said = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def as_json(said: Said) -> str:
    """Return what a state says as text; Python writes floats so that they come back to the bit."""
    return json.dumps(said, separators=(",", ":")).replace("],[", "],\n[") + "\n"


def parts(data: bytes) -> dict[str, object]:
    """Return all that is in a saved state by name: arrays as they are, else Python's values."""
    kind, found = serialization.kind_of(data), dict[str, object]()
    payload = serialization.unseal(kind, data)
    if kind == "stream":
        head, columns = serialization.split_arrays(payload)
        saved = msgspec.msgpack.decode(head)
        found |= columns | {f"crowd.{key}": one for key, one in parts(saved.pop("crowd")).items()}
        return found | saved
    saved = msgspec.msgpack.decode(payload)
    if kind == "crowds":
        for question, crowd in saved.items():
            found |= {f"{question}.{key}": one for key, one in parts(crowd).items()}
        return found
    for name, packed in saved.pop("observers", []):
        found |= serialization.over(name, serialization.unpack_arrays(packed))
    for name in ("arrays", "open_sums"):
        found |= serialization.over(name, serialization.unpack_arrays(saved.pop(name, {})))
    return found | saved


def layout(data: bytes) -> dict[str, object]:
    """Return names and kinds of what is in a saved state; versions are none of it."""
    return {
        name: (one.dtype.str, one.ndim) if isinstance(one, np.ndarray) else type(one).__name__
        for name, one in parts(data).items()
    }


def versions(data: bytes) -> list[object]:
    """Return the versions that a saved state says it is of."""
    own = serialization.HEADER.unpack_from(data)[2]
    return [own, *(one for name, one in parts(data).items() if name.endswith("version"))]


def check_version(name: str, data: bytes) -> None:
    """Refuse to replace a file by one of another layout that says it is of the same version."""
    if not (FOLDER / f"{name}.state.gz").exists():
        return
    before = read_state(name)
    if serialization.HEADER.unpack_from(before)[2] != serialization.FORMAT:
        return
    if versions(before) == versions(data) and layout(before) != layout(data):
        changed = sorted({key for key, _ in layout(before).items() ^ layout(data).items()})
        raise SystemExit(f"{name}: {', '.join(changed)} changed. {ON_PURPOSE}")


def main() -> None:
    """Write all files anew."""
    for name, make in STATES.items():
        made = make()
        check_version(name, made.to_bytes())
        write_state(name, made.to_bytes())
        (FOLDER / f"{name}.json").write_text(as_json(said_by(made)), "utf-8")
    for name, (pack, _) in BYTES.items():
        (FOLDER / f"{name}.bin").write_bytes(pack())
    write_state("spark-commit", spark_commit())
    (FOLDER / "server-tables.sql").write_text(server_tables(), "utf-8")
    (FOLDER / "numerics.txt").write_text(numerics() + "\n", "utf-8")
    print(f"wrote {len(list(FOLDER.iterdir()))} files to {FOLDER}", file=sys.stderr)


if __name__ == "__main__":
    main()
