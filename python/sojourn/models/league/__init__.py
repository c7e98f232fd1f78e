"""Controllers side by side in a simulation: a service and a job share cores.

    scenario (load over time) ─► machine (100 ms at a time) ─► looks ─► controller ─► allocation ─┐
                                        ▲─────────────────────────────────────────────────────────┘

It says which rule acts on noise, reacts late or gives too much away. It does not say what a
particular machine does; the numbers of the model stand in `machine.py`.
"""
