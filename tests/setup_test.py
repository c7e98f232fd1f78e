"""`scripts/setup` holds services back while apt unpacks, and its policy goes whatever ends it.

A fake apt replaces the machine's own, and the policy lies in the test's folder.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[1] / "scripts" / "setup"
ENDS_S_MAX = 300.0
APT = """#!/bin/sh
[ "$1" != update ] || exit 0
cp "$SOJOURN_POLICY_RC_D" "$HERE/seen" 2>/dev/null
touch "$HERE/unpacking"
while [ -e "$HERE/hold" ]; do sleep 0.02; done
touch "$HERE/unpacked"
"""
SUDO = """#!/bin/sh
shift
exec "$@"
"""


@pytest.fixture(name="here")
def _here(tmp_path: Path) -> Iterator[Path]:
    """A folder with a fake apt, which unpacks for as long as `hold` lies there."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("apt-get", APT), ("sudo", SUDO)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (tmp_path / "hold").touch()
    yield tmp_path
    (tmp_path / "hold").unlink(missing_ok=True)


def start(here: Path) -> subprocess.Popen[bytes]:
    env = {
        **os.environ,
        "HERE": str(here),
        "PATH": f"{here / 'bin'}:{os.environ['PATH']}",
        "SOJOURN_POLICY_RC_D": str(policy(here)),
    }
    words = ["env", "--default-signal=INT,HUP,TERM", SETUP, "--install", "nothing"]
    return subprocess.Popen(words, env=env, start_new_session=True, stderr=subprocess.DEVNULL)


def policy(here: Path) -> Path:
    return here / "policy-rc.d"


def answer(here: Path) -> int:
    """What the policy says: 101 holds a service back, and 0 lets it start."""
    return subprocess.run([policy(here)], check=False).returncode


def eventually(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + ENDS_S_MAX
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def unpacking(here: Path) -> subprocess.Popen[bytes]:
    """A setup whose apt unpacks."""
    setup = start(here)
    eventually((here / "unpacking").exists, "apt was not called")
    return setup


def release(here: Path) -> None:
    (here / "hold").unlink()


def test_no_service_starts_while_apt_unpacks_and_nothing_is_left(here: Path) -> None:
    setup = unpacking(here)
    assert policy(here).stat().st_mode & 0o111
    assert answer(here) == 101
    release(here)
    assert setup.wait(ENDS_S_MAX) == 0
    assert not policy(here).exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_all_of_it_leaves_nothing(here: Path, number: signal.Signals) -> None:
    setup = unpacking(here)
    os.killpg(setup.pid, number)
    assert setup.wait(ENDS_S_MAX) != 0
    eventually(lambda: not policy(here).exists(), "the policy was left")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_alone_its_policy_stays_until_apt_has_ended(
    here: Path, number: signal.Signals
) -> None:
    setup = unpacking(here)
    setup.send_signal(number)
    assert setup.wait(ENDS_S_MAX) != 0
    assert answer(here) == 101, "apt still unpacks"
    release(here)
    eventually((here / "unpacked").exists, "apt did not go on")
    eventually(lambda: not policy(here).exists(), "the policy was left")


def test_killed_with_all_it_started_its_policy_goes(here: Path) -> None:
    setup = unpacking(here)
    os.killpg(setup.pid, signal.SIGKILL)
    setup.wait(ENDS_S_MAX)
    eventually(lambda: not policy(here).exists(), "the policy was left")
    assert not (here / "unpacked").exists()


def test_what_a_power_cut_left_is_removed_by_the_next_start(here: Path) -> None:
    setup = unpacking(here)
    text = policy(here).read_text()
    setup.kill()
    setup.wait(ENDS_S_MAX)
    release(here)
    eventually(lambda: not policy(here).exists(), "the policy was left")
    policy(here).write_text(text)
    policy(here).chmod(0o755)
    eventually(lambda: answer(here) == 0, "services may start once the remover has ended")
    for name in ("unpacking", "unpacked", "seen"):
        (here / name).unlink()
    assert start(here).wait(ENDS_S_MAX) == 0
    assert (here / "seen").read_text() != text, "it wrote its own"
    assert not policy(here).exists()


def test_a_process_that_ended_holds_nothing_though_its_parent_never_asked(here: Path) -> None:
    setup = unpacking(here)
    text = policy(here).read_text()
    release(here)
    assert setup.wait(ENDS_S_MAX) == 0
    ended = subprocess.Popen(["true"])
    stat = Path(f"/proc/{ended.pid}/stat")
    eventually(lambda: state(stat) == "Z", "it did not end")
    start_ticks = stat.read_text().rpartition(")")[2].split()[19]
    text = re.sub(r"(?m)^# written .*$", lambda line: owned(line[0], ended.pid, start_ticks), text)
    text = re.sub(r"/proc/\d+/stat", str(stat), text)
    policy(here).write_text(re.sub(r'!= "\d+"', f'!= "{start_ticks}"', text))
    policy(here).chmod(0o755)
    assert answer(here) == 0, "services may start"
    assert start(here).wait(ENDS_S_MAX) == 0, "the next start does not wait for it"
    assert not policy(here).exists()
    ended.wait(ENDS_S_MAX)


def state(stat: Path) -> str:
    return stat.read_text().rpartition(")")[2].split()[0]


def owned(line: str, pid: int, start_ticks: str) -> str:
    """The policy's mark, by another process."""
    return f"{line.rsplit(' ', 2)[0]} {pid} {start_ticks}"


def test_somebody_else_s_policy_is_left_alone(here: Path) -> None:
    policy(here).write_text("#!/bin/sh\nexit 101\n")
    release(here)
    assert start(here).wait(ENDS_S_MAX) == 0
    assert policy(here).read_text() == "#!/bin/sh\nexit 101\n"
    assert (here / "seen").read_text() == "#!/bin/sh\nexit 101\n"


def test_two_at_a_time_take_turns(here: Path) -> None:
    first = unpacking(here)
    text = policy(here).read_text()
    (here / "unpacking").unlink()
    second = start(here)
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(0.5)
    assert policy(here).read_text() == text
    assert not (here / "unpacking").exists()
    release(here)
    assert first.wait(ENDS_S_MAX) == second.wait(ENDS_S_MAX) == 0
    assert (here / "seen").read_text() not in {"", text}
    assert not policy(here).exists()


@pytest.mark.parametrize(("clang", "is_reported"), [("clang-21", True), ("clang-19", False)])
def test_a_clang_that_was_not_tested_is_reported(
    tmp_path: Path, clang: str, *, is_reported: bool
) -> None:
    if not all(Path("/usr/include", name).exists() for name in ("libelf.h", "zlib.h")):
        pytest.skip("needs libelf-dev and zlib1g-dev")
    for name in ("bash", "dirname", "grep", "sed", "sort", "tr"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    for name in ("pkg-config", clang):
        (tmp_path / name).symlink_to("/bin/true")
    done = subprocess.run(
        [SETUP, "--bpf"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=ENDS_S_MAX,
        check=True,
    )
    assert ("no tested clang" in done.stderr) is is_reported, done.stderr
