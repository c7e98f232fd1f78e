"""The studies that come with the lab, held against the machine that the tests run on."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from sojourn import host, spec
from sojourn.errors import AbsentFault, HostFault
from sojourn.places import temporary
from sojourn.run.preview import hold
from sojourn.testing_questions import catalogue


@pytest.fixture(scope="module")
def machine() -> host.Facts:
    """What is known of this machine: no study changes it."""
    return host.read(sample_s=0)


@pytest.mark.parametrize("name", spec.names())
def test_a_study_of_the_lab_is_refused_for_what_the_machine_lacks_only(
    name: str, machine: host.Facts
) -> None:
    held = hold(spec.load(name), machine, catalogue())
    wrong = [one for one in held.faults if not isinstance(one, HostFault | AbsentFault)]
    assert not wrong


@pytest.mark.parametrize("name", ["memory_capacity", "disk_bandwidth"])
def test_a_study_that_reads_from_a_disk_is_skipped_where_temporary_files_are_in_memory(
    name: str, machine: host.Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = "/dev/shm"  # noqa: S108
    if temporary.kind(Path(memory)) != "tmpfs":
        pytest.skip(f"{memory} is no memory here")
    study = spec.load(name)
    before = hold(study, machine, catalogue())
    if before.skipped or before.faults:
        pytest.skip("this machine lacks more for it")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: memory)
    held = hold(study, machine, catalogue())
    assert held.is_empty
    assert all("tmpfs" in one.reason or "disk below" in one.reason for one in held.skipped)
    assert all("TMPDIR=/var/tmp" in one.fix for one in held.skipped)
