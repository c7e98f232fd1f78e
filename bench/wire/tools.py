"""What each tool is told, and how many requests it says it made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wire.endpoints import BIN, MESSAGE, METHOD, Endpoint

CONNECTIONS = 16
STREAMS = 8

#: A command line for a load of `rate` requests/s, or as fast as it goes if that is None.
Command = Callable[[Endpoint, int | None, float, Path], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A client of one of the protocols.

    Attributes:
        program: that has to be there.
        protocols: that it takes part in.
        command: its line.
        requests: how many it made, from what it writes and the folder that it was given.
        has_rate: whether it can keep a rate.
        has_peak: whether it can go as fast as replies come.
    """

    name: str
    program: str
    protocols: tuple[str, ...]
    command: Command
    requests: Callable[[str, Path], int]
    has_rate: bool = True
    has_peak: bool = True


def _ours(wait: str) -> Command:
    def words(at: Endpoint, rate: int | None, seconds: float, scratch: Path) -> Sequence[str]:
        many = ["--connections", str(CONNECTIONS)]
        if not at.words[0].startswith(("postgres", "https")):
            many += ["--streams", str(STREAMS)]
        load = ["--find-max"] if rate is None else ["--rate", str(rate), "--wait", wait]
        return [
            *("sojourn-load", *at.words, *many, *load, "--duration", f"{seconds}s"),
            *("--warmup", "100ms", "--cpus", "1", "--json", str(scratch / "ours.json")),
        ]

    return words


def _ours_requests(_said: str, scratch: Path) -> int:
    result = json.loads((scratch / "ours.json").read_text())
    return sum(int(result["replies"].get(name) or 0) for name in ("hits", "rows"))


def _h2load(at: Endpoint, rate: int | None, seconds: float, _scratch: Path) -> Sequence[str]:
    paced = [] if rate is None else [f"--rps={rate / CONNECTIONS:g}"]
    many = ["-c", str(CONNECTIONS), "-m", str(STREAMS), "-t", "1"]
    return ["h2load", *many, *paced, "-D", f"{seconds:g}", f"https://127.0.0.1:{at.port}/4k"]


def h2load_requests(said: str, _scratch: Path) -> int:
    """Requests that succeeded.

    >>> h2load_requests("requests: 8 total, 8 started, 8 done, 7 succeeded, 1 failed", Path())
    7
    """
    return _number(r"requests: .* (\d+) succeeded", said)


def _ghz(at: Endpoint, rate: int | None, seconds: float, _scratch: Path) -> Sequence[str]:
    paced = [] if rate is None else ["--rps", str(rate)]
    many = ["-c", str(CONNECTIONS * STREAMS), "--connections", str(CONNECTIONS)]
    return [
        *(str(BIN / "ghz"), "--insecure", "--protoset", str(at.folder / "greeter.pb")),
        *("--call", METHOD.replace("/", "."), "-d", MESSAGE, *many, *paced),
        *("-z", f"{seconds:g}s", f"127.0.0.1:{at.port}"),
    ]


def ghz_requests(said: str, _scratch: Path) -> int:
    """Calls that were answered.

    >>> ghz_requests("Status code distribution:\\n  [OK]            1998 responses", Path())
    1998
    """
    return _number(r"\[OK\]\s+(\d+) responses", said)


def _wrk(at: Endpoint, _rate: int | None, seconds: float, _scratch: Path) -> Sequence[str]:
    words = ["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{round(seconds)}s"]
    return [*words, f"https://127.0.0.1:{at.port}/4k"]


def wrk_requests(said: str, _scratch: Path) -> int:
    """Requests that were answered.

    >>> wrk_requests("  35820 requests in 4.00s, 147.10MB read", Path())
    35820
    """
    return _number(r"(\d+) requests in", said)


def _number(pattern: str, said: str) -> int:
    found = re.search(pattern, said)
    return int(found[1]) if found else 0


TOOLS = (
    Tool("sojourn-load", "sojourn-load", ("https", "h2", "grpc"), _ours("sleep"), _ours_requests),
    Tool("sojourn-load 250us", "sojourn-load", ("https", "h2", "grpc"), _ours("sleep:250us"),
         _ours_requests, has_peak=False),
    Tool("h2load", "h2load", ("h2",), _h2load, h2load_requests),
    Tool("ghz", str(BIN / "ghz"), ("grpc",), _ghz, ghz_requests),
    Tool("wrk", "wrk", ("https",), _wrk, wrk_requests, has_rate=False),
)  # fmt: skip
