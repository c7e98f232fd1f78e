"""What of Open vSwitch is removed after a lab that died, and what is another's."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn.places import proc
from sojourn.places.platform import switch


@pytest.mark.parametrize(
    ("space", "link", "removals"),
    [
        ("net:[1]", switch.DATAPATH, 0),
        ("net:[1]", "ovs-netdev2", 1),  # a switch with another link
        ("net:[2]", switch.DATAPATH, 1),  # one of another container
        ("net:[1]", "", 1),  # a zombie has no open file
    ],
)
def test_a_datapath_that_another_switch_has_is_left(
    space: str, link: str, removals: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[bool] = []
    monkeypatch.setattr(switch, "is_there", lambda _: True)
    monkeypatch.setattr(switch, "remove_datapath", lambda: removed.append(True))
    monkeypatch.setattr(switch, "PROC", tmp_path)
    monkeypatch.setattr(proc, "pids", lambda: (7, 8))
    for name, own in (("self", "net:[1]"), ("8", space)):
        (tmp_path / name / "ns").mkdir(parents=True)
        (tmp_path / name / "ns/net").symlink_to(own)
    (tmp_path / "8/fdinfo").mkdir()
    if link:
        (tmp_path / "8/fdinfo/5").write_text(f"pos:\t0\niff:\t{link}\n")
    assert switch.undo({"name": "eth0"}) is None
    assert not removed
    undone = switch.undo({"name": switch.DATAPATH})
    assert (undone is None) is (removals == 0)
    assert removed == [True] * removals
