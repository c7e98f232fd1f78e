"""A cluster for tests: real agents in threads, clocks and faults as planted.

Agents start the real generator. A host's clock is this machine's, shifted and stretched: stamps,
the start of a job and that of its result pass through it, as they would on another host.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.hosts.agent import Agent
from sojourn.hosts.engine import Facts, LostError, Node, SilentError

DEAD = """
from pathlib import Path
from sojourn.run import journal, work
import os
folder, entry = work.make(journal.Journal.create(), None)
print(folder, flush=True)
os._exit(9)
"""


def left_by_dead_lab() -> Path:
    """A working folder that a lab left when it died; its journal is in `$SOJOURN_STATE`."""
    words = [sys.executable, "-P", "-c", DEAD]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    folder = Path(done.stdout.strip())
    if not folder.is_dir():
        raise RuntimeError(f"it left no folder: {done.stderr}")
    return folder


class Notes:
    """A ledger that forgets: a test ends what it starts."""

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        """Note nothing: a test ends what it starts."""
        del what, start_ticks
        return pid

    def undone(self, entry: int) -> None:
        """Forget nothing, because nothing was noted."""


@dataclass(slots=True, kw_only=True)
class Host:
    """How one planted host differs from this machine.

    Attributes:
        offset_ns, drift: of its clock, since `began_ns`.
        late_ns: its clock is set on by so much once load has begun, and no one hears of it.
        jump_ns: its clock is set on by so much at `jumps_at_ns` of this machine's.
        job: keys of the job that are otherwise there.
        is_silent: whether it does not answer a call of that name any more.
        lease_s: of its agent.
        is_shared: it is no machine of its own, so no study holds it.
    """

    offset_ns: int = 0
    drift: float = 0.0
    began_ns: int = field(default_factory=time.monotonic_ns)
    late_ns: int = 0
    jump_ns: int = 0
    jumps_at_ns: int = 1 << 62
    job: Mapping[str, Any] = field(default_factory=dict)
    is_silent: Callable[[str], bool] = lambda _: False
    lease_s: float = 4.0
    is_shared: bool = True

    def there(self, ns: int) -> int:
        """Its clock at a time of this machine's."""
        jumped_ns = self.jump_ns if ns >= self.jumps_at_ns else 0
        return ns + self.offset_ns + round(self.drift * (ns - self.began_ns)) + jumped_ns

    def here(self, ns: int) -> int:
        """This machine's at a time of its clock."""
        return self.began_ns + round((ns - self.offset_ns - self.began_ns) / (1 + self.drift))


@dataclass(slots=True)
class Answer:
    """An answer that a thread finds."""

    future: Future[Any] | None
    came_ns: int | None = None

    def __post_init__(self) -> None:
        """Note when it is there."""
        if self.future is not None:
            self.future.add_done_callback(self._note)

    def _note(self, _: Future[Any]) -> None:
        self.came_ns = time.monotonic_ns()

    def is_there(self) -> bool:
        """Whether the thread has ended."""
        return self.future is not None and self.future.done()

    def result(self, within_s: float) -> Any:
        """What it answered, or that it did not."""
        if self.future is None:
            raise SilentError(f"no answer within {within_s} s")
        try:
            return self.future.result(within_s)
        except Late:
            raise SilentError(f"no answer within {within_s} s") from None


class Planted:
    """An agent on a planted host."""

    def __init__(self, node: Node, host: Host, facts: Facts) -> None:
        self.node, self.host, self.facts = node, host, facts
        self.agent: Agent | None = Agent(host.lease_s)
        self._threads = ThreadPoolExecutor(4)

    def ask(self, name: str, *args: Any) -> Answer:
        """Answer in a thread, through the host's clock."""
        if self.agent is None:
            raise LostError("its process died")
        if self.host.is_silent(name):
            return Answer(None)
        return Answer(self._threads.submit(self._answer, self.agent, name, args))

    def _answer(self, agent: Agent, name: str, args: tuple[Any, ...]) -> Any:
        if name == "hello":
            return {**agent.hello(), **self.facts}
        if name == "stamp":
            return self.host.there(agent.stamp())
        if name == "start":
            job, turns, study = args
            start_at = self.host.here(job["start_at"])
            job = {**job, **self.host.job, "start_at": start_at}
            return agent.start(job, turns, "" if self.host.is_shared else study)
        answer = getattr(agent, name)(*args)
        if name == "look":
            answer["stamp"] = self.host.there(answer["stamp"])
        if name == "take" and args == ("result",) and answer:
            result = json.loads(answer)
            result["start_ns"] = self.host.there(result["start_ns"]) + self.host.late_ns
            return json.dumps(result).encode()
        if name == "pack" and answer and "result" in answer:
            result = json.loads(answer["result"])
            result["start_ns"] = self.host.there(result["start_ns"]) + self.host.late_ns
            return {**answer, "result": json.dumps(result).encode()}
        return answer

    def end(self) -> None:
        """End its agent, as a lost process would."""
        agent, self.agent = self.agent, None
        if agent is not None:
            agent.drop()


class Cluster:
    """An engine of planted hosts."""

    about = "a planted cluster"

    def __init__(self, *hosts: Host, facts: Mapping[int, Facts] | None = None) -> None:
        self.hosts, self.facts = hosts, dict(facts or {})
        self.hired: list[Planted] = []
        self.gone: set[int] = set()

    def nodes(self) -> tuple[Node, ...]:
        """Those that are not gone."""
        return tuple(
            Node(id=f"id{nth}", name=f"host{nth}", address=f"10.9.0.{nth + 1}")
            for nth in range(len(self.hosts))
            if nth not in self.gone
        )

    def hire(self, node: Node) -> Planted:
        """An agent of this machine, as if it were apart."""
        nth = int(node.name.removeprefix("host"))
        apart = {"boot": f"boot{nth}", "cpus": sorted(Agent.hello(None)["cpus"])}  # type: ignore[arg-type]
        made = Planted(node, self.hosts[nth], self.facts.get(nth, apart))
        self.hired.append(made)
        return made

    def close(self) -> None:
        """End all agents that were hired."""
        for one in self.hired:
            one.end()
