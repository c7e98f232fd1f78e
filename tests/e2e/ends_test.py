"""However the lab ends, nothing of it is left, and what was measured is there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import host, run
from sojourn.places import proc
from sojourn.run import journal

pytestmark = pytest.mark.e2e

Needs = Callable[[str], None]
Eventually = Callable[[Callable[[], bool], str], None]
END_S_MAX = 300.0


def is_alive(pid: int) -> bool:
    seen = proc.stat(pid)
    return seen is not None and seen.state != "Z"


@contextmanager
def running(
    lab: SimpleNamespace,
    kind: str,
    folder: Path,
    state: Path,
    eventually: Eventually,
    neighbour: str = "none",
) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A lab in the middle of a point, and every process of its server, neighbour and generator.

    It obeys ^C and a closed terminal, also where the tests ignore them: in the background.
    """
    words = [
        "env",
        "--default-signal=INT,HUP",
        sys.executable,
        str(lab.path),
        kind,
        str(folder),
        str(state),
        "local",
        neighbour,
    ]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as made:
        try:
            eventually(
                lambda: (folder / "measuring").exists() or made.poll() is not None, "no load"
            )
            assert made.poll() is None, made.stderr and made.stderr.read()
            (left,) = journal.read(state)
            leaders = [e.facts["pid"] for e in left.entries if e.kind == "process"]
            others = {str(e.facts["what"]) for e in left.entries if e.kind == "process"}
            beside = {what for what in others if what.startswith("neighbour")}
            assert len(leaders) == 3 + len(beside)  # the server, its sampler and the generator
            assert bool(beside) == (neighbour != "none")
            yield made, [member.pid for leader in leaders for member in proc.session(leader)]
        finally:
            made.kill()


@pytest.mark.parametrize("kind", ["memcached", "nginx"])
def test_kill_9_of_the_lab_leaves_no_process(
    lab: SimpleNamespace,
    needs: Needs,
    tmp_path: Path,
    state: Path,
    eventually: Eventually,
    kind: str,
) -> None:
    needs(kind)
    folder = tmp_path / "point"
    with running(lab, kind, folder, state, eventually) as (made, pids):
        assert len(pids) >= 2
        made.kill()
        made.wait(END_S_MAX)
        eventually(lambda: not any(map(is_alive, pids)), "a process outlived the lab")
    undone = run.restore(state)  # no one was left to remove the working files and the groups
    assert all(one.is_done for one in undone), undone
    files = [one for one in undone if "working files" in one.what]
    assert len(files) == 1, undone
    assert all("control group" in one.what for one in undone if one not in files), undone
    assert run.restore(state) == ()


def test_what_survives_lab_and_wardens_is_found_by_restore(
    lab: SimpleNamespace, needs: Needs, tmp_path: Path, state: Path, eventually: Eventually
) -> None:
    needs("nginx")
    with running(lab, "nginx", tmp_path / "point", state, eventually) as (made, pids):
        parents = {seen.parent for seen in map(proc.stat, pids) if seen is not None}
        made.kill()
        for warden in parents - set(pids):
            os.kill(warden, signal.SIGKILL)
        made.wait(END_S_MAX)
    run.restore(state)
    eventually(lambda: not any(map(is_alive, pids)), "a worker of nginx was not found")
    assert run.restore(state) == ()


@pytest.mark.parametrize("kind", ["spin", "stream"])
def test_a_neighbour_does_not_outlive_a_killed_lab(
    lab: SimpleNamespace,
    needs: Needs,
    tmp_path: Path,
    state: Path,
    eventually: Eventually,
    kind: str,
) -> None:
    needs("memcached")
    folder = tmp_path / "point"
    with running(lab, "memcached", folder, state, eventually, kind) as (made, pids):
        parents = {seen.parent for seen in map(proc.stat, pids) if seen is not None}
        made.kill()
        for warden in parents - set(pids):  # no one is left but `sojourn restore`
            os.kill(warden, signal.SIGKILL)
        made.wait(END_S_MAX)
    run.restore(state)
    eventually(lambda: not any(map(is_alive, pids)), "a process outlived the lab")
    assert run.restore(state) == ()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_the_lab_in_order(
    lab: SimpleNamespace,
    needs: Needs,
    tmp_path: Path,
    state: Path,
    eventually: Eventually,
    number: signal.Signals,
) -> None:
    needs("memcached")
    folder = tmp_path / "point"
    with running(lab, "memcached", folder, state, eventually) as (made, pids):
        made.send_signal(number)
        made.send_signal(number)  # an impatient second one must not leave anything behind
        made.wait(END_S_MAX)
        assert not any(map(is_alive, pids))
    result = json.loads((folder / "load.json").read_text())
    assert 0 < result["measured_s"] < lab.MEASURE_S
    assert json.loads((folder / "run.json").read_text())["state"] == "interrupted"


def test_the_next_lab_clears_up_after_a_killed_one(
    lab: SimpleNamespace, needs: Needs, tmp_path: Path, state: Path, eventually: Eventually
) -> None:
    needs("memcached")
    with running(lab, "memcached", tmp_path / "a", state, eventually) as (made, _):
        made.kill()
        made.wait(END_S_MAX)
    seen: list[str] = []
    with run.Session(host.read(sample_s=0), show=lambda e: seen.append(e.step), state=state):
        assert seen  # the working files, and a group for each that was in one
        assert set(seen) == {"restore"}
