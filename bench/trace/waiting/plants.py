"""What is planted where, and the stage that must have it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from wire.usual.servers import ROOT

from waiting.servers import Server, contained, database, go_386, proxy, ring, threaded
from waiting.texts import HAPROXY, NGINX, TWEMPROXY


@dataclass(frozen=True, slots=True)
class Plant:
    """What is planted where.

    Attributes:
        stages: any of which may have the time; together they must.
        is_work: it is work, not a wait.
        share: they have more than this part of the time that is no wait for a CPU.
        blind: the way that cannot see it, which must be reported with the way that can.
        needs: a file without which it is left out.
    """

    name: str
    start: Callable[[ExitStack, Path], Server]
    stages: tuple[str, ...]
    is_work: bool = False
    share: float = 0.5
    needs: Path = Path("/")
    ways: tuple[tuple[str, ...], ...] = (("--all",),)
    blind: tuple[str, ...] = ()


MAJOR = """
    file = os.open(FOLDER + "/pages", os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    with mmap.mmap(file, 0, prot=mmap.PROT_READ) as pages:
        pages.madvise(mmap.MADV_RANDOM)
        sum(pages[at] for at in range(0, 100 * 4096, 4096))
    os.close(file)
"""
MINOR = """
    with mmap.mmap(-1, 2 << 20) as pages:
        pages.madvise(mmap.MADV_NOHUGEPAGE)
        for at in range(0, 2 << 20, 4096):
            pages[at] = 1
"""
SLEEPS = "time.sleep(WAIT)"
POOL = """
    done = threading.Event()
    jobs.put(done)
    done.wait()
"""
WORKERS = """
    def work():
        while True:
            done = jobs.get()
            time.sleep(WAIT)
            done.set()
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
"""
LOCKED = """
    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(); taken.clear()
    with lock:
        pass
    holder.join()
"""
HOLDER = """
    taken = threading.Event()
    def hold():
        with lock:
            taken.set()
            time.sleep(WAIT)
"""
PAGES = """
    with open(FOLDER + "/pages", "wb") as file:
        file.write(os.urandom(100 * 4096))
        file.flush()
        os.fsync(file.fileno())
"""

NUTCRACKER = str(ROOT / "usr/sbin/nutcracker")
SAMPLE = ("--sample", "1/2")
BOTH = (("--all",), SAMPLE)
PLANTS = (
    Plant(
        "HAProxy",
        proxy(str(ROOT / "usr/sbin/haproxy"), "h.cfg", HAPROXY, ["-f"]),
        ("wait_upstream",),
        needs=ROOT / "usr/sbin/haproxy",
        ways=BOTH,
    ),
    Plant(
        "NGINX",
        proxy("/usr/sbin/nginx", "n.conf", NGINX, ["-c"]),
        ("wait_upstream",),
        needs=Path("/usr/sbin/nginx"),
        ways=BOTH,
    ),
    Plant(
        "twemproxy",
        proxy(NUTCRACKER, "t.yml", TWEMPROXY, ["-o", "/dev/stderr", "-c"], "resp"),
        ("wait_upstream",),
        needs=ROOT / "usr/sbin/nutcracker",
        ways=BOTH,
    ),
    Plant(
        "Python, PostgreSQL",
        database,
        ("wait_upstream",),
        needs=Path(shutil.which("postgres") or "/usr/local/bin/postgres"),
        ways=BOTH,
    ),
    Plant("Python, sleeps", threaded(SLEEPS), ("wait_sleep",), ways=BOTH),
    Plant("Python, pool", threaded(POOL, WORKERS), ("wait_lock",), ways=BOTH),
    Plant("Python, lock", threaded(LOCKED, HOLDER), ("wait_lock",), ways=BOTH),
    # A page of a fast disk takes the CPU about as long as the disk.
    Plant("pages of a disk", threaded(MAJOR, PAGES), ("wait_fault", "wait_disk"), share=0.3),
    Plant("pages of memory", threaded(MINOR), ("application",), is_work=True),
    Plant(
        "Go, 32 bit",
        go_386,
        ("wait_upstream", "wait_sleep", "wait_lock"),
        needs=Path(shutil.which("go") or "/usr/local/go/bin/go"),
        ways=BOTH,
    ),
    Plant("container", contained, ("wait_sleep",)),
    Plant(
        "io_uring",
        ring,
        ("wait_sleep",),
        needs=Path(shutil.which("gcc") or "/usr/bin/gcc"),
        ways=BOTH,
        blind=("--all",),
    ),
)
#: Where the length is not planted: it is what the pages take.
UNPLANTED = ("pages of a disk", "pages of memory")
