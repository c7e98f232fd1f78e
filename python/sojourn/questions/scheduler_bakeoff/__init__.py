"""Which scheduler settings do what they are for."""
