"""`sojourn judge`: what a load tool sent, and how long users would have waited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.faults import say
from sojourn.cli.options import AsJson
from sojourn.cli.plain import put_json
from sojourn.errors import SpecFault
from sojourn.units import parse_count, parse_ns

if TYPE_CHECKING:
    from sojourn.referee.session import Seen

AT = "sojourn judge"
SCHEMA = "sojourn.judgement/1"
PORTS, LONGEST_S = 65_536, 6 * 3600.0
ARRIVALS = ("paced", "poisson")

Command = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- COMMAND…",
        show_default=False,
        help="The load to start, behind `--`, as you would type it alone.",
    ),
]
Port = Annotated[
    int,
    typer.Option("--port", metavar="N", show_default=False, help="TCP port of the server."),
]
Pid = Annotated[
    int,
    typer.Option(
        "--pid",
        metavar="PID",
        show_default=False,
        help="Instead of a command: a load that already runs.",
    ),
]
Duration = Annotated[
    str,
    typer.Option("--duration", metavar="TIME", help="With --pid: how long to look at it."),
]
Rate = Annotated[
    str,
    typer.Option(
        "--rate",
        metavar="N",
        show_default="from the command line",
        help="Requests/s at which users come: `2k`. Needed where the tool does not say it.",
    ),
]
Arrivals = Annotated[
    str,
    typer.Option(
        "--arrivals",
        metavar="KIND",
        show_default="from the command line",
        help="How they are meant to come: paced (a fixed rate) or poisson.",
    ),
]
ServerPid = Annotated[
    int,
    typer.Option(
        "--server-pid",
        metavar="PID",
        show_default="who listens on the port",
        help="First process of the server, if it is in a container.",
    ),
]
Ring = Annotated[
    str,
    typer.Option(
        "--ring", metavar="SIZE", help="Memory for records on their way out of the kernel."
    ),
]

Whole = Annotated[
    bool,
    typer.Option(
        "--whole",
        help="Trace each segment of each request, for uploads and for Linux before 6.3. "
        "It costs a saturated server up to a third of its throughput.",
    ),
]


def judge(
    command: Command = None,
    port: Port = 0,
    pid: Pid = 0,
    duration: Duration = "10s",
    rate: Rate = "",
    arrivals: Arrivals = "",
    server_pid: ServerPid = 0,
    ring: Ring = "64MiB",
    whole: Whole = False,
    as_json: AsJson = False,
) -> int:
    """Are a load tool's numbers what users would have waited?

    Traces every request at the server's side of each connection (eBPF), and looks at the threads
    of the load tool and of the server. It changes neither. It says how requests really arrived,
    which were late or left out because connections were busy, who was the limit, what the
    tool measured and from when, and how long users would have waited if they came by the tool's
    schedule.

    Needs root, and a server on this machine. TLS is no obstacle if connections last. The tap costs
    a saturated server about an eighth of its throughput.

    What the tool prints goes to stderr. Exit codes: 0 fair, 1 the tool's numbers are not what
    users would have waited, 2 wrong usage or no rights, 3 unknown (too few requests, or the trace
    is not valid), 4 something outside failed, 130 stopped.

    \b
    Examples:
      sudo sojourn judge --port 8080 -- wrk2 -R2000 -d30s http://localhost:8080/
      sudo sojourn judge --port 8080 -- k6 run x.js
      sudo sojourn judge --port 8080 --rate 500 -- ./my-client
      sudo sojourn judge --port 8080 --pid $(pgrep hey) --duration 20s --json
    """
    from sojourn.referee import session

    asked = session.Asked(
        port=_port(port),
        server_pid=server_pid,
        command=tuple(command or ()),
        pid=_pid(pid, command),
        duration_s=_seconds(duration),
        rate_rps=_rate(rate),
        arrivals=_arrivals(arrivals),
        ring=ring,
        is_whole=whole,
    )
    seen = session.look(asked, say)
    if as_json:
        put_json(_document(seen))
    else:
        _print(seen)
    return seen.judgement.exit


def _port(port: int) -> int:
    if not 0 < port < PORTS:
        what = "no port is given" if port == 0 else f"{port} is not a TCP port"
        raise SpecFault(what, at="--port", fix="give the server's port, 1 to 65535")
    return port


def _pid(pid: int, command: list[str] | None) -> int:
    if bool(pid) == bool(command):
        raise SpecFault(
            "give a command or --pid, not both" if pid else "there is no load to judge",
            at=AT,
            fix="write the load behind `--`: sojourn judge --port 8080 -- wrk http://…; or --pid",
        )
    if pid < 0:
        raise SpecFault(f"{pid} is no process", at="--pid", fix="give the id of a load that runs")
    return pid


def _seconds(text: str) -> float:
    try:
        seconds = parse_ns(text) / 1e9
    except ValueError as error:
        raise SpecFault(str(error), at="--duration", fix="write 10s or 2min") from None
    if not 0 < seconds <= LONGEST_S:
        raise SpecFault(f"'{text}' is too short or too long", at="--duration", fix="give 1s to 6h")
    return seconds


def _rate(text: str) -> float | None:
    if not text:
        return None
    try:
        rate = parse_count(text)
    except ValueError as error:
        raise SpecFault(str(error), at="--rate", fix="write 2000 or 2k") from None
    if rate <= 0:
        raise SpecFault("a rate of 0 is no load", at="--rate", fix="write 2000 or 2k")
    return rate


def _arrivals(text: str) -> str:
    if text and text not in ARRIVALS:
        raise SpecFault(
            f"'{text}' is no kind of arrivals", at="--arrivals", fix=" or ".join(ARRIVALS)
        )
    return text


def _document(seen: Seen) -> dict[str, object]:
    judgement = seen.judgement
    return {
        "schema": SCHEMA,
        "verdict": judgement.verdict,
        "misleading": judgement.misleading,
        "load_exit_code": seen.code,
        **{name: getattr(judgement, name) for name in judgement.__dataclass_fields__},
    }


def _print(seen: Seen) -> None:
    from sojourn.cli.draw import escape, new_table, to_stdout
    from sojourn.referee import words

    console = to_stdout()
    for line in words.lines(seen.judgement):
        console.print(escape(line))
    table = new_table(*words.COLUMNS)
    for row in words.rows(seen.judgement):
        table.add_row(*map(escape, row))
    if table.rows:
        console.print(table)
    for remark in words.remarks(seen.judgement):
        console.print(f"[dim]- {escape(remark)}[/]")
    if seen.code:
        console.print(escape(f"- The load itself ended with exit code {seen.code}."))
