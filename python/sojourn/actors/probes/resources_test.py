"""The sampler of resources: what a limit of its network means for what it can take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sojourn.actors.probes import resources as probe
from sojourn.knobs import Knob


class Limited:
    """The knob of what a service may send."""

    def read(self) -> str:
        return "3MB/s"


def test_a_limit_of_sending_counts_where_the_link_is_its_own() -> None:
    on = cast("Mapping[str, Knob]", {"egress": Limited()})
    assert probe.sent_most(on, ["eth0"]) == {"network_tx_bytes_per_s": 3e6}
    assert probe.sent_most(on, ["lo"]) == {}
    assert probe.sent_most({}, ["eth0"]) == {}
