"""The studies that come with the lab, held against the machine that the tests run on."""

from __future__ import annotations

import pytest

from sojourn import host, spec
from sojourn.errors import AbsentFault, HostFault
from sojourn.run.preview import hold
from sojourn.testing_questions import catalogue


@pytest.fixture(scope="module")
def machine() -> host.Facts:
    """What is known of this machine: looking takes a second, and no study changes it."""
    return host.read()


@pytest.mark.parametrize("name", spec.names())
def test_a_study_of_the_lab_is_refused_for_what_the_machine_lacks_only(
    name: str, machine: host.Facts
) -> None:
    held = hold(spec.load(name), machine, catalogue())
    wrong = [one for one in held.faults if not isinstance(one, HostFault | AbsentFault)]
    assert not wrong
