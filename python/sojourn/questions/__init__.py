"""What can be asked of a service: a folder a question."""
