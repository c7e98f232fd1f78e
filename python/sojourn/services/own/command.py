"""A program of the user's own, started as it is typed, with a port and perhaps a number of threads.

The life of one: start → the first good reply → three replies that agree → warm → measured → its
stop signal. It must stay in the foreground, and write no more than its own folder allows.
"""

from __future__ import annotations

import http.client
import re
import shlex
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from sojourn import disk, programs
from sojourn.errors import RunFault, SpecFault
from sojourn.places import ports, users
from sojourn.places.ports import Address
from sojourn.places.task import Task
from sojourn.services.capabilities import (
    Adapts,
    Checks,
    Demands,
    Describes,
    Filling,
    Fills,
    Needs,
    Pins,
    Rows,
    RunsAs,
    SaysWhyNotReady,
    Slow,
)
from sojourn.services.clients import connect, http_get, queried, talk, where
from sojourn.services.clients.where import HTTP, Where
from sojourn.services.kind import Allowance, Endpoint, Program, Service, ServiceKind, Start
from sojourn.services.own import asked, secret, typed
from sojourn.services.own.asked import Asked, RefusedError
from sojourn.services.own.first_replies import another_protocol, scheme_of
from sojourn.services.own.proof import Proof
from sojourn.services.own.secret import Variable
from sojourn.services.own.typed import AT, PARAMS, SELF, TCP
from sojourn.services.params import Value, settle

