"""Classes of services in a table beside the paper's: what scales, what is critical."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings
from sojourn.models.classify import Class
from sojourn.models.classify.published import Agreed
from sojourn.models.classify.section import Classes as Found
from sojourn.report import show
from sojourn.report.draw.table import Table
from sojourn.report.figures import resources
from sojourn.report.openings.opening import Opening, Opens, fitting, listed, sentence

HEAD = ("service", "scales", "siblings cost load", "critical resource", "the paper's")
OPEN, NOTHING = "undecided", "–"
NAMED_MAX = 3


class Classes(Opens):
    """Services that were asked for all that they can do, by cores."""

    name = "classes"
    place = 110

    def applies(self, findings: Findings) -> bool:
        """Where a study has services and their classes."""
        return findings.section(Found) is not None

    def opening(self, findings: Findings, width: int) -> Opening:
        """Critical resources, what scales, and how far the paper agrees."""
        section = findings.section(Found) or Found()
        rows = tuple(_cells(one, section.papers) for one in section.of)
        return Opening(
            headline=headline(section),
            sentences=tuple(sentences(section)),
            figures=(resources.NAME,),
            text=tuple(listed(HEAD, rows, width)),
            table=Table(columns=HEAD, rows=rows),
            caption="Classes of our services, beside those of the paper's",
        )


def _cells(one: Class, papers: Sequence[Agreed]) -> tuple[str, ...]:
    others = [agreed.paper for agreed in papers if agreed.service == one.service]
    text = f"{others[0]}, {others[1]}, {others[2]}" if len(others) == 3 else NOTHING
    return one.service, *(str(answer.word) for answer in one.answers), text


def headline(result: Found) -> str:
    """How many answers of each kind are decided."""
    critical = sum(one.critical.is_decided for one in result.of)
    scales = sum(one.scalable.is_decided for one in result.of)
    count = len(result.of)
    return fitting(
        f"Critical resource known for {critical} of {count}, scaling for {scales}",
        f"Classes of {count} services",
    )


def sentences(result: Found) -> Iterator[str]:
    """What is critical, what scales, and the paper."""
    yield _critical(result)
    yield _scales(result)
    if result.papers:
        right = sum(one.is_right for one in result.papers)
        wrong = sum(one.is_wrong for one in result.papers)
        open_ = len(result.papers) - right - wrong
        yield sentence(
            f"ours confirm {right} of the paper's {len(result.papers)} answers, contradict"
            f" {wrong or 'none'} and leave {open_ or 'none'} open; its services are other programs"
        )


def _critical(result: Found) -> str:
    by: dict[str, list[str]] = defaultdict(list)
    for one in result.of:
        if one.critical.is_decided:
            by[str(one.critical.word).partition(",")[0]].append(one.service)
    if not by:
        return "Which resource is critical is undecided."
    texts = [f"{word} of {show.listed(names, NAMED_MAX)}" for word, names in by.items()]
    brief = [f"{word} of {len(names)}" for word, names in by.items()]
    return sentence(
        f"the critical resource is {'; '.join(texts)}",
        f"the critical resource is {'; '.join(brief)} services",
    )


def _scales(result: Found) -> str:
    yes = [one.service for one in result.of if one.scalable.word == "yes"]
    no = [one.service for one in result.of if one.scalable.word == "no"]
    if not yes and not no:
        if all(len(one.scenarios) == 1 for one in result.of):
            return "What scales is undecided, because this machine has cores for one scenario only."
        return "What scales is undecided."
    texts = [
        f"{show.listed(yes, NAMED_MAX)} {'scales' if len(yes) == 1 else 'scale'}" if yes else "",
        f"{show.listed(no, NAMED_MAX)} {'does' if len(no) == 1 else 'do'} not scale" if no else "",
    ]
    return sentence("; ".join(filter(None, texts)), next(filter(None, texts)))


KIND = Classes()
