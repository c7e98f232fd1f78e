"""Hosts on which one service ran in turn, as in a study that went on elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sojourn.host.shared import MACHINE, SERVERS
from sojourn.samples import read_json
from sojourn.samples.names import SERVICE
from sojourn.visible import in_line

SERVER = "server"  # of a run's facts: the node of a role


def rows(folders: Iterable[Path]) -> tuple[tuple[str, str], ...]:
    """Which hosts these points had, each once; () where that is one, or not known."""
    paths = (at / SERVICE for at in folders)
    every = dict.fromkeys(_server(read_json(path)) for path in paths if path.exists())
    names = list(filter(None, every))
    return ((SERVERS, "; ".join(names)),) if len(names) > 1 else ()


def _server(facts: Mapping[str, Any]) -> str:
    """Node and machine: `h4 (10.0.0.4), Xeon, 8 CPUs`; "" where it served on the lab's host."""
    setup = {str(what): str(how) for what, how in facts.get("setup") or ()}
    known = (setup.get(SERVER, ""), setup.get(MACHINE, ""))
    return in_line(", ".join(filter(None, known))) if known[0] else ""
