"""Co-location: rules, cells beside the paper's Table 2, and what it is worth (L28, L32, L34)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.models.colocation import L28, MEAN
from sojourn.plan.points import Verdict
from sojourn.questions.colocation import draw, worth
from sojourn.questions.colocation.cells import SharedCell, climbed, share_in_words, time_in_words
from sojourn.questions.colocation.judge import Colocation, Rule, Shared
from sojourn.report import labels, show
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.draw.table import Record, from_records
from sojourn.report.people import Doubt
from sojourn.report.section import Number, Shown

NAME = "colocation"
# fmt: off
COLUMNS = (
    "neighbour", "setting", "load", "offered_rps", "tail_ns", "tail_lo_ns", "tail_hi_ns", "meets",
    "kept", "kept_lo", "kept_hi", "cell", "why", "runs", "lost", "paper_tail_ns", "paper_kept",
)
# fmt: on
ALONE = "alone"
TAIL, PACE = "colocation-tail", "colocation-pace"


def cells(findings: Findings) -> list[Record]:
    """A record of each load beside each neighbour and alone, the paper's mean beside it."""
    return [_cell(name, one, cell) for name, one in named(findings) for cell in one.cells]


def named(findings: Findings) -> list[tuple[str, Shared]]:
    """Each combination with its name in a few words: `xz on the same CPU, memcached nice −20`."""
    section = findings.section(Colocation)
    own = [service for service in findings.services if service.section(Shared) is not None]
    if not section:
        return []
    names = [labels.beside(service.levels) for service in own]
    return list(zip(names, section.shared, strict=True))


def ruled(findings: Findings) -> list[tuple[str, Rule]]:
    """The rule of each combination with a neighbour, under the same name."""
    section = findings.section(Colocation)
    names = [name for name, one in named(findings) if one.neighbour]
    return list(zip(names, section.rules, strict=True)) if section else []


def _cell(name: str, one: Shared, cell: SharedCell) -> Record:
    paper = L28.at(MEAN if one.neighbour else "none", cell.load)
    retained = cell.kept
    ends = retained.interval if retained else None
    return {
        "neighbour": one.neighbour or ALONE,
        "setting": one.setting,
        "series": name,
        "fraction": cell.load,
        "load": cell.load,
        "offered_rps": cell.offered_rps,
        "tail_ns": cell.tail_ns,
        "tail_lo_ns": cell.tail.lo if cell.tail else None,
        "tail_hi_ns": cell.tail.hi if cell.tail else None,
        "meets": cell.meets.value,
        "kept": retained.share if retained else None,
        "kept_lo": ends.lo if ends else None,
        "kept_hi": ends.hi if ends else None,
        "cell": cell.verdict.value,
        "why": cell.why,
        "runs": cell.runs,
        "lost": cell.lost,
        "paper_tail_ns": paper.tail_ns if paper else None,
        "paper_kept": paper.throughput if paper and one.neighbour else None,
        "shown_load": show.load(cell.load),
        "shown_tail": "–" if cell.tail_ns is None else time_in_words(cell.tail_ns, cell.tail),
        "shown_kept": share_in_words(retained) if retained and retained.share is not None else "–",
        "shown_paper": _paper(paper.tail_ns if paper else None, paper.throughput if paper else None)
        if one.neighbour
        else _paper(paper.tail_ns if paper else None, None),
        "shown_verdict": show.verdict(cell.verdict),
        "is_alone": int(not one.neighbour),
    }


def or_more(rule: Rule) -> str:
    """What follows a load above which nothing is decided; "" of a border."""
    return " or more" if rule.verdict is Verdict.UNKNOWN else ""


def _paper(tail_ns: float | None, value: float | None) -> str:
    if tail_ns is None:
        return "–"
    return f"p95 {show.time(tail_ns)}" + (f", keeps {show.share(value)}" if value else "")


def figures(findings: Findings) -> list[Figure]:
    """Tail against load and pace against load, a colour for each neighbour and setting."""
    section, records = findings.section(Colocation), cells(findings)
    if not section or not records:
        return []
    table = from_records(COLUMNS, records)
    tail = show.quantile(section.q)
    rules = ruled(findings)
    admitted: list[Record] = [
        {
            "series": name,
            "fraction": rule.load,
            "said": f"{name}: admitted up to {show.load(rule.load)}{or_more(rule)}",
        }
        for name, rule in rules
        if rule.load is not None
    ]
    least = sorted({1 - rule.loss_max for _, rule in rules})
    paper: list[Record] = [
        {"fraction": load, "kept": retained, "series": "L28, mean of 12 programs"}
        for load, retained in L28.throughputs(MEAN)
    ]
    return [
        Figure(
            name=TAIL,
            title=f"{tail} of {section.service} beside a batch job, and alone",
            caption=(
                f"{tail} over all valid runs of a load with its 95 % interval; load is a share of "
                "max RPS of the service alone. Hollow marks: not known whether the cell holds. "
                "Upright lines: the highest load that is admitted; up to it, the service meets its "
                "target and the neighbour its pace."
            ),
            alt=_answer_text(section),
            table=table,
            chart=draw.tail(records, admitted, bound_ns=section.bound_ns, tail=tail),
        ),
        Figure(
            name=PACE,
            title="What the job keeps of its pace alone",
            caption=(
                "Progress of the neighbour while load ran over its own alone, just before, with "
                "its 95 % interval. Dashed: what is left if the service takes its share and "
                "nothing else costs (100 − load %); dotted: the paper's mean (L28)."
            ),
            alt=_answer_text(section),
            table=table,
            chart=draw.pace(records, admitted, paper, least=least),
        ),
    ]


