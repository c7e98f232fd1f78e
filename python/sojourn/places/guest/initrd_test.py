from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sojourn.places.guest import initrd, linked, testing
from sojourn.places.guest.cpio_test import unpacked
from sojourn.places.guest.initrd import Job
from sojourn.places.users import User

SHELL = Path("/bin/sh")


def job(work: Path, **more: object) -> Job:
    inputs: dict[str, object] = {
        "argv": (str(SHELL), "-c", "echo it's"),
        "cwd": work,
        "user": User("web", 123, 456),
        "environment": {"LANG": "C.UTF-8"},
        "address": "10.0.0.2/29",
        "settings": {"net.core.somaxconn": "4096"},
    }
    return Job(**(inputs | more))  # type: ignore[arg-type]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "0.html").write_text("zero")
    (folder / "web.conf").write_text("listen")
    (folder / "service.log").write_text("said before")
    (folder / "link").symlink_to("files")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.skipif(shutil.which("ldd") is None, reason="needs ldd (apt install libc-bin)")
def test_the_image_has_agent_program_libraries_users_and_the_working_folder(
    tmp_path: Path, work: Path
) -> None:
    at = tmp_path / "initrd"
    inputs = job(work, leave_out=(work / "service.log",))
    size = initrd.write(at, testing.made(tmp_path / "made"), inputs)
    assert size == at.stat().st_size
    results = {entry.name: entry for entry in unpacked(at.read_bytes())}
    inside = str(work).lstrip("/")
    assert results["init"].data == initrd.AGENT.read_bytes()
    assert results["bin/sh"].data == SHELL.read_bytes()
    for library in linked.linked(SHELL):
        assert results[str(library).lstrip("/")].data == library.read_bytes()
    assert b"web:x:123:456:" in results["etc/passwd"].data
    assert results[f"{inside}/files/0.html"].data == b"zero"
    assert results[f"{inside}/link"].data == b"files"
    owner = work.stat().st_uid, work.stat().st_gid
    assert results[inside].owner == results[f"{inside}/web.conf"].owner == owner
    assert not {f"{inside}/service.log", f"{inside}/pipe"} & set(results)
    assert "sojourn/modules/01-virtio_net.ko" in results


def test_the_service_is_started_as_its_user_with_its_words_unharmed(work: Path) -> None:
    lines = initrd.service(job(work, open_files=9000)).splitlines()
    assert lines[0] == "#!/bin/sh"
    assert "ulimit -n 9000" in lines
    assert "ulimit -n 65536" in initrd.service(job(work)), "its kernel gives 1,024 unasked"
    assert "umask 077" in lines
    assert lines[-1] == (
        """exec start-stop-daemon -S -c 123:456 -x /bin/sh -- -c 'echo it'"'"'s'"""
    )
    plain = job(work, user=None, argv=("/bin/echo", "it's"))
    as_root = initrd.service(plain).splitlines()[-1]
    done = subprocess.run([SHELL, "-c", as_root], capture_output=True, text=True, check=True)
    assert done.stdout == "it's\n"


def test_what_the_agent_gets_can_be_read_by_a_shell(work: Path) -> None:
    script = initrd.conf(job(work)) + 'echo "$ADDRESS|$SETTINGS|$WORK"'
    done = subprocess.run([SHELL, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"10.0.0.2/29|net.core.somaxconn=4096|{work}\n"


def test_the_agent_is_a_script_that_a_shell_can_read() -> None:
    subprocess.run([SHELL, "-n", initrd.AGENT], check=True)
