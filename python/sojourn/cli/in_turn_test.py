"""What services measured in turn print when they are stopped."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NoReturn

import pytest

from sojourn import pipeline
from sojourn.cli.app import main
from sojourn.errors import Exit

WORDS = {
    "compare": ["compare", "--url", "http://[::1]:9/", "--url", "http://[::1]:19/"],
    "gate": ["gate", "--baseline", "http://[::1]:9/", "--candidate", "http://[::1]:19/"],
    "noise": ["noise", "--command", "true --port {port}"],
}


@pytest.mark.parametrize("verb", WORDS)
def test_the_command_to_resume_names_the_folder_of_the_record(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "run_study", stopped)
    folder = tmp_path / "two words"
    code = main([*WORDS[verb], "--rate", "100", "--results", str(folder), "--yes"])
    assert code == Exit.INTERRUPTED
    _, _, command = capsys.readouterr().err.partition("resume with: ")
    words = shlex.split(command.splitlines()[0])
    assert words[words.index("--results") + 1] == str(folder)
