"""M/M/4 in Ciw, written as its documentation does: `python ciw_mm4.py REQUESTS SEED`."""

import sys

import ciw

RATE, SERVICE, SERVERS = 3.2, 1.0, 4


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    ciw.seed(seed)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=RATE)],
        service_distributions=[ciw.dists.Exponential(rate=1.0 / SERVICE)],
        number_of_servers=[SERVERS],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(count, method="Finish")
    times = [r.exit_date - r.arrival_date for r in simulation.get_all_records()]
    print(len(times), sum(times) / len(times))


main()
