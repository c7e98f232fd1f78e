"""Root without capabilities, as in a container that Docker or Podman starts."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.places import owner

USER = 61_999
SERVER = """
import os, socket, sys, time
made = socket.create_server(("127.0.0.1", 0))
print(os.fstat(made.fileno()).st_ino, flush=True)
time.sleep(600)
"""
#: What a lab does, and what it is afterwards.
LAB = """
import json, os, sys
from sojourn.places import owner
pid, cpu = map(int, sys.argv[1:])
try:
    os.sched_setaffinity(pid, {cpu})
    refused = False
except PermissionError:
    refused = True
files = owner.open_files(pid)
owner.place(pid, {cpu})
own = {line.split()[0]: line.split()[1:] for line in open("/proc/self/status") if line.strip()}
print(json.dumps({"refused": refused, "files": files, "own": own}))
"""


@pytest.fixture
def server() -> Iterator[tuple[int, str]]:
    """A process of another user, and the socket that it has."""
    words = [sys.executable, "-I", "-S", "-c", SERVER]
    user = {"user": USER, "group": USER, "extra_groups": ()}
    words[0] = shutil.which("python3", path="/usr/bin") or sys.executable
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **user) as made:  # type: ignore[call-overload]
        assert made.stdout is not None
        yield made.pid, f"socket:[{int(made.stdout.readline())}]"
        made.kill()


@pytest.mark.privileged
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: another user's process")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_root_of_a_plain_container_sees_and_places_what_it_started(
    server: tuple[int, str],
) -> None:
    pid, link = server
    cpu = max(os.sched_getaffinity(0))
    drop = "-sys_ptrace,-sys_nice"
    words = ["setpriv", f"--bounding-set={drop}", f"--inh-caps={drop}"]
    words += [sys.executable, "-c", LAB, str(pid), str(cpu)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    seen: dict[str, Any] = json.loads(done.stdout)
    assert seen["refused"], "the kernel refuses it to this root"
    assert link in seen["files"]
    assert os.sched_getaffinity(pid) == {cpu}
    own = seen["own"]
    assert (own["Uid:"], own["Gid:"]) == (["0"] * 4, ["0"] * 4), "it is root again"
    assert own["CapEff:"] == own["CapPrm:"]


def test_what_is_open_here_is_seen() -> None:
    with Path("/proc/self/status").open() as file:
        assert f"/proc/{os.getpid()}/status" in (owner.open_files(os.getpid()) or [])
        assert file.readable()
    assert owner.open_files(2**22 + 1) == []


def test_a_user_becomes_no_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, os.strerror(1))

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(owner, "_become", lambda _: pytest.fail("it became another"))
    with pytest.raises(PermissionError):
        owner.place(os.getpid(), {0})


def test_on_another_kind_of_cpu_the_refusal_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "pdp11")
    with pytest.raises(PermissionError):
        owner._become(os.geteuid())
