"""A thousand clients by simulation: the real driver, imagined agents (fakes).

An agent here starts no generator. Its result is one that the real generator wrote, with seed and
start of its own job. An answer needs `WAY_S` there and back, as it does over Ray on one machine. So
what is measured is what the driver does; what Ray itself does for each call is not in it.

Time that agents take is counted apart, because other hosts would spend it.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.actors.clients import Job
from sojourn.hosts import pack
from sojourn.hosts.about import about
from sojourn.hosts.engine import Facts, Node, SilentError
from sojourn.hosts.testing import Notes
from sojourn.run import generator
from sojourn.run.generator_job import Files

WAY_S = 0.55e-3
SECOND = 1_000_000_000


@dataclass(slots=True)
class Meter:
    """What the hosts spent, and when the last client of a run ended."""

    hosts_cpu_s: float = 0.0
    ended_s: float = 0.0
    calls: int = 0


class Answer:
    """An answer that is there once its way is over."""

    def __init__(self, value: Any) -> None:
        self._value, self._at_s = value, time.monotonic() + WAY_S
        self.came_ns = round(self._at_s * SECOND)

    def is_there(self) -> bool:
        """Whether its way is over."""
        return time.monotonic() >= self._at_s

    def result(self, within_s: float) -> Any:
        """What the agent answered, once its way is over."""
        left_s = self._at_s - time.monotonic()
        if left_s > within_s:
            raise SilentError(f"no answer within {within_s} s")
        if left_s > 0:
            time.sleep(left_s)
        return self._value


@dataclass(slots=True)
class Model:
    """What a client writes: a result of the real generator, and its interval log."""

    result: dict[str, Any]
    packed: pack.Packed
    hlog: bytes
    log: bytes

    @classmethod
    def measured(cls, folder: Path, job: Job) -> Model:
        """Run the real generator once, in a folder of its own."""
        files = Files.named(folder, "model")
        hlog = folder / "model.hlog"
        generator.run({**job, "hlog": str(hlog)}, files, Notes())
        log = files.log.read_bytes() if files.log.exists() else b""
        packed = pack.packed(files.result, hlog)
        return cls(json.loads(packed["result"]), packed, hlog.read_bytes(), log)


@dataclass(slots=True)
class Imagined:
    """An agent of a host that is not there."""

    node: Node
    model: Model
    meter: Meter
    offset_ns: int
    facts: Facts
    _start_ns: int = 0
    _over_s: float = 0.0
    _job: dict[str, Any] = field(default_factory=dict)

    def ask(self, name: str, *args: Any) -> Answer:
        """Answer as an agent does; whatever that costs is its host's."""
        began = time.thread_time()
        try:
            return Answer(getattr(self, f"_{name}")(*args))
        finally:
            self.meter.hosts_cpu_s += time.thread_time() - began
            self.meter.calls += 1

    def end(self) -> None:
        """Do nothing, because nothing runs there."""

    def _hello(self) -> Facts:
        return self.facts

    def _stamp(self) -> int:
        return time.monotonic_ns() + self.offset_ns

    def _start(self, job: dict[str, Any], turns: str, study: str) -> None:
        del turns, study
        self._job, self._start_ns = job, int(job["start_at"])
        length_s = self.model.result["measured_s"] + 0.2
        self._over_s = (self._start_ns - self.offset_ns) / 1e9 + length_s
        self.meter.ended_s = max(self.meter.ended_s, self._over_s)

    def _look(self) -> Facts:
        is_over = time.monotonic() >= self._over_s
        line = {"sent": 1, "seconds": round(time.monotonic())}
        return {"is_over": is_over, "line": line, "fault": None, "stamp": self._stamp()}

    def _pack(self) -> dict[str, Any]:
        job = {**self.model.result["job"], "seed": self._job["seed"]}
        table = {**self.model.result, "job": job, "start_ns": self._start_ns}
        return {**self.model.packed, "result": json.dumps(table).encode()}

    def _take(self, name: str) -> bytes:
        if name == "result":
            return bytes(self._pack()["result"])
        return {"log": self.model.log, "hlog": self.model.hlog}.get(name, b"")

    def _drop(self) -> None:
        return None


class Imaginary:
    """An engine of as many hosts as are asked for."""

    about = "an imaginary cluster"

    def __init__(self, count: int, model: Model) -> None:
        self.count, self.model, self.meter = count, model, Meter()
        self._own = about()

    def nodes(self) -> tuple[Node, ...]:
        """All of them, in order."""
        return tuple(
            Node(id=f"id{n}", name=f"host{n}", address=f"10.{n // 250}.{n % 250}.1")
            for n in range(self.count)
        )

    def hire(self, node: Node) -> Imagined:
        """An agent on it, with a boot and a clock of its own."""
        nth = int(node.id.removeprefix("id"))
        facts = {**self._own, "boot": f"boot{nth}", "cpus": [0, 1]}
        return Imagined(node, self.model, self.meter, (nth - 500) * SECOND // 50, facts)

    def close(self) -> None:
        """Do nothing, because nothing runs there."""
