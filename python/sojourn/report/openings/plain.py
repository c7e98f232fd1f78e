"""How much load fits: a tile for each service, all in one picture; for what no other opens."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.findings.findings import Findings
from sojourn.report import headline, terminal_tile, volume
from sojourn.report.draw.lookup import slug
from sojourn.report.figures import by_level, chance, overview
from sojourn.report.openings.opening import Opening, Opens

TILES_MAX = 4  # that stand above the picture


class Plain(Opens):
    """Today's tiles and the overview."""

    name = "plain"
    place = 1000

    def applies(self, findings: Findings) -> bool:
        """Always: it is the last of the table."""
        del findings
        return True

    def opening(self, findings: Findings, width: int) -> Opening:
        """The services' numbers, in tiles of both kinds."""
        lines = [
            line for service in findings.services for line in terminal_tile.lines(service, width)
        ]
        return Opening(
            headline=headline.of(findings),
            sentences=(),
            figures=tuple(_figures(findings)),
            text=tuple(lines),
            has_tiles=True,
        )


def _figures(findings: Findings) -> Iterator[str]:
    yield overview.NAME
    yield chance.NAME
    if volume.is_crowded(findings):
        for label in dict.fromkeys(s.label for s in findings.services):
            yield slug(f"{label}{by_level.SUFFIX}")


KIND = Plain()
