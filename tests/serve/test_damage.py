"""Damage on the disk: found, named, kept to the project that has it."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crowdstream.serve import store as stores
from crowdstream.serve.repairing import repair
from tests.serve.flipping import (
    everything,
    flip,
    found_by_check,
    is_silent,
    make_folder,
    started,
)
from tests.serve.running import COMMAND, label, post, put, serving, start


def change(folder: Path, sql: str, *given: object) -> None:
    """Change a stopped server's database behind its back."""
    db = sqlite3.connect(folder / stores.DATABASE)
    assert db.execute(sql, given).rowcount, "nothing was changed"
    db.commit()
    db.close()


def test_labels_dropped_from_one_project_do_not_stop_another(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(folder, "--keep-labels", "0") as running, running.http() as http:
        put(http, "empty")
        put(http, "p", max_labels=3, settle=None)
        post(http, "p", [label("t1", w, "x") for w in "abc"])
        assert running.stop() == 0
    for _ in range(2):
        with serving(folder, "--keep-labels", "0") as running, running.http() as http:
            assert http.get("/v1/projects/p").json()["labels"] == 3
            assert http.get("/v1/projects/empty").json()["labels"] == 0
            assert http.get("/readyz").json() == {"status": "ok", "detail": ""}
            assert running.stop() == 0


def test_a_damaged_project_is_set_aside_and_named_and_others_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(folder) as running, running.http() as http:
        for name in ("bad", "good"):
            put(http, name, max_labels=3, settle=None)
            post(http, name, [label("t1", w, "x") for w in "abc"])
        running.kill()
    change(folder, "UPDATE log SET events = replace(events, 'x', 'y') WHERE project = 1")
    with serving(folder) as running, running.http() as http:
        health = http.get("/readyz")
        assert health.status_code == 200
        assert health.json()["status"] == "degraded"
        assert "bad is set aside: its log is damaged at row 1" in health.json()["detail"]
        assert post(http, "good", label("t2", "a", "x"))["labels"] == 1
        for method, path, body in (
            ("GET", "", None),
            ("PUT", "", {}),
            ("POST", "/labels", label("t2", "a", "x")),
            ("GET", "/export/decisions", None),
        ):
            answer = http.request(method, f"/v1/projects/bad{path}", json=body)
            assert (answer.status_code, "set aside" in answer.text) == (503, True), answer.text


FLIPS = int(os.environ.get("CROWDSTREAM_FLIPS", "60"))
"""Bits that are flipped, one at a time; the soak flips many more."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder as a server leaves it that is stopped, and one that is killed."""
    folder = tmp_path_factory.mktemp("folders")
    found = {"stopped": folder / "stopped", "killed": folder / "killed"}
    make_folder(found["stopped"], found["killed"])
    return found


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_folder_without_damage_has_none(
    tmp_path: Path, folders: dict[str, Path], how: str
) -> None:
    shutil.copytree(folders[how], tmp_path / "data")
    assert found_by_check(tmp_path / "data") == []
    found = everything(tmp_path / "data")
    assert len(found["answers"]) > 10
    assert found["secret 1"] == "a secret"
    assert len(found["closed 1"]) > 10
    assert found["log 1"]
    assert found["log 2"]


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_no_flipped_bit_is_silent(tmp_path: Path, folders: dict[str, Path], how: str) -> None:
    shutil.copytree(folders[how], tmp_path / "good")
    before = everything(tmp_path / "good")
    first = random.SystemRandom().randrange(2**40)  # others each time; a failure names its own
    for seed in range(first, first + FLIPS):
        folder = tmp_path / "data"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(folders[how], folder)
        where = flip(folder, random.Random(seed))
        assert not is_silent(folder, before, tmp_path), f"{seed}: {where}"


def crowdstream(*given: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, given)], capture_output=True, text=True, timeout=60, check=False
    )


def copied(folders: dict[str, Path], folder: Path, how: str = "stopped") -> Path:
    shutil.copytree(folders[how], folder)
    return folder


def test_check_says_what_is_damaged(tmp_path: Path, folders: dict[str, Path]) -> None:
    folder = copied(folders, tmp_path / "data")
    found = crowdstream("check", folder)
    assert (found.returncode, found.stdout) == (0, ""), found.stderr
    change(folder, "UPDATE history SET answers = 6 WHERE worker = 'worker-3'")
    change(folder, "UPDATE closed SET decisions = zeroblob(9) WHERE project = 2")
    found = crowdstream("check", folder)
    assert found.returncode == 1
    assert "project moderation: crowdstream.db, table history, row 1, worker-3, 9.0" in found.stdout
    assert "project tone: crowdstream.db, table closed, row" in found.stdout
    assert "damaged; crowdstream repair" in found.stderr
    assert crowdstream("check", tmp_path).returncode == 2


