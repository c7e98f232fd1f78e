"""Several services in several places: what each answers, and how long its tail is."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.places.place import EMULATED
from sojourn.report import ratios, show
from sojourn.report.draw import known
from sojourn.report.draw.lookup import tail_q
from sojourn.report.draw.table import Table
from sojourn.report.figures.services import MANY, scenario
from sojourn.report.openings.opening import Opening, Opens, fitting, listed, sentence
from sojourn.report.openings.settings import PLACE
from sojourn.spec.levels import short

HEAD = ("service", "place", "100 % load")
UNKNOWN = "unknown"


class Places(Opens):
    """What services carry, by where they run."""

    name = "places"
    place = 125

    def applies(self, findings: Findings) -> bool:
        """Where several services were swept in places that the study varies."""
        swept = [service for service in findings.services if service.points]
        varied = {short(key) for service in swept for key, _ in service.levels}
        return len({_name(service) for service in swept}) >= MANY and PLACE in varied

    def opening(self, findings: Findings, width: int) -> Opening:
        """A row for each service and place, in the order of the study."""
        shared, own = _parted([scenario(service) for service in findings.services])
        tails = [_tails(service) for service in findings.services]
        titles = dict.fromkeys(title for each in tails for title in each)
        head = (*HEAD, *titles)
        rows = [
            (_name(service), place, _most(service), *(each.get(title, "–") for title in titles))
            for service, place, each in zip(findings.services, own, tails, strict=True)
        ]
        names = len({_name(service) for service in findings.services})
        where = f"; all: {', '.join(shared)}" if shared else ""
        return Opening(
            headline=fitting(f"What {names} services carry in {len(set(own))} places"),
            sentences=tuple(sentences(findings)),
            figures=(),
            text=tuple(listed(head, rows, width)),
            table=Table(columns=head, rows=tuple(rows)),
            caption=f"Each service in each place{where}",
        )


def _parted(places: list[str]) -> tuple[list[str], list[str]]:
    """What the places share, and what each has of its own.

    >>> _parted(["guest, disk on Ceph", "guest, disk by NBD"])
    (['guest'], ['disk on Ceph', 'disk by NBD'])
    """
    parts = [place.split(", ") for place in places]
    shared = [part for part in parts[0] if all(part in other for other in parts)]
    own = [", ".join(part for part in other if part not in shared) for other in parts]
    return (shared, own) if all(own) else ([], places)


def _name(service: ServiceFinding) -> str:
    return service.label or service.service


def _most(service: ServiceFinding) -> str:
    return f"{show.count(service.highest_rps)}/s" if service.highest_rps else UNKNOWN


def _tails(service: ServiceFinding) -> dict[str, str]:
    """The tail at the lowest and the highest load, by title."""
    q, loads = tail_q(service), sorted(service.points, key=lambda point: point.fraction)
    return {
        f"{show.quantile(q)} at {show.load(point.fraction)}": known.of_load(point, q).shown
        for point in (*loads[:1], *loads[-1:])
    }


def sentences(findings: Findings) -> Iterator[str]:
    """Who answers most and least, what places do, and that guests were emulated."""
    rates = sorted((s.highest_rps, _name(s)) for s in findings.services if s.highest_rps)
    if rates:
        (least, slowest), (most, fastest) = rates[0], rates[-1]
        yield sentence(
            f"most is answered by {fastest}, {show.count(most)} requests/s at its peak, least by"
            f" {slowest}, {show.count(least)}"
        )
    of_places = [one for one in ratios.ratios_of(findings) if short(one.key) == PLACE]
    if shown := [one for one in of_places if one.is_shown]:
        names = list(dict.fromkeys(one.service for one in shown))
        yield sentence(f"a difference between places was shown for {show.listed(names, MANY)}")
    else:
        yield "No difference between places was shown."
    if any(name == EMULATED for service in findings.services for name, _ in service.setup):
        yield "Guests were emulated (TCG), so times are a translator's, not a guest's."


KIND = Places()
