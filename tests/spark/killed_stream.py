"""A process that streams and kills itself: ``killed_stream.py IN STATE METHOD BATCH``.

The kill comes after the named method of the micro-batch of this id; the real one, by SIGKILL.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from crowdstream import spark
from crowdstream.spark.micro_batch import MicroBatch
from tests.spark.streaming import SETTINGS, run


def kill_after(method: str, batch: int) -> None:
    original = getattr(MicroBatch, method)

    def killed(self: MicroBatch, *args: Any) -> Any:
        found = original(self, *args)
        if self.batch == batch:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(MicroBatch, method, killed)


if __name__ == "__main__":
    kill_after(sys.argv[3], int(sys.argv[4]))
    session = spark.start("local[2]", settings=SETTINGS)
    run(session, Path(sys.argv[1]), Path(sys.argv[2]))
