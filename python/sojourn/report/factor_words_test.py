"""What a factor does in sentences, levels by their labels."""

from __future__ import annotations

from dataclasses import replace

from sojourn.plan.setting import NEIGHBOUR
from sojourn.report import factor_words, factors, headline
from sojourn.report.openings import testing_settings as of
from sojourn.report.openings.opening import WORDS_MAX, words

HOG, CACHE, DISK = (f'"noise:{name}@75%,where=free"' for name in ("cpu", "l1d", "disk"))
JOIN = f"p99 at 60 % load is 2.3 times as long with neighbour = {HOG} as with none."
BESIDE = replace(
    of.factor(
        NEIGHBOUR,
        "neighbour",
        ("none", HOG, CACHE, DISK),
        of.effect(HOG, 2.3, 1.9, 2.9, base="none"),
        of.effect(CACHE, 1.0, 0.9, 1.2, base="none"),
        of.effect(DISK, None, base="none"),
        service="memcached",
    ),
    sentence=JOIN,
)


def test_a_join_of_findings_becomes_sentences() -> None:
    text = factor_words.sentences(BESIDE)
    assert text == [
        (
            "p99 at 60 % load of memcached is 2.3 times (1.9–2.9) as long beside a CPU hog at 75 %"
            " as alone."
        ),
        "In 1 of 3 comparisons no difference was shown.",
        "1 of 3 comparisons is unknown: no block has valid runs.",
    ]
    assert all(words(one) <= WORDS_MAX for one in text)


def test_a_short_sentence_stays_as_the_analysis_made_it() -> None:
    plain = replace(BESIDE, sentence="p99 is 1.8 times as long with threads = 2 as with 1.")
    assert factor_words.sentences(plain) == [plain.sentence]


def test_no_difference_is_reported_once_for_many_levels() -> None:
    levels = [f'"noise:cpu@{n}%"' for n in range(10, 40)]
    calm = [of.effect(level, 1.0, 0.9, 1.2, base="none") for level in levels]
    text = factor_words.sentences(replace(BESIDE, levels=("none", *levels), effects=tuple(calm)))
    assert text == ["In 30 of 30 comparisons no difference was shown."]


def test_page_and_terminal_say_it_in_these_sentences() -> None:
    findings = replace(of.of_factors(BESIDE), answer=f"memcached: {JOIN}")
    assert JOIN not in headline.answer(findings)
    assert factor_words.sentences(BESIDE)[0] in headline.beneath(findings)
    for width in (60, 80):
        lines = list(factors.lines([BESIDE], width))
        assert max(map(len, lines)) <= width
        assert "CPU hog at 75 % to alone:" in lines
        assert "noise:" not in "\n".join(lines)
