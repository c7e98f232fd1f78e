"""Which JDK compiles the Java service: the machine's own, or one that is fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import programs
from sojourn.install import apt_calls, debs, specjbb


@pytest.mark.parametrize(
    ("java", "javac", "is_used"),
    [
        ("17.0.9", "17.0.9", True),
        ("21.0.2", "21.0.2", True),
        ("17.0.9", "11.0.20", False),
        ("1.8.0_392", "17.0.9", False),
    ],
)
def test_a_jdk_that_is_too_old_for_the_sources_is_not_used(
    *, java: str, javac: str, is_used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"java": f'openjdk version "{java}" 2023-07-18\n', "javac": f"javac {javac}\n"}
    monkeypatch.setattr(programs, "maybe", Path)
    monkeypatch.setattr(programs, "says", lambda tool, _: words[tool.name])
    assert (specjbb.java() is not None) == is_used


@pytest.mark.parametrize(("default", "taken"), [(11, 17), (17, 17), (21, 21)])
def test_a_default_jdk_that_is_too_old_is_not_fetched(
    default: int, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "maybe", lambda _: None)
    monkeypatch.setattr(debs, "depends", lambda _: (f"openjdk-{default}-jdk-headless",))
    names = [deb.package for deb in specjbb.lacking()]
    assert names == [f"openjdk-{taken}-{kind}-headless" for kind in ("jre", "jdk")]


def test_apt_is_asked_in_english(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says is read: "Depends:" is "Hängt ab von:" in German."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    done = apt_calls.tried(["sh", "-c", 'echo "$LC_ALL,$LANGUAGE."'], Path("/"), 60.0)
    assert done.stdout == "C.UTF-8,.\n"
