"""Damage on the disk: found, named, kept to the project that has it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from crowdstream.serve import store as stores
from tests.serve.running import label, post, put, serving


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
        assert "bad: its log is damaged at row 1" in health.json()["detail"]
        assert post(http, "good", label("t2", "a", "x"))["labels"] == 1
        for method, path, body in (
            ("GET", "", None),
            ("PUT", "", {}),
            ("POST", "/labels", label("t2", "a", "x")),
            ("GET", "/export/decisions", None),
        ):
            answer = http.request(method, f"/v1/projects/bad{path}", json=body)
            assert (answer.status_code, "set aside" in answer.text) == (503, True), answer.text
