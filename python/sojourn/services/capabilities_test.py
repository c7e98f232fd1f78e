"""A service has three methods; what else it does it names among its bases."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sojourn.places import Address, ports
from sojourn.places.task import Task
from sojourn.services import KINDS, Endpoint, Program, Service, Start, capabilities
from sojourn.services.capabilities import (
    Demands,
    Describes,
    Filling,
    Fills,
    HasCrews,
    Instrument,
    Needs,
    Pins,
    Rows,
    Running,
    Slow,
    Versioned,
)

AT = Address(ports.HOST, 1)
PROTOCOLS = {
    name: one
    for name, one in vars(capabilities).items()
    if getattr(one, "_is_protocol", False) and one.__module__ == capabilities.__name__
}


class Least(Program):
    """What every author has to write."""

    def start(self, work: Path, address: Address) -> Start:
        return Start(program=work / str(address.port))

    def ready(self, address: Address, within_s: float) -> bool:
        return address.port > within_s

    def endpoint(self, address: Address) -> Endpoint:
        return Endpoint(target=f"tcp://{address}")


def methods(kind: type) -> set[str]:
    """Public names that a class itself defines."""
    return {name for name in vars(kind) if not name.startswith("_")}


def classes() -> set[type[Service]]:
    """Every class of a service in the modules of the table, and what those are built on."""
    results: set[type[Service]] = set()
    for kind in KINDS.values():
        module = inspect.getmodule(kind.build)
        for one in vars(module).values():
            if inspect.isclass(one) and issubclass(one, Service):
                results |= {base for base in one.__mro__ if issubclass(base, Service)}
    return results - {Service, Program}


def test_an_author_has_to_write_three_methods() -> None:
    assert methods(Service) == {"ready", "endpoint"}
    assert methods(Program) == {"start"}
    least = Least()
    for name, one in PROTOCOLS.items():
        assert not isinstance(least, one), name


def test_what_is_not_reported_is_the_usual() -> None:
    least: Any = Least()
    assert capabilities.needs(least) == Needs(workers=1, port=0, ports=1)
    assert capabilities.filling(least) == Filling(is_preloaded=False, requests=0)
    assert (capabilities.setup(least), capabilities.version(least)) == ((), "")
    assert (capabilities.pinned(least, ()), capabilities.crew(least, ())) == ((), {})
    assert capabilities.reply_s(least) == 0.0
    assert not capabilities.is_instrument(least)
    start = least.start(Path("/w"), AT)
    assert (start.words, start.variables, start.open_files, start.reports) == ((), {}, 0, ())


class Most(Least, Describes, Versioned, Demands, Fills, Pins, HasCrews, Slow, Instrument):
    """What says all that `run` asks by functions."""

    def setup(self) -> Rows:
        return (("data", "none"),)

    def version(self) -> str:
        return "most 1"

    def needs(self) -> Needs:
        return Needs(workers=3)

    def filling(self) -> Filling:
        return Filling(requests=5)

    def pinned(self, tasks: Sequence[Task]) -> tuple[int, ...]:
        return tuple(task.tid for task in tasks)

    def crew(self, tasks: Sequence[Task]) -> Mapping[int, tuple[int, ...]]:
        return {task.tid: (9,) for task in tasks}

    def reply_s(self) -> float:
        return 7.0

    def is_instrument(self) -> bool:
        return True


def test_what_a_service_says_is_heard() -> None:
    most, tasks = Most(), (Task(pid=1, tid=2, name="", command=""),)
    assert capabilities.setup(most) == (("data", "none"),)
    assert capabilities.version(most) == "most 1"
    assert capabilities.needs(most).workers == 3
    assert capabilities.filling(most).requests == 5
    assert capabilities.pinned(most, tasks) == (2,)
    assert capabilities.crew(most, tasks) == {2: (9,)}
    assert capabilities.reply_s(most) == 7.0
    assert capabilities.is_instrument(most)


def test_a_capability_without_its_method_cannot_be_made() -> None:
    class Broken(Least, Fills):
        pass

    with pytest.raises(TypeError, match="filling"):
        Broken()  # type: ignore[abstract]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_each_protocol_asks_one_question_and_some_service_answers_it(name: str) -> None:
    protocol = PROTOCOLS[name]
    assert (protocol.__doc__ or "").endswith("?")
    assert len(methods(protocol)) == (2 if protocol is Running else 1)
    assert any(issubclass(one, protocol) for one in classes())


def test_a_service_names_what_it_does_among_its_bases() -> None:
    """A method of a protocol that is not named would be asked for as well, by chance."""
    assert len(classes()) > len(KINDS)
    for one in classes():
        for name, protocol in PROTOCOLS.items():
            if methods(protocol) <= {n for base in one.__mro__ for n in methods(base)}:
                assert protocol in one.__mro__, f"{one.__name__} does not name {name}"
