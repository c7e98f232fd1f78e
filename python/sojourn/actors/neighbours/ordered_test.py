"""How the tasks of a neighbour are ordered, and where they are refused."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sojourn.actors.kind import named
from sojourn.actors.neighbours import KINDS, Neighbour
from sojourn.actors.neighbours.ordered import command
from sojourn.errors import HostFault

SAY = (sys.executable, "-I", "-S", "-c", "import os; print(os.sched_getscheduler(0), os.nice(0))")


def test_a_program_begins_under_its_policy_and_its_nice_value() -> None:
    assert command({}, SAY) == SAY
    own = os.nice(0)
    for params, policy, nice in (
        ({"policy": "idle"}, os.SCHED_IDLE, own),
        ({"policy": "batch", "nice": "2"}, os.SCHED_BATCH, min(19, own + 2)),
    ):
        done = subprocess.run(command(params, SAY), capture_output=True, text=True, check=True)
        assert done.stdout.split() == [str(policy), str(nice)]


def test_without_a_cpu_left_separate_ones_are_refused_and_free_ones_fall_back() -> None:
    for text, is_refused in (("noise:cpu,where=apart", True), ("noise:cpu,where=free", False)):
        result = named(KINDS, text, key="neighbour")
        assert result is not None
        assert isinstance(result[1], Neighbour)
        result[1].check_cpus((3,))
        if is_refused:
            with pytest.raises(HostFault, match="separate CPUs") as caught:
                result[1].check_cpus(())
            assert "where=server" in caught.value.fix
        else:
            result[1].check_cpus(())
