"""The life of a process, and above all its end. Small scripts stand in for servers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from sojourn.errors import RunFault
from sojourn.places import proc, process, process_end, users
from sojourn.places.process import Process

GONE_S_MAX = 300.0
PYTHON = (sys.executable, "-I", "-S", "-u", "-c")


class Notes:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.open: dict[int, int] = {}

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        entry = len(self.open) + 1
        self.open[entry] = pid
        assert start_ticks > 0
        return entry

    def undone(self, entry: int) -> None:
        del self.open[entry]


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def start(tmp_path: Path, notes: Notes) -> Iterator[Callable[..., Process]]:
    """Start a Python script as a process of the lab; ended after the test."""
    started: list[Process] = []

    def run(script: str, **options: object) -> Process:
        log = tmp_path / "log"
        words = [*PYTHON, textwrap.dedent(script)]
        options = {"cwd": tmp_path, "ledger": notes, "log": log, **options}
        made = process.start("script", words, **options)  # type: ignore[arg-type]
        started.append(made)
        return made

    yield run
    for made in started:
        made.stop(term_s=0.0)


def eventually(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + GONE_S_MAX
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    seen = proc.stat(pid)
    return seen is not None and seen.state != "Z"


def numbers(path: Path, count: int) -> list[int]:
    """Wait for a script to write down that many process numbers."""
    eventually(lambda: path.exists() and len(path.read_text().split()) >= count, f"{path}")
    return [int(word) for word in path.read_text().split()]


def test_exit_status_and_log_are_kept(
    start: Callable[..., Process], notes: Notes, tmp_path: Path
) -> None:
    made = start("import sys; print('out of memory', file=sys.stderr); sys.exit(7)")
    ended = made.poll(GONE_S_MAX)
    assert ended is not None
    assert (ended.status, ended.text, ended.is_clean) == (7, "ended with exit status 7", True)
    assert process_end.last_words(tmp_path / "log") == "out of memory"
    assert notes.open == {}


def test_one_that_ends_before_the_lab_looks_is_noted_and_crossed_out(
    start: Callable[..., Process], notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    hear = Process._hear

    def late(self: Process, within_s: float) -> Mapping[str, object] | None:
        words = hear(self, within_s)
        if words is not None and words["event"] == "started":
            pid = int(str(words["pid"]))
            eventually(lambda: proc.stat(pid) is None, "it does not end")
        return words

    monkeypatch.setattr(Process, "_hear", late)
    ended = start("import sys; sys.exit(7)").poll(GONE_S_MAX)
    assert ended is not None
    assert ended.status == 7
    assert notes.open == {}


def test_a_signal_that_kills_is_named(start: Callable[..., Process]) -> None:
    made = start("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    ended = made.poll(GONE_S_MAX)
    assert ended is not None
    assert ended.text == "was killed by SIGSEGV"


def test_it_runs_in_a_session_of_its_own_and_is_noted(
    start: Callable[..., Process], notes: Notes
) -> None:
    made = start("import time; time.sleep(600)")
    seen = proc.stat(made.pid)
    assert seen is not None
    assert seen.session == made.pid
    assert list(notes.open.values()) == [made.pid]
    assert made.poll() is None


def test_children_with_sessions_of_their_own_are_members_too(
    start: Callable[..., Process],
) -> None:
    made = start(
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            os.fork()
        time.sleep(60)
        """
    )
    eventually(lambda: len(proc.session(made.pid)) == 3, "as PostgreSQL's are")


