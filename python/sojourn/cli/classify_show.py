"""What `sojourn classify` prints of a record: its services, the truth if known, the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.cli.draw import escape
from sojourn.cli.models_show import print_table
from sojourn.units import show_count

if TYPE_CHECKING:
    from rich.console import Console

    from sojourn.models.classify import Answer, Class
    from sojourn.models.classify.evidence import Ends
    from sojourn.models.classify.held import Held
    from sojourn.models.classify.published import Agreed

_NEAR = 0.8  # of what it carries: samples from lower loads tell less of the crossing
_SIDES = {
    "violated": ", where it missed its target",
    "highest": ", the highest; it has no target",
    "at most": ", all that it can do; it has no target",
}


def print_class(console: Console, result: Class) -> None:
    """One service: what it is, what was read, what was seen, what to do."""
    text = ", ".join(f"{answer.question} {answer.word}" for answer in result.answers)
    console.print(f"[bold]{escape(result.service)}[/bold]: {escape(text)}\n")
    for answer in result.answers:
        for line in _lines(answer):
            console.print(f"  {escape(line)}")
    console.print()
    rows = [
        (reading.what, shown(reading.ends, reading.unit), reading.reads, reading.source)
        for reading in result.readings
    ]
    print_table(console, ("what was read", "95 % interval in brackets", "it", "rule"), rows)
    seen = (
        f"{one.name}{_at(one.load_rps)} ({_many(one.runs, 'run')}, {_many(one.samples, 'sample')}"
        f"{_SIDES.get(one.where, '')})"
        for one in result.scenarios
    )
    console.print(f"\nseen: {escape('; '.join(seen))}")
    far = [one.name for one in result.scenarios if one.nearness and one.nearness < _NEAR]
    if far:
        names = " and ".join(far)
        console.print(
            f"doubt: {names} sampled at less than 80 % of what it carries: finer loads help"
        )
    if len(result.scenarios) == 1:
        console.print("doubt: one scenario shows levels and no trends")
    for title, why in result.unseen:
        console.print(f"not seen: {escape(title)}: {escape(why)}")
    for action in result.actions:
        console.print(f"do: {escape(action.what)} ({escape(action.why)}; {action.source})")
    console.print()


def _lines(answer: Answer) -> list[str]:
    """The answer with its number first, why, and what the other way to it says."""
    number = ""
    if answer.number is not None:
        number = f"{shown(answer.number, 'times')}, {answer.number_is}; "
    lines = [f"{answer.question}: {answer.word}; {number}{answer.why}"]
    for other in answer.others:
        against = ", against that" if answer.is_contradicted else ""
        lines.append(f"    by {other.by}{against}: {other.word}; {other.why}")
    return lines


def _at(rps: float | None) -> str:
    return "" if rps is None else f" at {show_count(rps)} requests/s"


def _many(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def shown(ends: Ends | None, unit: str) -> str:
    """A number with its interval, in its unit; "-" where there is none.

    >>> from sojourn.models.classify.evidence import Ends
    >>> shown(Ends(value=0.4, lo=0.38, hi=0.42), "share"), shown(None, "share")
    ('40 % (38 % to 42 %)', '-')
    """
    if ends is None:
        return "-"
    value, lo, hi = (_amount(end, unit) for end in (ends.value, ends.lo, ends.hi))
    return f"{value} ({lo} to {hi})" if ends.is_bounded else f"{value} (not bounded)"


def _amount(value: float, unit: str) -> str:
    from sojourn.findings.resource_use import amount

    if unit == "times":
        return f"{value:.3g}"
    if abs(value) == float("inf"):
        return "?"
    return amount(max(0.0, value), unit)


def print_known(console: Console, known: Sequence[Held]) -> None:
    """Planted services beside what they are; nothing without one."""
    if not known:
        return
    rows = [
        (one.service, one.question, one.told, one.truth, one.how, f"{one.load_s:.0f} s")
        for one in known
    ]
    print_table(console, ("planted", "answer", "told", "it is", "", "load in all"), rows)
    right = sum(one.how == "right" for one in known)
    console.print(f"\n{right} of {len(known)} right\n")


def print_papers(console: Console, papers: Sequence[Agreed]) -> None:
    """Our services beside those of the paper that they stand for; nothing without one."""
    if not papers:
        return
    rows = [(one.service, one.question, one.ours, one.paper, _how(one)) for one in papers]
    print_table(console, ("service", "answer", "here", "paper", ""), rows)
    counts = Counter(map(_how, papers))
    text = ", ".join(f"{counts[how]} {how}" for how in ("agree", "differ", "undecided"))
    console.print(f"\nof {len(papers)} answers {text}; the paper's are other programs (P16, P17)\n")


def _how(one: Agreed) -> str:
    return "agree" if one.is_right else "differ" if one.is_wrong else "undecided"
