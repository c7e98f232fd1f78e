"""What cannot be measured on the machine at hand: costs, servers needed, simulated experiments.

`tco` and `provision` work on a co-location table (`colocation`), measured or from a paper.
`simulator` runs `sojourn-sim`; `fleet`, `calibrate` and `replicate` stand on it. Every result
carries a label that says whether its numbers are measured, computed or simulated. Nothing here
draws or prints: `report` and `cli` do.
"""
