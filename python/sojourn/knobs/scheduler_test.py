"""Schedulers of sched_ext, by a made-up kernel of some files and a program that writes them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.host.tree import Tree
from sojourn.knobs import KINDS, Asked, Turned, scheduler
from sojourn.knobs.policy import Policy
from sojourn.knobs.testing import MemoryBook, put

SYS_ADMIN, PERFMON, BPF = 21, 38, 39  # include/uapi/linux/capability.h
#: What the kernel and a scheduler's program do, as far as files tell; `at` holds the machine.
PROGRAM = """#!/bin/sh
at={at}
printf '%s\\n' "$2" >> $at/asked
if [ -e $at/refuses ]; then echo "error: not today" >&2; exit 2; fi
trap 'echo disabled > $at{folder}/state; : > $at{folder}/root/ops; exit 0' TERM
echo sojourn_bvt > $at{folder}/root/ops
echo enabled > $at{folder}/state
while :; do sleep 0.02; done
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    put(tmp_path, f"{scheduler.FOLDER}/state", "disabled")
    put(tmp_path, f"{scheduler.FOLDER}/root/ops", "")
    program = tmp_path / "sojourn-sched"
    program.write_text(PROGRAM.format(at=tmp_path, folder=scheduler.FOLDER))
    program.chmod(0o755)
    monkeypatch.setattr(programs, "find", lambda name, **_: program)
    reign = scheduler._Reign()
    monkeypatch.setattr(scheduler, "_REIGN", reign)
    yield tmp_path
    reign.stop()


@pytest.fixture
def server() -> Iterator[int]:
    """A process with a session of its own."""
    started = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield started.pid
    started.kill()
    started.wait(10)


def a_knob(machine: Path, server: int, label: str, book: MemoryBook) -> Policy:
    return Policy(Turned(label=label, leader=server, book=book, tree=Tree(machine), work=machine))


def capable(machine: Path, *bits: int) -> None:
    """Let the machine say which capabilities this process has."""
    mask = sum(1 << bit for bit in bits)
    put(machine, "/proc/self/status", f"Uid:\t1000\t1000\nCapEff:\t{mask:016x}\n")


def asked(machine: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (machine / "asked").read_text().splitlines()]


def test_it_is_in_force_until_it_is_put_back(machine: Path, server: int) -> None:
    book = MemoryBook()
    knob = a_knob(machine, server, "web", book)
    knob.apply("bvt,warp=5ms,weight=4,credit=12ms")
    (job,) = asked(machine)
    assert job["credit"] == "12ms"
    (web,) = job["classes"]
    assert (web["name"], web["weight"], web["warp"]) == ("web", 400.0, "5ms")
    assert web["pids"] == [server]
    assert knob.verify().verdict == "holds"
    assert "sojourn_bvt" in knob.verify().why
    assert (knob.by, knob.read()) == (
        "sched_ext (sojourn-sched)",
        "bvt,warp=5ms,weight=4,credit=12ms",
    )
    ((kind, facts),) = book.open.values()
    assert (kind, facts["what"]) == ("process", "sojourn-sched")
    knob.restore()
    assert scheduler.state(Tree(machine)) == scheduler.State("disabled", "")
    assert not book.open


def test_services_share_it_and_must_agree(machine: Path, server: int) -> None:
    book = MemoryBook()
    web, db = (a_knob(machine, server, label, book) for label in ("web", "db"))
    web.apply("bvt,warp=20ms")
    with pytest.raises(HostFault, match="both must have the same allowance"):
        db.apply("bvt,allowance=1ms")
    with pytest.raises(HostFault, match="one scheduler on a machine"):
        db.apply("scx_lavd")
    db.apply("bvt,warp=5ms")
    names = [[one["name"] for one in job["classes"]] for job in asked(machine)]
    assert names == [["web"], ["web", "db"]]
    assert (web.verify().verdict, db.verify().verdict) == ("holds", "holds")
    web.restore()
    assert [one["name"] for one in asked(machine)[-1]["classes"]] == ["db"]
    assert db.verify().verdict == "holds"
    db.restore()
    assert not book.open


