"""The studies behind `sojourn compare`, `sojourn gate` and `sojourn noise`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.spec import files, form
from sojourn.spec.levels import Level, levels_of
from sojourn.spec.models import Study
from sojourn.spec.own import QUICK

LABELS = "abcdefgh"
DEPTH = 4  # parts of a key
MEASURE_S = 2.0
WARMUP_S = 0.3
START_S = 0.5  # what a start of a service takes, about
P999 = "p99.9"
P999_REQUESTS = 10_000  # ten of them lie above it
#: Clients of a service that is not known: late by what such a service does not notice is on time.
LOAD: Mapping[str, Any] = {"timely_within": "500us", "connections": 16}


def side_of(text: str, target: str = "") -> dict[str, Any]:
    """A service from what was typed: a URL is asked, anything else is a command that is started.

    Args:
        text: the URL or command.
        target: what a command's service is asked; "": a page by HTTP.

    >>> side_of("./app --port {port}")["kind"], side_of("http://localhost:80/")["kind"]
    ('command', 'external')
    """
    if "://" in next(iter(text.split()), ""):
        return {"kind": "external", "params": {"target": text.strip()}}
    return {"kind": "command", "params": {"argv": text, **({"target": target} if target else {})}}


def run_s(measure_s: float, rps: float, numbers: Sequence[str]) -> float:
    """Length of a run that has enough requests for its numbers, s.

    Args:
        measure_s: at least.
        rps: offered load, requests/s; 0: not known.
        numbers: that are compared.

    >>> run_s(2.0, 500.0, ["mean"]), run_s(2.0, 500.0, ["p99.9"]), run_s(2.0, 50e3, ["p99.9"])
    (2.0, 20.0, 2.0)
    """
    return max(measure_s, P999_REQUESTS / rps) if P999 in numbers and rps > 0 else measure_s


def varied(side: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
    """A service once for each level of one of its keys, such as `params.threads=1,2`.

    Raises:
        ValueError: it is no key with levels.
    """
    key, is_there, levels = text.partition("=")
    path = [part.strip() for part in key.split(".")]
    if not is_there or not all(path) or len(path) > DEPTH:
        raise ValueError(f"'{text}' is not a key with levels, such as params.threads=1,2")
    if path == ["load"]:
        raise ValueError("'load' is a table; vary a key of it, such as load.connections=8,16")
    return [_put(side, path, level) for level in levels_of(levels)]


def _put(side: Mapping[str, Any], path: Sequence[str], level: Level) -> dict[str, Any]:
    if len(path) == 1:
        return {**side, path[0]: level}
    inner = side.get(path[0], {})
    if not isinstance(inner, Mapping):
        what = f"'{path[0]}' is a value, not a table"
        raise ValueError(what)  # noqa: TRY004  # of a text that people typed
    return {**side, path[0]: _put(inner, path[1:], level)}


def _load(side: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of its generator's job; a relative name of a file was typed in this folder."""
    return {**LOAD, **files.absolute(side.get("load", {}), Path.cwd())}


def study_of(
    sides: Sequence[Mapping[str, Any]],
    *,
    rate: str,
    compare: Mapping[str, Any],
    measure_s: float = MEASURE_S,
    name: str = "compare",
    shield: str = "priority",
    budget_s: float = 86_400.0,
) -> Study:
    """A study of services that are measured in turn.

    Args:
        sides: the services as a study file has them, without label; they are called a, b, ….
        rate: offered load, requests/s; "": half of the lowest max RPS, which is measured first.
        compare: keys of `[compare]`.
        measure_s: length of a run, s.
        name: of the study.
        shield: of the server's CPUs.
        budget_s: after which no run begins, s.

    Raises:
        pydantic.ValidationError: a key is wrong.
    """
    services = [
        {"measure": ["null"], **side, "label": label, "load": _load(side)}
        for label, side in zip(LABELS, sides, strict=False)
    ]
    labels = [service["label"] for service in services]
    loads = {"rates": [rate], "fractions": ()} if rate else {"fractions": (0.5,)}
    run = {
        **QUICK,
        "shield": shield,
        "measure_s": measure_s,
        "warmup_s": WARMUP_S,
        "budget_s": budget_s,
        **loads,
    }
    return form.current().study.model_validate(
        {
            "name": name,
            "question": f"Is {' or '.join(labels[1:])} worse than a?",
            "aa": False,
            "probe": "0",
            "run": run,
            "services": services,
            "compare": {"services": labels, **compare},
        }
    )


def repeated(
    side: Mapping[str, Any],
    *,
    rate: str,
    starts: int,
    measure_s: float,
    name: str,
    shield: str = "priority",
) -> Study:
    """A study of one service that is started again and again under one load.

    Args:
        side: the service as a study file has it, without label.
        rate: offered load, requests/s; "": half of max RPS, which is measured first.
        starts: of the service.
        measure_s: length of a run, s.
        name: of the study.
        shield: of the server's CPUs.

    Raises:
        pydantic.ValidationError: a key is wrong.
    """
    loads = {"rates": [rate], "fractions": ()} if rate else {"fractions": (0.5,)}
    run = {**QUICK, "measure_s": measure_s, "warmup_s": WARMUP_S, "repeats": starts,
           "budget_s": 86_400.0, "shield": shield, **loads}  # fmt: skip
    service = {"measure": ["sweep"], **side, "load": _load(side)}
    if rate:
        service["max_rps"] = "asked"
    return form.current().study.model_validate(
        {
            "name": name,
            "question": "How does the noise of this machine divide?",
            "aa": False,
            "probe": "0",
            "run": run,
            "services": [service],
        }
    )
