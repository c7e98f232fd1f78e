"""Which requests are lost on servers as they come, beside Go's own HTTP client at the same load.

Usage: bench/wire/usual/setup && .venv/bin/python bench/losses.py [--rounds 1] [--only nginx]

Each case is a real server that ends connections or replies in one of its own ways: idle time-outs,
so many requests a connection or a worker, reloads, GOAWAY, bodies without a length. Both clients
offer the same open load, one after the other, on a server of its own. A case is right if ours loses
no more requests than Go's. Servers that are not there are left out, and named. Prints a table; exit
1 if a case is wrong. Raw rows are kept under bench/runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from wire.endpoints import BIN
from wire.usual import servers
from wire.usual.cases import CASES, Case

OURS, GO = "sojourn-load", "Go"
RUNS = Path(__file__).parent / "runs"
LAST_S = 30.0  # beyond the load's own length


@dataclass(frozen=True, slots=True)
class Row:
    """What one client lost in one run.

    Attributes:
        lost: requests that were not answered as they should be, by the client's own word.
        sent_again: of ours, how often a request went to a second connection.
        said: notes and reasons of ours.
    """

    case: str
    scheme: str
    client: str
    round: int
    requests: int
    lost: Mapping[str, int]
    sent_again: int = 0
    reconnects: int = 0
    said: tuple[str, ...] = field(default=())

    @property
    def count(self) -> int:
        return sum(self.lost.values())


def ours(case: Case, scheme: str, port: int, number: int) -> Row:
    path = "/demo.Greeter/Say" if scheme == "grpc" else case.path
    words = ["sojourn-load", f"{scheme}://127.0.0.1:{port}{path}", "--insecure", "--allow-empty"]
    words = [word for word in words if scheme in servers.SECURE or word != "--insecure"]
    words += [
        "--rate",
        str(case.load.rate),
        "--duration",
        f"{case.load.seconds}s",
        "--warmup",
        "0s",
    ]
    words += ["--connections", str(case.load.connections), "--timeout", "5s", "--drain", "6s"]
    words += ["--outage-over", "10s", "--timely-within", "1s", "--json", "-"]
    if scheme == "grpc":
        words.remove("--allow-empty")
    else:
        words += ["--method", case.method, "--expect-status", str(case.status)]
        words += ["--body", "x" * case.body] if case.body else []
        words += [
            word for line in filter(None, case.header.split("|")) for word in ("--header", line)
        ]
    done = _run(words, case)
    if not done.stdout:
        raise RuntimeError(done.stderr[-400:])
    result = json.loads(done.stdout)
    checks = result["checks"]
    return Row(
        case.name,
        scheme,
        OURS,
        number,
        result["requests"],
        result["errors"],
        checks["sent_again"],
        checks["reconnects"],
        (*result["reasons"], *result["notes"]),
    )


def go(case: Case, scheme: str, port: int, number: int) -> Row:
    secure = "https" if scheme in servers.SECURE else "http"
    path = "/demo.Greeter/Say" if scheme == "grpc" else case.path
    words = [str(BIN / "openloop"), "-url", f"{secure}://127.0.0.1:{port}{path}"]
    words += [
        "-rate",
        str(case.load.rate),
        "-seconds",
        str(case.load.seconds),
        "-header",
        case.header,
    ]
    words += ["-connections", str(case.load.connections), "-body", str(case.body)]
    words += ["-method", "POST" if scheme == "grpc" else case.method, "-status", str(case.status)]
    words += {"h2": ["-h2"], "h2c": ["-h2c"], "grpc": ["-h2c", "-grpc"]}.get(scheme, [])
    done = _run(words, case)
    if done.returncode:
        raise RuntimeError(done.stderr[-400:])
    result = json.loads(done.stdout)
    return Row(case.name, scheme, GO, number, result["requests"], result["lost"])


def _run(words: list[str], case: Case) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, check=False, capture_output=True, text=True, timeout=case.load.seconds + LAST_S
    )


def attempt(
    client: Callable[[Case, str, int, int], Row], case: Case, scheme: str, number: int
) -> Row:
    """One client's run on a server of its own, which loads its configuration again if it is to."""
    with servers.started(case.server, scheme, case.settings) as running:
        times = [case.load.seconds * part for part in (0.3, 0.6)] if case.reloads else []
        timers = [threading.Timer(at, running.reload) for at in times]
        for timer in timers:
            timer.start()
        try:
            return client(case, scheme, running.port, number)
        finally:
            for timer in timers:
                timer.cancel()
                timer.join()


def collect(asked: argparse.Namespace, path: Path) -> tuple[list[Row], list[str]]:
    """All rows, each kept as it comes, and what could not be run."""
    rows: list[Row] = []
    left: list[str] = []
    for case in CASES:
        if not servers.SERVERS[case.server][1].exists():
            left.append(f"{case.name}: not installed (bench/wire/usual/setup)")
            continue
        for scheme in case.schemes:
            for number in range(asked.rounds if asked.only in f"{case.name} {scheme}" else 0):
                for result in (_one(client, case, scheme, number) for client in (go, ours)):
                    if isinstance(result, str):
                        left.append(result)
                        continue
                    rows.append(result)
                    with path.open("a") as file:
                        file.write(json.dumps(asdict(result)) + "\n")
    return rows, left


def _one(
    client: Callable[[Case, str, int, int], Row], case: Case, scheme: str, number: int
) -> Row | str:
    """The row of one run, or why there is none."""
    try:
        row = attempt(client, case, scheme, number)
    except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
        return f"{case.name}, {scheme}, {client.__name__}: {error}"
    lost = f"{dict(row.lost) or 'none'} lost of {row.requests}, {row.sent_again} sent again"
    print(f"  {row.case}, {scheme}, {row.client}: {lost}", file=sys.stderr)
    return row


def table(rows: list[Row]) -> tuple[str, bool]:
    """The table, and whether every case is right."""
    lines = [f"{'case':52} {'scheme':6} {'Go':>12} {'ours':>12} {'again':>6}  right"]
    is_right = True
    for case, scheme in dict.fromkeys((row.case, row.scheme) for row in rows):
        own = [row for row in rows if (row.case, row.scheme) == (case, scheme)]
        of = {who: [row for row in own if row.client == who] for who in (GO, OURS)}
        if not all(of.values()):
            continue
        lost = {who: sum(row.count for row in of[who]) for who in of}
        asked = {who: sum(row.requests for row in of[who]) for who in of}
        is_as_good = lost[OURS] <= lost[GO]
        is_right &= is_as_good
        cells = [f"{lost[who]}/{asked[who]}" for who in (GO, OURS)]
        again = sum(row.sent_again for row in of[OURS])
        lines.append(
            f"{case:52} {scheme:6} {cells[0]:>12} {cells[1]:>12} {again:6}  "
            f"{'yes' if is_as_good else 'NO'}"
        )
    return "\n".join(lines), is_right


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=1, help="runs of each case and client (1)")
    parser.add_argument("--only", default="", help="cases whose name and scheme hold this")
    asked = parser.parse_args()
    programs = os.environ.get("SOJOURN_BIN") or Path(sys.executable).parent
    os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = RUNS / f"{stamp}-losses"
    folder.mkdir()
    rows, left = collect(asked, folder / "rows.jsonl")
    text, is_right = table(rows)
    text = "\n".join([text, *(f"left out: {line}" for line in left)])
    about = f"Linux {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    (folder / "summary.txt").write_text(f"{about}\n{text}\n")
    print(text, f"\nkept in {folder}", sep="\n")
    return 0 if is_right and rows else 1


if __name__ == "__main__":
    raise SystemExit(main())
