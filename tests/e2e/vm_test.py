"""Labs that are killed while they make a virtual machine: nothing of it is left.

Needs QEMU and a guest kernel (`sojourn install vm`); no guest gets as far as to boot.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import host
from sojourn.host.abilities import abilities
from sojourn.places import network, remains

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def machines() -> None:
    """Skip where this machine cannot make virtual machines, naming what it lacks."""
    (ability,) = (a for a in abilities(host.read(sample_s=0)) if a.name == "virtual machines")
    if not ability.can:
        pytest.skip(f"needs {ability.missing}: {ability.mend}")


def machine() -> tuple[object, ...]:
    """Links by name and address, what the lab's have in /run."""
    with network.netlink() as route:
        links = {
            (one.get_attr("IFLA_IFNAME"), one.get_attr("IFLA_ADDRESS")) for one in route.get_links()
        }
    return links, {path.name for path in remains.RUN.glob("sojourn-*")}


def test_whatever_the_step_a_lab_dies_at_nothing_is_left(
    tmp_path: Path, lab: SimpleNamespace
) -> None:
    dirty = lab.killed_at_every_step("container", tmp_path, machine, "vm")
    assert len(dirty) > 10
    (tmp_path / "log").unlink(missing_ok=True)
