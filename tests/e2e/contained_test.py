"""What a container cannot do to this machine, tried from inside by its superuser."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn import places
from sojourn.places import Launch, image
from sojourn.run.journal import Journal
from sojourn.services.own import unpack

pytestmark = pytest.mark.e2e

WITHIN_S = 60.0
#: Prints a line for each thing that it managed to do; what it wrote was read there before.
TRY = """
umask 0
echo uid $(/bin/id -u)
for file in /proc/sys/kernel/core_pattern /proc/sys/vm/overcommit_memory /proc/sysrq-trigger \\
    /sys/kernel/uevent_helper /sys/fs/cgroup/release_agent; do
    [ -e $file ] && (: >> $file) 2>/dev/null && echo opened $file
done
for file in /sys/fs/cgroup/*/notify_on_release /sys/fs/cgroup/*/cgroup.procs \\
    /sys/fs/cgroup/cgroup.procs; do
    [ -e $file ] && (: >> $file) 2>/dev/null && echo opened $file
done
(: < /node) 2>/dev/null && echo read a device
(: < /proc/kcore) 2>/dev/null && [ -s /proc/kcore ] && echo sees memory
/bin/mount -t tmpfs none /tmp 2>/dev/null && echo mounted
/bin/unshare -U /bin/true 2>/dev/null && echo made a user namespace
while read -r key value; do
    case $key in NoNewPrivs:|Seccomp:) echo $key $value ;; esac
done < /proc/self/status
echo done
exec /bin/sleep 600
"""
PROGRAMS = ("dash", "sleep", "id", "mount", "unshare", "true")


def libraries(program: Path) -> list[Path]:
    """The shared libraries of a program of this machine."""
    stdout = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    words = (word for line in stdout.splitlines() for word in line.split())
    return [Path(word) for word in words if word.startswith("/")]


def filled(root: Path) -> None:
    """A root folder with a shell, a few programs, a device, and a file of each bad kind."""
    for folder in ("bin", "proc", "dev", "sys", "tmp"):
        (root / folder).mkdir(parents=True)
    for name in PROGRAMS:
        program = Path(shutil.which(name) or "")
        shutil.copy2(program, root / "bin" / name)
        for library in libraries(program):
            at = root / str(library).lstrip("/")
            at.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(library.resolve(), at)
    (root / "bin/sh").symlink_to("dash")
    os.mknod(root / "node", 0o666 | stat.S_IFCHR, os.makedev(1, 11))  # the kernel's log


def allowed_lines(bundle: Path, state: Path, needs_place: Callable[[str], None]) -> list[str]:
    """What a container of this bundle found it may do."""
    needs_place("runc")
    for name in ("ldd", *PROGRAMS):
        if shutil.which(name) is None:
            pytest.skip(f"needs {name}: apt install util-linux coreutils dash libc-bin")
    state.mkdir()
    log = bundle / "log"
    place, book = places.build("runc"), Journal.create(state)
    place.enter(book)
    try:
        place.furnish(image.read(bundle))
        words = ["/usr/sbin/runc", "/bin/dash", "-c", TRY]
        made = place.start(Launch("container", words, cwd=state, ledger=book, log=log))
        try:
            end = time.monotonic() + WITHIN_S
            while "done" not in log.read_text().split() and time.monotonic() < end:
                time.sleep(0.02)
        finally:
            made.stop(term_s=0.1)
        return log.read_text().splitlines()
    finally:
        place.leave()
        book.close()


def test_the_superuser_of_an_image_can_do_nothing_to_the_machine(
    tmp_path: Path, state: Path, needs_place: Callable[[str], None]
) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, for a device in the image")
    bundle = tmp_path / "bundle"
    filled(bundle / "rootfs")
    config = unpack.configured({"Cmd": ["/bin/dash"]})
    (bundle / "config.json").write_text(json.dumps(config))
    result = allowed_lines(bundle, state, needs_place)
    assert result[0] == "uid 0", "it is the superuser inside"
    assert result[1:] == ["NoNewPrivs: 1", "Seccomp: 2", "done"]


def test_the_superuser_of_a_usual_bundle_can_do_nothing_to_the_machine(
    tmp_path: Path, state: Path, needs_place: Callable[[str], None]
) -> None:
    needs_place("runc")
    if os.geteuid() != 0:
        pytest.skip("needs root, for a device in the bundle")
    bundle = tmp_path / "bundle"
    filled(bundle / "rootfs")
    subprocess.run(["runc", "spec"], cwd=bundle, check=True)
    result = allowed_lines(bundle, state, needs_place)
    assert result[0] == "uid 0", "it is the superuser inside"
    assert result[1:] == ["NoNewPrivs: 1", "Seccomp: 2", "done"]
