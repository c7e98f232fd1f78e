"""Who is to blame, on which resource: suspects ranked, guilty, cleared and undecided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings
from sojourn.questions.blame import figure
from sojourn.questions.blame.blames import Blames
from sojourn.questions.blame.figure import Accused
from sojourn.questions.blame.suspects import GUILTY, UNDECIDED
from sojourn.report import dot_rows, numbers, show
from sojourn.report.openings.opening import Opening, Opens, an, fitting, sentence

NAMED_MAX = 3


class Blame(Opens):
    """Suspects that were stopped by turns."""

    name = "blame"
    place = 90

    def applies(self, findings: Findings) -> bool:
        """Where the study asks who is to blame."""
        return any(service.section(Blames) for service in findings.services)

    def opening(self, findings: Findings, width: int) -> Opening:
        """The guilty first, then who is cleared, then who is open."""
        suspects = figure.accused(findings)
        return Opening(
            headline=headline(findings, suspects),
            sentences=tuple(sentences(findings, suspects))[:3],
            figures=(figure.NAME,),
            text=tuple(lines(suspects, width)),
        )


def headline(findings: Findings, suspects: Sequence[Accused]) -> str:
    """`cpu at 60 % is guilty, on the CPU: p99 23 times`."""
    guilty = of_word(suspects, GUILTY)
    if not guilty:
        is_open = of_word(suspects, UNDECIDED) or not suspects
        return "Who is to blame is undecided" if is_open else "No suspect is to blame"
    names = list(dict.fromkeys(one.name for one in guilty))
    first = guilty[0]
    on = f", on {first.row.resource}" if first.row.resource else ""
    number = _number(first).partition(" (")[0]
    alone = f"{first.name} is guilty{on}"
    if len(names) > 1:
        return fitting(
            f"Guilty: {show.listed(names, NAMED_MAX)}", f"Guilty: {show.listed(names, 1)}"
        )
    return fitting(
        f"{alone}: {figure.tail(findings)} {number} times", alone, f"{first.name} is guilty"
    )


def of_word(suspects: Sequence[Accused], word: str) -> list[Accused]:
    """Those of a verdict, as ranked."""
    return [one for one in suspects if one.row.word == word]


def sentences(findings: Findings, suspects: Sequence[Accused]) -> Iterator[str]:
    """Who harms and how much; who is cleared; who is open."""
    guilty, tail = of_word(suspects, GUILTY), figure.tail(findings)
    if guilty:
        first = guilty[0]
        number, bracket, ends = _number(first).partition(" (")
        on = f", on {first.row.resource}" if first.row.resource else ""
        how = "alone" if first.row.is_hidden else "running"
        start = f"With {an(first.name)} {how}, {tail}"
        sure = f"{bracket}{ends}"
        yield sentence(
            f"{start} of {first.service} is {number} times{sure} as long as with it stopped{on}",
            f"{start} is {number} times{sure} as long{on}",
        )
    others = list(dict.fromkeys(one.name for one in guilty[1:] if one.name != guilty[0].name))
    cleared = figure.cleared_of_all(suspects)
    open_ = list(dict.fromkeys(one.name for one in of_word(suspects, UNDECIDED)))
    texts = [
        f"{show.listed(others, NAMED_MAX)} {_are(others)} guilty too" if others else "",
        f"{show.listed(cleared, NAMED_MAX)} {_are(cleared)} cleared" if cleared else "",
    ]
    if any(texts):
        yield sentence("; ".join(filter(None, texts)), next(filter(None, texts)))
    if open_:
        why = _why(suspects)
        yield sentence(
            f"{show.listed(open_, NAMED_MAX)} {_are(open_)} undecided: {why}",
            f"{show.listed(open_, 1)} {_are(open_)} undecided: {why}",
        )
    elif target := _target(findings):
        yield target


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _why(suspects: Sequence[Accused]) -> str:
    """Why they are open: what is in doubt, else what their widest interval could have shown."""
    open_ = of_word(suspects, UNDECIDED)
    doubts = {one.name: one.row.doubt.partition(":")[0] for one in open_ if one.row.doubt}
    if doubts:
        name, why = next(iter(doubts.items()))
        return why if len({one.name for one in open_}) == 1 else f"of {name}, {why}"
    limits = [
        numbers.visible(each.interval)
        for one in open_
        for each in (one.row.stop, one.row.alone)
        if each and each.interval
    ]
    if not limits:
        return "too few requests to compare"
    return f"only changes above {numbers.factor(max(limits))} can be seen in this time"


def _target(findings: Findings) -> str:
    """Whether the target is missed at all."""
    known = [s for service in findings.services if (s := service.section(Blames))]
    missed = sum(section.misses is True for section in known)
    stored = sum(section.misses is False for section in known)
    if not known or missed + stored == 0:
        return ""
    bound = f"{show.quantile(known[0].q)} ≤ {show.time(known[0].bound_ns)}"
    if len(known) == 1:
        return sentence(f"the target {bound} is {'missed' if missed else 'held'} as it is")
    return sentence(f"the target {bound} is missed in {missed} of {len(known)} conditions")


def _number(one: Accused) -> str:
    return figure.ratio_words(one, "unknown")


def lines(suspects: Sequence[Accused], width: int) -> Iterator[str]:
    """A row for each suspect, the guiltiest first; who is cleared of all conditions has one."""
    yield "tail with it running over the tail with it stopped; │ is 1"[:width]
    rows = [_row(one, name) for name, one in figure.rows(suspects)]
    yield from dot_rows.lines(rows, width)


def _row(one: Accused, name: str) -> dot_rows.Row:
    report, word = one.row.comparison, one.row.word
    on = f", {one.row.resource.removeprefix('the ')}" if one.row.resource else ""
    ends = report.interval
    return dot_rows.Row(
        name=name,
        at=report.ratio if ends else None,
        lo=ends.lo if ends else None,
        hi=ends.hi if ends else None,
        words=f"{word}{on}  {_number(one)}",
        sign="open" if word == UNDECIDED else "shown",
    )


KIND = Blame()
