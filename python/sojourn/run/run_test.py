"""Small parts of `run`: files, signals, placement, jobs."""

from __future__ import annotations

import errno
import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from sojourn import disk, host, services
from sojourn.errors import RunFault
from sojourn.places.users import User
from sojourn.plan import Phase, Point
from sojourn.run import session, signals, work
from sojourn.run.execute import job as job_of
from sojourn.run.journal import Journal
from sojourn.run.live import RunningService
from sojourn.services import Allowance
from sojourn.services.capabilities import Prepares, Slow
from sojourn.services.null import Null
from sojourn.spec import ServiceSpec, form
from sojourn.spec.profiles import PROFILES
from sojourn.testing_questions import PLANS, catalogue

Host = Callable[[str], Path]


def spec(kind: str = "null", **inputs: object) -> ServiceSpec:
    return ServiceSpec.model_validate({"kind": kind, "measure": ["sweep"], **inputs})


def point(**inputs: object) -> Point:
    usual: dict[str, object] = {
        "key": "null/sweep/b0/f0.50",
        "service": "null",
        "phase": Phase.SWEEP,
        "offered_rps": 1234.5,
        "measure_s": 2.0,
        "warmup_s": 0.5,
        "seed": 7,
    }
    return Point(**(usual | inputs))  # type: ignore[arg-type]


