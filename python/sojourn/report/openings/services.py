"""Many services: small multiples, boxes and a table; what scales, and which resource is short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.highest_load import MaxLoad
from sojourn.findings.resource_use import Use
from sojourn.host.usage.resource import SHARE
from sojourn.papers.tailbench import OF
from sojourn.report import numbers, ratios, show
from sojourn.report.draw.table import Table
from sojourn.report.figures import resources, services
from sojourn.report.openings.opening import Opening, Opens, fitting, listed, sentence

NEAR = 0.5  # of what it can take: below, a resource is not what a service is short of
NAMED_MAX = 3
OWN = ("service_", "memory_", "llc_", "disk_", "network_")  # what resources of a service begin with
NOTHING = "–"
HEAD = ("service", "load within target", "nearest to its limit", "paper, one thread")


class Services(Opens):
    """TailBench's services and others, by cores and threads."""

    name = "services"
    place = 120

    def applies(self, findings: Findings) -> bool:
        """Where several services were measured by cores and threads."""
        return services.is_many(findings)

    def opening(self, findings: Findings, width: int) -> Opening:
        """How much fits, what scales, and which resource is short."""
        several = len({services.scenario(service) for service in findings.services}) > 1
        rows = [_cells(service, name_scenario=several) for service in findings.services]
        swept = any(service.points for service in findings.services)
        return Opening(
            headline=headline(findings),
            sentences=tuple(sentences(findings))[:3],
            figures=(services.NAME,) if swept else (resources.NAME,),
            text=tuple(listed(HEAD, rows, width)),
            table=Table(columns=HEAD, rows=tuple(rows)),
            caption="Each service beside the paper's",
        )


def _cells(service: ServiceFinding, *, name_scenario: bool) -> tuple[str, str, str, str]:
    known, name = OF.get(service.kind), service.label or service.service
    paper = f"{_brief(known.one)} ({known.name})" if known else NOTHING
    who = f"{name}, {services.scenario(service)}" if name_scenario else name
    return who, _load(service), _short_of(service), paper


def _brief(load: str) -> str:
    """The paper's number without its remarks: `1500 requests/s in the table, …` → `1500/s`."""
    return load.partition(",")[0].partition(" in ")[0].replace(" requests/s", "/s")


def _load(service: ServiceFinding) -> str:
    search = service.section(MaxLoad)
    if search is None or search.border is None:
        most = show.count(service.highest_rps, 1) if service.highest_rps else ""
        return f"{most}/s at most" if most else "unknown"
    number = show.border(search.border)
    return number if number == "unknown" else f"{number}/s ({show.within(search.border)})"


def nearest(service: ServiceFinding) -> tuple[Use, float] | None:
    """The resource of which most of what there is was used, and the share; None: not known."""
    if not service.resources or not service.resources.sides:
        return None
    own = [
        (use, share)
        for use in service.resources.sides[0].uses
        if not use.is_part and use.name.startswith(OWN) and (share := _share(use)) is not None
    ]
    return max(own, key=lambda each: each[1], default=None)


def _share(use: Use) -> float | None:
    if use.unit == SHARE:
        return use.box.median
    return use.box.median / use.capacity if use.capacity else None


def _short_of(service: ServiceFinding) -> str:
    result = nearest(service)
    if result is None:
        return "not counted"
    return f"{result[0].title.removesuffix(' of the service')} {100 * result[1]:.0f} %"


def headline(findings: Findings) -> str:
    """For how many services the load within target is known."""
    each = findings.services
    known = sum(_is_known(service) for service in each)
    if any(service.section(MaxLoad) for service in each):
        return fitting(f"Load within target: known for {known} of {len(each)} services")
    return fitting(f"{len(each)} services: most load and what they use")


def _is_known(service: ServiceFinding) -> bool:
    search = service.section(MaxLoad)
    return bool(search and search.border and show.border(search.border) not in ("unknown", ""))


def sentences(findings: Findings) -> Iterator[str]:
    """Resources, scaling, and what this machine could not show."""
    yield from _resources(findings)
    yield _scaling(findings)


def _resources(findings: Findings) -> Iterator[str]:
    """Which resource is nearest to its limit, of how many services."""
    results = [near for service in findings.services if (near := nearest(service))]
    if not results:
        return
    counts = Counter(use.title for use, share in results if share >= NEAR)
    if not counts:
        yield sentence(
            "no service uses half of any resource that was counted, where its target is met"
        )
        return
    title, times = counts.most_common(1)[0]
    shares = sorted(100 * share for use, share in results if use.title == title)
    span = "–".join(dict.fromkeys(f"{share:.0f}" for share in (shares[0], shares[-1])))
    yield sentence(
        f"where targets are just met, {title} is nearest to its limit for {times} of"
        f" {len(findings.services)} services ({span} %)",
        f"{title} is nearest to its limit for {times} of {len(findings.services)} services",
    )


def _scaling(findings: Findings) -> str:
    """Which services carry more with more cores, or why that is not known."""
    rates = [one for one in ratios.ratios_of(findings) if not one.effect.is_time]
    more = [one for one in rates if one.is_shown and (one.effect.ratio or 0) > 1]
    if more:
        first = max(more, key=lambda one: one.effect.ratio or 0)
        names = list(dict.fromkeys(one.service for one in more if one.service != first.service))
        also = f"; {show.listed(names, NAMED_MAX)} also carry more" if names else ""
        number = numbers.ratio(first.effect.ratio or 1.0, first.effect.interval)
        return sentence(
            f"{first.service} carries {number} times as much with {first.name} as with"
            f" {first.base}{also}",
            f"{first.service} carries {number} times as much with {first.name}",
        )
    if rates:
        return sentence(
            f"no service was shown to carry more with more cores: {_limit(rates)}",
            "no service was shown to carry more with more cores",
        )
    return "What scales is unknown, because this machine has cores for one scenario only."


def _limit(rates: Sequence[ratios.Ratio]) -> str:
    """What would have been seen."""
    known = [numbers.visible(one.effect.interval) for one in rates if one.effect.interval]
    return f"above {numbers.factor(max(known))} it would be seen" if known else "no blocks compare"


KIND = Services()
