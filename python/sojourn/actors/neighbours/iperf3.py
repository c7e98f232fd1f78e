"""A stream of bytes over loopback by iperf3, held to a rate or as fast as it goes.

    iperf3:tcp@100MB/s
    iperf3:by=udp,rate=50MB/s

Sender and receiver share a CPU; nothing leaves the machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn import programs
from sojourn.actors.kind import NamedKind, much
from sojourn.actors.neighbours.driven import COMMON, RATE, Driven, Work
from sojourn.actors.neighbours.neighbour import SERVER, where_param
from sojourn.errors import SpecFault
from sojourn.services.params import Param

PROGRAM, FIX = "iperf3", "apt install iperf3"
BY, HELD = "by", "rate"

PARAMS = (
    Param(name=BY, about="protocol", default="tcp", type=str, choices=("tcp", "udp")),
    Param(
        name=HELD,
        about="rate to hold; default: full speed",
        default="",
        type=str,
        pattern=f"({RATE})?",
        allowed="a rate such as 100MB/s",
    ),
    where_param(SERVER),
    *COMMON,
)


def build(params: Mapping[str, str]) -> Driven:
    """A stream on each CPU of its place.

    Raises:
        SpecFault: datagrams without a rate, of which iperf3 sends next to none.
    """
    if params[BY] == "udp" and not params[HELD]:
        raise SpecFault(
            "iperf3 sends datagrams at a rate, and none is given",
            at=f"neighbour iperf3, {BY} = udp",
            fix="write iperf3:udp@50MB/s",
        )
    return Driven(KIND.name, params, lambda: work_of(params), called=KIND.name)


def work_of(params: Mapping[str, str]) -> Work:
    """A stream that goes on until it is ended; HostFault where iperf3 is not installed."""
    path = str(programs.find(PROGRAM, fix=FIX))
    rate = float(params[HELD].removesuffix("MB/s") or 0)
    by = ("--udp",) if params[BY] == "udp" else ()
    held = ("--bitrate", str(int(rate * 8e6))) if rate else ()
    return Work(
        unit="MB",
        how="followed",
        reader="iperf3",
        is_cpu=not rate,
        per_s=rate,
        host=(path, "--server", "--one-off", "--bind", "127.0.0.1", "--port", "{port}"),
        argv=(
            path,
            "--client",
            "127.0.0.1",
            "--port",
            "{port}",
            "--time",
            "86400",
            "--interval",
            "0.5",
            "--forceflush",
            *by,
            *held,
        ),
    )


KIND = NamedKind(
    name="iperf3",
    about="a stream over loopback, held to a rate: iperf3:tcp@100MB/s",
    params=PARAMS,
    needs=(PROGRAM,),
    source="iperf3 (ESnet)",
    build=build,
    lead=BY,
    at=HELD,
    label=lambda params: much(f"{params[BY].upper()} stream", params[HELD]),
)
