"""What services and the generator accept, from `schema/`: checked without importing either.

`schema/kinds.json` is made from `services.KINDS` and `schema/load-job.json` from the generator, so
a study is refused before anything is started, by a stage that knows no machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sojourn.errors import SpecFault
from sojourn.spec.faults import near, place
from sojourn.spec.models import ServiceSpec, Study

Mistake = tuple[tuple[str, ...], str, str]  # key, what, fix

SCHEMAS = Path(__file__).parents[1] / "schema"

# Keys of the generator's job that the plan and the run set; a study says it elsewhere.
RESERVED = {
    "schema": "nothing; the lab writes it",
    "target": "the kind of the service",
    "rate": "run.fractions",
    "duration": "run.measure_s",
    "warmup": "run.warmup_s",
    "seed": "seed, at the top of the study",
    "find_max": "max_rps",
    "qos_quantile": "services.qos.q",
    "qos_bound": "services.qos.bound",
    "hlog": "nothing; the lab keeps one beside every point",
    "raw": "run.raw_max",
    "raw_max": "run.raw_max",
    "preload": "nothing; the lab preloads and checks every service",
}


@cache
def schema(name: str) -> Any:
    """One file of `schema/`, parsed; None where it is not there yet."""
    path = SCHEMAS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def check(study: Study, text: str, path: Path) -> None:
    """Refuse kinds, parameters and job keys that do not exist, with near names."""
    for number, service in enumerate(study.services):
        for key, what, fix in _mistakes(service):
            at = place(("services", number, *key), text, path)
            raise SpecFault(what, at=at, fix=fix)


def _mistakes(service: ServiceSpec) -> list[Mistake]:
    kinds: Mapping[str, Any] | None = schema("kinds")
    if kinds is None:
        return []
    tables = {kind["name"]: kind for kind in kinds["services"]}
    if service.kind not in tables:
        meant = near(service.kind, tables) or list(tables)
        what = f"there is no kind of service '{service.kind}'"
        return [(("kind",), what, f"did you mean {' or '.join(meant)}? See `sojourn kinds`")]
    params = [param["name"] for param in tables[service.kind]["params"]]
    found: list[Mistake] = [
        (("params", name), f"{service.kind} has no parameter '{name}'", _known(name, params))
        for name in service.params
        if name not in params
    ]
    return found + _job_mistakes(service)


def _job_mistakes(service: ServiceSpec) -> list[Mistake]:
    job = schema("load-job")
    found: list[Mistake] = []
    for name in service.load:
        if name in RESERVED:
            what = f"the plan sets '{name}' of the generator's job"
            found.append((("load", name), what, f"leave it out; use {RESERVED[name]}"))
        elif job and name not in job["properties"]:
            known = [key for key in job["properties"] if key not in RESERVED]
            what = f"the generator's job has no key '{name}'"
            found.append((("load", name), what, _known(name, known)))
    return found


def _known(name: str, known: list[str]) -> str:
    meant = near(name, known)
    return f"did you mean {' or '.join(meant)}?" if meant else f"known: {', '.join(known)}"
