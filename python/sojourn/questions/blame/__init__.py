"""Which suspect the tail comes from: each stopped at random, and what that changes."""
