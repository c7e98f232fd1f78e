"""What is reported first about a service: why it has no answer."""

from __future__ import annotations

from dataclasses import replace

from sojourn.analysis.service import AXIS_INVALID, NOT_RESTARTED
from sojourn.plan.points import Verdict
from sojourn.report import parts as section_parts
from sojourn.report import testing, tiles
from sojourn.testing_questions import parts


def test_an_answer_that_is_missing_has_the_reason_of_its_runs_first() -> None:
    """What every run of a service of one's own shares stood there, and not the wrong replies."""
    empty = "content: 7188 of 7961 replies had an empty body"
    open_ = replace(
        testing.memcached(),
        verdict=Verdict.UNKNOWN,
        sections={},
        reasons=(NOT_RESTARTED, AXIS_INVALID, empty),
    )
    with section_parts.using(parts()):
        assert tiles.of_service(open_).why == empty
