"""Groups of which a controller moves every knob that this machine has, for `kills.py`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from sojourn.knobs import attr, htb, net_space
from sojourn.knobs import groups as knob_groups
from sojourn.knobs.htb import Bucket
from sojourn.manage.config import GroupSpec
from sojourn.manage.groups import Managed
from sojourn.manage.testing import CONTROLLERS, TREE, Stand

#: Best-effort work: a task that spins, one that streams through memory, one that writes past the
#: page cache, and one that sends to itself in a network namespace of which lo is the only link.
WORK = r"""
import ctypes, fcntl, mmap, os, signal, socket, struct, sys, time
while open("/proc/self/cgroup").read().count("-batch\n") < GROUPS:
    time.sleep(0.01)  # what it starts must be in its groups too
if ctypes.CDLL(None).unshare(0x40000000):
    raise SystemExit(77)
sink, sender = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "12")
fcntl.ioctl(sink, 0x8914, struct.pack("16sH22x", b"lo", 0x49))  # SIOCSIFFLAGS: up
sink.bind(("127.0.0.1", 0))
folder = FOLDER
def spin():
    while True: pass
def stream():
    one, other = bytearray(64 << 20), bytearray(64 << 20)
    while True: one[:], other[:] = other, one
def write():
    page = mmap.mmap(-1, 1 << 20)
    file = os.open(os.path.join(folder, "written"), os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    while True:
        for i in range(64): os.pwrite(file, page, i << 20)
for act in (spin, stream, write):
    if not os.fork():
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # it ends with its parent
        act()
while True:
    sender.sendto(bytes(1400), sink.getsockname())
"""
#: Each look one knob gets a level by chance; of the service what a program may set.
MOVING = """
import json, random, sys
draw, levels = random.Random(SEED), LEVELS
for line in sys.stdin:
    look, changes = json.loads(line), []
    group, knob = draw.choice([*levels])
    now = look["groups"][group]["allocation"]
    level = draw.choice([one for one in levels[group, knob] if one != now[knob]])
    changes = [{"group": group, "knob": knob, "level": level, "reason": "moves"}]
    print(json.dumps({"changes": changes}), flush=True)
"""
TASKS = 4  # of it
QUOTA = {("batch", "quota"): (0.2, 0.4, 0.6, None)}
ALL = {
    **QUOTA,
    ("batch", "weight"): (100, 20, 50),
    ("batch", "idle"): (True, False),
    ("batch", "cores"): (1, 2),
    ("batch", "memory"): (64 << 20, None),
    ("batch", "io"): (5_000_000, 20_000_000, None),
    ("batch", "frozen"): (True, False),
    ("batch", "policy"): ("idle", "batch", "nice:5", None),
    ("batch", "egress"): (1_000_000, 10_000_000, None),
    ("batch", "frequency"): (1e9, None),
    ("batch", "ways"): (1, None),
    ("batch", "bandwidth"): (20, None),
    ("web", "weight"): (100, 200),
    ("web", "cores"): (1, 2),
}
FILES = {
    "cpu": ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares", "cpu.idle"),
    "cpuset": ("cpuset.cpus", "cpuset.mems"),
    "blkio": ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"),
    "freezer": ("freezer.state",),
}
CPU_FILES = ("cpu.max", "cpu.weight", "cpu.idle", "cpuset.cpus")
SECOND = (*CPU_FILES, "memory.high", "io.max", "cgroup.freeze")  # of version 2


def work(folder: Path) -> str:
    """The best-effort program; it writes into a folder."""
    mounts = {one.mount for name in CONTROLLERS if (one := knob_groups.find(TREE, name))}
    return WORK.replace("FOLDER", json.dumps(str(folder))).replace("GROUPS", str(len(mounts)))


def controller(here: Stand, seed: int, *, is_all: bool) -> tuple[str, list[str]]:
    """A program that moves what can be moved here, and the knobs that cannot.

    Args:
        here: the groups.
        seed: of its choices.
        is_all: every knob; else the quota alone.
    """
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    can = {}
    for name, role in (("web", "latency-critical"), ("batch", "best-effort")):
        more = {"target": "1ms"} if name == "web" else {"disk": str(here.folder), "link": "lo"}
        spec = GroupSpec.model_validate({"role": role, "cgroup": here.paths[name], **more})
        one = Managed(name, spec, cpus, TREE)
        one.find()
        can[name] = one.can()
    wanted = ALL if is_all else QUOTA
    levels = {key: every for key, every in wanted.items() if key[1] in can[key[0]]}
    text = MOVING.replace("SEED", str(seed)).replace("LEVELS", repr(levels))
    (here.folder / "moving.py").write_text(text)
    lacking = sorted({knob for group, knob in wanted if knob not in can[group]})
    return f"program:{sys.executable} {here.folder / 'moving.py'}", lacking


def state(here: Stand) -> dict[str, str]:
    """Every setting of both groups, the policy of each of their threads, and the link's queue."""
    return dict([*_files(here), *_threads(here), ("egress", _root(here))])


def _files(here: Stand) -> Iterator[tuple[str, str]]:
    for name, path in here.paths.items():
        for controller in CONTROLLERS:
            one = knob_groups.find(TREE, controller)
            for file in SECOND if one and one.version == 2 else FILES.get(controller, ()):
                at = Path(one.mount, path.lstrip("/"), file) if one else None
                if at is not None and at.exists():
                    yield f"{name} {file}", at.read_text()


def _threads(here: Stand) -> Iterator[tuple[str, str]]:
    for name in here.paths:
        for tid in sorted(here.file(name, "cgroup.procs").read_text().split()):
            for task in sorted(Path(f"/proc/{tid}/task").iterdir()):
                yield f"{name} policy {task.name}", attr.get(int(task.name)).text


def _root(here: Stand) -> str:
    """Kind of the root qdisc of the link of `batch`."""
    pid = here.programs["batch"].pid
    space = net_space.number(pid)
    at = net_space.of_process(pid)
    return htb.root_of(Bucket(link="lo", netns=at, major=0, space=space))[0]
