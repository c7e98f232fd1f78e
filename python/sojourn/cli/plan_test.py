"""What `sojourn plan` counts, by combination of levels."""

from __future__ import annotations

import itertools
from pathlib import Path

from sojourn.cli.plan import combinations
from sojourn.plan import rehearse
from sojourn.spec import load

TEXT = """
name = "pair"
question = "What do two services do to each other?"
[[services]]
kind = "memcached"
measure = ["sweep"]
[[services]]
kind = "synthetic"
measure = ["sweep"]
[together]
synthetic = [0.3]
memcached = [0.3, 0.6]
[factors]
"services.memcached.params.threads" = [1, 2]
"neighbour" = ["none", "spin"]
[run]
profile = "quick"
repeats = 3
fractions = [0.5]
"""


def test_services_at_once_are_counted_by_what_any_of_them_feels(tmp_path: Path) -> None:
    path = tmp_path / "pair.toml"
    path.write_text(TEXT)
    asked = load(path)
    ahead = rehearse(asked)
    found = {
        (one.service, *map(one.levels.get, asked.factors)): one.points
        for one in combinations(asked, ahead)
    }
    both = {name[1:]: n for name, n in found.items() if name[0] == "memcached + synthetic"}
    assert both == dict.fromkeys(itertools.product((1, 2), ("none", "spin")), 3 * 5)
    assert sum(found.values()) == len(ahead.points)
