"""Argilla 2 by its API: all responses of a dataset."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crowdstream.errors import InputError
from crowdstream.labels.readers.answer import Answer, items, mapping
from crowdstream.labels.readers.argilla import event_answers
from crowdstream.sync.tool_api import ToolApi

PAGE = 500
"""Records of a page."""

ADDRESS = re.compile(r"(?P<base>https?://.+?)/datasets?/(?P<dataset>[0-9A-Za-z-]+)(?:/.*)?")


class Argilla:
    """A dataset of Argilla.

    Parameters
    ----------
    address
        The dataset's, as in the browser: ``https://argilla.example.org/dataset/<id>``.
    key
        An API key of its owner.
    """

    name = "argilla"

    def __init__(self, address: str, key: str) -> None:
        found = ADDRESS.fullmatch(address)
        if found is None:
            expected = "a dataset's address such as http://localhost:6900/dataset/<id>"
            raise InputError("URL", expected, address)
        self.dataset = found["dataset"]
        self.api = ToolApi(found["base"], lambda: {"X-Argilla-Api-Key": key})

    def answers(self) -> Iterator[Answer]:
        """Every response to every record."""
        offset, total = 0, 1
        while offset < total:
            found = mapping(
                self.api.get(
                    f"/api/v1/datasets/{self.dataset}/records",
                    include="responses", limit=PAGE, offset=offset,
                )
            )  # fmt: skip
            records = [mapping(one) for one in items(found.get("items"))]
            if not records:
                return
            for record in records:
                for response in map(mapping, items(record.get("responses"))):
                    user = {"id": response.get("user_id")}
                    data = {**response, "record": {"id": record.get("id")}, "user": user}
                    yield from event_answers(data)
            offset, total = offset + len(records), int(str(found.get("total", 0)))
