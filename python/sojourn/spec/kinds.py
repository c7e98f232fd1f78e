"""What services and the generator accept, from `schema/`: checked without importing either.

`schema/kinds.json` is made from `services.KINDS` and `schema/load-*.json` from the generator, so a
study is refused before anything is started, by a stage that knows no machine.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Any

from sojourn.spec import form, words
from sojourn.spec.faults import Mistake
from sojourn.spec.qos import WITH_UNIT, lacks_unit
from sojourn.text.near import near

SCHEMAS = Path(__file__).parents[1] / "schema"

# Keys of the generator's job that the plan and the run set; a study says it elsewhere.
RESERVED = {
    "schema": "nothing; the lab writes it",
    "target": "the kind of the service",
    "rate": "run.fractions or run.rates",
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
# Keys of the job that name a kind, and the generator's table of them.
_TABLES = {
    "arrivals": "arrivals",
    "sessions": "sessions",
    "popularity": "popularity",
    "transport": "transports",
}
# Keys of a study that name a kind of actor, as KIND or KIND:WHERE, and the table of those.
ACTORS = {"neighbour": "neighbours", "manager": "managers"}
_RELATIVE = r"cpus([+-]\d+)?"  # a number told by the server's CPUs, as `services.params` has it
_WORDS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "string": "text in quotes",
    "array": "a list",
}


@cache
def schema(name: str) -> Any:
    """One file of `schema/`, parsed; None where it is not there."""
    path = SCHEMAS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def actor_mistakes(study: Mapping[str, Any]) -> Iterator[Mistake]:
    """Neighbours and managers that there are not, or that cannot be where they are put.

    Args:
        study: as the file has it, right or wrong.
    """
    for key, table in ACTORS.items():
        asked = study.get(key)
        if isinstance(asked, str):
            yield from (((key,), *problem) for problem in _actor_problems(key, table, asked))


def _actor_problems(key: str, table: str, asked: str) -> Iterator[tuple[str, str]]:
    """What is wrong with the text of one actor, and how to fix it."""
    known = {kind["name"]: kind for kind in (schema("kinds") or {}).get(table, ())}
    if asked == "none" or not known:
        return
    name, _, where = asked.partition(":")
    if name == "none":
        some = [f'"{kind}:{where}"' for kind, of in known.items() if _has_place(of)]
        fix = " or ".join(['write "none"', *some])
        yield f"{key} 'none' is not a neighbour and has no place", fix
    elif name not in known:
        fix = f"{_known(name, ('none', *known))} See `sojourn kinds {table}`"
        yield f"there is no {key} '{name}'", fix
    else:
        yield from _word_problems(key, asked, known[name])


def _word_problems(key: str, asked: str, kind: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with the parameters in the text of an actor, and how to fix it."""
    lead, name = kind.get("lead", words.WHERE), kind["name"]
    text = words.read(asked, lead=lead, at=kind.get("at", ""))
    params = {param["name"]: param for param in kind.get("params", ())}
    if text.problem:
        yield f"{key} '{asked}': {text.problem}", f"write {name}:NAME=VALUE,NAME=VALUE"
        return
    for word, value in text.params.items():
        if word in params:
            if problem := _problem(word, value, {**params[word], "type": "string"}):
                yield problem
        elif word == words.WHERE:
            yield f"{key} '{name}' has no place to choose", f"write {name}"
        else:
            yield f"{key} '{name}' has no parameter '{word}'", _known(word, params or ("none",))


def _has_place(kind: Mapping[str, Any]) -> bool:
    return any(param["name"] == "where" for param in kind.get("params", ()))


def mistakes(services: object) -> Iterator[Mistake]:
    """Kinds, parameters and job keys that do not exist or do not fit, with near names.

    Args:
        services: as the file has them, right or wrong; what has not even the right form is the
            model's to refuse.
    """
    for number, service in enumerate(services if isinstance(services, list) else ()):
        if isinstance(service, Mapping):
            for key, what, fix in chain.from_iterable(look(service) for look in _LOOKS):
                yield (("services", number, *key), what, fix)


def _kind_mistakes(service: Mapping[str, Any]) -> Iterator[Mistake]:
    kinds: Mapping[str, Any] = schema("kinds") or {"services": []}
    tables = {kind["name"]: kind for kind in kinds["services"]}
    asked = service.get("kind")
    if not isinstance(asked, str):
        return
    if asked not in tables:
        meant = near(asked, tables)
        guess = f"did you mean {' or '.join(meant)}?" if meant else f"known: {', '.join(tables)}."
        yield (("kind",), f"there is no kind of service '{asked}'", f"{guess} See `sojourn kinds`")
        return
    params = {param["name"]: param for param in tables[asked]["params"]}
    for name, value in _table(service, "params").items():
        key = ("params", name)
        if name not in params:
            yield (key, f"{asked} has no parameter '{name}'", _known(name, params))
        elif problem := _problem(name, value, params[name]):
            yield (key, *problem)


def _place_mistakes(service: Mapping[str, Any]) -> Iterator[Mistake]:
    names = [
        name
        for kind in (schema("kinds") or {}).get("places", ())
        for name in (kind["name"], *(f"{kind['name']}:{more}" for more in _forms(kind)))
    ]
    asked = service.get("place")
    if isinstance(asked, str) and names and asked not in names:
        yield (("place",), f"there is no place '{asked}'", _known(asked, names))


