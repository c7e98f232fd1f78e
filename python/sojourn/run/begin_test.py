"""What a knob learns at the beginning of a life, and why a service is not ready."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.errors import HostFault, RunFault
from sojourn.host import Placement
from sojourn.knobs import Offered
from sojourn.places import Address, proc
from sojourn.places.place import Place
from sojourn.places.process_end import Ended
from sojourn.run import begin
from sojourn.run.begin import let_know
from sojourn.run.live import RunningService
from sojourn.services.kind import Start
from sojourn.services.null import Null


def test_a_level_that_is_refused_beside_others_is_a_fault_of_the_point() -> None:
    reports = []

    def among(label: str, offered: Mapping[str, Offered]) -> None:
        reports.append((label, offered))
        if len(offered) > 1:
            raise HostFault("the kernel refuses 95 %", at="a.rt_quota", fix="ask for less")

    live: Any = SimpleNamespace(label="a", knobs={"rt_quota": SimpleNamespace(among=among)})
    both = {"a": Offered(load=0.5), "b": Offered(load=0.5)}
    let_know(live, "rt_quota", {})
    with pytest.raises(RunFault, match="refuses 95") as caught:
        let_know(live, "rt_quota", both)
    assert (caught.value.at, caught.value.fix) == ("a.rt_quota", "ask for less")
    assert reports == [("a", {}), ("a", both)]


@pytest.fixture(name="live")
def _live(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RunningService:
    """A service that never answers, of which this process is the only one."""
    monkeypatch.setattr(Null, "ready", lambda *_: False)
    monkeypatch.setattr(Place, "start_s_max", 0.05)
    where = Placement(server=(0,), client=(0,), housekeeping=(0,), client_wait="sleep", shared=())
    live = RunningService(
        label="web", life="", service=Null(), placement=where, work=tmp_path, argv=("web",)
    )
    monkeypatch.setattr(RunningService, "members", lambda _: (proc.stat(os.getpid()),))
    live.process = SimpleNamespace(pid=os.getpid(), poll=lambda: None)  # type: ignore[assignment]
    return live


@pytest.mark.parametrize("host", ["::1", "::", "127.0.0.2"])
def test_a_service_that_listens_at_another_address_is_shown_where(
    live: RunningService, host: str
) -> None:
    """The fault had only the last words of a server that was well."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, 0), family=family)
    except OSError as error:
        pytest.skip(f"{host}: {error}")
    with listening:
        port = listening.getsockname()[1]
        live.address = Address("127.0.0.1", port)
        with pytest.raises(RunFault, match="because it listens at") as caught:
            begin._is_ready(live, Start(program=Path("web"), ready_s=0.001))
    shown = f"[{host}]" if ":" in host else host
    assert f"{shown}:{port}" in caught.value.what
    assert f"let it listen at 127.0.0.1:{port}" in caught.value.fix


def test_one_that_listens_there_and_says_nothing_did_not_answer(live: RunningService) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        live.address = Address("127.0.0.1", listening.getsockname()[1])
        with pytest.raises(RunFault, match="did not answer within 0 s"):
            begin._is_ready(live, Start(program=Path("web"), ready_s=0.001))


@pytest.mark.parametrize(("status", "is_advised"), [(0, True), (1, False), (-9, False)])
def test_one_that_goes_to_the_background_is_advised_to_stay(
    live: RunningService, status: int, *, is_advised: bool
) -> None:
    ended = Ended(status=status, cpu_s=0.0, rss_kb_max=0, is_clean=True)
    live.process = SimpleNamespace(pid=1, poll=lambda: ended)  # type: ignore[assignment]
    with pytest.raises(RunFault, match="before it answered") as caught:
        begin._is_ready(live, Start(program=Path("web"), ready_s=60.0))
    assert ("in the foreground" in caught.value.fix) is is_advised


def test_a_secret_that_a_service_prints_is_in_no_record(
    live: RunningService, tmp_path: Path
) -> None:
    live.start = Start(program=Path("web"), secrets=("hunter2-very-secret",))
    live.log.write_text("API_KEY=hunter2-very-secret\nlistening\n")
    point = tmp_path / "point"
    point.mkdir()
    live.keep_log(point)
    assert (point / "service.log").read_text() == "API_KEY=***\nlistening\n"
    assert live.last_words() == "API_KEY=*** | listening"
