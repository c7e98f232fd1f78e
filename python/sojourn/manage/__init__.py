"""The run-time manager: looks, asks a controller, moves knobs of named groups.

    source, /proc ─► Look ─► controller ─► changes ─► journal ─► control group ─► read back ─► audit
                                     heartbeat ─► warden: safe caps when the manager is gone

Only control groups and processes that the configuration names are touched. Everything that is set
is in the journal first; a warden holds the safe caps. `sojourn restore` undoes what a manager left.
"""
