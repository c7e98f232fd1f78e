"""How much of a neighbour fits beside a service at which load."""
