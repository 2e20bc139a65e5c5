"""A real Label Studio: what people do in it is what the server knows, by webhook, then by sync."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from crowdstream.cli import app
from tests.e2e import studio
from tests.e2e.studio import Studio, User
from tests.serve import tools
from tests.serve.running import put, serving

PROGRAM = os.environ.get("CROWDSTREAM_LABEL_STUDIO", "")

pytestmark = pytest.mark.skipif(
    not PROGRAM, reason="no Label Studio (CROWDSTREAM_LABEL_STUDIO): make e2e installs and runs it"
)

TASKS, USERS = 8, ("ann", "bob", "cy")


@pytest.fixture(scope="module")
def label_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    folder = tmp_path_factory.mktemp("e2e") / "label-studio"
    with studio.running(Path(PROGRAM).absolute(), folder) as found:
        yield found


class Ledger:
    """What people did in Label Studio, and so what the server should know."""

    def __init__(self) -> None:
        self.annotations: dict[int, tuple[int, User, str | None]] = {}
        self.rng = random.Random(1)

    def work(self, users: list[User], tasks: list[int]) -> None:
        """Each answers each task, some skip; then some change their minds or delete."""
        for user in users:
            for task in tasks:
                label = self.rng.choice(["good", "bad", "good", "bad", None])
                self.annotations[user.annotate(task, label)] = task, user, label
        for number in self.rng.sample(sorted(self.annotations), 4):
            task, user, _ = self.annotations[number]
            label = self.rng.choice(["good", "bad"])
            user.http.patch(f"/api/annotations/{number}/", json={"was_cancelled": False})
            user.change(number, label)
            self.annotations[number] = task, user, label
        for number in self.rng.sample(sorted(self.annotations), 3):
            self.annotations.pop(number)[1].delete(number)

    def votes(self) -> dict[int, dict[str, str]]:
        found: dict[int, dict[str, str]] = {}
        for task, user, label in self.annotations.values():
            if label is not None:
                found.setdefault(task, {})[user.id] = label
        return found

    def check(self, http: httpx.Client, project: str, tasks: list[int]) -> None:
        """The server knows exactly this, and counts exactly these votes."""
        known = tools.known(http, project, "label-studio")
        found = {
            int(key): (int(one["task"]), one["worker"], one["label"]) for key, one in known.items()
        }
        assert found == {
            number: (task, user.id, label)
            for number, (task, user, label) in self.annotations.items()
        }
        counted = {task: tools.votes(http, project, task) for task in tasks}
        assert {task: votes for task, votes in counted.items() if votes} == self.votes()


def run_sync(url: str, server: str, token: str, personal: str, *options: str) -> str:
    environment = {"CROWDSTREAM_TOKEN": token, "LABEL_STUDIO_API_KEY": personal}
    given = ["sync", "label-studio", url, "--project", "moods", "--server", server, *options]
    found = CliRunner().invoke(app, given, env=environment)
    assert found.exit_code == 0, found.output
    return found.output


def test_hooks_then_sync_then_predictions(label_studio: Studio, tmp_path: Path) -> None:
    with contextlib.ExitStack() as open_until_the_end:
        admin = open_until_the_end.enter_context(label_studio.http())
        users = [label_studio.sign_up(admin, name) for name in USERS]
        for user in users:
            open_until_the_end.enter_context(user.http)
        go_through_it(label_studio, admin, users, tmp_path / "data")


def go_through_it(
    label_studio: Studio, admin: httpx.Client, users: list[User], folder: Path
) -> None:
    ledger = Ledger()
    project, tasks = studio.make_project(admin, [f"text {n}" for n in range(TASKS)])
    address = f"{label_studio.url}/projects/{project}/data"
    with serving(folder) as server, server.http() as http:
        put(http, "moods", settle=None)
        hook = f"{server.url}/v1/projects/moods/hooks/label-studio?question=mood"
        studio.register_hook(admin, project, hook, server.token)
        # By webhook alone.
        ledger.work(users[:2], tasks)
        ledger.check(http, "moods", tasks)
        seen = http.get("/v1/projects/moods").json()["hooks"]
        assert seen["refused"] == 0
        assert seen["answered"] >= 2 * TASKS
        port, token = server.port, server.token
        assert server.stop() == 0
    # While our server is away, Label Studio tells nobody.
    ledger.work(users[2:], tasks)
    with serving(folder, port=port) as server, server.http() as http:
        personal = users[0].personal_token
        url = server.url
        assert "new" in run_sync(address, url, token, personal)
        ledger.check(http, "moods", tasks)
        assert "nothing has changed" in run_sync(address, url, token, personal)
        ledger.check(http, "moods", tasks)
        # And webhooks go on: of an annotation that only a sync has brought, too.
        number = next(n for n, (_, user, _) in ledger.annotations.items() if user is users[2])
        ledger.annotations.pop(number)[1].delete(number)
        ledger.check(http, "moods", tasks)
        # Decisions go back.
        for task in tasks:
            http.post("/v1/projects/moods/close", json={"task": task})
        run_sync(address, url, token, personal, "--push")
        rows = http.get("/v1/projects/moods/tasks?state=closed").json()["tasks"]
        decided = {int(one["task"]): (one["label"], one["confidence"]) for one in rows}
        found = {}
        for task in tasks:
            for one in admin.get(f"/api/tasks/{task}/").json()["predictions"]:
                assert one["model_version"] == "crowdstream"
                found[task] = one["result"][0]["value"]["choices"][0], one["score"]
        assert found == {task: one for task, one in decided.items() if one[0] is not None}
        assert len(found) >= TASKS - 1
