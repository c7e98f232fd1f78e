"""The page on `sojourn manage`: its configuration, its window and its program are what they say."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import get_args

import pytest

from sojourn.controllers import KINDS, replay
from sojourn.controllers.look import Knob
from sojourn.controllers.named import rule
from sojourn.controllers.testing import look
from sojourn.manage import config as configs
from sojourn.manage import facts
from sojourn.manage.source import parsed

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/howto/manage.md").read_text(encoding="utf-8")
LINES_MAX = 30


def block(language: str) -> str:
    """The page's only block of a language."""
    (result,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(result)


def first_cells(head: str) -> set[str]:
    """Names in the first column of the page's tables with this head."""
    tables = re.findall(rf"^\| {head} \|.*\n\|-.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    cells = [row.split("|")[1] for table in tables for row in table.splitlines()]
    return set(re.findall(r"`([a-z_]+)`", " ".join(cells)))


def test_every_knob_is_in_its_table() -> None:
    assert first_cells("knob") == set(get_args(Knob))


def test_every_leading_signal_is_in_its_table() -> None:
    every = {*facts.QUEUES, *facts.PRESSURES, *facts.MONITORED, "disk", "network"}
    assert first_cells("signal") == every


def test_every_event_of_the_audit_log_is_in_its_table() -> None:
    code = ROOT / "python/sojourn"
    files = [*code.glob("manage/*.py"), code / "cli/manage_cmd.py"]
    text = "\n".join(path.read_text() for path in files if not path.stem.endswith("_test"))
    written = {*re.findall(r'audit\.say\(\s*"([a-z ]+)"', text), "gone"}
    assert {"change", "late", "listen"} <= written
    (table,) = re.findall(r"^\| event \| when \|\n\|-.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    cells = [row.split("|")[1] for row in table.splitlines()]
    listed = set(re.findall(r"`([a-z ]+)`", " ".join(cells)))
    assert listed == written - {"change"}
    assert "`recommend` in place of `change`" in PAGE


def test_its_configuration_is_one(tmp_path: Path) -> None:
    path = tmp_path / "web.toml"
    path.write_text(block("toml"))
    text = configs.read(path)
    assert text.controller in KINDS
    named = first_cells("key")
    known = {*configs.Config.model_fields, *configs.GroupSpec.model_fields}
    assert named <= known
    assert {"silent_s", "paused_s", "check_s", "record", "constants"} <= named


def test_its_window_is_one() -> None:
    (line,) = re.findall(r'^    (\{"service": .*\})$', PAGE, re.MULTILINE)
    result = parsed(line.encode(), "other")
    assert result is not None
    assert (result[0], result[1].n, result[1].above) == ("web", 2000, 3)


def source(folder: Path, nth: int, more: str = "") -> configs.WindowsSpec:
    """One of the page's tables of windows, in its configuration."""
    blocks = re.findall(r"^    \[windows\]\n(?:    .*\n)+", PAGE, re.MULTILINE)
    spec = re.sub(r"^    ", "", blocks[nth], flags=re.MULTILINE)
    text = block("toml").replace('[windows]\nfile = "/run/web.jsonl"', spec)
    path = folder / "web.toml"
    path.write_text(more + text)
    return configs.read(path).windows


def test_its_tracer_is_a_source(tmp_path: Path) -> None:
    windows = source(tmp_path, 1, "silent_s = 5.0\n")
    assert (windows.tracer, windows.ports, windows.service) == ("2%", (11211,), "web")


def test_its_endpoint_is_a_source(tmp_path: Path) -> None:
    windows = source(tmp_path, 0)
    assert (windows.metric, windows.labels) == (
        "http_request_duration_seconds",
        {"handler": "/api"},
    )
    assert not windows.file


def test_its_program_halves_when_late_and_gives_back_slowly(tmp_path: Path) -> None:
    code = block("python")
    assert len(code.splitlines()) <= LINES_MAX
    (tmp_path / "half.py").write_text(code)
    looks = [look(0, 2.0), *(look(i, 0.5, batch={"quota": 4.0}) for i in range(1, 101))]
    with rule(f"program:{sys.executable} {tmp_path / 'half.py'}", {}) as ready:
        results = [replay.as_line(*one) for one in replay.decisions(looks, ready)]
    changes = {i: json.loads(line)["changes"] for i, line in enumerate(results)}
    assert {i for i, one in changes.items() if one} == {0, 100}
    assert changes[0][0]["level"] == 4.0, "half of eight CPUs"
    assert changes[100][0]["level"] == pytest.approx(4.1)
