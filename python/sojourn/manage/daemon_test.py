"""A manager on real control groups: what it sets, and that all is put back."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.controllers.look import Allocation
from sojourn.controllers.testing import look
from sojourn.errors import Exit, HostFault, RunFault
from sojourn.host.tree import Tree
from sojourn.knobs import groups as knob_groups
from sojourn.manage import absent, scrape, testing
from sojourn.manage import config as configs
from sojourn.manage.audit import Audit
from sojourn.manage.bites import Bites
from sojourn.manage.daemon import Manager
from sojourn.manage.groups import Managed
from sojourn.manage.pair import COUNT
from sojourn.manage.rounds import Rounds
from sojourn.manage.source import Source
from sojourn.manage.testing import TREE, Stand, sends, serving, stand, until
from sojourn.manage.watch import Watch
from sojourn.places import proc
from sojourn.run import restore
from sojourn.run.journal import Journal

needs_groups = pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-")
pytestmark = needs_groups
SAFE = 0.05
QUOTA: dict[str, object] = {"group": "batch", "knob": "quota"}


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of journals of one's own."""
    folder = tmp_path / "state"
    monkeypatch.setenv("SOJOURN_STATE", str(folder))
    return folder


@pytest.fixture
def here(tmp_path: Path, state: Path) -> Iterator[Stand]:
    with stand(tmp_path) as one:
        yield one


LATE_S = Rounds.late_s


def played(here: Stand, steps: list[Callable[[], object]], controller: str, **more: Any) -> None:
    """A manager in this process, with a step before each of its rounds."""
    config = configs.read(here.config(controller, **more))
    audit = Audit(here.audit, lambda _line: None)
    journal = Journal.create()

    def rounds() -> Iterator[None]:
        for step in steps:
            step()
            yield

    try:
        Manager(config, audit, journal).run(rounds)
    finally:
        journal.close()
        audit.close()


def journals(state: Path) -> list[Path]:
    return list(state.glob("lab-*.jsonl"))


def undone_as_of_the_dead(state: Path, tree: Tree = TREE) -> None:
    """Restore what a manager of this process has left: its number is made one of the dead."""
    for path in journals(state):
        first, rest = path.read_text().split("\n", 1)
        path.write_text(json.dumps({**json.loads(first), "start_ticks": 1}) + "\n" + rest)
    restore(tree=tree)


def soon() -> None:
    """The manager asks its knobs twice a second."""
    until(lambda: False, 0.6)


