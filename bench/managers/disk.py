"""A service that waits for the disk beside a job that writes to it: each rule as `sojourn manage`.

Usage: sudo .venv/bin/python bench/managers/disk.py [--rounds 2] [--seconds 40] [--target 50ms]
       [--only NAME …]

An HTTP service on CPU 0 writes 4 KB and waits for the disk (fdatasync) at each request, 50 requests
a second. A job on CPU 1 writes past the page cache as fast as the disk takes it. Each is in a
control group of its own, and the client's windows go to the manager. `alone` runs without the job,
`none` without a manager, `limit` with `static` and 5 MB/s. No rule of the literature here moves the
disk, so two stand for them. Order is random within a round. Of each run: seconds with more late
requests than 1 % by two standard deviations, without the first ten; MB/s of the job; changes. A
service of so few requests with exactly 1 % has 9 such seconds in 100.
Rows are stored in `bench/runs`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import secrets
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from measure import CLIENT_CPU, SERVER_CPU
from real import (
    ALONE,
    BATCH,
    NONE,
    RUNS,
    WARM_S,
    Seen,
    audit,
    generator,
    manager,
    relay,
    started,
)
from servers import await_port

from sojourn.manage import testing
from sojourn.manage.testing import make_group, remove_group
from sojourn.places import ports

LIMIT, WEB = "limit", "web"
RULES = (ALONE, NONE, "posterior", LIMIT, "parties", "koordinator")
RATE, LEARN_S = 50, 10
CONSTANTS = {LIMIT: "io = 5e6"}
SERVICE = """
import http.server, os, sys
file = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        os.pwrite(file, os.urandom(4096), 0)
        os.fdatasync(file)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
JOB = """
import mmap, os, sys
block = mmap.mmap(-1, 1 << 20)
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_DIRECT)
done = open(sys.argv[2], "w")
total = 0
while True:
    total += os.pwrite(file, block, total % (256 << 20))
    done.seek(0), done.write(f"{total}\\n"), done.flush()
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--target", default="50ms")
    parser.add_argument("--only", nargs="*", default=RULES, choices=RULES)
    asked = parser.parse_args()
    if lack := testing.lack():
        print(f"needs {lack}", file=sys.stderr)
        return 2
    order, rows = random.Random(30), []  # noqa: S311 - no secret
    for number in range(asked.rounds):
        for name in order.sample(asked.only, len(asked.only)):
            row = {"round": number, "controller": name, **measured(name, asked)}
            rows.append(row)
            print(json.dumps(row), flush=True)
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-disk.json"
    about = {"kernel": os.uname().release, "load": os.getloadavg()[0], "target": asked.target}
    path.write_text(json.dumps({**about, "rows": rows}, indent=1))
    print(f"rows: {path.name}")
    return 0


def measured(name: str, asked: argparse.Namespace) -> dict[str, Any]:
    """One run of one rule."""
    with contextlib.ExitStack() as stack:
        # On the disk, because /tmp may be memory.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp")))
        tag = secrets.token_hex(3)
        paths = {one: f"/sojourn-disk-{tag}-{one}" for one in (WEB, BATCH)}
        folders = {one: make_group(path) for one, path in paths.items()}
        for group in (group for groups in folders.values() for group in groups):
            stack.callback(remove_group, group)
        port, lines, seen = ports.free(), (folder / "lines").open("ab", buffering=0), Seen()
        stack.callback(lines.close)
        python = [sys.executable, "-IS", "-c"]
        words = [*python, SERVICE, str(port), str(folder / "served")]
        started(stack, words, SERVER_CPU, folders[WEB])
        await_port(port)
        if name != ALONE:
            job = [*python, JOB, str(folder / "written"), str(folder / "count")]
            started(stack, job, CLIENT_CPU, folders[BATCH])
        if name not in {NONE, ALONE}:
            managed(stack, name, folder, paths, asked.target)
        words = [f"http://127.0.0.1:{port}/", "--rate", str(RATE), "--wait", "sleep"]
        load = generator(stack, words, asked.seconds, asked.target)
        began = time.monotonic()
        reader = threading.Thread(target=relay, args=(WEB, load, lines, seen, began + WARM_S))
        reader.start()
        time.sleep(WARM_S)
        written, at = count(folder), time.monotonic()
        load.wait(asked.seconds + 30)
        rate = (count(folder) - written) / (time.monotonic() - at)
        reader.join(10)
        changes = [event for event in audit(folder) if event["event"] == "change"]
    for key in [key for key in seen.n if key[1] < LEARN_S]:  # a rule may learn first
        del seen.n[key], seen.above[key]
    return {
        "violated_s": seen.violated_s(),
        "seconds": len(seen.n),
        "late": round(seen.late(), 4),
        "job_mb_s": round(rate / 1e6, 2),
        "changes": [[c["knob"], c["after"]] for c in changes],
    }


def managed(
    stack: contextlib.ExitStack, name: str, folder: Path, paths: dict[str, str], target: str
) -> None:
    """A manager that has begun."""
    rule = "static" if name == LIMIT else name
    text = f"""
        controller = "{rule}"
        audit = "{folder}/audit"
        check_s = 0.0
        silent_s = 5.0
        [windows]
        file = "{folder}/lines"
        [constants]
        {CONSTANTS.get(name, "")}
        [groups.web]
        role = "latency-critical"
        cgroup = "{paths[WEB]}"
        target = "{target}"
        [groups.batch]
        role = "best-effort"
        cgroup = "{paths[BATCH]}"
        disk = "{folder}"
    """
    manager(stack, folder, text)


def count(folder: Path) -> int:
    """Bytes that the job has written."""
    path = folder / "count"
    text = path.read_text().strip() if path.exists() else ""
    return int(text) if text.isdigit() else 0


if __name__ == "__main__":
    sys.exit(main())
