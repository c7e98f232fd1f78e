"""Every file of the contract, made from the code that reads or writes it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter

from sojourn import actors, knobs, places, programs, questions
from sojourn.actors import ActorKind
from sojourn.actors.kind import NamedKind
from sojourn.actors.probes import entering
from sojourn.errors import RunFault
from sojourn.findings.findings import Findings
from sojourn.knobs import KnobKind
from sojourn.models.colocation import Table
from sojourn.places import PlaceKind
from sojourn.plan.points import Outcome, Point
from sojourn.report.opened_file import OpenedFile
from sojourn.samples.resources import ResourceFile
from sojourn.services import KINDS, Param, ServiceKind
from sojourn.spec import PROFILES, kinds

DESCRIBE_S_MAX = 20.0
_TYPES = {int: "integer", float: "number", bool: "boolean", str: "string"}


def documents() -> dict[str, Any]:
    """File name without `.json` → content, in reading order."""
    load = _describe("sojourn-load")
    sim = _describe("sojourn-sim")
    return {
        "study": _study(),
        "kinds": {
            "services": [_kind(kind) for kind in KINDS.values()],
            "places": [_place(kind) for kind in places.KINDS.values()],
            "knobs": [_knob(kind) for kind in knobs.KINDS.values()],
            **{table: [*map(_kind, every)] for table, every in _actors()},
        },
        "load-kinds": load["catalogue"],
        "load-job": load["job"],
        "load-result": load["result"],
        "sim-kinds": sim["catalogue"],
        **{f"sim-{name}": sim[name] for name in ("queue", "sched", "fleet", "calls")},
        **_trace(),
        "colocation": Table.model_json_schema(by_alias=True),
        "point": TypeAdapter(Point).json_schema(),
        "outcome": TypeAdapter(Outcome).json_schema(),
        "resources": ResourceFile.model_json_schema(by_alias=True),
        "findings": _findings(),
        "opened": TypeAdapter(OpenedFile).json_schema(mode="serialization"),
    }


def _actors() -> Iterator[tuple[str, Iterable[ActorKind]]]:
    """Kinds by table, those of questions among the probes."""
    for table, known in actors.KINDS.items():
        is_watching = table == "probes"
        yield table, entering(questions.catalogue().probes) if is_watching else known.values()


def _trace() -> dict[str, Any]:
    """The tracer's part; where it cannot be built, as it was."""
    if programs.maybe("sojourn-trace") is None:
        names = ("trace-kinds", "trace-result", "trace-diff", "trace-ring", "who-result")
        return {name: kinds.schema(name) for name in names}
    result = _describe("sojourn-trace")
    tables = [
        {"name": "trace stages", "kinds": result["stages"]},
        {"name": "trace reasons", "kinds": result["reasons"]},
    ]
    return {
        "trace-kinds": {"tables": tables},
        "trace-result": result["result"],
        "trace-diff": result["diff"],
        "trace-ring": result["ring"],
        "who-result": result["who"],
    }


def text(document: Any) -> str:
    """As it is written in the file."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _describe(program: str) -> Mapping[str, Any]:
    path = programs.find(program)
    try:
        done = subprocess.run(
            [str(path), "--describe"],
            capture_output=True,
            text=True,
            timeout=DESCRIBE_S_MAX,
            check=True,
        )
        described = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise RunFault(
            f"{program} does not describe itself: {error}",
            at=f"{path} --describe",
            fix="run `make build`",
        ) from None
    return dict(described)


def _study() -> dict[str, Any]:
    """As people write it: what a profile fills in may be left out, questions have names."""
    schema = questions.form().study.model_json_schema(by_alias=True)
    for name in ("RunSpec", "SearchSpec"):
        schema["$defs"][name].pop("required", None)
    one = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"aa": {"type": "boolean"}, "run": {"$ref": "#/$defs/RunSpec"}},
    }
    schema["properties"]["profiles"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": dict.fromkeys(PROFILES, one),
        "description": "What is set otherwise in one profile, such as profiles.quick.run.repeats: "
        "it goes before the study's own value.",
    }
    measure = schema["$defs"]["ServiceSpec"]["properties"]["measure"]
    measure["items"]["enum"] = [question.name for question in questions.PLANS.values()]
    required = [key for key in schema["required"] if key != "run"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "required": required,
    }


def _findings() -> dict[str, Any]:
    """As `flat` writes them: what each question found is beside what is common."""
    schema = TypeAdapter(Findings).json_schema()
    definitions = schema["$defs"]
    of_service, of_study = definitions["ServiceFinding"]["properties"], schema["properties"]
    for table in (of_service, of_study):
        del table["sections"]
    for kind in questions.answers().values():
        for table, types in ((of_service, kind.service_types()), (of_study, kind.study_types())):
            for name, type_ in types.items():
                result = TypeAdapter(type_).json_schema()
                definitions |= result.pop("$defs", {})
                table[name] = result
    definitions.pop("Section", None)
    return schema


def _kind(kind: ServiceKind | ActorKind) -> dict[str, Any]:
    return {
        "name": kind.name,
        "about": kind.about,
        "needs": list(kind.needs),
        "source": kind.source,
        **_shorthand(kind),
        "params": [_param(param) for param in kind.params],
    }


def _shorthand(kind: ServiceKind | ActorKind) -> dict[str, str]:
    """Which parameters need no name in a study, where they are not the usual ones."""
    if not isinstance(kind, NamedKind) or not kind.at:
        return {}
    return {"lead": kind.lead, "at": kind.at}


def _place(kind: PlaceKind) -> dict[str, Any]:
    return {
        "name": kind.name,
        "about": kind.about,
        "needs": [*kind.needs, *(f"{name} (apt install {p})" for name, p in kind.programs.items())],
        "networks": list(kind.networks),
        "options": [
            {"name": option.name, "part": option.part, "about": option.about}
            for option in kind.options
        ],
    }


def _knob(kind: KnobKind) -> dict[str, Any]:
    return {
        "name": kind.name,
        "about": kind.about,
        "needs": list(kind.needs),
        "source": kind.source,
        "level": kind.level,
        "pattern": kind.pattern,
    }


def _param(param: Param) -> dict[str, Any]:
    table = {
        "name": param.name,
        "about": param.about,
        "type": _TYPES[param.type],
        "unit": param.unit,
        "default": param.default,
        "range": param.range,
        "lo": param.lo,
        "hi": param.hi,
        "choices": list(param.choices),
        "relative": "cpus" if param.relative else "",
        "pattern": param.pattern,
    }
    return {key: value for key, value in table.items() if value not in (None, "", [])}
