"""A target that nothing can ask is refused at once, by the word that was typed."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from sojourn import pipeline
from sojourn.cli import own_target
from sojourn.cli.app import main
from sojourn.errors import Exit

URL, ASKED, APP = "ws://127.0.0.1:9/x", "ws://{host}:{port}/", "true {port}"


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (["try", URL], "TARGET"),
        (["init", URL], "TARGET"),
        (["init", "--command", APP, "--target", ASKED], "--target"),
        (["noise", "--command", URL], "--command"),
        (["noise", "--command", APP, "--target", ASKED], "--target"),
        (["gate", "--baseline", "http://[::1]:9/", "--candidate", URL], "--candidate"),
        (["gate", "--baseline", URL, "--candidate", APP], "--baseline"),
        (["gate", "--baseline", APP, "--candidate", APP, "--target", ASKED], "--target"),
        (["compare", "--url", "http://[::1]:9/", "--url", URL], "--url"),
        (["compare", "--command", APP, "--command", APP, "--target", ASKED], "--target"),
        (["compare", "--command", APP, "--command", APP, "--target", "h:{port}"], "--target"),
    ],
)
def test_the_fault_names_the_option_that_has_it_and_nothing_is_measured(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    at: str,
) -> None:
    def begun(*_: object, **__: object) -> NoReturn:
        raise AssertionError

    for name in ("run_study", "glance"):
        monkeypatch.setattr(pipeline, name, begun)
    monkeypatch.chdir(tmp_path)
    assert main([*words, *([] if words[0] in {"try", "init"} else ["--yes"])]) == Exit.USAGE
    err = capsys.readouterr().err
    assert f"at: {at}\n" in err
    assert "no protocol" in err
    assert not list(tmp_path.iterdir())


def test_one_that_can_be_asked_is_none_of_its_concern() -> None:
    own_target.check_all([("--url", " http://h/ "), ("--target", "echo://{host}:{port}")])
