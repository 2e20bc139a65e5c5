"""`run --state`: a crowd's history counts, is saved, and no labels are learnt twice unnoticed."""

from __future__ import annotations

import os
import random
import statistics
import threading
from pathlib import Path

import polars as pl
import pytest

import crowdstream as cs
from crowdstream.cli.states import locked
from crowdstream.labels.fingerprints import BEGINNING, Fingerprint, LearntInput
from tests.cli.test_outputs import one_line, shell
from tests.cli.tool import Row, call, csv_of, gold_of, labels, left_in, refused

ROWS = labels(120)
MAY, JUNE = ROWS[:300], ROWS[300:]


@pytest.fixture
def months(tmp_path: Path) -> tuple[Path, Path]:
    """Two files of one crowd."""
    paths = tmp_path / "may.csv", tmp_path / "june.csv"
    for path, rows in zip(paths, (MAY, JUNE), strict=True):
        path.write_bytes(csv_of(rows))
    return paths


def crowd(seed: int, tasks: tuple[int, int]) -> tuple[list[Row], list[Row]]:
    """Two months of fifteen workers, some who know and some who guess, three labels a task."""
    draw = random.Random(seed)
    skills = [draw.choice((0.95, 0.7, 0.4)) for _ in range(15)]
    months: list[list[Row]] = []
    for month, number in enumerate(tasks):
        rows = []
        for task in range(number):
            truth = draw.choice("xyz")
            for who in draw.sample(range(15), 3):
                wrong = draw.random() > skills[who]
                said = draw.choice("xyz".replace(truth, "")) if wrong else truth
                rows.append((f"{month}-{task}{truth}", f"w{who}", said))
        months.append(rows)
    return months[0], months[1]


def workers(state: Path) -> pl.DataFrame:
    return pl.read_csv(call("workers", state, "-q").out.encode()).sort("worker")


def learnt(state: Path) -> list[LearntInput]:
    return cs.Estimator.load(state).learnt_


# What is known counts ---------------------------------------------------------------------------


def test_a_few_labels_are_decided_better_with_a_history(tmp_path: Path) -> None:
    gains = []
    for seed in range(20):
        may, june = crowd(seed, (500, 60))
        truth, state = tmp_path / "truth.csv", tmp_path / f"{seed}.state"
        truth.write_bytes(gold_of(june))
        assert call("run", "-", "-q", "--state", state, stdin=csv_of(may)).code == 0
        score = ("run", "-", "--truth", truth, "--json")
        alone = call(*score, stdin=csv_of(june)).report["error_rate"]
        after = call(*score, "--state", state, stdin=csv_of(june)).report["error_rate"]
        gains.append(alone - after)
    error = statistics.stdev(gains) / len(gains) ** 0.5
    assert statistics.mean(gains) > 2 * error


@pytest.mark.parametrize("method", ["agreement", "centred", "majority"])
@pytest.mark.parametrize("how", [(), ("--window", "20"), ("--online",)])
def test_two_runs_know_what_one_run_over_both_files_knows(
    months: tuple[Path, Path], method: str, how: tuple[str, ...]
) -> None:
    """Exactly: these methods keep whole numbers."""
    may, june = months
    two, one = may.with_name("two"), may.with_name("one")
    args = ("-q", "--method", method, *how)
    for month in months:
        target = may.with_name("d.csv")
        assert call("run", month, "-o", target, "--state", two, *args).code == 0
    whole = may.with_name("whole.csv")
    assert call("run", may, june, "-o", whole, "--state", one, *args).code == 0
    known = ("worker", "answers", "error_rate", "weight", "agreement")
    assert workers(two).select(known).equals(workers(one).select(known))
    if how != ("--online",):
        return
    later = pl.read_csv(may.with_name("d.csv"))
    assert later.equals(pl.read_csv(whole).tail(later.height))


