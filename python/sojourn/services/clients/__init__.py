"""What the lab itself says to a server before any load, and the way to it."""
