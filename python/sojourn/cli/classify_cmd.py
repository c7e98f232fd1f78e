"""`sojourn classify`: what kind of service one is, by what it used in several scenarios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.draw import escape, to_stdout
from sojourn.cli.models_show import end, print_table
from sojourn.cli.options import OUTPUT_PANEL, RESULTS, AsJson, RecordArgument, Results
from sojourn.cli.plain import put_json
from sojourn.errors import SpecFault
from sojourn.units import parse_bytes, show_count

if TYPE_CHECKING:
    from rich.console import Console

    from sojourn.models.classify import Answer, Class
    from sojourn.models.classify.evidence import Ends
    from sojourn.models.classify.held import Held
    from sojourn.models.classify.published import Agreed, Agreement
    from sojourn.store.record import Record

_NEAR = 0.8  # of what it carries: samples from lower loads tell less of the crossing
_SIDES = {
    "violated": ", where it missed its target",
    "highest": ", the highest; it has no target",
    "at most": ", all that it can do; it has no target",
}


def classify(
    name: RecordArgument = None,
    is_paper: Annotated[
        bool,
        typer.Option("--paper", help="The paper's nine services: its findings beside these rules."),
    ] = False,
    is_planted: Annotated[
        bool,
        typer.Option("--planted", help="Simulated services of known class, to see that it tells."),
    ] = False,
    memory_max: Annotated[
        str,
        typer.Option(metavar="BYTES/S", help="What memory can take here, such as 14GB.",
                     show_default="not known"),
    ] = "",
    has_details: Annotated[
        bool,
        typer.Option("--details", rich_help_panel=OUTPUT_PANEL,
                     help="With --paper: the row of each service."),
    ] = False,
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Tell what kind of service one is: scalable, SMT-sensitive, and its critical resource.

    Reads a record in which the service was measured with several numbers of threads, each on CPUs
    of their own; nothing is started. What it carried has the last word; the paper's rule on CPU
    use and memory bandwidth (P1, P12, P16, P17) stands beside it, and what this host could not see
    is said. Of planted services it says beside that what they are. Exit code 3 says that an answer
    is undecided, 1 that one is wrong where the truth is known.

    \b
    Examples:
      sojourn run thread_scaling && sojourn classify thread_scaling
      sojourn classify                       the newest record
      sojourn classify --memory-max 14GB     as STREAM or the data sheet has it
      sojourn classify --paper               Tables 3 and 4 as data
      sojourn classify --planted             a lock, a streamer, a disk writer, a scaler: simulated
      sojourn run planted_classes && sojourn classify planted_classes      the same, really run
    """
    if sum((name is not None, is_paper, is_planted)) > 1:
        raise SpecFault(
            "a record, --paper and --planted are three questions",
            at="sojourn classify", fix="ask them one after another",
        )  # fmt: skip
    if is_paper:
        _paper(as_json=as_json, has_details=has_details)
    elif is_planted:
        _planted(as_json=as_json)
    else:
        from sojourn import store

        most = _bytes(memory_max)
        _record(store.read(store.resolve(results, name)), most, as_json=as_json)


def _bytes(text: str) -> float | None:
    try:
        return float(parse_bytes(text.removesuffix("/s"))) if text else None
    except ValueError as error:
        raise SpecFault(
            str(error), at="--memory-max", fix="write bytes a second, such as 14GB"
        ) from None


def _record(record: Record, memory_max: float | None, *, as_json: bool) -> None:
    from sojourn.models.classify import published
    from sojourn.models.classify.held import held
    from sojourn.models.classify.record import classes

    found = classes(record, memory_max=memory_max)
    if not found:
        raise SpecFault(
            "no run of this record that is believed has samples of what its service used",
            at=str(record.path),
            fix="measure again: `sojourn run thread_scaling` records them with every point",
        )
    known = held(record, found)
    kinds = {spec.label: spec.kind for spec in record.study.services}
    papers = published.beside_ours(kinds, found)
    if as_json:
        more = ({"known": known} if known else {}) | ({"papers": papers} if papers else {})
        put_json({"label": "measured", "record": str(record.path), "classes": found, **more})
    else:
        console = to_stdout()
        for one in found:
            _print(console, one)
        _print_known(console, known)
        _print_papers(console, papers)
        console.print(f"next: {escape(_next(record, found))}")
    end(_word(found, known))


def _print_papers(console: Console, papers: Sequence[Agreed]) -> None:
    if not papers:
        return
    rows = [(one.service, one.question, one.ours, one.paper, _how(one)) for one in papers]
    print_table(console, ("service", "answer", "here", "paper", ""), rows)
    counts = Counter(map(_how, papers))
    said = ", ".join(f"{counts[how]} {how}" for how in ("agree", "differ", "undecided"))
    console.print(f"\nof {len(papers)} answers {said}; the paper's are other programs (P16, P17)\n")


def _how(one: Agreed) -> str:
    return "agree" if one.is_right else "differ" if one.is_wrong else "undecided"


def _word(found: Sequence[Class], known: Sequence[Held]) -> str:
    """Of planted services it counts whether they were told; of others whether all is decided."""
    if known:
        hows = {one.how for one in known}
        return "violated" if "wrong" in hows else "unknown" if "undecided" in hows else "holds"
    return "holds" if all(one.is_decided for one in found) else "unknown"


def _print_known(console: Console, known: Sequence[Held]) -> None:
    if not known:
        return
    rows = [
        (one.service, one.question, one.told, one.truth, one.how, f"{one.load_s:.0f} s")
        for one in known
    ]
    print_table(console, ("planted", "answer", "told", "it is", "", "load in all"), rows)
    right = sum(one.how == "right" for one in known)
    console.print(f"\n{right} of {len(known)} right\n")