def test_half_a_letter_in_a_reason_does_not_end_the_manager(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit", lambda _line: None)
    audit.say("decision", why="\ud800")
    audit.close()
    assert json.loads((tmp_path / "audit").read_text())["why"] == "\ud800"


def test_what_a_controller_decides_is_in_force_and_everything_is_back_at_the_end(
    here: Stand, state: Path
) -> None:
    before = here.snapshot()
    seen: list[float | None] = []
    steps: list[Callable[[], object]] = [here.window, lambda: seen.append(here.quota())]
    played(here, [*steps, here.window], "static", constants={"quota": 0.3, "weight": 50})
    assert seen == [pytest.approx(0.3)]
    assert here.snapshot() == before
    assert not journals(state)
    changes = [line for line in here.events() if line["event"] == "change"]
    assert [(c["knob"], c["before"], c["after"], c["in_force"]) for c in changes] == [
        ("weight", 100, 50, True),
        ("quota", None, 0.3, True),
    ]
    assert all(c["reason"] == "fixed by the configuration" for c in changes)
    assert changes[0]["window"]["n"] == 1000


def test_an_idle_group_has_its_old_weight_again(here: Stand) -> None:
    shares = here.file("batch", "cpu.shares")
    name, text = ("cpu.shares", "512") if shares.exists() else ("cpu.weight", "50")
    here.file("batch", name).write_text(text)
    before = here.snapshot()
    idle: list[str] = []
    steps: list[Callable[[], object]] = [here.window, here.window]
    steps.append(lambda: idle.append(here.file("batch", "cpu.idle").read_text().strip()))
    played(here, steps, "posterior")
    assert idle == ["1"]
    assert here.snapshot() == before


def test_only_named_groups_are_touched(here: Stand, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with stand(tmp_path / "other") as other:
        before = other.snapshot()
        during: list[dict[str, str]] = []
        steps: list[Callable[[], object]] = [here.window, lambda: during.append(other.snapshot())]
        played(here, steps, "static", constants={"quota": 0.3, "idle": 1})
        assert during == [before]
        web = [line for line in here.events() if line.get("group") == "web"]
        assert not web, "the service itself has no change either"


def test_a_silent_source_means_safe_caps_and_windows_mean_going_on(here: Stand) -> None:
    quotas: list[float | None] = []
    rounds = 0

    def step() -> None:
        nonlocal rounds
        rounds += 1
        if rounds in {1, 40}:
            here.window()
        quotas.append(here.quota())
        until(lambda: False, 0.02)

    played(here, [step] * 42, "null", silent_s=0.3)
    assert quotas[0] is None
    assert SAFE in quotas
    events = [line["event"] for line in here.events()]
    assert events == ["start", "alone", "capped", "resume", "end"]
    assert "no window came from web" in here.events()[2]["reason"]
    assert quotas[-1] is None, "the rule sets no quota, so the cap must not stay"


def test_a_service_that_is_dead_is_not_hidden_by_the_windows_of_another(here: Stand) -> None:
    quotas: list[float | None] = []

    def step() -> None:
        here.window()
        with here.lines.open("a") as file:  # nor by those of somebody who is not managed
            file.write(json.dumps({"service": "other", "length_ms": 100, "n": 9}) + "\n")
        quotas.append(here.quota())
        until(lambda: False, 0.05)

    words = [sys.executable, "-I", "-S", "-c", testing.SLEEP]
    with subprocess.Popen(words) as dead:
        here.more = f'[groups.db]\nrole = "latency-critical"\ntarget = "1ms"\npid = {dead.pid}\n'
        try:
            played(here, [step] * 12, "null", silent_s=0.3)
        finally:
            dead.kill()
    assert quotas[0] is None
    assert quotas[-1] == SAFE
    (capped,) = [line for line in here.events() if line["event"] == "capped"]
    assert capped["reason"] == "no window came from db for 0.3 s"


def test_a_cap_that_the_kernel_refuses_later_is_a_fault(
    here: Stand, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, is_refused = knob_groups.write, False

    def refusing(tree: Any, path: str, text: str) -> None:
        if is_refused and path.endswith(("cpu.cfs_quota_us", "cpu.max")):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        real(tree, path, text)

    def refuse() -> None:
        nonlocal is_refused
        is_refused = True

    monkeypatch.setattr(knob_groups, "write", refusing)
    steps: list[Callable[[], object]] = [here.window, refuse, soon]
    with pytest.raises(RunFault, match="the safe cap of batch cannot be set: Invalid argument"):
        played(here, steps, "null", silent_s=0.3)
    refused = [line["refused"] for line in here.events() if line["event"] == "capped"]
    assert refused == [{"batch": "Invalid argument"}] * 2
    assert here.quota() == SAFE, "the warden has set it"
    undone_as_of_the_dead(state)
    assert here.quota() is None


def test_what_the_kernel_takes_of_a_level_is_in_the_audit_log(here: Stand) -> None:
    played(here, [here.window] * 3, foreign(here, [{**QUOTA, "level": 0.0001}], []))
    (change,) = [line for line in here.events() if line["event"] == "change"]
    assert (change["after"], change["in_force"]) == (0.001, True)


def test_a_dry_run_recommends_a_change_once(here: Stand) -> None:
    """Nothing changes, so a rule that begins with a step would begin with it for ever."""
    half, less = [{**QUOTA, "level": 0.5}], [{**QUOTA, "level": 0.2}]
    config = configs.read(here.config(foreign(here, half, half, less, half)))
    audit = Audit(here.audit, lambda _line: None)

    def rounds() -> Iterator[None]:
        for _ in range(6):
            here.window()
            yield

    Manager(config, audit, None).run(rounds)
    audit.close()
    said = [line["after"] for line in here.events() if line["event"] == "recommend"]
    assert said == [0.5, 0.2, 0.5]
    assert here.quota() is None


def test_a_knob_that_lies_means_safe_caps_and_a_fault(here: Stand, state: Path) -> None:
    def meddle() -> None:
        path = here.file("batch", "cpu.cfs_quota_us")
        if path.exists():
            path.write_text("70000")
        else:
            here.file("batch", "cpu.max").write_text("70000 100000")

    steps: list[Callable[[], object]] = [here.window, here.window, meddle, soon]
    with pytest.raises(
        RunFault, match="a knob of batch is not in force: quota was set to 30000 us"
    ):
        played(here, steps, "static", constants={"quota": 0.3})
    assert here.quota() == SAFE
    undone_as_of_the_dead(state)
    assert here.quota() is None


def foreign(here: Stand, *answers: list[dict[str, object]]) -> str:
    """A program that answers its looks with these changes, and all further ones with the last."""
    lines = [
        json.dumps({"changes": [{"reason": "", **change} for change in changes]})
        for changes in answers
    ]
    path = here.folder / "foreign.py"
    path.write_text(
        f"import sys\nlines = {lines!r}\n"
        "for number, _ in enumerate(sys.stdin):\n"
        "    print(lines[min(number, len(lines) - 1)], flush=True)\n"
    )
    return f"program:{sys.executable} -IS {path}"


def of_web(here: Stand) -> dict[str, str]:
    """Every setting of the service."""
    return {name: text for name, text in here.snapshot().items() if name.startswith("web ")}


@pytest.mark.parametrize(
    ("knob", "level"), [("quota", 0.001), ("idle", True), ("cores", 0), ("weight", 1)]
)
def test_a_foreign_rule_takes_nothing_from_a_service(here: Stand, knob: str, level: object) -> None:
    before = of_web(here)
    change = {"group": "web", "knob": knob, "level": level}
    with pytest.raises(RunFault, match=f"may not set {knob} {level} of web"):
        played(here, [here.window] * 3, foreign(here, [change]))
    assert of_web(here) == before
    assert here.quota() == SAFE
    assert here.events()[-1]["event"] == "capped"


def test_a_service_has_again_what_it_had_where_the_controller_fails(here: Stand) -> None:
    before, seen = of_web(here), list[dict[str, str]]()

    def note() -> None:
        seen.append(of_web(here))
        here.window()

    heavy: dict[str, object] = {"group": "web", "knob": "weight", "level": 200}
    wrong: dict[str, object] = {"group": "batch", "knob": "cores", "level": 1.5}
    with pytest.raises(RunFault, match=r"batch cannot be given cores 1\.5"):
        played(here, [here.window, note], foreign(here, [heavy], [wrong]))
    assert len(seen) == 1
    assert seen[0] != before
    assert of_web(here) == before
    assert here.quota() == SAFE


def test_a_service_is_limited_by_no_rule_while_the_safe_caps_are_in_force(here: Stand) -> None:
    before, seen = here.snapshot(), list[float | None]()

    def note() -> None:
        seen.append(here.quota("web"))

    def note_in_time() -> None:
        note()
        here.window()

    # Captain limits the service itself to one CPU at its second look.
    steps: list[Callable[[], object]] = [here.window, here.window, note_in_time, soon, note]
    played(here, steps, "captain", silent_s=0.3)
    assert seen == [pytest.approx(1.0), None]
    assert here.snapshot() == before


def test_an_error_of_the_manager_itself_means_safe_caps(here: Stand, state: Path) -> None:
    def fail() -> None:
        raise ZeroDivisionError("of the manager")

    with pytest.raises(ZeroDivisionError):
        played(here, [here.window, here.window, fail], "static", constants={"quota": 0.3})
    assert here.quota() == SAFE
    last = here.events()[-1]
    assert last["event"] == "capped"
    assert "of the manager" in last["reason"]
    undone_as_of_the_dead(state)
    assert here.quota() is None


def test_a_write_that_the_kernel_ignores_is_noticed(
    here: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = knob_groups.write

    def ignored(tree: Any, path: str, text: str) -> None:
        if not path.endswith("cpu.idle"):
            real(tree, path, text)

    monkeypatch.setattr(knob_groups, "write", ignored)
    with pytest.raises(
        RunFault, match=r"cannot be given idle True: cpu\.idle was set to 1 and reads 0"
    ):
        played(here, [here.window, here.window], "posterior")
    assert here.quota() == SAFE


def test_a_quota_that_does_not_bite_is_noticed(here: Stand) -> None:
    config, bites = configs.read(here.config()), Bites()
    one = Managed("batch", config.groups["batch"], (0, 1), testing.TREE)
    one.allocation = Allocation(quota=0.3)
    uses = [(10.0, 0.9), (11.0, 0.2), (12.0, 0.9), (13.0, 0.9), (14.5, 0.9)]
    results = [bites.exceeded(one, look(t_s, batch_has={"cpu": cpus})) for t_s, cpus in uses]
    assert results == ["", "", "", "", "it used 0.90 CPUs for 2 s where 0.30 are allowed"]


def test_a_group_that_is_made_anew_has_exceeded_nothing_yet(here: Stand) -> None:
    config, bites = configs.read(here.config()), Bites()
    one = Managed("batch", config.groups["batch"], (0, 1), testing.TREE)
    one.allocation = Allocation(quota=0.3)
    assert bites.exceeded(one, look(10.0, batch_has={"cpu": 0.9})) == ""
    bites.only(["batch"])
    assert "for 2 s" in bites.exceeded(one, look(12.0, batch_has={"cpu": 0.9}))
    bites.only(["web"])
    assert bites.exceeded(one, look(90.0, batch_has={"cpu": 0.9})) == ""


def test_a_round_that_comes_late_is_in_the_audit_log(
    here: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A manager without a CPU decides nothing, and would look like one that has nothing to do."""
    now_s = iter((10.0, 10.1, 10.9, 14.2, 14.3, 14.4))
    monkeypatch.setattr(
        "sojourn.manage.daemon.Rounds.late_s",
        lambda self, _now_s, every_s: LATE_S(self, next(now_s), every_s),
    )
    played(here, [here.window] * 4, "null")
    lines = [json.loads(line) for line in here.audit.read_text().splitlines()]
    assert [one["after_s"] for one in lines if one["event"] == "late"] == [3.3]


def test_a_second_manager_of_a_group_is_refused_and_the_first_is_not_disturbed(
    here: Stand,
) -> None:
    def second() -> None:
        with pytest.raises(HostFault, match="another manager has the control group"):
            played(here, [here.window], "static", constants={"quota": 0.7})

    seen: list[float | None] = []
    steps: list[Callable[[], object]] = [here.window, second, lambda: seen.append(here.quota())]
    played(here, steps, "static", constants={"quota": 0.3})
    assert seen == [pytest.approx(0.3)]
    assert here.quota() is None


def vanished(here: Stand) -> None:
    """The batch program ends, and somebody removes its group."""
    program = here.programs["batch"]
    program.kill()
    program.wait(20)
    for group in [one for one in here.made if str(one).endswith("batch")]:
        testing.remove_group(group)


def made_anew(here: Stand) -> None:
    """The same group, with another program in it."""
    words = [sys.executable, "-I", "-S", "-c", testing.SLEEP]
    here.programs["batch"] = subprocess.Popen(words)
    for group in testing.make_group(here.paths["batch"]):
        (group / "cgroup.procs").write_text(str(here.programs["batch"].pid))


@pytest.mark.parametrize("is_seen", [True, False], ids=["seen to be gone", "between two looks"])
def test_a_group_that_is_made_anew_has_the_levels_again_that_it_had(
    here: Stand, state: Path, monkeypatch: pytest.MonkeyPatch, *, is_seen: bool
) -> None:
    monkeypatch.setattr(absent, "BACK_S", 0.1)

    def change() -> None:
        vanished(here)
        if not is_seen:
            made_anew(here)
        here.window()

    def wait() -> None:
        until(lambda: False, 0.15)
        here.window()

    seen: list[tuple[float | None, str]] = []
    weight = "cpu.shares" if here.file("batch", "cpu.shares").exists() else "cpu.weight"

    def note() -> None:
        seen.append((here.quota(), here.file("batch", weight).read_text().strip()))
        here.window()

    again = [lambda: made_anew(here)] if is_seen else []
    steps: list[Callable[[], object]] = [here.window, here.window, change, *again]
    steps += [wait, wait, note, here.window]
    played(here, steps, "static", constants={"quota": 0.3, "weight": 50}, silent_s=20.0)
    ((quota, text),) = seen
    assert quota == pytest.approx(0.3)
    assert text == ("512" if weight == "cpu.shares" else "50")
    events = [line["event"] for line in here.events()]
    begin = ["start", "alone", "change", "change", "gone"]
    assert events == [*begin, "capped", "back", "resume", "end"]
    assert here.events()[5]["reason"] == "no best-effort group is there"
    assert here.quota() is None
    assert not journals(state)


def test_a_manager_that_ends_while_a_group_is_gone_leaves_no_cap_of_it(
    here: Stand, state: Path
) -> None:
    def capped() -> None:
        """As by the warden of a paused manager, which caps by path."""
        made_anew(here)
        quota = here.file("batch", "cpu.cfs_quota_us")
        if quota.exists():
            quota.write_text("5000")
        else:
            here.file("batch", "cpu.max").write_text("5000 100000")
        assert here.quota() == SAFE
        here.window()

    steps: list[Callable[[], object]] = [here.window, lambda: vanished(here), capped]
    played(here, steps, "null", silent_s=20.0)
    assert here.quota() is None
    assert not journals(state)


def test_the_last_process_of_its_role_that_ends_is_a_fault(here: Stand) -> None:
    words = [sys.executable, "-I", "-S", "-c", testing.SLEEP]
    with subprocess.Popen(words) as program:
        path = here.config("null")
        text = path.read_text()
        path.write_text(text.replace(f'cgroup = "{here.paths["batch"]}"', f"pid = {program.pid}"))
        audit, journal = Audit(here.audit, lambda _line: None), Journal.create()

        def rounds() -> Iterator[None]:
            here.window()
            yield
            program.kill()
            program.wait(20)
            yield

        try:
            with pytest.raises(RunFault, match="no best-effort group is left"):
                Manager(configs.read(path), audit, journal).run(rounds)
        finally:
            program.kill()
            journal.close()
            audit.close()
    assert [line["event"] for line in here.events()] == ["start", "alone", "gone", "capped"]


def test_a_second_manager_of_a_process_is_refused_and_the_first_is_not_disturbed(
    here: Stand,
) -> None:
    words, seen = [sys.executable, "-I", "-S", "-c", testing.SLEEP], list[str]()
    hierarchy = knob_groups.find(testing.TREE, "cpu")
    assert hierarchy is not None
    with subprocess.Popen(words) as program:
        here.more = f'[groups.other]\nrole = "best-effort"\npid = {program.pid}'

        def refused() -> None:
            seen.append(hierarchy.folder(testing.TREE, program.pid))
            spec = configs.GroupSpec(role="best-effort", pid=program.pid)
            one, journal = Managed("again", spec, (0,), testing.TREE), Journal.create()
            one.find()
            with pytest.raises(HostFault, match="another manager has the control group"):
                one.take(journal)
            one.restore()
            journal.close()
            seen.append(hierarchy.folder(testing.TREE, program.pid))

        try:
            played(here, [here.window, refused, here.window], "null")
        finally:
            program.kill()
    assert "/sojourn-" in seen[0]
    assert seen[1] == seen[0]
    assert here.events()[-1]["event"] == "end"


def test_one_of_two_best_effort_groups_that_vanishes_leaves_the_other_managed(
    here: Stand,
) -> None:
    words, own = [sys.executable, "-I", "-S", "-c", testing.SLEEP], list[str]()
    hierarchy = knob_groups.find(testing.TREE, "cpu")
    assert hierarchy is not None
    with subprocess.Popen(words) as other:
        here.more = f'[groups.other]\nrole = "best-effort"\npid = {other.pid}'

        def vanish() -> None:
            own.append(hierarchy.folder(testing.TREE, other.pid))
            other.kill()
            other.wait(20)

        seen: list[float | None] = []
        steps: list[Callable[[], object]] = [here.window, vanish, here.window]
        steps.append(lambda: seen.append(here.quota()))
        played(here, steps, "static", constants={"quota": 0.3})
    assert seen == [pytest.approx(0.3)]
    (gone,) = [line for line in here.events() if line["event"] == "gone"]
    assert gone["group"] == "other"
    assert here.events()[-1]["event"] == "end"
    assert here.quota() is None
    assert len(own) == 1
    assert not testing.TREE.exists(own[0]), "the group of the process that ended is removed"


def alone(
    here: Stand, monkeypatch: pytest.MonkeyPatch, above: int, n: int = 1000
) -> dict[str, Any]:
    """What a manager says at its start, where windows come with so many late requests."""
    real = Source.read

    def read(source: Source, t_s: float) -> None:
        here.window(above=above, n=n)
        real(source, t_s)

    monkeypatch.setattr(Source, "read", read)
    quotas: list[float | None] = []
    monkeypatch.setattr(Watch, "look", noting(Watch.look, lambda: quotas.append(here.quota())))
    after: list[float | None] = []
    try:
        played(here, [lambda: after.append(here.quota())], "null", check_s=0.3)
        quotas.pop()  # of the round behind it
    finally:
        assert quotas
        assert {*quotas} == {SAFE}, "best-effort groups are capped while it measures"
        assert {*after} <= {None}, "then they have what they had"
    (line,) = [line for line in here.events() if line["event"] == "alone"]
    results: dict[str, Any] = line["services"]["web"]
    return results


def noting(real: Callable[..., Any], note: Callable[[], object]) -> Callable[..., Any]:
    def wrapped(*args: Any) -> Any:
        note()
        return real(*args)

    return wrapped


def test_a_target_below_what_the_service_does_alone_is_refused_and_nothing_is_left(
    here: Stand, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = here.snapshot()
    with pytest.raises(HostFault, match="web misses its target although") as caught:
        alone(here, monkeypatch, above=500)
    assert caught.value.exit == Exit.VIOLATED
    assert here.snapshot() == before
    assert not journals(state)
    assert [one["event"] for one in here.events()] == ["start", "capped", "alone", "end"]
    assert here.events()[2]["services"]["web"]["verdict"] == "no"


@pytest.mark.parametrize(
    ("above", "n", "verdict"), [(0, 1000, "yes"), (0, 20, "unknown"), (10, 1000, "unknown")]
)
def test_it_says_whether_the_service_alone_meets_its_target(  # its cases
    here: Stand, monkeypatch: pytest.MonkeyPatch, above: int, n: int, verdict: str
) -> None:
    before = here.snapshot()
    # Three windows and more come in 0.3 s; the posterior of the newest says what is asserted.
    assert alone(here, monkeypatch, above, n)["verdict"] == verdict
    assert here.snapshot() == before


def reloaded(here: Stand, change: Callable[[str], str]) -> tuple[list[float | None], list[Any]]:
    """Quota after each round, where the configuration changes after the first; and the audit."""
    path = here.config("static", constants={"quota": 0.3}, silent_s=60.0)
    text = path.read_text()
    quotas: list[float | None] = []
    journal = Journal.create()
    audit = Audit(here.audit, lambda _line: None)
    manager = Manager(configs.read(path), audit, journal)
    manager.fresh = lambda: configs.read(path)

    def rounds() -> Iterator[None]:
        for i in range(4):
            here.window()
            if i == 2:
                path.write_text(change(text))
                manager.asked.ask()
            yield
            quotas.append(here.quota())

    try:
        manager.run(rounds)
    finally:
        journal.close()
        audit.close()
    return quotas, here.events()


def test_a_reload_changes_the_rule_and_the_safe_cap_and_leaves_levels(
    here: Stand, state: Path
) -> None:
    before = here.snapshot()

    def change(text: str) -> str:
        return text.replace("0.3}", "0.6}").replace("safe_quota = 0.05", "safe_quota = 0.07")

    quotas, events = reloaded(here, change)
    assert quotas == [pytest.approx(0.3)] * 2 + [pytest.approx(0.6)] * 2
    assert [e["event"] for e in events] == [
        "start", "alone", "change", "reloaded", "change", "end"
    ]  # fmt: skip
    assert here.snapshot() == before
    assert not journals(state)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('controller = "static"', "controller = ", "no TOML"),
        ('controller = "static"', 'controller = "statics"', "did you mean static"),
        ('controller = "static"', 'controller = "heracles"', "has no constant quota"),
        ("windows.jsonl", "no.jsonl", "the window source cannot be read"),
        ("[groups.web]", "[groups.other]", "takes no other groups"),
        ("audit.jsonl", "audit2.jsonl", "audit cannot change"),
    ],
)
def test_a_reload_that_is_wrong_leaves_the_old_one_in_force_and_is_reported(
    here: Stand, old: str, new: str, says: str
) -> None:
    before = here.snapshot()
    quotas, events = reloaded(here, lambda text: text.replace(old, new).replace("0.3}", "0.6}"))
    assert quotas == [pytest.approx(0.3)] * 4
    (line,) = [e for e in events if e["event"] == "reload refused"]
    assert says in line["what"] + line["fix"]
    assert here.snapshot() == before


def test_a_prometheus_endpoint_that_goes_silent_means_safe_caps(
    here: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrape, "ANSWER_S", 0.2)
    count, is_well = 0, True

    def answer(to: Any) -> None:
        nonlocal count
        count += 10
        if is_well:
            sends("200 OK", f't_bucket{{le="0.001"}} {count}\nt_bucket{{le="+Inf"}} {count}\n')(to)

    with serving(answer) as url:
        path = here.config("static", constants={"quota": 0.3}, silent_s=0.6)
        spec = f'url = "{url}"\nmetric = "t"\nevery_ms = 100'
        path.write_text(path.read_text().replace(f'file = "{here.lines}"', spec))
        audit, journal = Audit(here.audit, lambda _line: None), Journal.create()
        quotas: list[float | None] = []

        def rounds() -> Iterator[None]:
            nonlocal is_well
            for i in range(60):
                is_well = not 25 <= i < 45
                yield
                quotas.append(here.quota())
                until(lambda: False, 0.05)

        try:
            Manager(configs.read(path), audit, journal).run(rounds)
        finally:
            journal.close()
            audit.close()
    assert SAFE in quotas[30:50]
    assert quotas[-1] == pytest.approx(0.3), "as before the gap"
    events = [line["event"] for line in here.events()]
    assert events == ["start", "alone", "change", "capped", "resume", "end"]
    assert here.events()[3]["source"], "what was wrong with the last answer"


def test_a_process_is_moved_into_a_group_and_back(here: Stand) -> None:
    program = subprocess.Popen([sys.executable, "-IS", "-c", testing.SLEEP])
    try:
        own = Path(f"/proc/{program.pid}/cgroup").read_text()
        text = here.config("static", constants={"quota": 0.3}).read_text()
        text = text.replace(f'cgroup = "{here.paths["batch"]}"', f"pid = {program.pid}")
        (here.folder / "manage.toml").write_text(text)
        config = configs.read(here.folder / "manage.toml")
        during: list[str] = []
        journal = Journal.create()

        def rounds() -> Iterator[None]:
            for _ in range(2):
                here.window()
                yield
                during.append(Path(f"/proc/{program.pid}/cgroup").read_text())

        Manager(config, Audit(None, lambda _line: None), journal).run(rounds)
        journal.close()
        assert "/sojourn-" in during[0]
        assert Path(f"/proc/{program.pid}/cgroup").read_text() == own
    finally:
        program.kill()
        program.wait(20)


# The program itself, as people start it.


@contextlib.contextmanager
def started(here: Stand, *words: str, config: Path) -> Iterator[subprocess.Popen[str]]:
    # A terminal that is left makes programs ignore SIGHUP, and who is ignored here starts ignoring.
    argv = ["env", "--default-signal=INT,HUP,TERM", sys.executable, "-m", "sojourn", "manage"]
    argv += ["--config", str(config), *words]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as one:
        try:
            yield one
        finally:
            one.kill()


def capped_after(here: Stand, act: Callable[[subprocess.Popen[str], int], None]) -> None:
    """Start it with a quota of 0.3, do something to it, and wait for the safe cap."""
    config = here.config(
        "static", constants={"quota": 0.3}, silent_s=60.0, paused_s=0.5, every_ms=50
    )
    with started(here, config=config) as manager:
        # Before its first decision it tries the safe cap.
        assert until(lambda: here.quota() == pytest.approx(0.3)), "it starts"
        wardens = children(manager.pid)
        assert len(wardens) == COUNT
        act(manager, secrets.choice(wardens))
        assert until(lambda: here.quota() == SAFE), "capped"
        manager.send_signal(signal.SIGCONT)
        if manager.poll() is None:
            manager.kill()
        manager.wait(20)
    restore()


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def killed(manager: subprocess.Popen[str], warden: int) -> None:
    del warden
    manager.kill()


def warden_killed(manager: subprocess.Popen[str], warden: int) -> None:
    del manager
    os.kill(warden, signal.SIGKILL)


def both_killed(manager: subprocess.Popen[str], warden: int) -> None:
    manager.send_signal(signal.SIGSTOP)  # so that it does not see its warden end
    os.kill(warden, signal.SIGKILL)
    manager.kill()


def stopped(manager: subprocess.Popen[str], warden: int) -> None:
    del warden
    manager.send_signal(signal.SIGSTOP)


@pytest.mark.parametrize("act", [killed, warden_killed, both_killed, stopped])
def test_best_effort_is_capped_when_manager_or_warden_is_gone_or_paused(
    here: Stand, act: Callable[[subprocess.Popen[str], int], None]
) -> None:
    before = here.snapshot()
    capped_after(here, act)
    assert here.snapshot() == before


def test_a_warden_that_is_late_caps_nothing_that_was_put_back(here: Stand, state: Path) -> None:
    """One of two was first, so somebody may have restored before the other has its turn."""
    before = here.snapshot()
    late: list[int] = []

    def act(manager: subprocess.Popen[str], warden: int) -> None:
        late.append(warden)
        os.kill(warden, signal.SIGSTOP)
        manager.kill()

    capped_after(here, act)
    with contextlib.suppress(ProcessLookupError):
        os.kill(late[0], signal.SIGCONT)
    assert until(lambda: (left := proc.stat(late[0])) is None or left.state == "Z")
    assert here.snapshot() == before
    assert not journals(state)


def test_what_the_warden_of_a_paused_manager_wrote_is_put_back_as_well(
    here: Stand, state: Path
) -> None:
    before = here.snapshot()
    config = here.config("null", silent_s=60.0, paused_s=0.5, every_ms=50)

    def says(event: str) -> bool:
        return event in [line["event"] for line in here.events()]

    with started(here, config=config) as manager:
        assert until(lambda: says("alone"))
        manager.send_signal(signal.SIGSTOP)
        assert until(lambda: here.quota() == SAFE)
        manager.send_signal(signal.SIGCONT)
        assert until(lambda: says("capped"))
        manager.terminate()
        assert manager.wait(20) == 0
    assert here.snapshot() == before
    assert not journals(state)


def test_sigterm_puts_everything_back_and_ends_well(here: Stand, state: Path) -> None:
    before = here.snapshot()
    config = here.config("static", constants={"quota": 0.3}, silent_s=60.0)
    with started(here, config=config) as manager:
        assert until(lambda: here.quota() == pytest.approx(0.3))
        manager.terminate()
        assert manager.wait(20) == 0
    assert here.snapshot() == before
    assert not journals(state)
    assert here.events()[-1]["event"] == "end"


def test_sighup_reloads_and_prometheus_is_answered(here: Stand) -> None:
    config = here.config("static", constants={"quota": 0.3}, silent_s=60.0)
    with started(here, "--listen", "0", config=config) as manager:
        url = json.loads(testing.line(manager))["url"]
        assert until(lambda: here.quota() == pytest.approx(0.3))
        config.write_text(config.read_text().replace("0.3", "0.6"))
        manager.send_signal(signal.SIGHUP)
        assert until(lambda: here.quota() == pytest.approx(0.6))
        with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310  # its own
            lines = answer.read().decode().splitlines()
        assert 'sojourn_manage_changes_total{group="batch",knob="quota"} 2' in lines
        config.write_text("controller = ")
        manager.send_signal(signal.SIGHUP)
        assert until(lambda: "reload refused" in [e["event"] for e in here.events()])
        assert here.quota() == pytest.approx(0.6)
        manager.terminate()
        assert manager.wait(20) == 0
    assert here.quota() is None


def test_once_explains_and_a_dry_run_changes_nothing(here: Stand) -> None:
    before = here.snapshot()
    config = here.config("static", constants={"quota": 0.3}, silent_s=60.0)
    argv = [sys.executable, "-m", "sojourn", "manage", "--config", str(config), "--once"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    table = json.loads(done.stdout)
    assert table["changes"][0]["level"] == 0.3
    assert table["look"]["groups"]["web"]["signals"]["runq_delay_ms"]["value"] == 0.0
    with started(here, "--dry-run", config=config) as manager:
        alone, line = (json.loads(testing.line(manager)) for _ in range(2))
        manager.terminate()
        assert manager.wait(20) == 0
    assert alone["how"] == "not measured, because a dry run caps nothing"
    assert (line["event"], line["after"], line["in_force"]) == ("recommend", 0.3, None)
    assert here.snapshot() == before


def test_what_the_controller_needs_is_refused_before_anything_is_changed(here: Stand) -> None:
    before = here.snapshot()
    with pytest.raises(HostFault, match="heracles needs the service's load") as caught:
        played(here, [], "heracles")
    assert caught.value.fix == "give the group peak_rps"
    assert here.snapshot() == before
