"""The tracer as window source: it ends with its reader, or starts again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.controllers.look import Window
from sojourn.errors import HostFault, SpecFault
from sojourn.manage import config, tracer
from sojourn.manage.systemd import unit
from sojourn.manage.testing import until
from sojourn.manage.tracer import Tracer
from sojourn.places import proc

LINE = {"length_ms": 40, "n": 800, "p99_ns": 310000, "lo_ns": 2e5, "hi_ns": 4e5, "above": 2}
#: A tracer of its own: says what it was asked, that it traces, and a window each 20 ms.
FAKE = f"""#!{sys.executable} -IS
import json, os, sys, time
with open(os.environ["FAKE_ASKED"], "a") as file:
    file.write(json.dumps([os.getpid(), *sys.argv[1:]]) + "\\n")
mode = os.environ.get("FAKE_MODE", "")
if mode == "refuses":
    sys.exit("error: no right to trace")
print("note: users may notice", file=sys.stderr)
print("tracing web (pid 1), 6h", file=sys.stderr, flush=True)
for number in range(3 if mode == "ends" else 10**6):
    print({json.dumps(json.dumps(LINE))}, flush=True)
    time.sleep(0.02)
sys.exit("error: process 1 ended")
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A made-up tracer; what it was asked, a line for each start."""
    fake = tmp_path / "sojourn-trace"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    monkeypatch.setattr(programs, "find", lambda _name, **_more: fake)
    monkeypatch.setenv("FAKE_ASKED", str(tmp_path / "asked"))
    yield tmp_path / "asked"
    for line in starts(tmp_path / "asked"):
        assert not lives(int(str(line[0]))), "a tracer is left"


def starts(asked: Path) -> list[list[object]]:
    return [json.loads(line) for line in asked.read_text().splitlines()] if asked.exists() else []


def lives(pid: int) -> bool:
    """Whether it runs; a container's first process may never take note of an orphan's end."""
    seen = proc.stat(pid)
    return seen is not None and seen.state != "Z"


def new(*pids: int, cost: str = "2%", ports: tuple[int, ...] = ()) -> Tracer:
    return Tracer(pids=lambda: pids, service="web", target_ns=1e6, cost=cost, ports=ports)


def came(one: Tracer, t_s: float) -> bool:
    """Read; whether a window has come by now."""
    one.read(t_s)
    return bool(one.windows("web", t_s))


def test_its_windows_are_those_that_it_prints(asked: Path) -> None:
    one = new(4711, ports=(80, 81))
    one.open()
    assert until(lambda: came(one, 5.0))
    window, *_ = one.windows("web", 5.0)
    assert window == Window.model_validate(LINE)
    assert one.windows("db", 5.0) == ()
    ((_, *words),) = starts(asked)
    assert words[:2] == ["--pid", "4711"]
    assert words[words.index("--cost") + 1] == "2%"
    assert words[words.index("--bound") + 1] == "1000000ns"
    assert [words[at + 1] for at, word in enumerate(words) if word == "--port"] == ["80", "81"]
    one.close()


def test_all_requests_are_traced_where_that_is_asked(asked: Path) -> None:
    one = new(4711, cost="all")
    one.open()
    one.close()
    assert "--all" in starts(asked)[0]
    assert "--cost" not in starts(asked)[0]


def test_one_that_cannot_trace_is_refused_with_what_it_says(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MODE", "refuses")
    with pytest.raises(HostFault, match="no right to trace") as caught:
        new(4711).open()
    assert "--pid 4711" in caught.value.at
    assert len(starts(asked)) == 1
    with pytest.raises(HostFault, match="no process of web"):
        new().open()


def test_one_that_ended_is_started_again_and_is_silent_meanwhile(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MODE", "ends")
    one, t_s = new(4711), 0.0
    one.open()

    def look() -> bool:
        nonlocal t_s
        t_s += 0.1
        one.read(t_s)
        return len(starts(asked)) >= 3

    assert until(look)
    assert "process 1 ended" in one.why
    assert one.starts >= 3
    one.close()


@pytest.mark.parametrize("damage", [Path.unlink, lambda fake: fake.write_bytes(b"\x7fELF")])
def test_a_program_that_cannot_be_started_is_a_fault_first_and_silence_later(
    damage: Callable[[Path], object], asked: Path
) -> None:
    fake = asked.with_name("sojourn-trace")
    one = Tracer(lambda: (os.getpid(),), "web", 1e6, "2%")
    one.open()
    text = fake.read_text()
    damage(fake)
    try:
        os.kill(int(str(starts(asked)[0][0])), signal.SIGKILL)
        t_s = 0.0

        def look() -> Tracer:
            nonlocal t_s
            t_s += 1
            one.read(t_s)
            return one

        assert until(lambda: look()._task is None)
        assert all(look()._task is None for _ in range(3)), "it is gone, and the manager is not"
        with pytest.raises(HostFault, match="cannot be started"):
            one.open()
        fake.unlink(missing_ok=True)
        fake.write_text(text)
        fake.chmod(0o755)
        assert until(lambda: look().starts == 2), "it is whole"
    finally:
        one.close()


def test_a_service_that_is_gone_means_silence_and_no_fault(asked: Path) -> None:
    pids: list[int] = [4711]
    one = Tracer(pids=lambda: tuple(pids), service="web", target_ns=1e6, cost="2%")
    one.open()
    assert until(lambda: came(one, 1.0)), "a window, before which it may not be ended"
    pids.clear()
    os.kill(int(str(starts(asked)[0][0])), signal.SIGKILL)
    assert until(lambda: came(one, 1.0) and one._task is None)
    one.read(3.0)
    one.read(5.0)
    assert len(starts(asked)) == 1
    pids.append(4712)
    one.read(7.0)
    assert until(lambda: len(starts(asked)) == 2), "the service is back"
    one.close()


def test_a_tracer_ends_with_a_manager_that_is_killed(asked: Path) -> None:
    code = (
        "import time; from sojourn import programs; from sojourn.manage.tracer import Tracer\n"
        f"programs.find = lambda _name, **_more: {str(asked.with_name('sojourn-trace'))!r}\n"
        "one = Tracer(pids=lambda: (1,), service='web', target_ns=1e6, cost='2%')\n"
        "one.open(); print('open', flush=True); time.sleep(600)\n"
    )
    manager = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert manager.stdout is not None
    with manager, manager.stdout as pipe:
        assert pipe.readline() == b"open\n"
        pid = int(str(starts(asked)[0][0]))
        assert lives(pid)
        manager.kill()
        assert until(lambda: not lives(pid))


@pytest.mark.parametrize(
    ("windows", "more", "what"),
    [
        ('tracer = "all"\nfile = "/x"', "", "from one of them"),
        ('tracer = "60%"', "", "from .0.1%. to"),
        ('tracer = "2%"\nports = [0]', "", "ports.0"),
        ("ports = [80]", "", "ports are of the tracer"),
        ('tracer = "2%"', "silent_s = 2.0", "silent_s is at least 5"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(
    tmp_path: Path, windows: str, more: str, what: str
) -> None:
    with pytest.raises(SpecFault, match=what):
        config.read(configured(tmp_path, windows, more))


def configured(folder: Path, windows: str, more: str = "silent_s = 6.0") -> Path:
    path = folder / "manage.toml"
    path.write_text(
        f'controller = "posterior"\n{more}\n[windows]\n{windows}\n'
        '[groups.web]\nrole = "latency-critical"\ntarget = "1ms"\ncgroup = "/web"\n'
        '[groups.batch]\nrole = "best-effort"\ncgroup = "/batch"\n'
    )
    return path


def test_a_unit_with_a_tracer_has_its_rights_and_one_without_has_none(tmp_path: Path) -> None:
    path = configured(tmp_path, 'tracer = "2%"\nports = [80]')
    text = unit(path, config.read(path), "")
    assert "CapabilityBoundingSet=CAP_BPF CAP_PERFMON CAP_NET_ADMIN CAP_SYS_PTRACE\n" in text
    assert "PrivateNetwork=no" in text
    assert "bpf perf_event_open" in text
    plain = configured(tmp_path, 'file = "/run/web"')
    assert "CapabilityBoundingSet=\n" in unit(plain, config.read(plain), "")


def test_a_process_that_started_the_others_comes_first() -> None:
    assert tracer.first((30, 20, 10), {10: 20, 20: 1, 30: 20}.__getitem__) == (20, 10, 30)
