"""What opens ratios of levels: whole sentences, and no contradiction."""

from __future__ import annotations

import re

from sojourn.report import numbers, openings, ratios
from sojourn.report.openings import testing_settings as of
from sojourn.report.openings.opening import HEADLINE_MAX, WORDS_MAX, words
from sojourn.report.openings.settings import seen_from

LONG = "services.nginx.params.some_rather_long_parameter_name_{}"


def many(ratio: float = 3.0) -> openings.Opening:
    """Fourteen levels with long names; every third shows nothing."""
    factors = []
    for n in range(14):
        wide = 3.0 if n % 3 == 0 else 1.1
        one = of.effect("true", ratio, ratio / wide / (ratio if wide > 2 else 1), ratio * wide)
        factors.append(of.factor(LONG.format(n), f"p{n}", ("false", "true"), one))
    return openings.of(of.of_factors(*factors))


def test_a_sentence_about_many_levels_counts_them_and_is_not_cut() -> None:
    second = many().sentences[1]
    assert second == "8 levels also made a difference; of 5 levels no difference was shown."


def test_a_headline_names_its_level_whatever_room_there_is() -> None:
    headline = many(3.33e4).headline
    assert len(headline) <= HEADLINE_MAX
    assert re.match(r"some rather .* \d+ on: p99 ", headline)


def test_what_could_be_seen_covers_every_level_of_which_nothing_was_shown() -> None:
    findings = of.settings()
    results = ratios.ratios_of(findings)
    tail = ratios.whats(results)[0]
    limits = seen_from(results, tail)
    open_ = [r for r in results if r.effect.what == tail and not r.is_shown]
    assert len(limits) == len(open_) == 2
    last = openings.of(findings).sentences[-1]
    assert last == (
        "In 2 min 51 s only differences above 10 % to a factor of 17 of p99 can be seen."
    )
    for one in open_:  # what a row says lies within what the sentence says
        assert one.effect.interval
        assert numbers.visible(one.effect.interval) <= max(limits)


def test_no_difference_above_the_largest_limit_was_seen() -> None:
    calm = of.effect("true", 1.0, 0.97, 1.03)
    wide = of.effect("true", 2.02, 0.12, 34.1)
    findings = of.of_factors(
        of.factor(of.GZIP, "gzip", ("false", "true"), calm),
        of.factor(LONG.format(1), "x", ("false", "true"), calm),
        of.factor(LONG.format(2), "y", ("false", "true"), wide),
    )
    assert openings.of(findings).headline == "p99: no difference above a factor of 17 was seen"


def test_a_tiny_difference_that_was_shown_is_not_none() -> None:
    tail = of.effect("true", 1.0004, 1.0002, 1.0006)
    peak = of.effect("true", 0.9996, 0.9993, 0.9999, what=of.PEAK)
    opening = openings.of(of.of_factors(of.factor(of.GZIP, "gzip", ("false", "true"), tail, peak)))
    assert opening.headline == "gzip on: p99 1.0004 times, max RPS 0.04 % lower"
    assert "1.000 " not in " ".join(opening.sentences)


def test_of_several_services_a_sentence_names_the_one() -> None:
    threads = of.factor(
        "services.memcached.params.threads",
        "threads",
        ("1", "4"),
        of.effect("4", 0.5, 0.4, 0.6, base="1"),
        service="memcached",
    )
    gzip = of.factor(of.GZIP, "gzip", ("false", "true"), of.effect("true", 1.97, 1.19, 3.27))
    first, second, *_ = openings.of(of.of_factors(gzip, threads)).sentences
    assert first.startswith("For memcached with 4 threads, p99 at 60 % load is 0.50 times ")
    assert second == "Gzip on (nginx) also made a difference."


def test_a_trend_without_a_step_is_so_many_times_as_long() -> None:
    (text,) = openings.of(of.trends("unclear")).sentences
    assert text.endswith("in all it is 4.2 times (3.1–5.6) as long.")
    assert words(text) <= WORDS_MAX
