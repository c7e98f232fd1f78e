import math
from types import SimpleNamespace

import pytest

from sojourn import spec
from sojourn.cli import words


@pytest.mark.parametrize(
    ("ends", "estimate", "said"),
    [
        (None, None, ""),
        ((0.0, math.inf), None, ""),
        ((80e3, 130e3), 1e5, "so far ≈ 100k/s (80.0k–130k)"),
        ((80e3, 130e3), None, "so far 80.0k–130k/s"),
        ((80e3, math.inf), 80e3, "so far at least 80.0k/s"),
        ((0.0, 20e3), 20e3, "so far at most 20.0k/s"),
    ],
)
def test_the_answer_so_far_has_its_interval(
    monkeypatch: pytest.MonkeyPatch,
    ends: tuple[float, float] | None,
    estimate: float | None,
    said: str,
) -> None:
    search = SimpleNamespace(interval_rps=ends, estimate_rps=estimate)
    monkeypatch.setattr(words, "progress", lambda *_: SimpleNamespace(search=search))
    study = spec.load("latency_vs_load")
    assert words.so_far(study, study.services[0].label, ()) == said
