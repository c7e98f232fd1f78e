"""A cluster of Ray as the lab's engine; the only module that touches Ray.

Ray makes the cluster, finds its nodes, starts an agent on each, carries what is asked and answered,
and finds out who died. Clusters are made by Ray's own means (`ray start`, `ray up`, KubeRay); who
may connect is Ray's to decide (`RAY_AUTH_MODE=token`). An agent takes no CPU from Ray's books,
because the generator, not the agent, uses the CPUs.

`local:N` starts a Ray of this machine alone, in a folder of its own, and ends it (`alone`).
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from sojourn import extras
from sojourn.errors import Fault, HostFault, RunFault
from sojourn.hosts import alone
from sojourn.hosts.agent import Agent
from sojourn.hosts.engine import Engine, LostError, Node, Pending, Remote, SilentError
from sojourn.hosts.waits import within
from sojourn.spec.hosts import HostsSpec
from sojourn.visible import in_line

T = TypeVar("T")
OLDEST = (2, 40)
NEWEST = 3  # major, not yet known
JOIN_S_MAX = 120.0  # a busy machine takes a hundred; of each try
CALL_S_MAX = 30.0  # a question to the head, which itself gives up after 20
END_S_MAX = 10.0
STORE_BYTES = 200 << 20
TRIES = 4
THREADS = 4  # of an agent: it answers while it starts and while it hands over files
FIX_JOIN = "see `ray status --address …` on that host, and that this machine reaches it"


def connect(spec: HostsSpec) -> Engine:
    """Connect to the cluster that a study names, or start one of this machine.

    Raises:
        HostFault: there is no Ray here, or one that is not known.
        RunFault: the cluster does not let the lab in.
    """
    if not spec.local:
        return _connected(_ray(), spec)
    with alone.closed():
        ray = _ray()
        alone.require_token(ray)
        return _connected(ray, spec)


def _connected(ray: Any, spec: HostsSpec) -> Engine:
    """The same with a Ray that is loaded."""
    folder = alone.Folder() if spec.local else None
    is_closed = not spec.local and os.environ.get("RAY_AUTH_MODE") == "token"
    where: dict[str, Any] = {"address": spec.at}
    if folder is not None:
        where = {"num_cpus": 0, "object_store_memory": STORE_BYTES, "_temp_dir": str(folder.path)}
        where |= {"include_dashboard": False, "address": "local"}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_gcs_server_request_timeout_seconds", "20")
    os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "86400")  # else it aborts us
    try:
        _join(ray, where, TRIES if spec.local else 1)
    except BaseException as error:
        if folder is not None:
            folder.remove()
        if isinstance(error, Exception):
            raise _refused(error, spec, is_closed=is_closed) from None
        raise
    return _Ray(ray, folder)


def _join(ray: Any, where: dict[str, Any], tries: int) -> None:
    """Connect. Ray gives one of this machine 30 s to start, which a busy one may not have."""
    for left in reversed(range(tries)):
        try:
            within(JOIN_S_MAX, partial(_init, ray, where), "Ray", starts_processes=True)
        except Exception:  # Ray's own kinds are many
            _leave(ray)
            if not left:
                raise
        else:
            return


def _init(ray: Any, where: dict[str, Any]) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    ray.init(**where, **quiet, namespace="sojourn")


def _leave(ray: Any) -> None:
    """Leave the cluster. A head that is gone would hold up the end of this process as well."""
    try:
        within(END_S_MAX, ray.shutdown, "Ray's end")
    except SilentError:
        atexit.unregister(ray.shutdown)
    except Exception:  # noqa: BLE001, S110  # what cannot be left is left all the same
        pass


def _ray() -> Any:
    """Ray, if it is here and known."""
    ray = extras.need(extras.RAY)
    numbers = tuple(int(part) for part in ray.__version__.split(".")[:2] if part.isdecimal())
    if not OLDEST <= numbers < (NEWEST,):
        raise HostFault(
            f"Ray {ray.__version__} is not known: from {OLDEST[0]}.{OLDEST[1]}, below {NEWEST}",
            at="hosts.at",
            fix=extras.command(extras.RAY),
        )
    return ray


def _refused(error: Exception, spec: HostsSpec, *, is_closed: bool = False) -> Fault:
    """Why Ray did not connect, in three parts.

    Args:
        error: as Ray raised it, which says nothing of a token that is wrong.
        spec: the cluster.
        is_closed: whether it asks for a token.
    """
    text = in_line(" ".join(str(error).split()))
    low = text.lower()
    if "version mismatch" in low or "version of ray" in low:
        return HostFault(
            f"the cluster has another version: {text[:300]}",
            at=f"hosts.at = {spec.at}",
            fix="install the same Ray and Python here and there",
        )
    if any(word in low for word in ("authenticat", "unauthori", "token")):
        return HostFault(
            f"the cluster does not let the lab in: {text[:300]}",
            at=f"hosts.at = {spec.at}",
            fix="set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN_PATH to the cluster's token",
        )
    return RunFault(
        f"no cluster answers{', or it refuses the token' if is_closed else ''}: "
        f"{text[:300] or type(error).__name__}",
        at=f"hosts.at = {spec.at}",
        fix=f"compare RAY_AUTH_TOKEN with the cluster's; {FIX_JOIN}" if is_closed else FIX_JOIN,
    )


class _Ray(Engine):
    """A cluster that is connected."""

    def __init__(self, ray: Any, folder: alone.Folder | None) -> None:
        self._ray, self._folder = ray, folder
        self._hired: list[_Actor] = []

    @property
    def about(self) -> str:
        return f"Ray {self._ray.__version__}"

    def nodes(self) -> tuple[Node, ...]:
        return _asked(CALL_S_MAX, self._nodes, "the cluster's head")

    def _nodes(self) -> tuple[Node, ...]:
        own = "" if self._is_client else self._ray.get_runtime_context().get_node_id()
        living = [_node(entry, own) for entry in self._ray.nodes() if entry.get("Alive")]
        return tuple(sorted(living, key=lambda node: (node.address, node.id)))

    @property
    def _is_client(self) -> bool:
        """Whether it is connected by `ray://`: the lab's host is no node then."""
        with contextlib.suppress(Exception):
            return bool(self._ray.util.client.ray.is_connected())
        return False

    def hire(self, node: Node) -> Remote:
        actor = _asked(CALL_S_MAX, partial(self._actor, node), "the cluster's head")
        made = _Actor(self._ray, actor, node)
        self._hired.append(made)
        return made

    def _actor(self, node: Node) -> Any:
        strategies = import_module("ray.util.scheduling_strategies")
        return (
            self._ray.remote(Agent)
            .options(
                num_cpus=0,
                max_restarts=0,
                max_concurrency=THREADS,
                scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node.id, soft=False),
            )
            .remote(ends_with_parent=True)
        )

    def _end_all(self) -> None:
        for one in self._hired:
            one.kill()

    def close(self) -> None:
        with contextlib.suppress(SilentError):
            within(END_S_MAX, self._end_all, "the ends of agents")
        _leave(self._ray)
        if self._folder is not None:
            self._folder.remove()


