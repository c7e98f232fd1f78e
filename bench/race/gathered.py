"""What a race on a real server has measured so far, in a folder from which it can go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from border import Probe
from run import Row


@dataclass(slots=True)
class Race:
    """What was measured so far, each part written to a folder at once."""

    out: Path
    rows: list[Row] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Go on from what an earlier race left in the folder."""
        searches, border = self.out / "searches.jsonl", self.out / "border.json"
        if searches.exists():
            self.rows += [Row(**json.loads(line)) for line in searches.read_text().splitlines()]
        if border.exists():
            self.probes += [Probe(**one) for one in json.loads(border.read_text())]

    def lacks(self, rule: str, seed: int) -> bool:
        """Whether this search of a rule has not been made."""
        return all((one.rule, one.seed) != (rule, seed) for one in self.rows)

    def add(self, row: Row) -> None:
        """A search, its load in requests/s."""
        self.rows.append(row)
        with (self.out / "searches.jsonl").open("a") as file:
            file.write(json.dumps(asdict(row)) + "\n")
        print(f"{row.rule}: {row.load:,.0f}/s, {row.seconds:.0f} s", flush=True)

    def add_probes(self, probes: Sequence[Probe]) -> None:
        """Runs for the border."""
        self.probes += probes
        whole = json.dumps([asdict(one) for one in self.probes])
        (self.out / "border.json").write_text(whole + "\n")
