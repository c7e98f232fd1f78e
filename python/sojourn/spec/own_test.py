"""The study file of a service of the user's own."""

from __future__ import annotations

import tomllib

import pytest

from sojourn.spec import own


@pytest.mark.parametrize("given", [{}, {"timely_within": '"2ms"'}])
def test_its_client_may_be_as_late_as_in_half_a_minute_unless_another_limit_is_set(
    given: dict[str, str],
) -> None:
    text = own.written(
        name="s", target="http://localhost:1/", command="", has_items=False, load=given
    )
    (service,) = tomllib.loads(text)["services"]
    expected = "2ms" if given else own.LOAD["timely_within"]
    assert service["load"]["timely_within"] == expected
