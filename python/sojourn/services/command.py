"""A program of the user's own, started as it is typed, with a port and perhaps a number of threads.

The life of one: start → the first good reply → three replies that agree → warm → measured → its
stop signal. It must stay in the foreground, and write no more than its own folder allows.
"""

from __future__ import annotations

import http.client
import re
import shlex
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from sojourn import programs
from sojourn.errors import HostFault, RunFault, SpecFault
from sojourn.places import ports, users
from sojourn.places.ports import Address
from sojourn.places.task import Task
from sojourn.services import asked, talk, where
from sojourn.services.asked import Asked, Proof, RefusedError
from sojourn.services.kind import Allowance, Json, Service, ServiceKind
from sojourn.services.params import Param, Value, settle
from sojourn.services.where import HTTP, Where

NAME = "command"
AT = "service command"
TCP = "tcp"
SELF, SERVERS = "self", "nobody"
SIGNALS = ("TERM", "INT", "QUIT", "HUP", "USR1", "KILL")
_EXAMPLE = 'write argv = "python3 app.py --port {port}"'
_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)

PARAMS = (
    Param(
        name="argv",
        about="program and arguments, as in a shell but without one; {port}, {host}, {threads} and "
        "{work} (a folder for its files) are put in",
        default="",
        type=str,
    ),
    Param(
        name="target",
        about="what is asked: a URL with {host} and {port}",
        default="http://{host}:{port}/",
        type=str,
    ),
    Param(
        name="ready",
        about='from when on it is ready: "" (it answers what is asked), "tcp" (it takes a '
        'connection), or a path that answers 2xx, such as "/health"',
        default="",
        type=str,
    ),
    Param(name="ready_s", unit="s", about="how long that may take", default=30.0, type=float,
          lo=0.1, hi=3600),
    Param(
        name="threads",
        about='how many threads or processes serve, for {threads}; "cpus", "cpus+1": by the '
        "server's CPUs",
        default=1,
        lo=1,
        hi=1024,
        relative=True,
    ),
    Param(
        name="worker",
        about="name (or a pattern) of the threads or processes that serve, to be pinned one to a "
        "CPU; empty: they may be on all CPUs of the server",
        default="",
        type=str,
    ),
    Param(name="environment", about='more of it: "NAME=VALUE NAME=VALUE"', default="", type=str),
    Param(name="folder", about="where it runs; empty: where sojourn was started", default="",
          type=str),
    Param(
        name="user",
        about="who it runs as: self (whoever runs the lab) or nobody, where the lab is root",
        default=SELF,
        type=str,
        choices=(SELF, SERVERS),
    ),
    Param(name="stop", about="the signal that ends it", default="TERM", type=str, choices=SIGNALS),
    Param(name="stop_s", unit="s", about="how long it may take to end before it is killed",
          default=5.0, type=float, lo=0, hi=600),
    Param(name="memory_bytes", unit="bytes", about="memory that it needs, in a place of its own",
          default=1 << 30, lo=1 << 20, hi=1 << 42),
    Param(name="port", about="the port; 0: a free one", default=0, lo=0, hi=65_535),
    *asked.PARAMS,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Service):
    """One program of the user's own, its parameters settled.

    Attributes:
        words: as they were typed, with what is put in still in braces.
        learned: the proof of the first start, against which every later one is held.
    """

    env: Path
    words: tuple[str, ...]
    url: str
    ready: str
    ready_s: float
    threads: int
    worker: str
    environment: tuple[str, ...]
    folder: Path
    as_self: bool
    stop: signal.Signals
    stop_s: float
    memory: int
    port: int
    warm: int
    asked: Asked
    learned: dict[str, Proof] = field(default_factory=dict)

    @property
    def setup(self) -> tuple[tuple[str, str], ...]:
        """The command, its folder and what is asked."""
        rows = [("command", shlex.join(self.words)), ("asked", self.url)]
        rows += [("environment", shlex.join(self.environment))] if self.environment else []
        return (*rows, ("folder", str(self.folder)), *self.proof.facts)

    @property
    def proof(self) -> Proof:
        """What the first replies of the first start showed."""
        return self.learned.get(self.url, Proof())

    @property
    def program(self) -> Path | None:
        """`env`, which puts it into its folder and environment and then is it."""
        return self.env

    @property
    def wanted_port(self) -> int:
        """The port that the study gave; 0: any free one."""
        return self.port

    @property
    def workers(self) -> int:
        """How many serve, as the study says."""
        return self.threads

    def command(self, work: Path, address: Address) -> Sequence[str]:
        """Words for `env`: its folder, its environment, then the command."""
        home = (f"HOME={Path.home()}",) if self.as_self else ()
        return (
            *("-C", str(self.folder), *home),
            *(self.put(word, address, work) for word in (*self.environment, *self.words)),
        )

    def put(self, word: str, address: Address, work: Path | None = None) -> str:
        """A word with port, host, threads and folder put in."""
        values = {"port": address.port, "host": address.host, "threads": self.threads}
        if work is not None:
            values["work"] = str(work)
        for name, value in values.items():
            word = word.replace(f"{{{name}}}", str(value))
        return word

    def where(self, address: Address) -> Where:
        """Where it listens, with its address put in."""
        return where.parse(self.put(self.url, address), at=f"{AT}, target")

    def target(self, address: Address) -> str:
        """The generator's target: what is asked, at the address."""
        return self.where(address).url

    def job(self) -> Mapping[str, Json]:
        """Keys of the generator's job that follow from what is asked."""
        return self.asked.job(self.where(Address(ports.HOST, 1)).scheme, self.proof)

    def answers(self, address: Address, within_s: float) -> bool:
        """Whether it is ready, as the study has it."""
        at = self.where(address)
        if not self.ready:
            return self.asked.answers(at, within_s)
        try:
            if self.ready != TCP:
                return 200 <= talk.get(at, self.ready, within_s).status < 300
            talk.connected(at, within_s).close()
        except (OSError, http.client.HTTPException):
            return False
        return True

    def check(self, address: Address) -> tuple[tuple[str, str], ...]:
        """Ask three times; later starts must answer as the first did."""
        at = self.where(address)
        try:
            found = self.asked.prove(at)
        except RefusedError as refused:
            raise RunFault(refused.what, at=f"{AT} at {at.url}", fix=refused.fix) from None
        before = self.learned.setdefault(self.url, found)
        if before.bytes and before.bytes != found.bytes:
            now = f"{found.bytes} bytes" if found.bytes else "replies of many lengths"
            raise RunFault(
                f"the first start answered with {before.bytes} bytes, this one with {now}",
                at=f"{AT} at {at.url}",
                fix="look at what it serves; if that may change, say so: expect_bytes = 0",
            )
        return ()

    @property
    def is_preloaded(self) -> bool:
        """Whether it holds items, which the generator must set first."""
        return self.asked.is_preloaded

    @property
    def warm_requests(self) -> int:
        """As the study says; a few by default touch every connection."""
        return self.warm

    def met(self, load: Mapping[str, Any]) -> Self:
        """The same, knowing whether all its replies are of one path."""
        return replace(self, asked=replace(self.asked, is_plain=asked.is_plain(load)))

    def pinned(self, tasks: Sequence[Task]) -> tuple[int, ...]:
        """Those whose name, or command line, is that of a worker."""
        if not self.worker:
            return ()
        return tuple(
            sorted(
                task.tid
                for task in tasks
                if re.fullmatch(self.worker, task.name)
                or (task.tid == task.pid and re.search(self.worker, task.command))
            )
        )

    @property
    def memory_bytes(self) -> int:
        """How much it needs, as the study says."""
        return self.memory

    @property
    def is_own_user(self) -> bool:
        """Whether it runs as who runs the lab."""
        return self.as_self

    @property
    def start_s(self) -> float:
        """How long it may take to be ready, s."""
        return self.ready_s

    @property
    def stop_signal(self) -> signal.Signals:
        """What ends it, as the study says."""
        return self.stop

    @property
    def patience_s(self) -> float:
        """How long it may take to end, s."""
        return self.stop_s