def _forms(kind: Mapping[str, Any]) -> Iterator[str]:
    """What may come after a place's colon: a network, or options, one for each part."""
    yield from kind["networks"]
    parts: dict[str, list[str]] = {}
    for option in kind.get("options", ()):
        parts.setdefault(option["part"], [""]).append(option["name"])
    yield from filter(None, ("+".join(filter(None, names)) for names in product(*parts.values())))


def _knob_mistakes(service: Mapping[str, Any]) -> Iterator[Mistake]:
    knobs = {knob["name"]: knob for knob in (schema("kinds") or {}).get("knobs", ())}
    for name, level in _table(service, "knobs").items():
        key = ("knobs", name)
        if name not in knobs:
            yield (key, f"there is no knob '{name}'", _known(name, knobs))
        elif not _is_level(level, knobs[name]["pattern"]):
            yield (key, f"{name} is {json.dumps(level)}", f"give {knobs[name]['level']}")


def _is_level(level: object, pattern: str) -> bool:
    """Whether it is text, or a whole number (`--vary` reads 0 and 1 from 0,1), of that form."""
    is_scalar = isinstance(level, str | int) and not isinstance(level, bool)
    return is_scalar and re.fullmatch(pattern, str(level)) is not None


def _table(service: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    result = service.get(key)
    return result if isinstance(result, Mapping) else {}


def _job_mistakes(service: Mapping[str, Any]) -> Iterator[Mistake]:
    job = schema("load-job") or {"properties": {}}
    for name, value in _table(service, "load").items():
        key = ("load", name)
        if name in RESERVED:
            what = f"the plan sets '{name}' of the generator's job"
            yield (key, what, f"leave it out; use {RESERVED[name]}")
        elif name not in job["properties"]:
            open_keys = [known for known in job["properties"] if known not in RESERVED]
            yield (key, f"the generator's job has no key '{name}'", _known(name, open_keys))
        elif problem := _problem(name, value, _plain(job["properties"][name])):
            yield (key, *problem)
        elif name in _TABLES and (unknown := _unknown_kind(_TABLES[name], str(value))):
            yield (key, f"there is no kind of {name} '{value}'", unknown)


def _neighbour_mistakes(service: Mapping[str, Any]) -> Iterator[Mistake]:
    """Neighbours in a question's table that there are not."""
    for key in form.current().neighbours:
        asked = _table(service, key[0]).get(key[1], "")
        for text in asked if isinstance(asked, list | tuple) else words.parted(str(asked)):
            problems = _actor_problems("neighbour", ACTORS["neighbour"], str(text))
            yield from ((key, *problem) for problem in problems)


def _bound_mistakes(service: Mapping[str, Any]) -> Iterator[Mistake]:
    """A bound without a unit: it would be seconds, and a load within it would hold anyhow."""
    bound = _table(service, "qos").get("bound")
    if isinstance(bound, str) and lacks_unit(bound):
        yield (("qos", "bound"), f"the bound '{bound}' has no unit", WITH_UNIT)


_LOOKS = (
    _kind_mistakes,
    _job_mistakes,
    _place_mistakes,
    _knob_mistakes,
    _neighbour_mistakes,
    _bound_mistakes,
)


def _plain(results: Mapping[str, Any]) -> Mapping[str, Any]:
    """JSON Schema's words for a range, as the kinds' own."""
    return {"type": results.get("type"), "lo": results.get("minimum"), "hi": results.get("maximum")}


def _problem(name: str, value: object, wanted: Mapping[str, Any]) -> tuple[str, str] | None:
    """What is wrong with a value, and how to fix it."""
    kind = wanted.get("type")
    if wanted.get("relative") and isinstance(value, str) and re.fullmatch(_RELATIVE, value):
        return None
    if kind in _WORDS and not _fits(value, str(kind)):
        shown = f"'{value}'" if isinstance(value, str) else value
        return f"{name} is {shown}, not {_WORDS[kind]}", f"write {_WORDS[kind]}"
    choices = wanted.get("choices") or ()
    if choices and value not in choices:
        meant = near(value, choices) if isinstance(value, str) else []
        hint = f"did you mean {' or '.join(meant)}? " if meant else ""
        return f"{name} is '{value}'", f"{hint}use one of: {', '.join(choices)}"
    pattern = wanted.get("pattern")
    if pattern and isinstance(value, str) and not re.fullmatch(pattern, value):
        return f"{name} is '{value}'", f"give {wanted.get('range') or wanted.get('about')}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _range_problem(name, value, wanted.get("lo"), wanted.get("hi"))
    return None


def _range_problem(
    name: str, value: float, lo: float | None, hi: float | None
) -> tuple[str, str] | None:
    """What is wrong with a number: NaN and infinity are none."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{name} is {value}, not a finite number", "write a number"
    if (lo is not None and value < lo) or (hi is not None and value > hi):
        bounds = f"{'' if lo is None else f'{lo:g}'}..{'' if hi is None else f'{hi:g}'}"
        return f"{name} is {value}, outside {bounds}", f"give a value in {bounds}"
    return None


def _fits(value: object, kind: str) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list | tuple)
        case _:
            return isinstance(value, str)


def _unknown_kind(table: str, value: str) -> str:
    """How to fix a value that names no kind of the generator's table; "" if it names one."""
    catalogue = schema("load-kinds") or {"tables": []}
    names = [k["name"] for t in catalogue["tables"] if t["name"] == table for k in t["kinds"]]
    head = value.partition(":")[0]
    return "" if not names or head in {*names, "auto"} else _known(head, names)


def _known(name: str, known: Iterable[str]) -> str:
    meant = near(name, known)
    return f"did you mean {' or '.join(meant)}?" if meant else f"known: {', '.join(known)}"
