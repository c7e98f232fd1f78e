"""What a command loads when it was run before: what was computed is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.cli.testing_start import DRAWS, HEAVY, PACKAGE, TESTS, started
from sojourn.store import golden_testing


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return golden_testing.unpack(tmp_path_factory.mktemp("results"))


def test_garbage_is_looked_for_seldom_and_not_at_the_end() -> None:
    """Loading modules makes many objects, all of which stay: a fifth of a short command's CPU."""
    code = "import gc; from sojourn.__main__ import start; start(); "
    code += "print(gc.get_threshold()[0], gc.get_freeze_count())"
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        check=True,
    )
    threshold, frozen = map(int, done.stdout.split()[-2:])
    assert threshold >= 10_000
    assert frozen > 1000


def test_a_query_leaves_nothing_that_its_library_writes_about(results: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", "sql", "select 1", "--results", str(results)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stderr, "1" in done.stdout) == ("", True)


#: Of kinds that the study does not name, and what only a run or a restore needs.
OTHERS = {
    "sojourn.services.redis",
    "sojourn.services.media_streaming",
    "sojourn.services.tpcc.silo",
    "sojourn.services.tailbench.xapian",
    "sojourn.knobs.rt_quota",
    "sojourn.knobs.llc_ways",
    "sojourn.controllers.clite",
    "sojourn.actors.neighbours.batch",
    "sojourn.places.vm",
    "sojourn.places.runc",
    "sojourn.places.podman",
    "sojourn.install.shore",
    "sojourn.questions.isolation_cost.mechanisms",
    "sojourn.questions.scheduler_bakeoff.property",
}
MODELS = {"sojourn.spec.models", "sojourn.questions", "sojourn.samples.contract"}


@pytest.mark.parametrize(
    ("arguments", "without"),
    [
        (("check", "latency_vs_load"), {*HEAVY, *OTHERS}),
        (("plan", "latency_vs_load", "-p", "quick"), {*HEAVY, *OTHERS} - {"pyarrow"}),
        (("ls",), {*HEAVY, *MODELS}),
        (
            ("sql", "select count(*) from outcomes"),
            {*DRAWS, *TESTS, *MODELS, "scipy", "sojourn.host.usage", "sojourn.samples.resources"},
        ),
        (("kinds",), {*HEAVY, *MODELS, "rich.table", "sojourn.analysis", "sojourn.services"}),
        (("tco",), {*HEAVY, *MODELS, "sojourn.store.record", "sojourn.host", "sojourn.services"}),
        (
            ("provision",),
            {*HEAVY, *MODELS, "sojourn.store.record", "sojourn.host", "sojourn.services"},
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "-",
)
def test_what_was_computed_once_is_read(
    arguments: tuple[str, ...], without: set[str], results: Path, tmp_path: Path
) -> None:
    more = ("--results", str(results)) if arguments[0] in {"plan", "ls", "sql"} else ()
    own = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    code, first, _ = started(*arguments, *more, **own)
    again, second, modules = started(*arguments, *more, **own)
    assert (code, again, first) == (0, 0, second)
    assert first
    assert sorted(modules & without) == []


def test_a_list_that_was_laid_out_is_read_for_the_same_terminal_only(tmp_path: Path) -> None:
    own = {"XDG_CACHE_HOME": str(tmp_path)}
    pages: dict[str, str] = {}
    for width in ("80", "120", "80"):
        _, out, modules = started("kinds", COLUMNS=width, **own)
        assert pages.setdefault(width, out) == out
    assert "rich.table" not in modules
    assert pages["80"] != pages["120"]
    _, fresh, _ = started("kinds", COLUMNS="120", XDG_CACHE_HOME=str(tmp_path / "other"))
    assert fresh == pages["120"]
