"""Records that `sojourn compare` holds side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.cli import lowered, named_file
from sojourn.cli.draw import escape, new_table, to_stdout
from sojourn.cli.faults import say
from sojourn.cli.plain import put, put_json
from sojourn.errors import Exit, SpecFault

if TYPE_CHECKING:
    from sojourn.analysis.comparison import Comparison
    from sojourn.findings.findings import Findings, ServiceFinding
    from sojourn.store import Record

MOST = 8  # on one page


def compared(
    records: list[str],
    inputs: Mapping[str, float],
    results: Path,
    *,
    across: bool,
    as_json: bool,
    markdown: bool,
    html: Path | None,
) -> int:
    """Print the comparison of records; returns the exit code.

    Args:
        records: as typed.
        inputs: alpha and same.
        results: folder of results.
        across: whether they may be of different machines.
        as_json: JSON instead of a table.
        markdown: Markdown instead of a table.
        html: a page to write.

    Raises:
        SpecFault, StoreFault: they cannot be compared, or not be read.
    """
    from sojourn.analysis import comparison, comparison_settings, moved_stages
    from sojourn.record import machine
    from sojourn.report import comparison as shown
    from sojourn.stats.paired_ratio import Limits

    limits = Limits(alpha=inputs["alpha"], same=inputs["same"])
    if not 2 <= len(records) <= MOST:
        raise SpecFault(
            f"compare takes two to {MOST} records, not {len(records)}",
            at="sojourn compare",
            fix="sojourn ls    lists the records",
        )
    names, stored, result = _read(records, results, html)
    facts = [machine.facts(one) for one in stored]
    is_across = _check_machines(facts, is_allowed=across)
    settings = comparison_settings.settings([one.study for one in stored])
    text = comparison.compare(names, result, limits)
    if not shown.shared(text) and comparison.has_equal_load(result):
        raise SpecFault(
            "the records have loads in common, and none of them has a valid run in both",
            at="sojourn compare",
            fix=f"see why: sojourn show {names[0]}; sojourn show {names[1]}",
        )
    if not shown.shared(text):
        raise SpecFault(
            f"the records have no service and load in common: {_has(names, result)}",
            at="sojourn compare",
            fix="compare records of one study, or of studies with equal loads (run.rates)",
        )
    text = replace(
        text,
        differences=comparison_settings.differences(
            result, [{**own, **keys} for own, keys in zip(facts, settings, strict=True)]
        ),
        is_across=is_across,
        moved=moved_stages.moved([letter for letter, _ in shown.letters(text)], stored),
        unfinished=tuple(n for n, one in zip(names, stored, strict=True) if not one.is_complete),
    )
    if html is not None:
        from sojourn.report import comparison_page

        named_file.write(html, comparison_page.html(text))
        say(f"page: {html}")
    if as_json:
        put_json({"sentence": shown.sentence(text), "notes": shown.notes(text), **_flat(text)})
    elif markdown:
        put(shown.markdown(text), has_end=False)
    else:
        _print(text)
    return _exit(text)


def _read(
    names: list[str], results: Path, out: Path | None
) -> tuple[list[str], list[Record], list[Findings]]:
    """Names for people, records and findings; `out`: a file to write."""
    from sojourn import pipeline, store

    paths = [store.resolve(results, name) for name in names]
    if len(set(paths)) < len(paths):
        raise SpecFault(
            "a record is given twice; it is equal to itself",
            at="sojourn compare",
            fix="give different records; `sojourn ls` lists them",
        )
    if out is not None:
        lowered.for_writing(out.absolute().parent)
    else:  # once: what a process gave up it does not get back
        lowered.for_reading(next((path for path in paths if path.stat().st_uid), paths[0]))
    called = [path.name for path in paths]
    if len(set(called)) < len(called):
        called = [f"{path.parent.parent.name}/{path.name}" for path in paths]
    outcome = [pipeline.findings_of(path) for path in paths]
    return called, [store.read(path) for path in paths], outcome


def _check_machines(facts: list[dict[str, str]], *, is_allowed: bool) -> bool:
    """Whether the records are of different machines.

    Raises:
        SpecFault: they are, and that was not asked for.
    """
    from sojourn.record.machine import MACHINE

    other = [what for what in MACHINE if len({table.get(what) for table in facts}) > 1]
    if other and not is_allowed:
        text = "; ".join(
            f"{what}: {' / '.join(table.get(what, 'not known') for table in facts)}"
            for what in other
        )
        raise SpecFault(
            f"the records are of different machines: {text}",
            at="sojourn compare",
            fix="compare records of one machine, or add --across-machines",
        )
    return bool(other)


def _has(names: list[str], findings: list[Findings]) -> str:
    """What each record has, as a sentence for an error: two services, three loads of each."""
    from sojourn.analysis.equal_loads import name as load_name

    def loads(service: ServiceFinding) -> str:
        named = [load_name(service, point) for point in service.points[:3]]
        more = len(service.points) - len(named)
        text = ", ".join(named) + (f" and {more} more" if more else "")
        return f"{service.service} at {text or 'no load'}"

    each = (
        f"{name} has {'; '.join(map(loads, one.services[:2])) or 'nothing'}"
        for name, one in zip(names, findings, strict=True)
    )
    return ". ".join(each)


def _flat(comparison: Comparison) -> dict[str, object]:
    return {name: getattr(comparison, name) for name in comparison.__dataclass_fields__}


def _print(comparison: Comparison) -> None:
    from sojourn.report import comparison as shown

    console = to_stdout()
    if comparison.differences:
        table = new_table("differs", *(letter for letter, _ in shown.letters(comparison)))
        for what, each in comparison.differences:
            table.add_row(escape(what), *map(escape, each))
        console.print(table)
        console.print()
    table = new_table(*map(escape, shown.columns(comparison)))
    for line in shown.lines(comparison):
        table.add_row(*map(escape, line))
    console.print(table)
    for one in comparison.moved:
        console.print(f"\nwhat moved, {escape(one.what)}: {escape(one.answer)}")
        table = new_table(*shown.MOVED)
        for line in one.rows:
            table.add_row(*map(escape, line))
        if one.rows:
            console.print(table)
    console.print(f"\n{escape(shown.sentence(comparison))}")
    for note in shown.notes(comparison):
        say(note)


def _exit(comparison: Comparison) -> int:
    from sojourn.stats.paired_ratio import Judgement

    if comparison.judgement is Judgement.WORSE:
        return Exit.VIOLATED
    return Exit.UNKNOWN if comparison.judgement is Judgement.OPEN else Exit.OK
