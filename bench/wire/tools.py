"""Tools that speak HTTP, HTTP/2, gRPC or PostgreSQL: its command and its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from peers import Case, Reading
from peers.base import number, time_us
from peers.sojourn import Sojourn
from peers.wrk import Wrk

from sojourn.services.tpcc import cluster, postgres
from wire.endpoints import BIN, ITEMS, MESSAGE, METHOD, QUERY, Endpoint
from wire.people import PEOPLE, PROTOCOLS, program

STREAMS = 8  # of each connection, over HTTP/2
ALL = ("http", "https", "h2", "grpc", "postgres", "unix")

#: A command line for a case and a number of seconds; files go to the folder.
Command = Callable[[Endpoint, Case, int, Path], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A client of one or more of the protocols.

    Attributes:
        program: that has to be there.
        get: how it is installed; `bench/wire/setup` does so.
        version: what it is asked for its version.
        protocols: that it takes part in.
        command: its line.
        read: what it reports, from what it writes and the folder that it was given.
        has_rate: whether it can keep a rate.
        has_peak: whether it can go as fast as replies come.
    """

    name: str
    program: str
    get: str
    version: tuple[str, ...]
    protocols: tuple[str, ...]
    command: Command
    read: Callable[[str, Path], Reading]
    has_rate: bool = True
    has_peak: bool = True


def _ours(transport: str, wait: str) -> Command:
    def words(at: Endpoint, case: Case, seconds: int, scratch: Path) -> Sequence[str]:
        many = ["--connections", str(case.connections), "--transport", transport]
        if case.protocol in {"h2", "grpc"}:
            many += ["--streams", str(STREAMS)]
        load = ["--find-max"] if case.rate_rps is None else ["--rate", str(case.rate_rps)]
        return [
            *("sojourn-load", *at.words, *many, *load, "--wait", wait, "--duration", f"{seconds}s"),
            *("--warmup", "200ms", "--cpus", "1", "--json", str(scratch / "ours.json")),
        ]

    return words


def _over_tcp(transport: str) -> Command:
    """The same client and server by the server's TCP port."""

    def words(at: Endpoint, case: Case, seconds: int, scratch: Path) -> Sequence[str]:
        there = (f"resp://127.0.0.1:{at.port}", *at.words[1:])
        return _ours(transport, "auto")(replace(at, words=there), case, seconds, scratch)

    return words


def _fortio(at: Endpoint, case: Case, seconds: int, _scratch: Path) -> Sequence[str]:
    """Its gRPC mode knows its own ping and the standard health check, which the greeter answers."""
    words = [str(BIN / "fortio"), "load", "-quiet", "-t", f"{seconds}s", "-p", "50,99"]
    words += ["-c", str(case.connections), "-qps", str(case.rate_rps or 0)]
    if case.protocol == "grpc":
        return [*words, "-grpc", "-s", str(STREAMS), f"127.0.0.1:{at.port}"]
    return [*words, "-k", f"https://127.0.0.1:{at.port}/4k"]


def fortio(text: str, _scratch: Path) -> Reading:
    """What fortio reports; times of sleep and of errors stand before and behind those of calls."""
    calls = text.partition("Aggregated Function Time")[2].partition("Error cases")[0]
    return Reading(
        number(r"^All done .* ([\d.]+) qps", text),
        number(r"^# target 50% ([\d.e-]+)", calls) * 1e6,
        number(r"^# target 99% ([\d.e-]+)", calls) * 1e6,
    )


def _h2load(at: Endpoint, case: Case, seconds: int, _scratch: Path) -> Sequence[str]:
    rate = case.rate_rps
    paced = [] if rate is None else [f"--rps={rate / case.connections:g}"]
    many = ["-c", str(case.connections), "-m", str(STREAMS), "-t", "1"]
    return ["h2load", *many, *paced, "-D", str(seconds), f"https://127.0.0.1:{at.port}/4k"]


def h2load(text: str, _scratch: Path) -> Reading:
    """What h2load reports: means of times, no quantiles."""
    return Reading(number(r"^finished in [\d.]+m?s, ([\d.]+) req/s", text), None, None)


