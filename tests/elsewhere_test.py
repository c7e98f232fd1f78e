"""Records are read where nothing is measured: macOS, and any Linux without the native programs.

No such machine is at hand. Python's names for what only Linux has are taken away, and so are the
package that speaks to its kernel. A fake shows what is imported and called, not that it works.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from sojourn import __main__, store, system
from sojourn.cli import verbs
from sojourn.cli.app import main
from sojourn.errors import HostFault

GOLDEN = Path(store.__file__).parent / "golden" / "record-1.tar.xz"
FAKE = """
import json, os, select, signal, socket, subprocess, sys, time
import altair, duckdb, numpy, pyarrow.parquet, scipy.stats

LINUX = {
    os: ("sched_", "SCHED_", "pidfd", "P_PIDFD", "setns", "unshare", "CLONE_", "memfd", "MFD_",
         "eventfd", "EFD_", "timerfd", "TFD_", "getxattr", "setxattr", "listxattr", "removexattr",
         "O_PATH", "O_TMPFILE", "O_DIRECT", "O_NOATIME", "posix_fa", "POSIX_FA", "getres",
         "setres", "splice", "copy_file_range", "getrandom", "fdatasync"),
    signal: ("SIGRT", "SIGPWR", "SIGPOLL", "SIGSTKFLT", "pidfd", "sigtimedwait", "sigwaitinfo"),
    select: ("epoll", "EPOLL"),
    socket: ("AF_NETLINK", "AF_PACKET", "AF_VSOCK", "SO_PEERCRED", "SO_BINDTODEVICE", "TCP_INFO",
             "SO_MARK", "NETLINK", "PACKET"),
    time: ("CLOCK_BOOTTIME", "CLOCK_TAI"),
}
for module, starts in LINUX.items():
    for name in [name for name in dir(module) if name.startswith(starts)]:
        if name != "O_DIRECTORY":
            delattr(module, name)
sys.modules.update(dict.fromkeys(["pyroute2", "ctypes.util"]))
sys.platform = "darwin"
from sojourn.cli.app import main
for words in json.loads(sys.argv[1]):
    print("code", main(words), file=sys.stderr)
"""


def test_records_are_read_without_what_only_linux_has(tmp_path: Path) -> None:
    with tarfile.open(GOLDEN) as packed:
        packed.extractall(tmp_path / "results")  # noqa: S202 - our own
    record = next((tmp_path / "results").rglob("manifest.json")).parent
    other = record.with_name("20261124T031248Z-7d38")
    shutil.copytree(record, other)
    commands = [
        ["show"],
        ["report", str(record)],
        ["ls"],
        ["sql", "select count(*) from outcomes"],
        ["open", str(record)],
        ["compare", str(record), str(other)],
    ]
    done = subprocess.run(
        [sys.executable, "-c", FAKE, json.dumps(commands)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(store.__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    ends = [line for line in done.stderr.splitlines() if line.startswith("code")]
    assert ends[:5] == ["code 0"] * 5, done.stderr
    assert ends[5] in {"code 0", "code 3"}, done.stderr
    assert (record / "report.html").stat().st_size > 100_000


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", "selfcheck"), 2),
        (("try", "http://127.0.0.1/"), 2),
        (("doctor",), 2),
        (("compare", "--url", "http://127.0.0.1/", "--url", "http://127.0.0.1/x"), 2),
        (("run", "--help"), 0),
    ],
    ids=str,
)
def test_what_measures_is_refused_with_its_reason(
    words: tuple[str, ...],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert main([*words]) == code
    assert ("needs Linux" in capsys.readouterr().err) is (code == 2)


def test_each_command_that_is_refused_exists() -> None:
    names = set(verbs.COMMANDS)
    assert names >= system.MEASURES


def test_a_comparison_is_refused_only_where_it_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    system.check("compare")
    with pytest.raises(HostFault, match="needs Linux"):
        system.check("gate")


def test_windows_is_refused_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "argv", ["sojourn", "show"])
    assert __main__.start() == 2
    assert "WSL" in capsys.readouterr().err


def test_a_folder_that_was_removed_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = "import os, sys; os.rmdir(os.getcwd()); from sojourn.__main__ import start; "
    done = subprocess.run(
        [sys.executable, "-c", f"{script}sys.argv = ['sojourn', 'ls']; sys.exit(start())"],
        cwd=gone,
        env={**os.environ, "PYTHONPATH": str(Path(store.__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert "at: the folder in which it is started" in done.stderr
