"""A service of the user's own, from a Python web server that runs, or is started, to an outcome."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import run, samples
from sojourn.errors import HostFault, RunFault
from sojourn.places import proc, rootfs
from sojourn.plan import Point
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.profiles import PROFILES

pytestmark = pytest.mark.e2e

Measure = Callable[[Study, Point], Path]
# One thread, replies that keep the connection, and a path that answers less when a file says so.
APP = """
import http.server, os, sys
class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        page = b"" if os.path.exists("broken") else b"hello"
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)
    def log_message(self, *_):
        pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64
with Server(("127.0.0.1", int(sys.argv[1])), Pages) as server:
    print(server.server_port, flush=True)
    server.serve_forever()
"""


def study(kind: str, **params: object) -> Study:
    service = ServiceSpec.model_validate(
        {
            "kind": kind,
            "label": "own",
            "measure": ["sweep"],
            "params": params,
            "load": {"connections": 4, "wait": "sleep"},
        }
    )
    return Study(name="own", question="?", run=PROFILES["quick"], services=(service,))


def read(folder: Path, name: str) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((folder / name).read_text())
    return table


@pytest.fixture(name="at")
def _at(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "app.py").write_text(APP)
    return folder


@pytest.fixture(name="web")
def _web(at: Path) -> Iterator[SimpleNamespace]:
    words = [sys.executable, "app.py", "0"]
    with subprocess.Popen(words, cwd=at, stdout=subprocess.PIPE, text=True) as app:
        assert app.stdout is not None
        yield SimpleNamespace(port=int(app.stdout.readline()), app=app)
        app.kill()


def test_one_that_runs_is_measured_and_left_as_it_was(
    lab: SimpleNamespace, measure: Measure, web: SimpleNamespace, at: Path, session: run.Session
) -> None:
    before = os.sched_getaffinity(web.app.pid), os.sched_getscheduler(web.app.pid)
    asked = study("external", target=f"localhost:{web.port}")
    folder = measure(asked, _slow(lab.point("own")))
    outcome, served = samples.read(folder), read(folder, "service.json")
    load = read(folder, "load.json")
    assert lab.wrong(folder) == {}
    # All errors are lost requests; those that fell into a stop of the client do not count.
    assert load["sojourn_all_ns"]["lost"] == sum(load["errors"].values())
    assert outcome.lost == load["sojourn_ns"]["lost"] <= load["sojourn_all_ns"]["lost"]
    assert load["job"]["expect_bytes"] == 5
    assert (served["pid"], served["shield"], served["pins"]) == (web.app.pid, "none", {})
    assert set(served["placement"]["server"]) == before[0]
    assert read(folder, "host.json")["server_cpu_s"] > 0
    (at / "broken").touch()
    broken = read(measure(asked, _slow(lab.point("own", name="q"))), "load.json")
    assert set(broken["errors"]) - lab.LATE == {"length"}
    assert sum(broken["errors"].values()) == broken["requests"], "an empty reply is not a success"
    session.end()
    assert web.app.poll() is None
    assert (os.sched_getaffinity(web.app.pid), os.sched_getscheduler(web.app.pid)) == before
    web.app.kill()
    web.app.wait()
    with pytest.raises((RunFault, HostFault), match=r"nothing listens|does not answer"):
        measure(asked, _slow(lab.point("own", name="r")))


def test_a_command_is_started_asked_and_ended(
    lab: SimpleNamespace, measure: Measure, at: Path, session: run.Session
) -> None:
    argv = f"{sys.executable} app.py {{port}}"
    asked = study("command", argv=argv, folder=str(at), stop="INT", warm_requests=50)
    folder = measure(asked, _slow(lab.point("own")))
    served = read(folder, "service.json")
    assert lab.wrong(folder) == {}
    assert read(folder, "load.json")["job"]["expect_bytes"] == 5
    assert Path(f"/proc/{served['pid']}/cwd").resolve() == at.resolve()
    assert os.sched_getaffinity(served["pid"]) == set(served["placement"]["server"])
    session.end()
    seen = proc.stat(served["pid"])
    assert seen is None or seen.state == "Z"
    (at / "broken").touch()
    with pytest.raises(RunFault, match="an empty reply, which is not a success"):
        measure(asked, _slow(lab.point("own", name="q", repeat=1)))


SECRET = "hunter2-very-secret"  # noqa: S105  # made up


def test_a_secret_of_a_command_is_seen_by_no_one_else_and_in_no_file(
    lab: SimpleNamespace,
    measure: Measure,
    at: Path,
    session: run.Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OF_THE_LAB", SECRET)
    (at / "key").write_text(f"{SECRET}-of-a-file\n")
    (at / "more").write_text(f"DATABASE_URL=postgres://u:{SECRET}@db/x\n")
    headed = {"header": ["X-Api-Key: env:OF_THE_LAB"], "auth": "bearer:env:OF_THE_LAB"}
    asked = study(
        "command",
        argv=f"{sys.executable} app.py {{port}}",
        folder=str(at),
        environment=f"API_KEY=env:OF_THE_LAB FILE_KEY=file:{at / 'key'}",
        environment_file=str(at / "more"),
    )
    service = asked.services[0].model_copy(update={"load": {**asked.services[0].load, **headed}})
    asked = asked.model_copy(update={"services": (service,)})
    folder = measure(asked, _slow(lab.point("own")))
    assert lab.wrong(folder) == {}, "the generator has what its job names"
    pid = read(folder, "service.json")["pid"]
    parts = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert f"API_KEY={SECRET}".encode() in parts
    assert f"FILE_KEY={SECRET}-of-a-file".encode() in parts
    assert f"DATABASE_URL=postgres://u:{SECRET}@db/x".encode() in parts
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            assert SECRET.encode() not in words.read_bytes(), words
    session.end()
    (at / "key").unlink()
    (at / "more").unlink()
    selected = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(selected) > 5
    assert not [path for path in selected if SECRET.encode() in path.read_bytes()]
    assert ["environment", "DATABASE_URL=… API_KEY=… FILE_KEY=…"] in read(folder, "service.json")[
        "setup"
    ]


def test_a_command_that_ends_at_once_says_why(
    lab: SimpleNamespace, measure: Measure, at: Path
) -> None:
    asked = study("command", argv=f"{sys.executable} no.py {{port}}", folder=str(at))
    with pytest.raises(RunFault, match=r"exit status 2 before it answered, saying: .*no\.py"):
        measure(asked, _slow(lab.point("own")))


def _slow(point: Point) -> Point:
    """The same at a load that any machine can offer, and that takes more CPU time than a tick."""
    return replace(point, offered_rps=100.0, measure_s=1.5)


def test_a_container_of_ones_own_is_asked_like_every_other(
    lab: SimpleNamespace,
    measure: Measure,
    needs_place: Callable[[str], None],
    tmp_path: Path,
    session: run.Session,
) -> None:
    needs_place("runc")
    bundle = tmp_path / "bundle"
    root = bundle / "rootfs"
    root.mkdir(parents=True)
    binds = rootfs.make(root / "top", Path("/www"))
    for entry in (root / "top").iterdir():
        entry.rename(root / entry.name)
    (root / "www").mkdir()
    (root / "www/app.py").write_text(APP)
    paths = [bind.path for bind in binds if not bind.is_writable]
    python = str(Path(sys.executable).resolve())
    (bundle / "config.json").write_text(
        json.dumps(
            {
                "ociVersion": "1.0.2",
                "process": {
                    "user": {"uid": 0, "gid": 0},
                    "args": [python, "app.py", "{port}"],
                    "env": ["PATH=/usr/bin:/bin"],
                    "cwd": "/www",
                },
                "root": {"path": "rootfs", "readonly": True},
                "mounts": [
                    {"destination": "/proc", "type": "proc", "source": "proc"},
                    *(
                        {
                            "destination": str(path),
                            "type": "none",
                            "source": str(path),
                            "options": ["rbind", "ro"],
                        }
                        for path in paths
                    ),
                ],
                "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "network")]},
            }
        )
    )
    asked = study("container", bundle=str(bundle), trust_bundle=True)  # it has this machine's files
    inside = asked.services[0].model_copy(update={"place": "runc"})
    folder = measure(asked.model_copy(update={"services": (inside,)}), _slow(lab.point("own")))
    served = read(folder, "service.json")
    assert lab.wrong(folder) == {}
    assert read(folder, "load.json")["job"]["expect_bytes"] == 5
    assert Path(f"/proc/{served['pid']}/cwd").readlink() == Path("/www")
    session.end()
    seen = proc.stat(served["pid"])
    assert seen is None or seen.state == "Z"
