"""A libvirtd of the lab's own, under which guests run as domains (P2).

enter: folder, libvirtd in a mount namespace, its socket in the folder
start: the guest is defined by XML and created; QEMU is a process like any other
leave: the domain is destroyed, libvirtd is ended; its warden ends a QEMU that is left

libvirt makes no control groups and starts no networks. QEMU is seen, pinned and limited from
outside, as without libvirt. Where the lab is killed, the warden ends libvirtd and QEMU.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault, RunFault
from sojourn.install import vm as parts
from sojourn.install.part import cache_folder, doubt
from sojourn.places import server_files
from sojourn.places.guest import domain
from sojourn.places.guest.qemu import Machine
from sojourn.places.launch import Launch
from sojourn.places.ledger import Book
from sojourn.places.place import PlaceOption
from sojourn.places.platform.daemons import Daemons, files
from sojourn.places.platform.libvirt_domain import Domain
from sojourn.places.process import Process

NAME = "libvirt"
DAEMON, CALL, WITNESS = "libvirtd", "virsh", "virt-qemu-run"
PACKAGES = {
    DAEMON: "libvirt-daemon",
    CALL: "libvirt-clients",
    WITNESS: "libvirt-daemon-driver-qemu",  # it comes with the driver, which is no program
}
SCRIPT = Path(__file__).with_name("libvirtd.sh")
READY_S_MAX = 30.0
CREATE_S_MAX = 60.0  # libvirt asks each new QEMU once what it can do: seconds
CALL_S_MAX = 20.0
LOG = "SOJOURN_LOG"
USER, NUMBER = "libvirt-qemu", 64055  # as Debian has it; libvirtd ends where it is not there
DAEMON_CONF = """\
unix_sock_dir = "{folder}"
unix_sock_rw_perms = "0700"
unix_sock_admin_perms = "0700"
auth_unix_rw = "none"
auth_unix_ro = "none"
"""
#: `hugetlbfs_mount`: else it makes a folder in /dev/hugepages, which is the host's.
QEMU_CONF = """\
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
namespaces = []
hugetlbfs_mount = []
cgroup_controllers = []
seccomp_sandbox = 0
security_driver = "none"
stdio_handler = "file"
"""  # it opens tap and disks as root, then becomes the service's user (-runas), as without libvirt
#: Over the system's bus systemd would move QEMU to another control group, and hold off a shutdown.
VARIABLES = {"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"}
EMULATOR = """\
#!/bin/sh
# {size} bytes of {mtime}: libvirt asks another one anew what it can do
[ -n "${log}" ] && exec >> "${log}" 2>&1
exec {setsid} {qemu} "$@"
"""


class Libvirt:
    """One libvirtd, for one life of a service."""

    def __init__(self, name: str, folder: Path, book: Book) -> None:
        """Nothing is started yet.

        Args:
            name: of the virtual machine.
            folder: of it, in which one for libvirt is made.
            book: where its process is noted.
        """
        self._name, self._at = name, folder / NAME
        self._daemons = Daemons(NAME, self._at, book, variables=VARIABLES)
        self._emulator = Path()
        self._count = 0

    def enter(self) -> None:
        """Start libvirtd.

        Raises:
            HostFault, RunFault: it cannot be; what was made is left to `leave`.
        """
        for program in PACKAGES:
            _tool(program)
        with files(NAME, self._at):
            cache = self._write()
        space = (_util("unshare"), "--mount", "--propagation", "private")
        own = ("-f", "/etc/libvirt/libvirtd.conf", "-p", self._at / "run/libvirtd.pid")
        words = (*space, "/bin/sh", SCRIPT, self._at, cache, _tool(DAEMON), *own)
        self._daemons.start(DAEMON, words)
        self._daemons.wait((self._at / "libvirt-sock").exists, READY_S_MAX)

    def _write(self) -> Path:
        """Write its files; returns the folder for what it learns of QEMU."""
        (self._at / "etc").mkdir(mode=0o700, parents=True)
        cache = cache_folder() / NAME
        if not doubt(cache):
            cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        if doubt(cache):  # also of what was put there meanwhile: what lies there would be run
            cache = self._at / "cache"
            cache.mkdir(mode=0o700)
        (self._at / "etc/libvirtd.conf").write_text(DAEMON_CONF.format(folder=self._at))
        (self._at / "etc/qemu.conf").write_text(QEMU_CONF)
        for name, line in (
            ("passwd", f"{USER}:x:{NUMBER}:{NUMBER}::/nonexistent:/usr/sbin/nologin\n"),
            ("group", f"{USER}:x:{NUMBER}:\n"),
        ):
            text = Path("/etc", name).read_text(encoding="utf-8", errors="surrogateescape")
            more = "" if re.search(f"^{USER}:", text, re.MULTILINE) else line
            whole = f"{text.rstrip()}\n{more}"
            (self._at / name).write_text(whole, encoding="utf-8", errors="surrogateescape")
        self._emulator = emulator(cache, programs.find(parts.QEMU))
        return cache

    def start(self, machine: Machine, launch: Launch) -> Process:
        """Start a guest as a domain.

        Raises:
            HostFault: libvirt refuses it.
            RunFault: its log is not a plain file, or it has ended already.
        """
        self._count += 1
        name = f"{self._name}-{self._count}"
        with _log(launch.log) as handle:
            # By the open file: who owns its folder could put a link there meanwhile.
            variables = {LOG: f"/proc/{os.getpid()}/fd/{handle}"}
            text = domain.definition(
                machine,
                name=name,
                emulator=self._emulator,
                cpus=launch.cpus,
                variables=variables,
            )
            path = machine.at / "domain.xml"
            with files(NAME, path):
                path.write_text(text, encoding="utf-8")
            self._ask("create", str(path), within_s=CREATE_S_MAX)
        file = self._at / f"run/qemu/{name}.pid"
        return Domain(launch, name, file, partial(self.destroy, name))

    def destroy(self, name: str) -> None:
        """End a domain at once, if it is there."""
        with contextlib.suppress(HostFault):  # it has ended, or libvirtd has
            self._ask("destroy", name)

    def leave(self) -> None:
        """End libvirtd; its warden ends what it started and is left."""
        self._daemons.stop()

    def _ask(self, *words: str, within_s: float = CALL_S_MAX) -> str:
        uri = f"qemu:///system?socket={self._at / 'libvirt-sock'}"
        return self._daemons.call([_tool(CALL), "-q", "-c", uri, *words], within_s)

    @property
    def note(self) -> str:
        """What it is, for people."""
        release = re.search(r"\d+(?:\.\d+)+", programs.says(_tool(CALL), "--version"))
        return f"libvirt {release[0] if release else 'of unknown release'}"


def emulator(cache: Path, program: Path) -> Path:
    """A script that is QEMU as libvirt is to start it: in a session of its own, with the log.

    libvirt keeps what a QEMU can do beside its time of change, so the script is written once for
    each QEMU.
    """
    facts = program.stat()
    # fmt: off
    setsid, qemu = (shlex.quote(str(path)) for path in (_util("setsid"), program))
    text = EMULATOR.format(
        qemu=qemu, size=facts.st_size, mtime=facts.st_mtime_ns, log=LOG, setsid=setsid
    )
    # fmt: on
    path = cache / f"qemu-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(text, encoding="utf-8")
        part.chmod(0o755)
        part.replace(path)
    return path


@contextlib.contextmanager
def _log(path: Path) -> Iterator[int]:
    """The log, open to be written at its end."""
    try:
        handle = server_files.opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    except OSError as error:
        raise RunFault(
            f"the log cannot be opened: {error.strerror}",
            at=str(path),
            fix="look what is there and who owns it, then run again",
        ) from None
    try:
        yield handle
    finally:
        os.close(handle)


def _tool(program: str) -> Path:
    return programs.find(program, fix=f"apt install {PACKAGES[program]}")


def _util(program: str) -> Path:
    return programs.find(program, fix="apt install util-linux")


OPTION = PlaceOption(
    name=NAME,
    part="start",
    about="the guest is a domain of a libvirtd that is the place's own (P2)",
    label="by libvirt",
    programs=PACKAGES,
)
