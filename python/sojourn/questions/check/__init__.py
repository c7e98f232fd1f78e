"""Whether the instrument measures what theory says."""
