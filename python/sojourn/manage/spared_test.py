"""Costly readings are seldom."""

from __future__ import annotations

import time

import pytest

from sojourn.manage.spared import Spared


def test_the_more_a_reading_costs_the_later_it_is_due_again() -> None:
    cheap, dear, many = Spared(0.001), Spared(0.001), Spared(0.001)
    with cheap.reading(10.0):
        pass
    for one, count in ((dear, 1), (many, 10)):
        with one.reading(10.0, count):
            begin_s = time.thread_time()
            while time.thread_time() - begin_s < 0.01:
                pass
    assert not dear.is_due(19.9), "10 ms of CPU time are 0.1 % of 10 s"
    assert not many.is_due(109.9), "ten of its kind share that part"
    assert dear._due_s > cheap._due_s
    assert Spared(0.001).is_due(0.0), "it was not read yet"


def test_a_reading_that_fails_is_spared_too() -> None:
    one = Spared(0.001, 2.0)

    def fail() -> None:
        with one.reading(10.0):
            raise OSError

    with pytest.raises(OSError):  # noqa: PT011  # made here
        fail()
    assert not one.is_due(11.9)
