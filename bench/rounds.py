"""Rounds of one case: every tool in turn on the same server; and where their rows are stored."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import os
import platform
import random
import sys
from datetime import UTC, datetime
from pathlib import Path

from measure import Row, measure
from peers import Case, Peer
from servers import Served

TRIES = 2  # rounds that are run at most, over those that were asked for


def arguments(about: str | None, such_as: str) -> argparse.Namespace:
    """What a comparison is asked: how many rounds, how long a run, which cases.

    Args:
        about: what it is, for people.
        such_as: a piece of the name of a case.
    """
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=8, help="undisturbed runs of each tool and case (8)"
    )
    parser.add_argument("--seconds", type=int, default=4, help="length of a run, s (4)")
    parser.add_argument(
        "--only", default="", help=f"cases whose name holds this, such as {such_as}"
    )
    return parser.parse_args()


def interleaved(
    case: Case,
    taking_part: list[Peer],
    server: Served,
    asked: argparse.Namespace,
    order: random.Random,
) -> list[Row]:
    """Rows of a case: in each of `asked.rounds` every tool runs once, in random order.

    A round in which others used the CPUs is stored, does not count, and is run again.
    """
    rows: list[Row] = []
    clean = 0
    for number in range(asked.rounds * TRIES):
        if clean == asked.rounds:
            break
        turn = order.sample(taking_part, len(taking_part))
        ran = [row for peer in turn for row in attempt(case, peer, server, asked.seconds, number)]
        clean += not any(row.is_disturbed for row in ran)
        rows += ran
    return rows


def attempt(case: Case, peer: Peer, server: Served, seconds: int, number: int) -> list[Row]:
    """The row of one run, or none if it gave no reading; stderr says why."""
    try:
        row = measure(case, peer, server, seconds, number)
    except (RuntimeError, ValueError, KeyError, IndexError, StopIteration, OSError) as error:
        print(f"  {case.name} {peer.name}: no reading: {error}", file=sys.stderr)
        return []
    print(
        f"  {row.case} {row.peer}: {row.rps:.0f} rps, {row.cpu_us_per_request:.2f} µs CPU, "
        f"p99 {row.p99_us} µs, server {row.server_busy:.0%}, others {row.foreign_share:.1%}, "
        f"steal {row.steal_share:.1%} {'DISTURBED' if row.is_disturbed else ''} "
        f"{row.verdict[:60]}",
        file=sys.stderr,
    )
    return [row]


def keep(rows: list[Row], text: str, kind: str, about: str) -> Path:
    """Raw rows, summary and machine under bench/runs/<UTC time>-<n>cpu<kind>.

    `about` says what was counted, and of which programs.
    """
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    folder = Path(__file__).parent / "runs" / f"{stamp}-{os.cpu_count()}cpu{kind}"
    folder.mkdir(parents=True)
    with (folder / "raw.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in dataclasses.fields(Row)])
        writer.writeheader()
        writer.writerows(dataclasses.asdict(row) for row in rows)
    (folder / "summary.txt").write_text(text + "\n")
    (folder / "README.md").write_text(
        f"# Comparison of load generators\n\n`make bench`, {stamp}, Linux {platform.release()}, "
        f"{os.cpu_count()} CPUs, {cpu_model()}.\nServer on CPU 0, tool on CPU 1 with nice "
        f"-15. {about}\n"
    )
    return folder


def cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
