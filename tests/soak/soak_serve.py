"""Five hundred kills of the server, and ten thousand listeners that come and go."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.serve import killing
from tests.serve.killing import Damage
from tests.serve.running import label, post, put, serving
from tests.serve.test_events import memory, reconnect


def test_five_hundred_kills_lose_nothing_double_nothing_and_change_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    ledgers = killing.run_with_kills(folder, kills=500, senders=4, seed=5)
    assert killing.damage(folder, ledgers) == Damage(0, 0)
    for number, ledger in enumerate(ledgers):
        found = killing.state_on_disk(folder, f"p{number}")
        assert found == killing.state_without_crash(ledger), "to the bit"


def test_ten_thousand_reconnects_leave_nothing_behind(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as running, running.http() as http:
        put(http, "again", max_labels=3)
        post(http, "again", label("t1", "a", "x"))
        reconnect(running, 500)
        before = memory(http)
        threads = [threading.Thread(target=reconnect, args=(running, 2500)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert memory(http) - before < 50e6
