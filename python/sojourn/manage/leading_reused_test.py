"""A process number that is used again between two looks at a group."""

from __future__ import annotations

from pathlib import Path

from sojourn.manage import facts
from sojourn.manage.leading import UNREADABLE, Leading
from sojourn.manage.leading_test import group, made, net


def test_another_process_that_has_the_number_is_not_taken_for_the_group(tmp_path: Path) -> None:
    """Until the group is looked at again, which is every two seconds at most."""
    one = Leading(made(tmp_path, 0))
    for second in (0, 10, 20):
        made(tmp_path, second)
        signals, _ = one.of_group(group(7), float(second))
    assert {"network", *facts.QUEUES} <= {*signals}
    (tmp_path / "proc/7/net/dev").rename(tmp_path / "before")  # so its inode is not used again
    net(tmp_path, 7, 1_000_000)
    signals, missing = one.of_group(group(7), 21.5)
    assert not {"network", *facts.QUEUES} & {*signals}
    assert {missing[name] for name in ("network", *facts.QUEUES)} == {UNREADABLE}
    for second in (30, 40):
        net(tmp_path, 7, 1000 * second)
        signals, _ = one.of_group(group(7), float(second))
    assert signals["network"].value == 1000
