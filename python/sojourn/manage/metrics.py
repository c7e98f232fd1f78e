"""What a manager sees and does, for Prometheus (OpenMetrics 1.0), over HTTP.

The manager only hands over its newest look; the text is made in the thread that was asked for it.
It listens on loopback unless another address is named. A client that is slow is dropped. Few may
be connected, and each that is too many ends the oldest: who says nothing keeps no other waiting.
One text is made at a time, so clients do not take the manager's time.
"""

from __future__ import annotations

import contextlib
import http.server
import socket
import socketserver
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from sojourn.controllers.look import Group, Look
from sojourn.errors import HostFault, SpecFault
from sojourn.manage.cutoff import cut_after, end
from sojourn.text import openmetrics

KIND = "application/openmetrics-text; version=1.0.0; charset=utf-8"
LOOPBACK, REQUEST_S = "127.0.0.1", 2.0
CLIENTS_MAX = 8  # connected at a time
PORT_DIGITS = 5
#: Each gauge of a group's window: what it is, and how it is read.
_WINDOW = {
    "window_requests": ("Requests in the newest window.", "n", 1.0),
    "window_p99_seconds": ("p99 of the newest window.", "p99_ns", 1e-9),
    "window_p99_lower_seconds": ("Lower end of its 95 % interval.", "lo_ns", 1e-9),
    "window_p99_upper_seconds": ("Upper end of its 95 % interval.", "hi_ns", 1e-9),
    "window_late": ("Requests of it above the target.", "above", 1.0),
    "window_age_seconds": ("Age of it.", "age_ms", 1e-3),
}
_SIGNALS = {
    "cpu_cores": ("CPUs that the group uses.", "cpu", 1.0),
    "runq_delay_seconds": ("Mean wait of its threads for a CPU.", "runq_delay_ms", 1e-3),
    "io_bytes_per_second": ("Bytes/s that it reads and writes on its disk.", "io", 1.0),
    "accept_queue": ("Connections that wait to be accepted by it.", "accept_queue", 1.0),
    "receive_queue_bytes": ("Bytes to read in its connections.", "receive_queue_bytes", 1.0),
    "psi_cpu": ("Share of time in which some task of it waited for a CPU.", "psi_cpu", 1.0),
    "psi_io": ("Share of time in which some task of it waited for a disk.", "psi_io", 1.0),
    "psi_memory": ("Share of time in which some task of it waited for memory.", "psi_memory", 1.0),
    "disk_bytes_per_second": ("Bytes/s that it reads and writes on its disks.", "disk", 1.0),
    "network_bytes_per_second": ("Bytes/s that it receives and sends.", "network", 1.0),
    "memory_bytes_per_second": ("Bytes/s from and to memory.", "memory_bandwidth", 1.0),
    "cache_bytes": ("Bytes of it in the last cache.", "cache_bytes", 1.0),
}
_LEVELS = {
    "quota_cores": ("Its CPU quota; absent: no limit.", "quota"),
    "cores": ("CPUs of its own; absent: all.", "cores"),
    "weight": ("Its CPU weight.", "weight"),
    "idle": ("Whether it only runs when no other task wants the CPU.", "idle"),
    "memory_bytes": ("Memory from which it is slowed down; absent: no limit.", "memory"),
    "io_limit_bytes_per_second": ("Its limit on its disk, each way; absent: none.", "io"),
    "frozen": ("Whether none of its tasks runs.", "frozen"),
    "egress_limit_bytes_per_second": ("Its limit on what it sends; absent: none.", "egress"),
    "frequency_limit_hertz": ("Limit of its CPUs' frequency; absent: none.", "frequency"),
    "cache_ways": ("Ways of the last cache that it may fill; absent: all.", "ways"),
    "memory_bandwidth_percent": ("Memory bandwidth that it may use; absent: all.", "bandwidth"),
}


@dataclass(slots=True)
class Metrics:
    """What is shown. The manager writes, the server's thread reads.

    Attributes:
        look: the newest; None: there was none yet.
        changes: of levels, by group and knob.
        is_capped: whether best-effort groups have their safe caps.
        bad: lines or answers of the window source that were none.
    """

    controller: str
    look: Look | None = None
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    looks: int = 0
    is_capped: bool = False
    bad: int = 0

    def text(self) -> str:
        """All of it, in OpenMetrics' form."""
        return "\n".join([*self._lines(), "# EOF", ""])

    def _lines(self) -> Iterator[str]:
        yield from _family("manager", "info", "The rule that decides.")
        yield f"sojourn_manager_info{_labels(controller=self.controller)} 1"
        yield from _family("manage_looks", "counter", "Looks at the groups.")
        yield f"sojourn_manage_looks_total {self.looks}"
        yield from _family("manage_capped", "gauge", "Whether the safe caps are in force.")
        yield f"sojourn_manage_capped {self.is_capped:d}"
        yield from _family("manage_source_bad", "counter", "Bad lines or answers of the source.")
        yield f"sojourn_manage_source_bad_total {self.bad}"
        yield from _family("manage_cpu_seconds", "counter", "CPU time of the manager.")
        yield f"sojourn_manage_cpu_seconds_total {time.process_time():.3f}"
        yield from _family("manage_changes", "counter", "Levels that were changed.")
        for (group, knob), count in sorted(self.changes.copy().items()):
            labels = _labels(group=group, knob=knob)
            yield f"sojourn_manage_changes_total{labels} {count}"
        if self.look is not None:
            yield from _of_look(self.look)


