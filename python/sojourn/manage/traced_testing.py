"""For tests and benchmarks: a memcached under load, seen from both sides."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import socket
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn import programs
from sojourn.manage.testing import SLEEP, killed_after, make_group, remove_group, until
from sojourn.places import ports

BEGIN_S = 40.0
MORE_S = 60.0  # than the load lasts, until the generator counts as hung
EVERY_S, WARM_S = 0.5, 1.0
QUIET = subprocess.DEVNULL


@dataclass
class Sides:
    """Windows of the same load, from both sides.

    Attributes:
        client: as the generator writes them.
        tracer: each once, as the manager saw them.
        audit: what the manager did.
        ended: exit status of the manager.
    """

    client: list[dict[str, Any]] = field(default_factory=list)
    tracer: list[dict[str, Any]] = field(default_factory=list)
    audit: list[dict[str, Any]] = field(default_factory=list)
    ended: int | None = None


def seen(folder: Path, *, cost: str, rate: str, seconds: int, kill: bool = False) -> Sides:
    """Put load on a memcached that a manager watches by the tracer alone.

    Args:
        folder: for files.
        cost: of the tracer, as `windows.tracer` has it.
        rate: of the load.
        seconds: of the load.
        kill: the manager is killed in the middle, by SIGKILL.
    """
    sides = Sides()
    cpus = sorted(os.sched_getaffinity(0))
    server, client = cpus[0], cpus[-1]
    with contextlib.ExitStack() as stack:
        port = ports.free()
        groups = {name: f"/sojourn-traced-{os.getpid()}-{name}" for name in ("web", "batch")}
        made = {name: make_group(path) for name, path in groups.items()}
        for group in (one for every in made.values() for one in every):
            stack.callback(remove_group, group)
        words = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-t", "1", "-U", "0"]
        user = ["-u", pwd.getpwuid(65534).pw_name] if os.geteuid() == 0 else []
        _started(stack, ["taskset", "-c", str(server), *words, *user], made["web"])
        _started(stack, [sys.executable, "-I", "-S", "-c", SLEEP], made["batch"])
        assert until(lambda: _listens(port)), "memcached does not listen"  # noqa: S101
        manager = _manager(stack, folder, groups, cost)
        load = ["taskset", "-c", str(client), str(programs.find("sojourn-load"))]
        load += [f"memcache://127.0.0.1:{port}", "--preload", "--rate", rate]
        load += ["--duration", f"{seconds}s", "--warmup", f"{WARM_S}s", "--qos-bound", "1ms"]
        load += ["--qos-quantile", "0.99", "--progress", "json"]
        load += ["--progress-every", f"{EVERY_S}s"]
        generator = subprocess.Popen(load, stdin=QUIET, stdout=QUIET, stderr=subprocess.PIPE)
        stack.callback(generator.wait)
        stack.callback(generator.kill)
        assert generator.stderr is not None  # noqa: S101  # it was asked for
        if kill:
            timer = threading.Timer(WARM_S + seconds / 2, manager.kill)
            timer.start()
            stack.callback(timer.cancel)
        stack.callback(generator.stderr.close)
        with killed_after(generator, WARM_S + seconds + MORE_S):
            for line in generator.stderr:
                with contextlib.suppress(ValueError):
                    table = json.loads(line)
                    if isinstance(table, dict) and table.get("t_s", 0.0) > WARM_S:
                        sides.client.append(table["window"])
        manager.terminate()
        sides.ended = manager.wait(30)
    sides.tracer = [*_distinct(folder / "looks")]
    sides.audit = [json.loads(line) for line in _lines(folder / "audit")]
    return sides


def p99_ns(windows: Sequence[dict[str, Any]]) -> float:
    """Median of the p99 of windows, ns."""
    return statistics.median(float(one["p99_ns"]) for one in windows if one.get("p99_ns"))


def rps(windows: Sequence[dict[str, Any]]) -> float:
    """Requests a second of all windows together."""
    n, ms = (sum(int(one[key]) for one in windows) for key in ("n", "length_ms"))
    return 1000 * n / ms


def _manager(
    stack: contextlib.ExitStack, folder: Path, groups: dict[str, str], cost: str
) -> subprocess.Popen[bytes]:
    (folder / "manage.toml").write_text(
        f'controller = "null"\ncheck_s = 0.0\nsilent_s = 20.0\naudit = "{folder}/audit"\n'
        f'record = "{folder}/looks"\n[windows]\ntracer = "{cost}"\n'
        f'[groups.web]\nrole = "latency-critical"\ntarget = "1ms"\ncgroup = "{groups["web"]}"\n'
        f'[groups.batch]\nrole = "best-effort"\ncgroup = "{groups["batch"]}"\n'
    )
    lab = [sys.executable, "-P", "-m", "sojourn"]
    words = [*lab, "manage", "--config", str(folder / "manage.toml")]
    env = {**os.environ, "SOJOURN_STATE": f"{folder}/state"}
    log = stack.enter_context((folder / "log").open("wb"))
    manager = subprocess.Popen(words, stdin=QUIET, stdout=log, stderr=log, env=env)
    stack.callback(manager.wait)
    stack.callback(manager.kill)
    until(lambda: manager.poll() is not None or (folder / "looks").exists(), BEGIN_S)
    log_text = (folder / "log").read_text()[-500:]
    assert manager.poll() is None, f"the manager ended: {log_text}"  # noqa: S101
    return manager


def _started(stack: contextlib.ExitStack, words: Sequence[str], groups: Sequence[Path]) -> None:
    """A program in control groups from its start; it is killed at the end."""
    enter = " && ".join(f"echo $$ > '{group}/cgroup.procs'" for group in groups)
    command = ["sh", "-c", f'{enter} && exec "$@"', "sh", *words]
    process = subprocess.Popen(command, stdin=QUIET, stdout=QUIET, stderr=QUIET)
    stack.callback(process.wait)
    stack.callback(process.kill)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
        return True
    return False


def _distinct(looks: Path) -> Iterator[dict[str, Any]]:
    """The newest window of each look, where it is another one than before, with requests."""
    ended_s = -1.0
    for line in _lines(looks):
        look = json.loads(line)
        windows = look["groups"]["web"]["windows"]
        if not windows or not windows[0]["n"]:
            continue
        end_s = look["t_s"] - windows[0]["age_ms"] / 1000
        if end_s > ended_s + 0.02:
            ended_s = end_s
            yield windows[0]


def _lines(path: Path) -> list[str]:
    """Whole lines of a file that may have been cut short."""
    if not path.exists():
        return []
    return [line for line in path.read_text().splitlines() if line.endswith("}")]