@pytest.mark.parametrize(
    "table", ["log", "closed", "snapshots", "snapshot_parts", "history", "tool_answers"]
)
def test_what_is_damaged_comes_from_the_backup(
    tmp_path: Path, folders: dict[str, Path], table: str
) -> None:
    folder = copied(folders, tmp_path / "data")
    before = everything(folder)
    shutil.copytree(folder, tmp_path / "backup")
    column = "part" if table == "snapshot_parts" else "at"
    change(folder, f"UPDATE {table} SET {column} = {column} + 1 WHERE project = 1")
    assert found_by_check(folder)
    said = repair(folder, tmp_path / "backup")
    assert "damaged-" in said[0]
    assert found_by_check(folder) == []
    assert everything(folder) == before


def test_a_snapshot_without_all_its_parts_is_found(
    tmp_path: Path, folders: dict[str, Path]
) -> None:
    folder = copied(folders, tmp_path / "data")
    change(folder, "DELETE FROM snapshot_parts WHERE project = 1")
    assert {one.name for one in found_by_check(folder)} == {"moderation"}
    repair(folder)
    assert found_by_check(folder) == []


def test_decisions_are_made_anew_from_the_log(tmp_path: Path, folders: dict[str, Path]) -> None:
    folder = copied(folders, tmp_path / "data")
    before = started(folder)
    change(folder, "UPDATE closed SET decisions = zeroblob(9) WHERE project = 2")
    assert next(iter(found_by_check(folder))).name == "tone"
    said = repair(folder)
    assert "project tone: decisions on closed tasks are made anew from its log" in said
    assert found_by_check(folder) == []
    assert started(folder) == before


def test_a_project_goes_back_to_before_the_damage(tmp_path: Path, folders: dict[str, Path]) -> None:
    folder = copied(folders, tmp_path / "data")
    before = started(folder)
    change(folder, "UPDATE log SET events = zeroblob(9) WHERE seq = 60")
    (bad,) = before.keys() - started(folder).keys()
    said = repair(folder)
    assert any(f"project {bad}: what came after row" in text for text in said), said
    assert found_by_check(folder) == []
    after = started(folder)
    assert after.keys() == before.keys()
    assert [name for name in before if before[name] != after[name]] == [bad]


def test_a_project_whose_commits_are_gone_is_refused_until_it_is_repaired(
    tmp_path: Path, folders: dict[str, Path]
) -> None:
    folder = copied(folders, tmp_path / "data", "killed")
    wal = folder / "crowdstream.db-wal"
    wal.write_bytes(wal.read_bytes()[: wal.stat().st_size * 3 // 4])  # a disk that lied
    with pytest.raises(RuntimeError, match="commits are gone"):
        start(folder)
    assert wal.stat().st_size, "nothing was overwritten"
    assert any("commits are gone" in str(damage) for damage in found_by_check(folder))
    assert any("commits are gone" in text for text in repair(folder))
    with serving(folder):
        pass


def test_any_flipped_bit_is_repaired_or_told(tmp_path: Path, folders: dict[str, Path]) -> None:
    good = copied(folders, tmp_path / "good")
    before = started(good)
    first = random.SystemRandom().randrange(2**40)
    for seed in range(first, first + FLIPS):
        folder = tmp_path / "data"
        shutil.rmtree(folder, ignore_errors=True)
        where = flip(copied(folders, folder), random.Random(seed), ["crowdstream.db"])
        said = repair(folder, good)
        assert found_by_check(folder) == [], f"{seed}: {where}: {said}"
        assert started(folder) == before, f"{seed}: {where}: {said}"


def test_a_server_that_runs_finds_damage_and_sets_the_project_aside(
    tmp_path: Path, folders: dict[str, Path]
) -> None:
    folder = copied(folders, tmp_path / "data")
    command = (
        sys.executable,
        "-c",
        "from crowdstream.serve import scrub; scrub.Scrub.__init__.__kwdefaults__.update(first=0.0,"
        " period=0.3); from crowdstream.cli import main; main()",
    )
    with serving(folder, command=command) as running, running.http() as http:
        time.sleep(1.0)
        assert http.get("/readyz").json()["status"] == "ok", (
            "what is well is not said to be damaged"
        )
        post(http, "moderation", [label(f"new-{i}", w, "fine") for i in range(50) for w in "abc"])
        change(folder, "UPDATE history SET answers = 6 WHERE worker = 'worker-3'")
        change(folder, "UPDATE closed SET decisions = zeroblob(9) WHERE project = 2")
        deadline = time.monotonic() + 20
        for text in ("tone is set aside: crowdstream.db, table closed, row 2",
                     "table history, row 1, worker-3, 9.0"):  # fmt: skip
            while text not in (said := http.get("/readyz").json()["detail"]):
                assert time.monotonic() < deadline, said
                time.sleep(0.1)
        assert http.get("/v1/projects/tone").status_code == 503
        assert http.get("/v1/projects/moderation").status_code == 200
        assert running.stop() == 0
