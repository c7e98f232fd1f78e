"""Mechanisms are applied, read back and put back, also when the lab is killed at either level."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from sojourn import host
from sojourn.host.tree import Tree
from sojourn.knobs import Lack, Turned
from sojourn.knobs.settings import AFFINITY, POLICY, TEXT, Setting
from sojourn.knobs.testing import MemoryBook, put
from sojourn.knobs.thp import PATH
from sojourn.questions.isolation_cost.files import apart
from sojourn.questions.isolation_cost.mechanisms import KINDS, Mechanism, MechanismInputs, timing
from sojourn.questions.isolation_cost.mechanisms.files import Files
from sojourn.questions.isolation_cost.mechanisms.mechanism import MechanismKind
from sojourn.questions.isolation_cost.mechanisms.threads import Threads
from sojourn.questions.isolation_cost.plan import MECHANISMS
from sojourn.questions.isolation_cost.probe import shares
from sojourn.run.journal import Journal
from sojourn.run.restore import restore

LEVELS = ("madvise", "never")


@pytest.fixture(scope="module")
def facts() -> host.Facts:
    """This machine."""
    return host.read(sample_s=0)


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process that leads a session of its own."""
    task = subprocess.Popen(["/bin/sleep", "300"], start_new_session=True)
    try:
        yield task.pid
    finally:
        task.kill()
        task.wait()


class Fake(Mechanism):
    """Counts what is done to it, and fails where it is told to."""

    levels = ("a", "b")
    one = "a call"

    def __init__(self, fails: str = "", wrong: str = "") -> None:
        self.fails, self.wrong = fails, wrong
        self.did: list[str] = []

    def _do(self, what: str) -> None:
        self.did.append(what)
        if what == self.fails:
            raise OSError(0, f"{what} is refused")

    def prepare(self) -> None:
        self._do("prepare")

    def act(self, which: int) -> None:
        self._do(str(which))

    def amiss(self, which: int) -> str:
        del which
        return self.wrong

    def put_back(self) -> None:
        self._do("back")

    def probed(self) -> tuple[int, ...]:
        return (3, 4)


def _timed(fake: Mechanism, missing: str = "", name: str = "fake") -> timing.Timed:
    kind = MechanismKind(name=name, about="", lacks=lambda _: None, build=lambda _: fake)
    return timing.Timed(kind, missing=missing)


def _mechanism_inputs(
    facts: host.Facts, book: object, root: Path | None = None, leader: int = 0
) -> MechanismInputs:
    tree = Tree(root) if root else Tree()
    on = Turned(label="it", leader=leader or os.getpid(), book=book, tree=tree)  # type: ignore[arg-type]
    return MechanismInputs(on=on, facts=facts)


def test_plan_and_actors_know_the_same_mechanisms() -> None:
    assert tuple(KINDS) == MECHANISMS


def test_what_lacks_is_named_and_not_applied(facts: host.Facts) -> None:
    lack = Lack(missing="a wish", fix="make one")
    kinds = {"x": MechanismKind(name="x", about="", lacks=lambda _: lack, build=lambda _: Fake())}
    (result,) = timing.looked(kinds, _mechanism_inputs(facts, MemoryBook()))
    assert (result.missing, result.fix) == ("a wish", "make one")
    timing.without_load(
        [result], _mechanism_inputs(facts, MemoryBook()), {False: 8, True: 1}, 1, lambda: False
    )
    assert result.ns == []


def test_levels_alternate_and_every_block_is_read_back_and_put_back(facts: host.Facts) -> None:
    fake = Fake()
    one = _timed(fake)
    inputs = _mechanism_inputs(facts, MemoryBook())
    timing.without_load([one], inputs, {False: 10, True: 1}, 1, lambda: False)
    assert len(one.ns) == 10
    assert one.checks == timing.BLOCKS
    assert one.amiss == []
    blocks = "".join(fake.did).split("prepare")[1:]
    assert all(block.endswith("back") for block in blocks)
    levels = [block.removesuffix("back") for block in blocks]
    assert all(a != b for block in levels for a, b in pairwise(block))
    assert sum(run[0] for run in one.runs) == 10


@pytest.mark.parametrize("where", ["prepare", "1", "back"])
def test_one_that_fails_is_put_back_and_keeps_no_other_from_its_turn(
    facts: host.Facts, where: str
) -> None:
    bad, good = Fake(fails=where), Fake()
    both = [_timed(bad, name="bad"), _timed(good, name="good")]
    inputs = _mechanism_inputs(facts, MemoryBook())
    timing.without_load(both, inputs, {False: 8, True: 1}, 1, lambda: False)
    assert both[0].failed == f"{where} is refused"
    assert bad.did[-1] == "back"
    assert bad.did.count("prepare") == 1
    assert len(both[1].ns) == 8


def test_a_change_that_did_not_bite_is_reported(facts: host.Facts) -> None:
    one = _timed(Fake(wrong="the kernel says a"))
    timing.without_load(
        [one], _mechanism_inputs(facts, MemoryBook()), {False: 8, True: 1}, 1, lambda: False
    )
    assert one.amiss == ["the kernel says a"] * timing.BLOCKS


