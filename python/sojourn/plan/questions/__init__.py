"""What may be asked of a service: one file a question."""