@pytest.mark.parametrize("method", ["adaptive", "agreement"])
def test_the_command_does_what_python_does(months: tuple[Path, Path], method: str) -> None:
    may, june = months
    state, target = may.with_name("s"), may.with_name("d.csv")
    for month in months:
        assert (
            call("run", month, "-q", "--method", method, "--state", state, "-o", target).code == 0
        )
    made = {"adaptive": cs.Adaptive, "agreement": cs.AgreementBased}
    known = made[method]().fit(pl.read_csv(may))
    table = pl.read_csv(june)
    known.learn_many(table)
    wanted = known.predict_many(table)
    found = pl.read_csv(target)
    assert found["label"].to_list() == wanted["label"].to_list()
    # Files have six decimals.
    assert found["confidence"].to_list() == pytest.approx(wanted["confidence"].to_list(), abs=1e-6)


def test_the_first_run_decides_as_without_a_state(months: tuple[Path, Path]) -> None:
    may, _ = months
    plain = call("run", may, "-q")
    assert call("run", may, "-q", "--state", may.with_name("s")) == plain


@pytest.mark.parametrize("how", [(), ("--window", "20")])
def test_a_spelling_of_last_month_is_known_this_month(
    months: tuple[Path, Path], how: tuple[str, ...]
) -> None:
    """Each month is spelt in one way, and the two differ: only the state can tell."""
    may, june = months
    june.write_bytes(csv_of([(task, who, said.upper()) for task, who, said in JUNE]))
    for options, classes in (((), 3), (("--exact",), 6)):
        state = may.with_name(f"{classes}.state")
        args = ("--json", "--state", state, *options, *how)
        assert call("run", may, *args).report["warnings"] == []
        found = call("run", june, *args).report
        assert found["classes"] == classes


def test_the_report_counts_this_run_alone(months: tuple[Path, Path]) -> None:
    may, june = months
    state = may.with_name("s")
    may.write_bytes(may.read_bytes() + csv_of([(*MAY[0][:2], MAY[0][2])]).partition(b"\n")[2])
    first = call("run", may, "--json", "--state", state).report
    assert first["labels"] == len(MAY)
    assert first["labels_per_task"] == 5
    assert any("1 repeated row" in line for line in first["warnings"])
    second = call("run", june, "--json", "--state", state).report
    assert (second["tasks"], second["labels"]) == (60, len(JUNE))
    assert second["labels_per_task"] == 5
    assert not any("repeated" in line for line in second["warnings"])
    assert workers(state)["answers"].sum() == len(ROWS)


@pytest.mark.parametrize("command", ["run", "merge"])
def test_a_state_that_another_process_has_is_refused_and_left_as_it_is(
    months: tuple[Path, Path], command: str
) -> None:
    """Before, the second run found out when its decisions were written."""
    may, june = months
    state, target = may.with_name("s"), may.with_name("d.csv")
    call("run", may, "-q", "--state", state, "-o", may.with_name("may-d.csv"))
    before = state.read_bytes()
    args = {"run": ("run", june, "--state", state, "-o", target), "merge": ("merge", state)}
    with locked(str(state)):
        more = ("-o", state) if command == "merge" else ()
        refused(call(*args[command], *more, "-q"), "s: in use by another process")
    assert state.read_bytes() == before
    assert left_in(may.parent) == ["june.csv", "may-d.csv", "may.csv", "s"]


# Nothing twice ----------------------------------------------------------------------------------


def test_the_same_file_is_refused_by_name_and_day(months: tuple[Path, Path]) -> None:
    may, _ = months
    state, target = may.with_name("s"), may.with_name("d.csv")
    for month in months:
        assert call("run", month, "-q", "--state", state, "-o", target).code == 0
    before, written = state.read_bytes(), target.read_bytes()
    copy = may.with_name("renamed.csv")
    copy.write_bytes(may.read_bytes())
    day = learnt(state)[0].day
    result = call("run", copy, "--state", state, "-o", target)
    refused(result, "renamed.csv", f"learnt on {day} from {may}", "--again")
    assert (state.read_bytes(), target.read_bytes()) == (before, written)
    assert call("run", copy, "-q", "--state", state, "-o", target, "--again").code == 0
    assert workers(state)["answers"].sum() == len(ROWS) + len(MAY)
    assert len(learnt(state)) == 2


