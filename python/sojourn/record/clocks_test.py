"""The line about clients' clocks: the worst of all points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sojourn.record import clocks


def point(folder: Path, within_ns: int, *of_clients: dict[str, Any]) -> Path:
    folder.mkdir()
    every = [{"clock": {"is_the_labs": False, "error_ns": 1000, **one}} for one in of_clients]
    table = {"schema": "sojourn.hosts/1", "clients": every, "starts": {"within_ns": within_ns}}
    (folder / "hosts.json").write_text(json.dumps(table))
    return folder


def test_the_worst_of_all_points_counts(tmp_path: Path) -> None:
    folders = [
        point(tmp_path / "a", 500_000, {"offset_ns": -2_000_000_000, "drift_ppm": -3.0}),
        point(
            tmp_path / "b",
            700_000,
            {"offset_ns": 1_000, "drift_ppm": 12.0, "error_ns": 260_000},
            {"offset_ns": 9_000_000_000, "is_the_labs": True},
        ),
        tmp_path / "none",
    ]
    ((what, text),) = clocks.row(folders)
    assert what == "client clocks"
    assert text == (
        "up to 2 s off the lab's, known to 260 µs, drift -3 to +12 ppm; clients began within 700 µs"
    )


def test_one_clock_for_all_and_no_hosts_at_all(tmp_path: Path) -> None:
    folder = point(tmp_path / "a", 90_000, {"offset_ns": 5, "is_the_labs": True})
    assert "all clients read the lab's clock" in clocks.row([folder])[0][1]
    assert clocks.row([tmp_path]) == ()


def test_a_drift_that_is_not_known_yet_is_not_invented(tmp_path: Path) -> None:
    folder = point(tmp_path / "a", 90_000, {"offset_ns": 5, "drift_ppm": None})
    assert "drift not known" in clocks.row([folder])[0][1]