def test_what_it_leaves_is_gone_when_it_has_ended_and_no_dead_process(
    start: Callable[..., Process], tmp_path: Path
) -> None:
    """A program that makes a daemon and ends it waits until its number is free."""
    made = start(
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            if (pid := os.fork()) == 0:
                time.sleep(600)
            print(pid)
            os._exit(0)
        os.wait()
        time.sleep(600)
        """
    )
    (daemon,) = numbers(tmp_path / "log", 1)
    os.kill(daemon, signal.SIGKILL)
    eventually(lambda: proc.stat(daemon) is None, "its number is free")
    assert made.poll() is None


def test_what_it_leaves_does_not_take_the_place_of_its_own_status(
    start: Callable[..., Process],
) -> None:
    made = start(
        """
        import os
        for _ in range(30):
            if os.fork() == 0:
                if os.fork() == 0:
                    os._exit(3)
                os._exit(0)
        while True:
            try:
                os.wait()
            except ChildProcessError:
                os._exit(7)
        """
    )
    ended = made.poll(GONE_S_MAX)
    assert ended is not None
    assert (ended.status, ended.is_clean) == (7, True)


def test_stop_asks_first(start: Callable[..., Process], tmp_path: Path) -> None:
    made = start("""
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
        open("ready", "w").write("1")
        time.sleep(600)
    """)
    numbers(tmp_path / "ready", 1)
    assert made.stop(term_s=GONE_S_MAX).status == 3


@pytest.mark.parametrize("kind", ["deaf", "stopped"])
def test_stop_kills_what_does_not_listen(
    start: Callable[..., Process], tmp_path: Path, kind: str
) -> None:
    made = start("""
        import signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open("ready", "w").write("1")
        while True: time.sleep(1)
    """)
    numbers(tmp_path / "ready", 1)
    if kind == "stopped":
        os.kill(made.pid, signal.SIGSTOP)
    assert made.stop(term_s=0.05).text == "was killed by SIGKILL"


def test_children_go_with_it_even_those_that_left_its_session(
    start: Callable[..., Process], tmp_path: Path
) -> None:
    made = start("""
        import os, time
        if os.fork() == 0:
            if os.fork() == 0:
                os.setsid()
            open("pids", "a").write(f"{os.getpid()} ")
            time.sleep(600)
        time.sleep(600)
    """)
    children = numbers(tmp_path / "pids", 2)
    ended = made.stop(term_s=1.0)
    assert ended.is_clean
    assert not any(is_alive(pid) for pid in children)


def test_the_death_of_its_first_process_ends_all(
    start: Callable[..., Process], tmp_path: Path
) -> None:
    made = start("""
        import os, time
        if os.fork() == 0:
            open("pids", "a").write(f"{os.getpid()} ")
            time.sleep(600)
        time.sleep(600)
    """)
    (child,) = numbers(tmp_path / "pids", 1)
    os.kill(made.pid, signal.SIGKILL)
    assert made.poll(GONE_S_MAX) is not None
    assert not is_alive(child)


def test_a_killed_warden_takes_it_along(
    start: Callable[..., Process], notes: Notes, tmp_path: Path
) -> None:
    made = start("""
        import os, time
        if os.fork() == 0:
            open("pids", "a").write(f"{os.getpid()} ")
        time.sleep(600)
    """)
    (child,) = numbers(tmp_path / "pids", 1)
    seen = proc.stat(made.pid)
    assert seen is not None
    os.kill(seen.parent, signal.SIGKILL)
    eventually(lambda: not is_alive(made.pid), "the server outlived its warden")
    ended = made.poll(GONE_S_MAX)
    assert ended is not None
    assert ended.text == "was killed by SIGKILL"
    assert not is_alive(child), (
        "the parent-death signal reaches one process; the lab looks for more"
    )
    assert notes.open == {}


LAB = """
import os, sys, time
from pathlib import Path
from sojourn.places import process

class Notes:
    def started(self, what, pid, start_ticks): return 1
    def undone(self, entry): pass

here = Path(sys.argv[1])
script = '''
import os, time, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0: os.setsid()
open("pids", "a").write(f"{os.getpid()} ")
while True: time.sleep(1)
'''
words = [sys.executable, "-I", "-S", "-c", script]
made = process.start("server", words, cwd=here, ledger=Notes(), log=here / "log")
time.sleep(600)
"""


def test_nothing_outlives_a_lab_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", LAB, str(tmp_path)]) as lab:
        try:
            servers = numbers(tmp_path / "pids", 2)
            assert all(is_alive(pid) for pid in servers)
        finally:
            lab.kill()
    for pid in servers:
        eventually(lambda pid=pid: not is_alive(pid), f"{pid} outlived the lab")  # type: ignore[misc]


def test_what_cannot_be_started_says_why(tmp_path: Path, notes: Notes) -> None:
    with pytest.raises(RunFault, match="No such file"):
        process.start("x", [tmp_path / "none"], cwd=tmp_path, ledger=notes, log=tmp_path / "log")
    with pytest.raises(RunFault, match=r"be put on CPUs \[4095\]"):
        process.start(
            "x", ["/bin/true"], cwd=tmp_path, ledger=notes, log=tmp_path / "log", cpus=[4095]
        )
    assert notes.open == {}


def test_it_is_put_on_its_cpus(start: Callable[..., Process]) -> None:
    cpu = max(os.sched_getaffinity(0))
    made = start("import time; time.sleep(600)", cpus=[cpu])
    assert os.sched_getaffinity(made.pid) == {cpu}


@pytest.mark.privileged
def test_it_is_put_into_its_groups_before_it_is_the_program(
    start: Callable[..., Process], tmp_path: Path
) -> None:
    """The group is a folder that represents the kernel's (a fake)."""
    group = tmp_path / "group"
    group.mkdir()
    made = start("pass", groups=[group])
    made.poll(GONE_S_MAX)
    assert (group / "cgroup.procs").read_text() == "0"  # whoever writes it
    with pytest.raises(RunFault) as caught:
        start("pass", groups=[tmp_path / "none"])
    assert f"cannot enter the control group {tmp_path / 'none'}" in caught.value.what


def test_root_runs_servers_as_the_user_nobody(notes: Notes, tmp_path: Path) -> None:
    user = users.server_user()
    if user is None:
        pytest.skip("needs root and the right to change users")
    log, root = tmp_path / "log", Path("/")
    words = ["/bin/sleep", "600"]
    made = process.start("sleep", words, cwd=root, ledger=notes, log=log, user=user)
    try:
        status = Path(f"/proc/{made.pid}/status").read_text()
        assert f"Uid:\t{user.uid}\t{user.uid}\t{user.uid}\t{user.uid}" in status
        for rights in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert f"{rights}:\t0000000000000000" in status, status
        assert "NoNewPrivs:\t1" in status
    finally:
        assert made.stop().status == -signal.SIGTERM


def test_its_environment_is_small_and_not_shown_to_others(
    start: Callable[..., Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "correct horse battery staple")
    made = start("import time; time.sleep(600)")
    seen = proc.stat(made.pid)
    assert seen is not None
    for pid in (made.pid, seen.parent):
        shown = (
            Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
        )
        assert b"PATH=" in shown
        assert b"horse" not in shown


def test_only_the_program_has_its_variables(start: Callable[..., Process]) -> None:
    """Every user reads command lines; the kernel keeps an environment from others."""
    hidden = "hunter2-very-secret"
    made = start("import time; time.sleep(600)", variables={"API_KEY": hidden})
    seen = proc.stat(made.pid)
    assert seen is not None
    assert f"API_KEY={hidden}\0".encode() in Path(f"/proc/{made.pid}/environ").read_bytes()
    assert Path(f"/proc/{made.pid}/environ").stat().st_mode & 0o077 == 0
    assert hidden.encode() not in Path(f"/proc/{seen.parent}/environ").read_bytes()
    for pid in (made.pid, seen.parent):
        assert hidden.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_program_that_has_ended_takes_no_signal(start: Callable[..., Process]) -> None:
    made = start("")
    assert made.poll(GONE_S_MAX) is not None
    made.send(signal.SIGTERM)
    assert made.stop().status == 0


def test_descriptors_of_the_lab_do_not_leak_into_it(
    start: Callable[..., Process], tmp_path: Path
) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context((tmp_path / "secret").open("w"))
        start("""
            import os, time
            links = []
            for fd in os.listdir("/proc/self/fd"):
                try: links.append(os.readlink(f"/proc/self/fd/{fd}"))
                except OSError: pass
            open("part", "w").write(chr(10).join(links))
            os.rename("part", "links")
            time.sleep(600)
        """)
        eventually((tmp_path / "links").exists, "no list of descriptors")
    links = (tmp_path / "links").read_text()
    assert "secret" not in links
    assert "socket:" not in links