def test_a_file_that_has_grown_is_refused(months: tuple[Path, Path]) -> None:
    """An export of everything, every month: its beginning was learnt."""
    may, june = months
    state = may.with_name("s")
    assert call("run", may, "-q", "--state", state).code == 0
    june.write_bytes(may.read_bytes() + csv_of(JUNE).partition(b"\n")[2])
    refused(call("run", june, "--state", state), "begins with those learnt on", "--again")


@pytest.mark.parametrize("how", [(), ("--window", "20")])
def test_standard_input_is_recognised_too(months: tuple[Path, Path], how: tuple[str, ...]) -> None:
    may, _ = months
    state, target = may.with_name("s"), may.with_name("d.csv")
    args: tuple[str | Path, ...] = ("run", "-", "-q", "--state", state, "-o", target, *how)
    assert call(*args, stdin=csv_of(MAY)).code == 0
    before = state.read_bytes()
    target.unlink()
    refused(call(*args, stdin=csv_of(MAY)), "standard input", "--again")
    refused(call("run", may, "--state", state), "from standard input")
    assert state.read_bytes() == before
    assert not target.exists()


def test_a_large_standard_input_comes_through_whole(tmp_path: Path) -> None:
    """Larger than a pipe holds."""
    rows = labels(4000)
    data = csv_of(rows)
    assert len(data) > 200_000
    result = call("run", "-", "--json", "--state", tmp_path / "s", stdin=data)
    assert result.report["labels"] == len(rows)
    assert learnt(tmp_path / "s")[0].size == len(data)


def test_a_pipe_by_name_is_learnt_with_a_word(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(csv_of(MAY)), daemon=True)
    writer.start()
    result = call("run", pipe, "--json", "--state", tmp_path / "s")
    writer.join(30)
    assert result.code == 0
    assert any("is a pipe" in line for line in result.report["warnings"])


def test_no_labels_leave_no_fingerprint(tmp_path: Path) -> None:
    """A header alone is how every file begins."""
    empty, state = tmp_path / "empty.csv", tmp_path / "s"
    empty.write_bytes(csv_of([]))
    for _ in range(2):
        assert call("run", empty, "-q", "--state", state).code == 0
    assert call("run", "-", "-q", "--state", state, stdin=csv_of(MAY)).code == 0


def test_states_that_learnt_one_file_are_not_merged_unnoticed(months: tuple[Path, Path]) -> None:
    may, june = months
    one, other, merged = (may.with_name(name) for name in ("one", "other", "merged"))
    call("run", may, "-q", "--state", one)
    call("run", may, june, "-q", "--state", other)
    refused(call("merge", one, other, "-o", merged), str(other), "may.csv", "--again")
    assert not merged.exists()
    assert call("merge", one, other, "-o", merged, "--again", "-q").code == 0
    assert [Path(found.name).name for found in learnt(merged)] == ["may.csv", "june.csv"]


@pytest.mark.parametrize("cut", [1, 7, 5000])
def test_a_fingerprint_does_not_depend_on_how_it_is_fed(cut: int) -> None:
    data = bytes(random.Random(0).randbytes(20_000))
    known: list[LearntInput] = []
    for size in (BEGINNING - 1, BEGINNING, 9_999, 20_000):
        part = Fingerprint()
        part.update(data[:size])
        known.append(part.learnt(str(size)))
    found = Fingerprint(known)
    for at in range(0, len(data), cut):
        found.update(data[at : at + cut])
    assert found.known_as == known[3]
    assert found.begins_with == known[2]
    other = Fingerprint(known)
    other.update(b"x" + data[1:])
    assert other.known_as is None
    assert other.begins_with is None


# What cannot be gone on from ----------------------------------------------------------------------


