"""What else of a study goes with it: it has no keys of its own."""

from __future__ import annotations

from sojourn.spec.form import Asks

ASKS = Asks(in_rates=True)
