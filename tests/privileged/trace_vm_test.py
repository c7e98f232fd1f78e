"""sojourn-trace on kernels that are not this machine's: Debian 12's 6.1, and one with everything.

Neither has the tracepoint that this machine's kernel has for "data ready" (6.1) or for the end of a
context switch; both have kprobes and fentry. The tests that run there are those of crates/trace:
pauses put into a server must appear in the right stage and nowhere else: our own server, and
memcached with a shim before its C library. Real servers get loads of many shapes too. Times are as
long as a translated CPU needs, and only ratios to the pauses are judged.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

vm = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("vm.py"))))
pytestmark = [
    pytest.mark.privileged,
    pytest.mark.timeout(1000, func_only=True),
]  # what is built comes before
BUILD_S_MAX = 900
BOOT_S_MAX = 150.0  # of CPU time
RECORDED = vm.ROOT / "crates/trace/veristat"
TESTS = (
    "truth::every_request_is_matched_with_its_reply_size",
    "truth::a_pause_between_read_and_write_is_application",
    "truth::a_stopped_server_is_stopped_and_nothing_else",
    "truth::a_request_in_two_halves_waits_for_its_client",
    "truth::a_reply_in_many_segments_is_one_reply",
    "truth::a_reply_by_another_thread_shows_the_handover",
)
SHIMS = ("shims::memcached_before_read", "shims::memcached_before_write")
VERIFIER = "verifier::no_program_drifts_away_from_its_recorded_cost"
SCRIPT = """
cd /t/deps
for test in {tests}; do
    ./live --exact $test 2>&1 | grep -E -A3 "^test |panicked|skipped|elsewhere"
done
for test in {shims}; do
    SOJOURN_SHIM=/t/shim.so ./live --nocapture --exact $test 2>&1 |
        grep -E -A3 "^test |panicked|skipped|unknown|found"
done
./live --exact {verifier} 2>&1 | grep -E "^test |panicked|skipped|recorded"
/t/examples/echo 1 > /tmp/port & sleep 1
sojourn-trace --pid $! --duration 2s; echo "exit $?"
"""
SHAPES = (
    "shapes::three_hundred_connections",
    "shapes::replies_of_a_megabyte",
    "shapes::requests_in_forty_segments",
)
SERVERS = ("memcached", "nginx", "redis-server")
SHAPES_SCRIPT = """
cd /t/deps
for test in {tests}; do
    ./live --nocapture --exact $test 2>&1 | grep -E -A3 "^test |panicked|skipped|unknown|matched"
done
"""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Test programs of crates/trace by name, as cargo builds them, and what they need."""
    if subprocess.run([vm.ROOT / "scripts/setup", "--bpf"], check=False).returncode:
        pytest.skip("sojourn-trace cannot be built here: see scripts/setup --bpf")
    target = Path(os.environ.get("CARGO_TARGET_DIR", vm.ROOT / "target"))
    build = ["cargo", "build", "--release", "--quiet", "-p", "sojourn-trace", "--features", "bpf"]
    subprocess.run([*build, "--tests", "--examples"], cwd=vm.ROOT, check=True, timeout=BUILD_S_MAX)
    tools = ["cargo", "build", "--release", "--quiet", "-p", "sojourn-tools", "--features", "bpf"]
    subprocess.run([*tools, "--bin", "sojourn-trace"], cwd=vm.ROOT, check=True, timeout=BUILD_S_MAX)
    deps = target / "release/deps"
    made = tmp_path_factory.mktemp("shim")
    (made / "passwd").write_text("root:x:0:0::/:/bin/sh\n")  # memcached changes to a user by name
    (made / "group").write_text("root:x:0:\n")  # and NGINX to a group
    shim = ["cc", "-shared", "-fPIC", "-O2", "crates/trace/tests/shims/shim.c", "-o"]
    subprocess.run([*shim, made / "shim.so"], cwd=vm.ROOT, check=True, timeout=60)

    def newest(name: str) -> Path:
        programs = [p for p in deps.glob(f"{name}-*") if not p.suffix]
        return max(programs, key=lambda path: path.stat().st_mtime)

    return {
        "live": newest("live"),
        "shim.so": made / "shim.so",
        "passwd": made / "passwd",
        "group": made / "group",
        "echo": target / "release/examples/echo",
        "sojourn-trace": target / "release/sojourn-trace",
    }


@pytest.mark.parametrize("series", ["6.1", "6.12"])
def test_the_stages_hold_on_another_kernel(
    series: str, built: dict[str, Path], tmp_path: Path
) -> None:
    memcached = shutil.which("memcached")
    if memcached is None:
        pytest.skip("memcached is not installed")
    try:
        kernel = vm.kernel(series)
        files = {
            "/t/deps/live": built["live"],
            "/t/shim.so": built["shim.so"],
            "/etc/passwd": built["passwd"],
            "/t/examples/echo": built["echo"],
        }
        files |= {str(path): path for path in RECORDED.glob("*.json")}
        script = SCRIPT.format(tests=" ".join(TESTS), shims=" ".join(SHIMS), verifier=VERIFIER)
        programs = [built["sojourn-trace"], Path(memcached)]
        image = vm.initramfs(tmp_path, programs, files, script)
        console = vm.boot(kernel, image, within_s=BOOT_S_MAX)
    except vm.UnavailableError as lack:
        pytest.skip(f"no VM: {lack}")
    assert vm.DONE in console, console
    for test in TESTS:
        assert f"test {test} ... ok" in console, console
    assert console.count("pauses found") >= 2 * len(SHIMS), console
    assert "FAILED" not in console, console
    assert "panicked" not in console, console
    assert f"test {VERIFIER} ... ok" in console, console
    assert "no costs are recorded" not in console, console
    assert "no request was matched" in console, console
    assert "exit 3" in console, console


def test_every_shape_of_load_is_matched_on_another_kernel(
    built: dict[str, Path], tmp_path: Path
) -> None:
    servers = [shutil.which(name) for name in SERVERS]
    if None in servers:
        pytest.skip(f"not all of {SERVERS} are installed")
    try:
        kernel = vm.kernel("6.12")
        programs = [built["sojourn-trace"], *(Path(server) for server in servers if server)]
        files = {
            "/t/deps/live": built["live"],
            "/etc/passwd": built["passwd"],
            "/etc/group": built["group"],
        }
        script = SHAPES_SCRIPT.format(tests=" ".join(SHAPES))
        image = vm.initramfs(tmp_path, programs, files, script)
        console = vm.boot(kernel, image, within_s=BOOT_S_MAX)
    except vm.UnavailableError as lack:
        pytest.skip(f"no VM: {lack}")
    assert vm.DONE in console, console
    for test in SHAPES:
        assert f"test {test} ... ok" in console, console
    assert console.count(" matched, ") >= len(SHAPES) * len(SERVERS), console