@pytest.mark.parametrize("args", [("--method", "agreement"), ("--memory", "50")])
def test_a_state_of_another_method_is_refused(
    months: tuple[Path, Path], args: tuple[str, str]
) -> None:
    may, june = months
    state = may.with_name("s")
    call("run", may, "-q", "--state", state)
    before = state.read_bytes()
    refused(call("run", june, "--state", state, *args), str(state), "found Adaptive()")
    assert state.read_bytes() == before


def test_run_and_stream_do_not_take_each_other_s_states(months: tuple[Path, Path]) -> None:
    may, june = months
    stream, state = may.with_name("stream"), may.with_name("run")
    call("stream", "-q", "--state", stream, stdin=csv_of(MAY))
    refused(call("run", june, "--state", stream), "that of a stream", "crowdstream merge")
    assert call("merge", stream, "-o", state, "-q").code == 0
    assert call("run", june, "-q", "--state", state).code == 0
    refused(call("stream", "--state", state, stdin=csv_of(MAY)), "that of a run")


def test_a_state_that_cannot_be_saved_is_refused_before_the_work(tmp_path: Path) -> None:
    path, target = tmp_path / "labels.csv", tmp_path / "d.csv"
    path.write_bytes(csv_of(MAY))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for state in (tmp_path, tmp_path / "no" / "s", pipe):
        refused(call("run", path, "--state", state, "-o", target), "--state")
    assert left_in(tmp_path) == ["labels.csv", "pipe"]


def test_a_state_that_a_program_saves_meanwhile_is_not_lost(
    months: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from crowdstream.cli import run_job

    may, june = months
    state = may.with_name("s")
    decide = run_job.Job.decide

    def slowly(job: run_job.Job, *args: object) -> None:
        decide(job, *args)  # type: ignore[arg-type]
        cs.Adaptive().fit(pl.read_csv(may)).save(state)

    monkeypatch.setattr(run_job.Job, "decide", slowly)
    refused(call("run", june, "--state", state, "-q"), str(state), "run again")
    assert workers(state)["answers"].sum() == len(MAY)


def test_a_closed_standard_input_is_said(tmp_path: Path) -> None:
    result = shell("crowdstream run - --state s <&-", tmp_path)
    assert result.returncode == 2
    one_line(result.stderr, "standard input", "found it closed")
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("learnt", [True, False])
def test_a_state_that_python_saved_can_be_gone_on_from(
    months: tuple[Path, Path], learnt: bool
) -> None:
    _, june = months
    state, made = june.with_name("s"), cs.Adaptive()
    (made.fit(MAY) if learnt else made).save(state)
    result = call("run", june, "--json", "--state", state)
    assert (result.code, result.report["tasks"]) == (0, 60)
    assert call("run", "-", "--state", state, stdin=csv_of(labels(9, seed=5))).code == 0
    assert workers(state)["answers"].sum() == len(JUNE) + 45 + learnt * len(MAY)


def test_what_was_learnt_is_kept_in_copies_and_forgotten_by_fit(months: tuple[Path, Path]) -> None:
    may, _ = months
    state = may.with_name("s")
    call("run", may, "-q", "--state", state)
    crowd = cs.load(state)
    assert isinstance(crowd, cs.Estimator)
    assert [Path(found.name).name for found in crowd.copy().learnt_] == ["may.csv"]
    assert crowd.clone().learnt_ == []
    assert crowd.fit(MAY).learnt_ == []


def test_the_summary_counts_the_workers_of_this_run(months: tuple[Path, Path]) -> None:
    may, june = months
    state = may.with_name("crowd.state")
    june.write_bytes(june.read_bytes().replace(b"w0,", b"new,"))
    assert call("run", may, "-q", "--state", state).code == 0
    known = len({worker for _, worker, _ in MAY})
    shown = call("run", june, "-o", may.with_name("d.csv"), "--state", state).err
    assert f"from {len({worker for _, worker, _ in JUNE})} workers of {known + 1}" in shown
