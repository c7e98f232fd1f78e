"""Which pairs of services fit together within their targets."""
