"""A journal's process numbers mean nothing in another container."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.places import halt, proc
from sojourn.places.numbers import Numbers
from sojourn.places.proc import Stat
from sojourn.run import journal
from sojourn.run.journal import Journal
from sojourn.run.left import Entry
from sojourn.run.restore import restore

#: A job that somebody left to run: the leader of its session has ended.
JOB = "import os, time\nif os.fork(): os._exit(0)\nprint(os.getpid(), flush=True)\ntime.sleep(600)"
OWN = Numbers.own()
OTHERS = {
    "another container": Numbers("pid:[1]", 7),
    "a container that is gone, of which the number is ours now": Numbers(
        OWN.processes, OWN.processes_since + 1
    ),
}


@pytest.fixture
def job() -> Iterator[Stat]:
    words = [sys.executable, "-I", "-S", "-c", JOB]
    with subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE) as made:
        assert made.stdout is not None
        result = proc.stat(int(made.stdout.readline()))
        made.wait(60)
        assert result is not None
        yield result
        proc.kill(result)


def planted(folder: Path, numbers: Numbers, *lines: dict[str, object]) -> Path:
    """The journal of a dead lab with process numbers of this namespace."""
    lab = {"event": "lab", "pid": 2**22, "start_ticks": 1, "boot": journal.boot_id()}
    path = folder / "lab-1-1.jsonl"
    texts = [json.dumps(line) + "\n" for line in ({**lab, **numbers.as_json()}, *lines)]
    path.write_text("".join(texts))
    return path


def server(job: Stat) -> dict[str, object]:
    """Note of a server with the number of the job's session, started before it."""
    facts = {"what": "memcached", "pid": job.session, "start_ticks": job.start_ticks - 1}
    return {"event": "process", "entry": 1, **facts}


@pytest.mark.parametrize("numbers", OTHERS.values(), ids=OTHERS)
def test_a_job_whose_session_has_the_number_of_another_containers_server_lives(
    tmp_path: Path, job: Stat, numbers: Numbers
) -> None:
    path = planted(tmp_path, numbers, server(job))
    assert restore(tmp_path) == ()
    assert proc.is_alive(job)
    assert not path.exists()


@pytest.mark.parametrize("numbers", [OWN, Numbers()], ids=["own", "of an older version"])
def test_what_is_left_of_a_servers_session_here_is_killed(
    tmp_path: Path, job: Stat, numbers: Numbers
) -> None:
    planted(tmp_path, numbers, server(job))
    (undone,) = restore(tmp_path)
    assert undone.is_done
    assert not proc.is_alive(job)


@pytest.mark.parametrize("numbers", OTHERS.values(), ids=OTHERS)
def test_threads_and_stopped_processes_of_another_container_are_not_touched(
    tmp_path: Path, job: Stat, numbers: Numbers
) -> None:
    cpu = min(os.sched_getaffinity(job.pid))
    its = {"pid": job.pid, "start_ticks": job.start_ticks}
    one = {"kind": "affinity", "what": "x", "tid": job.pid, **its, "old": "0-1", "new": f"{cpu}"}
    table = {"settings": [one], "at_ticks": job.start_ticks, "root": "/"}
    os.sched_setaffinity(job.pid, {cpu})
    held = {"event": halt.ENTRY, "entry": 2, "what": "x", "members": [its]}
    lines = {"event": "settings", "entry": 1, **table}, held
    proc.send(job, signal.SIGSTOP)
    planted(tmp_path, numbers, *lines)
    assert restore(tmp_path) == ()
    assert os.sched_getaffinity(job.pid) == {cpu}
    planted(tmp_path, OWN, held)
    assert [undone.how for undone in restore(tmp_path)] == ["goes on again"]


def test_a_journal_names_its_namespace(tmp_path: Path) -> None:
    made = Journal.create(tmp_path)
    made.note("folder", path="/x")
    (left,) = journal.read(tmp_path)
    assert left.numbers == OWN
    assert (left.is_of_these_processes, left.entries[0]) == (
        True,
        Entry(number=1, kind="folder", facts=left.entries[0].facts),
    )
    made.close()


SHOWN = """
import sys
from sojourn.places.numbers import Numbers
print(*Numbers.own().as_json().values(), flush=True)
sys.stdin.read()
"""


@pytest.mark.privileged
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a namespace of processes")
def test_a_server_of_a_container_that_runs_is_reported_and_left_alone(tmp_path: Path) -> None:
    words = ["unshare", "-pf", "--mount-proc", sys.executable, "-c", SHOWN]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as inside:
        assert inside.stdout is not None
        link, _, since = inside.stdout.readline().partition(" ")
        if not link:
            inside.communicate()
            pytest.skip("no namespaces of processes here")
        its = Numbers(link, int(since))
        facts = {"what": "memcached", "pid": 50, "start_ticks": its.processes_since}
        path = planted(tmp_path, its, {"event": "process", "entry": 1, **facts})
        (undone,) = restore(tmp_path)
        assert (undone.what, undone.is_done) == ("memcached (50)", False)
        assert "run `sojourn restore` there" in undone.how
        inside.communicate("")
    assert restore(tmp_path) == ()
    assert not path.exists()
