"""A tiny parent for one server: nothing that the lab starts outlives the lab.

Run as a script, by its path, with the bare interpreter: `python -I -S warden.py FD FOLDER`. `FD` is
one end of a socket pair, the lab has the other, and says on it what to start: everybody can read a
command line. The kernel closes the lab's end however the lab ends, `kill -9` included; the warden
sees the end of file and kills the server's whole group. A parent-death signal alone would not do:
it reaches one process (NGINX's workers would stay) and only the one whose parent died.

    lab ──socket── warden ── server (own session) ── workers
                             └ parent-death signal: if somebody kills the warden

Spoken on the socket, a line each: the lab says what to start; the warden says
`{"event": "started" | "failed" | "exited", …}`, the lab a signal's number. How the server is
grouped it reads itself, before it is one. When it started is the warden's to say: the lab may hear
of it when the server has already ended and been reaped. The warden signals only what it has not
reaped, so a number that was given to another process meanwhile is never hit.

The warden is started for a moment of a server's life, and costs nothing while it waits in `select`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from typing import Any, NoReturn

PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h
PR_SET_KEEPCAPS, PR_CAPBSET_DROP = 8, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
CAPABILITY_VERSION_3 = 0x2008_0522  # include/uapi/linux/capability.h
CAPABILITIES_MAX = 64  # bits of the kernel's set
CLONE_NEWNET = 0x4000_0000  # include/uapi/linux/sched.h
GONE_S_MAX = 5.0  # how long SIGKILL may take, s: a process in the kernel's hands dies later
ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT  # of waitid: it stays unreaped
LIBC = ctypes.CDLL(None, use_errno=True)


def main(fd: int) -> None:
    """Start the server, pass signals on, report its end, leave nothing of it."""
    lab = socket.socket(fileno=fd)
    lab.set_inheritable(False)  # a server that held it could speak for the warden
    spec = asked(lab)
    if spec is None:
        return
    wake_r, wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    pid, error, grouped = start(spec)
    if error:
        say(lab, event="failed", error=error)
        return
    say(lab, event="started", pid=pid, start_ticks=start_ticks(pid), grouped=grouped)
    watch(lab, wake_r, pid)
    # The leader is dead but not reaped: its number, and so its group's, cannot be given away yet.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    is_clean = bury()
    say(
        lab,
        event="exited",
        status=os.waitstatus_to_exitcode(status),
        cpu_s=usage.ru_utime + usage.ru_stime,
        rss_kb_max=usage.ru_maxrss,
        is_clean=is_clean,
    )


def asked(lab: socket.socket) -> dict[str, Any] | None:
    """What to start; None: the lab is gone. It says no more before it knows what became of it."""
    line = b""
    while not line.endswith(b"\n"):
        part = lab.recv(1 << 16)
        if not part:
            return None
        line += part
    spec: dict[str, Any] = json.loads(line)
    return spec


def start(spec: dict[str, Any]) -> tuple[int, str, list[str]]:
    """Fork and exec; return the process, why it could not be started, and how it is grouped."""
    reported_r, reported_w = os.pipe2(os.O_CLOEXEC)
    warden = os.getpid()
    pid = os.fork()
    if pid == 0:
        become(spec, warden, reported_w)
    os.close(reported_w)
    with os.fdopen(reported_r, encoding="utf-8") as stream:
        grouped, _, error = stream.read().rpartition("\n")  # no error: the pipe closed on exec
    if error:
        os.waitpid(pid, 0)
    return pid, error, json.loads(grouped or "[]")


def start_ticks(pid: int) -> int:
    """When a child that is not reaped started, clock ticks after boot; it may be dead."""
    with open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123  # as below
        return int(stat.read().rpartition(b")")[2].split()[19])


def become(spec: dict[str, Any], warden: int, reported_w: int) -> NoReturn:
    """In the child: give up what the server must not have, then become it."""
    step = "start"
    try:
        os.setsid()
        allow_open_files(spec["open_files"])
        if spec["is_first"]:
            go_first()
        for group in spec["groups"]:  # before the CPUs: one of a cpuset may undo them
            step = f"enter the control group {group}"
            enter_group(group)
        if spec["cpus"]:
            step = f"be put on CPUs {spec['cpus']}"
            os.sched_setaffinity(0, spec["cpus"])
        if spec["netns"]:
            step = f"enter the network namespace {spec['netns']}"
            enter_network(spec["netns"])
        # While it may: folders above that of a generator can be closed to its user.
        step = f"enter {spec['cwd']}"
        os.chdir(spec["cwd"])
        if spec["user"]:
            step = f"become user {spec['user'][0]}"
            uid, gid = spec["user"]
            become_user(uid, gid, spec["keeps"])
        os.umask(0o077)
        # After the change of user, which clears it (commit_creds in kernel/cred.c).
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != warden:
            os._exit(1)
        # Python ignores the last two, and what is ignored stays ignored over exec.
        heeded = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        for number in (*heeded, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        # Said before it runs: afterwards it may keep the lab from its CPU until it has ended.
        os.write(reported_w, json.dumps([own("cgroup"), own("autogroup")]).encode() + b"\n")
        step = f"run {spec['argv'][0]}"
        os.execve(spec["argv"][0], spec["argv"], spec["environment"])  # noqa: S606
    except OSError as error:
        os.write(reported_w, f"cannot {step}: {error.strerror}".encode())
    os._exit(127)


def become_user(uid: int, gid: int, keeps: list[int]) -> None:
    """Become somebody with these rights alone, who can gain none: by no setuid program either."""
    ours = permitted()
    selected = [number for number in keeps if ours >> number & 1]
    for number in range(CAPABILITIES_MAX):  # while this process may; those that there are not fail
        if number not in selected:
            LIBC.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    checked(LIBC.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    mask = sum(1 << number for number in selected)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    # Effective, permitted and inheritable, first the lower halves of all, then the upper ones.
    low, high = mask & 0xFFFF_FFFF, mask >> 32
    checked(LIBC.capset(header, (ctypes.c_uint32 * 6)(low, low, low, high, high, high)))
    for number in selected:
        checked(LIBC.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0))
    checked(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def permitted() -> int:
    """The capabilities that this process may have, a bit each."""
    with open("/proc/self/status", "rb") as status:  # noqa: PTH123
        return next(int(line.split()[1], 16) for line in status if line.startswith(b"CapPrm:"))


def checked(result: int) -> None:
    """OSError where a call of the C library failed."""
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def own(name: str) -> str:
    """A file of this process in /proc; "": the kernel has none."""
    try:
        with open(f"/proc/self/{name}", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""


def enter_group(folder: str) -> None:
    """Put this process into a control group; OSError if refused."""
    with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as members:  # noqa: PTH123
        members.write("0")


def enter_network(path: str) -> None:
    """Put this process into the network namespace that is mounted at `path`; OSError if refused."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    if LIBC.setns(handle, CLONE_NEWNET) != 0:  # os.setns came with Python 3.12
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)


