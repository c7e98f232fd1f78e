"""Shares as they are typed, and what is none or may be two."""

from __future__ import annotations

import pytest

from sojourn.cli.share import ALPHA_LEAST, share
from sojourn.errors import SpecFault


@pytest.mark.parametrize(
    ("text", "value"), [("5%", 0.05), ("0.05", 0.05), ("250%", 2.5), ("0.5 %", 0.005), ("0", 0.0)]
)
def test_a_share_is_a_number_below_1_or_one_of_a_hundred(text: str, value: float) -> None:
    assert share(text, "--max-regression", takes_least=True) == pytest.approx(value)


@pytest.mark.parametrize(("text", "fix"), [("5", "5%"), ("1", "1%"), ("2.5", "2.5%")])
def test_a_bare_number_of_1_or_more_is_refused_because_it_may_be_two(text: str, fix: str) -> None:
    """`--max-regression 5` allowed 500 %, so a gate passed a service five times as slow."""
    with pytest.raises(SpecFault, match="which may mean") as caught:
        share(text, "--max-regression", takes_least=True)
    assert caught.value.fix == f"write the sign: --max-regression {fix}"


@pytest.mark.parametrize("text", ["", "%", "x", "nan", "inf", "-1%", "1000%", "12", "0.5"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(SpecFault, match=r"--alpha is"):
        share(text, "--alpha", ALPHA_LEAST, 0.5)
