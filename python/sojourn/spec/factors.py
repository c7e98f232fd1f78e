"""What is wrong with a study's factors: each combination of levels is built, and must be a study.

A level is right if the study with it is: no list of keys that may be varied is kept anywhere. Left
out are only the keys that say what the study is, or how often each combination is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import ValidationError

from sojourn.spec import faults, form, keys
from sojourn.spec.design import COMBINATIONS_MAX, Combination
from sojourn.spec.faults import Mistake, dotted
from sojourn.spec.levels import LOAD_WORDS, level_text, names, short
from sojourn.spec.models import Study
from sojourn.text.near import near

Judge: TypeAlias = Callable[[Mapping[str, Any]], Iterable[Mistake]]

_OF_ALL = "every combination is measured as often as every other; set it with --set"
_FIXED = {
    "name": "it says which study this is",
    "question": "it says which study this is",
    "papers": "it says which study this is",
    "schema": "it says which study this is",
    "seed": "blocks repeat with other draws: see run.repeats",
    "run.profile": "its values are filled in before: vary those, such as run.measure_s",
    "run.fractions": "vary load instead: load = [0.3, 0.7]",
    "run.rates": 'vary rate instead: rate = ["10k", "20k"]',
    "run.repeats": _OF_ALL,
    "run.peak_repeats": _OF_ALL,
    "run.check_repeats": _OF_ALL,
    "run.retries": _OF_ALL,
    "run.search.confirm_repeats": _OF_ALL,
}
_OF_DESIGN = "it says which combinations are measured; set it with --set, or in the file"
_FIXED_TABLES = {"design": _OF_DESIGN, "factors": _OF_DESIGN, "profiles": _FIXED["run.profile"]}


def mistakes(study: Study, judges: Sequence[Judge]) -> Iterator[Mistake]:
    """What is wrong with factors and design of a study that is right without them.

    Args:
        study: with its factors.
        judges: tell mistakes of a study's table that its form does not show, such as parameters
            that a kind of service does not have.
    """
    if not study.factors:
        yield from _of_bounds(study)
        if study.design.model_fields_set:
            fix = 'add [factors], such as "services.memcached.params.threads" = [1, 2]'
            yield (("design",), "there is a design, but nothing is varied", fix)
        return
    results = [*_of_keys(study), *_of_design(study), *_of_bounds(study)]
    yield from results or [*_of_lost_bounds(study), *_of_combinations(study, judges)]


def _of_keys(study: Study) -> Iterator[Mistake]:
    table = study.model_dump(by_alias=True)
    known: dict[tuple[str | int, ...], str] = {}
    for key in study.factors:
        if problem := _refused(study, key):
            yield (("factors", key), *problem)
            continue
        if (head := key.partition(".")[0]) not in table:
            meant = near(head, table)
            fix = f"did you mean {' or '.join(meant)}?" if meant else f"known: {', '.join(table)}"
            yield (("factors", key), f"a study has no key '{head}'", fix)
            continue
        try:
            paths = keys.paths_of(table, key)
        except keys.NoSuchKey as error:
            yield (("factors", key), error.what, error.fix)
            continue
        if other := next((known[path] for path in paths if path in known), ""):
            what = f"{key} and {other} set the same key, so one of them has no effect"
            yield (("factors", key), what, "leave one of them out")
        known |= dict.fromkeys(paths, key)


def _of_bounds(study: Study) -> Iterator[Mistake]:
    """Levels under which a QoS bound is to be measured, and which are not measured at all."""
    for number, service in enumerate(study.services):
        for key, what, fix in _of_cell(study, service.qos.under if service.qos else {}):
            yield (("services", number, "qos", "under", *key), what, fix)


def _of_lost_bounds(study: Study) -> Iterator[Mistake]:
    """Combinations whose QoS bound is to be measured in one that the design does not have."""
    for number, service in enumerate(study.services):
        under = service.qos.under if service.qos else {}
        cells = study.combinations(service.label) if under else ()
        selected = [_without_lenders(cell) for cell in cells]
        lost = (
            cell
            for cell in selected
            if {**cell, **{k: under.get(k, cell[k]) for k in cell}} not in selected
        )
        if cell := next(lost, None):
            text = ", ".join(f"{key} = {level}" for key, level in cell.items())
            what = f"the bound of {text} is to be measured in a combination that is left out"
            fix = "measure that one too, or leave the level out of under"
            yield (("services", number, "qos", "under"), what, fix)


def _without_lenders(cell: Combination) -> dict[str, object]:
    """A combination but for neighbour and places, which follow from the load axis."""
    return {key: v for key, v in cell.items() if key != "neighbour" and not key.endswith(".place")}


def _refused(study: Study, key: str) -> tuple[str, str] | None:
    label = keys.service_of(key)
    if key in LOAD_WORDS:
        return f"{key} is not varied here", LOAD_WORDS[key]
    if why := _FIXED.get(key) or _FIXED_TABLES.get(key.partition(".")[0]):
        return f"{key} cannot be varied", why
    if key in {f"services.{label}.label", f"services.{keys.EACH}.label"}:
        return f"{key} cannot be varied", "it names the service; leave the factor out"
    if wanted := _unheard(study, key):
        return f"{key} changes nothing here", wanted
    return None


def _unheard(study: Study, key: str) -> str:
    """What would have to be asked for a factor to matter; "" if it may matter as it is."""
    label = keys.service_of(key)
    asked = [s for s in study.services if label in {None, s.label}]
    texts = (
        one.no_effect(key, label, asked) for one in form.current().asks.values() if one.no_effect
    )
    return next(filter(None, texts), "")


def _of_design(study: Study) -> Iterator[Mistake]:
    design, factors = study.design, study.factors
    is_part = bool(design.generators) or design.p > 0
    if design.kind != "listed" and design.combinations:
        what = f'combinations are of kind = "listed", this design is {design.kind}'
        yield (("design", "combinations"), what, 'write kind = "listed", or leave them out')
        return
    if design.kind == "listed":
        results = list(_of_listed(study))
    elif design.kind == "fractional":
        results = list(_of_fraction(study))
    elif is_part:
        what = "p and generators are of a fractional design, this one is full"
        results = [(("design", "kind"), what, 'write kind = "fractional", or leave them out')]
    else:
        results = []
    for number, skip in enumerate(design.skip):
        for key, what, fix in _of_cell(study, skip.levels):
            results.append((("design", "skip", number, *key), what, fix))
    yield from results
    if results:
        return
    count = math.prod(map(len, factors.values())) if design.kind == "full" else 1
    if count > COMBINATIONS_MAX:
        what = f"{count} combinations; {COMBINATIONS_MAX} may be"
        yield (("design",), what, 'use kind = "fractional" or "listed", or fewer levels')
    elif not design.of_profile(study.run.profile).combinations_of(factors):
        yield (("design", "skip"), "every combination is skipped", "leave one of the skips out")


def _of_listed(study: Study) -> Iterator[Mistake]:
    listed = study.design.combinations
    if not listed:
        fix = "add combinations = [{ FACTOR = LEVEL, … }, …]"
        yield (("design",), "a listed design lists no combination", fix)
    for number, cell in enumerate(listed):
        at = ("design", "combinations", number)
        for key, what, fix in _of_cell(study, cell):
            yield ((*at, *key), what, fix)
        missing = [key for key in study.factors if key not in cell]
        if missing:
            yield (at, f"a combination has no level of {missing[0]}", "give every factor a level")
        if dict(cell) in [dict(other) for other in listed[:number]]:
            yield (at, "a combination comes twice", "leave one out; run.repeats repeats them all")


def _of_cell(study: Study, cell: Mapping[str, Any]) -> Iterator[Mistake]:
    """Factors and levels of a combination that the study does not have."""
    for key, level in cell.items():
        if key not in study.factors:
            meant, known = near(key, study.factors), ", ".join(study.factors)
            guess = f"did you mean {' or '.join(meant)}?" if meant else f"known: {known}"
            fix = guess if known else "nothing is varied: leave it out"
            yield ((key,), f"there is no factor '{key}'", fix)
        elif (text := _text(level)) not in [level_text(known) for known in study.factors[key]]:
            levels = ", ".join(level_text(known) for known in study.factors[key])
            yield ((key,), f"{short(key)} has no level {text}", f"use one of {levels}")


def _text(level: Any) -> str:
    """A level's text, of what cannot be one too, such as nan or a list."""
    try:
        return level_text(level)
    except ValueError:
        return str(level)


