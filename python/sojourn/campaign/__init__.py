"""Many studies one after another: a record for each, one folder, one page.

    survey → run: for each study check, measure, report … → index.html and campaign.json

A study that is skipped or fails does not end the others. What became of each is in
`campaign.json` as soon as it is known, so the same command goes on where it was stopped.
"""

from sojourn.campaign.measuring import BUDGET_S, measure, rewritten
from sojourn.campaign.planned import Planned, survey
from sojourn.campaign.stored import DONE, FILE, Campaign, opened, read

__all__ = [
    "BUDGET_S",
    "DONE",
    "FILE",
    "Campaign",
    "Planned",
    "measure",
    "opened",
    "read",
    "rewritten",
    "survey",
]
