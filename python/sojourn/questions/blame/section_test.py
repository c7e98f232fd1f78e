"""Blame from made-up windows to answer, terminal and page."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sojourn import analysis, report, spec
from sojourn.analysis import Measured, StudyData
from sojourn.plan import Outcome, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import play
from sojourn.questions import PLANS, answers, parts
from sojourn.questions.blame import asks, judge
from sojourn.questions.blame.blames import Blames
from sojourn.questions.blame.files import (
    Blamed,
    BlameFile,
    ServedTable,
    SuspectTable,
    UseTable,
    Window,
    WindowTable,
)
from sojourn.questions.blame.plan import LEAST, PHASE, order
from sojourn.questions.blame.section import BlameShown
from sojourn.questions.blame.suspects import CLEARED, CPU, GUILTY, UNDECIDED
from sojourn.questions.blame.words import sentence
from sojourn.stats.interval import Interval

XZ, DISK = "noise:cpu@60%", "noise:disk@1MB/s"
BLOCKS = 8


def window(
    rng: np.random.Generator,
    block: int,
    stopped: frozenset[int],
    harm: float,
    members: int | None = None,
) -> Window:
    """Half a second; the first suspect multiplies every time by `harm` while it runs.

    `members`: processes that the second has.
    """
    runs = 0 not in stopped
    times = rng.exponential(4e4 * (harm if runs else 1.0) * rng.lognormal(0, 0.1), 900)
    wait_ns = int((20_000_000 if runs else 1_000_000) * rng.lognormal(0, 0.1))
    served = ServedTable(
        run_ns=50_000_000, wait_ns=wait_ns, disk_bytes=0, busy_ns=300_000_000, softirq_ns=0
    )
    used = [
        UseTable(cpu_ns=0 if n in stopped else 250_000_000, disk_bytes=0, members=count)
        for n, count in ((0, None), (1, members))
    ]
    window_table = WindowTable(
        block=block,
        stopped=sorted(stopped),
        from_ns=0,
        to_ns=400_000_000,
        applied_ns=1000,
        service=served,
        suspects=used,
    )
    return Window((0, block), stopped, times, 0.4, window_table)


def study_data(
    harm: float,
    *,
    verdict: Verdict = Verdict.HOLDS,
    spoil: int = 0,
    ended: int | None = None,
    is_seen_stopped: bool = False,
    look: Measured | None = None,
) -> StudyData:
    """The study with two suspects; `spoil` windows have a fate of their own.

    Args:
        harm: of the first suspect, times as long.
        verdict: of the runs.
        spoil: windows.
        ended: block from which on the second suspect has no processes.
        is_seen_stopped: it has some only where it is stopped, as one that works in bursts may.
        look: what the tracer saw.
    """
    texts = f'["{XZ}", "{DISK}"]'
    sets = [f"services.memcached.blame.neighbours={texts}"]
    of = spec.load("blame", profile="quick", overrides=sets, asks=PLANS.mistakes)
    of = of.model_copy(update={"factors": {}})
    rng = np.random.default_rng(4)

    def members(block: int, stopped: frozenset[int]) -> int | None:
        if is_seen_stopped:
            return int(1 in stopped)
        return None if ended is None else int(block < ended)

    windows = [
        window(rng, block, stopped, harm, members(block, stopped))
        for block, stopped in order(2, BLOCKS, 3)
    ]
    for n in range(spoil):
        windows[n] = replace(windows[n], sojourn_ns=windows[n].sojourn_ns * rng.lognormal(0, 2))
    names = [SuspectTable(name=name) for name in (XZ, DISK)]
    blamed = Blamed(file=BlameFile(suspects=names), windows=tuple(windows))

    def measured(outcome: Outcome) -> Measured:
        if outcome.point.phase is not PHASE:
            pids = {"python": (12, 34)}
            usual = look or Measured(
                outcome=outcome, culprits=("kswapd0", "python"), culprit_pids=pids
            )
            return replace(usual, outcome=outcome)
        why = ("client late",) if verdict is Verdict.UNKNOWN else ()
        return Measured(outcome=replace(outcome, verdict=verdict, reasons=why), own=blamed)

    return StudyData(
        study=of, measured=tuple(map(measured, play(of, imagine, PLANS))), questions=PLANS
    )


def test_the_guilty_is_named_with_resource_and_interval_and_the_other_is_cleared() -> None:
    result = analysis.study(study_data(20.0), answers())
    assert result.verdict is Verdict.VIOLATED, result.reasons
    section = result.services[0].section(Blames)
    assert section is not None
    assert [(row.word, row.resource) for row in section.rows] == [(GUILTY, CPU), (CLEARED, "")]
    assert re.match(
        r"memcached misses p99 ≤ 1 ms because of noise:cpu@60%, on the CPU: p99 [34]\.\d+ ms with "
        r"it and \d{3} µs with it stopped \(ratio \d\d, \d\d to \d\d\); "
        r"noise:disk@1MB/s cleared \([01]\.\d\d, 0\.\d\d to 1\.\d\d\)\.",
        result.answer,
    ), result.answer
    assert "Not suspected, but on its CPUs: kswapd0, python (pid 12, 34)." in result.answer
    assert section.strangers == ("kswapd0", "python"), "a suspect is named without its numbers"
    text = report.text(result, parts())
    assert "who is to blame" in text
    assert "all run against it stopped" in text


def test_where_the_target_is_met_no_one_is_to_blame() -> None:
    result = analysis.study(study_data(1.0), answers())
    assert result.verdict is Verdict.HOLDS, result.reasons
    assert result.answer.startswith("memcached meets p99 ≤ 1 ms: p99 ")
    assert "because" not in result.answer


@pytest.mark.parametrize(
    ("rest", "word"),
    [
        (None, "is not sure"),
        (Interval(lo=0.8e6, hi=2e6), "is not sure"),
        (Interval(lo=1.2e6, hi=2e6), "not theirs"),
    ],
)
def test_what_is_left_is_blamed_on_others_only_where_it_surely_misses(
    rest: Interval | None, word: str
) -> None:
    section = analysis.study(study_data(20.0), answers()).services[0].section(Blames)
    assert section is not None
    text = sentence(replace(section, rest_ns=1.5e6, rest=rest), "memcached")
    assert "With all suspects stopped" in text
    assert (word in text, "theirs" in text) == (True, word == "not theirs")
    assert "With all" not in sentence(replace(section, rest_ns=0.9e6, rest=rest), "memcached")


def test_without_a_bound_no_target_is_missed() -> None:
    section = analysis.study(study_data(20.0), answers()).services[0].section(Blames)
    assert section is not None
    of = replace(section, bound_ns=0.0)
    assert of.misses is None
    text = sentence(of, "memcached")
    assert text.startswith("memcached may miss a target for p99 that has no bound")
    assert "With all suspects stopped" not in text


def test_what_is_open_is_reported_and_how_to_settle_it() -> None:
    result = analysis.study(study_data(1.0, spoil=30), answers())
    section = result.services[0].section(Blames)
    assert section is not None
    assert UNDECIDED in {row.word for row in section.rows}
    assert section.settle is not None
    assert f"--set services.memcached.blame.blocks={4 * LEAST['quick']}" in section.settle.command


@pytest.mark.parametrize("valid", [1, BLOCKS])
def test_more_blocks_than_before_are_asked_for_however_few_were_believed(valid: int) -> None:
    data = study_data(1.0, spoil=30)
    asked = asks.of(data.study.services[0])
    assert asked is not None
    section = analysis.study(data, answers()).services[0].section(Blames)
    assert section is not None
    few = replace(section, blocks=valid)
    settle = judge._settle(few, data, data.study.services[0], asked)
    assert settle is not None
    assert int(settle.command.rpartition("=")[2]) == 4 * LEAST["quick"]
    # 39 blocks more of four windows, beside what the study took with its start and its look.
    took_s = sum(one.outcome.wall_s for one in data.measured)
    assert settle.seconds >= took_s + 3 * LEAST["quick"] * 4 * asked.window_ns / 1e9


def test_a_run_that_is_not_believed_gives_no_number() -> None:
    result = analysis.study(study_data(20.0, verdict=Verdict.UNKNOWN), answers())
    assert result.verdict is Verdict.UNKNOWN
    assert result.answer.startswith("memcached: who is to blame is unknown.")
    assert any("client late" in reason for reason in result.reasons)


def test_page_and_files_are_written(tmp_path: Path) -> None:
    pages = report.write(analysis.study(study_data(20.0), answers()), tmp_path, parts())
    page = next(path for path in pages if path.suffix == ".html").read_text(encoding="utf-8")
    assert "Each suspect, running and stopped" in page
    assert "The tail with each suspect and without it" in page


@pytest.mark.parametrize("ended", [0, 3])
def test_a_suspect_that_has_ended_is_not_cleared(ended: int) -> None:
    """Nothing that could be stopped was left of it: both states are the same."""
    section = analysis.study(study_data(20.0, ended=ended), answers()).services[0].section(Blames)
    assert section is not None
    guilty, gone = section.rows
    assert (guilty.word, gone.word) == (GUILTY, UNDECIDED)
    assert gone.doubt == f"it had ended: {ended} blocks are whole, 6 are needed"
    assert gone.stop.ratio is None


def test_windows_before_a_suspect_ended_count() -> None:
    section = analysis.study(study_data(20.0, ended=7), answers()).services[0].section(Blames)
    assert section is not None
    assert section.rows[1].stop.blocks == 7
    assert section.rows[0].stop.blocks == section.blocks == BLOCKS
    assert section.rows[1].doubt == ""


def test_a_suspect_that_works_in_bursts_has_not_ended_in_the_gaps() -> None:
    data = study_data(20.0, is_seen_stopped=True)
    section = analysis.study(data, answers()).services[0].section(Blames)
    assert section is not None
    assert section.rows[1].word == CLEARED
    assert section.rows[1].stop.blocks >= BLOCKS - 1  # in the last it may be stopped first


def looked(*, why: str = "", trust: Verdict = Verdict.HOLDS, sure: Verdict = Verdict.HOLDS) -> Any:
    """A look of the tracer, which saw waits for the disk; `trust`: in all of it."""
    seen = SimpleNamespace(about="the disk", kind="block_io", share=0.6, is_named=True, tids=())
    blame = SimpleNamespace(verdict=sure, reasons=("3 requests are too few",), suspects=(seen,))
    trace: Any = SimpleNamespace(
        blame=blame,
        verdict=SimpleNamespace(verdict=trust, reasons=("events were lost",)),
        is_only_slowed=False,
    )
    return Blamed(file=BlameFile(suspects=[SuspectTable(name="x")] * 2), trace=trace, why=why)


@pytest.mark.parametrize(
    ("verdict", "look", "why"),
    [
        (Verdict.HOLDS, looked(), ""),
        (Verdict.HOLDS, looked(sure=Verdict.UNKNOWN), "3 requests are too few"),
        (Verdict.HOLDS, looked(trust=Verdict.UNKNOWN), "events were lost"),
        (Verdict.HOLDS, looked(why="no BTF"), "no BTF"),
        (Verdict.UNKNOWN, looked(), "client late"),
    ],
)
def test_a_look_that_is_in_doubt_is_not_used_and_why_is_reported(
    verdict: Verdict, look: Blamed, why: str
) -> None:
    (outcome,) = [m.outcome for m in study_data(1.0).measured if m.outcome.point.phase is not PHASE]
    measured = Measured(outcome=replace(outcome, verdict=verdict, reasons=(why,)), own=look)
    assert judge._look_why(measured) == why
    assert bool(judge._traces([measured])) is not bool(why)
    assert list(judge._traced([measured])) == ([] if why else [("the disk", 0.6, True)])


def test_the_page_says_why_no_look_is_used() -> None:
    base = study_data(20.0).measured[0]
    look = replace(base, own=looked(sure=Verdict.UNKNOWN))
    result = analysis.study(study_data(20.0, look=look), answers())
    section = result.services[0].section(Blames)
    assert section is not None
    assert (section.traced, section.look_why) == ((), "3 requests are too few")
    assert all(row.traced_share is None for row in section.rows)
    notes = BlameShown().notes(result.services[0])
    assert "No look by the tracer is used: 3 requests are too few." in notes
