"""How the tail grows with load."""
