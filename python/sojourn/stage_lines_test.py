"""A driver that is there and says nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sojourn import stage
from sojourn.errors import RunFault
from sojourn.run.clients import Load
from sojourn.run.generator_job import Files
from sojourn.stage_lines import Ears, Mouth


class Deaf(Ears):
    """Ears that hear nothing, as from a driver that is stopped."""

    def _listen(self) -> None:
        """Wait for nothing."""

    def close(self) -> None:
        """Both ends of the wake-up."""
        self._own.close()
        self._wake.close()


def test_a_driver_that_is_stopped_holds_no_server_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "LATE_S", 0.0)
    monkeypatch.setattr(stage, "length_s_max", lambda _: 0.2)
    ears, mouth = Deaf(), Mouth(os.open(os.devnull, os.O_WRONLY))
    opening = {"neighbours": [], "address": "", "rows": []}
    waits = stage.Stage(opening, ears, mouth)
    loads = [Load(job={"target": "null:"}, n=1, files=Files.named(Path(), "load"))]
    with pytest.raises(RunFault, match="sent nothing for 0 s"):
        waits._hold(loads, ledger=None)  # type: ignore[arg-type]
    with pytest.raises(RunFault, match="sent nothing"):
        ears.line(0.1)
    ears.close()