def _of_fraction(study: Study) -> Iterator[Mistake]:
    design = study.design
    if design.skip:
        what = "a fractional design cannot spare a combination: its columns would not balance"
        yield (("design", "skip"), what, 'use kind = "full" with skip')
    for key, levels in study.factors.items():
        if len(levels) != 2:
            what = f"{short(key)} has {len(levels)} levels; a fractional design has two of each"
            yield (("factors", key), what, 'give two levels, or use kind = "full"')
    if bool(design.generators) == (design.p > 0):
        what = "a fractional design has p or generators, one of them"
        yield (("design",), what, 'write p = 1, or generators = ["D=ABC"]')
        return
    try:
        design.fraction_of(study.factors)
    except ValueError as error:
        what, _, fix = str(error).partition("; ")
        yield (("design", "generators" if design.generators else "p"), what, fix)


def _of_combinations(study: Study, judges: Sequence[Judge]) -> Iterator[Mistake]:
    """What the model refuses under some combination, each thing once."""
    reports: set[tuple[str, str]] = set()
    called = names(study.factors)
    for levels in study.design.of_profile(study.run.profile).combinations_of(study.factors):
        for key, what, fix in _refusals(study, levels, judges):
            named = next((name for name in levels if name == key), None)
            message = ", ".join(f"{called[k]} = {level_text(level)}" for k, level in levels.items())
            text = what if named else f"under {message}: {what}"
            if (key, what) not in reports:
                reports.add((key, what))
                yield (("factors", named) if named else ("factors",), text, fix)


def _refusals(
    study: Study, levels: Combination, judges: Sequence[Judge]
) -> Iterator[tuple[str, str, str]]:
    """(key, what, fix) of everything that is wrong with the study of one combination."""
    table = study.model_dump(by_alias=True, exclude={"factors", "design"})
    paths: dict[tuple[str | int, ...], str] = {}
    for name, level in levels.items():
        keys.put(table, name, level)
        paths |= dict.fromkeys(keys.paths_of(table, name), name)
    results: list[Mistake] = []
    try:
        study.under(levels)
    except ValidationError as error:
        results.extend(faults.mistakes(error, table))
    table["services"] = list(table["services"])  # as in a file
    for known_to in judges:
        results.extend(known_to(table))
    for at, what, fix in results:
        above = next((paths[at[:n]] for n in range(len(at), 0, -1) if at[:n] in paths), None)
        yield above or dotted(at), what, fix
