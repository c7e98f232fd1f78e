"""What a study will do, reported before it does it; and whom it may not load unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import run, spec
from sojourn.errors import SpecFault
from sojourn.run import consent
from sojourn.testing_questions import PLANS

AWAY = "http://192.0.2.1:8080/"


def study(path: Path, text: str) -> spec.Study:
    path.write_text(f'name = "own"\nquestion = "?"\n{text}')
    return spec.load(path)


def external(target: str, more: str = "") -> str:
    return (
        f'[[services]]\nkind = "external"\nmeasure = ["sweep"]\n{more}\n'
        f'[services.params]\ntarget = "{target}"\n'
    )


def command(argv: str, target: str = "http://{host}:{port}/") -> str:
    return (
        '[[services]]\nkind = "command"\nmeasure = ["sweep"]\n'
        f'[services.params]\nargv = "{argv}"\ntarget = "{target}"\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        external(AWAY),
        external("192.0.2.1:8080"),
        external("memcache://127.0.0.1:1,192.0.2.1:2"),
        command("app {port}", AWAY),
        external("http://127.0.0.1:1/")
        + f'[factors]\n"services.external.params.target" = ["http://127.0.0.1:1/", "{AWAY}"]',
    ],
)
def test_another_machine_is_loaded_only_with_consent(tmp_path: Path, text: str) -> None:
    asked = study(tmp_path / "own.toml", text)
    with pytest.raises(SpecFault, match=r"loads another machine: .*192\.0\.2\.1") as caught:
        run.refuse_others(asked, is_agreed=False)
    assert "--yes" in caught.value.fix
    run.refuse_others(asked, is_agreed=True)
    assert any(
        "192.0.2.1" in line and "another machine" in line for line in run.effects(asked, PLANS)
    )


@pytest.mark.parametrize(
    "text",
    [
        external("http://127.0.0.1:1/"),
        external("unix:/run/a.sock"),
        external("localhost:1"),
        command("app {port}"),
    ],
)
def test_this_machine_needs_none(tmp_path: Path, text: str) -> None:
    run.refuse_others(study(tmp_path / "own.toml", text), is_agreed=False)


def test_no_study_of_the_lab_needs_any() -> None:
    for name in spec.names():
        asked = spec.load(name)
        run.refuse_others(asked, is_agreed=False)
        assert not run.targets(asked), name


def test_all_that_it_does_is_reported(tmp_path: Path) -> None:
    (tmp_path / "tok").touch()
    text = """
neighbour = "spin:server"
[run]
shield = "move"
[[services]]
kind = "command"
measure = ["sweep"]
params = { argv = "sh -c 'rm -rf x' {port}", environment = "A=1" }
knobs = { thp = "never" }
load = { auth = "bearer:file:tok" }
[[services]]
kind = "external"
measure = ["blame"]
params = { target = "http://127.0.0.1:1/" }
load = { auth = "basic:env:NAME" }
qos = { q = 0.99, bound = "1ms" }
blame = { rate = "1k", suspects = "name:xz", consent = true }
[[services]]
kind = "memcached"
measure = ["sweep"]
"""
    message = "\n".join(run.effects(study(tmp_path / "own.toml", text), PLANS))
    for line in (
        f"start  sh -c 'rm -rf x' {{port}} with A=1, as {consent._me()}",
        "start  memcached",
        "start  neighbour spin:server",
        "stop   name:xz, half of the time, by SIGSTOP",
        "change knob thp = never",
        "change real-time priority for its services, other tasks and interrupts moved off",
        f"read   {tmp_path}/tok (load.auth)",
        "read   the variable NAME",
        "load   http://127.0.0.1:1/, this machine, as far as it goes",
    ):
        assert line in message, message


def test_rates_that_are_all_that_is_offered_are_reported(tmp_path: Path) -> None:
    text = '[run]\nrates = ["100", "2k"]\n' + external("http://127.0.0.1:1/")
    assert "2k requests/s at most" in str(run.effects(study(tmp_path / "own.toml", text), PLANS))
