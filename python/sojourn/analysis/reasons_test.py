"""Every check has its three words, and a reason keeps its amount."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sojourn.analysis import reasons

CHECKS = Path(__file__).parents[3] / "crates/load/src/judge/selfcheck"
STOPPED = (
    "client stopped: the client did not run for 47.5 ms in 28 outages, the longest 4.05 ms: "
    "2.37 % of the time, 1.00 % may be (steal 0.4 %); use a quieter host or CPUs of its own"
)


def test_every_check_of_the_generator_has_its_words() -> None:
    named = {
        name
        for file in CHECKS.glob("*.rs")
        for name in re.findall(r'^    name: "([^"]+)",', file.read_text("utf-8"), re.MULTILINE)
    }
    assert len(named) > 10
    assert named <= set(reasons.KINDS)


@pytest.mark.parametrize("name", reasons.KINDS)
def test_words_are_few_and_hold_with_any_amount(name: str) -> None:
    assert len(reasons.KINDS[name].words.split()) <= 3
    text = f"{name}: it was 99.99 % of 1 s, 1.0 % may be; do something"
    assert reasons.topic(text) == name
    assert reasons.short(text).startswith(reasons.KINDS[name].words)
    assert len(reasons.short(text)) <= reasons.WORDS_MAX


def test_the_amount_is_the_first_share_of_the_reason() -> None:
    assert reasons.share(STOPPED) == pytest.approx(0.0237)
    assert reasons.short(STOPPED) == "client stopped 2.4 %"
    others = "server disturbed: other processes used 12.3% of the time of the server's CPUs"
    assert reasons.short(others) == "others ran 12 %"
    assert reasons.share("timely: 95.67 % of requests were sent in time") is None


def test_a_sentence_of_its_own_is_cut_to_its_length() -> None:
    assert reasons.short("x" * 80) == "x" * 23 + "…"
    assert reasons.short("neighbour batch:xz did not hold its intensity: 3 of 5") == (
        "neighbour not held"
    )
    unseen = (
        "neighbour fio did not hold its intensity: it finished no piece of work within the load"
    )
    assert reasons.short(unseen) == "neighbour's pace unknown"
    none = "requests: no request was due in the measured part; raise rate or duration"
    assert reasons.short(none) == "run too short"
    few = "rate: the plan is 66.67 % above the rate asked for, 50.00 % may be; measure longer"
    assert reasons.short(few) == "run too short", "by chance, so no rate helps"
    late = "rate: requests were issued at a rate 2.10 % below the plan's, 1.00 % may be; lower it"
    assert reasons.short(late) == "rate was off 2.1 %"
    assert reasons.short("requests: all 9 requests fell into outages") == "all requests excluded"
    assert reasons.short("smt not in force: on was set, but it is off") == "setting not applied"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("replies: 2.5 % of replies were misses or had a wrong body", "wrong replies 2.5 %"),
        ("replies: 31.3 % of requests failed (see errors), 1 % may", "requests failed 31 %"),
        ("replies: no request succeeded (see errors)", "no request succeeded"),
        ("replies: overload: no request of the measured part had its turn", "queue grows"),
    ],
)
def test_requests_without_a_reply_are_not_wrong_replies(reason: str, words: str) -> None:
    assert reasons.short(reason) == words


def test_a_shield_is_advised_only_where_the_run_says_that_it_can_be_had() -> None:
    why = "server disturbed: other processes used 9.0% of the time of the server's CPUs; end them, "
    plain, free = (
        reasons.about(why + end) for end in ("or give it more", "or run with --shield priority")
    )
    assert plain
    assert free
    assert "--shield" not in plain.action
    assert "--shield priority" in free.action
    assert reasons.short(why + "or run with --shield priority") == "others ran 9 %"
    assert not any("--shield" in kind.action for kind in reasons.KINDS.values())


def test_the_fix_gives_way_to_the_action_and_stays_where_there_is_none() -> None:
    assert reasons.sentence(STOPPED).endswith("1.00 % may be (steal 0.4 %)")
    assert reasons.sentence("odd thing: it failed; look at it") == "it failed; look at it"
    assert reasons.sentence("nothing was answered") == "nothing was answered"
