"""What a service uses as text: whole lines, however narrow the terminal is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.report import resources, testing, testing_use


@pytest.mark.parametrize(("width", "cell"), [(79, "13.5 ms/s (7.68–27.9)"), (60, "13.5 ms/s  ")])
def test_lines_are_as_wide_as_the_terminal_and_nothing_is_cut(width: int, cell: str) -> None:
    service = replace(testing.memcached(), resources=testing_use.both_sides())
    texts = list(resources.lines(service, width))
    assert all(len(line) <= width for line in texts)
    assert any(line.startswith("run-queue delay") and cell in line for line in texts)
    assert next(line for line in texts if line.startswith("busiest thread  ")).endswith("100 %")
    assert not [line for line in texts if "system" in line]  # a part of what is above


def test_a_record_without_samples_has_no_lines() -> None:
    assert list(resources.lines(testing.memcached(), 79)) == []
