"""The lines about clients' clocks and ways: the worst of all points."""

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
    ((what, text),) = clocks.rows(folders)
    assert what == "client clocks"
    assert text == (
        "up to 2 s off the lab's, known to 260 µs, drift -3 to +12 ppm; clients began within 700 µs"
    )


def test_one_clock_for_all_and_no_hosts_at_all(tmp_path: Path) -> None:
    folder = point(tmp_path / "a", 90_000, {"offset_ns": 5, "is_the_labs": True})
    assert "all clients read the lab's clock" in clocks.rows([folder])[0][1]
    assert clocks.rows([tmp_path]) == ()


def test_a_drift_that_is_not_known_yet_is_not_invented(tmp_path: Path) -> None:
    folder = point(tmp_path / "a", 90_000, {"offset_ns": 5, "drift_ppm": None})
    assert "drift not known" in clocks.rows([folder])[0][1]


def test_the_network_has_its_largest_share(tmp_path: Path) -> None:
    folder = point(tmp_path / "a", 90_000)
    table = json.loads((folder / "hosts.json").read_text())
    ways = ((20_000, 100_000), (60_000, 120_000), (50_000, None))
    table["clients"] = [
        {"clock": {"is_the_labs": True}, "p50_ns": p50, "network": {"p50_ns": way}}
        for way, p50 in ways
    ]
    (folder / "hosts.json").write_text(json.dumps(table))
    rows = dict(clocks.rows([folder]))
    assert rows["way to the server"] == "round trip 20.0 µs to 60.0 µs, up to 50% of a client's p50"
