"""What programs say of how far they are, as units of work."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import IO


def output_lines(child: subprocess.Popen[str]) -> Iterator[str]:
    """What a program says, until it ends, which it must not."""
    stream: IO[str] = child.stdout or sys.exit("it has no output")
    yield from stream
    fail(child.args, child.wait())


def fail(argv: object, status: int) -> None:
    """End with how a program ended, which was to go on."""
    words = argv if isinstance(argv, list | tuple) else [argv]
    how = f"with exit status {status}" if status >= 0 else f"by signal {-status}"
    sys.exit(f"{words[0]} ended {how}: {' '.join(map(str, words))[:300]}")


def frames(lines: Iterator[str]) -> Iterator[float]:
    r"""Frames by the progress of ffmpeg, which counts from its start.

    >>> list(frames(iter(["frame=25\n", "fps=0\n", "frame=75\n"])))
    [25.0, 50.0]
    """
    before = 0.0
    for line in lines:
        name, _, value = line.partition("=")
        if name == "frame":
            yield float(value) - before
            before = float(value)


def megabytes(lines: Iterator[str]) -> Iterator[float]:
    r"""MB by the status reports of fio, each a whole JSON object that counts from its start.

    >>> output_lines = '{"jobs": [{"read": {"io_bytes": 0}, "write": {"io_bytes": %d}}]\n'
    >>> list(megabytes(iter([output_lines % 3_000_000, "}\n", output_lines % 5_000_000, "}\n"])))
    [3.0, 2.0]
    """
    before, text = 0.0, ""
    for line in lines:
        text = line if line.startswith("{") else text + line
        if line.rstrip() != "}" or not text.startswith("{"):
            continue
        sides = [job[side] for job in json.loads(text)["jobs"] for side in ("read", "write")]
        total = sum(side["io_bytes"] for side in sides) / 1e6
        yield total - before
        before = total


INTERVAL = re.compile(r"\]\s+[\d.]+-[\d.]+\s+sec\s+([\d.]+) (B|K|M|G)Bytes")
BYTES = {"B": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3}


def transferred(lines: Iterator[str]) -> Iterator[float]:
    """MB by the intervals of iperf3.

    >>> output_lines = "[  5]   0.00-0.50   sec  10.0 MBytes   168 Mbits/sec    0   639 KBytes"
    >>> list(transferred(iter(["Connecting to host", output_lines])))
    [10.48576]
    """
    for line in lines:
        if match := INTERVAL.search(line):
            yield float(match[1]) * BYTES[match[2]] / 1e6


READERS: dict[str, Callable[[Iterator[str]], Iterator[float]]] = {
    "frames": frames,
    "fio": megabytes,
    "iperf3": transferred,
}

OPERATIONS = re.compile(r"\]\s+[\w-]+\s+(\d+)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+")


def operations(text: str) -> float:
    """Bogo operations by the metrics of stress-ng; none reported: 0.

    >>> operations("stress-ng: metrc: [70] cpu  1894  1.00  0.99  0.01  1893.7  1890")
    1894.0
    """
    match = OPERATIONS.search(text)
    return float(match[1]) if match else 0.0