NAME = "command"
_EXAMPLE = 'write argv = "python3 app.py --port {port}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Program, Describes, Demands, Adapts, Fills, Checks, Pins, SaysWhyNotReady, Slow):
    """One program of the user's own, its parameters settled.

    Attributes:
        words: as they were typed, with what is put in still in braces.
        ready_path: a path that it answers once it is ready, "tcp", or "": as it is asked.
        learned: the proof of the first start, against which every later one is held.
    """

    env: Path
    words: tuple[str, ...]
    url: str
    ready_path: str
    ready_s: float
    threads: int
    worker: str
    environment: tuple[Variable, ...]
    folder: Path
    as_self: bool
    stop: signal.Signals
    stop_s: float
    memory: int
    port: int
    warm: int
    asked: Asked
    learned: dict[str, Proof] = field(default_factory=dict, compare=False)

    def setup(self) -> Rows:
        """The command, its folder and what is asked."""
        rows = [("command", shlex.join(self.words)), ("asked", self.url)]
        rows += [("environment", secret.shown(self.environment))] if self.environment else []
        return (*rows, ("folder", str(self.folder)), *self.proof.facts)

    @property
    def proof(self) -> Proof:
        """What the first replies of the first start showed."""
        return self.learned.get(self.url, Proof())

    def needs(self) -> Needs:
        """As the study says; its workers are pinned if the study says how they are named."""
        return Needs(
            workers=self.threads,
            is_pinned=bool(self.worker),
            port=self.port,
            memory_bytes=self.memory,
            runs_as=RunsAs.LAB if self.as_self else RunsAs.SERVER,
            has_secrets=any(one.is_secret for one in self.environment),
        )

    def start(self, work: Path, address: Address) -> Start:
        """`env`, which puts it into its folder and then is it; secrets are read where they lie.

        Everybody on this machine can see the words, and no one else the variables.
        """
        own = disk.with_home("~")  # a number without an account may have none
        home = (f"HOME={own}",) if self.as_self and own.is_absolute() else ()
        secrets = {one.name: one.read() for one in self.environment if one.is_secret}
        others = (one for one in self.environment if not one.is_secret)
        return Start(
            program=self.env,
            words=("-C", str(self.folder), *home, *self.filled(self.words, address, work)),
            variables={one.name: self.put(one.text, address, work) for one in others} | secrets,
            secrets=tuple(secrets.values()),
            ready_s=self.ready_s,
            stop=self.stop,
            stop_s=self.stop_s,
        )

    def filled(self, words: Sequence[str], address: Address, work: Path) -> tuple[str, ...]:
        """Words with port, host, threads and folder put in."""
        return tuple(self.put(word, address, work) for word in words)

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

    def endpoint(self, address: Address) -> Endpoint:
        """What is asked, at the address."""
        at = self.where(address)
        return Endpoint(target=at.url, job=self.asked.job(at.scheme, self.proof))

    def ready(self, address: Address, within_s: float) -> bool:
        """Whether it is ready, as the study has it."""
        at = self.where(address)
        if not self.ready_path:
            return self.asked.answers(at, within_s)
        try:
            if self.ready_path != TCP:
                return 200 <= http_get.get(at, self.ready_path, within_s).status < 300
            connect.connected(at, within_s).close()
        except (OSError, http.client.HTTPException):
            return False
        return True

    def not_ready(self, address: Address, within_s: float) -> str:
        """The status that it answers with, where that is not one of a ready service.

        Raises:
            SpecFault: it speaks another protocol than the one it is asked in.
        """
        at = self.where(address)
        if self.ready_path == TCP:
            return ""
        if other := another_protocol(at):
            scheme = scheme_of(other, at)
            target = f"'{scheme}://{{host}}:{{port}}'"
            raise SpecFault(
                f"it is asked by {at.scheme}, and it looks like {talk.NAMES[other]}",
                at=f"{AT}, target",
                fix=f"give params.target = {target} in a study, or --target {target}"
                if scheme
                else "start a service that the generator can ask, or give its other port",
            )
        path = self.ready_path or at.path
        asked = replace(self.asked, is_plain=True) if self.ready_path else self.asked
        return asked.status_not_taken(replace(at, path=path), within_s)

    def check(self, address: Address) -> Rows:
        """Ask three times; later starts must answer as the first did."""
        at = self.where(address)
        try:
            proof = self.asked.prove(at)
        except RefusedError as refused:
            raise RunFault(refused.what, at=f"{AT} at {at.url}", fix=refused.fix) from None
        before = self.learned.setdefault(self.url, proof)
        if before.bytes and before.bytes != proof.bytes:
            now = f"{proof.bytes} bytes" if proof.bytes else "replies of many lengths"
            raise RunFault(
                f"the first start answered with {before.bytes} bytes, this one with {now}",
                at=f"{AT} at {at.url}",
                fix="look at what it serves; if that may change, say so: expect_bytes = 0",
            )
        return ()

    def filling(self) -> Filling:
        """Its items, if it holds any, and requests as the study says."""
        return Filling(is_preloaded=self.asked.is_preloaded, requests=self.warm)

    def reply_s(self) -> float:
        """How long a request may take, as the first replies of the first start show it."""
        return self.proof.reply_s

    def adapted(self, load: Mapping[str, Any], bound_s: float = 0.0) -> Self:
        """The same, knowing whether all its replies are of one path, and how long they may take."""
        return replace(self, asked=self.asked.examined(load, bound_s))

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


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Read the command, and refuse what could never run.

    Raises:
        SpecFault: no command, no port in it, or threads that it does not know.
        HostFault: its program or folder is not there, or closed to the user it runs as.
    """
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    known = {**{name: value for name, value in got.items() if value is not None}}
    return settled(known, is_reported_threads="threads" in inputs)


def settled(
    got: Mapping[str, Value],
    *,
    report: Sequence[str] = (),
    is_reported_threads: bool = False,
    is_in_place: bool = True,
) -> Command:
    """A command of settled parameters; faults as of `build`.

    Args:
        got: by name.
        report: its words where `argv` is left out.
        is_reported_threads: the study gives their number.
        is_in_place: its files are this machine's, and are looked at.
    """
    words = typed.split("argv", got, _EXAMPLE)
    secret.check_words(words, at=f"{AT}, argv")
    queried.check_query(str(got["ready"]), at=f"{AT}, ready")
    environment = typed.split("environment", got, 'write environment = "NAME=VALUE NAME=VALUE"')
    inputs = secret.variables(environment, str(got.get("environment_file") or ""), at=AT)
    if is_in_place and not words:
        raise SpecFault("there is no command", at=f"{AT}, argv", fix=_EXAMPLE)
    text = " ".join((*(words or report), *environment))
    typed.check_braces(text, port=int(got["port"]), is_reported_threads=is_reported_threads)
    folder = disk.with_home(str(got.get("folder") or ".")).absolute()
    as_self = got.get("user", SELF) == SELF or users.server_user() is None
    if is_in_place:
        typed.check_files(words, folder, is_open=as_self)
    made = Command(
        env=programs.find("env", fix="apt install coreutils"),
        words=words,
        url=str(got["target"]),
        ready_path=typed.ready(str(got["ready"])),
        ready_s=float(got["ready_s"]),
        threads=int(got["threads"]),
        worker=typed.pattern(str(got["worker"])),
        environment=inputs,
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
    if at.scheme not in HTTP and made.ready_path not in {"", TCP}:
        what = f"a path to be ready at is of HTTP, and {at.scheme} is asked"
        raise SpecFault(what, at=f"{AT}, ready", fix='leave ready out, or give ready = "tcp"')
    has_items = at.scheme in asked.KEYS
    return replace(made, asked=replace(made.asked, is_preloaded=has_items))


KIND = ServiceKind(
    name=NAME,
    about="a program of your own, started as you type it",
    params=PARAMS,
    needs=("the program",),
    source="docs/howto/your-service.md",
    build=build,
)
