"""CPU time of one look of a manager: at a service with threads and connections, and a neighbour.

Usage: sudo .venv/bin/python bench/managers/look.py [--looks 100] [--connections 100] [--threads 8]
           [--code NAME]

Looks come every 100 ms, so 1000 us are 1 % of a core. The service of this script's own listens on
loopback, accepts all connections but the last one, and reads nothing. Printed are three rounds.
With PYTHONPATH of another version's `python` folder it measures that one, and `--code` names it in
the rows. Rows are stored in `bench/runs`.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import sojourn
from sojourn.manage import config as configs
from sojourn.manage.audit import Audit
from sojourn.manage.groups import Managed
from sojourn.manage.signals import Signals
from sojourn.manage.testing import TREE, stand
from sojourn.manage.watch import Watch

RUNS = Path(__file__).parents[1] / "runs"
EVERY_S, ROUNDS, START_S = 0.1, 3, 30.0
SERVER = """
import socket, sys, threading, time
count, threads = map(int, sys.argv[1:])
for _ in range(threads - 1):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
print(listening.getsockname()[1], flush=True)
accepted = [listening.accept() for _ in range(count - 1)]
time.sleep(600)
"""


def main() -> int:
    asked = arguments()
    with tempfile.TemporaryDirectory() as folder, stand(Path(folder)) as here:
        words = [sys.executable, "-c", SERVER, str(asked.connections), str(asked.threads)]
        server = subprocess.Popen(words, stdout=subprocess.PIPE)
        here.programs["server"] = server  # it ends with the others
        for group in here.made:
            if str(group).endswith("-web"):
                (group / "cgroup.procs").write_text(str(server.pid))
        assert server.stdout is not None  # noqa: S101  # a pipe was asked for
        ready, _, _ = select.select([server.stdout], [], [], START_S)
        port = int(server.stdout.readline() if ready else "")  # ValueError: it did not start
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(asked.connections)]
        for client in clients:
            client.send(b"x" * 100)
        config, cpus = configs.read(here.config()), tuple(sorted(os.sched_getaffinity(0)))
        groups = {n: Managed(n, spec, cpus, TREE) for n, spec in config.groups.items()}
        for one in groups.values():
            one.find()
        watch = Watch(groups, Signals(TREE, cpus), Audit(None, lambda _: None))
        look = watch.look(None)
        used_us = []
        for _ in range(ROUNDS):
            begin_s = time.process_time()
            for _ in range(asked.looks):
                time.sleep(EVERY_S)
                look = watch.look(None)
            used_us.append((time.process_time() - begin_s) / asked.looks * 1e6)
    used = ", ".join(f"{one:.0f}" for one in used_us)
    print(f"{used} us a look; {Path(sojourn.__file__).parent}")
    print(json.dumps({n: s.model_dump() for n, s in look.groups["web"].signals.items()}))
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-look.json"
    about = {**vars(asked), "load": os.getloadavg()[0], "cpus": len(cpus)}
    about["kernel"] = os.uname().release
    path.write_text(json.dumps({**about, "used_us": used_us}, indent=1))
    print(f"rows: {path.name}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--looks", type=int, default=100, help="of a round (100)")
    parser.add_argument("--connections", type=int, default=100, help="of the service (100)")
    parser.add_argument("--threads", type=int, default=8, help="of the service (8)")
    parser.add_argument("--code", default="this checkout", help="name of the version, for rows")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
