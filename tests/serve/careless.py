"""A server that answers before it writes: what the tests of durability must catch."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from crowdstream.cli import main
from crowdstream.serve.engine import Engine


class Careless(Engine):
    """Answers, and writes a little later."""

    _held: ClassVar[list[Any]] = []

    def _commit(self, *given: Any) -> None:
        self._answer(type(self)._held)
        time.sleep(0.05)
        super()._commit(*given)
        type(self)._held = []

    def _group(self, here: Any, back: Any) -> None:
        type(self)._held = [*here, *(job for loan in back for job in loan.jobs)]
        super()._group(here, back)

    def _answer(self, jobs: Any) -> None:
        fresh = [job for job in jobs if job.said != b"told"]
        for job in fresh:
            job.said = b"told"
        super()._answer(fresh)


if __name__ == "__main__":
    from crowdstream.serve import runner

    vars(runner)["Engine"] = Careless
    main()