def _answer_text(colocation: Colocation) -> str:
    return colocation.answer


FIGURE = Kind(
    name=NAME, about="tail and a neighbour's pace against load (L27 to L30)", of_study=figures
)


class ColocationShown(Shown):
    """A part of the report for the whole study; each combination has its loads anyway."""

    name = NAME
    place = 2
    template = ""
    study_template = "colocation/section.html.j2"
    study_link = (NAME, "co-location")
    leads = True
    figures = (FIGURE,)

    def number(self, service: ServiceFinding) -> Number | None:
        """The highest load that is admitted under one combination."""
        section = service.section(Shared)
        if section is None:
            return None
        passed, stop = climbed(section.cells)
        beside = f"beside {section.neighbour}" if section.neighbour else "alone"
        if passed is None:
            word = "no load" if stop and stop.verdict is Verdict.VIOLATED else "unknown"
            return Number(number=word, said=f"admitted, {beside}", short=word)
        number = show.load(passed.load)
        open_ = "" if stop is None or stop.verdict is Verdict.VIOLATED else ", or more"
        keeps = f"; it keeps {share_in_words(passed.kept)} there" if passed.kept else ""
        return Number(
            number=number, unit="of max RPS", said=f"admitted, {beside}{open_}{keeps}", short=number
        )

    def cells(self, findings: Findings) -> list[Record]:
        """What the table on the page holds."""
        return cells(findings)

    def rules(self, findings: Findings) -> tuple[Rule, ...]:
        """The rule of each neighbour under each setting."""
        section = findings.section(Colocation)
        return section.rules if section else ()

    def worth(self, findings: Findings) -> list[Record]:
        """What co-location gains, ours beside the papers'."""
        return worth.rows(findings)

    def missing(self, findings: Findings) -> list[str]:
        """Cells that are not known, each once."""
        return list(dict.fromkeys(why for table in worth.tables(findings) for why in table.missing))

    def tail(self, findings: Findings) -> str:
        """The quantile that is judged."""
        section = findings.section(Colocation)
        return show.quantile(section.q) if section else "tail"

    def study_head(self, findings: Findings) -> Iterator[str]:
        """The rules, each in a sentence."""
        if section := findings.section(Colocation):
            yield from filter(None, [section.answer])

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """Cells, then what they are worth."""
        records = cells(findings)
        if not records:
            return
        yield "co-location ".ljust(width, "=")
        under = ""
        for row in records:
            if row["series"] != under:
                under = str(row["series"])
                yield f"{under}:"
            yield _line(row)[:width].rstrip()
        yield "what it is worth, ours beside the papers' ".ljust(width, "=")
        for row in worth.rows(findings):
            where = f"{row['id']}, {row['setting']}, {row['what']}"
            text = f"{where}: {row['ours']}; paper: {row['paper']}"
            yield from textwrap.wrap(text, width, subsequent_indent="  ")
        yield "again, with other bounds: sojourn provision RECORD --bound 1ms --loss-max 0.6"

    def study_doubts(self, findings: Findings) -> Sequence[Doubt]:
        """Cells that are not known, and paces that rest on one start."""
        section = findings.section(Colocation)
        if not section:
            return ()
        every = [cell for one in section.shared for cell in one.cells if one.neighbour]
        few = [c for c in every if c.kept and c.kept.interval and not c.kept.is_across_runs]
        lost = [cell for cell in every if cell.lost]
        doubts = []
        if few:
            doubts.append(
                Doubt(
                    what="a neighbour's pace has an interval within runs only",
                    where=_loads(few),
                    times=len(few),
                    detail="another start may differ by more; measure three repeats",
                )
            )
        if lost:
            doubts.append(
                Doubt(
                    what="runs were not valid",
                    where=_loads(lost),
                    times=len(lost),
                    detail=next((cell.why for cell in lost if cell.why), ""),
                )
            )
        return tuple(doubts)


def _loads(shared_cells: Sequence[SharedCell]) -> str:
    loads = ", ".join(show.load(load) for load in sorted({cell.load for cell in shared_cells}))
    return f"{loads} load"


def _line(row: Record) -> str:
    tail, retained = str(row["shown_tail"]), str(row["shown_kept"])
    is_finite = isinstance(row["tail_ns"], float) and math.isfinite(row["tail_ns"])
    keeps = f"keeps {retained:<20}" if not row["is_alone"] else " " * 26
    mark = "" if is_finite else "? "
    return (
        f"{row['shown_load']!s:>6}  {mark}{tail:<30} {keeps} {row['shown_verdict']!s:<11} "
        f"{row['shown_paper']}"
    )


KIND = ColocationShown()
