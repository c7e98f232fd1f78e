"""Levels of factors in a few words, as every picture, table and sentence of a report has them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sojourn import knobs, places
from sojourn.actors import managers, neighbours
from sojourn.actors.kind import ALL, NamedKind, spaced
from sojourn.findings.findings import ServiceFinding
from sojourn.plan.setting import MANAGER, NEIGHBOUR, Level, level_text
from sojourn.spec import words
from sojourn.spec.keys import service_of
from sojourn.spec.levels import short

ALONE = "alone"
KERNEL = "kernel default"
USUAL = ("other", "none")  # levels of knobs that leave a service as the kernel has it
_WHERE: Mapping[str, str] = {
    "server": "on the same CPU",
    "one": "on one of its CPUs",
    "client": "on the client's CPU",
    "lab": "on the lab's CPU",
    "free": "",  # of no one, or else the server's
    "apart": "on CPUs of its own",
    "core": "on a core of its own",
    "pair": "twice on one core",
}
_ORDER = {"idle": "as SCHED_IDLE", "batch": "as SCHED_BATCH"}
_BYTES, _SHARE = "_bytes", "_share"


def than(base: str) -> str:
    """With what a level is compared, after `as long`.

    >>> than("1 thread"), than(ALONE)
    ('as with 1 thread', 'as alone')
    """
    return f"as {base}" if base == ALONE else f"as with {base}"


def label(factor: str, level: Level) -> str:
    """A level in a few words, which say by themselves what it is a level of.

    Args:
        factor: its key in the study.
        level: as the study has it.

    >>> label("neighbour", "batch:xz,where=server,policy=idle"), label("neighbour", "none")
    ('xz on the same CPU as SCHED_IDLE', 'alone')
    >>> label("services.m.knobs.policy", "nice:-20"), label("services.m.place", "netns")
    ('nice −20', 'network namespace')
    >>> label("services.m.place", "vm:restored+ceph+ovs")
    'virtual machine, restored, disk on Ceph, behind Open vSwitch'
    >>> label("services.m.place", "runc:netns")
    'runc container in a network namespace'
    >>> [label("services.m.params.threads", level) for level in (1, 4, "cpus")]
    ['1 thread', '4 threads', 'a thread for each CPU']
    >>> label("services.n.params.gzip", True), label("services.m.params.value_bytes", 2000)
    ('gzip on', 'values of 2000 B')
    >>> label("services.m.load.set_share", 0.1), label("services.m.cores", "4:8")
    ('10 % sets', '8 threads of 4 cores')
    """
    name, text = short(factor), _text(level)
    if name == NEIGHBOUR:
        return neighbour(text)
    if name == MANAGER:
        return managers.called(text)
    if ".knobs." in factor:
        return _knob(name, text)
    if name == "place":
        return _place(text)
    if name == "cores":
        return _cores(text)
    return _plain(name, level)


def distinct(factor: str, levels: Iterable[Level]) -> dict[str, str]:
    """The label of each level's text; levels that would look alike stay as the study has them.

    >>> distinct("neighbour", ["none", "noise:cpu@75%,where=free"])
    {'none': 'alone', '"noise:cpu@75%,where=free"': 'CPU hog at 75 %'}
    >>> distinct("services.m.knobs.policy", ["nice:5", "nice:05"])
    {'nice:5': 'nice 5', 'nice:05': 'nice 05'}
    """
    result = {level_text(level): label(factor, level) for level in levels}
    often = Counter(result.values())
    return {text: name if often[name] == 1 else text for text, name in result.items()}


def of_factors(services: Iterable[ServiceFinding]) -> dict[str, dict[str, str]]:
    """By factor what `distinct` says of all of its levels."""
    every: dict[str, list[Level]] = defaultdict(list)
    for key, level in (pair for service in services for pair in service.levels):
        every[key].append(level)
    return {key: distinct(key, levels) for key, levels in every.items()}


def called(service: ServiceFinding) -> str:
    """A service under its levels: `memcached, nice −20, xz on the same CPU`."""
    return ", ".join([service.label or service.service, *map_labels(service.levels)])


def each(services: Sequence[ServiceFinding]) -> dict[str, str]:
    """What each is called, by its name in the record; alike ones keep that name."""
    names = {service.service: called(service) for service in services}
    often = Counter(names.values())
    return {name: text if often[text] == 1 else name for name, text in names.items()}


def setting(levels: Iterable[tuple[str, Level]]) -> str:
    """A combination of levels without the neighbour; "as it is" of none.

    >>> setting([("neighbour", "none"), ("services.m.knobs.policy", "fifo:1")])
    'FIFO'
    """
    own = [(key, level) for key, level in levels if key != NEIGHBOUR]
    return ", ".join(map_labels(own)) or "as it is"


def pair(levels: Iterable[tuple[str, Level]]) -> str:
    """Two services' knobs side by side, without what is as the kernel has it.

    >>> a, b = "services.a.knobs.policy", "services.b.knobs.policy"
    >>> pair([(a, "rr:rate"), (b, "rr:rate")]), pair([(a, "nice:-20"), (b, "other")]), pair([])
    ('both round robin by rate', 'a nice −20', 'kernel default')
    >>> pair([(a, "fifo:rate"), (b, "fifo:rate"), ("services.a.knobs.rt_quota", "load/24ms")])
    'both FIFO by rate, a quota by load'
    """
    inputs = list(levels)
    services = {service_of(key) for key, _ in inputs if service_of(key)}
    by_label: dict[str, list[str]] = {}
    for key, level in inputs:
        if str(level) not in USUAL:
            by_label.setdefault(label(key, level), []).append(service_of(key) or "")
    texts = []
    for name, of in by_label.items():
        owner = "both" if len(of) == len(services) > 1 else " and ".join(filter(None, of))
        texts.append(f"{owner} {name}" if owner else name)
    return ", ".join(texts) or KERNEL


def beside(levels: Iterable[tuple[str, Level]]) -> str:
    """A neighbour, and what else is not as usual.

    >>> policy = "services.m.knobs.policy"
    >>> beside([("neighbour", "batch:xz,where=server"), (policy, "nice:-20")])
    'xz on the same CPU, m nice −20'
    >>> beside([("neighbour", "none"), (policy, "other")])
    'alone'
    """
    inputs = list(levels)
    other = pair([(key, level) for key, level in inputs if key != NEIGHBOUR])
    who = [neighbour(_text(level)) for key, level in inputs if key == NEIGHBOUR]
    return ", ".join([*who, *([other] if other != KERNEL or not who else [])])


def map_labels(levels: Iterable[tuple[str, Level]]) -> list[str]:
    """The label of each level."""
    return [label(key, level) for key, level in levels]


def neighbour(text: str) -> str:
    """A neighbour as a study names it, with whose CPUs it has and how it is ordered."""
    kind = neighbours.KINDS.get(text.partition(":")[0])
    if kind is None:
        return ALONE if text == "none" else text
    params = _params(kind, text)
    where = params.get(words.WHERE, "")
    place = _WHERE.get(where, f"on CPUs of {where}" if where else "")
    nice = params.get("nice", "0").replace("-", "−")
    order = _ORDER.get(params.get("policy", ""), "") or (f"at nice {nice}" if nice != "0" else "")
    return " ".join(filter(None, (_named(kind, params), place, order)))


def neighbour_name(text: str) -> str:
    """The same without place and order: `CPU hog at 75 %`.

    >>> neighbour_name("noise:cpu@75%,where=free"), neighbour_name("batch:xz,where=apart")
    ('CPU hog at 75 %', 'xz')
    """
    kind = neighbours.KINDS.get(text.partition(":")[0])
    return _named(kind, _params(kind, text)) if kind else neighbour(text)


def antagonist(text: str) -> tuple[str, str]:
    """A neighbour and how much of it there is; "" where that cannot be chosen.

    >>> antagonist("noise:membw@75%,where=free"), antagonist("rival:one")
    (('memory bandwidth', '75 %'), ('CPU loop', ''))
    """
    kind = neighbours.KINDS.get(text.partition(":")[0])
    if kind is None:
        return neighbour(text), ""
    params = _params(kind, text)
    return _named(kind, params | {kind.at: ALL}), spaced(params[kind.at]) if kind.at else ""


def _params(kind: NamedKind, text: str) -> dict[str, str]:
    inputs = words.read(text, lead=kind.lead, at=kind.at).params
    return {param.name: str(param.default) for param in kind.params} | dict(inputs)


def _named(kind: NamedKind, params: Mapping[str, str]) -> str:
    return kind.label(params) if kind.label else kind.name


def _knob(name: str, text: str) -> str:
    kind, noun = knobs.KINDS.get(name), name.replace("_", " ")
    if kind and kind.label:
        return kind.label(text)
    return f"no {noun}" if text == "none" else f"{noun} {text}"


def _place(text: str) -> str:
    name, _, rest = text.partition(":")
    kind = places.KINDS.get(name)
    message = kind.label if kind and kind.label else name
    if kind and kind.options:
        known = {option.name: option.label for option in kind.options}
        return ", ".join((message, *(known.get(part, part) for part in rest.split("+") if part)))
    return f"{message} in a {_place(rest)}" if rest else message


def _cores(text: str) -> str:
    cores, _, threads = text.partition(":")
    message = f"{cores} core{'' if cores == '1' else 's'}"
    return f"{threads} threads of {message}" if threads else message


def _plain(name: str, level: Level) -> str:
    """A parameter of a service: an amount before what it counts, a switch behind its name."""
    noun, text = name.replace("_", " "), _text(level)
    if isinstance(level, bool):
        return f"{noun} {'on' if level else 'off'}"
    if name.endswith(_BYTES):
        return f"{name.removesuffix(_BYTES).replace('_', ' ')}s of {text} B"
    if name.endswith(_SHARE) and not isinstance(level, str):
        return f"{100 * level:g} % {name.removesuffix(_SHARE)}s"
    return _counted(noun, text, level) if name.endswith("s") else f"{noun} {text}"


def _counted(noun: str, text: str, level: Level) -> str:
    """Threads and whatever else there can be several of."""
    one = noun.removesuffix("s")
    if text == "cpus":
        return f"a {one} for each CPU"
    if text.startswith("cpus"):
        return f"CPUs {text[4]} {text[5:]} {noun}"
    return f"{noun} {text}" if isinstance(level, str) else f"{text} {one if text == '1' else noun}"


def _text(level: Level) -> str:
    return level if isinstance(level, str) else level_text(level)
