"""What a study will start, stop, change and load: said before the first run of a stranger's file.

A study is a program: whoever runs one runs the commands in it, as themselves. Another machine is
asked and loaded only with the consent of who types the command.
"""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Iterator
from dataclasses import dataclass

from sojourn.errors import SpecFault
from sojourn.places import ports, users
from sojourn.plan import design
from sojourn.plan.questions import Questions
from sojourn.services import kind
from sojourn.services.clients.where import Where, parse
from sojourn.services.own import asked
from sojourn.spec import ServiceSpec, Study, files

START, STOP, CHANGE, READ, LOAD = "start", "stop", "change", "read", "load"
ORDER = (START, STOP, CHANGE, READ, LOAD)
OWN_TARGET = "http://{host}:{port}/"  # of a command that names none
NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server that a study names itself.

    Attributes:
        where: it listens.
        is_foreign: it runs already, and is asked before it is loaded.
        is_here: it is on this machine.
    """

    where: Where
    is_foreign: bool
    is_here: bool

    @property
    def text(self) -> str:
        """The target with its place, as a person reads it."""
        return self.where.url if self.where.scheme else self.where.authority


def targets(study: Study) -> tuple[Target, ...]:
    """The servers that a study names, under all levels of its factors; each once.

    Names are looked up; no one else is asked.
    """
    results: dict[tuple[str, bool], Target] = {}
    for spec in _services(study):
        of = kind(spec.kind)
        if "target" not in {param.name for param in of.params}:
            continue  # the lab starts it, and knows where
        text = str(spec.params.get("target") or ("" if of.is_foreign else OWN_TARGET))
        for word, value in (("host", ports.HOST), ("port", "1"), ("threads", "1")):
            text = text.replace(f"{{{word}}}", value)
        try:
            at = parse(text, at="target")
        except SpecFault:
            continue  # refused where it is settled, with its line
        key = at.url, of.is_foreign
        if key not in results:
            is_here = asked.is_here(at)
            results[key] = Target(where=at, is_foreign=of.is_foreign, is_here=is_here)
    return tuple(results.values())


def refuse_others(study: Study, *, is_agreed: bool) -> None:
    """Refuse to load another machine where no one at the keyboard has agreed.

    Raises:
        SpecFault: it names one, and there is no consent.
    """
    others = [target.text for target in targets(study) if not target.is_here]
    if others and not is_agreed:
        raise SpecFault(
            f"{study.name} loads another machine: {', '.join(others)}",
            at="params.target",
            fix="say --yes if it is yours to load",
        )


def effects(study: Study, questions: Questions) -> tuple[str, ...]:
    """What the study will do, a line each, such as `start  python3 app.py {port}, as root`."""
    pairs = dict.fromkeys((*_of_study(study, questions), *_of_targets(study)))
    wide = max(map(len, ORDER))
    return tuple(f"{verb:<{wide}} {what}" for each in ORDER for verb, what in pairs if verb == each)


def _services(study: Study) -> list[ServiceSpec]:
    """All services, as each combination of levels makes them."""
    return [under.service(label) for label, _, under in design.studies(study)]


def _of_study(study: Study, questions: Questions) -> Iterator[tuple[str, str]]:
    for label, _, under in design.studies(study):
        spec = under.service(label)
        yield from _of_service(spec)
        for question in questions.values():
            for text in question.stops(spec):
                yield STOP, f"{text}, half of the time, by SIGSTOP ({question.name}.consent = true)"
        others = (name for one in questions.values() for name in one.neighbours(under, spec))
        every = dict.fromkeys((under.neighbour, *others))
        yield from ((START, f"neighbour {text}") for text in every if text != NONE)
        if under.manager != NONE:
            yield CHANGE, f"what the manager {under.manager} turns while load runs"
        is_foreign = kind(spec.kind).is_foreign
        shield = getattr(under.run, "shield", NONE)
        if shield != NONE and not is_foreign:
            more = ", other tasks and interrupts moved off its CPUs" if shield == "move" else ""
            yield CHANGE, f"real-time priority for its services{more} (run.shield = {shield})"


def _of_service(spec: ServiceSpec) -> Iterator[tuple[str, str]]:
    params, place = spec.params, "" if spec.place == "local" else f", in {spec.place}"
    who = _user(spec)
    if "argv" in params and spec.kind == "command":
        more = f" with {params['environment']}" if params.get("environment") else ""
        yield START, f"{params['argv']}{more}, as {who}{place}"
    elif spec.kind == "container":
        image = params.get("bundle") or f"{params.get('image', '')} (podman fetches it)"
        words = f": {params['argv']}" if params.get("argv") else ""
        yield START, f"container {image}{words}{place}"
    elif not kind(spec.kind).is_foreign:
        yield START, f"{spec.kind}{place}"
    yield from ((CHANGE, f"knob {name} = {level}") for name, level in spec.knobs.items())
    yield from ((READ, f"{path} (load.{key})") for key, path in files.named(spec.load))
    yield from ((READ, f"the variable {name}") for name in files.variables(spec.load))


def _user(spec: ServiceSpec) -> str:
    other = users.server_user() if spec.params.get("user", "self") != "self" else None
    return other.name if other else _me()


def _me() -> str:
    """Name of the user who runs the lab, or the number where it has none."""
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return f"user {os.geteuid()}"


def _of_targets(study: Study) -> Iterator[tuple[str, str]]:
    most = (
        f"{study.run.rates[-1]} requests/s at most" if _is_limited(study) else "as far as it goes"
    )
    for target in targets(study):
        if target.is_foreign or not target.is_here:
            owner = "this machine" if target.is_here else "another machine"
            yield LOAD, f"{target.text}, {owner}, {most}"


def _is_limited(study: Study) -> bool:
    return bool(study.run.rates) and not any(map(study.peaks, study.services))
