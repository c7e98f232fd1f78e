"""What levels of factors do: ratios as dots with intervals; what each costs, or could be seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn import units
from sojourn.findings.findings import Findings
from sojourn.report import dot_rows, labels, numbers, ratios, show
from sojourn.report.figures import effects
from sojourn.report.openings.opening import HEADLINE_MAX, Opening, Opens, fitting, sentence
from sojourn.report.ratios import Kind, Ratio
from sojourn.spec.levels import short
from sojourn.text.cut import middle

NAMED_MAX = 3
NAME_MIN = 12  # characters of a level's name in the headline, at least
PLACE = "place"
NOTHING = "No level was shown to make a difference"


class Settings(Opens):
    """A study with factors that no other question speaks for."""

    name = "settings"
    place = 140

    def applies(self, findings: Findings) -> bool:
        """Where some level could be compared with another."""
        return any(one.effect.interval for one in ratios.ratios_of(findings))

    def opening(self, findings: Findings, width: int) -> Opening:
        """The strongest difference first; of the others once that none was shown."""
        result = ratios.ratios_of(findings)
        return Opening(
            headline=headline(result),
            sentences=tuple(sentences(findings, result))[:3],
            figures=(effects.NAME,),
            text=tuple(lines(result, width)),
        )


def headline(results: Sequence[Ratio]) -> str:
    """The level that does most, with both of its numbers if they fit."""
    strong = strongest(results)
    if not strong:
        return _unseen(results)
    both = [one for one in strong if one.name == strong[0].name]
    first = f"{strong[0].name}: {_short(strong[0])}"
    whole = f"{strong[0].name}: {', '.join(map(_short, both[:2]))}"
    name = middle(strong[0].name, max(HEADLINE_MAX - len(_short(strong[0])) - 2, NAME_MIN))
    return fitting(whole, first, f"{name}: {_short(strong[0])}")


def strongest(results: Sequence[Ratio]) -> list[Ratio]:
    """Differences that were shown, tails before rates, the largest first; doubted ones last."""
    return sorted(
        (one for one in results if one.is_shown),
        key=lambda one: (bool(one.effect.doubt), ratios.rank(one.effect.what), -_size(one)),
    )


def _size(one: Ratio) -> float:
    """How far it surely is from 1, as a factor."""
    ends = one.effect.interval
    return max(ends.lo, 1 / ends.hi) if ends and ends.hi > 0 else 1.0


def _short(one: Ratio) -> str:
    """`p99 2.0 times as long`, `max RPS 46 % lower`."""
    what = one.effect.what.partition(" at ")[0].removeprefix("the ")
    ends, ratio = one.effect.interval, one.effect.ratio or 1.0
    if one.kind is Kind.BOUNDED and ends:
        return f"{what} {one.words} times"
    if one.effect.is_time or ratio >= 2:
        return f"{what} {numbers.ratio(ratio, ends).partition(' (')[0]} times"
    change = numbers.share(ratio, ends).partition(" (")[0]
    return f"{what} {change} {'lower' if ratio < 1 else 'higher'}"


def _unseen(results: Sequence[Ratio]) -> str:
    """Of what size a difference would have been seen, whichever level makes it."""
    what = ratios.whats(results)[0]
    limit = numbers.factor(max(known)) if (known := seen_from(results, what)) else ""
    name = what.partition(" at ")[0].removeprefix("the ")
    form = f"{name}: no difference above {limit} was seen"
    return form if limit and len(form) <= HEADLINE_MAX else NOTHING


def seen_from(results: Sequence[Ratio], what: str) -> list[float]:
    """The factor from which on a difference of a number can be seen in this time, by level.

    Levels of which no difference was shown come alone, where there are any.
    """
    own = [one for one in results if one.effect.what == what and one.effect.interval]
    return [
        max(numbers.visible(one.effect.interval), one.effect.noise_gate or 1.0)
        for one in [one for one in own if not one.is_shown] or own
        if one.effect.interval
    ]


def sentences(findings: Findings, results: Sequence[Ratio]) -> Iterator[str]:
    """What was shown, of what nothing was shown, and what could have been seen."""
    strong = strongest(results)
    if strong:
        yield _does(strong)
    yield from _others(strong, results)
    yield _time(findings, results)


def _does(strong: Sequence[Ratio]) -> str:
    """What the strongest level does to each number of which a difference was shown."""
    first = strong[0]
    own = [one for one in strong if (one.name, one.base) == (first.name, first.base)]
    is_place = short(first.key) == PLACE
    beside = "" if first.name.endswith((" on", " off")) else f" {labels.than(first.base)}"
    level, of = _parted(first)
    start = f"{of}{'in a' if is_place else 'with'} {level}, "
    texts = [_phrase(one, beside if n == 0 else "") for n, one in enumerate(own[:2])]
    return sentence(
        f"{start}{' and '.join(texts)}", f"{start}{texts[0]}", f"{start}{_phrase(first, '')}"
    )


def _in_list(one: Ratio) -> str:
    """`gzip on`, or `gzip on (nginx)` where there are several services."""
    level, of = _parted(one)
    return f"{level} ({one.service})" if of else level


def _parted(one: Ratio) -> tuple[str, str]:
    """A level, and what leads to its service where the names have that."""
    start = f"{one.service}, "
    if one.service and one.name.startswith(start):
        return one.name.removeprefix(start), f"for {one.service} "
    return one.name, ""


def _phrase(one: Ratio, beside: str) -> str:
    """`p99 at 60 % load is 2.0 times (1.2–3.3) as long as with 1 thread`."""
    what, how = one.effect.what, "as long" if one.effect.is_time else "as high"
    if one.kind is Kind.BOUNDED:
        return f"{what} is {one.words} times {how}{beside}"
    number, _, ends = one.words.partition(" ")
    return f"{what} is {number} times {ends} {how}{beside}"


def _others(strong: Sequence[Ratio], results: Sequence[Ratio]) -> Iterator[str]:
    """What else was shown, or else of whom nothing was, once."""
    shown = list(dict.fromkeys(map(_in_list, strong)))
    known = (_in_list(one) for one in results if one.effect.interval)
    open_ = list(dict.fromkeys(name for name in known if name not in shown))
    if not shown[1:] and not open_:
        return
    forms = []
    for most in (NAMED_MAX, 1, 0):
        more = f"{_few(shown[1:], most)} also made a difference" if shown[1:] else ""
        none = f"of {_few(open_, most)} no difference was shown" if open_ else ""
        forms.append("; ".join(filter(None, (more, none))))
    yield sentence(*forms)


def _few(names: Sequence[str], most: int) -> str:
    """The first names; without any, how many there are."""
    if not most:
        return f"{len(names)} level{'' if len(names) == 1 else 's'}"
    return show.listed(names, most)


def _time(findings: Findings, results: Sequence[Ratio]) -> str:
    """What this time could show: `In 3 min this study could see a factor of 1.9 of p99`."""
    limits = [(what, seen_from(results, what)) for what in ratios.whats(results)]
    texts = [
        f"{numbers.factors(min(limit), max(limit))} of {what.partition(' at ')[0]}"
        for what, limit in limits
        if limit
    ]
    start = f"In {units.show_s(findings.wall_s)} only differences above"
    return sentence(
        f"{start} {' or '.join(texts[:2])} can be seen", f"{start} {texts[0]} can be seen"
    )


def lines(results: Sequence[Ratio], width: int) -> Iterator[str]:
    """The same picture as text: a block of rows for each number."""
    for n, what in enumerate(ratios.whats(results)):
        own = [one for one in results if one.effect.what == what]
        if n:
            yield ""
        how = "times as long" if own[0].effect.is_time else "times as high"
        yield f"{what}, {how}; │ is 1, ░ what equal runs differ by"[:width]
        yield from dot_rows.lines([_row(one) for one in own], width)


def _row(one: Ratio) -> dot_rows.Row:
    ends = one.effect.interval
    return dot_rows.Row(
        name=one.name,
        at=one.effect.ratio if ends else None,
        lo=ends.lo if ends else None,
        hi=ends.hi if ends else None,
        words=one.words,
        sign="shown" if one.is_shown else "open",
        floor=one.effect.noise_gate,
    )


KIND = Settings()
