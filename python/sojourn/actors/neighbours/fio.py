"""Reads and writes of a disk by fio, held to a rate (P20).

    fio:randwrite@50MB/s
    fio:op=read,rate=200MB/s,folder=/var/tmp,size=256MiB

Its file has no name, so nothing is left however it ends.
"""

from __future__ import annotations

from collections.abc import Mapping

from sojourn import programs, units
from sojourn.actors.kind import NamedKind, much
from sojourn.actors.neighbours import on_disk
from sojourn.actors.neighbours.driven import COMMON, RATE, Driven, Work
from sojourn.actors.neighbours.neighbour import FREE, where_param
from sojourn.errors import SpecFault
from sojourn.host import Facts
from sojourn.services.params import Param

PROGRAM, FIX = "fio", "apt install fio"
OP, HELD, SIZE, BLOCK, FOLDER, DIRECT = "op", "rate", "size", "block", "folder", "direct"
OPS = ("randwrite", "randread", "write", "read")
BYTES = r"[1-9]\d*(KiB|MiB|GiB)"

PARAMS = (
    Param(name=OP, about="what it does", default="randwrite", type=str, choices=OPS),
    Param(
        name=HELD,
        about="rate to hold",
        default="50MB/s",
        type=str,
        pattern=RATE,
        allowed="a rate such as 50MB/s",
    ),
    where_param(FREE),
    Param(
        name=SIZE,
        about="of its file",
        default="64MiB",
        type=str,
        pattern=BYTES,
        allowed="a size such as 64MiB",
    ),
    Param(
        name=BLOCK,
        about="of one read or write",
        default="64KiB",
        type=str,
        pattern=BYTES,
        allowed="a size such as 4KiB",
    ),
    Param(name=FOLDER, about="where its file lies", default="/var/tmp", type=str),  # noqa: S108
    Param(
        name=DIRECT,
        about="past the page cache",
        default="true",
        type=str,
        choices=("true", "false"),
    ),
    *COMMON,
)


class Fio(Driven):
    """fio on each CPU of a place, each with a file of its own."""

    def check(self, facts: Facts) -> None:
        """Refuse what is not installed, and a folder that cannot take the file.

        Raises:
            HostFault: fio is not installed.
            AbsentFault: there is no such folder here, or no room in it.
        """
        super().check(facts)
        self.check_copies(1)

    def check_copies(self, count: int) -> None:
        """Refuse files that the folder cannot take, those of all copies together.

        Raises:
            AbsentFault: it is not there, is on no disk, or has no room.
        """
        on_disk.check(KIND.name, self._params[FOLDER], units.parse_bytes(self._params[SIZE]), count)


def build(params: Mapping[str, str]) -> Fio:
    """A job of fio for each CPU of its place.

    Raises:
        SpecFault: a block is larger than the file.
    """
    if units.parse_bytes(params[BLOCK]) > units.parse_bytes(params[SIZE]):
        raise SpecFault(
            f"a block of {params[BLOCK]} is larger than the file of {params[SIZE]}",
            at=f"neighbour fio, {BLOCK} = {params[BLOCK]}",
            fix=f"give a smaller {BLOCK}=, or a larger {SIZE}=",
        )
    return Fio(
        KIND.name,
        params,
        lambda: work_of(params),
        called=f"fio {params[OP]}",
        writes_bytes=units.parse_bytes(params[SIZE]),
    )


def work_of(params: Mapping[str, str]) -> Work:
    """One job that goes on until it is ended; HostFault where fio is not installed."""
    rate = int(params[HELD].removesuffix("MB/s"))
    size, block = (units.parse_bytes(params[name]) for name in (SIZE, BLOCK))
    words = (
        str(programs.find(PROGRAM, fix=FIX)),
        "--name=neighbour",
        "--filename={file}",
        f"--rw={params[OP]}",
        f"--size={size}",
        f"--bs={block}",
        f"--rate={rate * 1_000_000}",
        f"--direct={int(params[DIRECT] == 'true')}",
        "--ioengine=psync",
        "--thread",
        "--time_based",
        "--runtime=86400",
        "--status-interval=1",
        "--output-format=json",
        "--randrepeat=1",
        "--rate_process=linear",
    )
    return Work(
        unit="MB",
        how="followed",
        argv=words,
        reader="fio",
        file_bytes=size,
        folder=params[FOLDER],
        is_cpu=False,
        per_s=float(rate),
    )


KIND = NamedKind(
    name="fio",
    about="a reader or writer of a disk, held to a rate: fio:randwrite@50MB/s",
    params=PARAMS,
    needs=(PROGRAM,),
    source="fio (Axboe); P20",
    build=build,
    lead=OP,
    at=HELD,
    label=lambda params: much(f"fio {params[OP]}", params[HELD]),
)
