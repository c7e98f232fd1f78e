"""Pages that follow a record: looked at once for all, between two loads, and sent what changed."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra view")

from sojourn import disk
from sojourn.store.lock import take
from sojourn.view import changes, following
from sojourn.view.following import Follower, Following

POINT = "points/0001-a"
SOON_S = 0.3  # for what must not come; what must come is waited for


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(changes, "GATHER_S", 0.0)
    (tmp_path / POINT).mkdir(parents=True)
    return tmp_path


class Looked:
    """Counts looks at a record, and remembers CPUs that were to be left."""

    def __init__(self) -> None:
        self.count, self.is_late = 0, False
        self.cpus: list[set[int]] = []

    def view(self, name: str, path: Path, is_wanted: Callable[[], bool]) -> str | None:
        self.count += 1
        if self.is_late:
            begin_load(path)
        return f"{name}\nlook {self.count}" if is_wanted() else None

    def keep_off(self, cpus: Collection[int]) -> None:
        self.cpus.append(set(cpus))


def followed(record: Path, steps: Callable[[Looked, Follower], Awaitable[None]]) -> Looked:
    """What was looked at while a page follows a record that is being measured."""
    looked = Looked()

    async def run() -> None:
        with Following(looked.keep_off).joined("n", record, looked.view) as page:
            await page.renew(is_asked=True)
            await asyncio.sleep(0.05)  # it watches by then
            await steps(looked, page)

    with contextlib.closing(take(record)):
        asyncio.run(run())
    return looked


def begin_load(record: Path) -> None:
    job = {"cpus": "2-3", "server_cpus": "1"}
    disk.keep_json(record / POINT / "load.job.json", job)


def test_nothing_is_computed_while_load_runs_and_all_of_it_after(record: Path) -> None:
    async def steps(looked: Looked, page: Follower) -> None:
        begin_load(record)
        turn = page.turn
        disk.write_text(record / "answer.json", "{}")
        await asyncio.wait_for(page.next(turn), 60)
        assert looked.count == 1, "load runs"
        turn = page.turn
        disk.write_text(record / POINT / "run.json", "{}")
        await asyncio.sleep(SOON_S)
        assert looked.count == 1, "no page shows this"
        disk.write_text(record / POINT / "outcome.parquet", "x")
        await asyncio.wait_for(page.next(turn), 60)
        assert list(page.lines) == ["n", "look 2"]

    followed(record, steps)


def test_what_is_not_computed_when_load_begins_waits(record: Path) -> None:
    async def steps(looked: Looked, page: Follower) -> None:
        looked.is_late, turn = True, page.turn
        disk.write_text(record / "answer.json", "{}")
        await asyncio.wait_for(page.next(turn), 60)
        assert (looked.count, list(page.lines)) == (2, ["n", "look 1"])

    followed(record, steps)


def test_a_page_that_somebody_opens_is_computed_also_while_load_runs(record: Path) -> None:
    begin_load(record)

    async def steps(looked: Looked, page: Follower) -> None:
        assert looked.count == 1
        assert list(page.lines) == ["n", "look 1"]

    followed(record, steps)


def test_pages_of_one_record_are_computed_once(record: Path) -> None:
    looked = Looked()

    async def run() -> None:
        both = Following(looked.keep_off)
        with (
            both.joined("n", record, looked.view) as one,
            both.joined("n", record, looked.view) as other,
        ):
            assert other is one
            assert both.pages == 2
            await one.renew(is_asked=True)
            await asyncio.sleep(0.05)
            turn = one.turn
            disk.write_text(record / "answer.json", "{}")
            await asyncio.wait_for(one.next(turn), 60)
        assert both.pages == 0

    with contextlib.closing(take(record)):
        asyncio.run(run())
    assert looked.count == 2


def test_it_leaves_the_cpus_of_client_and_server_and_comes_back(record: Path) -> None:
    begin_load(record)

    async def steps(looked: Looked, page: Follower) -> None:
        assert looked.cpus == [{1, 2, 3}]
        assert not page.has_ended

    assert followed(record, steps).cpus[-1] == set()


def test_the_end_of_one_record_frees_no_cpu_of_another(record: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / POINT).mkdir(parents=True)
    begin_load(record)
    disk.keep_json(other / POINT / "load.job.json", {"cpus": "5", "server_cpus": "3"})
    looked = Looked()

    async def run() -> None:
        both = Following(looked.keep_off)
        with both.joined("n", record, looked.view) as one:
            await one.renew(is_asked=True)
            with both.joined("o", other, looked.view) as page:
                await page.renew(is_asked=True)

    asyncio.run(run())
    assert looked.cpus == [{1, 2, 3}, {1, 2, 3, 5}, {1, 2, 3}, set()]


@pytest.mark.parametrize("job", ["[]", '{"cpus": {}}', "{", '{"cpus": "0-99999999999"}'])
def test_a_job_of_another_form_names_no_cpus(record: Path, job: str) -> None:
    (record / POINT / "load.job.json").write_text(job)
    assert following.cpus_of(record) == set()


def test_the_end_of_a_run_is_seen(record: Path) -> None:
    looked = Looked()

    async def run() -> None:
        lock = take(record)
        with Following(looked.keep_off).joined("n", record, looked.view) as page:
            await page.renew(is_asked=True)
            await asyncio.sleep(0.05)
            begin_load(record)  # a run that is killed leaves it so
            lock.close()
            turn = page.turn
            disk.write_text(record / "answer.json", "{}")
            await asyncio.wait_for(page.next(turn), 60)
            assert page.has_ended

    asyncio.run(run())
    assert looked.count == 2


def test_what_changed_is_sent_alone() -> None:
    old = [f"row {n}" for n in range(1000)]
    new = [*old[:500], "a new row", *old[500:], "the last"]
    made = following.changed(old, new)
    assert len(json.dumps(made)) < 100
    for at, count, lines in made:
        old[at : at + count] = lines
    assert old == new
