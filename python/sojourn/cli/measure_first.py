"""`sojourn predict --measure`: the records that a forecast lacks are made first.

A child looks for what lacks, because whoever reads records gives up root's rights. This process
needs them to measure.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from sojourn import disk
from sojourn.cli import lowered, run
from sojourn.cli.faults import say
from sojourn.errors import Exit, SpecFault
from sojourn.foresight import study, victims
from sojourn.foresight.lacking import Lacking, known

STUDIES_MAX = 3  # the service, and a ruler; then one more try


def measure_first(service: str, neighbours: Sequence[str], results: Path) -> int:
    """Measure each service that a forecast needs; returns the exit code, `Exit.OK` to go on.

    What still lacks after that is left to the forecast to report.

    Raises:
        Fault: a study cannot be written or measured.
    """
    measured: set[tuple[str, tuple[str, ...]]] = set()
    for _ in range(STUDIES_MAX):
        lacks = {*_lacks(service, neighbours, results).items()} - measured
        if not lacks:
            break
        for kind, beside in sorted(lacks):
            minutes = study.minutes(len(beside))
            say(f"measuring {kind} beside doses first, about {minutes:.0f} minutes")
            path = _written(kind, beside)
            with contextlib.redirect_stdout(sys.stderr):  # the forecast alone is the output
                code = run.run(study=path, results=results)
            if code == Exit.INTERRUPTED:
                return code
            measured.add((kind, beside))
    return Exit.OK


def _lacks(service: str, neighbours: Sequence[str], results: Path) -> Mapping[str, tuple[str, ...]]:
    """What `_read` finds, in a child."""
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(max_workers=1, mp_context=fork) as child:
        return child.submit(_read, service, neighbours, results).result()


def _read(service: str, neighbours: Sequence[str], results: Path) -> Mapping[str, tuple[str, ...]]:
    """Kinds of services to be measured, each with the neighbours beside the doses."""
    lowered.for_reading(results)
    every = victims.all_of(results) if results.is_dir() else []
    gathered: dict[str, list[str]] = defaultdict(list)
    for neighbour in neighbours:
        try:
            known(every, service, neighbour)
        except Lacking as lacking:
            gathered[lacking.kind] += lacking.neighbours
        except SpecFault:
            continue  # it is reported by the forecast, because no study is the answer
    return {kind: tuple(beside) for kind, beside in gathered.items()}


def _written(kind: str, neighbours: Sequence[str]) -> str:
    """The path of the study of a kind, which is written if it is not there.

    Raises:
        SpecFault: another file has its name, or the folder cannot be written.
    """
    text, path = study.text(kind, neighbours), Path(f"foresight_{kind}.toml")
    if os.path.lexists(path):
        if not disk.is_plain(path) or disk.read_text(path, most=disk.JSON_BYTES) != text:
            fix = f"run it yourself (sojourn run ./{path}), or rename it"
            raise SpecFault(f"another {path} is here", at=str(path.absolute()), fix=fix)
        return f"./{path}"
    try:
        disk.write_text(path, text)
    except OSError as error:
        raise SpecFault(
            f"the study cannot be written: {error.strerror}",
            at=str(path.absolute()),
            fix="change to a folder that can be written",
        ) from None
    return f"./{path}"