def test_one_that_was_killed_is_no_longer_in_force(machine: Path, server: int) -> None:
    knob = a_knob(machine, server, "web", MemoryBook())
    knob.apply("bvt")
    running = scheduler._REIGN.process
    assert running is not None
    os.kill(running.pid, signal.SIGKILL)
    assert running.poll(10) is not None
    put(machine, f"{scheduler.FOLDER}/state", "disabled")  # as the kernel does
    assert knob.verify().verdict == "violated"
    assert "was killed by SIGKILL" in knob.verify().why
    knob.restore()


def test_one_that_refuses_is_reported_with_its_words(machine: Path, server: int) -> None:
    (machine / "refuses").touch()
    knob = a_knob(machine, server, "web", MemoryBook())
    with pytest.raises(HostFault, match="exit status 2, saying: error: not today"):
        knob.apply("bvt")
    assert knob.read() != "bvt"
    put(machine, f"{scheduler.FOLDER}/state", "enabled")
    with pytest.raises(HostFault, match="another is in force"):
        knob.apply("bvt")


def test_what_a_machine_lacks_is_reported(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lack(level: str, tree: Path) -> str:
        result = KINDS["policy"].lacks(Asked(level=level, tree=Tree(tree)))
        return f"{result.missing}; {result.fix}" if result else ""

    capable(machine, SYS_ADMIN)
    assert "CONFIG_SCHED_CLASS_EXT" in lack("bvt", machine / "another")
    assert lack("bvt,warp=5ms", machine) == ""
    monkeypatch.setattr(programs, "maybe", lambda name: None)
    assert "the program scx_lavd; install scx_lavd" in lack("scx_lavd", machine)
    capable(machine)
    assert "(CAP_BPF and CAP_PERFMON); run as root" in lack("bvt", machine)
    put(machine, f"{scheduler.FOLDER}/state", "enabled")
    put(machine, f"{scheduler.FOLDER}/root/ops", "lavd_1.0")
    assert "lavd_1.0 is in force" in lack("bvt", machine)


@pytest.mark.parametrize("uid", [0, 1000])
@pytest.mark.parametrize(
    ("bits", "lacking"),
    [
        ((SYS_ADMIN,), ""),
        ((BPF, PERFMON), ""),
        ((BPF,), "(CAP_PERFMON)"),
        ((PERFMON,), "(CAP_BPF)"),
        ((), "(CAP_BPF and CAP_PERFMON)"),
    ],
)
def test_capabilities_decide_and_not_the_user(
    machine: Path, monkeypatch: pytest.MonkeyPatch, uid: int, bits: tuple[int, ...], lacking: str
) -> None:
    monkeypatch.setattr(programs, "maybe", Path)
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    capable(machine, *bits)
    result = KINDS["policy"].lacks(Asked(level="bvt", tree=Tree(machine)))
    assert (result is None) == (not lacking)
    assert result is None or result.missing == f"the right to load a scheduler {lacking}"


def test_root_of_a_user_namespace_cannot_load_one(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "maybe", Path)
    capable(machine, SYS_ADMIN, BPF, PERFMON)
    put(machine, "/proc/self/uid_map", "0 1000 1")
    result = KINDS["policy"].lacks(Asked(level="bvt", tree=Tree(machine)))
    assert result is not None
    assert "CAP_BPF" in result.missing


@pytest.mark.parametrize(
    ("level", "is_level"),
    [
        ("bvt", True),
        ("bvt,warp=5ms,weight=0.5,limit=1s,credit=0.5ms", True),
        ("scx_bpfland", True),
        ("bvt,", False),
        ("bvt,wrap=5ms", False),
        ("bvt,warp=5", False),
        ("scx", False),
    ],
)
def test_levels(level: str, is_level: bool) -> None:  # noqa: FBT001
    assert bool(re.fullmatch(KINDS["policy"].pattern, level)) is is_level
    assert scheduler.is_one(level) is is_level


def test_public_ones_are_known_again_behind_their_versions(tmp_path: Path) -> None:
    put(tmp_path, f"{scheduler.FOLDER}/state", "enabled")
    put(tmp_path, f"{scheduler.FOLDER}/root/ops", "bpfland_1.0.4_x86_64")
    assert scheduler.is_in_force("scx_bpfland", Tree(tmp_path))
    assert not scheduler.is_in_force("scx_lavd", Tree(tmp_path))
    assert scheduler.WORDS["scx_layered"]
