"""Hosts on which one service ran in turn, by what its points noted."""

from __future__ import annotations

import json
from pathlib import Path

from sojourn.host.shared import SERVERS
from sojourn.record import load, servers


def point(folder: Path, *setup: tuple[str, str]) -> Path:
    folder.mkdir()
    (folder / "service.json").write_text(json.dumps({"setup": setup}))
    return folder


def test_hosts_that_served_in_turn_are_named_once_each(tmp_path: Path) -> None:
    one, two = ("server", "h4 (10.0.0.4)"), ("server", "h5 (10.0.0.5)")
    folders = [
        point(tmp_path / "a", one, ("machine", "Xeon, 8 CPUs")),
        point(tmp_path / "b", two, ("machine", "Xeon, 8 CPUs")),
        point(tmp_path / "c", one, ("machine", "Xeon, 8 CPUs")),
        tmp_path / "none",
    ]
    text = "h4 (10.0.0.4), Xeon, 8 CPUs; h5 (10.0.0.5), Xeon, 8 CPUs"
    assert servers.rows(folders) == ((SERVERS, text),)
    assert servers.rows(folders[::2]) == (), "it ran on one"


def test_a_host_whose_machine_is_another_is_another(tmp_path: Path) -> None:
    node = ("server", "h4 (10.0.0.4)")
    a, b = (point(tmp_path / n, node, ("machine", f"Xeon, {n} CPUs")) for n in ("8", "16"))
    assert servers.rows([a, b]) == (
        (SERVERS, "h4 (10.0.0.4), Xeon, 8 CPUs; h4 (10.0.0.4), Xeon, 16 CPUs"),
    )


def test_the_labs_own_host_is_no_server_of_a_role(tmp_path: Path) -> None:
    every = [point(tmp_path / n, ("clients", n)) for n in ("a", "b")]
    assert servers.rows(every) == ()


def test_a_services_facts_have_them(tmp_path: Path) -> None:
    folders = [point(tmp_path / n, ("server", f"h{n}")) for n in ("4", "5")]
    assert load._of_hosts(folders) == ((SERVERS, "h4; h5"),)