def _of_look(look: Look) -> Iterator[str]:
    targets = {name: g.target_ns and g.target_ns * 1e-9 for name, g in look.groups.items()}
    yield from _gauge("group_target_seconds", "Bound on p99.", targets)
    for gauge, (about, key, factor) in _WINDOW.items():
        yield from _gauge(
            f"group_{gauge}",
            about,
            {name: _scaled(_of_window(g, key), factor) for name, g in look.groups.items()},
        )
    for gauge, (about, key, factor) in _SIGNALS.items():
        yield from _gauge(
            f"group_{gauge}",
            about,
            {name: _scaled(g.signal(key), factor) for name, g in look.groups.items()},
        )
    for gauge, (about, key) in _LEVELS.items():
        levels = {name: getattr(g.allocation, key) for name, g in look.groups.items()}
        yield from _gauge(f"group_{gauge}", about, levels)
    yield from _family("group_policy", "gauge", "1 for how the kernel orders its threads.")
    for name, group in look.groups.items():
        if group.allocation.policy is not None:
            labels = _labels(group=name, policy=group.allocation.policy)
            yield f"sojourn_group_policy{labels} 1"


def _of_window(group: Group, key: str) -> float | None:
    return getattr(group.windows[0], key) if group.windows else None


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _gauge(name: str, about: str, values: dict[str, Any]) -> Iterator[str]:
    """One value a group; what is not known is left out."""
    yield from _family(name, "gauge", about)
    for group, value in values.items():
        if value is not None:
            yield f"sojourn_{name}{_labels(group=group)} {float(value):.9g}"


def _family(name: str, kind: str, about: str) -> list[str]:
    return openmetrics.head(f"sojourn_{name}", kind, about)


def _labels(**values: str) -> str:
    """Labels; others chose the names of groups."""
    return openmetrics.labels(values)


class _Handler(http.server.BaseHTTPRequestHandler):
    timeout = REQUEST_S
    server_version, sys_version = "sojourn", ""
    metrics: Metrics
    turn = threading.Lock()

    def do_GET(self) -> None:
        """Answer /metrics; all else is not there."""
        is_there = self.path.partition("?")[0] == "/metrics"
        with self.turn:
            body = self.metrics.text().encode() if is_there else b"see /metrics\n"
        self.send_response(HTTPStatus.OK if is_there else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", KIND if is_there else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object, **more: object) -> None:
        """Nothing is logged: what is asked is somebody else's text."""
        del args, more


class Listener:
    """Answers Prometheus until it is closed."""

    def __init__(self, address: str, metrics: Metrics) -> None:
        """Listen; HostFault if the port cannot be had."""
        host, port = parsed(address)
        handler = type("Handler", (_Handler,), {"metrics": metrics})
        try:
            self._server = _Server((host, port), handler)
        except (OSError, TypeError, ValueError) as error:  # the latter of what is no name at all
            raise HostFault(
                f"metrics cannot be offered: {getattr(error, 'strerror', error)}",
                at=f"--listen {address}",
                fix="name another port, or 0 for any free one",
            ) from None
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it answers, with the port that it got."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def close(self) -> None:
        """Stop answering; one that is being answered is cut off by its own deadline."""
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    allow_reuse_address = True
    request_queue_size = 16
    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        """Listen; OSError if that cannot be."""
        self._clients: list[socket.socket] = []
        self._lock = threading.Lock()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own; the oldest client goes for one that is too many."""
        with self._lock:
            self._clients.append(request)
            if len(self._clients) > CLIENTS_MAX:
                end(self._clients.pop(0))
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """It is answered, or was not."""
        with self._lock, contextlib.suppress(ValueError):
            self._clients.remove(request)
        super().shutdown_request(request)

    def server_bind(self) -> None:
        """Bind without asking a name server for the name of this machine."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answer; the deadline is for all of it, not for each byte."""
        with cut_after(request, REQUEST_S):
            super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""
        del request, client_address


def parsed(address: str) -> tuple[str, int]:
    """`127.0.0.1:9123`, `:9123` or `9123`; without a host it is loopback.

    >>> parsed(":9123")
    ('127.0.0.1', 9123)
    """
    host, _, port = address.rpartition(":")
    if not (port.isascii() and port.isdigit() and len(port) <= PORT_DIGITS) or int(port) > 0xFFFF:
        raise SpecFault(
            f"'{address}' is no address",
            at="--listen",
            fix="ADDRESS:PORT, such as 127.0.0.1:9123",
        )
    return host or LOOPBACK, int(port)