def build(given: Mapping[str, Value], allowance: Allowance) -> Service:
    """Read the command, and refuse what could never run.

    Raises:
        SpecFault: no command, no port in it, or threads that it is not told of.
        HostFault: its program or folder is not there, or closed to the user it runs as.
    """
    got = settle(NAME, PARAMS, given, cpus=allowance.cpus)
    known = {**{name: value for name, value in got.items() if value is not None}}
    return settled(known, is_told_threads="threads" in given)


def settled(
    got: Mapping[str, Value],
    *,
    told: Sequence[str] = (),
    is_told_threads: bool = False,
    is_in_place: bool = True,
) -> Command:
    """A command of settled parameters; faults as of `build`.

    Args:
        got: by name.
        told: its words where `argv` is left out.
        is_told_threads: the study gives their number.
        is_in_place: its files are this machine's, and are looked at.
    """
    words = _split("argv", got, _EXAMPLE)
    environment = _split("environment", got, 'write environment = "NAME=VALUE NAME=VALUE"')
    for word in environment:
        if not _ASSIGNED.fullmatch(word):
            what = f"'{word}' is no NAME=VALUE"
            raise SpecFault(what, at=f"{AT}, environment", fix="quote values that have spaces")
    if is_in_place and not words:
        raise SpecFault("there is no command", at=f"{AT}, argv", fix=_EXAMPLE)
    text = " ".join((*(words or told), *environment))
    _check_braces(text, port=int(got["port"]), is_told_threads=is_told_threads)
    folder = Path(str(got.get("folder") or ".")).expanduser().absolute()
    as_self = got.get("user", SELF) == SELF or users.server_user() is None
    if is_in_place:
        _check_files(words, folder, is_open=as_self)
    made = Command(
        env=programs.find("env", fix="apt install coreutils"),
        words=words,
        url=str(got["target"]),
        ready=_ready(str(got["ready"])),
        ready_s=float(got["ready_s"]),
        threads=int(got["threads"]),
        worker=_pattern(str(got["worker"])),
        environment=environment,
        folder=folder,
        as_self=as_self,
        stop=signal.Signals[f"SIG{got['stop']}"],
        stop_s=float(got["stop_s"]),
        memory=int(got["memory_bytes"]),
        port=int(got["port"]),
        warm=int(got["warm_requests"]),
        asked=asked.of(got, {}, is_preloaded=False),
    )
    at = made.where(Address(ports.HOST, 1))
    if not at.scheme:
        fix = "write http://{host}:{port}/ or redis://{host}:{port}"
        raise SpecFault(f"'{made.url}' says no protocol", at=f"{AT}, target", fix=fix)
    if at.scheme not in HTTP and made.ready not in {"", TCP}:
        what = f"a path to be ready at is of HTTP, and {at.scheme} is asked"
        raise SpecFault(what, at=f"{AT}, ready", fix='leave ready out, or give ready = "tcp"')
    has_items = at.scheme in asked.KEYS
    return replace(made, asked=replace(made.asked, is_preloaded=has_items))


