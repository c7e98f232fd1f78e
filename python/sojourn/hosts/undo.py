"""`sojourn restore --hosts`: dead labs' leavings on a cluster are undone there.

Each host has journals of its own, which only that host can act on. So an agent starts on each node
and undoes what its journals note, as `sojourn restore` does. Hosts are asked at once, and a host
that does not answer is named.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from sojourn.errors import RunFault, SpecFault
from sojourn.hosts.engine import Engine, LostError, Node, Pending, Remote
from sojourn.spec.hosts import HostsSpec
from sojourn.visible import in_line

ANSWER_S_MAX = 120.0  # of all hosts together: a process with Python's libraries, then the undoing


@dataclass(frozen=True, slots=True)
class UndoneThere:
    """What was found of a dead lab on a host, and what became of it."""

    host: str
    what: str
    how: str
    is_done: bool


def of_cluster(at: str) -> tuple[UndoneThere, ...]:
    """Connect to a cluster, undo what was left on its other nodes, and leave it.

    Raises:
        SpecFault: `at` names no cluster of several machines.
        HostFault, RunFault: it cannot be asked.
    """
    from sojourn.hosts import ray_engine  # noqa: PLC0415  # where it is used

    try:
        spec = HostsSpec(at=at)
    except ValidationError as error:
        what = str(error.errors(include_url=False)[0]["msg"]).removeprefix("Value error, ")
        raise SpecFault(what, at="--hosts", fix="name the cluster as in the study") from None
    if spec.local:
        raise SpecFault(
            f"{at} is this machine alone, and its Ray ends with the study",
            at="--hosts",
            fix="run `sojourn restore` without --hosts",
        )
    engine = ray_engine.connect(spec)
    try:
        return restored(engine)
    except LostError as error:
        raise RunFault(
            f"the cluster does not say which nodes it has: {error}",
            at=f"--hosts {at}",
            fix="see whether its head runs, or run `sojourn restore` on each machine",
        ) from None
    finally:
        engine.close()


def restored(engine: Engine, within_s: float = ANSWER_S_MAX) -> tuple[UndoneThere, ...]:
    """Undo what dead labs left on every other node of a cluster.

    Args:
        engine: the cluster; it stays connected.
        within_s: for all hosts together; whoever has not answered then is not undone.

    Raises:
        LostError: the cluster does not say which nodes it has.
    """
    until_s = time.monotonic() + within_s
    nodes = [node for node in engine.nodes() if not node.is_own]
    asked = [(node, *_asked(engine, node, until_s)) for node in nodes]
    result = [one for node, _, answer in asked for one in _heard(node, answer, until_s)]
    for _, remote, _ in asked:
        if remote is not None:
            remote.end()
    return tuple(result)


def _asked(engine: Engine, node: Node, until_s: float) -> tuple[Remote | None, Pending | str]:
    """Its agent and the answer that is on its way, or why there is none."""
    if time.monotonic() >= until_s:  # a head that hangs takes half a minute for each node
        return None, "others took all the time there was"
    try:
        remote = engine.hire(node)
    except LostError as error:
        return None, str(error)
    try:
        return remote, remote.ask("undo")
    except LostError as error:
        return remote, str(error)


def _heard(node: Node, answer: Pending | str, until_s: float) -> Sequence[UndoneThere]:
    if isinstance(answer, str):
        return (_silent(node, answer),)
    try:
        rows = answer.result(max(0.1, until_s - time.monotonic()))
        return [
            UndoneThere(
                node.text, in_line(str(row["what"])), in_line(str(row["how"])), bool(row["is_done"])
            )
            for row in rows
        ]
    except LostError as error:
        return (_silent(node, str(error)),)
    except (TypeError, LookupError):
        return (_silent(node, "its answer makes no sense"),)


def _silent(node: Node, why: str) -> UndoneThere:
    how = f"cannot be undone from here: {in_line(why)}; run `sojourn restore` on that host"
    return UndoneThere(node.text, "its journals", how, is_done=False)
