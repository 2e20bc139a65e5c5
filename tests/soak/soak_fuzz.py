"""Every reader and the state loader on a million spoilt inputs: ``pytest tests/soak/soak_fuzz.py``.

It takes as long as CROWDSTREAM_SOAK_SECONDS says (1,800 unless set) if a million takes longer, and
prints how many were tried.
"""

from __future__ import annotations

import faulthandler
import os
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzzing import attempt, meaning_seeds, seeds, spoil, tool_seeds

INPUTS = 10**6
"""Inputs that are tried if there is time."""

HANGING = 30.0
"""Seconds after which an input of some kilobytes is said to hang; most take a thousandth of one."""

MOST_MEMORY = 10**9
"""Bytes of memory that the process may have taken in the end."""


def soak_seconds() -> float:
    """How long to go on."""
    return float(os.environ.get("CROWDSTREAM_SOAK_SECONDS", "1800"))


def test_no_input_does_harm(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good = seeds() | meaning_seeds() | tool_seeds()
    names = list(good)
    started = time.monotonic()
    first = random.SystemRandom().randrange(
        2**40
    )  # other inputs each time; a failure names its own
    tried, read = Counter[str](), Counter[str]()
    for seed in range(first, first + INPUTS):
        draw = random.Random(seed)
        name = draw.choice(names)
        data = spoil(name, good[name], draw)
        faulthandler.dump_traceback_later(HANGING, exit=True)  # shows where it hangs
        try:
            read[name] += attempt(name, data, tmp_path, draw, told=draw.random() < 0.5)
        except BaseException as error:
            raise AssertionError(f"seed {seed}, {name}: {data[:2000]!r}") from error
        finally:
            faulthandler.cancel_dump_traceback_later()
        tried[name] += 1
        if seed % 1000 == 0:
            capfd.readouterr()  # what polars' threads print when they give up
        if time.monotonic() - started > soak_seconds():
            break
    unit = 1 if sys.platform == "darwin" else 1024
    peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = time.monotonic() - started
    with capfd.disabled():
        print(f"\n{tried.total():,} inputs in {seconds:,.0f} s, first seed {first}")
        print(f"peak memory {peak / 1e6:,.0f} MB")
        for name in names:
            print(f"{name:>32} {tried[name]:>8,} tried, {read[name]:>8,} could be read")
    assert peak < MOST_MEMORY
