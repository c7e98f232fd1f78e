"""For tests: control groups with a program in each, and a source of windows."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.host.tree import Tree
from sojourn.knobs import Asked, groups

TREE = Tree()
SLEEP = "import time; time.sleep(600)"
BURN = "while True: pass"
CONTROLLERS = ("cpu", "cpuset", "cpuacct", "blkio", "freezer")


@dataclass
class Stand:
    """Two control groups, `web` and `batch`, and the files of a manager.

    Attributes:
        folder: of its files.
        lines: what the window source has.
        more: further lines of the configuration.
    """

    folder: Path
    more: str = ""
    paths: dict[str, str] = field(default_factory=dict)
    made: list[Path] = field(default_factory=list)
    programs: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def lines(self) -> Path:
        """The file of the window source."""
        return self.folder / "windows.jsonl"

    @property
    def audit(self) -> Path:
        """The file of the audit log."""
        return self.folder / "audit.jsonl"

    def file(self, group: str, name: str, controller: str = "cpu") -> Path:
        """A file of a group."""
        result = groups.find(TREE, controller)
        assert result is not None  # noqa: S101  # of tests
        return Path(result.mount, self.paths[group].lstrip("/"), name)

    def quota(self, group: str = "batch") -> float | None:
        """A group's quota as the kernel says it, CPUs."""
        one = self.file(group, "cpu.cfs_quota_us")
        if one.exists():
            quota, period = (
                int(one.read_text()),
                int(one.with_name("cpu.cfs_period_us").read_text()),
            )
            return None if quota < 0 else quota / period
        text, _, period_us = self.file(group, "cpu.max").read_text().partition(" ")
        return None if text == "max" else int(text) / int(period_us)

    def snapshot(self) -> dict[str, str]:
        """Every setting of both groups."""
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares", "cpu.max", "cpu.weight")
        results = [(g, n, "cpu") for g in self.paths for n in (*names, "cpu.idle")]
        results += [(g, "cpuset.cpus", "cpuset") for g in self.paths]
        return {
            f"{group} {name}": path.read_text()
            for group, name, controller in results
            if groups.find(TREE, controller)
            and (path := self.file(group, name, controller)).exists()
        }

    def config(self, controller: str = "posterior", **more: Any) -> Path:
        """A configuration of these groups."""
        lines = [f'controller = "{controller}"', f'audit = "{self.audit}"']
        more = {"check_s": 0.0, **more}
        lines += [f"{key} = {_toml(value)}" for key, value in more.items()]
        lines += ["[windows]", f'file = "{self.lines}"']
        lines += ["[groups.web]", 'role = "latency-critical"', 'target = "1ms"']
        lines += [f'cgroup = "{self.paths["web"]}"']
        lines += ["[groups.batch]", 'role = "best-effort"', "safe_quota = 0.05"]
        lines += [f'cgroup = "{self.paths["batch"]}"', self.more]
        path = self.folder / "manage.toml"
        path.write_text("\n".join(lines))
        return path

    def window(self, above: int = 0, n: int = 1000) -> None:
        """A window of the service comes."""
        p99_ns = 5e6 if above > n / 100 else 2e5
        line = {"length_ms": 100, "n": n, "p99_ns": p99_ns, "above": above}
        with self.lines.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def events(self) -> list[dict[str, Any]]:
        """What the audit log has, but for late rounds, which a busy machine makes."""
        if not self.audit.exists():
            return []
        lines = [json.loads(line) for line in self.audit.read_text().splitlines()]
        return [line for line in lines if line["event"] != "late"]


@contextlib.contextmanager
def stand(folder: Path, batch: str = SLEEP) -> Iterator[Stand]:
    """Make it; everything is removed at the end."""
    one = Stand(folder)
    one.lines.touch()
    tag = secrets.token_hex(3)
    try:
        for name, code in (("web", SLEEP), ("batch", batch)):
            one.paths[name] = f"/sojourn-test-{tag}-{name}"
            program = subprocess.Popen([sys.executable, "-I", "-S", "-c", code])
            one.programs[name] = program
            for group in make_group(one.paths[name]):
                one.made.append(group)
                (group / "cgroup.procs").write_text(str(program.pid))
        yield one
    finally:
        for group in one.made:
            thaw(group)
        stuck = [str(program.pid) for program in one.programs.values() if not ended(program)]
        for group in one.made:
            remove_group(group)
        stuck += [str(group) for group in one.made if group.exists()]
        if stuck:
            raise RuntimeError(f"this is left of a test: {stuck}")


def lack() -> str:
    """Why there can be no such groups here; "": there can."""
    result = groups.lacking(Asked(level="", tree=TREE), "cpu")
    if result:
        return result.missing
    hierarchy = groups.find(TREE, "cpu")
    if hierarchy and hierarchy.version == 2:
        handed = TREE.text(f"{hierarchy.mount}/cgroup.subtree_control") or ""
        if "cpu" not in handed.split():
            return "the controller cpu in the root's cgroup.subtree_control"
    if hierarchy and not os.access(hierarchy.mount, os.W_OK):
        return f"the right to write to {hierarchy.mount}"
    return ""


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + "}"
    return json.dumps(value)


def make_group(path: str) -> list[Path]:
    """The group in every hierarchy that the manager uses, each once."""
    mounts = {result.mount for name in CONTROLLERS if (result := groups.find(TREE, name))}
    made = []
    for mount in sorted(mounts):
        group = Path(mount, path.lstrip("/"))
        group.mkdir()
        made.append(group)
        for name in ("cpuset.cpus", "cpuset.mems"):
            of_parent, own = Path(mount, name), group / name
            if of_parent.exists() and own.exists() and not own.read_text().strip():
                own.write_text(of_parent.read_text())
    return made


def thaw(group: Path) -> None:
    """Let its tasks run: no signal ends one that the freezer of version 1 holds."""
    with contextlib.suppress(FileNotFoundError):
        state = group / "freezer.state"
        if state.exists():
            state.write_text("THAWED")


def ended(program: subprocess.Popen[Any], within_s: float = 20.0) -> bool:
    """Kill a program; whether it has ended in time."""
    program.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        program.wait(within_s)
    return program.returncode is not None


def remove_group(group: Path) -> None:
    """Remove it as soon as its processes have ended."""
    until = time.monotonic() + 5
    while group.exists() and time.monotonic() < until:
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.01)


def until(true: Callable[[], object], within_s: float = 20.0) -> bool:
    """Wait for something; whether it came true in time."""
    end = time.monotonic() + within_s
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


@contextlib.contextmanager
def killed_after(program: subprocess.Popen[Any], within_s: float = 60.0) -> Iterator[None]:
    """Within, what is read of a program ends in time: it is killed where it hangs."""
    timer = threading.Timer(within_s, program.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def line(program: subprocess.Popen[str], within_s: float = 60.0) -> str:
    """The next line that a program prints; "" where it ends, or prints none in time."""
    assert program.stdout is not None  # noqa: S101  # it was asked for
    with killed_after(program, within_s):
        return program.stdout.readline()


@contextlib.contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that does as it likes with each connection."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, contextlib.suppress(OSError):
                    connection.recv(4096)
                    answer(connection)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/metrics"
    finally:
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def sends(head: str, body: str) -> Callable[[socket.socket], None]:
    """A server's part: it sends this answer."""
    return lambda to: to.sendall(f"HTTP/1.1 {head}\r\n\r\n{body}".encode())
