"""What the user typed may be a link or a device; a planted link is not followed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.cli import named_file
from sojourn.errors import SpecFault


@pytest.fixture(name="victim")
def _victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("before")
    return path


def test_a_link_of_ones_own_is_followed_also_by_way_of_another(
    tmp_path: Path, victim: Path
) -> None:
    (tmp_path / "one").symlink_to("victim")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    named_file.write(tmp_path / "two", "\nafter", is_more=True)
    assert victim.read_text() == "before\nafter"
    named_file.write(tmp_path / "two", "new")
    assert victim.read_text() == "new"
    assert (tmp_path / "two").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it gives a link away")
@pytest.mark.parametrize("is_more", [False, True])
def test_a_link_of_somebody_else_is_not_followed(
    tmp_path: Path, victim: Path, *, is_more: bool
) -> None:
    (tmp_path / "planted").symlink_to(victim)
    os.chown(tmp_path / "planted", 65534, 65534, follow_symlinks=False)
    (tmp_path / "own").symlink_to("planted")
    for name in ("planted", "own"):
        with pytest.raises(SpecFault, match="somebody else") as raised:
            named_file.write(tmp_path / name, "x", is_more=is_more)
        assert raised.value.at == str(tmp_path / name)
    assert victim.read_text() == "before"


def test_what_leads_in_a_circle_or_is_a_pipe_that_is_not_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    for name in ("circle", "pipe", "none/file"):
        with pytest.raises(SpecFault, match="cannot write"):
            named_file.write(tmp_path / name, "x")


def test_a_pipe_that_is_read_and_the_programs_own_output_are_written(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from sojourn.cli import named_file;"
        "named_file.write(Path(sys.argv[1]), 'x' * 200_000)"
    )
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with (tmp_path / "read").open("wb") as out, subprocess.Popen(["cat", pipe], stdout=out) as cat:
        reader = os.open(pipe, os.O_RDWR)  # `cat` has opened it, or will
        subprocess.run([sys.executable, "-c", code, str(pipe)], check=True, timeout=60)
        os.close(reader)
        assert cat.wait(timeout=60) == 0
    assert (tmp_path / "read").read_bytes() == b"x" * 200_000
    done = subprocess.run(
        [sys.executable, "-c", code, "/dev/stdout"], stdout=subprocess.PIPE, check=True, timeout=60
    )
    assert done.stdout == b"x" * 200_000
