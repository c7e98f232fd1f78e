"""A kernel that is not this machine's, in a VM without disks or network: initramfs in, console out.

Kernels are the distribution's own packages, downloaded and unpacked under target/vm; nothing is
installed. Where /dev/kvm cannot run them QEMU translates (TCG), which is slower and just as right.
"""

from __future__ import annotations

import gzip
import re
import resource
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

from sojourn.errors import Fault
from sojourn.install import debs
from sojourn.install.debs import Deb
from sojourn.places.guest.cpio import Archive

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "target" / "vm"
MEMORY_MB = 1024
WALL_S_MAX = 900  # what is waited for it on a machine that is busy with others
DONE = "vm: done"

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
ip link set lo up
echo "vm: $(uname -r)"
{script}
echo "{done}"
poweroff -f
"""


class UnavailableError(Exception):
    """What this machine lacks for a VM."""


def kernel(series: str) -> Path:
    """The newest kernel of a series, such as "6.1", that this distribution offers."""
    CACHE.mkdir(parents=True, exist_ok=True)
    selected = sorted(CACHE.glob(f"linux-{series}/boot/vmlinuz-*"))
    if selected:
        return selected[-1]
    listed = _out("apt-cache", "pkgnames", f"linux-image-{series}.").split()
    wanted = [n for n in listed if re.fullmatch(r"linux-image-.*cloud-amd64-unsigned", n)]
    if not wanted:
        raise UnavailableError(f"no cloud kernel {series} in the package lists (apt-get update)")
    newest = max(wanted, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])
    return max(_unpack(newest, CACHE / f"linux-{series}").glob("boot/vmlinuz-*"))


def busybox() -> Path:
    """A busybox that needs no libraries."""
    folder = CACHE / "busybox-static"
    selected = [p for p in (folder / "bin/busybox", folder / "usr/bin/busybox") if p.exists()]
    if selected:
        return selected[0]
    _unpack("busybox-static", folder)
    return busybox()


def _unpack(package: str, into: Path) -> Path:
    part = into.with_name(into.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        debs.unpack(debs.offer(Deb(package=package), part), part)
    except Fault as fault:
        raise UnavailableError(f"{fault.what} ({fault.fix})") from None
    shutil.rmtree(into, ignore_errors=True)
    part.rename(into)
    return into


def initramfs(at: Path, programs: Sequence[Path], files: dict[str, Path], script: str) -> Path:
    """An initramfs with programs (and the libraries they need), files, and what is run.

    Args:
        at: folder to build it in.
        programs: go to /bin under their own names.
        files: path in the VM → file here.
        script: lines of shell.
    """
    tree = at / "tree"
    for name in ("bin", "proc", "sys", "dev", "tmp", "root"):
        (tree / name).mkdir(parents=True)
    shutil.copy(busybox(), tree / "bin/busybox")
    for program in programs:
        _copy(program, tree / "bin" / program.name)
        for library in libraries(program):
            _copy(library, tree / str(library).lstrip("/"))
    for path, file in files.items():
        _copy(file, tree / path.lstrip("/"))
        (tree / path.lstrip("/")).chmod(0o755)
    init = tree / "init"
    init.write_text(INIT.format(script=script, done=DONE))
    init.chmod(0o755)
    image = at / "initramfs.gz"
    with gzip.open(image, "wb", compresslevel=1) as file:
        archive = Archive(cast("IO[bytes]", file))
        for path in sorted(tree.rglob("*")):
            name = path.relative_to(tree)
            archive.folder(name) if path.is_dir() else archive.file(name, path)
        archive.end()
    return image


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, to)
    if file.read_bytes()[:4] == b"\x7fELF":  # symbols would fill the VM's memory
        subprocess.run(["strip", "-g", str(to)], check=False, capture_output=True, timeout=60)


def libraries(program: Path) -> list[Path]:
    """Shared libraries that a program is linked with, where they lie here."""
    return [Path(p) for p in re.findall(r"(/\S+) \(0x", _out("ldd", str(program)))]


def boot(kernel: Path, image: Path, *, within_s: float, cpus: str = "2", clock: str = "") -> str:
    """Boot, run, power off; what came on the console.

    Its limit is CPU time: on a machine that is busy with others it gets that later.

    Args:
        kernel: its image.
        image: its initramfs.
        within_s: most CPU time of the whole VM, s.
        cpus: as QEMU's `-smp` takes them, such as "4,cores=2,threads=2".
        clock: by which time passes in it, as QEMU's `-icount` takes it: "shift=4,sleep=off" is 16
            ns for an instruction, whatever this machine does meanwhile; "": as it passes here.
    """
    qemu = shutil.which("qemu-system-x86_64")
    if qemu is None:
        raise UnavailableError(
            "qemu-system-x86_64 is not installed (apt-get install qemu-system-x86)"
        )
    # One thread for both CPUs: with two, a kernel that patches its own code dies of a stray int3.
    words = (
        f"-machine q35 -accel tcg,thread=single -cpu max -m {MEMORY_MB} -smp {cpus}"
        f" -kernel {kernel} -initrd {image} -nographic -no-reboot -nodefaults -serial stdio"
        + (f" -icount {clock}" if clock else "")
    )
    line = "console=ttyS0 panic=-1 quiet rdinit=/init mitigations=off"
    # It ends with whoever waits for it.
    held = f"prlimit --cpu={within_s:.0f} setpriv --pdeathsig KILL {qemu}"
    used_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    try:
        done = subprocess.run(
            [*held.split(), *words.split(), "-append", line],
            capture_output=True,
            timeout=WALL_S_MAX,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as late:
        used_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used_s
        if used_s < within_s / 2:
            raise UnavailableError(
                f"others left it {used_s:.0f} s of CPU time in {WALL_S_MAX} s"
            ) from late
        return f"{(late.stdout or b'').decode('utf-8', 'replace')}\nvm: not done in {WALL_S_MAX} s"
    text = done.stdout.decode("utf-8", "replace")
    return text if DONE in text else f"{text}\nvm: ended with {done.returncode}"


def _out(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60).stdout