def _node(entry: dict[str, Any], own: str) -> Node:
    labels = {f"{key}={value}" for key, value in (entry.get("Labels") or {}).items()}
    return Node(
        id=str(entry["NodeID"]),
        name=str(entry.get("NodeName") or entry.get("NodeManagerHostname") or ""),
        address=str(entry.get("NodeManagerAddress") or ""),
        is_own=entry["NodeID"] == own,
        labels=frozenset(labels),
    )


class _Actor(Remote):
    """An agent that is an actor of Ray."""

    def __init__(self, ray: Any, actor: Any, node: Node) -> None:
        self._ray, self._actor, self._node = ray, actor, node

    @property
    def node(self) -> Node:
        return self._node

    def ask(self, name: str, *args: Any) -> Pending:
        try:
            return _Answer(getattr(self._actor, name).remote(*args))
        except Exception as error:  # noqa: BLE001  # such as a cluster that was left
            raise LostError(_why(error)) from None

    def end(self) -> None:
        with contextlib.suppress(SilentError):
            within(END_S_MAX, self.kill, "the end of an agent")

    def kill(self) -> None:
        """Let Ray kill its process, however long that takes."""
        with contextlib.suppress(Exception):
            self._ray.kill(self._actor)


class _Answer(Pending):
    """A reference that Ray fills, from a thread of its own: no wait here depends on Ray."""

    def __init__(self, ref: Any) -> None:
        self._came_ns: int | None = None
        self._future: Future[Any] = ref.future()
        self._future.add_done_callback(self._note)

    def _note(self, _: Future[Any]) -> None:
        self._came_ns = time.monotonic_ns()

    @property
    def came_ns(self) -> int | None:
        return self._came_ns

    def is_there(self) -> bool:
        return self._future.done()

    def result(self, within_s: float) -> Any:
        try:
            return self._future.result(within_s)
        except Exception as error:  # noqa: BLE001  # Ray's own kinds are many
            if not self._future.done():
                raise SilentError(f"no answer within {within_s:.0f} s") from None
            raise LostError(_why(error)) from None


def _asked(length_s: float, call: Callable[[], T], what: str) -> T:
    """What Ray answers in time; LostError with its reason if it does not."""
    try:
        return within(length_s, call, what)
    except LostError:
        raise
    except Exception as error:  # noqa: BLE001  # Ray's own kinds are many
        raise LostError(_why(error)) from None


def _why(error: Exception) -> str:
    """What Ray says in one line: of a program that failed there, the error at the end."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    nth = -1 if any(line.startswith("File ") for line in lines) else 0
    return in_line(lines[nth] if lines else type(error).__name__)[:200]
