"""What half of the load is like."""
