"""Five hundred kills of the server, and ten thousand listeners that come and go; flipped bits.

Kills are over four projects that are saved all the time, with labels kept and dropped in turns.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from tests.serve import killing
from tests.serve.flipping import found_by_check
from tests.serve.killing import Damage
from tests.serve.running import label, post, put, serving
from tests.serve.test_events import memory, reconnect

KILLS = int(os.environ.get("CROWDSTREAM_KILLS", "500"))

OFTEN = (
    sys.executable,
    "-c",
    "from crowdstream.serve import housekeeping, scrub\n"
    "housekeeping.PERIOD = housekeeping.SNAPSHOT_SECONDS = 0.1\n"
    "housekeeping.SNAPSHOT_SHARE = 0\n"
    "scrub.Scrub.__init__.__kwdefaults__.update(first=0.0, period=0.2)\n"
    "from crowdstream.cli import main; main()",
)
"""A server that saves ten times a second and looks for damage all the time."""


@pytest.mark.parametrize("options", [(), ("--keep-labels", "0")], ids=["kept", "dropped"])
def test_kills_lose_nothing_double_nothing_and_change_nothing(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    folder = tmp_path / "data"
    ledgers = killing.run_with_kills(
        folder, kills=KILLS // 2, senders=4, seed=5, command=OFTEN, options=options,
        pause=(0.0, 0.5),
    )  # fmt: skip
    assert found_by_check(folder) == []
    assert killing.damage(folder, ledgers) == Damage(0, 0)
    for number, ledger in enumerate(ledgers):
        found = killing.state_on_disk(folder, f"p{number}")
        assert found == killing.state_without_crash(ledger), "to the bit"
    said = (tmp_path / "data.log").read_text("utf-8", "replace")
    assert "damage" not in said
    assert "Traceback" not in said


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
