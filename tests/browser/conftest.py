"""A Chromium and a server with two crowds, one of hostile names, for every module of page tests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.chromium import CHROMIUM

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.serve.running import Running

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    '"><svg onload=alert(3)>',
    "javascript:alert(4)",
    "a/b?c=d#e&f %20 ..",
    "x" * 300,
    "𝕯𝖆𝖛𝖎𝖉 العربية",
)
WORKERS = 60


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Not of the session: while it is open, nothing else in this process can run an event loop.
    if CHROMIUM is None:
        pytest.skip("no Chromium to open pages with")
    pytest.importorskip("playwright", reason="Playwright, which drives Chromium, is not installed")
    from tests.browser.browsing import chromium

    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    pytest.importorskip("uvloop", reason="the extra serve is not installed")
    from tests.serve.running import label, post, put, serving

    with serving(tmp_path_factory.mktemp("page") / "data") as running:
        with running.http() as http:
            chance = random.Random(5)
            put(http, "crowd", max_labels=7, price=0.04, currency="USD")
            crowd = {f"w{i:02d}": 0.02 + i * 0.005 for i in range(WORKERS)}
            post(http, "crowd", list(_labels(chance, crowd, ("cat", "dog"), 600)))
            put(http, "hostile", max_labels=9)
            errors = dict.fromkeys(HOSTILE, 0.1)
            post(http, "hostile", list(_labels(chance, errors, ("<b>yes</b>", "no"), 40)))
            post(http, "hostile", [label(HOSTILE[0], HOSTILE[1], "no")])
            put(http, "wordy", max_labels=9)
            post(http, "wordy", [label("t1", "ann", "neither of them, nor " * 20)])
        yield running


def _labels(
    chance: random.Random, crowd: dict[str, float], classes: tuple[str, str], tasks: int
) -> Iterator[dict[str, object]]:
    from tests.serve.running import label

    for task in range(tasks):
        truth = chance.choice(classes)
        for worker in chance.sample(list(crowd), 5):
            wrong = chance.random() < crowd[worker]
            said = classes[1 - classes.index(truth)] if wrong else truth
            yield label(f"t{task}", worker, said)