def _ghz(at: Endpoint, case: Case, seconds: int, _scratch: Path) -> Sequence[str]:
    paced = [] if case.rate_rps is None else ["--rps", str(case.rate_rps)]
    many = ["-c", str(case.connections * STREAMS), "--connections", str(case.connections)]
    return [
        *(str(BIN / "ghz"), "--insecure", "--protoset", str(at.folder / "greeter.pb")),
        *("--call", METHOD.replace("/", "."), "-d", MESSAGE, *many, *paced),
        *("-z", f"{seconds}s", f"127.0.0.1:{at.port}"),
    ]


def ghz(text: str, _scratch: Path) -> Reading:
    """What ghz reports."""
    time = r"([\d.]+) (ns|µs|us|ms|s)"
    return Reading(
        number(r"Requests/sec:\s+([\d.]+)", text),
        time_us(rf"^\s+50 % in {time}", text),
        time_us(rf"^\s+99 % in {time}", text),
    )


def _wrk(at: Endpoint, case: Case, seconds: int, _scratch: Path) -> Sequence[str]:
    words = ["wrk", "-t", "1", "-c", str(case.connections), "-d", f"{seconds}s"]
    return [*words, "--latency", f"https://127.0.0.1:{at.port}/4k"]


def _pgbench(at: Endpoint, case: Case, seconds: int, scratch: Path) -> Sequence[str]:
    script = scratch / "select.sql"
    script.write_text(f"\\set n random(1, {ITEMS})\n{QUERY.format(':n')};\n")
    paced = [] if case.rate_rps is None else ["-R", str(case.rate_rps)]
    return [
        *(str(postgres.home().program("pgbench")), "-n", "-M", "prepared", "-j", "1", *paced),
        *("-f", str(script), "-c", str(case.connections), "-T", str(seconds)),
        *("-h", "127.0.0.1", "-p", str(at.port), "-U", cluster.USER, cluster.DATABASE),
    ]


def pgbench(text: str, _scratch: Path) -> Reading:
    """What pgbench reports: means of times, no quantiles."""
    return Reading(number(r"^tps = ([\d.]+)", text), None, None)


def _sojourn(transport: str, wait: str, *, has_rate: bool = True, has_peak: bool = False) -> Tool:
    """Ours as it waits in one way: what rates are run with, or with `auto` the peak."""
    name = f"sojourn-load {transport} {wait.removeprefix('sleep:')}"
    return Tool(
        name,
        "sojourn-load",
        "make build",
        ("--version",),
        ALL,
        _ours(transport, wait),
        Sojourn(transport).read,
        has_rate,
        has_peak,
    )


FORTIO = "go install fortio.org/fortio@v1.63.10"

TOOLS = (
    _sojourn("io_uring", "spin"),
    _sojourn("io_uring", "sleep"),
    _sojourn("io_uring", "sleep:250us"),
    _sojourn("epoll", "sleep"),
    _sojourn("io_uring", "auto", has_rate=False, has_peak=True),
    _sojourn("epoll", "auto", has_rate=False, has_peak=True),
    Tool("fortio", str(BIN / "fortio"), FORTIO, ("version",), ("https",), _fortio, fortio),
    Tool("fortio health", str(BIN / "fortio"), FORTIO, ("version",), ("grpc",), _fortio, fortio),
    Tool(
        "wrk", "wrk", "apt-get install wrk", ("-v",), ("https",), _wrk, Wrk().read, has_rate=False
    ),
    *(
        Tool(name, program(name), get, version, PROTOCOLS, command, read, has_peak=has_peak)
        for name, version, command, read, get, has_peak in PEOPLE
    ),
    Tool(
        "h2load",
        "h2load",
        "apt-get install nghttp2-client",
        ("--version",),
        ("h2",),
        _h2load,
        h2load,
    ),
    Tool(
        "ghz",
        str(BIN / "ghz"),
        "go install github.com/bojand/ghz/cmd/ghz@v0.93.0",
        ("--version",),
        ("grpc",),
        _ghz,
        ghz,
    ),
    *(
        Tool(
            f"over TCP, {transport}",
            "sojourn-load",
            "make build",
            ("--version",),
            ("unix",),
            _over_tcp(transport),
            Sojourn(transport).read,
            has_rate=False,
        )
        for transport in ("io_uring", "epoll")
    ),
    Tool(
        "pgbench",
        "pgbench",
        "apt-get install postgresql",
        ("--version",),
        ("postgres",),
        _pgbench,
        pgbench,
    ),
)