def _split(name: str, got: Mapping[str, Value], fix: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(str(got[name] or "")))
    except ValueError as error:
        raise SpecFault(f"{name} cannot be read: {error}", at=f"{AT}, {name}", fix=fix) from None


def _check_braces(text: str, *, port: int, is_told_threads: bool) -> None:
    """Refuse a command that is not told its port, or not the threads that the study gives."""
    if "{port}" not in text and not port:
        raise SpecFault(
            "the command is not told on which port to listen",
            at=f"{AT}, argv",
            fix="put {port} where its port stands, or give port = 8080 if it always takes that",
        )
    if is_told_threads and "{threads}" not in text:
        raise SpecFault(
            "threads is given, and the command is not told of it",
            at=f"{AT}, threads",
            fix="put {threads} where their number stands, in argv or environment, or leave it out",
        )


def _check_files(words: Sequence[str], folder: Path, *, is_open: bool) -> None:
    """Refuse a folder or program that is not there, or that the user of servers cannot reach."""
    if not folder.is_dir():
        fix = "make it, or give another folder"
        raise HostFault(f"there is no folder {folder}", at=f"{AT}, folder", fix=fix)
    first = words[0]
    has_slash = "/" in first
    program = str(folder / first) if has_slash else shutil.which(first)
    if program is None or (has_slash and shutil.which(program) is None):
        raise HostFault(
            f"there is no program {first}" + (f" in {folder}" if has_slash else ""),
            at=f"{AT}, argv",
            fix="give its full path, or install it; words of a shell need one: sh -c '…'",
        )
    named = [folder, Path(program), *(folder / word for word in words[1:] if "{" not in word)]
    closed = [path for path in named if path.exists() and not _is_open(path)]
    if closed and not is_open:
        raise HostFault(
            f"user {SERVERS} cannot reach {closed[0]}",
            at=f"{AT}, user",
            fix=f'move it to where all may read it, or give user = "{SELF}"',
        )


def _is_open(path: Path) -> bool:
    """Whether others may read a file, or enter a folder, and all folders above it."""
    own = 0o001 if path.is_dir() else 0o004
    parents = path.resolve().parents
    return bool(path.stat().st_mode & own) and all(p.stat().st_mode & 0o001 for p in parents)


def _ready(text: str) -> str:
    if text in {"", TCP} or text.startswith("/"):
        return text
    raise SpecFault(
        f"ready is '{text}'", at=f"{AT}, ready", fix='give "", "tcp", or a path such as "/health"'
    )


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        what = f"'{text}' is no pattern: {error}"
        raise SpecFault(what, at=f"{AT}, worker", fix="give the threads' name") from None
    return text


KIND = ServiceKind(
    name=NAME,
    about="a program of your own, started as you type it",
    params=PARAMS,
    needs=("the program",),
    source="docs/howto/your-service.md",
    build=build,
)