def test_a_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk.keep_json(tmp_path / "a.json", {"n": 1})

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunFault, match="disk is full"):
        disk.keep_json(tmp_path / "a.json", {"n": 2})
    assert json.loads((tmp_path / "a.json").read_text()) == {"n": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.fixture
def signals_end() -> Iterator[None]:
    """Every ending signal has its default effect, also where the tests run with them ignored."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in signals.ENDING}
    yield
    for number, old in before.items():
        signal.signal(number, old)


@pytest.mark.usefixtures("signals_end")
@pytest.mark.parametrize("number", signals.ENDING)
def test_each_ending_signal_raises_once_and_cleaning_is_deaf(number: signal.Signals) -> None:
    before = signal.getsignal(number)

    def lab() -> None:
        with signals.ending_in_order():
            try:
                os.kill(os.getpid(), number)
                signal.pause()
            finally:
                os.kill(os.getpid(), number)  # the second ^C of somebody in a hurry
                cleaned.append(number)
                with signals.deaf():
                    os.kill(os.getpid(), number)

    cleaned: list[int] = []
    with pytest.raises(signals.Interrupted):
        lab()
    assert cleaned == [number]
    assert signal.getsignal(number) is before


@pytest.mark.usefixtures("signals_end")
@pytest.mark.parametrize("number", signals.ENDING)
def test_a_signal_that_was_put_off_is_obeyed_also_where_a_start_fails(
    number: signal.Signals,
) -> None:
    """A ^C while a server did not start was lost, and the study went on with its next point."""

    def start() -> None:
        with signals.deaf():
            os.kill(os.getpid(), number)
            raise RunFault("memcached cannot be started", at="memcached", fix="try it by hand")

    with pytest.raises(signals.Interrupted) as caught, signals.ending_in_order():
        start()
    assert isinstance(caught.value.__context__, RunFault)


@pytest.mark.usefixtures("signals_end")
def test_a_signal_that_was_put_off_is_obeyed_afterwards() -> None:
    done: list[str] = []

    def lab() -> None:
        with signals.ending_in_order():
            with signals.deaf():
                os.kill(os.getpid(), signal.SIGTERM)
                done.append("stopped and crossed out")
            done.append("went on")

    with pytest.raises(signals.Interrupted) as caught:
        lab()
    assert caught.value.number == signal.SIGTERM
    assert done == ["stopped and crossed out"]


def test_every_profile_has_a_scale() -> None:
    assert set(session.SCALE) == set(PROFILES)
    assert session.SCALE["full"] == 1.0


def test_a_service_gets_the_cpus_it_wants_threads(fake_host: Host) -> None:
    facts = host.read(fake_host("big_server"))
    usual = session.placement(spec("memcached"), facts)
    assert (len(usual.server), len(usual.client)) == (7, 3)
    few = session.placement(spec("nginx", params={"workers": 2}), facts)
    assert (len(few.server), len(few.client)) == (2, 1)
    one = session.placement(spec("synthetic", params={"servers": 8}), facts)
    assert len(one.server) == 1


def test_clients_of_services_at_once_are_on_nobodys_server(
    fake_host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone too, where it is measured to be compared with that."""
    facts = host.read(fake_host("big_server"))
    one, two = spec(label="one", load={"threads": 3}), spec(label="two", knobs={"cpuset": "9"})
    study = form.current().study.model_validate(
        {
            "name": "s",
            "question": "?",
            "run": PROFILES["quick"].model_dump(),
            "services": [dict(one), dict(two)],
            "together": {"one": [0.3], "two": [0.3]},
        }
    )
    null = services.build("null", {}, Allowance(cpus=1, memory_bytes=1 << 30))
    monkeypatch.setattr(session, "settle", lambda s, *_: (null, session.placement(s, facts)))
    lab = session.Session(facts, catalogue=catalogue())
    monkeypatch.setattr(lab, "_folder", lambda *_: tmp_path)
    lab.journal = Journal.create(tmp_path / "state")

    def clients(phase: Phase, *labels: str) -> list[tuple[int, ...]]:
        first, *others = (PLANS.stated(point(service=label, phase=phase)) for label in labels)
        served = lab.services(study, replace(first, beside=tuple(others)))
        assert labels == ("one",) or served[-1].live.placement.server == (9,)
        return [result.live.placement.client for result in served]

    assert 9 in clients(Phase.SWEEP, "one")[0]
    (own,) = clients(Phase("together"), "one")
    both = clients(Phase("together"), "one", "two")
    assert 9 not in own
    assert len(own) == 3
    assert both[0] == own
    lab.journal.close()


@dataclass(frozen=True, slots=True)
class Filled(Null, Prepares):
    """Holds as many rows as it has CPUs, and knows what it prepared."""

    rows: int = 1
    made: list[str] = field(default_factory=list, compare=False)

    def prepare(self, work: Path) -> None:
        (work / "rows").write_text(str(self.rows))
        self.made.append("rows")


def test_data_files_are_those_of_the_level_and_what_prepared_them_serves(
    fake_host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = host.read(fake_host("big_server"))
    inputs = {"name": "s", "question": "?", "run": PROFILES["quick"].model_dump()}
    monkeypatch.setattr(
        session,
        "settle",
        lambda s, *_: (Filled(int(s.cores or 1)), session.placement(s, facts)),
    )
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    lab = session.Session(facts, catalogue=catalogue())
    lab.journal = Journal.create(tmp_path / "state")
    folders: list[Path] = []
    levels: tuple[tuple[int, dict[str, str]], ...] = ((1, {}), (2, {}), (1, {"wait": "sleep"}))
    for rows, load in levels:
        one = dict(spec(cores=rows, load=load))
        study = form.current().study.model_validate({**inputs, "services": [one]})
        (served,) = lab.services(study, PLANS.stated(point()))
        live = served.live
        assert isinstance(live.service, Filled)
        assert (live.service.rows, live.service.made) == (rows, ["rows"])
        assert (live.work / "rows").read_text() == str(rows)
        folders.append(live.work)
        lab.end()
    assert folders[0] == folders[2] != folders[1]
    lab.__exit__(None, None, None)
    assert not any(folder.exists() for folder in folders)
    lab.journal.close()


class Late(Null, Slow):
    """No service, whose replies may take long."""

    def reply_s(self) -> float:
        return 120.0


def test_the_point_beats_the_study_and_the_study_the_machine(
    fake_host: Host, tmp_path: Path
) -> None:
    facts = host.read(fake_host("two_cpus"))
    asked = spec(load={"connections": 64, "wait": "sleep"})
    service = services.build("null", {}, Allowance(cpus=1, memory_bytes=1 << 30))
    live = RunningService(
        label="null",
        life="null/sweep/0",
        service=service,
        placement=session.placement(asked, facts),
        work=tmp_path,
    )
    job = job_of(live, asked, point(overrides=(("connections", 1),)), tmp_path, raw_max=0)
    assert job["cpus"] == "0"
    assert job["wait"] == "sleep"
    assert job["connections"] == 1
    assert (job["rate"], job["duration"], job["warmup"], job["seed"]) == ("1234.5", "2s", "0.5s", 7)
    assert "raw" not in job
    assert job["timeout"] == "1000000000ns"
    bound = job_of(live, asked, point(overrides=(("qos_bound", "0.5s"),)), tmp_path, raw_max=0)
    assert bound["timeout"] == "5000000000ns"
    patient = spec(load={"timeout": "9s"})
    assert job_of(live, patient, point(), tmp_path, raw_max=0)["timeout"] == "9s"
    closed = job_of(live, asked, point(offered_rps=None), tmp_path, raw_max=9)
    assert "rate" not in closed
    stepped = job_of(live, spec(shape="steps:2@1s,0.5@9s"), point(), tmp_path, raw_max=0)
    assert stepped["rate"] == "steps:2469@1s,617.25@9s", "levels are shares of the point's load"
    assert closed["raw"] == str(tmp_path / "raw.parquet")
    live.service = Late()
    late = job_of(live, asked, point(), tmp_path, raw_max=0)
    assert late["timeout"] == "120000000000ns"


def test_the_servers_user_can_enter_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(closed))
    assert work.base(None) == closed
    user = User("nobody", 65534, 65534)
    assert work.base(user) != closed
