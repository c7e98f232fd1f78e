"""The interval log (`load.hlog`): histograms of sojourn times by slices of a run.

Text, in the HdrHistogram log format: `#` comments, a header line in quotes, then lines of start
(s), length (s), largest value, and a histogram in base64; tags in front are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sojourn import disk
from sojourn.errors import StoreFault
from sojourn.samples import histogram
from sojourn.samples.histogram import Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One line of the log.

    Attributes:
        start_s: since the start of the measured part.
        length_s: of the interval.
        sojourn: finite times of the requests that were due in it.
        tag: "" for what counts; "all": requests in outages of the client included.
    """

    start_s: float
    length_s: float
    sojourn: Histogram
    tag: str = ""


def intervals(path: Path) -> tuple[Interval, ...]:
    """The log in order; empty if none was stored. StoreFault if a line is damaged."""
    try:
        lines = disk.read_text(path, most=BYTES).splitlines()
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise StoreFault(f"cannot read: {error}", at=str(path), fix=_FIX) from None
    wanted = ((n, line) for n, line in enumerate(lines, 1) if line and line[0] not in '#"')
    return tuple(_interval(line, f"{path}:{number}") for number, line in wanted)


BYTES = 256 * 1024**2  # a line a second, of some kilobytes
_FIX = "remove the file: only the course over time is lost"


def _interval(line: str, at: str) -> Interval:
    tag = ""
    if line.startswith("Tag="):
        tag, _, line = line.removeprefix("Tag=").partition(",")
    try:
        start, length, _, packed = line.split(",", 3)
        return Interval(
            start_s=float(start),
            length_s=float(length),
            sojourn=histogram.decode(packed.strip(), at=at),
            tag=tag,
        )
    except ValueError:
        what = "this is no line of an interval log"
        raise StoreFault(what, at=at, fix=_FIX) from None