def allow_open_files(wanted: int) -> None:
    """Raise the limit as far as this user may; a server that needs more will say so."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (max(wanted, hard), hard):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            return


def go_first() -> None:
    """Stand before the lab and everybody else on these CPUs, as far as this user may.

    Where processes are grouped by session (autogroup, sched(7)), a nice value counts only within
    the session, and the session's own must be set too.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w", encoding="ascii") as group:  # noqa: PTH123
        group.write("-20")


def watch(lab: socket.socket, wake_r: int, pid: int) -> None:
    """Return when the server is dead; kill it when the lab is."""
    lab_is_there = True
    while not is_dead(pid):
        sources = [wake_r, lab.fileno()] if lab_is_there else [wake_r]
        ready, _, _ = select.select(sources, [], [])
        if wake_r in ready:
            numbers = os.read(wake_r, 512)
            for _ in range(512):  # left ones: somebody may wait until their numbers are free
                one = os.waitid(os.P_ALL, 0, ENDED)
                if one is None or one.si_pid == pid:
                    break
                os.waitpid(one.si_pid, 0)
            if set(numbers) - {signal.SIGCHLD}:  # somebody wants the warden to go
                os.kill(pid, signal.SIGKILL)
        if lab.fileno() in ready:
            lab_is_there = bool(words := hear(lab))
            for word in words.split() or [str(int(signal.SIGKILL))]:
                if not is_dead(pid):
                    os.kill(pid, int(word))


def hear(lab: socket.socket) -> str:
    """What the lab says; "" when it is gone."""
    try:
        return lab.recv(512).decode("ascii")
    except ConnectionError:
        return ""


def is_dead(pid: int) -> bool:
    """Whether the server has ended."""
    return os.waitid(os.P_PID, pid, ENDED) is not None


def bury() -> bool:
    """Kill and reap whatever the server left: as subreaper, the warden has inherited it."""
    end = time.monotonic() + GONE_S_MAX
    while time.monotonic() < end:
        for child in children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            time.sleep(0.002)
    return False


def children() -> list[int]:
    """Processes whose parent is the warden."""
    numbers = []
    for name in os.listdir("/proc"):  # noqa: PTH208  # pathlib would double the start-up time
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
                if int(stat.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    numbers.append(int(name))
    return numbers


def say(lab: socket.socket, **words: object) -> None:
    """Tell the lab, if it is still there."""
    with contextlib.suppress(OSError):
        lab.sendall(json.dumps(words).encode() + b"\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
