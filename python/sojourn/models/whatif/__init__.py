"""What would another machine, scheduler or way of calling do? By simulation.

    asked      one question: a system with its levels, and the combinations of many
    machine    CPUs, scheduler, neighbour: a job of `sojourn-sim sched`
    schedule   how many requests a load that changes with time has
    system     fan-out, hedges, retries, start-up, speed, traces: a job of `sojourn-sim calls`
    border     the highest rate within a target, by halving, with the scatter of the simulation
    answer     all of it, each with the measurement that would check it

Every answer is predicted: the service time is given, or fitted to a record by `calibrate`.
"""
