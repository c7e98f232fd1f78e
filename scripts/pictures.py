"""The pictures of the tutorial, from runs on this machine: docs/tutorial/*.svg.

    python scripts/pictures.py stall neighbour                  # a minute
    python scripts/pictures.py first-curve results/shop/…/…     # from the record of lesson 1

Each run is that of the lesson's own commands. Numbers differ from machine to machine; the shapes
do not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import altair as alt
import pandas as pd
import vl_convert

import sojourn
from sojourn import importers, programs
from sojourn.importers import estimates
from sojourn.stats.times import Times

TO = Path(__file__).parent.parent / "docs" / "tutorial"
SIZE = {"width": 520, "height": 240}
RATES = (500, 1000, 2000, 3000)  # requests/s of lesson 3
MS = 1e6
LEGEND = alt.Legend(orient="top", labelLimit=400)


@contextmanager
def server(*words: str) -> Iterator[str]:
    """A synthetic service; gives its address."""
    command = [str(programs.find("sojourn-serve")), "--protocol", "echo", "--mode", "sleep", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as made:
        assert made.stdout  # noqa: S101 - a pipe was asked for
        try:
            yield f"echo://127.0.0.1:{json.loads(made.stdout.readline())['port']}"
        finally:
            made.terminate()


def load(address: str, *words: str) -> Times:
    """All latencies of a run, those in outages of the client too."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "run.hlog"
        command = [str(programs.find("sojourn-load")), address, *words, "--hlog", str(log)]
        subprocess.run([*command, "--json", f"{folder}/run.json"], check=False, capture_output=True)
        _, series = importers.read(log)
    times = next(one for one in series if one.name == "all").times
    assert times is not None  # noqa: S101 - a log has them
    return times


def stall() -> alt.Chart:
    """Lesson 2: latency by share of requests, on an axis of nines."""
    loops = {
        "closed loop: sends when a reply came": ("--find-max", "--connections", "4"),
        "open loop: as users come": ("--rate", "2k", "--connections", "64"),
    }
    rows = []
    with server("--service", "exponential:100us", "--stall", "200ms/2s") as address:
        for name, words in loops.items():
            times = load(address, *words, "--duration", "6s")
            for nines in range(60):
                q = 1 - 10 ** (-nines / 15)
                if 0 < q < 1 - 10 / times.n:
                    rows.append({"loop": name, "1 in": 1 / (1 - q), "ms": times.quantile(q) / MS})
    shares = [2, 10, 100, 1000, 10_000]
    label = "'p' + format((1 - 1 / datum.value) * 100, datum.value > 100 ? '.2~f' : '.1~f')"
    return (
        alt.Chart(pd.DataFrame(rows), **SIZE)
        .mark_line(clip=True)
        .encode(
            x=alt.X("1 in", scale=alt.Scale(type="log", domain=[1.5, 10_000]), title="percentile")
            .axis(values=shares, labelExpr=label),
            y=alt.Y("ms", scale=alt.Scale(type="log"), title="latency, ms"),
            color=alt.Color("loop", title=None, legend=LEGEND),
        )
    )  # fmt: skip


def neighbour() -> alt.LayerChart:
    """Lesson 3: p99 with its interval, alone and beside a neighbour on every CPU."""
    rows = []
    with server("--service", "exponential:200us") as address:
        for name in ("alone", "beside a neighbour"):
            for rate in RATES:
                beside = noise() if name != "alone" else None
                words = ("--rate", str(rate), "--duration", "6s", "--connections", "64")
                try:
                    times = load(address, *words)
                finally:
                    if beside:
                        beside.terminate()
                        beside.wait()
                rows.append({"with": name, "rate": rate, **p99(times)})
    base = alt.Chart(pd.DataFrame(rows), **SIZE).encode(
        x=alt.X("rate", title="load, requests/s"),
        color=alt.Color("with", title=None, legend=LEGEND),
    )
    y = alt.Y("ms", scale=alt.Scale(type="log"), title="p99, ms")
    return base.mark_line(point=True).encode(y=y) + base.mark_rule().encode(y="lo", y2="hi")


def noise() -> subprocess.Popen[bytes]:
    """A neighbour that wants every CPU."""
    command = [str(programs.find("sojourn-noise")), "cpu", "--cpus", f"0-{cpus() - 1}"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def cpus() -> int:
    """As `nproc` counts them."""
    done = subprocess.run(["nproc"], capture_output=True, text=True, check=True)
    return int(done.stdout)


def p99(times: Times) -> dict[str, float]:
    """p99 and its 95 % interval, ms."""
    series = importers.Series(facts=importers.hdr_log.OWN, times=times)
    one = next(one for one in estimates.of(series) if one.q == 0.99)
    value = (one.value or 0) / MS
    if not one.interval:
        return {"ms": value, "lo": value, "hi": value}
    return {"ms": value, "lo": one.interval.lo / MS, "hi": one.interval.hi / MS}


def first_curve(record: str) -> alt.LayerChart:
    """Lesson 1: mean and p99 of each run of a record against its load."""
    points = sojourn.open(record).points.query("is_believed and offered_rps > 0")
    rows = [
        {"number": name, "rate": one.offered_rps, "ms": getattr(one, column) / MS}
        for one in points.itertuples()
        for name, column in (("p99", "p99_ns"), ("mean", "mean_ns"))
    ]
    base = alt.Chart(pd.DataFrame(rows), **SIZE).encode(
        x=alt.X("rate", title="load, requests/s"),
        y=alt.Y("ms", scale=alt.Scale(type="log"), title="latency, ms"),
        color=alt.Color("number", title=None, legend=LEGEND),
    )
    return (
        base.mark_point()
        + base.transform_loess("rate", "ms", groupby=["number"], bandwidth=0.8).mark_line()
    )


def main(words: list[str]) -> None:
    """Draw the pictures of these names."""
    while words:
        name = words.pop(0)
        chart = first_curve(words.pop(0)) if name == "first-curve" else PICTURES[name]()
        text = vl_convert.vegalite_to_svg(chart.configure_view(stroke=None).to_json())
        (TO / f"{name}.svg").write_text(text + "\n")


PICTURES = {"stall": stall, "neighbour": neighbour}

if __name__ == "__main__":
    main(sys.argv[1:])
