"""Several services loaded at once."""
