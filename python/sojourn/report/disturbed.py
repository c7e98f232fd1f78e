"""Loads at which others had the server's CPUs: both readings, in words (M29)."""

from __future__ import annotations

from sojourn.findings.findings import ServiceFinding
from sojourn.report import show
from sojourn.report.draw import known
from sojourn.report.people import PLACES


def text(service: ServiceFinding) -> str:
    """Both readings of the loads at which others had the server's CPUs most often (M29), or "".

    As experienced is the number everywhere else; undisturbed is what the service itself does.
    """
    selected = [point for point in service.points if point.undisturbed is not None]
    selected = sorted(selected, key=lambda point: -point.disturbed_share)[:PLACES]
    parts: list[str] = []
    without: list[str] = []
    for point in sorted(selected, key=lambda point: point.fraction):
        q = point.undisturbed.q if point.undisturbed else None
        own = point.undisturbed.value if point.undisturbed else None
        share = f"({show.share(point.disturbed_share)} of requests disturbed)"
        if own is None:
            without.append(f"{show.load(point.fraction)} {share if not without else _brief(share)}")
            continue
        reading = f"{known.of_load(point, q).shown} and {show.time(own)}"
        parts.append(f"{show.load(point.fraction)} load {reading} {share}")
    if not selected:
        return ""
    tail = show.quantile(selected[0].undisturbed.q if selected[0].undisturbed else None)
    readings, few = (show.listed(tuple(names), PLACES) for names in (parts, without))
    sentences = ["Other tasks used the server's CPUs."]
    if parts:
        sentences.append(f"{tail} as experienced and undisturbed: at {readings}.")
    if without:
        sentences.append(f"Too few requests are undisturbed for a {tail} at {few}.")
    return " ".join(sentences)


def _brief(share: str) -> str:
    """`(12 % of requests disturbed)` as `(12 %)`."""
    return share.replace(" of requests disturbed", "")
