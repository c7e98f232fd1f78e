"""The cut of `crates/`: which crate may stand on which.

The Python side has import-linter for this; here it is the manifests that are read.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

CRATES = Path(__file__).parent.parent / "crates"
# Lowest first: a crate stands only on those before it, never on one of its own line.
LAYERS = (("base",), ("workload",), ("load", "serve", "sim", "trace"), ("tools",))
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}


def _stands_on(crate: str) -> set[str]:
    """The crates of this workspace in a manifest, those for tests and builds too."""
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text())
    tables = (manifest.get(key, {}) for key in ("dependencies", "dev-dependencies"))
    names = {name for table in tables for name in table if name.startswith("sojourn-")}
    return {name.removeprefix("sojourn-") for name in names}


def test_every_crate_has_a_layer() -> None:
    assert {path.parent.name for path in CRATES.glob("*/Cargo.toml")} == set(LEVELS)


def test_a_crate_stands_only_on_those_below_it() -> None:
    wrong = {
        f"{crate} on {other}"
        for crate in LEVELS
        for other in _stands_on(crate)
        if LEVELS[other] >= LEVELS[crate]
    }
    assert not wrong


def test_the_simulator_brings_in_no_socket_and_no_parquet() -> None:
    manifest = tomllib.loads((CRATES / "sim" / "Cargo.toml").read_text())
    assert not {"parquet", "io-uring", "socket2", "sojourn-load"} & set(manifest["dependencies"])
