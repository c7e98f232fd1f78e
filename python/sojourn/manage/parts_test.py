"""Levels that a rule would set are asked for before the manager starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn.errors import SpecFault
from sojourn.knobs.resctrl import MOUNT
from sojourn.knobs.resctrl_test import VENDORS, Kernel
from sojourn.knobs.testing import MOUNT as CGROUPS
from sojourn.knobs.testing import FakeV2, put
from sojourn.manage import parts
from sojourn.manage.config import Config, GroupSpec
from sojourn.manage.groups import Managed

WEB = GroupSpec(role="latency-critical", cgroup="/web", target="1ms")
BATCH = GroupSpec(role="best-effort", cgroup="/batch")


def opened(
    root: Path, controller: str, constants: dict[str, float], least: str = "1"
) -> parts.Parts:
    """The parts of a manager on a made-up machine with resctrl (a fake) and four CPUs."""
    root.mkdir(exist_ok=True)
    kernel = Kernel(root, VENDORS["intel"])
    put(root, f"{MOUNT}/info/L3/min_cbm_bits", least)
    fake = FakeV2(root, (), handed="cpuset cpu")
    specs, groups = {"web": WEB, "batch": BATCH}, {}
    (root / "windows").touch()
    for name, spec in specs.items():
        fake.mkdir(fake.tree, f"{CGROUPS}/{name}")
        put(root, f"{CGROUPS}/{name}/cpuset.cpus", "")
        groups[name] = Managed(name, spec, (0, 1, 2, 3), kernel.tree)
        groups[name].find()
    windows = {"file": str(root / "windows")}
    config = Config.model_validate(
        {"controller": controller, "constants": constants, "groups": specs, "windows": windows}
    )
    return parts.opened(config, groups)


@pytest.mark.parametrize(
    ("controller", "constants", "says"),
    [
        ("static", {"cores": 5.0}, "batch cores 5: cores is from 0 to 4"),
        ("static", {"ways": 21.0}, "batch ways 21: the cache has"),
        ("parties", {"ways": 21.0}, "batch ways 21: the cache has"),
    ],
)
def test_a_level_that_no_group_here_can_have_is_refused_before_the_start(
    tmp_path: Path, controller: str, constants: dict[str, float], says: str
) -> None:
    with pytest.raises(SpecFault, match=f"controller {controller} would give {says}"):
        opened(tmp_path, controller, constants)


def test_levels_that_a_group_can_have_are_taken(tmp_path: Path) -> None:
    every = {"static": {"cores": 4.0, "ways": 11.0}, "parties": {"ways": 11.0}}
    for name, constants in every.items():
        one = opened(tmp_path / name, name, constants)
        one.stack.close()


def test_a_cache_that_gives_no_single_way_is_refused_for_parties(tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match="batch ways 1: this CPU gives 2 ways at least"):
        opened(tmp_path, "parties", {"ways": 11.0}, least="2")
