"""How many threads there are: as asked for, else what affinity and container allow."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import crowdstream as cs
from crowdstream import parallel
from crowdstream.errors import InputError

FULL_MACHINE = 64


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine of 64 cores, on which nothing was asked for."""
    monkeypatch.delenv("CROWDSTREAM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: FULL_MACHINE)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(FULL_MACHINE)), raising=False)
    cached = parallel.usable_cores
    cached.cache_clear()
    yield
    cs.set_threads(None)
    cached.cache_clear()


def machine(root: Path, **files: str) -> Path:
    """A folder with such files, __ for /; what stands for a control group's tree among them."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def grouped(root: Path, membership: str, files: dict[str, str]) -> Path:
    """A machine whose process is in these groups; files are those below /sys/fs/cgroup."""
    found = {"proc/self/cgroup": membership}
    found |= {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    return machine(root, **found)


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("200000 100000", 2), ("250000 100000", 3), ("5000 100000", 1), ("max 100000", 64)],
)
def test_a_quota_of_version_2_is_rounded_up(tmp_path: Path, quota: str, cores: int) -> None:
    root = grouped(tmp_path, "0::/\n", {"cpu.max": f"{quota}\n"})
    assert parallel.usable_cores(root) == cores


def test_the_least_quota_of_the_groups_around_holds(tmp_path: Path) -> None:
    files = {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}
    assert parallel.usable_cores(grouped(tmp_path, "0::/a/b\n", files)) == 3


@pytest.mark.parametrize("tree", ["cpu,cpuacct", "cpu"])
@pytest.mark.parametrize(("quota", "cores"), [("150000", 2), ("-1", 64)])
def test_a_quota_of_version_1(tmp_path: Path, tree: str, quota: str, cores: int) -> None:
    """Inside a container the process is listed by the name of its group outside."""
    files = {f"{tree}/cpu.cfs_quota_us": quota, f"{tree}/cpu.cfs_period_us": "100000\n"}
    root = grouped(tmp_path, "5:memory:/docker/1f\n4:cpu,cpuacct:/docker/1f\n", files)
    assert parallel.usable_cores(root) == cores


def test_a_group_outside_of_the_container_is_not_climbed_to(tmp_path: Path) -> None:
    root = grouped(tmp_path / "inner", "0::/../../other\n", {"cpu.max": "400000 100000"})
    machine(tmp_path, cpu__max="100000 100000")
    assert parallel.usable_cores(root) == 4


@pytest.mark.parametrize("text", ["", "nonsense", "0:", "0::", "::::", "\x00", "0::/" + "x" * 300])
def test_odd_files_are_no_limit(tmp_path: Path, text: str) -> None:
    root = grouped(tmp_path, text, {"cpu.max": "a lot"})
    assert parallel.usable_cores(root) == FULL_MACHINE


def test_bytes_that_are_no_text_are_no_limit(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_bytes(b"0::/\xff\n")
    assert parallel.usable_cores(tmp_path) == FULL_MACHINE


def test_a_process_is_held_to_its_affinity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 4, 5}, raising=False)
    assert parallel.usable_cores(tmp_path) == 3


def test_a_system_without_affinities_counts_its_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert parallel.usable_cores(tmp_path) == FULL_MACHINE
    parallel.usable_cores.cache_clear()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert parallel.usable_cores(tmp_path) == 1


def test_the_variable_overrules_the_machine_and_the_caller_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parallel, "usable_cores", lambda: 7)
    assert parallel.threads() == 7
    monkeypatch.setenv("CROWDSTREAM_THREADS", " 5 ")
    assert parallel.threads() == 5
    assert len(parallel.parts_of(parallel.LARGE)) == 5
    cs.set_threads(2)
    assert parallel.threads() == 2
    cs.set_threads(None)
    assert parallel.threads() == 5
    monkeypatch.setenv("CROWDSTREAM_THREADS", "")
    assert parallel.threads() == 7


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "4097", "²", "9" * 5000])
def test_a_bad_value_says_what_to_type(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDSTREAM_THREADS", text)
    with pytest.raises(InputError, match="CROWDSTREAM_THREADS: expected a whole number from 1 to"):
        parallel.threads()


@pytest.mark.parametrize("number", [0, -1, 1.5, "2", True, 4097])
def test_a_bad_number_is_refused_and_changes_nothing(number: object) -> None:
    cs.set_threads(3)
    with pytest.raises(InputError, match="number: expected a whole number from 1 to 4,096"):
        cs.set_threads(number)  # type: ignore[arg-type]
    assert parallel.threads() == 3


def test_no_more_threads_run_than_are_asked_for() -> None:
    import threading

    cs.set_threads(2)
    names = parallel.side_by_side(lambda _: threading.current_thread().name, 40)
    assert len(names) == 40
    assert len(set(names)) <= 2
    cs.set_threads(1)
    here = threading.current_thread().name
    assert parallel.side_by_side(lambda _: threading.current_thread().name, 3) == [here] * 3


def test_libraries_are_told_unless_they_were_told_already() -> None:
    environment = {"CROWDSTREAM_THREADS": "3", "OMP_NUM_THREADS": "8"}
    parallel.limit_libraries(environment)
    assert environment["POLARS_MAX_THREADS"] == environment["OPENBLAS_NUM_THREADS"] == "3"
    assert environment["OMP_NUM_THREADS"] == "8"
    untold: dict[str, str] = {}
    parallel.limit_libraries(untold)
    assert untold == {}


def tool(code: str, threads: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"CROWDSTREAM_THREADS": threads}
    environment.pop("POLARS_MAX_THREADS", None)
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def test_the_command_line_limits_polars_before_it_is_loaded() -> None:
    code = (
        "import sys; from crowdstream.cli import main; sys.argv = ['crowdstream', 'version']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert 'polars' not in sys.modules; import polars; print(polars.thread_pool_size())"
    )
    assert tool(code, "3").stdout.split()[-1] == "3"


def test_the_command_line_refuses_a_bad_value_in_one_line() -> None:
    done = tool("import sys; sys.argv = ['crowdstream', 'version']\n"
                "from crowdstream.cli import main; main()", "many")  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "crowdstream: CROWDSTREAM_THREADS: expected a whole number from 1 to 4,096, found 'many'\n"
    )


def test_what_is_learnt_is_the_same_however_many_threads_openblas_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = (
        "import hashlib, crowdstream as cs\n"
        "labels = cs.simulate(200, 20_000, p=0.3, per_task=5, seed=1).labels()\n"
        "print(hashlib.sha256(cs.Adaptive().fit(labels).to_bytes()).hexdigest())"
    )
    found = set()
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
        found.add(tool(code, "2").stdout)
    assert len(found) == 1
    assert found != {""}
