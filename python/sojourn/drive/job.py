"""What a driver is to do, as it is told in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PORT, FILE = "{port}", "{file}"  # in a job's words


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be done.

    Attributes:
        unit: what is counted.
        how: "command", "served" or "followed".
        argv: the program; `{file}` and `{port}` stand for what is made for it.
        host: a program that runs beside it, such as the server of iperf3.
        reader: of `progress_lines.READERS`: how far what it says it is; "": a piece is a unit.
        text, text_bytes: "prose" or "source": what its input is like, and how long.
        file_bytes, folder: size of a file without a name, and where it lies.
        seed: of the input.
        is_cpu: it needs a CPU and nothing else: its pace alone is that per second of CPU time.
        share: of its pace alone, that it is asked for.
        per_s: units/s that it is asked for, and holds by itself; 0: none.
        alone_s: how long its pace alone is measured, s.
    """

    unit: str
    how: str
    argv: Sequence[str]
    host: Sequence[str] = ()
    reader: str = ""
    text: str = ""
    text_bytes: int = 0
    file_bytes: int = 0
    folder: str = ""
    seed: int = 1
    is_cpu: bool = True
    share: float = 1.0
    per_s: float = 0.0
    alone_s: float = 1.0
