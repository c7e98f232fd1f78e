"""Places that lack what each Linux has are refused before anything starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sojourn import system
from sojourn.cli.app import main
from sojourn.cli.faults import guarded
from sojourn.errors import Exit, HostFault
from sojourn.testing import is_bug

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")


@pytest.mark.parametrize("number", [f"{os.getpid() + 1}", None], ids=["other's", "none"])
def test_numbers_of_other_processes_are_not_taken_for_ours(
    monkeypatch: pytest.MonkeyPatch, number: str | None
) -> None:
    """As where a namespace of processes is entered and /proc is not mounted anew."""
    real = os.readlink

    def link(path: str, **more: int) -> str:
        if path != "/proc/self":
            return real(path, **more)
        if number is None:
            raise OSError(2, os.strerror(2), path)
        return number

    monkeypatch.setattr(os, "readlink", link)
    for command in sorted(system.MEASURES):
        with pytest.raises(HostFault, match=r"/proc (shows the processes of|is not mounted)"):
            system.check(command)
    system.check("show")


@pytest.mark.parametrize("kind", ["gone", "a file", "closed to us"])
def test_without_the_null_device_nothing_is_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "null"
    if kind == "a file":
        path.touch()
    if kind == "closed to us":
        path = Path(os.devnull)
        monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "devnull", str(path))
    for command in sorted(system.MEASURES):
        with pytest.raises(HostFault, match="no program can be started") as caught:
            system.check(command)
        assert "mknod" in caught.value.fix
    system.check("show")


def test_a_command_that_needs_the_null_device_after_all_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "devnull", str(tmp_path / "null"))

    def starts() -> int:
        return os.open(os.devnull, os.O_RDWR)

    assert guarded(starts) == Exit.FAILED
    err = capsys.readouterr().err
    assert "no program can be started" in err
    assert not is_bug(err)
    assert main(["doctor", "--watch-s", "0"]) == Exit.USAGE
    assert not is_bug(capsys.readouterr().err)
