"""Dumps of the black box that lie in the folder: a list, and a page for each."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from sojourn import disk, units
from sojourn.errors import SpecFault, StoreFault
from sojourn.importers import ring_dump
from sojourn.importers.file import WHOLE_BYTES
from sojourn.importers.ring_dump import Dump
from sojourn.view import pages

NAME = re.compile(r"ring-(\d{8})T(\d{6})Z-\d{1,6}\.json")
LISTED_MOST, SHOWN_MOST, CAUSES_MOST = 200, 200, 12
SIDE, COLOURS = 1000, 8  # of a picture; of the style sheet
LEAST_NS = 1.0  # of a time that is drawn: a dump may hold the smallest number that there is
FEW = 100  # requests: the p99 of fewer is the longest of them
LAST = 50  # bars of stages are cut into at most so many pieces


@dataclass(frozen=True, slots=True)
class Listed:
    """A dump in the list: its file, when it was written, and its size in bytes."""

    name: str
    at: str
    size: int


@dataclass(frozen=True, slots=True)
class Bar:
    """A piece of a request's bar, in thousandths, with the number of its colour."""

    x: float
    width: float
    number: int
    words: str


@dataclass(frozen=True, slots=True)
class Course:
    """p99 second by second, drawn on a scale of decades.

    Attributes:
        least, most: requests of the seconds that are drawn.
        is_maximum: some have so few requests that their p99 is the longest one.
    """

    line: str
    top_ns: float
    bottom_ns: float
    least: int
    most: int
    is_maximum: bool


def listed(folder: Path) -> list[Listed]:
    """The newest dumps in a folder itself; links are left out."""
    try:
        names = sorted((path.name for path in folder.iterdir()), reverse=True)
    except OSError:
        return []
    result: list[Listed] = []
    for name in names:
        match = NAME.fullmatch(name)
        if match and disk.is_plain(folder / name) and len(result) < LISTED_MOST:
            day, time = match.groups()
            at = f"{day[:4]}-{day[4:6]}-{day[6:]} {time[:2]}:{time[2:4]}:{time[4:]}"
            result.append(Listed(name, at, _size(folder / name)))
    return result


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def check(path: Path) -> None:
    """Whether a file that was named is a dump under its own name.

    Raises:
        SpecFault: its name is another, or it is no dump.
        StoreFault: it cannot be read.
    """
    if not NAME.fullmatch(path.name):
        raise SpecFault(
            "the view shows folders of records, and dumps named ring-TIME-NUMBER.json",
            at=str(path),
            fix="name a folder; `sojourn open FILE` reads results of other tools",
        )
    read(path.absolute())


def page(request: Request) -> Response:
    """A dump: answer, causes, stacks, seconds, slowest requests."""
    name = str(request.path_params["name"])
    if not NAME.fullmatch(name):
        raise StoreFault("there is no such dump", at=name[:200], fix="choose one from the list")
    dump = read(request.app.state.results / name)
    stages = stages_of(dump)
    shown = dump.slow[:SHOWN_MOST]
    return pages.page(
        "dump.html.j2",
        title=f"Dump of {dump.target}",
        name=name,
        dump=dump,
        causes=dump.culprits[:CAUSES_MOST],
        others=dump.culprits[CAUSES_MOST:],
        stages=list(enumerate(stages)),
        slow=[(one, bars(one, stages, shown[0].total_ns)) for one in shown],
        course=course(dump),
    )


def read(path: Path) -> Dump:
    """The dump in a file, which is no link.

    Raises:
        SpecFault: it is damaged, or no dump.
        StoreFault: it cannot be read.
    """
    try:
        document = disk.read_json(path, most=WHOLE_BYTES)
    except OSError as error:
        what = f"the dump cannot be read: {error.strerror or error}"
        fix = "it may have been removed for newer ones: choose one from the list"
        raise StoreFault(what, at=str(path), fix=fix) from None
    except (ValueError, RecursionError) as error:
        what = f"the dump is no JSON that can be read: {error}"
        raise StoreFault(what, at=str(path), fix=ring_dump.AGAIN) from None
    return ring_dump.of(document, str(path))


def stages_of(dump: Dump) -> list[str]:
    """Stages of all requests, the one that took most time first."""
    sums: dict[str, float] = {}
    for one in dump.slow:
        for name, ns in one.stages:
            sums[name] = sums.get(name, 0.0) + ns
    return sorted(sums, key=lambda name: -sums[name])


def bars(one: ring_dump.Request, stages: Sequence[str], longest_ns: float) -> list[Bar]:
    """A request's stages one after another, as long as its time beside the slowest one."""
    result: list[Bar] = []
    x = 0.0
    for name, ns in one.stages[:LAST]:
        width = SIDE * ns / longest_ns if longest_ns >= LEAST_NS else 0.0
        words = f"{name} {units.show_ns(ns)}"
        result.append(Bar(round(x, 2), round(width, 2), stages.index(name) % COLOURS, words))
        x += width
    return result


def course(dump: Dump) -> Course | None:
    """The p99 of each second; None if fewer than two have one of a nanosecond or more."""
    known = [(one, one.p99_ns or 0.0) for one in dump.course]
    known = [(one, ns) for one, ns in known if ns >= LEAST_NS]
    if len(known) < 2 or known[0][0].end_unix_ns >= known[-1][0].end_unix_ns:
        return None
    lo = 10 ** math.floor(math.log10(min(ns for _, ns in known)))
    hi = 10 ** math.ceil(math.log10(max(ns for _, ns in known)))
    hi = max(hi, 10 * lo)
    begin, end = known[0][0].end_unix_ns, known[-1][0].end_unix_ns
    points = (
        f"{SIDE * (one.end_unix_ns - begin) / (end - begin):.1f},"
        f"{SIDE * (1 - math.log10(ns / lo) / math.log10(hi / lo)):.1f}"
        for one, ns in known
    )
    counts = [one.requests for one, _ in known]
    return Course(
        line=" ".join(points),
        top_ns=hi,
        bottom_ns=lo,
        least=min(counts),
        most=max(counts),
        is_maximum=min(counts) < FEW,
    )
