"""TOML → `Study`: file, overrides and profile come together, and every mistake is named.

A study is given by path or, for those that come with the lab, by bare name. What the file and the
command line leave open, the profile fills in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sojourn.errors import SpecFault
from sojourn.spec import factors, files, form, kinds, vary
from sojourn.spec.by_profile import set_by_profile, with_profile
from sojourn.spec.faults import Key, Mistake, mistakes, place, together
from sojourn.spec.models import Study
from sojourn.spec.overrides import apply_override
from sojourn.spec.run import raw_mistakes
from sojourn.spec.studies import STUDIES, find
from sojourn.spec.text import parse, read_stored, read_text
from sojourn.spec.where import line_of

RETIRED_SEARCH = ("probe_max_s", "rounds", "confidence", "climb")  # until one model took all runs


def load(
    study: str | Path,
    *,
    profile: str | None = None,
    overrides: Sequence[str] = (),
    varied: Sequence[str] = (),
    is_own: bool = False,
    asks: Callable[[object], Iterable[Mistake]] | None = None,
) -> Study:
    """Read, resolve and check a study.

    Args:
        study: path of a TOML file, or the bare name of one that comes with the lab.
        profile: "quick", "standard" or "full"; overrides the file's.
        overrides: `key=value` texts, such as "run.repeats=2" or "services.nginx.qos.bound=5ms".
        varied: `key=level,level` texts: factors, such as "services.memcached.params.threads=1,2".
        is_own: the lab wrote the file itself, perhaps long ago: kinds and their parameters are
            not held against today's.
        asks: gives the mistakes of the services as the file has them that only the stages know
            which it is for: `Questions.mistakes`.

    Raises:
        SpecFault: with file and line, key path, near names, and how to fix it; its `each` has all
            mistakes, those of the command line first, then in file order.
    """
    path = find(study)
    text = read_stored(path) if is_own and path.parent != STUDIES else read_text(path)
    table = parse(text, path)
    if is_own:
        _leave_out_retired(table)
        table.setdefault("probe", "0")
        table.setdefault("aa", False)  # what was not written was not there when it was measured
    faults: list[SpecFault] = []
    origin: dict[Key, str] = {}
    for override in overrides:
        try:
            origin[apply_override(table, override)] = f"--set {override}"
        except SpecFault as fault:
            faults.append(fault)
    in_file = partial(place, text=text, path=path)
    faults.extend(vary.apply(table, varied, overrides, origin, in_file))
    set_by_profile(table, profile, in_file, origin, faults)
    files.resolve({} if is_own else table, path.parent, origin)  # a record's names hold anywhere
    resolved = with_profile(table, profile, partial(in_file, origin=origin), faults)
    parsed: Study | None = None
    results: list[Mistake] = []
    try:
        parsed = form.current().study.model_validate(resolved)
    except ValidationError as error:
        results.extend(mistakes(error, resolved))
    if not is_own:
        for known_to in _known_to(asks):
            results.extend(known_to(resolved))
    if not (is_own or results or parsed is None):
        results.extend(factors.mistakes(parsed, _known_to(asks)))
    for key, what, fix in sorted(results, key=lambda mistake: line_of(text, mistake[0])):
        faults.append(SpecFault(what, at=place(key, text, path, origin), fix=fix))
    if parsed is None or faults:
        raise together(faults)
    return parsed


def _known_to(asks: Callable[[object], Iterable[Mistake]] | None) -> tuple[factors.Judge, ...]:
    """Whoever knows mistakes of a study's table that its form does not show."""
    of_services = (kinds.mistakes, *([asks] if asks else []))
    judges = (lambda table, of=of: of(table.get("services")) for of in of_services)
    return *judges, kinds.actor_mistakes, raw_mistakes


def _leave_out_retired(table: dict[str, Any]) -> None:
    """Keys of records of before that no longer mean anything; what was measured is without."""
    search = table.get("run", {}).get("search", {})
    for key in RETIRED_SEARCH:
        search.pop(key, None)