def test_work_is_timed_after_blocks_without_load_where_nothing_is_amiss(
    facts: host.Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, counts = _mechanism_inputs(facts, MemoryBook()), {False: 8, True: 1}
    good, wrong, loaded = _timed(Fake()), _timed(Fake(wrong="it booted")), _timed(Fake())
    timing.without_load([good, wrong], inputs, counts, 1, lambda: False)
    assert good.probed == [[3, 4]] * timing.BLOCKS
    assert wrong.probed == []
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda s: clock.__setitem__(0, clock[0] + s))
    timing.under_load([loaded], inputs, counts, length_s=5.0, seed=1, stop=lambda: False)
    assert loaded.checks > 0
    assert loaded.probed == [], "it would slow the requests before the next change"


def test_under_load_each_has_its_turn_or_its_lack_is_reported(
    facts: host.Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda s: clock.__setitem__(0, clock[0] + s))
    both = [_timed(Fake(), name="a"), _timed(Fake(), name="b")]
    inputs = _mechanism_inputs(facts, MemoryBook())
    counts = {False: 40, True: 1}
    timing.under_load(both, inputs, counts, length_s=10.0, seed=1, stop=lambda: False)
    assert all(len(one.ns) >= 40 for one in both)
    assert all(15 <= len(one.changes) <= 25 for one in both)
    late = _timed(Fake())
    timing.under_load([late], inputs, counts, length_s=0.0, seed=1, stop=lambda: False)
    assert late.failed == "the load ended before it was applied"


def test_windows_around_changes_that_take_long_are_apart(
    facts: host.Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "time_ns", lambda: round(1e9 * clock[0]))
    monkeypatch.setattr(time, "sleep", lambda s: clock.__setitem__(0, clock[0] + s))

    class Slow(Fake):
        def act(self, which: int) -> None:
            super().act(which)
            clock[0] += 0.7

    one = _timed(Slow())
    inputs = _mechanism_inputs(facts, MemoryBook())
    counts = {False: 40, True: 1}
    timing.under_load([one], inputs, counts, length_s=10.0, seed=1, stop=lambda: False)
    assert len(one.changes) >= 8
    assert list(apart(one.changes)) == one.changes


def test_files_are_put_back_from_either_level(facts: host.Facts, tmp_path: Path) -> None:
    _fake_machine(tmp_path)
    book = MemoryBook()
    inputs = _mechanism_inputs(facts, book, tmp_path)
    mechanism = _Plain(inputs, "thp", LEVELS)
    for which in (0, 1):
        mechanism.prepare()
        assert len(book.open) == 1
        mechanism.act(1)
        mechanism.act(which)
        assert mechanism.amiss(which) == ""
        assert mechanism.amiss(1 - which) != ""
        mechanism.put_back()
        assert (tmp_path / PATH.lstrip("/")).read_text() == "always"
        assert book.open == {}


@pytest.mark.parametrize("which", [0, 1])
def test_a_lab_that_was_killed_at_either_level_is_undone(
    facts: host.Facts, tmp_path: Path, which: int, sleeper: int
) -> None:
    home = os.sched_getaffinity(sleeper)
    if len(home) < 2:
        pytest.skip("needs two CPUs")
    state = tmp_path / "state"
    journal = Journal.create(state)
    inputs = _mechanism_inputs(facts, journal, leader=sleeper)
    first, *_ = sorted(home)
    mechanism = Threads(inputs, (str(first), ",".join(map(str, sorted(home)[1:]))), AFFINITY)
    mechanism.prepare()
    mechanism.act(1)
    mechanism.act(which)
    assert os.sched_getaffinity(sleeper) != home
    journal.close()  # as if it had been killed: nothing is crossed out, and no one holds it
    path = journal.path
    path.write_text(path.read_text().replace(f'"pid": {os.getpid()}', '"pid": 1', 1))
    restore(state)
    assert os.sched_getaffinity(sleeper) == home


def test_threads_change_and_have_their_own_back(facts: host.Facts, sleeper: int) -> None:
    book = MemoryBook()
    mechanism = Threads(_mechanism_inputs(facts, book, leader=sleeper), ("other", "batch"), POLICY)
    try:
        mechanism.prepare()
    except OSError as error:  # already so: nothing to change before the first application
        pytest.fail(str(error))
    mechanism.act(1)
    assert os.sched_getscheduler(sleeper) == os.SCHED_BATCH
    assert mechanism.amiss(1) == ""
    mechanism.put_back()
    assert os.sched_getscheduler(sleeper) == os.SCHED_OTHER
    assert book.open == {}


def test_shares_of_others_leave_out_what_is_the_labs() -> None:
    before, after = (0,) * 8, (100, 0, 100, 600, 0, 0, 0, 200)
    result = shares(before, after, own_s=1.0, length_s=5.0)
    assert result["busy_share"] == pytest.approx(0.2)
    assert result["others_share"] == pytest.approx(0.1)
    assert result["steal_share"] == pytest.approx(0.2)


def _fake_machine(root: Path) -> None:
    put(root, PATH, "[always] madvise never")
    (root / PATH.lstrip("/")).write_text("always")


class _Plain(Files):
    """Files that read as they were written: a folder is no kernel, which brackets its choice."""

    def current(self, level: str) -> Sequence[Setting]:
        """As text."""
        every = super().current(level)
        old = self._on.tree.text(PATH) or ""
        return [Setting.from_json({**s.as_json(), "kind": TEXT, "old": old}) for s in every]