def _print(console: Console, found: Class) -> None:
    said = ", ".join(f"{answer.question} {answer.word}" for answer in found.answers)
    console.print(f"[bold]{escape(found.service)}[/bold]: {escape(said)}\n")
    for answer in found.answers:
        for line in _lines(answer):
            console.print(f"  {escape(line)}")
    console.print()
    rows = [
        (reading.what, shown(reading.ends, reading.unit), reading.reads, reading.source)
        for reading in found.readings
    ]
    print_table(console, ("what was read", "95 % interval in brackets", "it", "rule"), rows)
    seen = (
        f"{one.name}{_at(one.load_rps)} ({_many(one.runs, 'run')}, {_many(one.samples, 'sample')}"
        f"{_SIDES.get(one.where, '')})"
        for one in found.scenarios
    )
    console.print(f"\nseen: {escape('; '.join(seen))}")
    far = [one.name for one in found.scenarios if one.nearness and one.nearness < _NEAR]
    if far:
        names = " and ".join(far)
        console.print(
            f"doubt: {names} sampled at less than 80 % of what it carries: finer loads help"
        )
    if len(found.scenarios) == 1:
        console.print("doubt: one scenario shows levels and no trends")
    for title, why in found.unseen:
        console.print(f"not seen: {escape(title)}: {escape(why)}")
    for action in found.actions:
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
    from sojourn.analysis.resources import amount

    if unit == "times":
        return f"{value:.3g}"
    if abs(value) == float("inf"):
        return "?"
    return amount(max(0.0, value), unit)


def _next(record: Record, found: Sequence[Class]) -> str:
    """The one command that would tell more."""
    from sojourn import services
    from sojourn.models.classify.record import THREADS
    from sojourn.spec.levels import short

    study = record.study
    if all(len(one.scenarios) == 1 for one in found):
        if any(short(key) in THREADS for key in study.factors):
            return f"sojourn plan {study.name}    which scenarios this machine lacks, and why"
        spec = study.services[0]
        width = services.kind(spec.kind).width or "threads"
        return f"sojourn run {study.name} --vary services.{spec.label}.params.{width}=1,2,8"
    if not all(one.is_decided for one in found):
        return f"sojourn run {study.name} --profile full && sojourn classify {study.name}"
    return f"sojourn report {record.path}"


def _paper(*, as_json: bool, has_details: bool) -> None:
    from sojourn.models.classify import published

    found, simple = published.agreements(), published.simple()
    if as_json:
        sights = [{"sight": one.sight, "rows": one.rows} for one in found]
        put_json({
            "label": "computed", "sights": sights, "rules_of_one_sensor": simple,
            "by_load": published.by_load(),
        })  # fmt: skip
    else:
        _print_paper(found, has_details=has_details)
    end("violated" if any(row.is_wrong for row in found[0].rows) else "holds")


def _print_paper(found: Sequence[Agreement], *, has_details: bool) -> None:
    from sojourn.models.classify import published

    console = to_stdout()
    console.print("computed from Tables 3 and 4 of Pons et al., FGCS 2022 (P16, P17)\n")
    questions = [answer.question for answer in found[0].classes[0].answers]
    rows = [
        (one.sight, *(_counted(*one.counts(question)) for question in questions)) for one in found
    ]
    print_table(console, ("what is seen", *questions), rows)
    console.print(
        "\nThe rules were read from these nine: agreement says that they stand here as the paper"
        " has them, not that they hold of others. What one sensor alone would have missed:\n"
    )
    table = [
        (question, f'"yes" where {rule}', f"{right} of {len(published.TABLE)}",
         ", ".join(missed) or "none")
        for question, rule, right, missed in published.simple()
    ]  # fmt: skip
    print_table(console, ("answer", "rule", "right", "misses"), table)
    console.print("\nby the loads that its text gives (P10), which have no intervals:\n")
    loads = [
        (name, question, f"{ends.value:.3g} times", ours, paper)
        for name, question, ends, ours, paper in published.by_load()
    ]
    print_table(console, ("service", "answer", "load", "here", "paper"), loads)
    if has_details:
        console.print()
        details = [(row.service, row.question, row.ours, row.paper) for row in found[0].rows]
        print_table(console, ("service", "answer", "here", "paper"), details)


def _counted(right: int, undecided: int, wrong: Sequence[str]) -> str:
    parts = [f"{right} right"]
    parts += [f"{undecided} undecided"] if undecided else []
    parts += [f"wrong: {', '.join(wrong)}"] if wrong else []
    return ", ".join(parts)


def _planted(*, as_json: bool) -> None:
    import numpy as np

    from sojourn.models.classify import classify as judge
    from sojourn.models.classify import planted

    rng = np.random.default_rng(20220128)
    found = [
        (known, judge(known.name, [planted.scenario(known.service, n, rng) for n in (1, 8)]))
        for known in planted.TABLE
    ]
    wrong = [
        known.name
        for known, told in found
        if [answer.word for answer in told.answers] != [known.scalable, known.smt, known.critical]
    ]
    if as_json:
        both = [{"truth": known, "found": told} for known, told in found]
        put_json({"label": "simulated", "wrong": wrong, "classes": both})
    else:
        console = to_stdout()
        console.print("simulated: 30 s of samples with 1 and with 8 threads of each service\n")
        rows = [
            (known.name, *(answer.word for answer in told.answers),
             "wrong" if known.name in wrong else "right")
            for known, told in found
        ]  # fmt: skip
        head = ("planted", *(answer.question for answer in found[0][1].answers), "")
        print_table(console, head, rows)
        console.print(f"\n{len(found) - len(wrong)} of {len(found)} right")
    end("violated" if wrong else "holds")
