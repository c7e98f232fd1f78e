"""Every opening of every kind of study: short sentences, plain words, lines that fit."""

from __future__ import annotations

import re

import pytest

from sojourn.analysis.findings import Findings
from sojourn.report import figures, openings, testing
from sojourn.report.openings.opening import HEADLINE_MAX, SENTENCES_MAX, WORDS_MAX

#: A level as a study has it, which nobody but a study should have to read.
RAW = re.compile(r'="|\w+:\w+[,@=]\w|where=|policy=|(?<!\w)(nice|fifo|rr|slice|noise|batch):')
CASES = {"demo": testing.findings(), **testing.degenerate(), **testing.answers()}


def problems(findings: Findings, width: int = 80) -> list[str]:
    """What of an opening no reader should meet."""
    found = openings.of(findings, width)
    said = [found.headline, *found.sentences]
    bad = [f"raw level: {one}" for one in (*said, *found.text) if RAW.search(one)]
    bad += [f"long: {one}" for one in found.sentences if len(one.split()) > WORDS_MAX]
    bad += [f"two in one: {one}" for one in found.sentences if re.search(r"[.!?] [A-Z]", one)]
    bad += [f"no end: {one}" for one in found.sentences if not one.endswith(".")]
    bad += [f"wide: {line}" for line in found.text if len(line) > width]
    if not 0 < len(found.headline) <= HEADLINE_MAX:
        bad.append(f"headline: {found.headline}")
    if len(found.sentences) > SENTENCES_MAX:
        bad.append(f"{len(found.sentences)} sentences")
    return bad


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_first_is_short_and_plain(case: str) -> None:
    assert problems(CASES[case]) == []


@pytest.mark.parametrize("case", CASES)
def test_the_figures_that_it_names_are_drawn_or_missing_with_a_reason(case: str) -> None:
    findings = CASES[case]
    names = {f.name for f in figures.of_study(findings)}
    names |= {f.name for s in findings.services for f in figures.of_service(s)}
    kind = next(kind for kind in openings.KINDS.values() if kind.applies(findings))
    if kind.name != "plain":
        assert set(openings.of(findings).figures) <= names


def test_the_last_kind_opens_whatever_no_other_does() -> None:
    assert list(openings.KINDS)[-1] == "plain"
    assert openings.KINDS["plain"].applies(testing.degenerate()["no services"])


def test_a_raw_level_and_a_long_sentence_are_found() -> None:
    """So that the checks above can fail."""
    assert RAW.search('neighbour = "batch:xz,where=server,policy=idle"')
    assert RAW.search("memcached nice:-20")
    assert not RAW.search("xz on the same CPU as SCHED_IDLE: 30 % load at 14:03")
