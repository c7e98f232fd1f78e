"""Labs that are killed while they make a virtual machine: nothing of it is left.

Needs QEMU and a guest kernel (`sojourn install vm`); no guest gets as far as to boot.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import host
from sojourn.host.abilities import abilities
from sojourn.install.vm import QEMU
from sojourn.places import network, remains

pytestmark = [pytest.mark.e2e, pytest.mark.alone]


@pytest.fixture(autouse=True)
def machines() -> None:
    """Skip where this machine cannot make virtual machines, naming what it lacks."""
    (ability,) = (a for a in abilities(host.read(sample_s=0)) if a.name == "virtual machines")
    if not ability.can:
        pytest.skip(f"needs {ability.missing}: {ability.fix}")


class Machine:
    """What labs have made that have their journals in a folder, as long as it is there.

    By the names in those journals: other labs of this machine may come and go meanwhile.
    """

    def __init__(self, state: Path) -> None:
        self._state = state
        self._names: set[str] = set()

    def __call__(self) -> set[str]:
        for journal in self._state.glob("*/lab-*.jsonl"):
            self._names |= set(re.findall(remains.NAME, journal.read_text()))
        with network.netlink() as route:
            links = [str(one.get_attr("IFLA_IFNAME")) for one in route.get_links()]
        tags = tuple(name[: len("sojourn-") + 6] for name in self._names)
        there = {name for name in self._names if remains.Remains(name, QEMU).are_there}
        return there | {link for link in links if tags and link.startswith(tags)}


def test_whatever_the_step_a_lab_dies_at_nothing_is_left(
    tmp_path: Path, lab: SimpleNamespace
) -> None:
    seen = Machine(tmp_path)
    dirty = lab.killed_at_every_step("container", tmp_path, seen, "vm")
    assert len(dirty) > 10
    assert not seen()
    (tmp_path / "log").unlink(missing_ok=True)
