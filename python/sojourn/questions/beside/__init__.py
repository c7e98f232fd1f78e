"""How a setting fares beside a neighbour and alone."""
